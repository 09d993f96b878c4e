"""Distinguish what a reply states itself from what it quotes of others.

An object is the reply's own word where CommonMark has it in a paragraph outside of every quote,
piece of code and HTML, or in a fence that presents nothing but objects. In doubt it is not: a
missing outcome costs a retry, a wrong one sends a run down the wrong edge.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Final, NamedTuple

from podiumd.core.reply.enclosed import Span, Within, code_spans, elements, marked, paragraphs
from podiumd.core.reply.lenient_json import Found

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MOST_CHARACTERS: Final = 100_000
"""Characters of a reply that is taken apart into blocks; in a longer one with blocks nothing is its
own."""

_MOST_WRAPPERS: Final = 2
_SENTENCE: Final = 1000
"""Characters of a line, on each side of an object, that are read for what stands beside it."""

# Names of fences that present an answer; any other names what is quoted: diff, console.
_PRESENTING: Final = frozenset(
    ("", "json", "jsonc", "json5", "markdown", "md", "plaintext", "text", "txt")
)
_WORD: Final = re.compile(r"\w")
_LINE: Final = re.compile(r"\r\n?|\n")
_ITEM: Final = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)+")
# Without such a line a text is one paragraph after the other.
_BLOCK: Final = re.compile(r"(?:^|[\r\n])(?:[ \t]*[-*+>`~<\[\d#=_]|\t| {4})")
# How a line of a diff, of a terminal or of a table begins; an arrow is none.
_COPIED: Final = re.compile(r"[ \t]*(?:\+|-(?![->])|[$%][ \t]|\|)")
# The line of a table below its heads.
_RULE: Final = re.compile(r"^[ \t]*+(?=[^\r\n]*-)(?=[^\r\n]*\|)[ \t|:-]++\r?$", re.MULTILINE)


class _Leaf(NamedTuple):
    """A block without blocks in it: its lines, what it is, and how deep it stands.

    Of a fence ``info`` is its first word, ``content`` how many lines are in it.
    """

    first: int
    end: int
    kind: str
    quoted: bool
    level: int
    info: str
    content: int

    @property
    def closed(self) -> bool:
        return self.content < self.end - self.first - 1


def without_quotations(text: str, found: Sequence[Found]) -> list[Found]:
    """Leave out the objects that the text quotes; keep the others in order.

    A quoted one stands in a quote, in code, in HTML or among other words in a fence: a log, a file,
    another's answer.

    A fence that holds objects alone presents them. One around the whole text, or one that never
    ends, is how the reply is written and quotes no other text.
    """
    if not found:
        return []
    lines = [0, *(end.end() for end in _LINE.finditer(text))]
    own, blocks, written = _in_own_blocks(text, found, lines)
    if not own:
        return []
    spans = list(code_spans(written, blocks, found))
    html = Within(elements(text, blocks, Within(spans), found))
    spans += marked(written, blocks, found)
    marks = Within(spans)
    far = Within(span for span in spans if bisect_right(lines, span[0]) < _line(lines, span[1]))
    tables = Within(block for block in blocks if _RULE.search(text, *block))
    return [
        each
        for each in own
        if not html.holds(each.start)
        and not (far if _alone(text, each) else marks).holds(each.start)
        and not _copied(text, each, lines, tables)
        and not _in_apostrophes(text, each)
    ]


def _line(lines: Sequence[int], end: int) -> int:
    """Return the line, from one, of what ends at ``end``."""
    return bisect_right(lines, end - 1)


def _in_own_blocks(
    text: str, found: Sequence[Found], lines: Sequence[int]
) -> tuple[list[Found], list[Span], str]:
    """Return the objects that stand in the reply's own paragraphs, or are presented; the
    paragraphs; and the text without the fence around it."""
    if _BLOCK.search(text) is None:
        return list(found), paragraphs(text), text
    if len(text) > MOST_CHARACTERS:
        return [], [], text
    written = text
    for _ in range(_MOST_WRAPPERS + 1):
        leaves = _leaves(written)
        wrapper = next((leaf for leaf in leaves if _wraps(text, lines, leaf)), None)
        if wrapper is None:
            edges = [*lines, len(text)]
            blocks = [
                (edges[leaf.first], edges[leaf.end]) for leaf in leaves if leaf.kind == "inline"
            ]
            return _believed(text, found, lines, leaves), blocks, written
        written = _unwrapped(written, lines, wrapper)
    return [], [], text


def _believed(
    text: str, found: Sequence[Found], lines: Sequence[int], leaves: Sequence[_Leaf]
) -> list[Found]:
    inside: dict[_Leaf, list[Found]] = {}
    firsts = [leaf.first for leaf in leaves]
    for each in found:
        line = bisect_right(lines, each.start) - 1
        at = bisect_right(firsts, line) - 1
        # Text nested too deep to be read, and a link's definition, stand in no leaf.
        if at >= 0 and line < leaves[at].end and not leaves[at].quoted:
            inside.setdefault(leaves[at], []).append(each)
    believed: list[Found] = []
    for leaf, objects in inside.items():
        presented = leaf.kind == "fence" and leaf.info in _PRESENTING
        if presented:
            last = leaf.end - 1 if leaf.closed else leaf.end
            end = lines[last] if last < len(lines) else len(text)
            presented = not _says_more(text, objects, lines[leaf.first + 1], end)
        if presented or leaf.kind == "inline":
            believed += objects
    return believed


def _leaves(text: str) -> list[_Leaf]:
    """Return the blocks of a text that hold words, in order."""
    found: list[_Leaf] = []
    quotes = 0
    for token in _blocks().parse(text):
        if token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.map is not None and token.type in ("inline", "fence", "code_block"):
            first, end = token.map
            info = (token.info.split() or [""])[0].lower()
            lines = (token.content.removesuffix("\n") + "\n").count("\n") if token.content else 0
            found.append(_Leaf(first, end, token.type, quotes > 0, token.level, info, lines))
    return found


@cache
def _blocks() -> MarkdownIt:
    # Loaded at the first reply that has blocks: it takes longer than all of the core.
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark")
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader


def _wraps(text: str, lines: Sequence[int], leaf: _Leaf) -> bool:
    """Return whether a fence is how the reply is written: around all of it, or without an end."""
    if leaf.kind != "fence" or leaf.level > 0 or leaf.info not in _PRESENTING:
        return False
    ends = leaf.end >= len(lines) or not text[lines[leaf.end] :].strip()
    return ends and (not leaf.closed or not text[: lines[leaf.first]].strip())


def _unwrapped(text: str, lines: Sequence[int], leaf: _Leaf) -> str:
    """Return the text with blanks in place of a fence's own lines."""
    for line in (leaf.first, leaf.end - 1) if leaf.closed else (leaf.first,):
        start, end = lines[line], lines[line + 1] if line + 1 < len(lines) else len(text)
        text = text[:start] + re.sub(r"[^\r\n]", " ", text[start:end]) + text[end:]
    return text


