"""Recording at the terminal: Enter begins and ends; what is understood is shown meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from podium import text
from podium.audio.dictation import Dictation, dictate
from podium.audio.microphone import Microphone, recorders
from podium.errors import Failure
from podium.render.screen import ASSUMED_COLUMNS, Screen
from podium.rpc.connection import Connection

Json = dict[str, Any]


LACKING = ("off", "not-installed", "no-model")
"""States in which nothing can be transcribed until a person acts."""


class Keys:
    """Standard input while something is recorded: a line, or its end, ends the recording."""

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return sys.stdin.fileno()

    def pressed(self) -> bool:
        """Take what was typed."""
        os.read(self.fileno(), 65536)
        return True


def record(language: str | None, session: str | None, seconds: float | None) -> Json:
    """Record one utterance from the machine's microphone and return its transcript.

    At a terminal Enter begins it; without one, or with ``seconds``, it begins at once. It ends with
    Enter, with the end of standard input, or after ``seconds``.

    Raises:
        Failure: there is no recorder, no daemon, no engine, or no sound.
        KeyboardInterrupt: Ctrl-C: nothing is kept.
    """
    screen = Screen(sys.stderr)
    keys = Keys() if seconds is None else None
    recorders()  # report what is missing before the person speaks
    connection = Connection()
    lacking = problem(connection)
    if lacking:
        connection.close()
        raise Failure(lacking)
    if keys is not None and text.is_terminal(sys.stdin):
        screen.write("Press Enter to speak, and Enter again when you are done. ")
        keys.pressed()
        screen.typed()
    dictation = Dictation(connection, language, session)
    try:
        return spoken(dictation, keys, seconds, screen)
    except BaseException:
        dictation.cancel()
        raise
    finally:
        dictation.connection.close()


def problem(connection: Connection) -> str:
    """Return why speech cannot become text here, and what to do; empty where it can."""
    status: Json = connection.call("voice.status")
    if status.get("state") not in LACKING:
        return ""
    return str(status.get("problem") or f"Voice is {status.get('state')}: see 'podium doctor'.")


def spoken(dictation: Dictation, keys: Keys | None, seconds: float | None, screen: Screen) -> Json:
    """Record an utterance that was begun, and show how it goes on ``screen``.

    Raises:
        Failure: nothing could be recorded, or there is no text.
    """

    def show(heard: str, length: float) -> None:
        screen.status(live_line(heard, length))

    with Microphone() as microphone:
        show("", 0.0)
        if not screen.live:
            screen.line("Listening …")
        try:
            return dictate(dictation, microphone, keys, seconds, show)
        finally:
            screen.clear()


def live_line(heard: str, seconds: float) -> str:
    """Build the live line during speech: the end of the partial transcript."""
    head = f"● {seconds:4.1f} s  "
    room = (text.columns() or ASSUMED_COLUMNS) - 2 - len(head)
    words = text.fold(heard)
    return head + (words if len(words) <= room else f"…{words[1 - room :]}")


def following(method: str, params: Json, notification: str, tell: Callable[[Json], str]) -> Json:
    """Make a long call, and show the daemon's reports of its progress on standard error.

    Raises:
        Failure: it was refused, or the daemon went away.
    """
    screen = Screen(sys.stderr)
    show = screen.status if screen.live else screen.line

    def heed(message: Json) -> None:
        if message.get("method") == notification:
            show(tell(message.get("params") or {}))

    connection = Connection()
    try:
        answer: Json = connection.call(method, params, None, heed)
    finally:
        screen.clear()
        connection.close()
    return answer
