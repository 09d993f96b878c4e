"""Runs a short program in one thread, which starts it, reads what it prints and collects it.

Trio's own way takes a thread to start it, and a task and a wake-up for each of its pipes and for
its end. Where many programs run that are over in some milliseconds that is most of what they cost.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

import outcome
import trio

Result = subprocess.CompletedProcess[bytes]

TERMINATE_SECONDS: Final = 2.0


class Program:
    """A program that was started, in a session of its own, with what it has written so far."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], stdin: bytes
    ) -> None:
        """Start it, in another thread: why that failed is told by ``result``."""
        self._command, self._environment, self._stdin = command, environment, stdin
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False
        self._over = trio.Event()
        self._outcome: outcome.Outcome[Result] | None = None
        self._trio = trio.lowlevel.current_trio_token()
        trio.lowlevel.start_thread_soon(self._run, self._tell, "program")

    async def over(self) -> None:
        """Wait until it has ended and nobody can write to its output."""
        await self._over.wait()

    def result(self) -> Result:
        """How it ended, once it is over. Raises ``OSError`` where it could not be started."""
        assert self._outcome is not None
        return self._outcome.unwrap()

    async def end(self) -> None:
        """End it with all of its process group, politely first: it may have locks to remove. What
        has left the group and keeps the output open is not waited for."""
        self._given_up = True  # the thread sees it, where it is just about to start it
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self._over.is_set():
                self._send(number)
                with trio.move_on_after(TERMINATE_SECONDS):
                    await self._over.wait()

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _run(self) -> Result:
        with subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE if self._stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,  # a Ctrl-C meant for the daemon is not for it
        ) as process:
            self._process = process
            if self._given_up:
                self._send(signal.SIGTERM)
            told, said = process.communicate(self._stdin or None)
            return Result(self._command, process.returncode, told, said)

    def _tell(self, done: outcome.Outcome[Result]) -> None:
        with contextlib.suppress(trio.RunFinishedError):  # nobody is left to hear it
            self._trio.run_sync_soon(self._hear, done)

    def _hear(self, done: outcome.Outcome[Result]) -> None:
        self._outcome = done
        self._over.set()