def _says_more(text: str, inside: Sequence[Found], start: int, end: int) -> bool:
    """Return whether a word between ``start`` and ``end`` is in none of the objects."""
    ends = [start, *(each.end for each in inside)]
    starts = [*(each.start for each in inside), end]
    return any(_WORD.search(text, one, two) for one, two in zip(ends, starts, strict=True))


def _around(text: str, each: Found) -> tuple[str, str]:
    """Return what stands on the object's lines before and after it, without a list's marks."""
    before = text[max(each.start - _SENTENCE, 0) : each.start]
    after = text[each.end : each.end + _SENTENCE]
    before = _LINE.split(before)[-1]
    item = _ITEM.match(before)
    return before[item.end() :] if item else before, _LINE.split(after, maxsplit=1)[0]


def _alone(text: str, each: Found) -> bool:
    sides = _around(text, each)
    return not any(_WORD.search(side) or len(side) >= _SENTENCE for side in sides)


def _copied(text: str, each: Found, lines: Sequence[int], tables: Within) -> bool:
    """Return whether an object stands in a line of a diff, of a terminal or of a table."""
    start = lines[bisect_right(lines, each.start) - 1]
    end = min(start + _SENTENCE, each.start)
    item = _ITEM.match(text, start, end)
    if _COPIED.match(text, item.end() if item else start, end):
        return True
    before, after = _around(text, each)
    if before.rstrip(" \t*_").endswith("|") or after.lstrip(" \t*_").startswith("|"):
        return True
    return tables.holds(each.start) and "|" in before + after


def _in_apostrophes(text: str, each: Found) -> bool:
    before, after = (unescape(side) for side in _around(text, each))
    return not _alone(text, each) and (before.rstrip("*_")[-1:] == "'" == after.lstrip("*_")[:1])
