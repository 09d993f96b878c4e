"""An index that hides nothing: git looks at a file also where the index exempts it.

``git update-index --skip-worktree`` and ``--assume-unchanged`` have git take a file for unchanged,
regardless of its content. So do times and sizes that are written into the index by hand, as the
changed file has them: git compares these alone. Staged changes are hidden by the index's record of
trees (see ``index_file``). A command that claims that all is committed may have done so, so no look
of ours goes by it; the repository's own index stays as it is.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import trio

from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git.beside import INDEX_PLACE
from podiumd.tools.git.index_file import SPLIT, trees_hold, unfit, without_trees
from podiumd.tools.git.pinned_settings import (
    FileStamp,
    Repository,
    is_settled,
    repository_at,
    stamp_of,
)
from podiumd.tools.git.process import (
    Ahead,
    GitCall,
    GitError,
    ahead_of,
    object_bytes,
    tree_elsewhere,
)

MOST_BYTES: Final = 256 * 1024 * 1024
"""Bytes of an index that is copied: some million files."""
MOST_KNOWN: Final = 256
"""Indexes of which it is remembered what was found."""
MOST_LINKS: Final = 200
"""Submodules that are reported."""
ELSEWHERE: Final = (
    "the settings of '{}' say that its files are in '{}' (core.worktree), so what is changed here "
    "is not told; take that out, or work there"
)
MOST_SHARED: Final = 64
"""Files of split indexes that are looked at; git keeps one or two."""
UNREADABLE: Final = "the index '{}' cannot be read: {}"
_SKIPPED: Final = b"S"
_SETTLED_NS: Final = 2_000_000_000
_ENTRY: Final = re.compile(
    rb"(?P<mark>\S) (?P<said>(?P<mode>\d+) [0-9a-f]+ (?P<stage>\d)\t(?P<path>[^\0]+))\0"
    rb"  (?P<debug>ctime: (?P<changed>\d+):(?P<nanoseconds>\d+)\n(?:  [^\n]*\n)*)"
)
_FILES: Final = (b"100644", b"100755", b"120000")
_LINK: Final = b"160000 "
_LOOK: Final = "status"
_in_thread: Final = trio.to_thread.run_sync
_EARLIER: Final = trio.CapacityLimiter(64)
"""For the threads of ``looked_before``: one that is given up at a hanging mount keeps its place."""
_NO_OFFSETS: Final = ("index.recordEndOfIndexEntries=false", "index.recordOffsetTable=false")


class _Entry(NamedTuple):
    """A file in the index. ``said`` is the line that enters it anew, ``debug`` is what git compares
    of it, ``changed`` among that, in nanoseconds. ``passed_over``: git does not look."""

    said: bytes
    debug: bytes
    path: bytes
    changed: int
    mark: bytes
    is_file: bool

    @property
    def passed_over(self) -> bool:
        """Return whether git passes the file over.

        A small letter marks a file that is assumed unchanged, an S one that is skipped.
        """
        return self.mark.islower() or self.mark == _SKIPPED


class _Known:
    """The findings on one index. Files that have not changed since the first look at it need no
    other: ``since`` is when that was.

    ``honest`` are entries that were found to match their files; the kernel's time of change in them
    is that of the file as it was then. No program can set that, but a write through a shared map
    may leave it as it is until the kernel has written the page out.
    """

    def __init__(self, since: int) -> None:
        self.since = since
        self.honest: frozenset[tuple[bytes, bytes]] = frozenset()


class _Place(NamedTuple):
    """The place where an index is looked at: the ``top`` of its tree, the directory ``below`` that,
    the file and its stamp. ``file`` is empty where it is not the repository's own, or there is
    none."""

    top: str
    below: bytes
    file: str
    stamp: FileStamp
    settled: bool


class Seen(NamedTuple):
    """The findings at one moment where an index is to be looked at (see ``seen_at``)."""

    ahead: Ahead
    place: _Place


class Listed(NamedTuple):
    """The parts of an index below a directory that a look of ours must not take for granted.

    These are the entries that are ``passed_over``, the files that have ``changed`` since the first
    look, and the names of the first submodules. ``top`` is that of the tree, ``below`` the
    directory, from there and with ``/`` at its end; ``trees_hold``: the index's record of trees is
    true.
    """

    top: str
    below: bytes
    trees_hold: bool
    passed_over: list[_Entry]
    changed: list[_Entry]
    links: list[bytes]


class _Trees:
    """The findings on each tree.

    For trees that have no room any more the time of the first look is remembered: else a command
    that makes many repositories would have a first look anew.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._forgotten: int | None = None

    def known(self, top: str) -> _Known:
        """Return what is known of the tree at ``top``."""
        known = self._known.pop(top, None)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                gone = self._known.pop(next(iter(self._known)))
                self._forgotten = min(gone.since, self._forgotten or gone.since)
            known = _Known(self._forgotten or time.time_ns() - _SETTLED_NS)
        self._known[top] = known  # the one that was used last is forgotten last
        return known


