"""``podium doctor``, ``schema`` and ``service``, and what the service manager does for ``up`` and
``down``: the daemon's own module does it, so that it works with none running."""

from __future__ import annotations

import json as library
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from podium import paths, text
from podium.errors import INTERRUPTED, Failure
from podium.rpc.installed import daemon_command

if TYPE_CHECKING:
    from types import FrameType

    from podium import protocol


def doctor(whole: bool, config: str | None, json: bool) -> int:
    """``podium doctor``: exit code 1 where something is broken."""
    return _run(daemon_command(config, "doctor", all=whole, json=json))


def try_out(agent: str, config: str | None, json: bool) -> int:
    """``podium agent try``: exit code 1 where a case fails."""
    return _run_to_its_end([*daemon_command(config, "try", json=json), "--", agent])


def unready(config: str | None) -> str:
    """Return why no agent can work yet, in one sentence; empty where one can."""
    command = daemon_command(config, "doctor", "--agents")
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else ""


def schema(typescript: bool) -> int:
    """``podium schema``."""
    return _run(daemon_command(None, "schema", typescript=typescript))


def install(config: str | None, gateway_socket: bool, dry_run: bool, json: bool) -> int:
    """``podium service install``."""
    flags = {"gateway_socket": gateway_socket, "dry_run": dry_run, "json": json}
    return _run(daemon_command(config, "service", "install", **flags))


def uninstall(dry_run: bool, json: bool) -> int:
    """``podium service uninstall``."""
    return _run(daemon_command(None, "service", "uninstall", dry_run=dry_run, json=json))


def restart(json: bool) -> int:
    """``podium service restart``."""
    return _run(daemon_command(None, "service", "restart", json=json))


def status(json: bool) -> int:
    """``podium service status``."""
    return _run(daemon_command(None, "service", "status", json=json))


def logs(follow: bool, since: str | None, level: str | None, json: bool) -> int:
    """``podium service logs``."""
    more = [*(["--since", since] if since else []), *(["--level", level] if level else [])]
    return _run([*daemon_command(None, "service", "logs", follow=follow, json=json), *more])


def start() -> protocol.DaemonStatus:
    """Start the service and return the daemon's status.

    Raises:
        Failure: it could not be started; the message says why.
    """
    status: protocol.DaemonStatus = library.loads(_ask("start"))
    return status


def stop(json: bool) -> int:
    """Interrupt turns and stop the service, until the next login or ``podium up``."""
    _ask("stop")
    return text.report(
        {"stopped": True},
        "Podium has stopped. It is a service: it starts again at the next login, or by 'podium "
        "up'; 'podium service uninstall' takes it away.",
        json=json,
    )


def _run(command: list[str]) -> int:
    sys.stdout.flush()
    try:
        return subprocess.run(command, env=paths.for_child(), check=False).returncode
    except KeyboardInterrupt:
        return INTERRUPTED  # the child has had it as well: 'logs --follow' ends so


def _run_to_its_end(command: list[str]) -> int:
    """Run a command that has to tidy up: what would end us ends it, and is waited for."""
    sys.stdout.flush()
    started: list[subprocess.Popen[bytes]] = []
    caught: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        caught.append(number)
        for child in started:
            child.terminate()

    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {one: signal.getsignal(one) for one in ending}
    for one in (one for one in ending if before[one] is not signal.SIG_IGN):
        signal.signal(one, pass_on)
    try:
        started.append(subprocess.Popen(command, env=paths.for_child()))
        if caught:
            started[0].terminate()
        status = started[0].wait()
    finally:
        for one in ending:
            signal.signal(one, before[one])
    return INTERRUPTED if caught else status


def _ask(action: str) -> str:
    done = subprocess.run(
        daemon_command(None, "service", action, "--json"),
        env=paths.for_child(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().removeprefix("podium: ")
        raise Failure(said or f"'podium service {action}' ended with status {done.returncode}.")
    return done.stdout
