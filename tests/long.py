"""What ``make test`` leaves to ``make test-long``: tests whose promise a quicker one shows as well.

``@pytest.mark.long("test_b")`` on a test, or on one case of a table, names that other test, in the
same file or as ``tests/x/test_y.py::test_b``; it must be there and not be long itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def sampled(cases: Iterable[Any], keep: int = 1) -> list[Any]:
    """The cases of a table of which ``make test`` plays the first ``keep`` alone."""
    listed = list(cases)
    return listed[:keep] + [_long(case) for case in listed[keep:]]


def spread(cases: Iterable[Any], keep: int) -> list[Any]:
    """As ``sampled``, of a long table: those that ``make test`` plays come from all parts of it."""
    listed = list(cases)
    kept = {number * len(listed) // keep for number in range(keep)}
    return [case if at in kept else _long(case) for at, case in enumerate(listed)]


def _long(case: Any) -> ParameterSet:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.long])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
