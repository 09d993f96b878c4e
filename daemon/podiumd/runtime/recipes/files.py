"""Readers of recipe files: bounded, never held up by a pipe, and never led astray by a link.

A file that a person put among their own recipes may be a link (many keep their settings so). One
that came with a project may not: a link there would make the reader take a file that no person
looked at, or one of the person's own secrets, for a part of the recipe.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from podiumd.tools.files.believed import fault_of

#: The most bytes of a recipe file, and of one prompt file.
RECIPE_BYTES: Final = 64 * 1024
PROMPT_BYTES: Final = 1024 * 1024

#: Limits of a look at a project's recipes: names in the directory, recipes, bytes of recipes and
#: bytes of everything. A person's project has a tenth of it; one with more was made to hold us up.
PROJECT_NAMES: Final = 1000
PROJECT_RECIPES: Final = 100
PROJECT_RECIPE_BYTES: Final = 256 * 1024
PROJECT_BYTES: Final = 4 * 1024 * 1024

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Overfull(Exception):
    """A project has more recipes than are looked at; the message says of what."""


def read_own(path: Path, believer: int | None = None) -> str:
    """Read a recipe file of the person's own, links followed.

    ``believer`` is the user who must be able to believe it: no other user may have written there.
    Raises OSError, ValueError, or RuntimeError for links in a circle.
    """
    if believer is not None:
        for folder in dict.fromkeys((path.parent, path.resolve().parent)):
            _believe(folder.stat(), believer, f"of '{folder}': ")
    return _text(os.open(path.resolve(strict=True), _READ), RECIPE_BYTES, believer)


def own_prompts(directory: Path, believer: int | None = None) -> Callable[[str], str]:
    """Return the reader of prompt files that lie in ``directory`` or below, links followed.

    ``believer`` as for ``read_own``. Raises OSError, or RuntimeError for links in a circle.
    """
    around = directory.resolve()

    def read(name: str) -> str:
        _parts(name)
        try:
            real = (directory / name).resolve(strict=True)
            if not real.is_relative_to(around):
                raise ValueError(f"it leads outside of {directory}")
            # The real path is opened without following: a link put there meanwhile is refused.
            return _text(os.open(real, _READ), PROMPT_BYTES, believer)
        except (OSError, RuntimeError) as error:
            raise ValueError(reason(error)) from error

    return read


class ProjectFiles:
    """The directory ``.podium/recipes`` of a project, held open while it is read.

    Every part of every path is opened by itself and must not be a link, so nothing outside of the
    directory can be reached, however the files are changed meanwhile.
    Raises OSError where it cannot be opened, ValueError where a link is in the way.
    """

    def __init__(self, project: Path) -> None:
        self._left = PROJECT_BYTES
        self._recipes_left = PROJECT_RECIPE_BYTES
        top = os.open(project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._directory = _enter(top, (".podium", "recipes"))
        finally:
            os.close(top)

    def __enter__(self) -> ProjectFiles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._directory)

    def names(self) -> list[str]:
        """List the names of the recipe files, sorted. Raises Overfull, OSError."""
        found: list[str] = []
        with os.scandir(self._directory) as entries:
            for count, entry in enumerate(entries):
                if count == PROJECT_NAMES:
                    raise Overfull(f"more than {PROJECT_NAMES} files")
                if Path(entry.name).suffix == ".toml":
                    found.append(entry.name)
        if len(found) > PROJECT_RECIPES:
            raise Overfull(f"more than {PROJECT_RECIPES} recipes")
        return sorted(found)

    def recipe(self, name: str) -> str:
        """Read one recipe file. Raises OSError, ValueError, Overfull."""
        text = self._read((name,), RECIPE_BYTES)
        self._recipes_left -= len(text.encode())
        if self._recipes_left < 0:
            raise Overfull(f"more than {PROJECT_RECIPE_BYTES} bytes of recipes")
        return text

    def prompt(self, name: str) -> str:
        """Read a prompt file by the name that a recipe gives. Raises ValueError, Overfull."""
        try:
            return self._read(_parts(name), PROMPT_BYTES)
        except OSError as error:
            raise ValueError(reason(error)) from error

    def _read(self, parts: tuple[str, ...], most: int) -> str:
        directory = _enter(self._directory, parts[:-1])
        try:
            text = _text(_open(parts[-1], _READ, directory), most)
        finally:
            os.close(directory)
        self._left -= len(text.encode())
        if self._left < 0:
            raise Overfull(f"more than {PROJECT_BYTES} bytes in all")
        return text


def reason(error: Exception) -> str:
    """Say why a file cannot be read, without the path that stands beside it anyway."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)


def _parts(name: str) -> tuple[str, ...]:
    """Split a prompt file's name, which begins at the recipe. Raises ValueError."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError("expected a path beside the recipe or below, without '..'")
    return path.parts


def _enter(directory: int, parts: tuple[str, ...]) -> int:
    """Open a directory below another; the caller closes it."""
    opened = os.dup(directory)
    for part in parts:
        try:
            below = _open(part, _ENTER, opened)
        finally:
            os.close(opened)
        opened = below
    return opened


def _open(name: str, flags: int, directory: int) -> int:
    try:
        return os.open(name, flags, dir_fd=directory)
    except OSError as error:
        if _is_link(name, directory):
            raise ValueError(f"'{name}' is a link; the recipes of a project have none") from error
        raise


def _is_link(name: str, directory: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _believe(found: os.stat_result, believer: int, whose: str = "") -> None:
    fault = fault_of(found, believer)
    if fault is not None:
        raise ValueError(f"a recipe says what may run, and {whose}{fault}")


def _text(descriptor: int, most: int, believer: int | None = None) -> str:
    """Read an open file as UTF-8 and close it."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)  # open() takes no directory, and would leave it open
        raise ValueError("expected a regular file")
    with open(descriptor, "rb") as file:
        if believer is not None:
            _believe(found, believer)
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it is larger than {most // 1024} KiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start}") from error
