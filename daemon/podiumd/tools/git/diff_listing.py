"""Parsers for git's output on a difference: files with their numbers, commits. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

Change = Literal["added", "modified", "deleted", "renamed", "copied", "type", "conflict"]

_CHANGES: Final[dict[str, Change]] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type",
    "U": "conflict",
}


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that differs. ``before`` is its name where it was another one, ``mode`` its mode
    where that was; ``added`` and ``deleted`` count lines, ``None`` in what is no text."""

    path: str
    change: Change
    before: str | None = None
    mode: str | None = None
    added: int | None = None
    deleted: int | None = None


class MadeCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit: its id, when it was made, the first line of its message."""

    commit: str
    at: str
    subject: str


LONGEST_SUBJECT: Final = 1000
"""Characters of a subject that are shown."""
COMMIT_FORMAT: Final = f"%H%x00%cI%x00%<({LONGEST_SUBJECT},trunc)%s"
"""Format that ``commits_of`` reads, an entry a line. Git cuts a subject to so many columns, and
fills it up to them; characters of no width are not cut."""
COMMIT_BYTES: Final = 5 * LONGEST_SUBJECT
"""Bytes that are enough for an entry whose characters have a width."""


def name_of(path: bytes) -> str:
    """Return a path as text: file names may hold bytes that are not UTF-8."""
    return path.decode("utf-8", "backslashreplace")


def files_of(output: bytes) -> list[tuple[bytes, ChangedFile]]:
    """Parse the files that ``diff --raw --numstat -z`` prints, with their paths as git knows them.

    A file whose times alone have changed has no numbers: it is left out.
    """
    words = iter(output.removesuffix(b"\0").split(b"\0")) if output else iter(())
    found: dict[bytes, ChangedFile] = {}
    counted: set[bytes] = set()
    for word in words:
        if word.startswith(b":"):
            path, one = _raw(word, words)
            found.setdefault(path, one)
        else:
            path, counts = _numbers(word, words)
            counted.add(path)
            if path in found:
                found[path] = msgspec.structs.replace(found[path], **counts)
    return [
        (path, one)
        for path, one in found.items()
        if path in counted or one.mode or one.change != "modified"
    ]


def _raw(word: bytes, words: Iterator[bytes]) -> tuple[bytes, ChangedFile]:
    """``:MODE MODE ID ID LETTER`` and one path, or two of a file that has another name."""
    old, new, *_, status = word.removeprefix(b":").decode().split(" ")
    letter = status[0]
    first = next(words)
    before = name_of(first) if letter in "RC" else None
    path = next(words) if letter in "RC" else first
    change = _CHANGES.get(letter, "modified")
    mode = new if old != new and int(old) and int(new) else None
    return path, ChangedFile(path=name_of(path), change=change, before=before, mode=mode)


def _numbers(word: bytes, words: Iterator[bytes]) -> tuple[bytes, dict[str, int | None]]:
    """``ADDED<TAB>DELETED<TAB>PATH``; of a file that has another name both stand after it."""
    added, deleted, path = word.split(b"\t", 2)
    if not path:
        next(words)
        path = next(words)
    counts = {"added": _count(added), "deleted": _count(deleted)}
    return path, counts


def _count(number: bytes) -> int | None:
    return None if number == b"-" else int(number)


def commits_of(output: bytes) -> list[MadeCommit]:
    """Parse the commits that ``rev-list --format=COMMIT_FORMAT`` prints, or a beginning of it."""
    found = []
    for line in output.decode("utf-8", "replace").split("\n"):
        if line.count("\0") == 2:
            commit, at, subject = line.split("\0")
            found.append(MadeCommit(commit=commit, at=at, subject=_cut(subject)))
    return found


def _cut(subject: str) -> str:
    """Cut a subject, which git has filled up with spaces or which has characters of no width."""
    return subject[:LONGEST_SUBJECT].rstrip(" ")


def as_added(path: bytes, data: bytes) -> tuple[ChangedFile, bytes]:
    """Build the listing and the patch of a file that git does not know yet."""
    name = _quoted(b"b/" + path)
    head = b"diff --git %b %b\nnew file mode 100644\n" % (_quoted(b"a/" + path), name)
    if b"\0" in data[:8000]:
        one = ChangedFile(path=name_of(path), change="added")
        return one, head + b"Binary files /dev/null and %b differ\n" % name
    lines = data.split(b"\n")
    ended = not lines[-1]
    lines = lines[:-1] if ended else lines
    one = ChangedFile(path=name_of(path), change="added", added=len(lines), deleted=0)
    if not lines:
        return one, head
    body = b"".join(b"+%b\n" % line for line in lines)
    last = b"" if ended else b"\\ No newline at end of file\n"
    hunk = b"--- /dev/null\n+++ %b\n@@ -0,0 +1,%d @@\n" % (name, len(lines))
    return one, head + hunk + body + last


def _quoted(path: bytes) -> bytes:
    """Quote a path as git writes it in a patch."""
    if not any(byte < 0x20 or byte in b'"\\\x7f' for byte in path):
        return path
    said = b"".join(
        b"\\%03o" % byte
        if byte < 0x20 or byte == 0x7F
        else b"\\%c" % byte
        if byte in b'"\\'
        else bytes([byte])
        for byte in path
    )
    return b'"%b"' % said
