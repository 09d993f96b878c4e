"""The project's own files, as the tests of this folder read them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("daemon", "client", "tests", "benchmarks")
# With these fixtures trio's clock is virtual: a sleep costs nothing and is deterministic.
VIRTUAL_CLOCKS = {"autojump_clock", "mock_clock"}
TEXT = (*CODE, "recipes", "systemd", "launchd", ".ci", "docs")


def name_of(path: Path) -> str:
    """The path as a person of this project writes it."""
    return path.relative_to(ROOT).as_posix()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink() or path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def texts() -> list[Path]:
    """Every file a person wrote; recorded fixtures are not ours to word."""
    top = [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.name[0] != "."]
    return top + [
        path
        for folder in TEXT
        for path in _files(ROOT / folder)
        if not name_of(path).startswith("tests/fixtures/")
    ]


def modules(*folders: str) -> list[Path]:
    """The Python modules below the folders; of all code without any."""
    return [
        path
        for folder in folders or CODE
        for path in _files(ROOT / folder)
        if path.suffix == ".py" and not name_of(path).startswith("tests/fixtures/")
    ]


@cache
def text(path: Path) -> str:
    """What stands in it, read once a process."""
    return path.read_text(encoding="utf-8")


def naming(words: Iterable[str], *folders: str) -> list[Path]:
    """Those of the modules whose text has one of the words: no other need be parsed."""
    return [path for path in modules(*folders) if any(word in text(path) for word in words)]


def tree(path: Path) -> ast.Module:
    """The module's syntax tree; to parse them all takes many seconds, so choose by text first."""
    return ast.parse(text(path), filename=str(path))
