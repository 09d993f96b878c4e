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
    lines: Sequence[bytes]


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
        """Where a line begins, in bytes; see ``ByteLines.offset``."""
        return self._lines.offset(line)

    def __getitem__(self, wanted: slice, /) -> Sequence[bytes]:
        first, end, _ = wanted.indices(len(self))
        if first >= end:
            return []
        return lines_of(self._data[self._lines.offset(first) : self._lines.offset(end)])


def unified(path: str, old: bytes | None, new: bytes | None) -> str:
    """What changes in a file; ``None`` stands for a file that is not there."""
    before, after = lines_of(old or b""), lines_of(new or b"")
    return from_edits(path, before, edits_between(before, after), created=old is None)


def from_edits(path: str, old: Lines, edits: Sequence[Edit], *, created: bool = False) -> str:
    """The same of edits that are known, in order and apart from each other."""
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
    """The text on one line, with escapes for what a terminal would act on."""
    return text.translate(_HIDDEN)


def lines_of(data: bytes) -> list[bytes]:
    """The lines with their ends."""
    lines = data.split(b"\n")
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def edits_between(old: Sequence[bytes], new: Sequence[bytes]) -> list[Edit]:
    """How the one becomes the other."""
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


def _hunks(old: Lines, edits: Sequence[Edit]) -> Iterator[list[str]]:
    """The edits with the lines around them; those near each other share a hunk."""
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


def _hunk(old: Lines, edits: Sequence[Edit], shift: int) -> list[str]:
    first = max(0, edits[0].first - CONTEXT_LINES)
    end = min(len(old), edits[-1].end + CONTEXT_LINES)
    body: list[str] = []
    at = first
    for edit in edits:
        body += _marked(" ", old[at : edit.first])
        body += _marked("-", old[edit.first : edit.end])
        body += _marked("+", edit.lines)
        at = edit.end
    body += _marked(" ", old[at:end])
    added = sum(len(edit.lines) - (edit.end - edit.first) for edit in edits)
    places = _range(first, end - first), _range(first + shift, end - first + added)
    return [f"@@ -{places[0]} +{places[1]} @@", *body]


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _marked(mark: str, lines: Sequence[bytes]) -> Iterator[str]:
    for line in lines:
        text = line.removesuffix(b"\n").decode("utf-8", "replace").translate(_HIDDEN)
        yield f"{mark}{text}"
        if not line.endswith(b"\n"):
            yield "\\ No newline at end of file"
