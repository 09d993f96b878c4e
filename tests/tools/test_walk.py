"""A tree is walked from its top, however deep it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podiumd.tools.files.walk import upwards, walk
from tests.tools.deep_tree import deep_tree


@pytest.mark.parametrize("path", ["/", "/a", "/a/b/", "/a//b", "a/b", "a", "/a/../b"])
def test_upwards_are_the_parents_that_a_path_has(path: str) -> None:
    above = [f"{one}" for one in (Path(path), *Path(path).parents)]
    assert [f"{Path(one)}" for one in upwards(path)] == above


def test_it_finds_what_the_standard_library_finds(tmp_path: Path) -> None:
    for name in ("b/c", "b/a", "e", "d/x/y"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("x")
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "broken").symlink_to("nowhere")
    expected = {one: (set(below), set(names)) for one, below, names in os.walk(tmp_path)}
    # The library counts a link to a directory among the directories, and does not enter it.
    expected[f"{tmp_path}"][0].discard("link")
    expected[f"{tmp_path}"][1].add("link")
    found = list(walk(tmp_path))
    assert {one: (set(below), set(names)) for one, below, names in found} == expected
    assert len(found) == len(expected)


def test_what_is_taken_out_is_not_entered_and_what_is_closed_passed_over(tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "in").mkdir()
    seen = []
    for directory, below, _ in walk(tmp_path):
        seen.append(directory)
        below[:] = [name for name in below if name != "out"]
    assert seen == [f"{tmp_path}", f"{tmp_path}/in"]
    assert list(walk(tmp_path / "nowhere")) == []


@pytest.mark.slow
def test_the_depth_of_a_tree_is_no_matter(tmp_path: Path) -> None:
    with deep_tree(tmp_path / "tree", 1100) as tree:
        assert len(list(walk(tree))) == 1101
