"""Tell what a reply says itself from what it quotes of others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from podiumd.core.fences import pieces
from podiumd.core.lenient_json import Found

# The beginning of a line of a Markdown quote, also of one within a list.
_QUOTE: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*>")
_WORD: Final = re.compile(r"\w")


def without_quotations(text: str, found: Sequence[Found]) -> list[Found]:
    """Leave out the objects, in order, that stand in a Markdown quote or among other words in a
    fence: a log, a file, what somebody else answered.

    A fence that holds objects alone presents them. One around the whole text, or one that never
    ends, is how the reply is written and quotes nobody.
    """
    spans = _quoting_fences(text, found) if "```" in text or "~~~" in text else []
    spans.reverse()
    own: list[Found] = []
    for each in found:
        while spans and spans[-1][1] <= each.start:
            spans.pop()
        fenced = bool(spans) and spans[-1][0] <= each.start
        line = text.rfind("\n", 0, each.start) + 1
        if not fenced and _QUOTE.match(text, line, each.start) is None:
            own.append(each)
    return own


def _quoting_fences(text: str, found: Sequence[Found]) -> list[tuple[int, int]]:
    """Return where each fence begins and ends that says more than its objects."""
    spans: list[tuple[int, int]] = []
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    start = 0
    number = 0
    for piece in pieces(text):
        end = start + len(piece.source)
        inside: list[Found] = []
        while number < len(found) and found[number].start < end:
            inside.append(found[number])
            number += 1
        whole = start <= first and last <= end
        if inside and piece.info is not None and piece.closed and not whole:
            within = start + piece.source.index("\n") + 1
            if _says_more(text, inside, within, within + len(piece.text)):
                spans.append((start, end))
        start = end + 1  # the line break between two pieces
    return spans


def _says_more(text: str, inside: Sequence[Found], start: int, end: int) -> bool:
    """Whether there is a word between ``start`` and ``end`` that is in none of the objects."""
    ends = [start, *(each.end for each in inside)]
    starts = [*(each.start for each in inside), end]
    return any(_WORD.search(text, one, two) for one, two in zip(ends, starts, strict=True))
