"""``podium service``: the daemon's own module does it, so that it works with none running."""

from __future__ import annotations

import json as library
import os
import subprocess
import sys
from typing import Any

from podium import paths, text
from podium.errors import OK, Failure
from podium.rpc.installed import DAEMON

Json = dict[str, Any]


def install(config: str | None, gateway_socket: bool, dry_run: bool, json: bool) -> int:
    """``podium service install``."""
    flags = {"--gateway-socket": gateway_socket, "--dry-run": dry_run, "--json": json}
    return _run("install", flags, config=config)


def uninstall(dry_run: bool, json: bool) -> int:
    """``podium service uninstall``."""
    return _run("uninstall", {"--dry-run": dry_run, "--json": json})


def restart(json: bool) -> int:
    """``podium service restart``."""
    return _run("restart", {"--json": json})


def status(json: bool) -> int:
    """``podium service status``."""
    return _run("status", {"--json": json})


def logs(follow: bool, since: str | None, level: str | None, json: bool) -> int:
    """``podium service logs``."""
    more = [*(["--since", since] if since else []), *(["--level", level] if level else [])]
    return _run("logs", {"--follow": follow, "--json": json}, *more)


def start() -> Json:
    """Start the service and return the daemon's status.

    Raises:
        Failure: it could not be started; the message says why.
    """
    status: Json = library.loads(_ask("start"))
    return status


def stop(json: bool) -> int:
    """Interrupt turns and stop the service, until the next login or ``podium up``."""
    _ask("stop")
    if json:
        text.emit_json({"stopped": True})
    else:
        text.say(
            "Podium has stopped. It is a service: it starts again at the next login, or by "
            "'podium up'; 'podium service uninstall' takes it away."
        )
    return OK


def _run(action: str, flags: dict[str, bool], *more: str, config: str | None = None) -> int:
    command = _command(action, config)
    command += [name for name, given in flags.items() if given]
    sys.stdout.flush()
    try:
        return subprocess.run([*command, *more], env=paths.for_child(), check=False).returncode
    except KeyboardInterrupt:
        return 130  # the child has had it as well: 'logs --follow' ends so


def _ask(action: str) -> str:
    done = subprocess.run(
        [*_command(action), "--json"],
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


def _command(action: str, config: str | None = None) -> list[str]:
    chosen = [] if config is None else ["--config", os.path.abspath(config)]
    return [*DAEMON, *chosen, "service", action]
