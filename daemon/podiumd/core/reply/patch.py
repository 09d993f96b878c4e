"""Patches of a file's lines: all of a patch is applied, or nothing of it.

Lines count from 1 in the file as it is before the patch, and every operation speaks of those lines,
in any order. A line that no operation names stays as it is, byte for byte. A byte order mark is
part of no line: it stays first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from podiumd.core.byte_lines import ByteLines

BOM: Final = "\ufeff".encode()
"""The byte order mark of UTF-8, which some programs put in front of a file and look for there."""

_KEYS: Final = ("line", "type", "content", "end_line", "expect")
_TYPES: Final = ("insert", "delete", "replace")
_SHOWN: Final = 500


class PatchError(Exception):
    """A patch that is refused as a whole; ``reason`` is why, in words for its author."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Operation(msgspec.Struct, frozen=True):
    """Put ``content`` in the place of the lines ``start`` to ``end`` (from 0, end exclusive).

    An insertion has ``start == end``. ``number`` is its place in the patch, from 1.
    """

    number: int
    start: int
    end: int
    content: tuple[bytes, ...]

    @property
    def changes_something(self) -> bool:
        return self.start < self.end or bool(self.content)


def apply_patch(data: bytes, operations: Sequence[Any], *, base: str | None = None) -> bytes:
    """Return the bytes of a file after a patch.

    Args:
        data: the file's bytes.
        operations: as the model wrote them: ``line``, ``type`` (insert, delete, replace),
            ``content`` (a list of lines), ``end_line`` (the last line meant), ``expect`` (the text
            that must stand there: in the lines meant, or in the one before which is inserted).
        base: the sha256 (hex) of the file as it was read.

    Raises:
        PatchError: an operation is wrong, two overlap, or the file is not as expected.
    """
    if base is not None and base.strip().lower() != (now := hashlib.sha256(data).hexdigest()):
        raise PatchError(f"base is {base}, but the file's sha256 is {now}: read it again")
    if not operations:
        raise PatchError("operations is empty: there is nothing to change")
    mark = BOM if data.startswith(BOM) else b""
    data = data.removeprefix(mark)
    lines = ByteLines(data)
    meant = [_operation(raw, number, lines) for number, raw in enumerate(operations, 1)]
    meant.sort(key=lambda operation: (operation.start, operation.end))  # stable: as they were given
    _no_overlap(meant)
    patched = _patched(data, lines, [o for o in meant if o.changes_something])
    return mark + patched.removeprefix(mark)  # an agent that read the mark may write it again


def _patched(data: bytes, lines: ByteLines, operations: list[_Operation]) -> bytes:
    """Do all operations; whether the file ends with a line break stays as it was."""
    view = memoryview(data)  # a slice of bytes would be a copy
    parts: list[bytes | memoryview] = []
    done = 0
    for operation in operations:
        ending = _ending(lines, operation.start)
        start = lines.offset(operation.start)
        parts.append(view[done:start])
        if operation.start == lines.count and start > done and not lines.closed:
            parts.append(ending)  # it was the last line, and is no more
        parts += [line + ending for line in operation.content]
        done = lines.offset(operation.end)
    parts.append(view[done:])
    patched = b"".join(parts)
    if not lines.closed and operations and operations[-1].end == lines.count:
        ending = b"\r\n" if patched.endswith(b"\r\n") else b"\n"
        patched = patched.removesuffix(ending)
    return patched


def _ending(lines: ByteLines, line: int) -> bytes:
    """Return the line break of new lines: that of the line in whose place, or before which, they
    stand; at the end that of the last line that has one."""
    return lines.ending(line) or lines.ending(line - 1) or lines.ending(line - 2) or b"\n"


def _operation(raw: Any, number: int, lines: ByteLines) -> _Operation:
    """Check an operation as the model wrote it. Raises ``PatchError``."""
    where = f"operation {number}"
    if not isinstance(raw, dict):
        raise PatchError(f"{where}: expected an object with 'line' and 'type'")
    unknown = sorted(set(raw) - set(_KEYS))
    if unknown:
        raise PatchError(f"{where}: unknown key '{unknown[0]}', there are {', '.join(_KEYS)}")
    kind = raw.get("type")
    if kind not in _TYPES:
        raise PatchError(f"{where}: 'type' is {kind!r}, expected one of {', '.join(_TYPES)}")
    first = _line_number(raw.get("line"), "line", where)
    if kind == "insert":
        if raw.get("end_line") is not None:
            raise PatchError(f"{where}: an insert has no 'end_line'")
        if first > lines.count + 1:
            raise PatchError(f"{where}: line {first} is out of range, {_has(lines)}")
        operation = _Operation(number, first - 1, first - 1, _content(raw, where))
        _check_expected(raw, lines, first - 1, min(first, lines.count), where)
        return operation
    end = first
    if raw.get("end_line") is not None:
        end = _line_number(raw["end_line"], "end_line", where)
    if end < first:
        raise PatchError(f"{where}: end_line {end} comes before line {first}")
    if end > lines.count:
        raise PatchError(f"{where}: line {end} is out of range, {_has(lines)}")
    if kind == "delete" and raw.get("content"):
        raise PatchError(f"{where}: a delete has no 'content', did you mean replace?")
    content = () if kind == "delete" else _content(raw, where)
    _check_expected(raw, lines, first - 1, end, where)
    return _Operation(number, first - 1, end, content)


def _has(lines: ByteLines) -> str:
    count = lines.count
    return f"the file has {count} line" + ("" if count == 1 else "s")


def _line_number(value: Any, key: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PatchError(f"{where}: '{key}' is {value!r}, expected a line number from 1")
    return value


def _content(raw: dict[str, Any], where: str) -> tuple[bytes, ...]:
    content = raw.get("content")
    if not isinstance(content, list) or not all(isinstance(line, str) for line in content):
        raise PatchError(f"{where}: 'content' has to be a list of lines (texts)")
    for at, line in enumerate(content, 1):
        if "\n" in line or "\r" in line:
            raise PatchError(
                f"{where}: line {at} of 'content' holds a line break: give each line as a text of "
                "its own, without its line break"
            )
    return tuple(line.encode("utf-8", "replace") for line in content)


def _check_expected(
    raw: dict[str, Any], lines: ByteLines, start: int, end: int, where: str
) -> None:
    """Check that the lines are what the model expects. Raises ``PatchError``."""
    expect = raw.get("expect")
    if expect is None:
        return
    if isinstance(expect, list) and all(isinstance(line, str) for line in expect):
        expect = "\n".join(expect)
    if not isinstance(expect, str):
        raise PatchError(f"{where}: 'expect' has to be a text or a list of lines")
    if start == end:
        raise PatchError(f"{where}: no line is there, but 'expect' names one")
    wanted = expect.replace("\r\n", "\n").encode("utf-8", "replace")
    wanted = wanted.removeprefix(BOM) if start == 0 else wanted
    found = lines.text(start, end)
    if wanted not in (found, found + b"\n"):
        shown = found.decode("utf-8", "replace")[:_SHOWN]
        raise PatchError(f"{where}: the text there is not as expected, it is: {shown}")


def _no_overlap(operations: list[_Operation]) -> None:
    """Check that no two operations overlap. Raises ``PatchError`` where a line is meant twice, or
    an insert stands between lines that another operation takes away together. Several inserts at
    one place come as they were given."""
    for before, after in pairwise(operations):
        if after.start < before.end:
            first, second = sorted((before.number, after.number))
            raise PatchError(f"operations {first} and {second} overlap")
