"""The transcripts on the disk, and what stood in them at every moment that a reader could see."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.histories.lines import Line, Maker

STEP_NS = 1_000_000


class File(msgspec.Struct):
    """A transcript's bytes, and when it was last written (nanoseconds since 1970)."""

    session: str
    data: bytes
    mtime_ns: int


class Past(msgspec.Struct):
    """What happened to a session's transcript since its log was last checked.

    ``versions``: the identities in it, in order, as they stood at the last check and after every
    change. ``rewritten``: a line that stood there then is not there any more, or no longer in its
    place. ``existed``: there ever was a file.
    """

    versions: list[list[str]] = []
    rewritten: bool = False
    existed: bool = False


class Disk:
    """The directory of projects: every change goes to the disk and to the model of it."""

    def __init__(self, root: Path, attic: Path, maker: Maker) -> None:
        self.root = root
        self.maker = maker
        self.files: dict[str, File] = {}
        self.removed: dict[str, tuple[str, File, bool]] = {}
        """By session: the path, the file, and whether it lies in the attic."""
        self.past: dict[str, Past] = {}
        self.ever: dict[str, set[str]] = {}
        """By session: the identities of all messages that were ever complete in a file of it."""
        self._attic = attic
        self._clock = 0
        for place in (root, attic):
            place.mkdir(parents=True)

    # -- looking -----------------------------------------------------------------------------

    @property
    def sessions(self) -> list[str]:
        """All that there ever were, in the order of their coming."""
        return list(self.past)

    def paths(self, session: str) -> list[str]:
        """The session's files, the one written last first."""
        found = [path for path, file in self.files.items() if file.session == session]
        return sorted(found, key=lambda path: -self.files[path].mtime_ns)

    def followed(self, session: str) -> File | None:
        """The file that counts: of two the one written last."""
        paths = self.paths(session)
        return self.files[paths[0]] if paths else None

    def lines(self, session: str) -> list[Line]:
        """The complete lines of the file that counts."""
        file = self.followed(session)
        return [] if file is None else self.lines_of(file.data)

    def lines_of(self, data: bytes) -> list[Line]:
        """The complete lines in some bytes."""
        return [self.maker.line(line) for line in data.split(b"\n")[:-1]]

    def messages(self, session: str) -> list[Line]:
        """The messages of the file that counts, each once: the first line of an identity."""
        found: dict[str, Line] = {}
        for line in self.lines(session):
            if line.identity:
                found.setdefault(line.identity, line)
        return list(found.values())

    # -- changing ----------------------------------------------------------------------------

    def append(self, path: str, pieces: Sequence[bytes]) -> None:
        """Write at the end, one piece a call."""
        place = self.root / path
        place.parent.mkdir(exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            for piece in pieces:
                os.write(descriptor, piece)
        finally:
            os.close(descriptor)
        file = self.files.get(path) or File(Path(path).stem, b"", 0)
        self._settle(path, file.session, file.data + b"".join(pieces))

    def truncate(self, path: str, size: int) -> None:
        os.truncate(self.root / path, size)
        file = self.files[path]
        self._settle(path, file.session, file.data[:size])

    def overwrite(self, path: str, start: int, data: bytes) -> None:
        """Write over what stands there, in one call; the size stays."""
        descriptor = os.open(self.root / path, os.O_WRONLY)
        try:
            os.pwrite(descriptor, data, start)
        finally:
            os.close(descriptor)
        file = self.files[path]
        self._settle(path, file.session, file.data[:start] + data + file.data[start + len(data) :])

    def replace(self, path: str, data: bytes) -> None:
        """Rename another file over it."""
        draft = self.root / f"{path}.tmp"
        draft.write_bytes(data)
        os.utime(draft, ns=(self._tick(), self._clock))
        draft.rename(self.root / path)
        self._noted(path, File(self.files[path].session, data, self._clock))

    def copy(self, path: str, target: str, more: bytes) -> None:
        """Write a second file of the session, as a resume in another directory does."""
        data = self.files[path].data
        session = self.files[path].session
        self.append(target, [data, more])
        self.past[session].rewritten = True  # at first the copy is empty

    def touch(self, path: str) -> None:
        file = self.files[path]
        self._settle(path, file.session, file.data)

    def move(self, path: str, target: str) -> None:
        (self.root / target).parent.mkdir(exist_ok=True)
        (self.root / path).rename(self.root / target)
        self.files[target] = self.files.pop(path)

    def move_directory(self, name: str, target: str) -> None:
        (self.root / name).rename(self.root / target)
        self.files = {
            f"{target}/{Path(path).name}" if Path(path).parent.name == name else path: file
            for path, file in self.files.items()
        }

    def remove(self, path: str, *, keep: bool) -> None:
        """Delete a file, or take it out of the tree (``keep``)."""
        file = self.files.pop(path)
        if keep:
            (self.root / path).rename(self._attic / file.session)
        else:
            (self.root / path).unlink()
        self.removed[file.session] = (path, file, keep)
        self._note(file.session, removed=file)

    def restore(self, session: str) -> None:
        """Put a removed file back where it was."""
        path, file, kept = self.removed.pop(session)
        (self.root / path).parent.mkdir(exist_ok=True)
        if kept:
            (self._attic / session).rename(self.root / path)
            self._noted(path, file)
        else:
            self.append(path, [file.data])

    def checked(self, session: str) -> None:
        """The log was compared with what stands there now: from here on is a new past."""
        now = [line.identity for line in self.messages(session)]
        self.past[session] = Past([now], existed=True)

    # -- the model ---------------------------------------------------------------------------

    def _tick(self) -> int:
        """A time of writing that no file had before: so the last written one is known."""
        self._clock = max(time.time_ns(), self._clock + STEP_NS)
        return self._clock

    def _settle(self, path: str, session: str, data: bytes) -> None:
        os.utime(self.root / path, ns=(self._tick(), self._clock))
        self._noted(path, File(session, data, self._clock))

    def _noted(self, path: str, file: File) -> None:
        before = self.followed(file.session)
        self.files[path] = file
        self._note(file.session, removed=before)

    def _note(self, session: str, removed: File | None) -> None:
        """Compare what counts now with what counted before."""
        past = self.past.setdefault(session, Past())
        now = self.followed(session)
        stood = b"" if removed is None else removed.data[: removed.data.rfind(b"\n") + 1]
        data = b"" if now is None else now.data
        came_back = removed is None and past.existed
        if came_back or now is None or not data.startswith(stood):
            past.rewritten = True
        past.existed = True
        identities = [line.identity for line in self.messages(session)]
        past.versions.append(identities)
        self.ever.setdefault(session, set()).update(identities)
