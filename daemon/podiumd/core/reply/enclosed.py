"""Find what stands between marks in a paragraph: code, HTML, quotation marks, a link's text.

In doubt it does: marks are read as CommonMark reads them and as a person may have meant them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import chain, pairwise
from typing import Final

from podiumd.core.reply.lenient_json import Found

Span = tuple[int, int]

# As CommonMark has them, where a value may hold any mark; else anything that looks like a tag.
_ATTRIBUTES: Final = (
    r"(?:\s++[a-zA-Z_:][\w.:-]*+(?:\s*+=\s*+"
    r"(?:[^\s\"'=<>`]++|'[^']{0,1000}+'|\"[^\"]{0,1000}+\"))?+){0,100}+\s*+/?"
)
_TAG: Final = re.compile(
    rf"<(?:(/?)([a-zA-Z][a-zA-Z0-9-]*+)(?:{_ATTRIBUTES}|[^<>]{{0,1000}})>"
    r"|(!--|\?|!\[CDATA\[)|)|(--|\?|\]\])>"
)
_ENDS: Final = {"--": "!--", "?": "?", "]]": "![cdata["}
# Elements that enclose nothing.
_VOID: Final = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
# The beginning of such an element, or of no element at all, encloses what follows even where
# nothing ends it. Any other name without an end is a type or a placeholder: Vec<String>, <path>.
_QUOTING: Final = re.compile(
    "!--|[?]|!\\[cdata\\["
    "|aside|blockquote|caption|cite|code|del|details|dialog|fig(?:caption|ure)|iframe|kbd|listing|math"
    "|no(?:embed|frames|script)|output|plaintext|pre|q|s|samp|script|strike|style|summary|svg|table"
    "|tbody|td|template|textarea|tfoot|th|thead|title|tr|tt|var|xmp"
)
_TICKS: Final = re.compile(r"`++")
# Syntax that CommonMark reads before a code span that begins in it.
_OPENING: Final = re.compile(r"(\\[\\`]|<[a-zA-Z/!?][^<>]{0,1000}>)|`++")
_ENTITY: Final = r"&(?:[lrb]?[ds]?quo|[lr]s?aquo|quot|#\d{2,5}|#[xX][0-9a-fA-F]{2,4});"
_PAIRS: Final = (
    *("“”", "„“", "„”", "«»", "»«", "\u2018\u2019", "\u201a\u2018", "\u2039\u203a", "\u203a\u2039"),
    *("「」", "『』", "〝〞", "〝〟", "《》", "〈〉", "﹁﹂", "﹃﹄", "｢｣", '""', "\uff02\uff02"),
)
_PAIRS_OF: Final = {mark: [pair for pair in _PAIRS if mark in pair] for mark in {*"".join(_PAIRS)}}
_MARK: Final = re.compile(f"[{''.join(_PAIRS)}]|{_ENTITY}")
_BRACKET: Final = re.compile(r"\[|\](?=([(\[])?)")


class Within:
    """Spans, asked what lies in one of them."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._outer: list[Span] = []
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if not self._outer or self._outer[-1][1] < end:
                self._outer.append((start, end))
        self._starts = [start for start, _ in self._outer]

    def holds(self, place: int) -> bool:
        at = bisect_right(self._starts, place) - 1
        return at >= 0 and place < self._outer[at][1]


def code_spans(text: str, blocks: Sequence[Span], found: Sequence[Found]) -> Iterator[Span]:
    """Return what runs of as many backticks enclose, each within its block."""
    for start, end in blocks:
        runs = [run.span() for run in _TICKS.finditer(text, start, end)]
        if runs:
            yield from _pairs_of_ticks(runs, _openings(text, start, end))
    objects = Within((each.start, each.end) for each in found)
    for start, end in blocks:
        runs = [
            run.span()
            for run in _TICKS.finditer(text, start, end)
            if not objects.holds(run.start())
        ]
        yield from _pairs_of_ticks(runs, runs)


