"""The changes that a command makes in a working tree, found by looking before and after it.

Only files that git does not ignore are seen. One that git passed over before (``passed_over``) is
not a file that the command has made, also where nothing ignores it any more. Looking costs one
``git status`` and the reading of files that differ from the last commit; those that have not
changed since they were last read are not read again. Outside git nothing is seen. Changes that a
person makes while the command runs cannot be distinguished from the command's.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import trio

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.originals import Originals
from podiumd.tools.files.plain_file import is_link
from podiumd.tools.git.honest_index import honest_index
from podiumd.tools.git.passed_over import LISTED, covers, path_passed_over
from podiumd.tools.git.process import Confines, GitCall
from podiumd.tools.git.queries import GitError, entries

MOST_CHANGES = 500
"""Files that one command is reported to have changed; beyond them only that there were more."""
MOST_FILES = 20_000
_AT_ONCE = MOST_CHANGES + 1
MOST_KEPT_BYTES, LARGEST_KEPT = 64 * 1024 * 1024, 16 * 1024 * 1024
LINK_MODE, PLAIN_MODE, PROGRAM_MODE = "120000", "100644", "100755"
"""Git's modes of a symbolic link, whose content is its target; a file; one to be executed."""
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all",
           "--ignore-submodules=all", LISTED, "--", ".")  # fmt: skip


_Stamp = tuple[int, ...]
"""Says whether a file has been written since."""


class Seen(NamedTuple):
    """A file as it was seen: its mode as git calls it and its digest, ``None`` for no file."""

    mode: str | None
    digest: str | None


_ABSENT = Seen(None, None)


class Snapshot(msgspec.Struct, frozen=True):
    """The files that differ from the commit ``head``; ``unseen``, from the tree's top, is what is
    there too and was not looked at (see ``passed_over``)."""

    head: str
    prefix: str
    dirty: dict[str, Seen]
    unseen: frozenset[str] = frozenset()


class Earlier(NamedTuple):
    """``since`` is where HEAD was when the turn began, ``foreign`` what was uncommitted when its
    run began or passed over by git (see ``passed_over``), by paths from the tree's top: a
    person's."""

    since: str
    foreign: frozenset[str]


