"""Change this machine for the service, step by step: files, programs, and the daemon itself."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import trio

from podiumd.core.excerpt import beginning
from podiumd.service.daemon_link import DaemonLink, NoDaemon, is_gone, is_listening
from podiumd.tools.process.processes import identity_of

ANSWER_SECONDS: Final = 20.0
GONE_SECONDS: Final = 30.0
PROGRAM_SECONDS: Final = 90.0  # systemd's own patience with a unit that starts
_RETRY_SECONDS: Final = 0.05
_LONGEST_MESSAGE: Final = 400

Turns = Literal["leave", "interrupt"]
Command = tuple[str, ...]


class StepFailed(Exception):
    """A step could not be done; the text says which, why, and what to do."""


class NoAnswer(StepFailed):
    """The service is installed and was started; its daemon does not answer."""


class Runner:
    """Do each step at once, for the daemon at ``socket``, or only print it: see ``preview``.

    ``environ`` is what programs are run with; ``tell`` gets a line for people. Each method raises
    ``StepFailed`` or ``OSError``. ``shown``: nothing is done; it makes of a file's text what a
    person may see.
    """

    def __init__(
        self,
        socket: Path,
        environ: Mapping[str, str],
        tell: Callable[[str], None],
        shown: Callable[[str], str] | None = None,
    ) -> None:
        self._socket = socket
        self._environ = dict(environ)
        self._tell = tell
        self.answer: dict[str, Any] | None = None
        """The daemon's status, once it has been waited for."""
        self._before: list[tuple[Path, bytes | None, int]] = []
        self._made: list[Path] = []
        self._shown = shown
        self._steps = 0
        self._texts: list[tuple[Path, str]] = []

    def carry_out(
        self, action: Callable[[Runner], None], undo: Callable[[Runner], None] | None = None
    ) -> None:
        """Do all of ``action``; where a step fails once files have changed, what ``undo`` says.

        Raises ``StepFailed``. Without ``undo``, and where only the daemon does not answer, what
        was done by then stays done.
        """
        try:
            with _named_files():
                action(self)
        except NoAnswer:
            raise
        except StepFailed as failed:
            if undo is None or not self._before:
                raise
            with _named_files():
                undo(self)
            words = f"{str(failed).rstrip('.')}. Everything was put back; 'podium up' runs the "
            raise StepFailed(f"{words}daemon as before.") from None

    def print_steps(self, action: Callable[[Runner], None]) -> None:
        """Print all steps of ``action`` in a preview, then the files' texts."""
        assert self._shown is not None
        self._tell("Nothing is done. This would be:")
        action(self)
        for path, text in self._texts:
            self._tell(f"\n{path}:\n")
            for line in self._shown(text).splitlines():
                self._tell(f"    {line}".rstrip())

    def _printed(self, step: str) -> bool:
        """Print a step in a preview; return whether that is all there is to do."""
        if self._shown is not None:
            self._steps += 1
            self._tell(f"{self._steps:>3}. {step}")
        return self._shown is not None

    def make_directory(self, path: Path, mode: int = 0o755) -> None:
        """Make a directory and those above it, with this mode where it is missing."""
        if self._printed(f"make the directory {path} ({mode:04o}), if it is missing"):
            return
        for one in (*reversed(path.parents), path):
            if not one.exists():
                one.mkdir(mode=mode if one == path else 0o755, exist_ok=True)
                self._made.append(one)

    def write(self, path: Path, text: str, mode: int) -> None:
        """Put a text in the place of a file, at once."""
        if self._printed(f"write {path} ({mode:04o})"):
            self._texts.append((path, text))
            return
        self._remember(path)
        _write(path, text.encode(), mode)
        self._tell(f"Wrote {path}.")

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        if self._printed(f"remove {path}"):
            return
        if path.is_file() or path.is_symlink():
            self._remember(path)
            path.unlink()
            self._tell(f"Removed {path}.")

    def remove_empty(self, path: Path) -> None:
        """Remove a directory, if it is there and nothing is in it."""
        if self._printed(f"remove the directory {path}, if it is empty"):
            return
        try:
            path.rmdir()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise

    def put_back(self) -> None:
        """Have every file that was written or removed as it was before."""
        while self._before:
            path, data, mode = self._before.pop()
            if data is None:
                path.unlink(missing_ok=True)
            else:
                _write(path, data, mode)
        while self._made:
            self.remove_empty(self._made.pop())

    def run(
        self,
        argv: Command,
        *,
        tolerate: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Run a program. ``tolerate``: it may fail, because what it undoes may not be there.
        ``environment``: all that it is given, else what we have."""
        command = shlex.join(argv)
        alone = " in the environment of the service" if environment is not None else ""
        if self._printed(f"run{alone}: {command}{' (it may fail)' if tolerate else ''}"):
            return
        try:
            done = subprocess.run(
                argv,
                env=self._environ if environment is None else environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROGRAM_SECONDS,
                check=False,
            )
        except FileNotFoundError:
            if environment is not None:
                raise
            raise StepFailed(f"'{argv[0]}' was not found.") from None
        except subprocess.TimeoutExpired:
            raise StepFailed(f"'{command}' is not done after {PROGRAM_SECONDS:g} s.") from None
        if done.returncode and not tolerate:
            said = beginning(" ".join((done.stderr or done.stdout).split()), _LONGEST_MESSAGE)
            raise StepFailed(f"'{command}' failed ({done.returncode}): {said or 'no word'}")

    def stop_daemon(
        self,
        turns: Turns,
        *,
        only_stray: bool = False,
        meanwhile: Command = (),
        tolerate: bool = False,
    ) -> None:
        """Stop the daemon that answers, if one does, and wait until its process is gone.

        ``only_stray``: one that runs as the service is left alone. ``meanwhile`` runs once we are
        connected: it keeps the service manager from starting the next daemon for the next client.
        """
        which = "a daemon that runs without the service" if only_stray else "the daemon"
        how = "its turns go on" if turns == "leave" else "its turns are interrupted"
        first = f", meanwhile {shlex.join(meanwhile)}" if meanwhile else ""
        if self._printed(f"stop {which}, if one runs ({how}){first}"):
            return
        if not is_listening(self._socket):
            self._meanwhile(meanwhile, tolerate=tolerate)
            return
        try:
            with DaemonLink(self._socket, ANSWER_SECONDS) as link:
                status = link.call("daemon.status") or {}
                if only_stray and status.get("service"):
                    return
                self._meanwhile(meanwhile, tolerate=tolerate)
                process = identity_of(int(status["pid"]))
                link.call("daemon.shutdown", turns=turns)
        except (NoDaemon, KeyError) as error:
            self._tell(f"The daemon did not answer ({error}); its service manager stops it.")
            return
        if process is not None and not trio.run(is_gone, process, GONE_SECONDS):
            raise StepFailed(
                f"The daemon (pid {status['pid']}) is still stopping after {GONE_SECONDS:g} s: "
                "'podium service logs' shows why."
            )

    def await_answer(self) -> None:
        """Wait until the daemon answers as a service."""
        if self._printed("wait until the daemon answers"):
            return
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            left = deadline - time.monotonic()
            try:
                with DaemonLink(self._socket, max(left, _RETRY_SECONDS)) as link:
                    self.answer = link.call("daemon.status") or {}
                    return
            except NoDaemon as error:
                if left <= 0:
                    raise NoAnswer(
                        f"The service was started and does not answer ({error}): "
                        "'podium service logs' shows why, 'podium service uninstall' removes it."
                    ) from None
            time.sleep(_RETRY_SECONDS)

    def _remember(self, path: Path) -> None:
        there = path.is_file()
        mode = path.stat().st_mode & 0o777 if there else 0
        self._before.append((path, path.read_bytes() if there else None, mode))

    def _meanwhile(self, command: Command, *, tolerate: bool) -> None:
        if command:
            self.run(command, tolerate=tolerate)


def preview(shown: Callable[[str], str]) -> Runner:
    """Make a runner that does nothing and prints what each step would do."""
    return Runner(Path(), {}, print, shown)


@contextmanager
def _named_files() -> Iterator[None]:
    """Have an ``OSError`` end as ``StepFailed`` with the file's name."""
    try:
        yield
    except OSError as error:
        raise StepFailed(f"{error.filename or ''}: {error.strerror}.".lstrip(": ")) from None


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write all of the new text or none of it, in a file never open to others."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
