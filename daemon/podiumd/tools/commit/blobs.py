"""The blobs of a turn's contents, as git would add them at their paths.

Most contents are added as they are: all of them by one git. One that git may change on its way in,
by a filter, an encoding, an ident or line ends, is added by a git of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import trio

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.changes import LINK_MODE
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git.plumbing import GitCall
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
            (self._as_is(path, step), digest)
            for path, changes in steps.items()
            for step in changes
            for digest in (step.before, step.after)
            if digest is not None and (self._as_is(path, step) or self._unchanged(path))
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
        as_is = self._as_is(path, step)
        added = self._added.get((as_is, digest)) if as_is or self._unchanged(path) else None
        if added is not None:
            return added
        data = await trio.to_thread.run_sync(self._originals.get, digest)
        if data is None:
            raise LeftOut("what it held before or after the change is not known any more")
        if as_is:
            return await self._git.line("hash-object", "-w", "--stdin", "--no-filters", stdin=data)
        return await self._filtered(path, data)

    def _as_is(self, path: str, step: FileChange) -> bool:
        """Return whether git takes any content at the path as it is."""
        return step.mode == LINK_MODE

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
        raise LeftOut(f"its filter {name} did not take it: {said.splitlines()[0][:300]}")

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


async def _attributes(git: GitCall, paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Read the attributes in ``.gitattributes`` that change contents, by path."""
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    told = await git.out("check-attr", "-z", "--stdin", *_CHANGING, stdin=names)
    words = list(map(os.fsdecode, told.split(b"\0")[:-1]))
    found: dict[str, dict[str, str]] = {}
    for path, attribute, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        found.setdefault(path, {})[attribute] = value
    return found
