"""The recipes that can be started: a project's, the user's, the built-in ones.

A project's recipe shadows the user's of the same id, the user's the built-in one, also when it is
broken: whoever wrote it shall see the fault and not another recipe in its place. All functions
here block on files; the runtime calls them in a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Final

from podiumd.core.findings import Finding, RecipeInvalid, nearest
from podiumd.core.recipe import Recipe, Source
from podiumd.core.recipe_load import load_recipe

#: The most bytes a recipe, or a prompt file, may have.
MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True)
class Entry:
    """One recipe file. ``recipe`` is ``None`` where it is broken: ``findings`` say why.

    ``shadows`` are the sources of the recipes with the same id that this one hides.
    """

    id: str
    label: str
    description: str
    source: Source
    path: Path
    trusted: bool
    shadows: tuple[Source, ...] = ()
    recipe: Recipe | None = None
    findings: tuple[Finding, ...] = ()


class RecipeNotFound(LookupError):
    """No recipe has this id; the message names the nearest one."""

    def __init__(self, id: str, known: list[str]) -> None:
        super().__init__(f"there is no recipe '{id[:80]}'; {nearest(id, known)}")
        self.id = id


def builtin_directory() -> Path:
    """Return where the recipes that ship with Podium are."""
    return Path(str(resources.files("podiumd") / "_data" / "recipes"))


def is_trusted(source: Source) -> bool:
    """Say whether a recipe may be started: what came with a clone may not."""
    return source != "project"


class Catalogue:
    """Finds recipes in a project, in ``user_dir`` and in ``builtin_dir``, freshly each time."""

    def __init__(self, user_dir: Path, builtin_dir: Path) -> None:
        self._user_dir = user_dir
        self._builtin_dir = builtin_dir

    def list(self, working_directory: str | None) -> list[Entry]:
        """List one entry an id, sorted by id; broken recipes stand among them."""
        entries: dict[str, Entry] = {}
        for entry in self._files(working_directory):
            first = entries.get(entry.id)
            if first is None:
                entries[entry.id] = entry
            elif first.source != entry.source:
                sources = dict.fromkeys((*first.shadows, entry.source))
                entries[entry.id] = replace(first, shadows=tuple(sources))
            else:
                entries[entry.id] = _duplicate(first, entry)
        return sorted(entries.values(), key=lambda entry: entry.id)

    def get(self, id: str, working_directory: str | None) -> Entry:
        """Return the recipe ``id`` as that working directory sees it, broken or not.

        Raises RecipeNotFound.
        """
        entries = {entry.id: entry for entry in self.list(working_directory)}
        if id not in entries:
            raise RecipeNotFound(id, list(entries))
        return entries[id]

    def _files(self, working_directory: str | None) -> Iterator[Entry]:
        """Load every recipe file, the sources in the order in which they shadow."""
        if working_directory is not None and Path(working_directory).is_absolute():
            project = Path(working_directory)
            yield from _directory("project", project / ".podium" / "recipes", within=project)
        yield from _directory("user", self._user_dir)
        yield from _directory("builtin", self._builtin_dir)


def load_file(path: Path, *, within: Path | None = None) -> Recipe:
    """Load one recipe file; its prompt files must be in its directory or below.

    With ``within`` the file itself must lie in that directory, links followed.
    Raises RecipeInvalid, also for a file that cannot be read.
    """
    try:
        text = _read_text(path, within=within)
        prompts = path.resolve().parent
    except (OSError, ValueError, RuntimeError) as error:
        message = f"the file cannot be used: {_reason(error)}"
        finding = Finding(code="syntax", line=1, message=message, file=str(path))
        raise RecipeInvalid([finding]) from error
    return load_recipe(text, file=str(path), read_prompt=_prompt_reader(prompts))


def _directory(source: Source, directory: Path, *, within: Path | None = None) -> Iterator[Entry]:
    """Load the recipe files of one directory; a missing directory has none."""
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == ".toml")
    except OSError:
        return
    for path in paths:
        yield _entry(source, path, within)


def _entry(source: Source, path: Path, within: Path | None) -> Entry:
    trusted = is_trusted(source)
    try:
        recipe = load_file(path, within=within)
    except RecipeInvalid as invalid:
        id_ = invalid.id or path.stem
        return Entry(id_, id_, "", source, path, trusted, findings=invalid.findings)
    return Entry(recipe.id, recipe.label, recipe.description, source, path, trusted, recipe=recipe)


def _duplicate(first: Entry, second: Entry) -> Entry:
    """Two files of one directory with one id: neither can be meant."""
    message = (
        f"id '{first.id}' is used by {first.path.name} and {second.path.name}; "
        "give each recipe an id of its own"
    )
    finding = Finding(code="bad-name", line=1, message=message, file=str(second.path))
    return replace(first, recipe=None, findings=(*first.findings, finding))


def _prompt_reader(directory: Path) -> Callable[[str], str]:
    """Return the reader of prompt files: names relative to the recipe, never outside of it."""

    def read_prompt(name: str) -> str:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError("expected a path beside the recipe or below, without '..'")
        try:
            return _read_text(directory / name, within=directory)
        except (OSError, ValueError, RuntimeError) as error:
            raise ValueError(_reason(error)) from error

    return read_prompt


def _read_text(path: Path, *, within: Path | None) -> str:
    """Read a regular file of at most MAX_BYTES as UTF-8.

    The real path is judged and then opened without following a link, so that a link put there in
    between is not followed. Raises OSError, ValueError, or RuntimeError for links in a circle.
    """
    real = path.resolve(strict=True)
    if within is not None and not real.is_relative_to(within.resolve()):
        raise ValueError(f"it leads outside of {within}")
    # Not blocking: a pipe without a writer would hold the open for ever.
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("expected a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES} bytes (1 MiB)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start}") from error


def _reason(error: Exception) -> str:
    """Say why a file cannot be read, without the path that stands beside it anyway."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
