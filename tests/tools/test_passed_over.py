"""What git passes over in a tree is remembered, as its directories where it is too much."""

import pytest

from podiumd.tools.git.passed_over import bounded, covers


@pytest.mark.parametrize("path", ["a.log", "kept/x", "kept/deep/x", "deep/kept/x"])
def test_a_path_is_covered_by_its_name_and_by_each_directory_above(path: str) -> None:
    assert covers(["a.log", "kept/", "deep/kept/"], path)
    assert covers(["/"], path)


@pytest.mark.parametrize("path", ["b.log", "sub/a.log", "kept", "deep/x", "keptx/y"])
def test_another_is_not(path: str) -> None:
    assert not covers(["a.log", "kept/", "deep/kept/"], path)
    assert not covers([], path)


def test_more_than_are_remembered_are_told_by_directories_that_cover_them_all() -> None:
    there = ["a/b/1.log", "a/b/2.log", "a/c/", "d/e/3.log", "4.log"]

    assert bounded(there) == sorted(there)
    assert bounded(there, 4) == ["4.log", "a/b/", "a/c/", "d/e/"]
    assert bounded(there, 3) == ["4.log", "a/", "d/"]
    assert bounded(there, 2) == ["/"]
    assert bounded([], 2) == []
