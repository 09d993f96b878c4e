"""The parameters of the actions, typed and checked.

A wrong parameter is the failure of its action alone: the message says which it is, and what was
expected.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from podiumd.core.reply.actions import Action

Text = Annotated[str, msgspec.Meta(min_length=1)]
LineNumber = Annotated[int, msgspec.Meta(ge=1)]


class _Args(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all parameters; one that an action does not have is refused."""


class ReadFile(_Args, frozen=True):
    """Read a file, or its lines ``first`` to ``last``, counted from 1."""

    path: Text
    first: LineNumber | None = None
    last: LineNumber | None = None


class WriteFile(_Args, frozen=True):
    """Write a whole file."""

    path: Text
    content: str


class Patch(_Args, frozen=True):
    """Change lines of a file (``core.reply.patch``); ``base`` is the sha256 of what was read."""

    file: Text
    operations: list[Any]
    base: str | None = None


class Search(_Args, frozen=True):
    """Search files whose names match the glob ``pattern``."""

    query: Text
    pattern: str | None = None
    regex: bool = False


class RunCommand(_Args, frozen=True):
    """Run a command line; ``timeout`` is in seconds."""

    command: Text
    timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None


class RunTests(_Args, frozen=True):
    """Run the project's tests, or those that ``pattern`` names."""

    pattern: str | None = None


class Done(_Args, frozen=True):
    """The action by which the agent ends its work: all is done."""

    summary: str | None = None


Args = ReadFile | WriteFile | Patch | Search | RunCommand | RunTests | Done

TYPES: dict[str, type[Args]] = {
    "read_file": ReadFile,
    "write_file": WriteFile,
    "patch": Patch,
    "search": Search,
    "run_command": RunCommand,
    "run_tests": RunTests,
    "done": Done,
}
"""The parameters of each action of the contract."""


def checked(action: Action) -> Args | str | None:
    """Return an action's parameters, or what is wrong with them in words.

    ``None`` for an action that is none of the contract's: the code that offers it checks them.
    """
    kind = TYPES.get(action.name)
    if kind is None:
        return None
    try:
        return msgspec.convert(action.args, kind)
    except msgspec.ValidationError as error:
        return f"{action.name}: {_in_words(str(error))}; its parameters are {_signature(kind)}"


def unknown(name: str, there_are: Iterable[str]) -> str:
    """Return the message about an unknown action; ``there_are`` are those that may be used."""
    return f"unknown action type: {name}; there are {', '.join(there_are)}"


def _in_words(error: str) -> str:
    """Return msgspec's message without its notation of the place."""
    what, _, where = error.partition(" - at `$.")
    what = what[:1].lower() + what[1:]
    return f"parameter '{where.rstrip('`')}': {what}" if where else what


def _signature(kind: type[Args]) -> str:
    """List the names of the parameters, those that may be left out with a question mark."""
    fields = msgspec.structs.fields(kind)
    return ", ".join(f.name if f.required else f"{f.name}?" for f in fields)
