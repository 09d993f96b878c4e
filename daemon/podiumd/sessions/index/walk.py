"""A walk of all that is below the roots, compared on the way with the index. Blocking.

Files come and go while the tree is walked; what is gone is left out, and what cannot be looked at
is reported, so that it is not taken for gone.

Every directory is listed and every file looked at, each time. That a directory's time has not
changed would say that its names have not, and of its files nothing, for they grow without it; it
may be too coarse to show two changes apart; and where another machine writes, of which the system
reports nothing, these looks are all there is. To list costs a fourth of a look at 100,000 sessions,
and to remember each directory would take some 10 MB for good. The rest is saved: a file that is as
the index knows it leaves nothing behind but its place in a set.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, assert_never

import msgspec

from podiumd.formats.session import public_id
from podiumd.sessions.index.shapes import SHAPES, Shape, id_inside, owner_of
from podiumd.sessions.index.tree import (
    DAYS_DEPTH,
    FOLDERS,
    NAMING_PROJECT,
    OPEN_FLAGS,
    Companion,
    Found,
    Known,
    Root,
    changed_ns,
    companion,
    found,
    is_number,
    is_old_subagent,
    is_rollout,
    is_transcript,
    is_uuid,
    kind_of,
    owner_in,
    shaped,
)

_NOTHING: Final = Known()


class Tree(msgspec.Struct):
    """The files that were found below the roots.

    ``same``, ``same_companions``: the paths of those that are as they are known. ``sessions`` and
    ``companions``: all others. ``problems``: paths, and what is wrong there. ``unseen``: those of
    them that could not be looked at; what is there, or below, may be there still. ``directories``:
    the inode numbers of all directories in which a session or a companion may appear.
    """

    sessions: list[Found] = []
    companions: list[Companion] = []
    problems: list[tuple[str, str]] = []
    unseen: list[str] = []
    directories: list[int] = []
    same: set[str] = set()
    same_companions: set[str] = set()


def walk(
    roots: Iterable[Root],
    known: Known = _NOTHING,
    on_project: Callable[[Tree], object] | None = None,
) -> Tree:
    """Look at everything below the roots. Never raises for what it finds there.

    Parameters:
        known: what the index knows. A sub-agent's file of an older release, of which it does not
            know the session, is opened to learn it.
        on_project: is called with all that was found so far, after each directory of a project.

    A project's directory that can be reached in two ways, by a link, is read once; its own name
    goes before the link's. Two files of one session are both reported: see ``newest``.
    """
    tree = Tree()
    for root in roots:
        directory = str(root.directory)
        try:
            tree.directories.append(root.directory.stat().st_ino)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                _cannot_see(tree, directory, error)
            continue
        match root.layout:
            case "days":
                _walk_days(tree, known, root.agent, directory, DAYS_DEPTH)
            case "flat":
                _walk_flat(tree, known, root.agent, directory)
            case "projects":
                for project in _projects(tree, directory):
                    _walk_project(tree, known, root.agent, project)
                    if on_project is not None:
                        on_project(tree)
            case "chats" | "dated" | "agents" | "events":
                walked = _Shaped(tree, known, root, on_project)
                walked.walk(directory, SHAPES[root.layout], [])
            case _:
                assert_never(root.layout)
    return tree


def newest(files: Sequence[Found], current: str | None) -> Found:
    """Return which of the files of one session is followed: the one that was written last.

    Parameters: ``current`` is the path of the one that is followed now; a tie is for it.
    """
    return max(files, key=lambda file: (file.mtime_ns, file.path == current, file.path))


# -- directories ---------------------------------------------------------------------------------


def _scan(tree: Tree, path: str) -> list[os.DirEntry[str]]:
    """List a directory; nothing where it is gone, or cannot be read."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        _cannot_see(tree, path, error)
        return []


def _cannot_see(tree: Tree, path: str, error: OSError) -> None:
    tree.problems.append((path, f"cannot be read: {error.strerror}"))
    tree.unseen.append(path)


def _is_directory(tree: Tree, entry: os.DirEntry[str]) -> bool:
    """Return whether it is a directory, or a link to one, and note it then."""
    try:
        if not entry.is_dir():
            return False
        linked = entry.is_symlink()
        tree.directories.append(entry.stat().st_ino if linked else entry.inode())
    except OSError as error:  # a link that cannot be followed
        _cannot_see(tree, entry.path, error)
        return False
    return True


def _projects(tree: Tree, root: str) -> Iterator[str]:
    """Yield the directories in the root, each once."""
    directories = [entry for entry in _scan(tree, root) if _is_directory(tree, entry)]
    directories = [entry for entry in directories if NAMING_PROJECT not in entry.name]
    if not any(entry.is_symlink() for entry in directories):
        yield from (entry.path for entry in directories)
        return
    seen: set[tuple[int, int]] = set()
    for entry in sorted(directories, key=lambda entry: (entry.is_symlink(), entry.name)):
        try:
            status = entry.stat()
        except OSError:  # gone since it was listed
            continue
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            yield entry.path


def _add_session(
    tree: Tree, known: Known, session_id: str, agent: str, entry: os.DirEntry[str]
) -> None:
    status = _status(tree, entry)
    if status is not None and not _is_same(tree, known, entry.path, status, status.st_mtime_ns):
        tree.sessions.append(found(session_id, agent, entry.path, status))


