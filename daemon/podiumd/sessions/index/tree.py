"""Files on the disk: the agents' session files and what belongs to them. Blocking.

Names say what a file is, and only regular files are sessions: a pipe that bears such a name must
never be opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from podiumd.formats.json_fields import read_object, string
from podiumd.formats.session import Layout, public_id
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index.shapes import (
    SHAPES,
    Kind,
    id_inside,
    owner_of,
    shape_of,
    transcript_of,
)
from podiumd.tools.files import walk as trees

if TYPE_CHECKING:
    # The processes that read transcripts have paths as text, and start sooner without these.
    from pathlib import Path

OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""For a file that may have become anything since it was seen: opening it must not wait."""

FIRST_LINE_BYTES: Final = 256 * 1024

_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
is_uuid: Final = re.compile(_UUID).fullmatch
is_transcript: Final = re.compile(rf"({_UUID})\.jsonl").fullmatch
is_rollout: Final = re.compile(rf"rollout-.*-({_UUID})\.jsonl", re.DOTALL).fullmatch
is_old_subagent: Final = re.compile(r"agent-.+\.jsonl", re.DOTALL).fullmatch
is_number: Final = re.compile(r"[0-9]{2,4}").fullmatch

_SUFFIX: Final = len(".jsonl")
_TAIL: Final = 36 + _SUFFIX

DAYS_DEPTH: Final = 3  # year, month, day

FOLDERS: Final = ("subagents", "tool-results")

NAMING_PROJECT: Final = "voice-code-name-inference"  # in such a project a program had names found


class Root(msgspec.Struct, frozen=True):
    """Directory of one agent's sessions, and their format; empty: it is called as the agent."""

    agent: str
    directory: Path
    format: str = ""

    @property
    def format_name(self) -> str:
        """Return the name of the format."""
        return self.format or self.agent

    @property
    def layout(self) -> Layout:
        """Return how the files lie below the directory."""
        form = FORMATS.get(self.format_name)
        return "projects" if form is None else form.layout

    @property
    def beside(self) -> str:
        """Return the path, from a transcript's directory, of what says more of it, if any."""
        form = FORMATS.get(self.format_name)
        return "" if form is None else form.beside


class Found(msgspec.Struct, frozen=True, gc=False):
    """A session's file as the disk has it. ``size`` in bytes, ``mtime_ns`` since 1970.

    ``own_id`` is the agent's own id of it, ``""`` where it is this one.
    """

    session_id: str
    agent: str
    path: str
    dev: int
    ino: int
    size: int
    mtime_ns: int
    own_id: str = ""


class Companion(msgspec.Struct, frozen=True, gc=False):
    """A file that belongs to a session."""

    session_id: str
    path: str
    kind: Kind
    size: int
    mtime_ns: int


class Known(msgspec.Struct, frozen=True):
    """The index's knowledge of the files, by path, to be compared with what is there.

    ``sessions``: (path, size, mtime_ns, ino, dev) of those that are not gone. ``companions``:
    (path, size, mtime_ns, session id). ``named``: the sessions whose file is not called as they.
    """

    sessions: dict[str, tuple[str, int, int, int, int]] = {}
    companions: dict[str, tuple[str, int, int, str]] = {}
    named: dict[str, str] = {}

    def session_of(self, path: str) -> str:
        """Return the session whose file has this path, which is known."""
        return self.named.get(path) or session_of(path)

    def owner_of(self, path: str) -> str | None:
        """Return the session to which a companion belongs."""
        facts = self.companions.get(path)
        return None if facts is None else facts[3]


def session_of(path: str) -> str:
    """Return the id of the session whose file is called as it, at the end of its name."""
    return path[-_TAIL:-_SUFFIX].lower()


def look(roots: Iterable[Root], path: str) -> Found | Companion | None:
    """Look at one path; ``None``: nothing is there, or nothing of ours.

    Raises ``OSError`` where it cannot be found out whether something is there.
    """
    for root in roots:
        top = f"{root.directory}/"
        if path.startswith(top):
            parts = path.removeprefix(top).split("/")
            return _LOOKS[root.layout](root, path, parts)
    return None


def concerns(roots: Iterable[Root], path: str) -> bool:
    """Say whether a file of this name may be one of ours. Looks at nothing."""
    for root in roots:
        top = f"{root.directory}/"
        if path.startswith(top) and root.layout in SHAPES:
            parts = path.removeprefix(top).split("/")
            transcript = transcript_of(root.layout, path, parts)
            return transcript != path or shape_of(root.layout, parts) is not None
    return True


