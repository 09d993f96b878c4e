"""Test modules are made ready once, and not once a worker.

pytest writes what it has made of a test module for the next process to read. All workers of
pytest-xdist collect in the same order, though, so that the first time, as in a fresh clone, each of
them makes all anew beside the others. Here each first imports a share that is its alone.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def import_one_share(config: pytest.Config) -> None:
    """Import this worker's share of the test modules; what fails is told by the collection."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not number:
        return
    modules = collected(config.args, config.getoption("ignore") or ())
    for path in share(modules, int(number), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])):
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def collected(folders: Iterable[str], ignored: Iterable[str]) -> list[Path]:
    """The test modules of the folders that pytest was told to look through."""
    left_out = [ROOT / name for name in ignored]
    return sorted(
        path
        for folder in folders
        for path in (ROOT / folder).rglob("test_*.py")
        if not any(path.is_relative_to(one) for one in left_out)
    )


def share(modules: Sequence[Path], number: int, workers: int) -> Sequence[Path]:
    """The modules that the worker of this number makes ready."""
    return modules[number::workers]
