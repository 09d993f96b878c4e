"""``podiumd service``: what ``podium service`` runs. It needs no running daemon."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from podiumd.config.load import ConfigError, load
from podiumd.config.paths import Places, make_private, resolve
from podiumd.config.settings import Config
from podiumd.service import logs
from podiumd.service.captured import shown
from podiumd.service.kinds import ServiceManager, manager_for
from podiumd.service.logs import Line, chosen, since
from podiumd.service.runner import Runner, StepFailed, preview
from podiumd.service.situation import Situation
from podiumd.service.state import DamagedFile, State, lingering, look, silence

_NOT_RUNNING: Final = 6
_FROM_ENVIRONMENT: Final = "environment "
_OF_THE_MANAGER: Final = ("install", "uninstall", "start", "stop", "restart")
_DONE: Final = {
    "uninstall": "The service is gone. What Podium knows stays in {state}.",
    "stop": "Podium has stopped. It starts again at the next login, or by 'podium up'.",
}


def main(options: argparse.Namespace, environ: Mapping[str, str], platform: str) -> int:
    """Do what ``podiumd.service.arguments`` describes; returns the exit code: 0, 1, 2 for a time
    that is none, or 6 where ``status`` finds that the service does not run.

    Raises ``ConfigError`` and ``PlaceError``.
    """
    manager = manager_for(platform)
    situation = _situation(manager, options, environ, platform)
    try:
        code = _act(options, situation, manager)
        print(end="", flush=True)
        return code
    except (StepFailed, logs.NoLog, DamagedFile) as error:
        print(f"podium: {error}", file=sys.stderr)
    except ValueError as error:
        print(f"podium: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # no second error at exit
        if not isinstance(error, BrokenPipeError):  # whose reader has what it wanted
            print(f"podium: {error.filename or 'output'}: {error.strerror}.", file=sys.stderr)
    return 1


def _act(options: argparse.Namespace, situation: Situation, manager: ServiceManager) -> int:
    if options.action == "logs":
        return _logs(options, situation, manager)
    if options.action == "status":
        return _status(look(manager, situation), situation.places, as_json=options.json)
    return _change(options, situation, manager)


def _situation(
    manager: ServiceManager,
    options: argparse.Namespace,
    environ: Mapping[str, str],
    platform: str,
) -> Situation:
    home = Path(environ.get("HOME") or Path.home())
    try:
        loaded = load(environ, platform, home, options.config)
        config, places, sources = loaded.config, loaded.places, loaded.sources
    except ConfigError:
        if options.action == "install":
            raise  # the service could not start
        config, places, sources = Config(), resolve(environ, platform, home, options.config), {}
    situation = Situation(
        platform=platform,
        home=home,
        user=environ.get("USER") or getpass.getuser(),
        environ=environ,
        places=places,
        gateway=config.gateway,
        agents=tuple(config.agents.values()),
        settings=tuple(
            source.removeprefix(_FROM_ENVIRONMENT)
            for source in sources.values()
            if source.startswith(_FROM_ENVIRONMENT)
        ),
        gateway_socket=options.gateway_socket,
    )
    there = frozenset(path for path in manager.files(situation) if path.exists())
    asked = options.action in _OF_THE_MANAGER
    return replace(situation, there=there, silent=silence(manager, situation) if asked else "")


def _change(options: argparse.Namespace, situation: Situation, manager: ServiceManager) -> int:
    _check(options.action, situation, manager)
    action = partial(getattr(manager, options.action), situation)
    undo = partial(manager.undo, situation) if options.action == "install" else None
    if options.dry_run:
        preview(lambda text: shown(text, situation.variables)).print_steps(action)
        return 0
    if options.action == "install":
        make_private(situation.places.socket.parent, situation.uid)
    quiet = options.json or options.action not in ("install", "uninstall")
    runner = Runner(
        situation.places.socket, situation.environ, (lambda _: None) if quiet else print
    )
    runner.carry_out(action, undo)
    _report(options, runner.answer, situation, manager)
    return 0


def _check(action: str, situation: Situation, manager: ServiceManager) -> None:
    """Refuse an action that makes no sense here. Raises ``StepFailed``."""
    if situation.silent and action not in ("uninstall", "stop"):
        raise StepFailed(_unreachable(situation, manager))
    if action == "install":
        gateway = situation.gateway
        if situation.gateway_socket and not (gateway.enabled and gateway.port):
            raise StepFailed(
                "--gateway-socket needs a gateway that is on and has a port of its own."
            )
        return
    whole = manager.files(situation)[0] in situation.there
    if not (whole or (situation.there and action == "uninstall")):
        raise StepFailed("Podium is not installed as a service: 'podium service install' does it.")


def _unreachable(situation: Situation, manager: ServiceManager) -> str:
    """Explain that nothing was done, why, and the two ways on."""
    whose = {"systemd": "systemd's user manager", "launchd": "launchd's graphical session"}
    way = {
        "systemd": "log in as this user itself (su, sudo and most containers open no session)",
        "launchd": "log in at the Mac's own screen first",
    }
    return (
        f"{whose[manager.name]} cannot be reached ({situation.silent.rstrip('.')}): nothing was "
        f"changed. 'podium up' runs the daemon without a service. To have one, {way[manager.name]}."
    )


def _report(
    options: argparse.Namespace,
    answer: Mapping[str, Any] | None,
    situation: Situation,
    manager: ServiceManager,
) -> None:
    if options.json:
        print(json.dumps(dict(answer) if answer else {"stopped": True}))
        return
    if answer is None:
        print(_DONE[options.action].format(state=situation.places.state))
        return
    url = (answer.get("gateway") or {}).get("url")
    where = f", phones reach it at {url}" if url else ""
    print(f"Podium runs as a service ({manager.name}): pid {answer.get('pid')}{where}.")
    if taken := answer.get("taken_up"):
        print(f"Turns taken up: {taken}.")
    if options.action == "install":
        for note in _notes(situation, manager, int(answer.get("pid") or 0)):
            print(note)


def _notes(situation: Situation, manager: ServiceManager, pid: int) -> list[str]:
    """List notes for a person on what no unit can settle."""
    path = situation.variables.get("PATH")
    notes = [
        f"Note: the agent '{program}' was not found on PATH. Install it and then the service "
        f"again, or name its path as agents.{agent.name}.command."
        for agent in situation.agents
        for program in agent.plan.command[:1]
        if shutil.which(program, path=path) is None
    ]
    if "SSH_AUTH_SOCK" in situation.environ and "SSH_AUTH_SOCK" not in situation.variables:
        notes.append(
            "Note: the ssh agent of this login has no lasting socket, so agents cannot use it: "
            "'git push' over SSH needs a key without it, or an agent that systemd or launchd runs."
        )
    if manager.name == "launchd":
        notes.append(
            "Note: a Mac that sleeps runs no agent. To keep it awake while the daemon runs: "
            f"'caffeinate -i -w {pid}', or System Settings, Energy."
        )
    elif lingering(situation) is not True:
        notes.append(
            "Note: when you log out, systemd ends the service and every agent with it. To keep "
            f"them: 'loginctl enable-linger {situation.user}'."
        )
    return notes


def _status(state: State, places: Places, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps(asdict(state)))
    elif not state.installed:
        print("Podium is not installed as a service: 'podium service install' does it.")
    else:
        pid = f", pid {state.pid}" if state.pid else ""
        lines = [
            ("service", f"{state.kind}, {'enabled' if state.enabled else 'not enabled'}"),
            ("state", f"{state.state}{pid}"),
            ("restarts", "" if state.restarts is None else str(state.restarts)),
            ("file", state.file),
            ("", "" if state.current else "written by another version: 'podium service install'"),
            ("lingering", _lingering_words(state)),
            ("log", "'podium service logs'"),
            ("socket", str(places.socket)),
        ]
        print("\n".join(f"{name:<9}  {words}" for name, words in lines if words))
    return 0 if state.running else _NOT_RUNNING


def _lingering_words(state: State) -> str:
    if state.lingering is None:
        return ""
    return "yes" if state.lingering else "no: it ends when you log out ('loginctl enable-linger')"


def _logs(options: argparse.Namespace, situation: Situation, manager: ServiceManager) -> int:
    after = None if options.since is None else since(options.since, datetime.now(UTC))
    file = situation.places.log
    in_journal = manager.name == "systemd" and manager.files(situation)[0] in situation.there
    if in_journal:
        argv = logs.journal(after, follow=options.follow)
    else:
        argv = logs.tail(file, after, follow=options.follow)
    try:
        with logs.lines_of(argv, situation.environ) as lines:
            for line in chosen(lines, options.level, after):
                print(_as_json(line) if options.json else line.text, flush=options.follow)
    except FileNotFoundError:
        raise logs.NoLog(f"'{argv[0]}' was not found.") from None
    return 0


def _as_json(line: Line) -> str:
    return json.dumps({"ts": line.ts or None, "level": line.level or None, "text": line.text})