class TreeWatch:
    """Takes snapshots of one working tree, keeping contents in ``originals``; ``confines`` runs
    the filters that the repository names."""

    def __init__(self, root: Path, originals: Originals, confines: Confines | None = None) -> None:
        self._root = root
        self.confines = confines
        self._originals = originals
        self._known: dict[str, tuple[_Stamp, Seen]] = {}
        self._room = MOST_KEPT_BYTES
        self._prefix: str | None = None
        self.trouble = ""
        """Why git could not look at its repository the last time; empty where it could."""
        self.uncovered: list[str] = []
        """Paths that git passed over before the last command and no longer does: not the
        command's."""

    @property
    def _git(self) -> GitCall:
        return GitCall(f"{self._root}", {"GIT_OPTIONAL_LOCKS": "0"}, self.confines)

    async def snapshot(self) -> Snapshot | None:
        """Take a snapshot of the tree; ``None`` outside git, and where git fails."""
        self.trouble = ""
        try:
            if self._prefix is None:
                self._prefix = await self._git.line("rev-parse", "--show-prefix")
        except GitError:
            return None
        try:
            listing = entries(await self._status())
        except GitError as error:
            self.trouble = f"{error}"
            return None
        head = next((one[13:].decode() for one in listing if one.startswith(b"# branch.oid ")), "")
        names = [os.fsdecode(name) for name in map(_path_of, listing) if name]
        files = [name for name in names if not name.endswith("/")]
        inside = [name.removeprefix(self._prefix) for name in files[:MOST_FILES]]
        dirty = await trio.to_thread.run_sync(self._digests, inside)
        passed = (os.fsdecode(name) for name in map(path_passed_over, listing) if name)
        unseen = frozenset((*passed, *files[MOST_FILES:]))
        return Snapshot("" if head == "(initial)" else head, self._prefix, dirty, unseen)

    async def _status(self) -> bytes:
        """Read git's status of the tree, with the changes that the index hides."""
        async with honest_index(self._git) as seeing:
            return await seeing.out(*_STATUS)

    async def between(self, before: Snapshot | None) -> tuple[tuple[FileChange, ...], int]:
        """List the changes since ``before``, and how many files more than are named."""
        self.uncovered = []
        after = await self.snapshot() if before is not None else None
        if before is None or after is None:
            return (), 0
        changes = await self._changes(before, after, MOST_CHANGES + 1)
        named = [change for change in changes if _is_text(change.path)][:MOST_CHANGES]
        return tuple(named), len(changes) - len(named)

    async def uncommitted(self, head: str) -> tuple[str, tuple[FileChange, ...]]:
        """List the differences from the commit ``head``, and the root's own path in the tree.

        Both are empty where another commit is checked out. Raises ``GitError``.
        """
        now = await self.snapshot()
        if now is None and self.trouble:
            raise GitError(self.trouble)
        if now is None or now.head != head:
            return "", ()
        changes = await self._changes(Snapshot(head, now.prefix, {}), now, MOST_FILES)
        return now.prefix, tuple(change for change in changes if _is_text(change.path))

    async def _changes(self, before: Snapshot, after: Snapshot, most: int) -> list[FileChange]:
        gone = [name for name in before.dirty if name not in after.dirty]
        now = after.dirty | await trio.to_thread.run_sync(self._digests, gone)
        clean = [name for name in now if name not in before.dirty]
        was = dict(before.dirty)
        for start in range(0, min(len(clean), most), _AT_ONCE):
            was |= await self._committed(before, clean[start : min(start + _AT_ONCE, most)])
        there = [name for name in now if name not in was]
        there = [name for name in there if covers(before.unseen, before.prefix + name)]
        self.uncovered = [name for name in there if _is_text(name)]
        was |= {name: now[name] for name in there}
        return [
            FileChange(
                path=name,
                before=was.get(name, _ABSENT).digest,
                after=now[name].digest,
                mode=now[name].mode,
            )
            for name in now
            if was.get(name, _ABSENT) != now[name]
        ]

    def _digests(self, names: Iterable[str]) -> dict[str, Seen]:
        inside: dict[str, bool] = {"": True}
        return {
            name: self._digest(name) if self._is_inside(_above(name), inside) else _ABSENT
            for name in names
        }

    def _is_inside(self, directory: str, known: dict[str, bool]) -> bool:
        """Return whether no link stands in the way to a directory.

        A command may have put one where a directory was, to have a file outside taken for one of
        the tree.
        """
        if directory not in known:
            inside = self._is_inside(_above(directory), known)
            known[directory] = inside and not is_link(self._root / directory)
        return known[directory]

    def _digest(self, name: str) -> Seen:
        path = self._root / name
        try:
            status = path.lstat()
            key = _stamp_of(status)
            known = self._known.get(name)
            if known is not None and known[0] == key:
                return known[1]
            seen = self._read(path, status)
        except OSError:
            return _ABSENT
        self._known[name] = (key, seen)
        return seen

    def _read(self, path: Path, status: os.stat_result) -> Seen:
        if stat.S_ISLNK(status.st_mode):
            return Seen(LINK_MODE, self._kept(os.fsencode(path.readlink())))
        if not stat.S_ISREG(status.st_mode):
            return _ABSENT
        return Seen(
            PROGRAM_MODE if status.st_mode & 0o100 else PLAIN_MODE, self._text(path, status)
        )

    def _text(self, path: Path, status: os.stat_result) -> str:
        if status.st_size > min(LARGEST_KEPT, self._room):
            # Too much to be read each time, and kept: distinguished by size and time.
            return hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode()).hexdigest()
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            return self._kept(file.read(LARGEST_KEPT))

    def _kept(self, data: bytes) -> str:
        if len(data) <= self._room:
            self._room -= len(data)
            return self._originals.keep(data)
        return hashlib.sha256(data).hexdigest()

    async def _committed(self, before: Snapshot, names: list[str]) -> dict[str, Seen]:
        """Files that were as committed: their contents of then, as a checkout would write them."""
        if not (names and before.head):
            return {}
        try:
            listing = await self._git.out("ls-tree", "-z", before.head, "--", *names)
        except GitError:
            return {}
        found: dict[str, Seen] = {}
        for entry in entries(listing):
            mode, kind, rest = entry.split(b" ", 2)
            oid, _, name = rest.partition(b"\t")
            if kind == b"blob":
                path = os.fsdecode(name)
                found[path] = Seen(mode.decode(), await self._shown(before.prefix + path, oid))
        return found

    async def _shown(self, path: str, oid: bytes) -> str:
        """Compute the digest of a committed content as it stood in the tree.

        Where its filter is not run the digest is one of no known content, so that the file is left
        out of the commit.
        """
        try:
            return self._kept(
                await self._git.out("cat-file", "--filters", f"--path={path}", oid.decode())
            )
        except GitError:
            return hashlib.sha256(b"not known: " + oid).hexdigest()


async def with_earlier(
    watch: TreeWatch, changes: tuple[FileChange, ...], earlier: Earlier
) -> tuple[FileChange, ...]:
    """Put earlier turns' changes that are in no commit yet before the changes of a turn.

    Those are the differences from HEAD that are not foreign, up to where the turn's own change of
    the file begins. There are none where HEAD has moved in the turn: the committer has chosen what
    is committed. Raises ``GitError``, ``OSError``.
    """
    prefix, found = await watch.uncommitted(earlier.since)
    own: dict[str, FileChange] = {}
    for change in changes:
        own.setdefault(change.path, change)
    before = []
    for change in found:
        first = own.get(change.path)
        path = prefix + change.path
        if path in earlier.foreign or (change.before is None and covers(earlier.foreign, path)):
            continue
        if first is None:
            before.append(change)
        elif first.before != change.before:
            before.append(
                FileChange(
                    path=change.path, before=change.before, after=first.before, mode=change.mode
                )
            )
    return (*before, *changes)


def _stamp_of(status: os.stat_result) -> _Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _above(name: str) -> str:
    return name.rpartition("/")[0]


def _is_text(name: str) -> bool:
    """Return whether facts can hold the name: one that is not UTF-8 is counted, not named."""
    return name.encode("utf-8", "replace").decode() == name


def _path_of(entry: bytes) -> bytes:
    """Parse the path in a ``status --porcelain=v2`` entry (git-status(1)); empty for a header."""
    before = {b"1": 8, b"u": 10, b"?": 1}.get(entry[:1])
    return b"" if before is None else entry.split(b" ", before)[before]
