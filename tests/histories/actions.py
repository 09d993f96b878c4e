"""What can happen to the transcripts. Each action is drawn from its own seed, so that those that
are left of a history do the same without the others."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.histories.disk import Disk
from tests.histories.lines import Line

DIRECTORIES: Final = ("-home-me-app", "-home-me-lib", "-srv-site", "-tmp-x")

WINDOW: Final = 4096
"""Bytes at the start and before the end of a transcript where a rewrite in place is recognised:
one in the middle that keeps size and ends shows when the line is next read, and not before."""

Act = Callable[[Disk, random.Random], bool]
"""Does it, and says whether there was anything to do it to."""


def session_id(number: int) -> str:
    """The id of a history's session."""
    return str(uuid.UUID(int=(number + 1) << 64, version=4))


def _some_path(disk: Disk, chance: random.Random) -> str | None:
    """A file that counts; now and then one that does not."""
    sessions = [session for session in disk.sessions if disk.paths(session)]
    if not sessions:
        return None
    paths = disk.paths(chance.choice(sessions))
    return chance.choice(paths) if chance.random() < 0.1 else paths[0]


def _new_lines(disk: Disk, chance: random.Random, data: bytes, most: int = 6) -> list[Line]:
    said = [line for line in disk.lines_of(data) if line.identity]
    return disk.maker.some(chance, said, chance.randrange(1, most + 1))


def _joined(lines: list[Line]) -> bytes:
    return b"".join(line.data + b"\n" for line in lines)


def _pieces(chance: random.Random, data: bytes) -> list[bytes]:
    """Cut anywhere: a reader may look between any two writes."""
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def create(disk: Disk, chance: random.Random) -> bool:
    number = len(disk.sessions)
    if number >= 3:
        return False
    path = f"{chance.choice(DIRECTORIES)}/{session_id(number)}.jsonl"
    empty = chance.random() < 0.2
    disk.append(path, [] if empty else [_joined(_new_lines(disk, chance, b"", 20))])
    return True


def append(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is None:
        return False
    data = disk.files[path].data
    lines = _joined(_new_lines(disk, chance, data))
    torn = _torn(data)
    # The next agent ends what an earlier one left torn; rarely one does not.
    glued = chance.random() < 0.1
    start = b"\n" if torn and not glued else b""
    disk.append(path, _pieces(chance, start + lines))
    return True


def append_torn(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    data = b"" if path is None else disk.files[path].data
    if path is None or _torn(data):
        return False
    line = _new_lines(disk, chance, data, 1)[0].data
    whole = chance.random() < 0.3  # all but its newline
    disk.append(path, [line[: len(line) if whole else chance.randrange(len(line) + 1)]])
    return True


def _torn(data: bytes) -> bytes:
    """What stands after the last newline."""
    return data[data.rfind(b"\n") + 1 :]


def complete(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    torn = b"" if path is None else _torn(disk.files[path].data)
    if path is None or not torn:
        return False
    disk.append(path, _pieces(chance, disk.maker.rest(torn) + b"\n"))
    return True


def _boundaries(data: bytes) -> list[int]:
    """Where lines begin; and where the last one ends."""
    return [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]


def truncate_to_line(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is None or not disk.files[path].data:
        return False
    disk.truncate(path, chance.choice(_boundaries(disk.files[path].data)[-6:]))
    return True


def truncate_anywhere(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is None or not disk.files[path].data:
        return False
    disk.truncate(path, chance.randrange(len(disk.files[path].data)))
    return True


def truncate_to_nothing(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is None or not disk.files[path].data:
        return False
    disk.truncate(path, 0)
    return True


def replace_with_more(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is None:
        return False
    data = disk.files[path].data
    whole = data[: len(data) - len(_torn(data))]
    more = _joined(_new_lines(disk, chance, whole)) if chance.random() < 0.7 else b""
    disk.replace(path, whole + more)
    return True


def compact(disk: Disk, chance: random.Random) -> bool:
    """The same session written anew: messages dropped, moved and added."""
    path = _some_path(disk, chance)
    if path is None:
        return False
    lines = disk.lines_of(disk.files[path].data)
    kept = [line for line in lines if chance.random() < 0.7]
    if kept and chance.random() < 0.4:
        kept.insert(chance.randrange(len(kept)), kept.pop(chance.randrange(len(kept))))
    if chance.random() < 0.2:
        chance.shuffle(kept)
    for line in _new_lines(disk, chance, _joined(kept), 4):
        kept.insert(chance.randrange(len(kept) + 1), line)
    disk.replace(path, _joined(kept))
    return True


def rewrite_in_place(disk: Disk, chance: random.Random) -> bool:
    """Another message over one that stands there, of the same size; nothing else moves."""
    path = _some_path(disk, chance)
    if path is None:
        return False
    data = disk.files[path].data
    starts = _boundaries(data)
    places = [
        (start, line)
        for start, line in zip(starts, disk.lines_of(data), strict=False)
        if start + len(line.data) <= WINDOW or start >= starts[-1] - WINDOW
    ]
    spans = [(start, line) for start, line in places if line.identity]
    if not spans:
        return False
    start, line = chance.choice(spans)
    other = disk.maker.of_size(chance, line)
    if other is None:
        return False
    disk.overwrite(path, start, other.data)
    return True


def move_file(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    return path is not None and _to_another(disk, chance, path, disk.move)


def copy(disk: Disk, chance: random.Random) -> bool:
    """A resume in another working directory: a second file goes on, the first one stays."""
    path = _some_path(disk, chance)
    if path is None or _torn(disk.files[path].data):
        return False
    more = _joined(_new_lines(disk, chance, disk.files[path].data))
    return _to_another(disk, chance, path, lambda path, target: disk.copy(path, target, more))


def _to_another(
    disk: Disk, chance: random.Random, path: str, do: Callable[[str, str], None]
) -> bool:
    name = Path(path).name
    free = [f"{place}/{name}" for place in DIRECTORIES if f"{place}/{name}" not in disk.files]
    if not free:
        return False
    do(path, chance.choice(free))
    return True


def rename_directory(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    free = [name for name in DIRECTORIES if not (disk.root / name).exists()]
    if path is None or not free:
        return False
    disk.move_directory(Path(path).parent.name, chance.choice(free))
    return True


def delete(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is None or disk.files[path].session in disk.removed:
        return False
    disk.remove(path, keep=chance.random() < 0.5)
    return True


def restore(disk: Disk, chance: random.Random) -> bool:
    free = [session for session, gone in disk.removed.items() if gone[0] not in disk.files]
    if not free:
        return False
    disk.restore(chance.choice(free))
    return True


def touch(disk: Disk, chance: random.Random) -> bool:
    path = _some_path(disk, chance)
    if path is not None:
        disk.touch(path)
    return path is not None


ACTIONS: Final[Mapping[str, tuple[Act, int]]] = MappingProxyType(
    {
        "create": (create, 3),
        "append": (append, 24),
        "append-torn": (append_torn, 8),
        "complete": (complete, 8),
        "truncate-to-line": (truncate_to_line, 4),
        "truncate-anywhere": (truncate_anywhere, 3),
        "truncate-to-nothing": (truncate_to_nothing, 1),
        "replace-with-more": (replace_with_more, 4),
        "compact": (compact, 6),
        "rewrite-in-place": (rewrite_in_place, 3),
        "move-file": (move_file, 3),
        "copy": (copy, 2),
        "rename-directory": (rename_directory, 3),
        "delete": (delete, 3),
        "restore": (restore, 4),
        "touch": (touch, 1),
    }
)
"""By name: what it does, and how often it comes beside the others."""