def files_below(directories: Iterable[str]) -> set[str]:
    """Return the paths of all files in these directories and below. Never raises."""
    return {
        f"{directory}/{name}"
        for top in directories
        for directory, _, names in trees.walk(top)
        for name in names
    }


def _look_days(root: Root, path: str, parts: list[str]) -> Found | None:
    match = is_rollout(parts[-1])
    if match is None or len(parts) != DAYS_DEPTH + 1 or not all(map(is_number, parts[:-1])):
        return None
    status = _regular(path)
    return found(match[1], root.agent, path, status) if status else None


def _look_flat(root: Root, path: str, parts: list[str]) -> Found | None:
    match = is_transcript(parts[0]) if len(parts) == 1 else None
    status = _regular(path) if match else None
    return found(match[1], root.agent, path, status) if match and status else None


def _look_projects(root: Root, path: str, parts: list[str]) -> Found | Companion | None:
    status = None if NAMING_PROJECT in parts[0] else _regular(path)
    if status is None:
        return None
    if len(parts) == 2:
        if match := is_transcript(parts[1]):
            return found(match[1], root.agent, path, status)
        owner = owner_in(path) if is_old_subagent(parts[1]) else None
        return companion(owner, path, "subagent", status) if owner else None
    if len(parts) == 4 and is_uuid(parts[1]):
        kind = kind_of(parts[2], parts[3])
        return companion(parts[1], path, kind, status) if kind else None
    return None


def _look_shaped(root: Root, path: str, parts: list[str]) -> Found | Companion | None:
    transcript = transcript_of(root.layout, path, parts)
    if transcript != path:
        path, parts = transcript, transcript.removeprefix(f"{root.directory}/").split("/")
    shape = shape_of(root.layout, parts)
    status = None if shape is None else _regular(path)
    if shape is None or status is None:
        return None
    owner = owner_of(shape, parts) or id_inside(path, OPEN_FLAGS)
    if not owner:
        return None
    if shape.kind is not None:
        return companion(public_id(owner), path, shape.kind, status)
    return shaped(owner, root, path, status)


_LOOKS: Final[dict[Layout, Callable[[Root, str, list[str]], Found | Companion | None]]] = {
    "projects": _look_projects,
    "days": _look_days,
    "flat": _look_flat,
    **dict.fromkeys(SHAPES, _look_shaped),
}


def _regular(path: str) -> os.stat_result | None:
    """Return the status of a regular file, or of what a link leads to. Raises ``OSError``."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path of each would take longer than the look
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def place_beside(beside: str, path: str) -> str:
    """Return where the file is that says more of the session with this transcript."""
    return os.path.normpath(f"{path}/../{beside}")


def changed_ns(beside: str, path: str) -> int:
    """Return when the file beside a transcript was written, 0 where there is none."""
    if not beside:
        return 0
    try:
        status = os.stat(place_beside(beside, path))  # noqa: PTH116 - as above
    except OSError:
        return 0
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else 0


def shaped(own_id: str, root: Root, path: str, status: os.stat_result) -> Found:
    """Return a session's file of an agent that has ids of its own.

    It counts as written when it was, or what says more of it.
    """
    plain = found(public_id(own_id), root.agent, path, status)
    written = max(plain.mtime_ns, changed_ns(root.beside, path))
    other = own_id if own_id.lower() != plain.session_id else ""
    return msgspec.structs.replace(plain, mtime_ns=written, own_id=other)


def found(session_id: str, agent: str, path: str, status: os.stat_result) -> Found:
    """Return a session's file with what its status says."""
    return Found(
        session_id.lower(),
        agent,
        path,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
    )


def companion(session_id: str, path: str, kind: Kind, status: os.stat_result) -> Companion:
    """Return a file that belongs to a session with what its status says."""
    return Companion(session_id.lower(), path, kind, status.st_size, status.st_mtime_ns)


def kind_of(folder: str, name: str) -> Kind | None:
    """Return what a file in such a folder of a session is, ``None`` if nothing of ours."""
    if folder == "tool-results":
        return "tool_result"
    if folder != "subagents":
        return None
    if name.endswith(".meta.json"):
        return "subagent_meta"
    return "subagent" if name.endswith(".jsonl") else None


def owner_in(path: str) -> str | None:
    """Return the session of a sub-agent's file that lies beside the sessions.

    Older releases put it there. Its records name it; ``None`` before the first is there. Raises
    ``OSError``.
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
    return session_id if is_uuid(session_id) else None
