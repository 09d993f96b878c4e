"""Help, made from the table of commands: on Podium, on all of it, on one command."""

from __future__ import annotations

from collections.abc import Iterable

from podium import __version__, text
from podium.cli.arguments import name_of
from podium.commands.spec.all import COMMANDS, FIRST_DAY, GROUPS
from podium.commands.spec.table import Argument, Command

EXIT_CODES = (
    "Exit codes: 0 done, 1 error, 2 usage, 3 stopped by a limit, 4 a person is needed, 5 the "
    "session or working tree is held, 6 the daemon is not running, 130 cancelled, or following "
    "ended."
)

_WIDEST, _NARROWEST = 100, 40
_MEANING_AT = 24
"""Where the meaning of an argument begins; one whose name is longer has it on the next line."""

_HELP = Argument(("-h", "--help"), "show this help", "help", flag=True)


def overview() -> str:
    """Build the help of ``podium`` itself: what the first day needs."""
    first = [next(one for one in COMMANDS if one.path == path) for path in FIRST_DAY]
    return (
        f"{_begin(' The first day:')}\n{_listed(first)}\n"
        + _folded(
            "'podium --help --all' lists every command, "
            "'podium COMMAND --help' tells more about one."
        )
        + f"\n{_folded(EXIT_CODES)}"
    )


def everything() -> str:
    """List every command, grouped by purpose."""
    groups = [
        f"{name}:\n{_listed([one for one in commands if one.handler])}\n"
        for name, commands in GROUPS
    ]
    return (
        f"{_begin()}\n{''.join(groups)}"
        + _folded(
            "'podium --version' prints the version, "
            "'podium COMMAND --help' tells more about a command."
        )
        + f"\n{_folded(EXIT_CODES)}"
    )


def _begin(more: str = "") -> str:
    said = f"Podium {__version__} conducts coding agents on this machine.{more}"
    return f"usage: podium COMMAND ...\n\n{_folded(said)}"


def _listed(commands: list[Command]) -> str:
    """List the commands, one a line.

    Long lines are broken only at a terminal, as a pipe may search for their words.
    """
    column = max(len(" ".join(command.path)) for command in commands) + 4
    width, lines = min(text.columns(), _WIDEST), []
    for one in commands:
        name = f"  {' '.join(one.path)}"
        first, *more = text.wrapped(" " * column + one.summary, width, column)
        lines += [f"{name}{first[len(name) :]}", *more]
    return "".join(f"{line}\n" for line in lines)


def of_command(command: Command) -> str:
    """Build the help of one command: usage, description, arguments, an example."""
    below = [one for one in COMMANDS if one.path[:-1] == command.path]
    placed = [one for one in command.arguments if not one.is_option]
    options = [one for one in command.arguments if one.is_option]
    parts = [_usage(command, placed, options, below), _folded(command.description)]
    if below:
        rows = ((one.path[-1], one.summary) for one in below)
        parts.append(f"commands:\n{_meanings(rows)}")
    if placed:
        rows = ((one.metavar, one.help) for one in placed)
        parts.append(f"arguments:\n{_meanings(rows)}")
    rows = ((_named(one), one.help) for one in (*options, _HELP))
    parts.append(f"options:\n{_meanings(rows)}")
    parts.append(f"example:\n  {command.example}\n")
    return "\n".join(parts)


def _usage(
    command: Command, placed: list[Argument], options: list[Argument], below: list[Command]
) -> str:
    """Build the usage line: required words first, then the optional ones, as in the table."""
    start = f"usage: {name_of(command)}"
    words = [f"[{one.metavar}]" if one.optional else one.metavar for one in placed]
    words = [f"{word}..." if one.repeat else word for word, one in zip(words, placed, strict=True)]
    words += [f"[{_short(one)}]{'...' if one.repeat else ''}" for one in options]
    lines, indent = [start], " " * (len(start) + 1)
    for word in words:
        if len(lines[-1]) + 1 + len(word) > _width():
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}"
    if below:
        again = f"{' ' * len('usage:')} {name_of(command)} COMMAND ..."
        lines = [*lines, again] if command.handler else [f"{start} COMMAND ..."]
    return "\n".join(lines) + "\n"


def _short(option: Argument) -> str:
    value = option.metavar or "|".join(option.choices)
    return option.names[0] if option.flag else f"{option.names[0]} {value}"


def _named(option: Argument) -> str:
    value = option.metavar or "|".join(option.choices)
    names = ", ".join(option.names)
    return names if option.flag else f"{names} {value}"


def _meanings(rows: Iterable[tuple[str, str]]) -> str:
    lines, column = [], min(_MEANING_AT, _width() // 2)
    for name, meaning in rows:
        first = f"  {name}"
        folded = _folded(meaning, " " * column)
        if len(first) + 2 > column:
            lines.append(f"{first}\n{folded}")
        else:
            lines.append(f"{first:<{column}}{folded[column:]}")
    return "".join(lines)


def _folded(words: str, indent: str = "") -> str:
    """Break a paragraph between words; a command in quotes stays in one piece."""
    lines = text.wrapped(indent + words, _width(), len(indent))
    return "".join(f"{line}\n" for line in lines)


def _width() -> int:
    return max(_NARROWEST, min(text.columns() or 80, _WIDEST))
