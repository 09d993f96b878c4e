"""Fenced blocks in a text, as CommonMark has them."""

from __future__ import annotations

import re

import msgspec

_OPENING = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$", re.DOTALL)


class Fenced(msgspec.Struct, frozen=True):
    """A piece of a text: a fenced block, or (``info`` is ``None``) what stands between blocks.

    ``info`` is the first word after the fence, in lower case. ``source`` is the piece as it
    stands, ``text`` what is in the block. ``closed`` is false for a fence that never ends.
    """

    source: str
    text: str
    info: str | None = None
    closed: bool = True


def pieces(text: str) -> list[Fenced]:
    """Take a text apart; the pieces' sources together are the text."""
    found: list[Fenced] = []
    between: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at].rstrip("\r"))
        if opening is None:
            between.append(lines[at])
            at += 1
            continue
        if between:
            found.append(_prose(between))
            between = []
        block, at = _block(lines, at, opening)
        found.append(block)
    if between:
        found.append(_prose(between))
    return found


def _prose(lines: list[str]) -> Fenced:
    text = "\n".join(lines)
    return Fenced(source=text, text=text)


def _block(lines: list[str], start: int, opening: re.Match[str]) -> tuple[Fenced, int]:
    """Read the block that line ``start`` opens; return it with the number of the line after it."""
    fence = opening["fence"]
    closing = re.compile(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t\r]*$")
    end = start + 1
    while end < len(lines) and closing.match(lines[end]) is None:
        end += 1
    words = opening["info"].split()
    block = Fenced(
        source="\n".join(lines[start : end + 1]),
        text="\n".join(lines[start + 1 : end]),
        info=words[0].lower() if words else "",
        closed=end < len(lines),
    )
    return block, end + 1
