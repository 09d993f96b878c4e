"""A test whose program is absent is reported as not run, and fails where all must be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long import sampled

# What the tests in here need no plugin for takes a second of each process to import.
LEAN = ("-p", "no:hypothesispytest", "-p", "no:pytest_cov")
ROOT = Path(__file__).resolve().parents[1]

pytest_plugins = ["pytester"]

CONFTEST = """
from tests import needs, programs

def pytest_configure(config):
    programs.PROGRAMS["no-such-program"] = programs.Program("its-package")
    programs.PROGRAMS["sh"] = programs.Program("dash")
    programs.PROGRAMS["false"] = programs.Program("coreutils", ("--probe",))
    config.addinivalue_line("markers", "needs(program, ...)")
    config.pluginmanager.register(needs, "needs")
"""
TESTS = """
import pytest
import trio
from tests.needs import need

@pytest.fixture
def speaker():
    need("no-such-program")

@pytest.mark.needs("sh")
def test_with_what_is_here(): pass

@pytest.mark.needs("sh", "no-such-program")
@pytest.mark.parametrize("number", [1, 2])
def test_without(number): raise AssertionError

def test_with_a_fixture_that_needs_it(speaker): raise AssertionError

@pytest.mark.trio
async def test_that_asks_for_it_among_tasks():
    async with trio.open_nursery():
        need("no-such-program")

@pytest.mark.needs("false")
def test_what_is_here_but_may_not(): raise AssertionError

@pytest.mark.skip("for another reason")
def test_left_out_anyway(): pass
"""
LINE = (
    "Not run, because a program is absent or not allowed:"
    " 1 for false (package coreutils), 4 for no-such-program (package its-package)."
)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    return pytester


@pytest.mark.parametrize("workers", sampled([0, 1, 2]))
def test_what_was_not_run_is_told_once_with_program_package_and_number(
    suite: pytest.Pytester, workers: int
) -> None:
    done = suite.runpytest_subprocess(*LEAN, "-n", str(workers))

    done.assert_outcomes(passed=1, skipped=6)
    assert [line for line in done.outlines if line.startswith("Not run")] == [LINE]


def test_where_all_is_required_what_is_absent_fails(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUIRE_ALL", "1")
    done = suite.runpytest_subprocess(*LEAN, "-n", "0")

    done.assert_outcomes(passed=1, skipped=1, errors=4, failed=1)
    assert "needs no-such-program (package its-package)" in done.stdout.str()
    assert "Not run" not in done.stdout.str()
