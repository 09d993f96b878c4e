"""The daemon itself: up, down, and raw calls."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from typing import IO, TYPE_CHECKING

from podium import orphan_daemon, paths, text, wire
from podium.errors import OK, USAGE, ConnectionLost, DaemonDown, Failure, Refusal
from podium.plain_file import open_plain
from podium.rpc import installed, version_mismatch
from podium.rpc.connection import Connection, call
from podium.rpc.installed import daemon_command

if TYPE_CHECKING:
    from podium import protocol

READY_SECONDS = 15.0
"""How long ``up`` waits: a daemon with a thousand runs to take up is ready in about a second."""

RETRY_SECONDS = 0.02

GONE_SECONDS = 30.0
"""How long ``down`` waits: ending an agent in order takes up to some ten seconds."""

RIVAL_SECONDS = 3.0
"""How long a losing ``up`` waits for the daemon that another one has just started."""

REASON_LINES = 5


def up(foreground: bool, config: str | None, json: bool) -> int:
    """``podium up``."""
    try:
        running = _status()
    except ConnectionLost:
        if not installed.serves(paths.socket_path()):
            raise
        raise Failure(
            "The service manager takes connections, but the daemon that it starts ends at once: "
            "'podium service logs --since 10m' shows why."
        ) from None
    if running is not None:
        return _already(running, config, json)
    if installed.serves(paths.socket_path()):
        if installed.manager_answers():
            return _up_as_service(foreground, config, json)
        text.tell(
            "podium: the service that is installed cannot be started: its service manager does not "
            "answer here. The daemon starts without it; 'podium service uninstall' takes it away."
        )
    if foreground:
        sys.stdout.flush()
        command = daemon_command(config)
        os.execv(command[0], command)  # noqa: S606  (no shell: that is the point)
    try:
        started, own = _start(config)
    except Failure:
        rival = _status_of_rival()
        if rival is None:
            raise
        return _already(rival, config, json)
    return _begun(started, config, json) if own else _already(started, config, json)


def _up_as_service(foreground: bool, config: str | None, json: bool) -> int:
    if foreground:
        raise Failure(
            "Podium is installed as a service, which would be a second daemon beside this one: "
            "'podium up' starts the service, 'podium service uninstall' takes it away."
        )
    if config is not None:
        raise Failure(
            "Podium is installed as a service, which has its configuration already: "
            f"'podium service install --config {text.fold(config)}' gives it that file."
        )
    from podium.commands import offline

    return _begun(offline.start(), None, json)


def _begun(status: protocol.DaemonStatus, config: str | None, json: bool) -> int:
    """Report a new daemon, and that no agent can work for it yet, if so."""
    code = _report(status, "running", json)
    if not json:
        from podium.commands import offline

        if said := offline.unready(config):
            text.say(text.fold(said))
    return code


def _already(status: protocol.DaemonStatus, config: str | None, json: bool) -> int:
    if config is not None:
        again = (
            f"'podium service install --config {text.fold(config)}' gives the service"
            if status.get("service")
            else f"'podium down && podium up --config {text.fold(config)}' starts it with"
        )
        text.tell(
            f"podium: the daemon is already running and --config was ignored: {again} that file."
        )
    else:
        version_mismatch.tell(status)
    return _report(status, "already running", json)


def _status() -> protocol.DaemonStatus | None:
    try:
        answer: protocol.DaemonStatus = call("daemon.status")
    except DaemonDown:
        return None
    return answer


def _report(status: protocol.DaemonStatus, how: str, json: bool) -> int:
    if json:
        return text.emit_json(status)
    socket = text.fold(status.get("socket"))
    how += " as a service" if status.get("service") else ""
    text.say(f"Podium is {how}: pid {text.fold(status.get('pid'))}, socket {socket}.")
    gateway = status.get("gateway") or {}
    if reach := _reach(gateway):
        text.say(reach)
    if gateway.get("warning"):
        from podium.commands.gateway import warn

        warn(str(gateway["warning"]))
    return OK


def _reach(gateway: protocol.GatewayStatus) -> str:
    """Describe how a phone can reach the daemon; empty where it is not meant to."""
    if gateway.get("problem"):
        return f"No phone can reach it: {text.fold(gateway['problem'])}"
    if not gateway.get("enabled") or not gateway.get("url"):
        return ""
    from podium.commands.gateway import is_local

    url = text.fold(gateway["url"])
    if is_local(url):
        return (
            f"The gateway for phones listens at {url}, on this machine only: "
            "'podium pair' gives a phone a key and says how it can get here."
        )
    return f"A phone reaches it at {url}: 'podium pair' gives it a key."


def _start(config: str | None) -> tuple[protocol.DaemonStatus, bool]:
    """Start a daemon in a session of its own and return the status of the one that answers, and
    whether it is this one: another ``up`` may have been faster.

    Its socket takes connections before it is ready and answers them when it is: only until there
    is a socket does anything have to be tried again.

    Raises:
        Failure: it ended, or was not ready in time; the message holds its own reason.
    """
    deadline = time.monotonic() + READY_SECONDS
    with tempfile.TemporaryFile() as words:
        child = subprocess.Popen(
            daemon_command(config, "--detached"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words,
            start_new_session=True,
            cwd="/",
            env=paths.for_child(),
        )
        while (left := deadline - time.monotonic()) > 0:
            try:
                status: protocol.DaemonStatus = call("daemon.status", seconds=left)
            except (DaemonDown, ConnectionLost):
                try:
                    ended = child.wait(RETRY_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
                raise Failure(f"The daemon did not start: {_reason(words, ended)}") from None
            else:
                child.returncode = 0  # it lives on: not ours to wait for
                return status, status.get("pid") == child.pid
    child.returncode = 0
    raise Failure(
        f"The daemon (pid {child.pid}) is not ready after {READY_SECONDS:g} s: "
        f"check 'podium status'; its log is {paths.log_file()}."
    )


def _reason(words: IO[bytes], status: int) -> str:
    """Return the daemon's last words: from standard error, else from its log."""
    words.seek(0)
    lines = _last_lines(words)
    if not lines:
        try:
            with open_plain(paths.log_file()) as log:
                lines = _last_lines(log)
        except OSError:
            lines = []
    return " / ".join(lines) or f"it ended with status {status} and without a word."


