"""Every test module is somebody's share, and nobody makes ready what is left out."""

from __future__ import annotations

import pytest

from tests.house.source import ROOT
from tests.shares import collected, share


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_shares_of_all_workers_are_all_modules_once(workers: int) -> None:
    modules = collected(["tests"], [])
    shares = [share(modules, number, workers) for number in range(workers)]

    assert sorted(path for one in shares for path in one) == modules
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_what_pytest_ignores_is_nobodys_share() -> None:
    modules = collected(["tests/house", "tests/core"], ["tests/core"])

    assert ROOT / "tests/house/test_shares.py" in modules
    assert {path.parent for path in modules} == {ROOT / "tests/house"}
