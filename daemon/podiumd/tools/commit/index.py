"""The changes of a turn, put onto a commit in blobs and index entries, not in files.

A file that was as committed before the turn is simple. In one that a person had changed, the turn's
own change is carried over to what is committed, as git carries a change over in a rebase; where
that does not fit the file is left out.

Most contents are added as they are: all of them by one git. One that git may change on its way in,
by a filter, an encoding, an ident or line ends, is added by a git of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import trio

from podiumd.core.excerpt import beginning
from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.changes import LINK_MODE, PLAIN_MODE, PROGRAM_MODE
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError, entries

_KINDS = ("clean", "process", "smudge")
_CHANGING = ("filter", "ident", "working-tree-encoding")
"""Attributes that change a content; line ends change one that has a carriage return at most."""
_NONE = ("", "unspecified", "unset")

Steps = Mapping[str, Sequence[FileChange]]


class LeftOut(Exception):
    """A file cannot be part of the commit; the message says why."""


class Blobs:
    """Adds contents to a repository. ``git`` works at the top of the tree."""

    def __init__(self, git: GitCall, originals: Originals) -> None:
        self._git = git
        self._originals = originals
        self._attributes: dict[str, dict[str, str]] = {}
        self._filters = frozenset[str]()
        self._added: dict[tuple[bool, str], str] = {}

    async def prepare(self, steps: Steps) -> None:
        """Learn what git does to each path, and add all contents that it takes as they are."""
        self._attributes = await _attributes(self._git, steps)
        asked = ("--includes", "-z", "--name-only", "--get-regexp", r"^filter\.")
        listed = await self._git.run("config", *asked)
        self._filters = frozenset(map(os.fsdecode, entries(listed.stdout)))
        wanted = [
            (_as_is(step), digest)
            for path, changes in steps.items()
            for step in changes
            for digest in (step.before, step.after)
            if digest is not None and (_as_is(step) or self._unchanged(path))
        ]
        found = await trio.to_thread.run_sync(self._whole, dict.fromkeys(wanted))
        paths = [self._originals.path(digest) for _, digest in found]
        if not paths:
            return
        said = b"".join(os.fsencode(path) + b"\n" for path in paths)
        oids = await self._git.out("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=said)
        self._added |= zip(found, oids.decode().split(), strict=True)

    async def at(self, path: str, digest: str | None, step: FileChange) -> str | None:
        """Return the blob of a content as git would add it at ``path``. Raises ``LeftOut``."""
        if digest is None:
            return None
        as_is = _as_is(step)
        added = self._added.get((as_is, digest)) if as_is or self._unchanged(path) else None
        if added is not None:
            return added
        data = await trio.to_thread.run_sync(self._originals.get, digest)
        if data is None:
            raise LeftOut("what it held before or after the change is not known any more")
        if as_is:
            return await self._git.line("hash-object", "-w", "--stdin", "--no-filters", stdin=data)
        return await self._filtered(path, data)

    def _unchanged(self, path: str) -> bool:
        """Return whether git takes a content there as it is, except for line ends."""
        attributes = self._attributes[path]
        plain = all(value in _NONE for value in attributes.values())
        return plain and not self._is_filter(attributes["filter"])

    def _is_filter(self, name: str) -> bool:
        """Return whether git has a filter of that name; ``unset`` may be one, and so may the empty
        one."""
        return "=" not in name and any(f"filter.{name}.{kind}" in self._filters for kind in _KINDS)

    def _whole(self, wanted: Iterable[tuple[bool, str]]) -> list[tuple[bool, str]]:
        """Filter for those whose content is known and taken as it is. Blocks."""
        found = []
        for as_is, digest in wanted:
            data = self._originals.get(digest)
            named = "\n" not in self._originals.path(digest)  # as git reads the names of files
            if data is not None and named and (as_is or b"\r" not in data):
                found.append((as_is, digest))
        return found

    async def _filtered(self, path: str, data: bytes) -> str:
        """Create the blob of a content as its path's filter makes it; never without the filter."""
        name = self._filter_of(path)
        settings = [] if name is None else [f"filter.{name}.required=true"]
        done = await self._git.run(
            "hash-object", "-w", "--stdin", f"--path={path}", stdin=data, settings=settings
        )
        if done.returncode == 0:
            return done.stdout.decode().strip()
        said = done.stderr.decode("utf-8", "replace").strip()
        if name is None:
            raise GitError(f"git hash-object failed with status {done.returncode}: {said}")
        raise LeftOut(f"its filter {name} did not take it: {beginning(said.splitlines()[0], 300)}")

    def _filter_of(self, path: str) -> str | None:
        """Look up the filter that attributes name for a path.

        Raises ``LeftOut`` where git has none of that name: it would commit the file without.
        """
        name = self._attributes[path]["filter"]
        if self._is_filter(name):
            return name
        if name in (*_NONE, "set"):
            return None
        raise LeftOut(
            f"git has no filter {name} here, which .gitattributes names for it; set it up"
        )


