"""The changes in a working tree since a commit: commits, files, and the patch of both.

Bounded in time, files and bytes, regardless of the tree's content. No program of the repository is
run, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
import trio
from msgspec.structs import replace

from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git.honest_index import honest_index
from podiumd.tools.git.process import GitCall, GitError

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


LIMIT_SECONDS = 30.0
MOST_COMMITS = 50
MOST_FILES = 500
MOST_PATCH_BYTES = 512 * 1024
_LISTING_BYTES = 4 * 1024 * 1024
_FILE_BYTES = 128 * 1024
"""Bytes of a file that git does not know."""

_SHAPE = ("--raw", "--numstat", "-z")
_AS_PATCH = ("-p", "--src-prefix=a/", "--dst-prefix=b/")
# Against any settings of the person or of the repository.
_PLAIN = (
    *("-r", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
    *("--submodule=short", "--ignore-submodules=dirty", "--full-index"),
)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Files that differ, and how. ``more`` counts those without room, as far as git was listened
    to (it is at least 1 where not to the end); ``cut``: the patch is not whole."""

    files: list[ChangedFile] = []
    more: int = 0
    patch: str = ""
    cut: bool = False


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The changes after ``base``. ``rewritten``: ``head`` does not go on from it, as after a
    rebase.

    Committed changes are listed against ``base``, uncommitted ones against ``head``.
    """

    base: str | None
    head: str | None
    rewritten: bool
    commits: list[MadeCommit]
    more_commits: int
    committed: Part
    uncommitted: Part


async def changes_since(
    top: str,
    base: str | None,
    head: str | None,
    *,
    counts: Callable[[list[str]], Iterable[str]] | None = None,
    uncommitted: bool = True,
    patch: bool = True,
) -> Changes:
    """Compute how the tree at ``top`` differs from ``base`` (``None``: there was no commit).

    ``head`` is the last commit to look at. ``counts`` is asked, in a thread, which of the paths
    that are not committed count; without it all do. Raises ``GitError``.
    """
    git = GitCall(top, {"GIT_OPTIONAL_LOCKS": "0"})
    with trio.move_on_after(LIMIT_SECONDS):
        empty = await git.line("hash-object", "-t", "tree", "--stdin")
        between = (base or empty, head or empty)
        commits, more, rewritten = await _commits(git, base, head)
        made = await _committed(git, between, patch) if base != head else Part()
        open_work = Part()
        if uncommitted:
            async with honest_index(git) as seeing:
                open_work = await _uncommitted(seeing, head or empty, counts, patch)
        return Changes(
            base=base,
            head=head,
            rewritten=rewritten,
            commits=commits,
            more_commits=more,
            committed=made,
            uncommitted=open_work,
        )
    raise GitError(f"git did not tell within {LIMIT_SECONDS:g} s what has changed in '{top}'")


async def _commits(
    git: GitCall, base: str | None, head: str | None
) -> tuple[list[MadeCommit], int, bool]:
    """List the newest commits, how many more there are, and whether they leave out ``base``.

    The last is true where ``head`` does not go on from ``base``, as after a rebase.
    """
    if head is None or head == base:
        return [], 0, False
    span = [head, *([f"^{base}"] if base is not None else [])]
    # Subjects that git does not cut end the list where it is too long: the rest is counted.
    listing = ("rev-list", f"--max-count={MOST_COMMITS}", f"--format={COMMIT_FORMAT}", *span)
    told, _ = await git.beginning(MOST_COMMITS * COMMIT_BYTES, *listing)
    commits = commits_of(told)
    count = int(await git.line("rev-list", "--count", *span))
    onward = base is None or (
        (await git.run("merge-base", "--is-ancestor", base, head)).returncode == 0
    )
    return commits, count - len(commits), not onward


async def _committed(git: GitCall, between: tuple[str, str], patch: bool) -> Part:
    listed, whole = await git.beginning(_LISTING_BYTES, "diff-tree", *_PLAIN, *_SHAPE, *between)
    files = [one for _, one in files_of(_entire(listed, whole))]
    said, cut = b"", False
    if patch:
        said, whole = await git.beginning(
            MOST_PATCH_BYTES, "diff-tree", *_PLAIN, *_AS_PATCH, *between
        )
        cut = not whole
    return _part(files, said, cut)


async def _uncommitted(
    git: GitCall, head: str, counts: Callable[[list[str]], Iterable[str]] | None, patch: bool
) -> Part:
    listed, whole = await git.beginning(_LISTING_BYTES, "diff-index", *_PLAIN, *_SHAPE, head)
    clashing = set(await _unmerged(git))
    known = [
        (path, replace(one, change="conflict") if path in clashing else one)
        for path, one in files_of(_entire(listed, whole))
    ]
    # With names from the tree's top, as those above.
    others, all_of_them = await git.beginning(
        _LISTING_BYTES, "ls-files", "-z", "--others", "--exclude-standard", "--full-name"
    )
    # The part after the last NUL is the beginning of a name.
    added = [name for name in others.split(b"\0")[:-1] if name]
    if counts is not None:
        paths = [os.fsdecode(path) for path in [*(path for path, _ in known), *added]]
        kept = set(await trio.to_thread.run_sync(counts, paths))
        known = [one for one in known if os.fsdecode(one[0]) in kept]
        added = [name for name in added if os.fsdecode(name) in kept]
    said, cut = b"", False
    if patch and known:
        names = [os.fsdecode(path) for path, _ in known[:MOST_FILES]]
        names += [one.before for _, one in known[:MOST_FILES] if one.before is not None]
        said, whole = await git.beginning(
            MOST_PATCH_BYTES, "diff-index", *_PLAIN, *_AS_PATCH, head, "--", *names
        )
        cut = not whole
    room = MOST_PATCH_BYTES - len(said)
    new = await trio.to_thread.run_sync(_new_files, git.top, added[:MOST_FILES], room)
    files = [*(one for _, one in known), *(one for one, _ in new)]
    if patch:
        said += b"".join(text for _, text in new)
        cut = cut or any(not text for _, text in new)
    part = _part(files, said, cut)
    left_out = len(added) - len(new) + (0 if all_of_them else 1)
    return replace(part, more=part.more + left_out)


async def _unmerged(git: GitCall) -> list[bytes]:
    """List the files in which a merge that goes on has a conflict."""
    told = await git.out("diff-files", "-z", "--name-only", "--diff-filter=U")
    return [path for path in told.split(b"\0") if path]


def _entire(listed: bytes, whole: bool) -> bytes:
    if not whole:
        raise GitError(f"more has changed than can be listed ({_LISTING_BYTES} bytes of names)")
    return listed


def _part(files: list[ChangedFile], patch: bytes, cut: bool) -> Part:
    files = sorted(files, key=lambda one: one.path)
    return Part(
        files=files[:MOST_FILES],
        more=len(files[MOST_FILES:]),
        patch=patch.decode("utf-8", "replace"),
        cut=cut,
    )


def _new_files(top: str, names: list[bytes], room: int) -> list[tuple[ChangedFile, bytes]]:
    """List the files that git does not know, each with its patch while there is room. Blocks."""
    found = []
    for name in names:
        data = _read(Path(top, os.fsdecode(name)))
        if data is None:
            found.append((ChangedFile(path=name_of(name), change="added"), b""))
            continue
        one, text = as_added(name, data)
        text = text if len(text) <= room else b""
        room -= len(text)
        found.append((one, text))
    return found


def _read(path: Path) -> bytes | None:
    """Read a file; ``None`` where it is no plain file, is too long, or cannot be read."""
    try:
        # It may have become a pipe or a link since it was listed.
        return read_plain(path, _FILE_BYTES)
    except OSError:
        return None
