"""The odd entries of a git repository: neither files nor directories, or repositories themselves.

Git writes through links: one in the place of a log or an index has it write wherever the link
leads, outside of the sandbox that the link was made in. From a pipe it would read for ever. And in
a directory there it goes by what is laid out as a repository around it, as anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from podiumd.tools.files.owner_rights import entries_of, status_of
from podiumd.tools.files.plain_file import MOST_LINK_BYTES, read_plain
from podiumd.tools.git.waits import would_wait

_HEAPS = frozenset(("lfs", "annex"))
"""Directories of a repository itself, large and written to by content alone: a link there leads
nothing of meaning elsewhere. There are as many directories as files, so what is new there alone is
looked at, as among objects."""
_TURNS = ("config", "hooks", "branches", "remotes")
"""Entries that turn a harmless repository into another, beside what its directory itself shows."""
_OBJECTS = "objects"
_LAYOUT = ("HEAD", "objects", "refs")
_TICK_NS = 2_000_000_000  # what clock and file system may differ by
_DEEPEST = 3  # info/commit-graphs
_ALONE = 2
"""Names of a directory that has none below it, where file systems count them so."""
_NAMES = ("refs", "logs")  # below these a directory of any name is part of a name


class Odd(NamedTuple):
    """``entries`` are links, pipes, sockets and devices, ``shut`` what cannot be looked into.
    ``inner`` are repositories in it: what is called ``.git``, and directories that are laid out as
    one, those of submodules and worktrees too."""

    entries: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()


def odd_entries(
    repositories: Iterable[str], since: int | None = None, heaps: Collection[str] = _HEAPS
) -> Odd:
    """List what is odd in these directories. Blocks.

    Objects are looked at for what came to them after ``since``, the time of a clock in nanoseconds,
    alone: there are many. So are ``heaps`` where they lie in a repository itself, for repositories;
    by that name anything may lie deeper.
    """
    found, shut, inner = set[str](), set[str](), set[str]()
    own = frozenset(repositories)
    left = [(path, False) for path in own]
    while left:
        directory, named = left.pop()
        try:
            entries = entries_of(directory)
            inner |= _inner({one.name for one in entries}, directory, own)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    heap = directory in own and entry.name in heaps
                    if heap or (entry.name == _OBJECTS and not named):
                        if since is not None:
                            new = _among_objects(entry.path, since - _TICK_NS, shut, inner)
                            found |= set() if heap else new
                    else:
                        left.append((entry.path, named or entry.name in _NAMES))
                elif not entry.is_file(follow_symlinks=False):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return Odd(frozenset(found), frozenset(shut), frozenset(inner))


def all_within(repository: str) -> Odd:
    """Find the odd entries anywhere in a new repository: among its objects and heaps too. Blocks.

    Its records of its own worktrees are not odd, nor what a link leads to.
    """
    if os.path.islink(repository):  # noqa: PTH114 - one that cannot be looked at is none
        return Odd()
    odd = odd_entries([repository], since=0, heaps=())
    trees = [one for one in odd.inner if Path(one).parent == Path(repository, "worktrees")]
    return odd._replace(inner=odd.inner.difference(one for one in trees if leads_home(one)))


def _inner(names: set[str], directory: str, own: Collection[str] = ()) -> set[str]:
    """Return the repositories that a directory with these names has and is."""
    found = {f"{directory}/.git"} if ".git" in names else set[str]()
    laid_out = names.issuperset(("HEAD", "commondir")) or names.issuperset(_LAYOUT)
    if laid_out and directory not in own and not directory.endswith("/.git"):
        found.add(directory)
    return found


def _among_objects(objects: str, since: int, shut: set[str], inner: set[str]) -> set[str]:
    """Find what git would wait at among its objects, and the links newer than ``since``.

    Git reads two directories deep by name. Repositories that are as new, at any depth, are added to
    ``inner``. A directory in which nothing is new is not looked into; the time of a change is the
    kernel's, which nothing in a sandbox can set.
    """
    found = set[str]()
    left = [(objects, 0)]
    while left:
        directory, depth = left.pop()
        try:
            if depth and status_of(directory).st_ctime_ns < since and not _has_below(directory):
                continue
            entries = entries_of(directory)
            for one in _inner({entry.name for entry in entries}, directory):
                if _is_new(one, since):
                    inner.add(one)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append((entry.path, depth + 1))
                elif (
                    depth <= _DEEPEST
                    and not entry.is_file(follow_symlinks=False)
                    and (would_wait(entry.path) or status_of(entry.path).st_ctime_ns >= since)
                ):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return found


def _is_new(repository: str, since: int) -> bool:
    """Return whether a repository is newer than ``since``, or what it runs may be."""
    mark = repository if repository.endswith("/.git") else f"{repository}/HEAD"
    places = (f"{repository}/{name}" for name in _TURNS)
    there = [path for path in places if os.path.lexists(path)]
    # A hook that is written over, or made executable, shows in its own time alone.
    if f"{repository}/hooks" in there:
        with suppress(NotADirectoryError):
            there += [entry.path for entry in entries_of(f"{repository}/hooks")]
    return any(status_of(path).st_ctime_ns >= since for path in (mark, *there))


def _has_below(directory: str) -> bool:
    """Return whether there may be directories in it, which do not show in its own time."""
    return status_of(directory).st_nlink != _ALONE


def leads_home(tree: str) -> bool:
    """Return whether a worktree's record belongs to the repository that it lies in. Blocks."""
    try:
        named = os.fsdecode(read_plain(f"{tree}/commondir", MOST_LINK_BYTES).rstrip(b"\n"))
        return Path(os.path.realpath(Path(tree, named))) == Path(tree).parents[1]
    except (OSError, ValueError):
        return False
