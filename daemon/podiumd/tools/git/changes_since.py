"""The changes in a working tree since a commit: commits, files, and the patch of both.

Bounded in time, files and bytes, regardless of the tree's content. No program of the repository is
run, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import trio
from msgspec.structs import replace

from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git.diff_listing import (
    COMMIT_BYTES,
    COMMIT_FORMAT,
    ChangedFile,
    MadeCommit,
    as_added,
    commits_of,
    files_of,
    name_of,
)
from podiumd.tools.git.honest_index import honest_index
from podiumd.tools.git.plumbing import GitCall
from podiumd.tools.git.process import GitError

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