def _last_lines(file: IO[bytes]) -> list[str]:
    lines = deque(file, maxlen=REASON_LINES)
    return [line.decode("utf-8", "replace").strip() for line in lines if line.strip()]


def _status_of_rival() -> protocol.DaemonStatus | None:
    """Return the status of a daemon that started during our attempt, if there is one."""
    deadline = time.monotonic() + RIVAL_SECONDS
    while (status := _status()) is None and _holder_lives() and time.monotonic() < deadline:
        time.sleep(0.05)
    return status


def _holder_lives() -> bool:
    try:
        with open_plain(paths.lock_file()) as lock:
            os.kill(int(lock.read(32)), 0)
    except (OSError, ValueError):
        return False
    return True


def down(json: bool) -> int:
    """``podium down``: interrupt turns, stop the daemon, wait until its process is gone."""
    if installed.serves(paths.socket_path()) and installed.manager_answers():
        from podium.commands import offline

        return offline.stop(json)
    try:
        connection = Connection()
    except DaemonDown:
        return _down_without_socket(json)
    status = connection.call("daemon.status")
    gone = _Exit(int(status["pid"]))
    try:
        connection.call("daemon.shutdown", {"turns": "interrupt"})
    except ConnectionLost:
        pass  # it may be gone before its answer: what counts is that it goes
    again = (
        "\nIts service manager does not answer here, so it may start the daemon again: "
        "'podium service uninstall' where it does ends that."
    )
    return _wait_until_gone(gone, json, again if status.get("service") else "")


def restart(config: str | None) -> int:
    """Let the next daemon take over from one that is no service; turns go on meanwhile."""
    connection = Connection()
    gone = _Exit(int(connection.call("daemon.status")["pid"]))
    try:
        connection.call("daemon.shutdown", {"turns": "leave"})
    except ConnectionLost:
        pass  # it may be gone before its answer: what counts is that it goes
    if not gone.wait(GONE_SECONDS):
        raise Failure("The daemon does not end: 'podium down' ends it, 'podium up' starts it.")
    return up(foreground=False, config=config, json=False)


def _down_without_socket(json: bool) -> int:
    """Stop by a signal a daemon that does not answer; its lock names its process."""
    pid = orphan_daemon.daemon_pid()
    gone = None if pid is None else _Exit(pid)
    if gone is None or orphan_daemon.daemon_pid() != gone.pid:  # still the one that is watched
        told = {"stopped": False, "pid": None}
        return text.report(told, "The daemon was not running.", json=json)
    gone.terminate()
    return _wait_until_gone(
        gone,
        json,
        f"\nNothing answered at {paths.socket_path()}, so it was stopped by a signal: "
        "agents at work go on, and 'podium up' takes their runs up again.",
    )


def _wait_until_gone(gone: _Exit, json: bool, how: str) -> int:
    if not gone.wait(GONE_SECONDS):
        raise Failure(
            f"The daemon (pid {gone.pid}) is still stopping after {GONE_SECONDS:g} s: "
            f"see its log {paths.log_file()}."
        )
    told = {"stopped": True, "pid": gone.pid}
    return text.report(told, f"Podium has stopped (pid {gone.pid}).{how}", json=json)


class _Exit:
    """The end of a process that is not our child. Made before it is asked to end."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._watch: int | None = os.pidfd_open(pid) if sys.platform == "linux" else None
        except OSError:
            self._watch = None

    def terminate(self) -> None:
        """Ask it to end by SIGTERM; one that has ended since is left alone."""
        try:
            if self._watch is not None:
                signal.pidfd_send_signal(self._watch, signal.SIGTERM)
            else:
                os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass

    def wait(self, seconds: float) -> bool:
        """Return whether the process is gone within ``seconds``."""
        if self._watch is not None:
            return bool(select.select([self._watch], [], [], seconds)[0])
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.05)
        return False


def rpc(method: str, params: str | None, json: bool) -> int:
    """``podium rpc``: one raw call, its result printed as JSON."""
    import json as library

    source = sys.stdin.read() if params == "-" else params
    try:
        given = library.loads(source) if source else {}
    except ValueError as error:
        raise Failure(f"The parameters are not JSON: {error}.", USAGE) from error
    if not isinstance(given, dict):
        raise Failure("Parameters go by name: give a JSON object.", USAGE)
    if not method.isascii() or '"' in method or "\\" in method or not method.isprintable():
        raise Failure(f"'{method}' is no method name: one is 'daemon.status'.", USAGE)
    connection = Connection()
    try:
        result = connection.ask(method, given, seconds=None)
    except Refusal as refusal:
        data = f", data {wire.encode(refusal.data)}" if refusal.data else ""
        raise Failure(
            f"{refusal.message.rstrip('.')} (code {refusal.code}{data}).", refusal.exit_code
        ) from refusal
    pretty = not json and text.is_terminal(sys.stdout)
    text.emit((library.dumps(result, indent=2) if pretty else wire.encode(result)) + "\n")
    return OK