_TREES: Final = _Trees()
_LISTED: dict[tuple[str, str], tuple[FileStamp, Listed]] = {}


@asynccontextmanager
async def honest_index(git: GitCall) -> AsyncIterator[GitCall]:
    """Yield a git that sees every file below its directory as it is. Raises ``GitError``.

    An index that has changed is listed, and its record of trees is read, which takes long where it
    has very many files; one that has not, and passes nothing over, costs nothing. The index is
    copied too where files are passed over, or have changed and are recorded as unchanged, or where
    the record of trees is false. Files that a sparse checkout has not checked out stay passed over.
    """
    seen = await _in_thread(seen_at, git, abandon_on_cancel=True)
    async with honest_look(git, seen) as (seeing, _):
        yield seeing


@asynccontextmanager
async def honest_look(git: GitCall, seen: Seen) -> AsyncIterator[tuple[GitCall, Listed]]:
    """Yield the git of ``honest_index`` from what was ``seen`` just now, and the index's listing.

    Where all is remembered nothing else is looked at before the git.
    """
    await _require_own_tree(git.top, seen.ahead)
    found = await _listed(git, seen.place)
    known = _TREES.known(found.top)
    hidden = found.passed_over
    if any(entry.mark == _SKIPPED for entry in hidden) and await _is_sparse(git):
        # Git itself looks at the files that such a checkout has although it need not.
        hidden = [entry for entry in hidden if entry.mark != _SKIPPED]
    claimed = [one for one in found.changed if (one.said, one.debug) not in known.honest]
    if claimed:
        claimed = await _in_thread(
            _claimed, claimed, os.fsencode(found.top), abandon_on_cancel=True
        )
    if claimed and not git.confined:
        claimed = await _unfiltered(claimed, found.top)
    if not hidden and not claimed and found.trees_hold:
        yield git.seeing(seen.ahead) if seen.ahead.listing is not None else git, found
        return
    with tempfile.TemporaryDirectory(prefix=INDEX_PLACE) as scratch:
        copy = Path(scratch, "index")
        own = git.with_environment(GIT_INDEX_FILE=os.fspath(copy))
        await _copy(git, own, copy)
        # An entry that is put in anew has no such mark, nor a time by which it need not be read.
        anew = b"".join(entry.said + b"\0" for entry in (*hidden, *claimed))
        if anew:
            await own.out("update-index", "-z", "--index-info", stdin=anew)
        differ = await _differ(own) if claimed else frozenset()
        _remember(known, found, [one for one in claimed if one.path not in differ])
        lies = hidden or not found.trees_hold or any(one.path in differ for one in claimed)
        yield own if lies else git, found


async def links(git: GitCall) -> list[bytes]:
    """List the first submodules' names that an index has below the directory of ``git``.

    Raises ``GitError``.
    """
    seen = await _in_thread(seen_at, git, abandon_on_cancel=True)
    return (await _listed(git, seen.place)).links


