"""The recipes that can be started: a project's, the user's, the built-in ones.

A project's recipe shadows the user's of the same id, the user's the built-in one, also when it is
broken: its author shall see the fault and not another recipe in its place. With its source before
it (``builtin.ID``) a recipe is meant even if it is shadowed: no id has a dot of its own.

Every look reads the files anew, so edits are seen without a restart; the understanding of the same
texts is remembered, for it takes milliseconds a recipe, and many runs may start at once. All
functions here block on files; the runtime calls them in a thread.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple, get_args

from podiumd.core.findings import Finding, Notes, RecipeInvalid, nearest
from podiumd.core.recipe.load import read_recipe
from podiumd.core.recipe.model import Recipe, Source
from podiumd.core.toml_lines import TomlLines
from podiumd.runtime.recipes.files import Overfull, ProjectFiles, own_prompts, read_own, reason

#: The id under which a project's recipes are listed as a whole where they cannot be looked at.
ALL_OF_PROJECT: Final = "project.recipes"

#: Recipes of which it is remembered what their texts mean, and the most characters of prompts then.
MOST_UNDERSTOOD: Final = 64
MOST_KEPT: Final = 256 * 1024

_PLACE: Final = Path(".podium", "recipes")
_SOURCES: Final[tuple[Source, ...]] = get_args(Source)


@dataclass(frozen=True)
class Entry:
    """A recipe file. ``recipe`` is ``None`` where it is broken: ``findings`` give the reason.

    ``project`` is the directory that a project's recipe belongs to. Such a recipe is ``trusted``
    only once a person approved it (``podiumd.runtime.recipes.trust``), and not when it ``changed``
    since. ``shadows`` are the sources of the recipes with the same id that this one hides.
    ``lines`` know where the keys of the loaded text stand: the file may be another by now.
    """

    id: str
    label: str
    description: str
    source: Source
    path: Path
    trusted: bool
    project: Path | None = None
    changed: bool = False
    shadows: tuple[Source, ...] = ()
    recipe: Recipe | None = None
    findings: tuple[Finding, ...] = ()
    lines: TomlLines | None = None

    def notes(self) -> Notes:
        """Empty notes on the recipe, which has loaded."""
        assert self.lines is not None
        return Notes(shown(self.path), self.lines)


class RecipeNotFound(LookupError):
    """No recipe has this id; the message names the nearest one."""

    def __init__(self, id: str, known: list[str]) -> None:
        super().__init__(f"there is no recipe '{id[:80]}'; {nearest(id, known)}")
        self.id = id


def builtin_directory() -> Path:
    """Return where the recipes that ship with Podium are."""
    return Path(str(resources.files("podiumd") / "_data" / "recipes"))


def project_of(working_directory: str) -> Path | None:
    """Return the project whose recipes are seen from an absolute directory.

    It is the nearest directory with a ``.podium/recipes``, from the working directory up to the
    top of its checkout; outside of one only the working directory itself.
    """
    start = Path(os.path.realpath(working_directory))
    ways = (start, *start.parents)
    top = next((at for at, way in enumerate(ways) if os.path.lexists(way / ".git")), 0)
    return next((way for way in ways[: top + 1] if os.path.lexists(way / _PLACE)), None)


class Catalogue:
    """Finds recipes in a project, in ``user_dir`` and in ``builtin_dir``, freshly each time."""

    def __init__(self, user_dir: Path, builtin_dir: Path) -> None:
        self._user_dir = user_dir
        self._builtin_dir = builtin_dir

    def list(self, working_directory: str | None) -> list[Entry]:
        """List one entry an id, sorted by id; broken recipes stand among them."""
        entries = self._shadowed(_SOURCES, working_directory)
        return sorted(entries.values(), key=lambda entry: entry.id)

    def get(self, id: str, working_directory: str | None) -> Entry:
        """Return the recipe ``id`` as that working directory sees it, broken or not.

        Where a project's recipes cannot be looked at, any of them could be meant: the entry says
        what is wrong with them. Raises RecipeNotFound.
        """
        source, _, name = id.rpartition(".")
        sources = tuple(one for one in _SOURCES if one == source)
        name = name if sources else id
        entries = self._shadowed(sources or _SOURCES, working_directory, name)
        whole, entry = entries.pop(ALL_OF_PROJECT, None), entries.get(name)
        if whole is not None:
            shadows = () if entry is None else (entry.source, *entry.shadows)
            return replace(whole, id=name, shadows=shadows)
        if entry is None:
            raise RecipeNotFound(id, list(entries))
        return entry

    def owner(self, path: Path) -> Path | None:
        """Return the project that a recipe file belongs to by its place; ``None``: a person's."""
        place = path.parent
        if place == self._user_dir or place.parts[-2:] != _PLACE.parts:
            return None
        return place.parent.parent

    def _shadowed(
        self, sources: tuple[Source, ...], working_directory: str | None, wanted: str | None = None
    ) -> dict[str, Entry]:
        """Return one entry an id; where one is ``wanted``, of the others the id alone is as it is
        now."""
        entries: dict[str, Entry] = {}
        for entry in self._entries(sources, working_directory, wanted):
            first = entries.get(entry.id)
            if first is None:
                entries[entry.id] = entry
            elif first.source != entry.source:
                shadows = dict.fromkeys((*first.shadows, entry.source))
                entries[entry.id] = replace(first, shadows=tuple(shadows))
            else:
                entries[entry.id] = _duplicate(first, entry)
        return entries

    def _entries(
        self, sources: tuple[Source, ...], working_directory: str | None, wanted: str | None
    ) -> Iterator[Entry]:
        """Load every recipe file, the sources in the order in which they shadow."""
        if (
            "project" in sources
            and working_directory is not None
            and Path(working_directory).is_absolute()
        ):
            project = project_of(working_directory)
            if project is not None:
                yield from _of_project(project)
        if "user" in sources:
            yield from _of_person("user", self._user_dir, wanted)
        if "builtin" in sources:
            yield from _of_person("builtin", self._builtin_dir, wanted)


