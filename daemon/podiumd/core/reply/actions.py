"""A model's reply, taken apart into prose and the actions it asks for.

Actions stand in fenced blocks: a ``json`` block that holds an ``action``, or an ``action`` block.
Nothing of a reply is done unless all of it can be read: what is wrong is named, so that the model
can write it again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from podiumd.core.recipe.served_tools import SERVED_PREFIX
from podiumd.core.reply.fences import Fenced, pieces
from podiumd.core.reply.wrong_forms import Meant
from podiumd.core.structs import replace

NAMES = ("read_file", "write_file", "patch", "search", "run_command", "run_tests", "done")
"""The actions of the contract."""

ALIAS = "tool_call"
"""An action that names another: ``{"action": "tool_call", "tool": NAME, "args": {...}}``."""

_PREFIXES = ("", SERVED_PREFIX)

_FILLED = frozenset({"args", "arguments", "input", "parameters"})
"""Names for the parameters in other ways to call a tool."""

CUT = "the reply was cut off by the limit of its length: write less at a time"
EMPTY = "the reply holds no text: it was empty, or all of it were thoughts"


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """An act that the model asks for. ``block`` is the number of its block, from 1."""

    name: str
    args: dict[str, Any] = {}
    block: int = 1


class Reply(msgspec.Struct, frozen=True):
    """A reply. With a ``fault`` nothing of it may be done, and ``actions`` is empty.

    ``prose`` is what stands outside the blocks that hold actions.
    """

    prose: str
    actions: tuple[Action, ...] = ()
    fault: str | None = None


class _Fault(Exception):
    """A fault of a reply, in words for the model."""


def parse_reply(
    text: str,
    *,
    cut: bool = False,
    names: tuple[str, ...] = NAMES,
    served: tuple[str, ...] = (),
) -> Reply:
    """Take a reply apart.

    Args:
        text: the reply as the model wrote it.
        cut: the model was stopped by the limit of its reply's length.
        names: the actions that there are, to distinguish an action in a block of the wrong kind
            from an example; an unknown name in a block of the right kind is no fault of the reply.
        served: Podium's own tools, which are actions too. Their names are plain words that any
            example may hold, so only what is clearly a call of one counts as one.
    """
    prose: list[tuple[int, Fenced]] = []
    actions: list[Action] = []
    number = 0
    try:
        if cut:
            raise _Fault(CUT)
        if not text.strip():
            raise _Fault(EMPTY)
        for piece in pieces(text):
            number += piece.info is not None
            found = _actions(piece, number)
            actions += found
            if not found:
                prose.append((number, piece))
        # Beside an action it is an example; an end does not make it one.
        if all(action.name == "done" for action in actions):
            doubt = _doubt(prose, names, served)
            if doubt is not None:
                raise _Fault(doubt)
    except _Fault as fault:
        return Reply(prose=text.strip(), fault=str(fault))
    return Reply(
        prose="\n".join(piece.source for _, piece in prose).strip(),
        actions=tuple(_own(action, served) for action in actions),
    )


def _own(action: Action, served: tuple[str, ...]) -> Action:
    """Map another agent's name for one of Podium's own tools to that tool."""
    name = action.name.removeprefix(SERVED_PREFIX)
    return replace(action, name=name) if name in served else action


def _actions(piece: Fenced, number: int) -> list[Action]:
    """Parse the actions of a block; none if it is prose. Raises ``_Fault``."""
    if not piece.closed:
        raise _Fault(f"block {number}: the fence is never closed")
    if piece.info not in ("json", "action"):
        return []
    try:
        value = _json(piece.text)
    except ValueError as error:
        raise _Fault(f"block {number}: not valid JSON: {error}") from None
    items = value if isinstance(value, list) else [value]
    holds = [isinstance(item, dict) and "action" in item for item in items]
    if piece.info == "json" and not any(holds):
        return []
    if not items:
        raise _Fault(f"block {number}: an action block holds an action, or a list of them")
    several = len(items) > 1
    return [
        _action(item, number, f"block {number}, item {at + 1}" if several else f"block {number}")
        for at, item in enumerate(items)
    ]


def _json(text: str) -> Any:
    """Parse JSON. Raises ``ValueError`` where it is none."""
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _action(item: Any, number: int, where: str) -> Action:
    if not isinstance(item, dict):
        raise _Fault(f"{where}: expected an object with an 'action', got {_kind(item)}")
    if "action" not in item:
        raise _Fault(f"{where}: 'action' is missing")
    args = {key: value for key, value in item.items() if key != "action"}
    name = _name(item["action"], "action", where)
    if name == ALIAS:
        unknown = sorted(set(args) - {"tool", "args"})
        if unknown:
            raise _Fault(f"{where}: {ALIAS} has 'tool' and 'args', not '{unknown[0]}'")
        name, args = _name(args.get("tool"), "tool", where), args.get("args", {})
        if not isinstance(args, dict):
            raise _Fault(f"{where}: 'args' has to be an object, not {_kind(args)}")
    return Action(name=name, args=args, block=number)


def _name(value: Any, key: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Fault(f"{where}: '{key}' has to be the name of an action, not {_kind(value)}")
    return value.strip()


def _kind(value: Any) -> str:
    """Name the type of a JSON value in a word or two."""
    if value is None:
        return "null"
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _doubt(
    prose: list[tuple[int, Fenced]], names: tuple[str, ...], served: tuple[str, ...]
) -> str | None:
    """Return why prose is an action that was written wrong, of which nothing would be done."""
    meant = Meant(names, {f"{prefix}{name}": name for name in served for prefix in _PREFIXES})
    for number, piece in prose:
        name = meant.in_piece(piece)
        if name is None:
            continue
        right = f'write a ```json block, {{"action": "{name}", ...}}'
        if piece.info is not None:
            return f"block {number} names '{name}' but is no action: {right}"
        return (
            f"the reply names '{name}' but is no action: {right}, with the fence at the beginning"
            " of its line; what is only an example, quote with '>'"
        )
    return None