async def _listed(git: GitCall, place: _Place) -> Listed:
    """List the index of a repository, below the directory of ``git``. Raises ``GitError``.

    One that passes nothing over is not listed again before its file changes, by the kernel's time
    of that.
    """
    before = _LISTED.get((place.file, git.top))
    if before is not None and before[0] == place.stamp:
        return before[1]
    known = _TREES.known(place.top)
    index, size = place.file or await _index_of(git), await object_bytes(git.top)
    trees = await _in_thread(_trees_hold, index, size, abandon_on_cancel=True)
    listing = await git.out("ls-files", "-z", "-v", "--stage", "--debug", "--full-name")
    found = Listed(place.top, place.below, trees, [], [], [])
    for entry in map(_entry, _ENTRY.finditer(listing)):
        if entry.passed_over:
            found.passed_over.append(entry)
        elif _may_have_changed(entry, known):
            found.changed.append(entry)
        if entry.said.startswith(_LINK) and len(found.links) < MOST_LINKS:
            found.links.append(entry.path)
    _LISTED.pop((place.file, git.top), None)
    if place.settled and not found.passed_over and await _in_thread(_is_whole, place):
        if len(_LISTED) >= MOST_KNOWN:
            del _LISTED[next(iter(_LISTED))]
        _LISTED[place.file, git.top] = place.stamp, found
    return found


def seen_at(git: GitCall) -> Seen:
    """Find what a look goes by where ``git`` is to be run. Blocks for some names and the files of
    settings."""
    ahead = ahead_of(git.top, _LOOK)
    return Seen(ahead, _place(git, ahead.repository))


def _place(git: GitCall, repository: Repository | None) -> _Place:
    if repository is None:
        return _Place(git.top, b"", "", None, settled=False)
    below = b""
    if git.top != repository.top:
        inside = Path(git.top).absolute().relative_to(repository.top)
        below = os.fsencode(f"{inside}/") if inside.parts else b""
    if not git.own_index:
        return _Place(repository.top, below, "", None, settled=False)
    index = f"{repository.directory}/index"
    stamp = stamp_of(index)
    return _Place(repository.top, below, index, stamp, is_settled([stamp]))


def _is_whole(place: _Place) -> bool:
    """Return whether an index is in one file.

    The file of a split index shows nothing of the other, which can be changed in its place.
    """
    return not any(Path(place.file).parent.glob("sharedindex.*"))


def _may_have_changed(entry: _Entry, known: _Known) -> bool:
    return entry.changed >= known.since and entry.is_file and not entry.passed_over


async def looked_before(path: str, at_ns: int) -> None:
    """Say that a daemon before has looked at the tree around ``path``, at that time of a clock in
    nanoseconds: what has changed since then is not taken for granted either."""
    repository = await _in_thread(
        lambda: repository_at(os.path.realpath(path)), abandon_on_cancel=True, limiter=_EARLIER
    )
    if repository is None:
        return
    known = _TREES.known(repository.top)
    known.since = min(known.since, at_ns)
    for key, (_, found) in list(_LISTED.items()):
        if found.top == repository.top:
            del _LISTED[key]


async def _require_own_tree(top: str, ahead: Ahead) -> None:
    """Refuse where the settings have git look at the files of another place.

    Raises ``GitError``.
    """
    elsewhere = await tree_elsewhere(top, ahead)
    if elsewhere is not None:
        raise GitError(ELSEWHERE.format(top, elsewhere))


def _entry(found: re.Match[bytes]) -> _Entry:
    changed = int(found["changed"]) * 10**9 + int(found["nanoseconds"])
    is_file = found["mode"] in _FILES and found["stage"] == b"0"
    return _Entry(found["said"], found["debug"], found["path"], changed, found["mark"], is_file)


def _claimed(changed: list[_Entry], top: bytes) -> list[_Entry]:
    """Select the changed entries at which git would not look. Blocks for their names.

    These are entries of files that have changed since the first look, and that the index records as
    they are now.
    """
    found = []
    for entry in changed:
        try:
            status = os.lstat(os.path.join(top, entry.path))  # noqa: PTH118 - often
        except OSError:
            continue
        # Some gits compare seconds alone.
        if status.st_ctime_ns // 10**9 == entry.changed // 10**9:
            found.append(entry)
    return found


