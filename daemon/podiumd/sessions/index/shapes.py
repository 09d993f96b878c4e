"""Places of the session files of some agents, by the names at each level below their directory.

Other layouts, with rules beyond names, have functions of their own (``tree``, ``walk``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal

import msgspec

from podiumd.formats.gemini_session import session_in
from podiumd.formats.session import Layout

Kind = Literal["subagent", "subagent_meta", "tool_result"]
Matches = Callable[[str], re.Match[str] | None]

_UUID: Final = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def _named(pattern: str) -> Matches:
    return re.compile(pattern, re.DOTALL).fullmatch


_ANY: Final = _named(r"[^.].*")
_ID: Final = _named(f"({_UUID})")
_KIMI_ID: Final = _named(r"(session_[A-Za-z0-9_-]{1,80})")
_TRANSCRIPT: Final = _named(rf"({_UUID})\.jsonl")
_AGENT: Final = _named(r"agent-.+\.jsonl")
_AGENT_META: Final = _named(r"agent-.+\.meta\.json")


class Shape(msgspec.Struct, frozen=True):
    """Place of the files of one kind: what the names at each level are like.

    ``owner`` is the level of the name whose first group is the id of their session; ``None``: it
    stands in the file. ``kind``: what they are to it; ``None``: its transcript.
    """

    names: tuple[Matches, ...]
    owner: int | None
    kind: Kind | None = None


class Aside(msgspec.Struct, frozen=True):
    """A file that says more of a session: its name, at which level, and the transcript from
    there."""

    level: int
    name: str
    transcript: str


SHAPES: Final[Mapping[Layout, tuple[Shape, ...]]] = {
    "chats": (
        Shape((_ANY, _named("chats"), _TRANSCRIPT), 2),
        Shape((_ANY, _named("chats"), _named("archive"), _TRANSCRIPT), 3),
        Shape((_ANY, _named("subagents"), _ID, _AGENT), 2, "subagent"),
        Shape((_ANY, _named("subagents"), _ID, _AGENT_META), 2, "subagent_meta"),
    ),
    "dated": (
        Shape((_ANY, _named("chats"), _named(r"session-.+\.jsonl")), None),
        Shape((_ANY, _named("chats"), _ID, _named(r"[^.].*\.jsonl")), 2, "subagent"),
    ),
    "agents": (
        Shape((_ANY, _KIMI_ID, _named("agents"), _named("main"), _named(r"wire\.jsonl")), 1),
        Shape(
            (_ANY, _KIMI_ID, _named("agents"), _named(r"(?!main$)[^.].*"), _named(r"wire\.jsonl")),
            1,
            "subagent",
        ),
    ),
    "events": (Shape((_ID, _named(r"events\.jsonl")), 0),),
}
"""By layout: ``chats`` is Qwen Code's, ``dated`` Gemini CLI's, ``agents`` Kimi Code's, ``events``
Copilot's."""

ASIDES: Final[Mapping[Layout, Aside]] = {
    "agents": Aside(2, "state.json", "agents/main/wire.jsonl"),
    "events": Aside(1, "workspace.yaml", "events.jsonl"),
}

HEAD_BYTES: Final = 1024 * 1024
"""Bytes of a file in which its session's id is looked for."""


def shape_of(layout: Layout, parts: list[str]) -> Shape | None:
    """Return the shape that a path below the directory has, if any."""
    for shape in SHAPES[layout]:
        if len(parts) == len(shape.names) and all(
            matches(part) for matches, part in zip(shape.names, parts, strict=True)
        ):
            return shape
    return None


def transcript_of(layout: Layout, path: str, parts: list[str]) -> str:
    """Return the transcript of which a file says more; the path itself for any other."""
    aside = ASIDES.get(layout)
    if aside is None or len(parts) != aside.level + 1 or parts[-1] != aside.name:
        return path
    return f"{os.path.dirname(path)}/{aside.transcript}"  # noqa: PTH120 - a text is wanted


def owner_of(shape: Shape, parts: list[str]) -> str:
    """Return the id of the session in a path of this shape; ``""``: it stands in the file."""
    if shape.owner is None:
        return ""
    found = shape.names[shape.owner](parts[shape.owner])
    return "" if found is None else found[1]


def id_inside(path: str, flags: int) -> str:
    """Return the session's id that stands in a file; ``""`` as long as it holds no message.

    Raises ``OSError``.
    """
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return ""
    try:
        return session_in(os.read(descriptor, HEAD_BYTES))
    finally:
        os.close(descriptor)