def _as_is(step: FileChange) -> bool:
    """Return whether git takes any content there as it is."""
    return step.mode == LINK_MODE


async def _attributes(git: GitCall, paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Read the attributes in ``.gitattributes`` that change contents, by path."""
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    told = await git.out("check-attr", "-z", "--stdin", *_CHANGING, stdin=names)
    words = list(map(os.fsdecode, told.split(b"\0")[:-1]))
    found: dict[str, dict[str, str]] = {}
    for path, attribute, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        found.setdefault(path, {})[attribute] = value
    return found


class Entry(NamedTuple):
    """A file in a commit or index, as git knows it."""

    mode: str
    oid: str


_FILES = (PLAIN_MODE, PROGRAM_MODE, LINK_MODE)
_LINE_BYTES = 64 * 1024
"""Bytes of paths on one command line."""


Entries = dict[str, Entry | None]
"""By path from the top of the working tree; ``None``: there is no such file."""


Differences = dict[str, tuple[Entry | None, Entry | None]]
"""By path: as it is before and after."""


async def committed_entries(git: GitCall, tree: str, paths: Sequence[str]) -> Entries:
    """List what a tree holds at these paths."""
    found: Entries = dict.fromkeys(paths)
    for batch in _batches(paths):
        listing = await git.out("ls-tree", "-z", "--full-tree", tree, "--", *batch)
        for entry in entries(listing):
            meta, _, name = entry.partition(b"\t")
            mode, _kind, oid = meta.decode().split(" ")
            found[os.fsdecode(name)] = Entry(mode, oid)
    return found


class Staged:
    """The index's entries at some paths."""

    def __init__(self, found: Entries, odd: Mapping[str, str]) -> None:
        self._found = found
        self._odd = odd

    def at(self, path: str) -> Entry | None:
        """Return the entry at ``path``. Raises ``LeftOut`` where that is no file of its own."""
        if path in self._odd:
            raise LeftOut(self._odd[path])
        return self._found[path]


async def staged_entries(git: GitCall, paths: Sequence[str]) -> Staged:
    """List what the index holds at these paths."""
    found: Entries = dict.fromkeys(paths)
    odd: dict[str, str] = {}
    for batch in _batches(paths):
        listing = await git.out("ls-files", "-z", "--stage", "--full-name", "--", *batch)
        for entry in entries(listing):
            meta, _, name = entry.partition(b"\t")
            mode, oid, stage = meta.decode().split(" ")
            path = os.fsdecode(name)
            # A directory is listed by what is in it.
            for asked in ({path} | parents_of(path)) & found.keys():
                if stage != "0":
                    odd.setdefault(asked, "it has conflicts that are not resolved")
                elif asked != path:
                    odd.setdefault(asked, "a directory of that name is staged")
                else:
                    found[asked] = Entry(mode, oid)
    return Staged(found, odd)


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    """Split the paths into batches that fit on a command line."""
    batch: list[str] = []
    room = _LINE_BYTES
    for path in paths:
        size = len(os.fsencode(path)) + 1
        if batch and size > room:
            yield batch
            batch, room = [], _LINE_BYTES
        batch.append(path)
        room -= size
    if batch:
        yield batch


class Porter(Blobs):
    """Carries changes over to what is committed, once it is prepared for them."""

    async def port(
        self, path: str, steps: Sequence[FileChange], committed: Entry | None
    ) -> Entry | None:
        """Apply these changes to ``committed``, in order, and return the entry.

        Raises ``LeftOut`` where they do not fit, or their contents are no longer known.
        """
        present = committed
        if present is not None and present.mode not in _FILES:
            raise LeftOut("it is a directory, or a repository of its own, in the last commit")
        for step in steps:
            before = await self.at(path, step.before, step)
            after = await self.at(path, step.after, step)
            mode = step.mode or (present.mode if present else PLAIN_MODE)
            if present is not None and present.mode == LINK_MODE and step.mode is None:
                raise LeftOut("it is a link in the last commit")
            present = await self.merged(present, before, after, mode)
        return present

    async def merged(
        self, present: Entry | None, before: str | None, after: str | None, mode: str
    ) -> Entry | None:
        """``present`` with what lies between the blobs ``before`` and ``after``."""
        now = present.oid if present else None
        if now == before:
            return None if after is None else Entry(mode, after)
        if now == after and (present is None or present.mode == mode):
            return present
        plain = present is not None and LINK_MODE not in (mode, present.mode)
        if now is None or before is None or after is None or not plain:
            raise LeftOut("it had changes of your own that are not committed")
        return Entry(mode, await self._merge(now, before, after))

    async def _merge(self, now: str, before: str, after: str) -> str:
        contents = [await self._git.out("cat-file", "blob", oid) for oid in (now, before, after)]
        if any(b"\0" in content[:8192] for content in contents):
            raise LeftOut("it had changes of your own that are not committed, and is no text")
        with tempfile.TemporaryDirectory(prefix="podium-merge-") as folder:
            names = [f"{Path(folder, name)}" for name in ("now", "before", "after")]
            for name, content in zip(names, contents, strict=True):
                await trio.Path(name).write_bytes(content)
            done = await self._git.run("merge-file", "-p", "-q", *names)
        if done.returncode != 0:
            raise LeftOut("it had changes of your own that are not committed, in the same lines")
        return await self._git.line("hash-object", "-w", "--stdin", stdin=done.stdout)


def parents_of(path: str) -> set[str]:
    """List the directories that a path goes through."""
    return {f"{one}" for one in PurePosixPath(path).parents if one.name}


async def in_the_way(git: GitCall, tree: str, changed: Entries) -> set[str]:
    """Files of a tree, or the index, that stand where new ones need a directory.

    Git would remove them, and they are not ours to remove.
    """
    new = [path for path, entry in changed.items() if entry is not None]
    above = set[str]().union(*map(parents_of, new)) - changed.keys()
    if not above:
        return set()
    names = sorted(above)
    committed = await committed_entries(git, tree, names)
    found = {path for path, entry in committed.items() if entry and entry.mode in _FILES}
    askable = [path for path in names if "\n" not in path]
    asked = b"".join(b":%b\n" % os.fsencode(path) for path in askable)
    answers = (await git.out("cat-file", "--batch-check", stdin=asked)).splitlines()
    staged = zip(askable, answers, strict=True)
    return found | {path for path, answer in staged if not answer.endswith(b" missing")}


async def write_entries(git: GitCall, changed: Entries) -> None:
    """Put entries into the index that ``git`` works with, those that go first."""
    ordered = sorted(changed.items(), key=lambda one: one[1] is not None)
    lines = b"".join(_index_line(path, entry) for path, entry in ordered)
    await git.out("update-index", "-z", "--index-info", stdin=lines)


def _index_line(path: str, entry: Entry | None) -> bytes:
    name = os.fsencode(path)
    if entry is None:
        return b"0 %b\t%b\0" % (b"0" * 40, name)
    return b"%b %b 0\t%b\0" % (entry.mode.encode(), entry.oid.encode(), name)


async def tree_changes(git: GitCall, old: str, new: str) -> Differences:
    """List the files in which two trees differ, with their entry in each."""
    words = entries(await git.out("diff-tree", "-r", "-z", "--no-renames", old, new))
    found: Differences = {}
    for meta, name in zip(words[::2], words[1::2], strict=True):
        old_mode, new_mode, old_oid, new_oid, _ = meta.decode().removeprefix(":").split(" ")
        found[os.fsdecode(name)] = (_entry(old_mode, old_oid), _entry(new_mode, new_oid))
    return found


def _entry(mode: str, oid: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, oid)
