"""Reading and changing text files for a model: a change is planned, shown, and only then done."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from podiumd.core.reply.patch import BOM, PatchError, apply_patch
from podiumd.tools.agent.workspace import FileContent, Refused, Workspace
from podiumd.tools.agent.workspace_names import shown
from podiumd.tools.diff import Edit, LinesOfLong, from_edits, lines_of, unified

MOST_SHOWN_BYTES = 128 * 1024
"""Bytes that one reading of a file returns at most; further lines are read by naming them."""
_NUMBER_BYTES = 8  # what stands before a line counts as this
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_MOST_LINES = MOST_SHOWN_BYTES // _NUMBER_BYTES


class FilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one file, ready to be done.

    ``path`` is from the root. ``before`` and ``after`` are digests, ``before`` being ``None`` for
    a file that is not there yet; ``original`` and ``data`` are the contents that belong to them;
    ``diff`` is for people, empty where nothing changes.
    """

    path: str
    kind: Literal["created", "modified", "unchanged"]
    before: str | None
    after: str
    diff: str
    data: bytes
    original: bytes | None


def read_text(workspace: Workspace, path: str, first: int = 1, last: int | None = None) -> str:
    """Render lines ``first`` to ``last`` (from 1, inclusive), numbered, below a head.

    The head gives path, range, total and SHA-256. A ``last`` beyond the end means the end. Raises
    ``Refused`` for a file that is not text, and for a range that holds no line.
    """
    found = workspace.read(path)
    _refuse_binary(found, path, "shown")
    lines = LinesOfLong(found.data.removeprefix(BOM))
    end = len(lines) if last is None else min(last, len(lines))
    if first < 1 or first > end:
        if not lines and first == 1:
            return f"{found.path}: empty, 0 lines, sha256 {found.digest}\n"
        raise Refused(f"{shown(path)} has {len(lines)} lines; {first} to {end} holds none of them")
    body, shown_to = _numbered(lines[first - 1 : min(end, first + _MOST_LINES)], first)
    head = f"{found.path}: lines {first} to {shown_to} of {len(lines)}, sha256 {found.digest}"
    notes = [] if found.data.endswith(b"\n") or shown_to < len(lines) else ["no newline at the end"]
    if b"\r\n" in found.data:
        notes.append("line ends are CRLF")
    if found.data.startswith(BOM):
        notes.append("a byte order mark stands before line 1, and stays")
    if shown_to < end:
        notes.append(f"cut for its size: read on from line {shown_to + 1}")
    return "\n".join(["; ".join([head, *notes]), *body]) + "\n"


def _numbered(lines: Sequence[bytes], first: int) -> tuple[list[str], int]:
    room = MOST_SHOWN_BYTES
    body: list[str] = []
    for number, whole in enumerate(lines, first):
        line = whole.removesuffix(b"\n").removesuffix(b"\r")
        if len(line) > room:
            if body:
                return body, number - 1
            body.append(
                f"{number}\t{line[:room].decode('utf-8', 'replace')}"
                f"[... {len(line) - room} bytes of this line left out]"
            )
            return body, number
        room -= len(line) + _NUMBER_BYTES
        body.append(f"{number}\t{line.decode('utf-8', 'replace')}")
        if room <= 0:
            return body, number
    return body, first + len(lines) - 1


def plan_write(workspace: Workspace, path: str, content: str) -> FilePlan:
    """Replace a file, or make one. Raises ``Refused``.

    A file whose lines all end with CRLF keeps that where the content has plain newlines only, and
    one that begins with a byte order mark keeps it.
    """
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise Refused(f"the content for {shown(path)} is not valid Unicode") from None
    found = workspace.find(path)
    if found and b"\r" not in data and _all_crlf(found.data):
        data = data.replace(b"\n", b"\r\n")
    if found and found.data.startswith(BOM):
        data = BOM + data.removeprefix(BOM)
    where = found.path if found else workspace.locate(path)
    workspace.check_layout(where)
    return _plan(where, found, data, unified(where, found.data if found else None, data))


def plan_patch(
    workspace: Workspace, file: str, operations: Sequence[Any], base: str | None = None
) -> FilePlan:
    """Change lines of a file. Raises ``Refused``, also for a patch that does not fit."""
    found = workspace.read(file)
    workspace.check_layout(found.path)
    _refuse_binary(found, file, "patched")
    try:
        data = apply_patch(found.data, operations, base=base)
    except PatchError as error:
        raise Refused(f"the patch of {shown(file)} is refused: {error}") from error
    if found.data.endswith(b"\n"):
        mark = BOM if found.data.startswith(BOM) else b""
        old = msgspec.structs.replace(found, data=found.data.removeprefix(mark))
        diff = _patch_diff(old, data.removeprefix(mark), operations)
    else:  # the last line may get an end that no operation names
        diff = unified(found.path, found.data, data)
    return _plan(found.path, found, data, diff)


def _refuse_binary(found: FileContent, path: str, what: str) -> None:
    """Refuse a file that is not text: a file that was not shown is not patched either.

    Raises ``Refused``.
    """
    head = found.data[:8192]
    if b"\0" in head or head.startswith(_UTF_16):
        raise Refused(
            f"{shown(path)} is binary: {len(found.data)} bytes, sha256 {found.digest}; "
            f"it cannot be {what} as text"
        )


def do_plan(workspace: Workspace, plan: FilePlan) -> None:
    """Do what was planned, if the file still is what it was. Raises ``Changed``, ``Refused``."""
    if plan.kind == "unchanged":
        return
    workspace.write(plan.path, plan.data, before=plan.before, digest=plan.after)


def _plan(path: str, found: FileContent | None, data: bytes, diff: str) -> FilePlan:
    after = hashlib.sha256(data).hexdigest()
    before = found.digest if found else None
    kind: Literal["created", "modified", "unchanged"] = "modified"
    if found is None:
        kind = "created"
    elif before == after:
        kind = "unchanged"
    return FilePlan(
        path=path,
        kind=kind,
        before=before,
        after=after,
        diff=diff,
        data=data,
        original=found.data if found else None,
    )


def _patch_diff(found: FileContent, data: bytes, operations: Sequence[dict[str, Any]]) -> str:
    """Build the diff of a patch that fits from its operations: comparing is slow in long files."""
    meant = sorted(
        (
            one["line"] - 1,
            one["line"] - 1 if one["type"] == "insert" else one.get("end_line") or one["line"],
            len(one.get("content") or ()) if one["type"] != "delete" else 0,
        )
        for one in operations
    )
    old = LinesOfLong(found.data)
    edits, shift = [], 0
    for first, end, count in meant:
        at = new_end = old.offset(first) + shift
        for _ in range(count):
            new_end = data.index(b"\n", new_end) + 1
        if first < end or count:
            edits.append(Edit(first, end, lines_of(data[at:new_end])))
        shift += (new_end - at) - (old.offset(end) - old.offset(first))
    return from_edits(found.path, old, edits)


def _all_crlf(data: bytes) -> bool:
    return data.count(b"\n") == data.count(b"\r\n") > 0
