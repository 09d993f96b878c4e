"""Speech at the machine: a program that reads text and speaks, one text after the other.

The program is started for each text and ended, with everything it started, the moment silence is
wanted. A text that cannot be spoken is logged once, and nothing waits for it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import trio

from podiumd.config.settings import VoiceSettings
from podiumd.core.excerpt import end
from podiumd.observe.logs import log
from podiumd.tools.process.environment import plain_environment

MOST_WAITING: Final = 8
"""Texts; of more the oldest are left unsaid, they are news no longer."""

MOST_CHARACTERS: Final = 8000
SLOWEST: Final = 5.0
"""Characters a second: a program that takes longer than this hangs."""
START_SECONDS: Final = 20.0

_COMMANDS = re.compile(r"\[\[|\]\]|[\x00-\x09\x0b-\x1f\x7f-\x9f\ue000-\uf8ff]")
"""Text that speaking programs take for commands, and characters that cannot be spoken."""


class SpeakerMissing(Exception):
    """No program that speaks is here; the text says what to install."""


class Speaker:
    """Says texts one after the other. ``open_speaker`` makes one."""

    def __init__(self, settings: Callable[[], VoiceSettings], environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = plain_environment(environ)
        self._waiting: deque[str] = deque(maxlen=MOST_WAITING)
        self._wake = trio.Event()
        self._quiet = trio.Event()
        self._quiet.set()
        self._current: trio.CancelScope | None = None
        self._logged = ""

    @property
    def speaking(self) -> bool:
        """Return whether a text is being spoken, or waits to be."""
        return not self._quiet.is_set()

    async def silence(self) -> None:
        """Wait until all has been spoken."""
        await self._quiet.wait()

    def say(self, text: str) -> None:
        """Say a text after those that wait. Never blocks, never fails."""
        text = _COMMANDS.sub(" ", text)[:MOST_CHARACTERS].strip()
        if text:
            self._waiting.append(text)
            self._quiet = trio.Event() if self._quiet.is_set() else self._quiet
            self._wake.set()

    def stop(self) -> None:
        """Be silent at once; texts that wait are not spoken any more."""
        self._waiting.clear()
        if self._current is not None:
            self._current.cancel()

    def command(self) -> list[str]:
        """Return the program that speaks, as an argument list.

        Raises:
            SpeakerMissing: there is none.
        """
        settings = self._settings()
        if settings.speak_command:
            return [*settings.speak_command]
        path = self._environ.get("PATH")
        rate = str(settings.speak_rate)
        if sys.platform == "darwin" and (say := shutil.which("say", path=path)):
            return [say, "-r", rate, "-f", "-"]
        for name in ("espeak-ng", "espeak"):
            if program := shutil.which(name, path=path):
                language = ["-v", settings.language] if settings.language else []
                return [program, "-s", rate, *language, "--stdin"]
        raise SpeakerMissing(
            "Nothing here can speak: install espeak-ng, or name a program in voice.speak_command."
        )

    async def run(self) -> None:
        """Say what there is to say, for ever."""
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            while self._waiting:
                with trio.CancelScope() as self._current:
                    await self._speak(self._waiting.popleft())
            self._current = None
            self._quiet.set()

    async def _speak(self, text: str) -> None:
        try:
            argv = self.command()
            with trio.fail_after(START_SECONDS + len(text) / SLOWEST):
                done = await trio.run_process(
                    argv,
                    stdin=f"{text}\n".encode(),
                    stdout=subprocess.DEVNULL,
                    capture_stderr=True,
                    check=False,
                    env=self._environ,
                    cwd="/",
                    start_new_session=True,
                    deliver_cancel=_end,
                )
        except SpeakerMissing as missing:
            self._log_once(str(missing))
        except OSError as error:
            self._log_once(f"The program that speaks cannot be run: {error}.")
        except trio.TooSlowError:
            self._log_once("The program that speaks did not come to its end.")
        else:
            said = end(done.stderr.decode("utf-8", "replace").strip(), 500)
            if done.returncode != 0:
                self._log_once(f"{argv[0]} ended with status {done.returncode}: {said}")

    def _log_once(self, words: str) -> None:
        if words != self._logged:
            log("Nothing was spoken", "warning", reason=words)
        self._logged = words


async def _end(process: trio.Process) -> None:
    """End the program and what it started: silence is wanted now, not in a while."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@asynccontextmanager
async def open_speaker(
    settings: Callable[[], VoiceSettings], environ: Mapping[str, str]
) -> AsyncIterator[Speaker]:
    """Open a speaker that is silent again when the block ends.

    Args:
        settings: the settings as they are at the moment of speaking.
        environ: the daemon's environment; the program gets what every program needs.
    """
    speaker = Speaker(settings, environ)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(speaker.run)
        try:
            yield speaker
        finally:
            nursery.cancel_scope.cancel()
