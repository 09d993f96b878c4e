"""Tests that need a program of the system: where it is absent they are reported as not run.

``@pytest.mark.needs("bwrap")`` on a test, or ``need("bwrap")`` in a fixture or a helper; the
programs are those of ``tests.programs``. One closing line names program, package and number of
tests. With ``REQUIRE_ALL=1``, as in CI, such a test fails.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Generator

import pytest

from tests.programs import PROGRAMS, works

_REASON = re.compile(r"needs (\S+ \(package \S+\))$")


def need(*names: str) -> None:
    """Leave the test out where a program is absent or does not work; fail it with REQUIRE_ALL."""
    for name in names:
        if not works(name):
            reason = f"needs {name} (package {PROGRAMS[name].package})"
            if os.environ.get("REQUIRE_ALL") == "1":
                pytest.fail(f"{reason}, and REQUIRE_ALL=1 says that all is here", pytrace=False)
            pytest.skip(reason)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look for what the marks of a test name, before any of its fixtures is made."""
    for mark in item.iter_markers("needs"):
        need(*mark.args)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give its reason back to a test that was left out in mid-run: pytest-trio drops it."""
    report = yield
    group = call.excinfo.value.__context__ if call.excinfo and report.skipped else None
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    if group is not None and isinstance(report.longrepr, tuple):
        report.longrepr = (*report.longrepr[:2], f"Skipped: {group}")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once, whoever ran the tests, what is missing and how many were not run for it."""
    missing: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        told = _REASON.search(str(report.longrepr[2])) if report.longrepr else None
        if told:
            missing[told[1]] += 1
    if missing:
        listed = ", ".join(f"{count} for {what}" for what, count in sorted(missing.items()))
        terminalreporter.write_line(
            f"Not run, because a program is absent or not allowed: {listed}."
        )