def load_file(
    path: Path, believer: int | None = None, wanted: str | None = None
) -> tuple[Recipe, Notes]:
    """Load one recipe file; its prompt files must be in its directory or below.

    ``believer`` is the user whose own recipe it is; ``None``: it came with Podium. Where another id
    is ``wanted``, its prompt files may not be looked at. The notes are empty, and know its lines.
    Raises RecipeInvalid, also for a file that cannot be read.
    """
    return _load(
        path,
        partial(read_own, path, believer),
        lambda: own_prompts(path.resolve().parent, believer),
        wanted,
    )


def _of_person(source: Source, directory: Path, wanted: str | None) -> Iterator[Entry]:
    """Load the recipe files of one directory; a missing directory has none."""
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix == ".toml")
    except OSError:
        return
    believer = os.getuid() if source == "user" else None
    for path in paths:
        yield _entry(source, path, partial(load_file, path, believer, wanted))


def _of_project(project: Path) -> list[Entry]:
    """Load a project's recipe files: all of them, or one entry that says why that is impossible."""
    place = project / _PLACE
    try:
        with ProjectFiles(project) as files:
            return [_project_entry(project, place / name, files) for name in files.names()]
    except FileNotFoundError:
        return []
    except Overfull as error:
        message = f"the project's recipes are not read: there are {error}"
    except (OSError, ValueError) as error:
        message = f"the project's recipes cannot be read: {reason(error)}"
    finding = Finding(code="syntax", line=1, message=message, file=shown(place))
    return [
        Entry(
            id=ALL_OF_PROJECT,
            label=str(_PLACE),
            description=message,
            source="project",
            path=place,
            trusted=False,
            project=project,
            findings=(finding,),
        )
    ]


def _project_entry(project: Path, path: Path, files: ProjectFiles) -> Entry:
    load = partial(_load, path, partial(files.recipe, path.name), lambda: files.prompt)
    return _entry("project", path, load, project)


def _entry(
    source: Source,
    path: Path,
    load: Callable[[], tuple[Recipe, Notes]],
    project: Path | None = None,
) -> Entry:
    recipe: Recipe | None = None
    lines: TomlLines | None = None
    findings: tuple[Finding, ...] = ()
    try:
        recipe, notes = load()
    except RecipeInvalid as invalid:
        id_, findings = invalid.id or shown(path.stem), invalid.findings
    else:
        id_, lines = recipe.id, notes.lines
    return Entry(
        id=id_,
        label=id_ if recipe is None else recipe.label,
        description="" if recipe is None else recipe.description,
        source=source,
        path=path,
        trusted=project is None,
        project=project,
        recipe=recipe,
        findings=findings,
        lines=lines,
    )


def _load(
    path: Path,
    read: Callable[[], str],
    prompts: Callable[[], Callable[[str], str]],
    wanted: str | None = None,
) -> tuple[Recipe, Notes]:
    try:
        text = read()
        understood = _understood(shown(path), text)
        for one in understood:
            if wanted not in (None, one.recipe.id):  # that follows from the text alone
                return one.recipe, Notes(shown(path), one.lines)
        read_prompt = prompts()
    except (OSError, ValueError, RuntimeError) as error:
        message = f"the file cannot be used: {reason(error)}"
        finding = Finding(code="syntax", line=1, message=message, file=shown(path))
        raise RecipeInvalid([finding]) from error
    prompt_texts: dict[str, str] = {}

    def read_once(name: str) -> str:
        if name not in prompt_texts:
            prompt_texts[name] = read_prompt(name)
        return prompt_texts[name]

    for one in understood:
        if one.still_reads(read_once):
            return one.recipe, Notes(shown(path), one.lines)
    recipe, notes = read_recipe(text, file=shown(path), read_prompt=read_once)
    if sum(map(len, prompt_texts.values())) <= MOST_KEPT:
        understood[:] = [_Understood(recipe, notes.lines, prompt_texts)]
    return recipe, notes


class _Understood(NamedTuple):
    """The meaning of a recipe's text, as long as its ``prompts``, by name, are these."""

    recipe: Recipe
    lines: TomlLines
    prompts: dict[str, str]

    def still_reads(self, read_prompt: Callable[[str], str]) -> bool:
        """Return whether its prompt files are there and as they were."""
        try:
            return all(read_prompt(name) == text for name, text in self.prompts.items())
        except ValueError:
            return False  # it is understood anew, and says then what is wrong


@functools.lru_cache(maxsize=MOST_UNDERSTOOD)
def _understood(file: str, text: str) -> list[_Understood]:
    """Return the cache for a text: its last understanding, if any; the caller fills it."""
    return []


def _duplicate(first: Entry, second: Entry) -> Entry:
    """Two files of one directory with one id: neither can be meant."""
    message = (
        f"id '{first.id}' is used by {shown(first.path.name)} and {shown(second.path.name)}; "
        "give each recipe an id of its own"
    )
    finding = Finding(code="bad-name", line=1, message=message, file=shown(second.path))
    return replace(first, recipe=None, lines=None, findings=(*first.findings, finding))


def shown(path: Path | str) -> str:
    """Return a path as text: file names may hold bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
