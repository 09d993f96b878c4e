"""What pytest makes of the asserts of the tests, made once: each worker makes a part of it.

In a fresh clone every worker would else rewrite every file, all at the same time: ten seconds each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_share(config: pytest.Config) -> None:
    """Rewrite this worker's share of what is about to be collected, where it is not cached."""
    worker = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    state = config.stash[rewrite.assertstate_key]
    left_out = {config.invocation_params.dir / path for path in config.getoption("ignore") or ()}
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in _tests(config)[number::count]:
        folder = rewrite.get_cache_dir(path)
        cached = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        fresh = cached.exists() and cached.stat().st_mtime >= path.stat().st_mtime
        if fresh or not left_out.isdisjoint((path, *path.parents)):
            continue
        if rewrite.try_makedirs(folder):
            source_hash, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source_hash, cached)


def _tests(config: pytest.Config) -> list[Path]:
    """The files of tests below what was asked for."""
    asked = [config.invocation_params.dir / arg.partition("::")[0] for arg in config.args]
    return sorted({path for place in asked for path in place.rglob("test_*.py")})