async def _unfiltered(entries: list[_Entry], top: str) -> list[_Entry]:
    """Without those that go through a filter: where none of the repository's own is run, such a
    file cannot be compared."""
    names = b"".join(entry.path + b"\0" for entry in entries)
    asked = GitCall(top).out("check-attr", "-z", "--stdin", "filter", stdin=names)
    told = (await asked).split(b"\0")
    filters = dict(zip(told[0::3], told[2::3], strict=False))
    plain = (b"unspecified", b"unset")
    return [entry for entry in entries if filters.get(entry.path, plain[0]) in plain]


async def _differ(git: GitCall) -> frozenset[bytes]:
    """List the files that differ from the index."""
    told = await git.out("diff", "-z", "--name-only", "--no-renames", "--no-ext-diff")
    return frozenset(told.split(b"\0"))


def _remember(known: _Known, found: Listed, honest: list[_Entry]) -> None:
    """Remember the honest entries; those elsewhere in the tree than the look was stay known."""
    settled = time.time_ns() - _SETTLED_NS  # what changed just now may change within one tick
    new = {(one.said, one.debug) for one in honest if one.changed < settled}
    now = {(one.said, one.debug) for one in found.changed}
    known.honest = frozenset(
        one for one in known.honest | new if one in now or not _is_below(one[0], found.below)
    )


def _is_below(said: bytes, directory: bytes) -> bool:
    return said.partition(b"\t")[2].startswith(directory)


async def _is_sparse(git: GitCall) -> bool:
    told = await git.run("config", "--type=bool", "--get", "core.sparseCheckout")
    return told.stdout.strip() == b"true"


async def _index_of(git: GitCall) -> str:
    return f"{Path(git.top, await git.line('rev-parse', '--git-path', 'index'))}"


def _trees_hold(index: str, oid_bytes: int) -> bool:
    """Return whether an index's record of trees is true. Blocks for reading it.

    Raises ``GitError`` where git must not read it.
    """
    try:
        data = read_plain(index, MOST_BYTES, links=True)
        fault = unfit(data, oid_bytes)
        if SPLIT in data:  # of which git may read another file
            for path in islice(Path(index).parent.glob("sharedindex.*"), MOST_SHARED):
                fault = fault or unfit(read_plain(path, MOST_BYTES, links=True), oid_bytes)
        if fault:
            raise GitError(UNREADABLE.format(index, fault))
        return trees_hold(data, oid_bytes)
    except FileNotFoundError:
        return True
    except (OSError, MemoryError) as error:
        raise GitError(UNREADABLE.format(index, f"{error}" or "it is too large")) from error


async def _copy(git: GitCall, own: GitCall, copy: Path) -> None:
    """Copy the index of ``git`` to where ``own`` has it, without what it says of trees. Raises
    ``GitError``."""
    where, size = await _index_of(git), await object_bytes(git.top)
    try:
        await _in_thread(_copied, where, copy)
        try:
            await _in_thread(_cut, copy, size)
        except ValueError:  # git writes it as it has read it, with no offsets
            await own.out("update-index", "--force-write-index", settings=_NO_OFFSETS)
            await _in_thread(_cut, copy, size)
    except (OSError, ValueError, MemoryError) as error:
        raise GitError(UNREADABLE.format(where, f"{error}" or "it is too large")) from error


def _copied(index: str, copy: Path) -> None:
    """Copy an index with its time: git reads what may have changed in the moment of that."""
    time_ns = Path(index).stat().st_mtime_ns
    copy.write_bytes(read_plain(index, MOST_BYTES, links=True))
    os.utime(copy, ns=(time_ns, time_ns))


def _cut(copy: Path, oid_bytes: int) -> None:
    """Take from a copy what it says of trees; its time stays."""
    time_ns = copy.stat().st_mtime_ns
    copy.write_bytes(without_trees(copy.read_bytes(), oid_bytes))
    os.utime(copy, ns=(time_ns, time_ns))