def _is_same(tree: Tree, known: Known, path: str, status: os.stat_result, written: int) -> bool:
    """Return whether a file is as it is known, and note it then."""
    facts = known.sessions.get(path)
    now = (path, status.st_size, written, status.st_ino, status.st_dev)
    if facts is None or facts != now:
        return False
    tree.same.add(facts[0])
    return True


def _add_companion(tree: Tree, known: Known, one: Companion) -> None:
    facts = known.companions.get(one.path)
    if facts is not None and facts == (one.path, one.size, one.mtime_ns, one.session_id):
        tree.same_companions.add(facts[0])
    else:
        tree.companions.append(one)


# -- projects ------------------------------------------------------------------------------------


def _walk_project(tree: Tree, known: Known, agent: str, project: str) -> None:
    for entry in _scan(tree, project):
        name = entry.name
        if match := is_transcript(name):
            _add_session(tree, known, match[1], agent, entry)
        elif is_uuid(name):
            if _is_directory(tree, entry):
                _walk_companions(tree, known, name, entry.path)
        elif is_old_subagent(name):
            _add_old_subagent(tree, known, entry)


def _status(tree: Tree, entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of a regular file, or of what a link leads to; note others as problems."""
    try:
        if entry.is_file():
            return entry.stat()
        tree.problems.append((entry.path, _what(entry.stat())))
    except FileNotFoundError:
        if entry.is_symlink():
            tree.problems.append((entry.path, "is a link that leads nowhere"))
    except OSError as error:
        _cannot_see(tree, entry.path, error)
    return None


def _what(status: os.stat_result) -> str:
    for test, word in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(status.st_mode):
            return f"is {word}, not a regular file"
    return "is not a regular file"


def _walk_companions(tree: Tree, known: Known, session_id: str, directory: str) -> None:
    for folder in _scan(tree, directory):
        if folder.name not in FOLDERS or not _is_directory(tree, folder):
            continue
        for entry in _scan(tree, folder.path):
            if kind := kind_of(folder.name, entry.name):
                status = _status(tree, entry)
                if status is not None:
                    _add_companion(tree, known, companion(session_id, entry.path, kind, status))


def _add_old_subagent(tree: Tree, known: Known, entry: os.DirEntry[str]) -> None:
    status = _status(tree, entry)
    if status is None:
        return
    try:
        owner = known.owner_of(entry.path) or owner_in(entry.path)
    except OSError as error:
        _cannot_see(tree, entry.path, error)
        return
    if owner is not None:
        _add_companion(tree, known, companion(owner, entry.path, "subagent", status))


# -- days ----------------------------------------------------------------------------------------


def _walk_days(tree: Tree, known: Known, agent: str, directory: str, depth: int) -> None:
    for entry in _scan(tree, directory):
        if depth:
            if is_number(entry.name) and _is_directory(tree, entry):
                _walk_days(tree, known, agent, entry.path, depth - 1)
        elif match := is_rollout(entry.name):
            _add_session(tree, known, match[1], agent, entry)


# -- flat ----------------------------------------------------------------------------------------


def _walk_flat(tree: Tree, known: Known, agent: str, directory: str) -> None:
    for entry in _scan(tree, directory):
        if match := is_transcript(entry.name):
            _add_session(tree, known, match[1], agent, entry)


# -- shapes --------------------------------------------------------------------------------------


class _Shaped:
    """A walk where the names at each level say what is what."""

    def __init__(
        self, tree: Tree, known: Known, root: Root, on_project: Callable[[Tree], object] | None
    ) -> None:
        self._tree = tree
        self._known = known
        self._root = root
        self._on_project = on_project

    def walk(self, directory: str, shapes: Sequence[Shape], above: list[str]) -> None:
        """Look at what a directory holds. ``shapes`` are those that its path fits, ``above`` the
        names that lead to it."""
        level = len(above)
        for entry in _scan(self._tree, directory):
            fitting = [shape for shape in shapes if shape.names[level](entry.name)]
            deeper = [shape for shape in fitting if len(shape.names) > level + 1]
            here = next((shape for shape in fitting if len(shape.names) == level + 1), None)
            if deeper and _is_directory(self._tree, entry):
                self.walk(entry.path, deeper, [*above, entry.name])
                if level == 0 and self._on_project is not None:
                    self._on_project(self._tree)
            elif here is not None:
                self._add(here, entry, [*above, entry.name])

    def _add(self, shape: Shape, entry: os.DirEntry[str], parts: list[str]) -> None:
        tree, known, path = self._tree, self._known, entry.path
        status = _status(tree, entry)
        if status is None:
            return
        owner = owner_of(shape, parts)
        if shape.kind is not None:
            _add_companion(tree, known, companion(public_id(owner), path, shape.kind, status))
            return
        written = max(status.st_mtime_ns, changed_ns(self._root.beside, path))
        if _is_same(tree, known, path, status, written):
            return
        try:
            owner = owner or known.named.get(path) or id_inside(path, OPEN_FLAGS)
        except OSError as error:
            _cannot_see(tree, path, error)
            return
        if owner:
            tree.sessions.append(shaped(owner, self._root, path, status))
