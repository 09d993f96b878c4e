"""``podiumd``: the daemon in the foreground, its configuration shown, its surroundings examined.

``podiumd config show|path``, ``podiumd doctor`` and ``podiumd schema`` are what the commands of
``podium`` of these names run; they need no running daemon.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from podiumd import __version__
from podiumd.config.load import ConfigError, Loaded, flatten, load
from podiumd.config.paths import PlaceError, prepare
from podiumd.host.instance import AlreadyRunning
from podiumd.observe.logs import log, set_up
from podiumd.service.arguments import add_arguments as add_service_arguments

_STOPPED: Final = 130
"""The exit code of what Ctrl-C, or a signal in its place, has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for an error, 2 for wrong usage."""
    _open_closed_streams()
    options = _parser().parse_args(arguments)
    try:
        if options.command == "doctor":
            return _doctor(options)
        if options.command == "try":
            return _try(options)
        if options.command == "service":
            from podiumd.service import command

            return command.main(options, os.environ, sys.platform)
        if options.command == "schema":
            from podiumd.wire.forms import printed

            return _emit(printed(options.form).rstrip("\n"))
        loaded = load(os.environ, sys.platform, Path.home(), options.config)
        if options.command == "config":
            if options.action == "show":
                for words in loaded.warnings:
                    print(f"podiumd: {words}", file=sys.stderr)
            return _emit(_configuration(options.action, loaded, as_json=options.json))
        return _serve(loaded, options)
    except (ConfigError, PlaceError, AlreadyRunning) as error:
        print(f"podiumd: {error}", file=sys.stderr)
        return 1


def _open_closed_streams() -> None:
    """Point each standard stream that the caller closed (``>&-``) at /dev/null.

    Its number must be taken, or the next file or socket gets it, and with it the output meant for
    people.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="podiumd", description="The Podium daemon: conducts coding agents on this machine."
    )
    parser.add_argument("--version", action="version", version=f"podiumd {__version__}")
    parser.add_argument("--config", metavar="FILE", help="the configuration file")
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--detached", action="store_true", help="log to a file in the state directory"
    )
    parser.add_argument(
        "--ready-fd", type=int, metavar="FD", help="write a line to this descriptor once ready"
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(metavar="COMMAND")
    config = commands.add_parser("config", help="show the configuration, or where it is")
    config.set_defaults(command="config")
    config.add_argument("action", choices=("show", "path"))
    config.add_argument("--json", action="store_true", help="print one JSON document")
    doctor = commands.add_parser("doctor", help="look at everything that Podium needs")
    doctor.set_defaults(command="doctor")
    doctor.add_argument("--json", action="store_true", help="print one JSON document")
    doctor.add_argument("--all", action="store_true", help="what is well, too")
    doctor.add_argument("--agents", action="store_true", help="only whether any agent can work")
    trial = commands.add_parser("try", help="begin an agent, ask it nothing, and say what it can")
    trial.set_defaults(command="try")
    trial.add_argument("agent", help="its name in the configuration")
    trial.add_argument("--json", action="store_true", help="print one JSON document")
    schema = commands.add_parser("schema", help="print the protocol of the socket")
    schema.set_defaults(command="schema", form="openrpc")
    for form in ("typescript", "python"):
        schema.add_argument(f"--{form}", dest="form", action="store_const", const=form)
    service = commands.add_parser("service", help="run as a service of your session")
    service.set_defaults(command="service")
    add_service_arguments(service)
    return parser


def _doctor(options: argparse.Namespace) -> int:
    from podiumd.doctor import report
    from podiumd.doctor.run import examine, unready

    if options.agents:
        return _emit(unready(os.environ, Path.home(), options.config))
    checks = examine(os.environ, Path.home(), options.config)
    colours = report.wants_colours(os.environ)
    words = report.text(checks, colours=colours, whole=options.all, columns=report.columns())
    code = _emit(json.dumps(report.document(checks)) if options.json else words.rstrip("\n"))
    return code or int(report.is_broken(checks))


def _try(options: argparse.Namespace) -> int:
    import trio

    from podiumd.agents.halves import SettingFault
    from podiumd.doctor import report, trial_report
    from podiumd.doctor.run import configured
    from podiumd.doctor.trial import Result, try_out_or_stop

    def show(result: Result) -> None:
        words = trial_report.line(result, options.agent)
        if words and not options.json:
            _emit(words)

    try:
        agent, environ = configured(os.environ, Path.home(), options.config, options.agent)
        trial = trio.run(try_out_or_stop, agent, environ, show)
    except (LookupError, SettingFault) as error:
        print(f"podiumd: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, BaseExceptionGroup) as stopped:
        if isinstance(stopped, BaseExceptionGroup) and not stopped.subgroup(KeyboardInterrupt):
            raise
        return _STOPPED
    if trial is None:
        return _STOPPED  # once the agent has ended and its directory is gone
    if options.json:
        code = _emit(json.dumps(trial_report.document(trial)))
    else:
        head = trial_report.head(trial, report.columns())
        code = _emit(f"\n{head}\n\n{trial_report.foot(trial)}")
    return code or int(not trial.passed)


def _emit(words: str) -> int:
    """Print; returns the exit code: 1 where standard output does not take it."""
    try:
        print(words, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # no second error at exit
        if not isinstance(error, BrokenPipeError):  # whose reader has what it wanted
            print(f"podiumd: standard output: {error.strerror}.", file=sys.stderr)
        return 1
    return 0


def _configuration(action: str, loaded: Loaded, *, as_json: bool) -> str:
    path = str(loaded.places.config)
    if action == "path":
        return json.dumps({"path": path}) if as_json else path
    values = flatten(loaded.config)
    if as_json:
        listed = [
            {"key": key, "value": value, "source": loaded.sources[key]}
            for key, value in values.items()
        ]
        return json.dumps({"path": path, "warnings": loaded.warnings, "values": listed})
    lines = [(f"{key} = {_toml(value)}", loaded.sources[key]) for key, value in values.items()]
    width = max(len(line) for line, _ in lines)
    return "\n".join(f"{line:<{width}}  # {source}" for line, source in lines)


def _toml(value: Any) -> str:
    """Format a value as in the file; JSON's scalars and lists are TOML's."""
    if isinstance(value, dict):
        pairs = (f"{name} = {json.dumps(item)}" for name, item in value.items())
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    return json.dumps(value, ensure_ascii=False)


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Import without collecting garbage: what modules are made of stays.

    To look through it again and again, while it grows and as long as the daemon lives, would be a
    third of what a start costs.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _serve(loaded: Loaded, options: argparse.Namespace) -> int:
    with _importing():
        from podiumd.config.reload import Settings
        from podiumd.host.manager import Manager
        from podiumd.tools.process.cgroup import leave_turn_group  # these load trio
        from podiumd.tools.process.environment import reexec_without_turn
        from podiumd.wording import restart_command

    command = [sys.executable, *sys.orig_argv[1:]]
    reexec_without_turn(os.environ, command, lambda *call: os.execve(*call))  # noqa: PLW0108, S606
    leave_turn_group()
    manager = Manager.from_environment(os.environ, os.getpid())
    prepare(loaded.places, os.getuid())
    try:
        set_up(options.log_format, file=loaded.places.log if options.detached else None)
    except OSError as error:
        raise PlaceError(f"Cannot write {loaded.places.log}: {error.strerror}.") from None
    for words in loaded.warnings:
        log("Setting ignored", "warning", reason=words)
    with _importing():
        from podiumd.agents.halves import load_driver
        from podiumd.daemon import app  # only now: 'config show' must not load the whole daemon

        for agent in loaded.config.agents.values():
            load_driver(agent.kind)

    sources = (os.environ, sys.platform, Path.home(), options.config)
    settings = Settings(loaded, lambda: load(*sources), restart_command(manager.kind))

    def ready() -> None:
        if options.ready_fd is not None:
            with contextlib.suppress(BrokenPipeError):  # the process that waited for us has gone
                os.write(options.ready_fd, b"ready\n")
            os.close(options.ready_fd)

    try:
        app.run(loaded.config, loaded.places, os.environ, ready, manager, settings)
    except (app.CannotStart, PlaceError, AlreadyRunning) as error:
        if options.detached:  # only the command that started it sees its standard error
            log("Daemon did not start", "error", reason=str(error))
        print(f"podiumd: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
