"""Unified diffs for people to decide on. Pure.

What a terminal would act on, or what turns the reading of a line around, is shown as an escape:
a person must see what is to be written.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from podiumd.core.byte_lines import ByteLines

CONTEXT_LINES = 3
MOST_CHARACTERS = 64 * 1024
_MOST_COMPARED = 4_000_000  # pairs of lines; beyond it the changed stretch is shown as one
_MOST_APART = 50_000  # lines that are taken apart to be compared
_AT_ONCE = 1_000  # lines
_BLOCK = 64 * 1024

_HIDDEN = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for code in (
        *range(0x09),
        *range(0x0A, 0x20),
        *range(0x7F, 0xA0),
        *(0xAD, 0x61C, 0x180E, 0xFEFF),
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFFF9, 0xFFFC),
    )
}
# A copy of ASCII that is nowhere seen, and selectors in which as much may be hidden.
_HIDDEN |= {code: f"\\U{code:08x}" for code in (*range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0))}


class Edit(NamedTuple):
    """Lines ``first`` (from 0) up to ``end`` are replaced by ``lines``."""

    first: int
    end: int
    lines: Lines


class Lines(Protocol):
    """Lines of a file, of which a few are wanted."""

    def __len__(self) -> int: ...

    def __getitem__(self, wanted: slice, /) -> Sequence[bytes]: ...


class LinesOfLong:
    """The lines of a long text, without taking it apart."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._lines = ByteLines(data)

    def __len__(self) -> int:
        return self._lines.count

    def offset(self, line: int) -> int:
        """Return where a line begins, in bytes; see ``ByteLines.offset``."""
        return self._lines.offset(line)

    def __getitem__(self, wanted: slice, /) -> Sequence[bytes]:
        first, end, _ = wanted.indices(len(self))
        if first >= end:
            return []
        return lines_of(self._data[self._lines.offset(first) : self._lines.offset(end)])


def unified(path: str, old: bytes | None, new: bytes | None) -> str:
    """Build the unified diff of a file; ``None`` stands for a file that is not there."""
    before, after = old or b"", new or b""
    edits = _edits(before, after)
    return from_edits(path, LinesOfLong(before), edits, created=old is None)


def from_edits(path: str, old: Lines, edits: Sequence[Edit], *, created: bool = False) -> str:
    """Build the unified diff from edits that are known, in order and apart from each other."""
    name = visible(path)
    pieces = [f"--- {'/dev/null' if created else f'a/{name}'}\n+++ b/{name}\n"]
    size = 0
    for hunk in _hunks(old, edits):
        for line in hunk:
            size += len(line) + 1
            if size > MOST_CHARACTERS:
                pieces.append("[the rest of the diff is not shown: it is too long]\n")
                return "".join(pieces)
            pieces.append(f"{line}\n")
    return "".join(pieces) if len(pieces) > 1 else ""


def visible(text: str) -> str:
    """Return the text on one line, with escapes for what a terminal would act on."""
    return text.translate(_HIDDEN)


def lines_of(data: bytes) -> list[bytes]:
    """Split into lines, with their ends."""
    lines = data.split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def edits_between(old: Sequence[bytes], new: Sequence[bytes]) -> list[Edit]:
    """Compute the edits that turn ``old`` into ``new``."""
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    rest = 0
    while rest < shorter - start and old[-1 - rest] == new[-1 - rest]:
        rest += 1
    before, after = old[start : len(old) - rest], new[start : len(new) - rest]
    if not before and not after:
        return []
    if len(before) * len(after) > _MOST_COMPARED:
        return [Edit(start, start + len(before), after)]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(start + first, start + end, after[a:b])
        for tag, first, end, a, b in matcher.get_opcodes()
        if tag != "equal"
    ]


def _edits(old: bytes, new: bytes) -> list[Edit]:
    """Compute the edits between two texts; a long stretch is not split into lines."""
    head = old.rfind(b"\n", 0, _same_head(old, new)) + 1
    tail = _same_tail(old, new, min(len(old), len(new)) - head)
    feed = old.find(b"\n", len(old) - tail) if tail else -1
    rest = len(old) - feed - 1 if feed >= 0 else 0
    before, after = old[head : len(old) - rest], new[head : len(new) - rest]
    first = old.count(b"\n", 0, head)
    if before.count(b"\n") + after.count(b"\n") > _MOST_APART:
        return [Edit(first, first + len(LinesOfLong(before)), LinesOfLong(after))]
    return [
        Edit(first + edit.first, first + edit.end, edit.lines)
        for edit in edits_between(lines_of(before), lines_of(after))
    ]


def _same_head(one: bytes, other: bytes) -> int:
    """Count the equal bytes at the beginning."""
    most = min(len(one), len(other))
    at = 0
    while at < most and one[at : min(at + _BLOCK, most)] == other[at : min(at + _BLOCK, most)]:
        at = min(at + _BLOCK, most)
    while at < most and one[at] == other[at]:
        at += 1
    return at


def _same_tail(one: bytes, other: bytes, most: int) -> int:
    """Count the equal bytes at the end, up to ``most``."""
    count = 0
    ends = len(one), len(other)
    while count < most:
        more = min(_BLOCK, most - count)
        pieces = [
            text[end - count - more : end - count]
            for text, end in zip((one, other), ends, strict=True)
        ]
        if pieces[0] != pieces[1]:
            break
        count += more
    while count < most and one[ends[0] - count - 1] == other[ends[1] - count - 1]:
        count += 1
    return count


def _hunks(old: Lines, edits: Sequence[Edit]) -> Iterator[Iterator[str]]:
    """Group the edits into hunks with the lines around them; nearby edits share a hunk."""
    shift = 0
    group: list[Edit] = []
    for edit in edits:
        if group and edit.first - group[-1].end > 2 * CONTEXT_LINES:
            yield _hunk(old, group, shift)
            shift += sum(len(one.lines) - (one.end - one.first) for one in group)
            group = []
        group.append(edit)
    if group:
        yield _hunk(old, group, shift)


def _hunk(old: Lines, edits: Sequence[Edit], shift: int) -> Iterator[str]:
    first = max(0, edits[0].first - CONTEXT_LINES)
    end = min(len(old), edits[-1].end + CONTEXT_LINES)
    added = sum(len(edit.lines) - (edit.end - edit.first) for edit in edits)
    places = _range(first, end - first), _range(first + shift, end - first + added)
    yield f"@@ -{places[0]} +{places[1]} @@"
    at = first
    for edit in edits:
        yield from _marked(" ", old, at, edit.first)
        yield from _marked("-", old, edit.first, edit.end)
        yield from _marked("+", edit.lines, 0, len(edit.lines))
        at = edit.end
    yield from _marked(" ", old, at, end)


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _marked(mark: str, lines: Lines, first: int, end: int) -> Iterator[str]:
    for at in range(first, end, _AT_ONCE):
        for line in lines[at : min(at + _AT_ONCE, end)]:
            # A line too long to be shown is decoded only as far as proves that.
            text = line[: 4 * MOST_CHARACTERS + 4].removesuffix(b"\n").decode("utf-8", "replace")
            yield f"{mark}{text.translate(_HIDDEN)}"
            if not line.endswith(b"\n"):
                yield "\\ No newline at end of file"