def _openings(text: str, start: int, end: int) -> list[Span]:
    """Return the runs of backticks that may open a code span: not escaped, in no tag."""
    return [each.span() for each in _OPENING.finditer(text, start, end) if each[1] is None]


def _pairs_of_ticks(runs: Sequence[Span], openings: Sequence[Span]) -> Iterator[Span]:
    later: dict[int, list[int]] = {}
    for start, end in reversed(runs):
        later.setdefault(end - start, []).append(start)
    after = 0
    for start, end in openings:
        closing = later.get(end - start, [])
        while closing and closing[-1] < end:
            closing.pop()
        if start >= after and closing:
            after = closing[-1] + end - start
            yield start, after


def elements(
    text: str, blocks: Sequence[Span], code: Within, found: Sequence[Found]
) -> Iterator[Span]:
    """Return what HTML elements, comments and instructions enclose, the tags too.

    What quotes and is never closed, in a block and neither in code nor in an object, encloses
    the rest of its block.
    """
    tags = list(_TAG.finditer(text))
    yield from _closed(tags, {})
    opened: dict[str, list[int]] = {}
    objects = Within((each.start, each.end) for each in found)
    plain = [one for one in tags if not (code.holds(one.start()) or objects.holds(one.start()))]
    yield from _closed(plain, opened)
    firsts = [start for start, _ in blocks]
    quoting = (starts for known, starts in opened.items() if _QUOTING.fullmatch(known))
    for start in chain.from_iterable(quoting):
        at = bisect_right(firsts, start) - 1
        if at >= 0 and start < blocks[at][1]:
            yield start, blocks[at][1]


def _closed(tags: Iterable[re.Match[str]], opened: dict[str, list[int]]) -> Iterator[Span]:
    """Return what is enclosed by two tags, and leave in ``opened`` where the others begin."""
    for tag in tags:
        closing, name, special, ended = tag.groups()
        known = (name or special or _ENDS.get(ended, "")).lower()
        if name:
            yield tag.span()
        if name and (_VOID.fullmatch(known) or tag[0].endswith("/>")):
            continue
        if special or (name and not closing):
            opened.setdefault(known, []).append(tag.start())
        elif starts := opened.get(known):
            yield starts.pop(), tag.end()


def marked(text: str, blocks: Sequence[Span], found: Sequence[Found]) -> Iterator[Span]:
    """Return what quotation marks enclose, each within its block, and the texts of links.

    Marks within an object are its own.
    """
    firsts = [each.start for each in found]
    for start, end in blocks:
        inside = found[bisect_right(firsts, start - 1) : bisect_right(firsts, end - 1)]
        edges = [start, *chain.from_iterable(each[:2] for each in inside), end]
        gaps = [*zip(edges[::2], edges[1::2], strict=True)]
        yield from _quotations(text, gaps)
        yield from _links(text, gaps)


def _quotations(text: str, gaps: Sequence[Span]) -> Iterator[Span]:
    opened: dict[str, int] = {}
    for start, end in gaps:
        for mark in _MARK.finditer(text, start, end):
            character = unescape(mark[0])
            for pair in _PAIRS_OF.get(character, ()):
                if character == pair[1] and pair in opened:
                    yield opened.pop(pair), mark.end()
                elif character == pair[0]:
                    opened[pair] = mark.start()


def _links(text: str, gaps: Sequence[Span]) -> Iterator[Span]:
    opened: list[int] = []
    for start, end in gaps:
        for bracket in _BRACKET.finditer(text, start, end):
            if bracket[0] == "[":
                opened.append(bracket.start())
            elif opened:
                begun = opened.pop()
                if bracket[1]:
                    yield begun, bracket.end()


def paragraphs(text: str) -> list[Span]:
    """Return what blank lines part, of a text without other blocks."""
    breaks = [each.span() for each in _BLANK_LINES.finditer(text)]
    edges = [(0, 0), *breaks, (len(text), len(text))]
    return [(one[1], two[0]) for one, two in pairwise(edges)]


_BLANK_LINES: Final = re.compile(r"(?:\r\n?+|\n)(?:[ \t]*+(?:\r\n?+|\n))+")
