"""Words of a project that a person is likely to say now. Pure.

The slot that a recogniser has for terms is small, and terms that have nothing to do with the work
make it worse: a few of each kind, the closest to the work first.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from podiumd.wire.voice import Term
from podiumd.wire.voice import TermSource as Source

MOST_TERMS: Final = 25
MOST_CHARACTERS: Final = 420
"""Characters of all terms together: the slot of a Whisper model holds 223 tokens."""
LONGEST: Final = 40

_WEIGHT: Final[dict[Source, float]] = {
    "branch": 1.2,
    "file": 1.1,
    "recipe": 1.0,
    "identifier": 1.0,
    "step": 0.9,
    "dependency": 0.8,
}
_FALLING: Final = 0.05
"""Worth that a term loses against the one before it of the same source."""
_MENTIONED: Final = 0.3
"""Worth that a dependency gains if the change at hand mentions it."""
_MOST_OF: Final[dict[Source, int]] = {
    "branch": 1,
    "file": 8,
    "recipe": 6,
    "identifier": 6,
    "step": 5,
    "dependency": 5,
}

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_TELLING = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z][A-Z]|[A-Za-z]{3}\d")
_CAMEL = re.compile(r"[a-z][A-Z]")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_GO = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+(?:/[\w.~-]+)+)\s+v", re.MULTILINE)
_VERSION = re.compile(r"v\d+")
_HEXADECIMAL = re.compile(r"(?:0x)?[0-9a-fA-F]{7,}")

_DULL_FILES: Final = frozenset(
    {
        "__init__.py",
        "__main__.py",
        "readme.md",
        "license",
        ".gitignore",
        "changelog.md",
        "conftest.py",
    }
    | {"package-lock.json", "yarn.lock", "cargo.lock", "uv.lock", "poetry.lock", "go.sum", "mod.rs"}
    | {"index.js", "index.ts", "index.html", "pnpm-lock.yaml", "py.typed"}
)
_DULL_BRANCHES: Final = frozenset({"main", "master", "head", "trunk", "develop", "dev"})


def choose(
    found: Mapping[Source, Sequence[str]], mentioned: str = "", most: int = MOST_TERMS
) -> tuple[Term, ...]:
    """Choose the terms that matter, the most important first.

    Args:
        found: the candidates of each source, the most relevant of each first.
        mentioned: the text of the change at hand.
        most: how many at most.
    """
    ranked: list[tuple[float, Term]] = []
    for source, words in found.items():
        for rank, word in enumerate(dict.fromkeys(filter(_sayable, words))):
            worth = _WEIGHT[source] - _FALLING * rank
            if source == "dependency" and word in mentioned:
                worth += _MENTIONED
            ranked.append((worth, Term(word, source)))
    ranked.sort(key=lambda one: -one[0])
    terms = [term for _worth, term in ranked]
    few = _few_of_each(terms)
    return _bounded([*few, *(term for term in terms if term not in few)], most)


def _few_of_each(terms: Iterable[Term]) -> list[Term]:
    taken: Counter[Source] = Counter()
    chosen = []
    for term in terms:
        taken[term.source] += 1
        if taken[term.source] <= _MOST_OF[term.source]:
            chosen.append(term)
    return chosen


def _bounded(terms: Iterable[Term], most: int) -> tuple[Term, ...]:
    chosen: dict[str, Term] = {}
    room = MOST_CHARACTERS
    for term in terms:
        key = term.term.casefold()
        if len(chosen) < most and key not in chosen and len(term.term) + 2 <= room:
            chosen[key] = term
            room -= len(term.term) + 2
    return tuple(chosen.values())


def _sayable(word: str) -> bool:
    return (
        1 < len(word) <= LONGEST
        and word.isprintable()
        and any(letter.isalpha() for letter in word)
        and not _HEXADECIMAL.fullmatch(word)
    )


def of_branch(branch: str) -> list[str]:
    """Return a person's name for a branch: its last part, unless every project has one like it."""
    name = branch.strip().rpartition("/")[2]
    return [] if name.casefold() in _DULL_BRANCHES else [name]


def of_files(paths: Iterable[str]) -> list[str]:
    """Files as people name them: ``session_lock`` by its stem, ``gateway.py`` with its ending."""
    named = []
    for path in paths:
        name = path.rstrip("/").rpartition("/")[2]
        stem = name.rpartition(".")[0] or name
        if name.casefold() not in _DULL_FILES:
            telling = "_" in stem.strip("_") or "-" in stem or _CAMEL.search(stem)
            named.append(stem if telling else name)
    return list(dict.fromkeys(named))


def identifiers(diff: str) -> list[str]:
    """Return names in a diff's changed lines that no dictionary has, the most frequent first."""
    counted: Counter[str] = Counter()
    for line in diff.splitlines():
        if line[:1] in "+-" and line[:3] not in ("+++", "---"):
            counted.update(_IDENTIFIER.findall(line[:500]))
    return [
        name
        for name, _count in counted.most_common(300)
        if _TELLING.search(name) and not name.startswith("__") and len(name) <= LONGEST
    ]


def dependencies(manifest: str, text: str) -> list[str]:
    """Return the names of what a project builds on, from one of ``MANIFESTS``; none from a file
    that cannot be read as one."""
    try:
        return list(dict.fromkeys(MANIFESTS[manifest](text)))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []


def _of_pyproject(text: str) -> Iterable[str]:
    data = tomllib.loads(text)
    project = data.get("project", {})
    named: list[Any] = [*project.get("dependencies", ())]
    for group in (project.get("optional-dependencies", {}), data.get("dependency-groups", {})):
        named += [one for listed in group.values() for one in listed]
    named += data.get("tool", {}).get("poetry", {}).get("dependencies", {})
    return [name for name in map(_requirement, named) if name not in ("", "python")]


def _of_requirements(text: str) -> Iterable[str]:
    return filter(None, map(_requirement, text.splitlines()))


def _requirement(line: Any) -> str:
    found = _REQUIREMENT.match(line) if isinstance(line, str) else None
    return found[1] if found else ""


def _of_package_json(text: str) -> Iterable[str]:
    data = json.loads(text)
    names = [*data.get("dependencies", {}), *data.get("devDependencies", {})]
    return [name.rpartition("/")[2] for name in names]


def _of_go_mod(text: str) -> Iterable[str]:
    for path in _GO.findall(text):
        *parts, last = path.split("/")
        yield parts[-1] if _VERSION.fullmatch(last) else last


def _of_cargo(text: str) -> Iterable[str]:
    data = tomllib.loads(text)
    tables = (data, data.get("workspace", {}))
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    return [name for table in tables for kind in kinds for name in table.get(kind, {})]


MANIFESTS: Final = {
    "pyproject.toml": _of_pyproject,
    "requirements.txt": _of_requirements,
    "package.json": _of_package_json,
    "go.mod": _of_go_mod,
    "Cargo.toml": _of_cargo,
}
"""The files that say what a project builds on, and how each is read."""
