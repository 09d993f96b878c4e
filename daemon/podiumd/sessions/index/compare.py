"""Changes on the disk since the index last knew it: what to read, and what is gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence

import msgspec

from podiumd.sessions.index.table import Row
from podiumd.sessions.index.tree import Companion, Found, Known, Root
from podiumd.sessions.index.walk import Tree, newest, walk


class Changes(msgspec.Struct):
    """Changes that the index has to take up to be as the disk is.

    ``read``: files that are new, have grown, are others than they were or have another path; the
    last written first. ``vanished``: the ids of sessions that have no file any longer.
    ``companions``: those that are new or changed; ``companions_gone``: the paths of those that are
    not there any longer.
    """

    read: list[Found] = []
    vanished: list[str] = []
    companions: list[Companion] = []
    companions_gone: list[str] = []


def look(
    roots: Sequence[Root], known: Known, much: int, on_much: Callable[[], object]
) -> tuple[Tree, Changes]:
    """Walk through the roots and compare. Blocking.

    Parameters: ``on_much`` is called as soon as ``much`` bytes are found, if no session is known:
    all of them are to be read then.
    """
    counted = size = 0

    def count(found: Tree) -> None:
        nonlocal counted, size
        before = size
        size += sum(file.size for file in found.sessions[counted:])
        counted = len(found.sessions)
        if before < much <= size:
            on_much()

    found = walk(roots, known, None if known.sessions else count)
    return found, changed(known, found)


def unread(known: Known, files: Sequence[Found]) -> int:
    """Return how many bytes there are to read, as far as sizes show."""
    old = known.sessions.get
    return sum(max(0, file.size - old(file.path, (file.path, 0))[1]) for file in files)


def changed(known: Known, tree: Tree) -> Changes:
    """Compare what the index knows with the tree.

    Of two files of one session the one that was written last is followed. What could not be
    looked at is left as it is.
    """
    changes = Changes()
    _compare_sessions(changes, known, tree)
    _compare_companions(changes, known, tree)
    return changes


def _compare_sessions(changes: Changes, known: Known, tree: Tree) -> None:
    get = known.sessions.get
    other = [
        file
        for file in tree.sessions
        if get(file.path) != (file.path, file.size, file.mtime_ns, file.ino, file.dev)
    ]
    if not other and len(tree.same) + len(tree.sessions) == len(known.sessions):
        return
    missing = known.sessions.keys() - tree.same - {file.path for file in tree.sessions}
    session_of = known.session_of
    files: dict[str, list[Found]] = {session_of(path): [] for path in missing}
    files.update((file.session_id, []) for file in other)
    for file in tree.sessions:
        if file.session_id in files:
            files[file.session_id].append(file)
    paths = {
        session_id: path for path in known.sessions if (session_id := session_of(path)) in files
    }
    for session_id, path in paths.items():
        if path in tree.same:
            files[session_id].append(_followed(known, session_id, path))
    to_read = {file.path for file in other}
    for session_id, candidates in files.items():
        if candidates:
            file = newest(candidates, paths.get(session_id))
            if file.path in to_read:
                changes.read.append(file)
        elif not _is_unseen(paths[session_id], tree.unseen):
            changes.vanished.append(session_id)
    changes.read.sort(key=lambda file: file.mtime_ns, reverse=True)


def _followed(known: Known, session_id: str, path: str) -> Found:
    """Return a file as it is known, to compare with a copy of it; its agent matters not."""
    _, size, mtime_ns, ino, dev = known.sessions[path]
    return Found(session_id, "", path, dev, ino, size, mtime_ns)


def _compare_companions(changes: Changes, known: Known, tree: Tree) -> None:
    get = known.companions.get
    changes.companions = [
        file
        for file in tree.companions
        if get(file.path) != (file.path, file.size, file.mtime_ns, file.session_id)
    ]
    seen = len(tree.same_companions) + len(tree.companions)
    if changes.companions or seen != len(known.companions):
        told = {file.path for file in tree.companions}
        missing = known.companions.keys() - tree.same_companions - told
        changes.companions_gone = [path for path in missing if not _is_unseen(path, tree.unseen)]


def _is_unseen(path: str, unseen: Collection[str]) -> bool:
    """Return whether this path, or a directory that it is in, could not be looked at."""
    return any(path == place or path.startswith(f"{place}/") for place in unseen)


def is_older_copy(found: Found, row: Row) -> bool:
    """Return whether this is a second file of a session followed in a newer one. Blocking."""
    if row.gone or found.path == row.path or (found.dev, found.ino) == (row.dev, row.ino):
        return False
    return found.mtime_ns <= row.mtime_ns and os.path.lexists(row.path)
