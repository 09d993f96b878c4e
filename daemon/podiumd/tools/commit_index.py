"""What a turn has changed, put onto a commit: in blobs and index entries, not in files.

A file that was as committed before the turn is simple. In one that a person had changed, the
turn's own change is carried over to what is committed, as git carries a change over in a rebase;
where that does not fit the file is left out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import trio

from podiumd.core.loop_facts import FileChange
from podiumd.tools.changes import LINK_MODE, PLAIN_MODE, PROGRAM_MODE
from podiumd.tools.git import GitError, entries
from podiumd.tools.git_plumbing import GitCall
from podiumd.tools.originals import Originals


class Entry(NamedTuple):
    """A file in a commit or index, as git knows it."""

    mode: str
    oid: str


_KINDS = ("clean", "process", "smudge")
_FILES = (PLAIN_MODE, PROGRAM_MODE, LINK_MODE)


class LeftOut(Exception):
    """A file cannot be part of the commit; the message says why."""


Entries = dict[str, Entry | None]
"""By path from the top of the working tree; ``None``: there is no such file."""


Differences = dict[str, tuple[Entry | None, Entry | None]]
"""By path: as it is before and after."""


async def committed_entries(git: GitCall, tree: str, paths: Sequence[str]) -> Entries:
    """What a tree holds at these paths."""
    listing = await git.out("ls-tree", "-z", "--full-tree", tree, "--", *paths)
    found: Entries = dict.fromkeys(paths)
    for entry in entries(listing):
        meta, _, name = entry.partition(b"\t")
        mode, _kind, oid = meta.decode().split(" ")
        found[os.fsdecode(name)] = Entry(mode, oid)
    return found


async def staged_entry(git: GitCall, path: str) -> Entry | None:
    """What the index holds at a path. Raises ``LeftOut`` where that is no file of its own."""
    found = None
    for entry in entries(await git.out("ls-files", "-z", "--stage", "--full-name", "--", path)):
        meta, _, name = entry.partition(b"\t")
        mode, oid, stage = meta.decode().split(" ")
        if stage != "0":
            raise LeftOut("it has conflicts that are not resolved")
        if os.fsdecode(name) != path:
            raise LeftOut("a directory of that name is staged")
        found = Entry(mode, oid)
    return found


class Porter:
    """Carries changes over to what is committed. ``git`` works at the top of the tree."""

    def __init__(self, git: GitCall, originals: Originals) -> None:
        self._git = git
        self._originals = originals

    async def port(
        self, path: str, steps: Sequence[FileChange], committed: Entry | None
    ) -> Entry | None:
        """The entry that comes of ``committed`` by these changes, in order.

        Raises ``LeftOut`` where they do not fit, or their contents are no longer known.
        """
        present = committed
        if present is not None and present.mode not in _FILES:
            raise LeftOut("it is a directory, or a repository of its own, in the last commit")
        for step in steps:
            before = await self._blob(path, step.before, step)
            after = await self._blob(path, step.after, step)
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

    async def _blob(self, path: str, digest: str | None, step: FileChange) -> str | None:
        """The blob of a content as git would add it at ``path``."""
        if digest is None:
            return None
        data = await trio.to_thread.run_sync(self._originals.get, digest)
        if data is None:
            raise LeftOut("what it held before or after the change is not known any more")
        if step.mode == LINK_MODE:
            return await self._git.line("hash-object", "-w", "--stdin", "--no-filters", stdin=data)
        return await self._filtered(path, data)

    async def _filtered(self, path: str, data: bytes) -> str:
        """The blob of a content as the filter of its path makes it; never one without it."""
        name = await filter_of(self._git, path)
        settings = [] if name is None else [f"filter.{name}.required=true"]
        done = await self._git.run(
            "hash-object", "-w", "--stdin", f"--path={path}", stdin=data, settings=settings
        )
        if done.returncode == 0:
            return done.stdout.decode().strip()
        said = done.stderr.decode("utf-8", "replace").strip()
        if name is None:
            raise GitError(f"git hash-object failed with status {done.returncode}: {said}")
        raise LeftOut(f"its filter {name} did not take it: {said.splitlines()[0][:300]}")


async def filter_of(git: GitCall, path: str) -> str | None:
    """The filter that attributes name for a path. Raises ``LeftOut`` where git has none of that
    name: it would commit the file without."""
    words = (await git.out("check-attr", "-z", "filter", "--", path)).split(b"\0")
    name = os.fsdecode(words[2])
    if name in ("", "unspecified", "unset", "set"):
        return None
    listed = await git.run(
        "config", "--includes", "-z", "--name-only", "--get-regexp", r"^filter\."
    )
    keys = {os.fsdecode(key) for key in entries(listed.stdout)}
    if "=" in name or not keys & {f"filter.{name}.{kind}" for kind in _KINDS}:
        raise LeftOut(
            f"git has no filter {name} here, which .gitattributes names for it; set it up"
        )
    return name


def parents_of(path: str) -> set[str]:
    """The directories that a path goes through."""
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
    """The files in which two trees differ, as they are in each."""
    words = entries(await git.out("diff-tree", "-r", "-z", "--no-renames", old, new))
    found: Differences = {}
    for meta, name in zip(words[::2], words[1::2], strict=True):
        old_mode, new_mode, old_oid, new_oid, _ = meta.decode().removeprefix(":").split(" ")
        found[os.fsdecode(name)] = (_entry(old_mode, old_oid), _entry(new_mode, new_oid))
    return found


def _entry(mode: str, oid: str) -> Entry | None:
    return None if mode == "000000" else Entry(mode, oid)
