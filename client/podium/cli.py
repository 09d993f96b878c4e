"""The command line: the table of commands as a parser, and the way to each command's function."""

from __future__ import annotations

import argparse
import importlib
from typing import Any, NoReturn

from podium import __version__, text
from podium.commands import COMMANDS, Argument, Command
from podium.errors import OK, USAGE, Failure

COMPLETE = "__complete"
"""What completion scripts call; no command for people."""

EPILOG = """\
Exit codes: 0 done, 1 error, 2 usage, 3 stopped by a limit, 4 a person is needed, 5 the session
or working tree is held, 6 the daemon is not running, 130 cancelled, or following ended.
'podium COMMAND --help' tells more about a command."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where the help is."""
        text.tell(f"podium: {text.fold(message)}: see '{self.prog} --help'.")
        raise SystemExit(USAGE)


def run(arguments: list[str]) -> int:
    """Parse a command line and run its command; returns the exit code."""
    if arguments[:1] == [COMPLETE]:
        from podium import complete

        return complete.candidates(arguments[1:])
    if not arguments or arguments[0] in ("--help", "-h"):
        text.emit(overview())
        return OK
    if arguments[0].startswith("-") and arguments[0] != "--version":
        raise Failure(
            f"'podium' alone does not take {text.fold(arguments[0], 40)}: options stand after the "
            "command, as in 'podium status --json'.",
            USAGE,
        )
    _require_known(arguments)
    try:
        parsed, rest = parser().parse_known_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    given = vars(parsed)
    command = next(one for one in COMMANDS if one.handler == given["handler"])
    if rest:
        path = " ".join(["podium", *command.path])
        words = text.fold(" ".join(rest), 80)
        raise Failure(f"'{path}' does not take {words}: see '{path} --help'.", USAGE)
    module, _, function = command.handler.partition(":")
    handler = getattr(importlib.import_module(f"podium.{module}"), function)
    # The parser also knows the options of the command above (``--all`` of ``runs``).
    code: int = handler(**{one.dest: given[one.dest] for one in command.arguments})
    return code


def show_help(path: list[str]) -> int:
    """``podium help``."""
    return run([*path, "--help"])


def _require_known(arguments: list[str]) -> None:
    """Name the nearest command where there is none of that name.

    Raises:
        Failure: the words begin with no command.
    """
    path: tuple[str, ...] = ()
    for word in arguments:
        below = [command.path[-1] for command in COMMANDS if command.path[:-1] == path]
        if not below or word.startswith("-"):
            return
        if word not in below:
            from difflib import get_close_matches

            named = " ".join([*path, text.fold(word, 40)])
            near = get_close_matches(word, below, n=1)
            nearest = f"the nearest is '{' '.join([*path, *near])}', and " if near else ""
            more = " ".join(["podium", *path, "--help"])
            raise Failure(
                f"There is no command '{named}': {nearest}'{more}' lists them all.", USAGE
            )
        path = (*path, word)
    below = [command.path[-1] for command in COMMANDS if command.path[:-1] == path]
    if below and not any(command.path == path and command.handler for command in COMMANDS):
        here = " ".join(["podium", *path])
        raise Failure(f"'{here}' needs one of: {', '.join(below)}: see '{here} --help'.", USAGE)


def overview() -> str:
    """The help of ``podium`` itself."""
    listed = [command for command in COMMANDS if command.handler]
    width = max(len(" ".join(command.path)) for command in listed)
    lines = [f"  {' '.join(command.path):<{width}}  {command.summary}" for command in listed]
    return (
        f"usage: podium COMMAND ...\n\nPodium {__version__} conducts coding agents on this "
        "machine.\n\n" + "\n".join(lines) + f"\n\n  {'--version':<{width}}  print the version\n"
        f"\n{EPILOG}\n"
    )


def parser() -> Parser:
    """The parser of the whole table."""
    root = Parser(prog="podium", allow_abbrev=False)
    root.add_argument("--version", action="version", version=f"podium {__version__}")
    made: dict[tuple[str, ...], Parser] = {(): root}
    groups: dict[tuple[str, ...], Any] = {}
    for command in COMMANDS:
        above = command.path[:-1]
        if above not in groups:
            groups[above] = made[above].add_subparsers(
                dest=f"command {' '.join(above)}",
                metavar="COMMAND",
                required=not made[above].get_default("handler"),
            )
        made[command.path] = _add(groups[above], command)
    return root


def _add(group: Any, command: Command) -> Parser:
    added: Parser = group.add_parser(
        command.path[-1],
        help=command.summary,
        description=f"{command.description}",
        epilog=f"example:\n  {command.example}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    if command.handler:
        added.set_defaults(handler=command.handler)
    for argument in command.arguments:
        _add_argument(added, argument)
    return added


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Folds the description, leaves the example as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("example:"):
            return text
        return super(argparse.RawDescriptionHelpFormatter, self)._fill_text(text, width, indent)


def _add_argument(added: Parser, argument: Argument) -> None:
    options: dict[str, Any] = {"help": argument.help.replace("%", "%%")}
    if argument.is_option:
        options["dest"] = argument.dest
    if argument.flag:
        added.add_argument(*argument.names, action="store_true", **options)
        return
    options["default"] = [] if argument.repeat else argument.default
    if argument.repeat and argument.is_option:
        options["action"] = "append"
    if argument.choices:
        options["choices"] = argument.choices
    if argument.metavar:
        options["metavar"] = argument.metavar
    if argument.optional:
        options["nargs"] = "*" if argument.repeat else "?"
    added.add_argument(*argument.names, **options)
