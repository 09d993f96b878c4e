"""What is on the disk: the agents' session files and what belongs to them. Blocking.

Names tell what a file is, and only regular files are sessions: a pipe that bears such a name must
never be opened. Files come and go while the tree is walked; what is gone is left out, and what
cannot be looked at is told, so that nobody takes it for gone.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from podiumd.formats.claude_json import read_object, string

if TYPE_CHECKING:
    # The processes that read transcripts have paths as text, and start sooner without these.
    from pathlib import Path

OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""For a file that may have become anything since it was seen: opening it must not wait."""

FIRST_LINE_BYTES: Final = 256 * 1024

_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_is_uuid: Final = re.compile(_UUID).fullmatch
_is_transcript: Final = re.compile(rf"({_UUID})\.jsonl").fullmatch
_is_rollout: Final = re.compile(rf"rollout-.*-({_UUID})\.jsonl", re.DOTALL).fullmatch
_is_old_subagent: Final = re.compile(r"agent-.+\.jsonl", re.DOTALL).fullmatch
_is_number: Final = re.compile(r"[0-9]{2,4}").fullmatch

_SUFFIX: Final = len(".jsonl")
_TAIL: Final = 36 + _SUFFIX

_CODEX_DEPTH: Final = 3  # year, month, day

Kind = Literal["subagent", "subagent_meta", "tool_result"]
_FOLDERS: Final = ("subagents", "tool-results")

_NOBODYS: Final = "voice-code-name-inference"  # in such a project a program had names found


class Root(msgspec.Struct, frozen=True):
    """Where one agent keeps its sessions.

    ``agent`` is ``claude`` (``directory`` is CLAUDE_CONFIG_DIR/projects), ``codex``
    (CODEX_HOME/sessions) or ``native`` (STATE/sessions).
    """

    agent: str
    directory: Path


class Found(msgspec.Struct, frozen=True, gc=False):
    """A session's file as the disk has it. ``size`` in bytes, ``mtime_ns`` since 1970."""

    session_id: str
    agent: str
    path: str
    dev: int
    ino: int
    size: int
    mtime_ns: int


class Companion(msgspec.Struct, frozen=True, gc=False):
    """A file that belongs to a session."""

    session_id: str
    path: str
    kind: Kind
    size: int
    mtime_ns: int


class Tree(msgspec.Struct):
    """All that was found below the roots.

    ``problems``: paths, and what is wrong there. ``unseen``: those of them that could not be
    looked at; what is there, or below, may be there still. ``directories``: the inode numbers of
    all directories in which a session or a companion may appear.
    """

    sessions: list[Found] = []
    companions: list[Companion] = []
    problems: list[tuple[str, str]] = []
    unseen: list[str] = []
    directories: list[int] = []


def _nobody(path: str) -> str | None:
    return None


def walk(
    roots: Iterable[Root],
    owner_of: Callable[[str], str | None] = _nobody,
    on_project: Callable[[Tree], object] | None = None,
) -> Tree:
    """Look at everything below the roots. Never raises for what it finds there.

    Parameters:
        owner_of: gives the session of a sub-agent's file, by its path, where it is known; a file
            of an older release of which it is not is opened to learn it.
        on_project: is told all that was found so far, after each directory of a project.

    A project's directory that can be reached in two ways, by a link, is read once; its own name
    goes before the link's. Two files of one session are both told: see ``newest``.
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
        if root.agent == "codex":
            _walk_days(tree, directory, _CODEX_DEPTH)
            continue
        if root.agent == "native":
            _walk_own(tree, directory)
            continue
        for project in _projects(tree, directory):
            _walk_project(tree, root.agent, project, owner_of)
            if on_project is not None:
                on_project(tree)
    return tree


def session_of(path: str) -> str:
    """Return the id of the session whose file has this path: every agent puts it last."""
    return path[-_TAIL:-_SUFFIX].lower()


def newest(files: Sequence[Found], current: str | None) -> Found:
    """Return which of the files of one session is followed: the one that was written last.

    Parameters: ``current`` is the path of the one that is followed now; a tie is for it.
    """
    return max(files, key=lambda file: (file.mtime_ns, file.path == current, file.path))


def look(roots: Iterable[Root], path: str) -> Found | Companion | None:
    """Look at one path; ``None``: nothing is there, or nothing of ours.

    Raises ``OSError`` where it cannot be told whether something is there.
    """
    for root in roots:
        top = f"{root.directory}/"
        if path.startswith(top):
            parts = path.removeprefix(top).split("/")
            return _LOOKS.get(root.agent, _look_claude)(root, path, parts)
    return None


def files_below(directories: Iterable[str]) -> set[str]:
    """Return the paths of all files in these directories and below. Never raises."""
    return {
        f"{directory}/{name}"
        for top in directories
        for directory, _, names in os.walk(top)
        for name in names
    }


def _look_codex(root: Root, path: str, parts: list[str]) -> Found | None:
    match = _is_rollout(parts[-1])
    if match is None or len(parts) != _CODEX_DEPTH + 1 or not all(map(_is_number, parts[:-1])):
        return None
    status = _regular(path)
    return _found(match[1], root.agent, path, status) if status else None


def _look_own(root: Root, path: str, parts: list[str]) -> Found | None:
    match = _is_transcript(parts[0]) if len(parts) == 1 else None
    status = _regular(path) if match else None
    return _found(match[1], root.agent, path, status) if match and status else None


def _look_claude(root: Root, path: str, parts: list[str]) -> Found | Companion | None:
    status = None if _NOBODYS in parts[0] else _regular(path)
    if status is None:
        return None
    if len(parts) == 2:
        if match := _is_transcript(parts[1]):
            return _found(match[1], root.agent, path, status)
        owner = _owner(path) if _is_old_subagent(parts[1]) else None
        return _companion(owner, path, "subagent", status) if owner else None
    if len(parts) == 4 and _is_uuid(parts[1]):
        kind = _kind(parts[2], parts[3])
        return _companion(parts[1], path, kind, status) if kind else None
    return None


_LOOKS: Final = {"codex": _look_codex, "native": _look_own}


def _regular(path: str) -> os.stat_result | None:
    """The status of a regular file, or of what a link leads to. Raises ``OSError``."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path of each would take longer than the look
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _found(session_id: str, agent: str, path: str, status: os.stat_result) -> Found:
    return Found(
        session_id.lower(),
        agent,
        path,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
    )


