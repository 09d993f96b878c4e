"""Carry out a plan: files, programs, and the daemon itself."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from podiumd.service.daemon_link import DaemonLink, Exit, NoDaemon, is_listening
from podiumd.service.steps import (
    AwaitAnswer,
    MakeDirectory,
    Plan,
    PutBack,
    RemoveEmpty,
    RemoveFile,
    Run,
    Step,
    StopDaemon,
    WriteFile,
)

ANSWER_SECONDS: Final = 20.0
GONE_SECONDS: Final = 30.0
PROGRAM_SECONDS: Final = 90.0  # systemd's own patience with a unit that starts
_RETRY_SECONDS: Final = 0.05
_LONGEST_COMPLAINT: Final = 400


class StepFailed(Exception):
    """A step could not be done; the text says which, why, and what to do."""


class NoAnswer(StepFailed):
    """The service is installed and was started; its daemon does not answer."""


class Executor:
    """Carries out plans for the daemon at ``socket``.

    ``environ`` is what programs are run with; ``tell`` gets a line for people.
    """

    def __init__(
        self, socket: Path, environ: Mapping[str, str], tell: Callable[[str], None]
    ) -> None:
        self._socket = socket
        self._environ = dict(environ)
        self._tell = tell
        self.answer: dict[str, Any] | None = None
        """The daemon's status, once a plan has waited for it."""
        self._before: list[tuple[Path, bytes | None, int]] = []
        self._made: list[Path] = []

    def carry_out(self, plan: Plan, undo: Plan = ()) -> None:
        """Do every step in order; where one fails, what ``undo`` says.

        Raises ``StepFailed``. Without ``undo``, and where only the daemon does not answer, what
        was done by then stays done.
        """
        try:
            for step in plan:
                self._do(step)
        except NoAnswer:
            raise
        except StepFailed as failed:
            if not (undo and self._before):
                raise
            for step in undo:
                self._do(step)
            words = f"{str(failed).rstrip('.')}. Everything was put back; 'podium up' runs the "
            raise StepFailed(f"{words}daemon as before.") from None

    def _do(self, step: Step) -> None:
        try:
            match step:
                case MakeDirectory(path, mode):
                    self._made += _make_directory(path, mode)
                case WriteFile(path, text, mode):
                    self._remember(path)
                    _write(path, text.encode(), mode)
                    self._tell(f"Wrote {path}.")
                case RemoveFile(path):
                    self._remove(path)
                case PutBack():
                    self._put_back()
                case RemoveEmpty(path):
                    _remove_empty(path)
                case Run():
                    self._run(step)
                case StopDaemon():
                    self._stop(step)
                case AwaitAnswer():
                    self.answer = self._await_answer()
        except OSError as error:
            raise StepFailed(f"{error.filename or ''}: {error.strerror}.".lstrip(": ")) from None

    def _remember(self, path: Path) -> None:
        there = path.is_file()
        mode = path.stat().st_mode & 0o777 if there else 0
        self._before.append((path, path.read_bytes() if there else None, mode))

    def _remove(self, path: Path) -> None:
        if path.is_file() or path.is_symlink():
            self._remember(path)
            path.unlink()
            self._tell(f"Removed {path}.")

    def _put_back(self) -> None:
        while self._before:
            path, data, mode = self._before.pop()
            if data is None:
                path.unlink(missing_ok=True)
            else:
                _write(path, data, mode)
        while self._made:
            _remove_empty(self._made.pop())

    def _run(self, step: Run) -> None:
        command = shlex.join(step.argv)
        try:
            done = subprocess.run(
                step.argv,
                env=self._environ if step.environment is None else step.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROGRAM_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            if step.environment is not None:
                raise
            raise StepFailed(f"'{step.argv[0]}' was not found.") from None
        except subprocess.TimeoutExpired:
            raise StepFailed(f"'{command}' is not done after {PROGRAM_SECONDS:g} s.") from None
        if done.returncode and not step.tolerate:
            said = " ".join((done.stderr or done.stdout).split())[:_LONGEST_COMPLAINT]
            raise StepFailed(f"'{command}' failed ({done.returncode}): {said or 'no word'}")

    def _stop(self, step: StopDaemon) -> None:
        if not is_listening(self._socket):
            self._meanwhile(step)
            return
        try:
            with DaemonLink(self._socket, ANSWER_SECONDS) as link:
                status = link.call("daemon.status") or {}
                if step.only_stray and status.get("service"):
                    return
                self._meanwhile(step)
                gone = Exit(int(status["pid"]))
                link.call("daemon.shutdown", turns=step.turns)
        except (NoDaemon, KeyError) as error:
            self._tell(f"The daemon did not answer ({error}); its service manager stops it.")
            return
        if not gone.wait(GONE_SECONDS):
            raise StepFailed(
                f"The daemon (pid {status['pid']}) is still stopping after {GONE_SECONDS:g} s: "
                "'podium service logs' tells why."
            )

    def _meanwhile(self, step: StopDaemon) -> None:
        for run in step.meanwhile:
            self._run(run)

    def _await_answer(self) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            left = deadline - time.monotonic()
            try:
                with DaemonLink(self._socket, max(left, _RETRY_SECONDS)) as link:
                    status: dict[str, Any] = link.call("daemon.status") or {}
                    return status
            except NoDaemon as error:
                if left <= 0:
                    raise NoAnswer(
                        f"The service was started and does not answer ({error}): "
                        "'podium service logs' tells why, 'podium service uninstall' takes it back."
                    ) from None
            time.sleep(_RETRY_SECONDS)


def _make_directory(path: Path, mode: int) -> list[Path]:
    """Those that were not there, the uppermost first."""
    missing = [one for one in (*reversed(path.parents), path) if not one.exists()]
    for one in missing:
        one.mkdir(mode=mode if one == path else 0o755, exist_ok=True)
    return missing


def _write(path: Path, data: bytes, mode: int) -> None:
    """All of the new text or all of the old, and never open to others."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise


def _remove_empty(path: Path) -> None:
    try:
        path.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
            raise
