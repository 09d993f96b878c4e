"""The command line: from its words to the function of a command in the table."""

from __future__ import annotations

import importlib
from typing import Any

from podium import __version__, text
from podium.cli import arguments
from podium.commands.spec.all import COMMANDS, Command
from podium.errors import OK, USAGE, Failure, Refusal

COMPLETE = "__complete"
"""Command of completion scripts, not of people."""

ALL = "--all"


def run(words: list[str]) -> int:
    """Run the command of a command line; returns the exit code.

    Raises:
        Failure: there is no such command, or it does not take these words.
    """
    if words[:1] == [COMPLETE]:
        from podium.cli import complete

        return complete.candidates(words[1:])
    if not words or words[0] in arguments.HELP:
        return show_help([], everything=ALL in words)
    if words[0] == "--version":
        text.emit(f"podium {__version__}\n")
        return OK
    if words[0].startswith("-"):
        raise Failure(
            f"'podium' alone does not take {text.fold(words[0], 40)}: options stand after the "
            "command, as in 'podium status --json'.",
            USAGE,
        )
    command, rest = find(words)
    try:
        given = arguments.parse(command, rest)
    except arguments.HelpWanted:
        return show_help(list(command.path), everything=False)
    if not command.handler:
        below = ", ".join(_below(command.path))
        here = arguments.name_of(command)
        raise Failure(f"'{here}' needs one of: {below}: see '{here} --help'.", USAGE)
    module, _, function = command.handler.partition(":")
    handler: Any = getattr(importlib.import_module(f"podium.{module}"), function)
    try:
        code: int = handler(**given)
    except Refusal as refusal:
        raise arguments.refused(command, refusal) from refusal
    return code


def show_help(path: list[str], everything: bool) -> int:
    """``podium help``."""
    from podium.cli import usage

    if path:
        text.emit(usage.of_command(find(path)[0]))
    else:
        text.emit(usage.everything() if everything else usage.overview())
    return OK


def find(words: list[str]) -> tuple[Command, list[str]]:
    """Find the command that the words begin with; return it and the words after it.

    Raises:
        Failure: there is none; the nearest is named.
    """
    path: tuple[str, ...] = ()
    for word in words:
        below = _below(path)
        if not below or word.startswith("-"):
            break
        if word not in below:
            raise _no_command(path, word, below)
        path = (*path, word)
    command = next(one for one in COMMANDS if one.path == path)
    return command, words[len(path) :]


def _below(path: tuple[str, ...]) -> list[str]:
    return [command.path[-1] for command in COMMANDS if command.path[:-1] == path]


def _no_command(path: tuple[str, ...], word: str, below: list[str]) -> Failure:
    from podium.nearest import nearest

    named = " ".join([*path, text.fold(word, 40)])
    near = nearest(word, below)
    hint = f"the nearest is '{' '.join([*path, near])}', and " if near else ""
    more = " ".join(["podium", *path, "--help", *([] if path else [ALL])])
    return Failure(f"There is no command '{named}': {hint}'{more}' lists them all.", USAGE)