def _companion(session_id: str, path: str, kind: Kind, status: os.stat_result) -> Companion:
    return Companion(session_id.lower(), path, kind, status.st_size, status.st_mtime_ns)


def _kind(folder: str, name: str) -> Kind | None:
    if folder == "tool-results":
        return "tool_result"
    if folder != "subagents":
        return None
    if name.endswith(".meta.json"):
        return "subagent_meta"
    return "subagent" if name.endswith(".jsonl") else None


# -- directories ---------------------------------------------------------------------------------


def _scan(tree: Tree, path: str) -> list[os.DirEntry[str]]:
    """What is in a directory; nothing where it is gone, or cannot be read."""
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
    """Whether it is one, or a link to one; it is noted then."""
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
    """The directories in the root, each once."""
    directories = [entry for entry in _scan(tree, root) if _is_directory(tree, entry)]
    directories = [entry for entry in directories if _NOBODYS not in entry.name]
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


# -- Claude Code ---------------------------------------------------------------------------------


def _walk_project(
    tree: Tree, agent: str, project: str, owner_of: Callable[[str], str | None]
) -> None:
    sessions, is_transcript = tree.sessions, _is_transcript
    for entry in _scan(tree, project):
        name = entry.name
        if match := is_transcript(name):
            status = _status(tree, entry)
            if status is not None:
                sessions.append(_found(match[1], agent, entry.path, status))
        elif _is_uuid(name):
            if _is_directory(tree, entry):
                _walk_companions(tree, name, entry.path)
        elif _is_old_subagent(name):
            _add_old_subagent(tree, entry, owner_of(entry.path))


def _status(tree: Tree, entry: os.DirEntry[str]) -> os.stat_result | None:
    """The status of a regular file, or of what a link leads to; anything else is a problem."""
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


def _walk_companions(tree: Tree, session_id: str, directory: str) -> None:
    for folder in _scan(tree, directory):
        if folder.name not in _FOLDERS or not _is_directory(tree, folder):
            continue
        for entry in _scan(tree, folder.path):
            if kind := _kind(folder.name, entry.name):
                status = _status(tree, entry)
                if status is not None:
                    tree.companions.append(_companion(session_id, entry.path, kind, status))


def _add_old_subagent(tree: Tree, entry: os.DirEntry[str], owner: str | None) -> None:
    status = _status(tree, entry)
    if status is None:
        return
    try:
        owner = owner or _owner(entry.path)
    except OSError as error:
        _cannot_see(tree, entry.path, error)
        return
    if owner is not None:
        tree.companions.append(_companion(owner, entry.path, "subagent", status))


def _owner(path: str) -> str | None:
    """The session of a sub-agent's file that lies beside the sessions, as older releases have it.

    Its records name it; ``None`` before the first is there. Raises ``OSError``.
    """
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except FileNotFoundError:
        return None
    try:
        line, newline, _ = os.read(descriptor, FIRST_LINE_BYTES).partition(b"\n")
    finally:
        os.close(descriptor)
    record = read_object(line) if newline else ""
    session_id = "" if isinstance(record, str) else string(record, "sessionId")
    return session_id if _is_uuid(session_id) else None


# -- Codex ---------------------------------------------------------------------------------------


def _walk_days(tree: Tree, directory: str, depth: int) -> None:
    for entry in _scan(tree, directory):
        if depth:
            if _is_number(entry.name) and _is_directory(tree, entry):
                _walk_days(tree, entry.path, depth - 1)
        elif match := _is_rollout(entry.name):
            status = _status(tree, entry)
            if status is not None:
                tree.sessions.append(_found(match[1], "codex", entry.path, status))


# -- the native agent ----------------------------------------------------------------------------


def _walk_own(tree: Tree, directory: str) -> None:
    for entry in _scan(tree, directory):
        if match := _is_transcript(entry.name):
            status = _status(tree, entry)
            if status is not None:
                tree.sessions.append(_found(match[1], "native", entry.path, status))
