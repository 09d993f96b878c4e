"""The scripts of a ``package.json`` and the recipes of a ``justfile``, read from text. Pure.

As with Makefiles no program is asked: looking at a directory runs nothing of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any

from podiumd.projects.makefile import MOST_TARGETS, Read, Target

LOCKFILES = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_DESCRIPTION_CHARACTERS = 200
_RECIPE = re.compile(r"@?([A-Za-z_][A-Za-z0-9_-]{0,199})(?=[\s:])")
_NO_RECIPE = re.compile(r"(?:set|alias|export|unexport|mod\??)\s")
_IMPORT = re.compile(r"""import\??\s+(?:'([^']+)'|"([^"$\\]+)")""")


def package_scripts(text: str, beside: Collection[str]) -> tuple[str, list[Target]]:
    """Parse the package manager of a ``package.json`` and the scripts it names, at most 500.

    ``beside`` are the names of the files next to it: a lock file shows the manager, else the field
    ``packageManager``, else it is npm. ``pre...`` and ``post...`` of another script are left out,
    npm runs them with it. There are no scripts where the text is no such file.
    """
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return "npm", []
    if not isinstance(package, dict):
        return "npm", []
    scripts = package.get("scripts")
    if not isinstance(scripts, dict):
        scripts = {}
    found = [
        Target(name, _one_line(body))
        for name, body in scripts.items()
        if isinstance(body, str) and _callable(name) and not _is_hook(name, scripts)
    ]
    return _manager(package, beside), found[:MOST_TARGETS]


def _manager(package: dict[str, Any], beside: Collection[str]) -> str:
    for lockfile, manager in LOCKFILES.items():
        if lockfile in beside:
            return manager
    named = str(package.get("packageManager", "")).partition("@")[0]
    return named if named in LOCKFILES.values() else "npm"


def _callable(name: str) -> bool:
    """Return whether the name can be a word of a command line that is no option."""
    return 0 < len(name) <= 200 and not name.startswith("-") and name.isprintable()


def _is_hook(name: str, scripts: dict[str, Any]) -> bool:
    return any(name.startswith(word) and name[len(word) :] in scripts for word in ("pre", "post"))


def _one_line(text: str) -> str | None:
    return " ".join(text.split())[:_DESCRIPTION_CHARACTERS] or None


def just_recipes(text: str, read: Read) -> list[Target]:
    """Parse the recipes of a ``justfile`` that need no argument: in order, each once, at most 500.

    Private ones are left out, and those of modules. The comment above a recipe describes it.
    """
    found: dict[str, Target] = {}
    _just(text, read, found)
    return list(found.values())[:MOST_TARGETS]


def _just(text: str, read: Callable[[str], Any], found: dict[str, Target]) -> None:
    comment: str | None = None
    attributes = ""
    for line in text.split("\n"):
        if line.startswith("#"):
            comment, attributes = line.lstrip("#! ").strip(), ""
        elif line.startswith("["):
            attributes += line
        elif imported := _IMPORT.match(line):
            for more in read(imported[1] or imported[2]):
                _just(more, read, found)
        else:
            recipe = _RECIPE.match(line)
            if recipe and not _NO_RECIPE.match(line) and _needs_nothing(line[recipe.end() :]):
                name = recipe[1]
                if not name.startswith("_") and "private" not in attributes:
                    found.setdefault(name, Target(name, _one_line(comment or "")))
            comment, attributes = None, ""


def _needs_nothing(rest: str) -> bool:
    """Return whether only optional parameters and a colon follow a recipe's name."""
    quote = ""
    word = ""
    for at, character in enumerate(rest):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"`":
            quote = character
        elif character == ":":
            return not rest.startswith(":=", at) and _optional(word)
        elif character.isspace():
            if not _optional(word):
                return False
            word = ""
            continue
        word += character
    return False


def _optional(parameter: str) -> bool:
    return not parameter or parameter.startswith("*") or "=" in parameter
