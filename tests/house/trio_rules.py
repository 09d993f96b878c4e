"""The rules of flake8-async that ruff lacks, with the settings in .flake8 and a sixth of its time.

`python -m tests.house.trio_rules FOLDER...` says what flake8 says of these rules. Flake8's time
goes to the three of them that walk a concrete syntax tree, six walks a file, and to checkers that
are not asked for. Here those three read only a file that holds what they are about, the others
read its plain tree, and a file that was found clean is not read again until it, the settings or
the rules change. No comment exempts a line.
"""

import ast
import dataclasses
import gc
import hashlib
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path

import libcst
from flake8.formatting.default import Nothing
from flake8.options.parse_args import parse_args
from flake8.style_guide import Decision, StyleGuideManager
from flake8_async import Plugin
from flake8_async.base import Error, Options
from flake8_async.runner import Flake8AsyncRunner, Flake8AsyncRunner_cst
from flake8_async.visitors import ERROR_CLASSES_CST

from tests.house.source import ROOT, modules, name_of

SETTINGS = ROOT / ".flake8"
CLEAN = ROOT / ".cache" / "trio-rules"


def _within(node: ast.AST, *kinds: type[ast.AST]) -> list[ast.AST]:
    return [inner for inner in ast.walk(node) if isinstance(inner, kinds)]


def _yields_within_with(source: str, tree: ast.Module) -> bool:
    return "yield" in source and any(
        _within(node, ast.Yield) for node in _within(tree, ast.With, ast.AsyncWith)
    )


def _loops_for_ever(source: str, tree: ast.Module) -> bool:
    return "while" in source and any(
        isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant)
        for function in _within(tree, ast.AsyncFunctionDef)
        for loop in _within(function, ast.While)
    )


# A rule on the concrete tree -> what a file must hold for the rule to find anything in it.
SLOW: dict[str, Callable[[str, ast.Module], bool]] = {
    "ASYNC101": _yields_within_with,
    "ASYNC300": lambda source, _: "asyncio" in source,
    "ASYNC913": _loops_for_ever,
}
CONCRETE = {code for checker in ERROR_CLASSES_CST for code in checker.error_codes}


@cache
def _settings(file: Path) -> tuple[Options, StyleGuideManager]:
    _, flake8 = parse_args(["--config", str(file)])
    options = dataclasses.replace(Plugin.__new__(Plugin).options, disable_noqa=True)
    return options, StyleGuideManager(flake8, Nothing(flake8))


def check(path: Path, settings: Path = SETTINGS) -> list[Error]:
    """What the rules find in a file, by line."""
    options, guides = _settings(settings)
    judge = guides.style_guide_for(str(path)).should_report_error
    codes = {code for code in options.enabled_codes if judge(code) is Decision.Selected}
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, filename=str(path))
    slow = {code for code in codes & CONCRETE if code not in SLOW or SLOW[code](source, tree)}
    plain = dataclasses.replace(options, enabled_codes=codes - CONCRETE)
    found = list(Flake8AsyncRunner.run(tree, plain))
    if slow:
        concrete = dataclasses.replace(options, enabled_codes=slow)
        found += Flake8AsyncRunner_cst(concrete, libcst.parse_module(source)).run()
    return sorted(found)


def _fingerprint(path: Path, rules: bytes) -> str:
    return hashlib.sha256(rules + name_of(path).encode() + b"\0" + path.read_bytes()).hexdigest()


def _report(path: Path) -> list[str]:
    return [f"{name_of(path)}:{error}" for error in check(path)]


def main(folders: list[str]) -> int:
    """Print what is found below the folders; 1 when there is something."""
    own = Path(__file__).read_bytes()
    rules = SETTINGS.read_bytes() + version("flake8-async").encode() + own
    marks = {path: _fingerprint(path, rules) for path in modules(*folders)}
    known = set(CLEAN.read_text().split()) if CLEAN.exists() else set()
    fresh = [path for path, mark in marks.items() if mark not in known]
    with ProcessPoolExecutor(initializer=gc.disable) as pool:
        reports = dict(zip(fresh, pool.map(_report, fresh, chunksize=16), strict=True))
    for line in (line for lines in reports.values() for line in lines):
        print(line)
    clean = sorted(mark for path, mark in marks.items() if not reports.get(path))
    CLEAN.parent.mkdir(exist_ok=True)
    beside = CLEAN.with_name(f"{CLEAN.name}.{os.getpid()}")
    beside.write_text("\n".join(clean))
    beside.replace(CLEAN)
    found = sum(map(len, reports.values()))
    print(f"{len(fresh)} of {len(marks)} files read, {found} findings of flake8-async.")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
