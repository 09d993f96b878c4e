"""Finds what can be run in a directory, by reading its files; nothing of it is run for that."""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from podiumd.projects.errors import BadPlace
from podiumd.projects.makefile import Target, targets
from podiumd.projects.menu import Command, Ids, Item, Offered, general_commands, group, tree
from podiumd.projects.menu import words_of as words_of_target
from podiumd.projects.places import look
from podiumd.projects.scripts import LOCKFILES, just_recipes, package_scripts

MOST_FILE_BYTES = 1024 * 1024
MOST_FILES = 32
_MOST_REMEMBERED = 64

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make takes the first
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_PROGRAMS = ("git", "bd")

log = logging.getLogger(__name__)

Stamp = tuple[int, int, int] | None
"""Inode, size and modification time of a file, ``None`` where there is none."""


class _Known(NamedTuple):
    stamps: dict[Path, Stamp]
    items: tuple[Item, ...] = ()
    commands: tuple[Command, ...] = ()


class Discovery:
    """Remembers what directories offer, until one of the files it read has changed."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    async def offer(self, directory: Path, environment: Mapping[str, str]) -> Offered:
        """List the commands that ``directory`` offers under ``environment`` (its PATH counts).

        A directory whose files cannot be read within 5 s offers the general commands only.
        """
        before = self._known.get(directory)
        try:
            known = await look(directory, lambda: _look(directory, before))
        except BadPlace as error:
            log.warning("the files of a directory cannot be read: %s", error)
            return anywhere(environment)
        self._known[directory] = known
        self._known.move_to_end(directory)
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
        return _offered(known, environment)


def anywhere(environment: Mapping[str, str]) -> Offered:
    """List the commands that every directory offers."""
    return _offered(_Known({}), environment)


def general(environment: Mapping[str, str]) -> list[Command]:
    """List the general commands whose programs are on the environment's PATH."""
    search = environment.get("PATH", os.defpath)
    return general_commands(name for name in _PROGRAMS if shutil.which(name, path=search))


def _look(directory: Path, known: _Known | None) -> _Known:
    if known and all(_stamp(path) == stamp for path, stamp in known.stamps.items()):
        return known
    ids = Ids()
    stamps: dict[Path, Stamp] = {}
    items: list[Item] = []
    commands: list[Command] = []
    for kind in (_make, _package, _just):
        files = _Files(directory)
        more_items, more_commands = kind(files, ids)
        items += more_items
        commands += more_commands
        stamps |= files.stamps
    return _Known(stamps, tuple(items), tuple(commands))


def _offered(known: _Known, environment: Mapping[str, str]) -> Offered:
    everywhere = general(environment)
    table = {command.id: command for command in [*known.commands, *everywhere]}
    return Offered(known.items, tuple(command.item() for command in everywhere), table)


Found = tuple[list[Item], list[Command]]


def _make(files: _Files, ids: Ids) -> Found:
    text = files.first(_MAKEFILES)
    entries = []
    for target in targets(text, files.included) if text is not None else ():
        command_id = ids.give(target.name.replace("-", "."), f"make:{target.name}")
        command = _command(command_id, ("make", target.name), target)
        entries.append((words_of_target(target.name), command))
    return list(tree(entries, ids)), [command for _, command in entries]


def _package(files: _Files, ids: Ids) -> Found:
    text = files.first(("package.json",))
    if text is None:
        return [], []
    manager, scripts = package_scripts(text, files.there(LOCKFILES))
    return _grouped("npm", manager, ("run",), scripts, ids)


def _just(files: _Files, ids: Ids) -> Found:
    text = files.first(_JUSTFILES)
    recipes = just_recipes(text, files.included) if text is not None else []
    return _grouped("just", "just", (), recipes, ids)


def _grouped(
    kind: str, program: str, words: tuple[str, ...], found: list[Target], ids: Ids
) -> Found:
    """Commands of one program as one group; a single one stands alone, with the program's name."""
    commands = [
        _command(ids.give(f"{kind}:{one.name}", kind), (program, *words, one.name), one)
        for one in found
    ]
    if len(commands) < 2:
        return [command.item(f"{program} {command.label}") for command in commands], commands
    children = [command.item() for command in commands]
    return [group(kind, program, children, ids)], commands


def _command(id: str, argv: tuple[str, ...], target: Target) -> Command:
    return Command(id=id, label=target.name, argv=argv, description=target.description)


class _Files:
    """Reads small regular files of one directory, at most 32, and remembers their stamps."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # The directory's own time shows that files come and go.
        self.stamps: dict[Path, Stamp] = {directory: _stamp(directory)}

    def there(self, names: Mapping[str, str]) -> list[str]:
        return [name for name in names if _stamp(self._directory / name)]

    def first(self, names: tuple[str, ...]) -> str | None:
        """Read the first of these files that is there; ``None`` without any."""
        for name in names:
            path = self._directory / name
            if _stamp(path):
                return self._text(path)
        return None

    def included(self, pattern: str) -> Iterator[str]:
        """Yield the texts of the files that an included name or pattern stands for."""
        if any(character in pattern for character in "*?["):
            relative = pattern.removeprefix("./")
            if relative.startswith("/") or ".." in relative.split("/") or "**" in relative:
                return
            paths = sorted(self._directory.glob(relative))
        else:
            paths = [self._directory / pattern]
        for path in paths:
            text = self._text(path)
            if text is not None:
                yield text

    def _text(self, path: Path) -> str | None:
        if len(self.stamps) > MOST_FILES or path in self.stamps:
            return None
        self.stamps[path] = _stamp(path)
        try:
            with open(path, "rb", opener=_open) as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_FILE_BYTES:
                    return None
                return file.read(MOST_FILE_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # the name may be a pipe's


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
