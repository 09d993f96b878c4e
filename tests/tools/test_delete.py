"""A directory is deleted with all that is in it, or as far as it was let."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.tools.files.delete import delete_tree
from tests.tools.deep_tree import deep_tree


def always() -> None:
    pass


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    for number in range(3):
        (top / f"{number}" / "deep").mkdir(parents=True)
        (top / f"{number}" / "deep" / "file").write_text("x")
    return top


def test_what_may_not_be_written_goes_and_what_a_link_names_stays(
    tree: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "mine").write_text("mine")
    (tree / "0" / "link").symlink_to(outside)
    (tree / "1" / "broken").symlink_to("nowhere")
    (tree / "0" / "deep" / "file").chmod(0)
    (tree / "0" / "deep").chmod(0)
    tree.chmod(0o500)

    delete_tree(f"{tree}", always)

    assert not tree.exists()
    assert (outside / "mine").read_text() == "mine"
    assert outside.stat().st_mode & 0o777 == 0o755


def test_it_ends_between_two_steps_and_goes_on_when_begun_again(tree: Path) -> None:
    steps: list[None] = []

    def four() -> None:
        steps.append(None)
        if len(steps) > 6:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        delete_tree(f"{tree}", four)
    assert tree.exists() and len(steps) == 7
    left = len(list(tree.rglob("*")))
    assert left < 9
    delete_tree(f"{tree}", always)
    assert not tree.exists()


def test_what_is_not_there_or_is_a_link_itself(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree)
    delete_tree(f"{link}", always)
    delete_tree(f"{link}", always)
    assert tree.exists() and not link.is_symlink()


def test_the_depth_of_a_tree_is_no_matter(tmp_path: Path) -> None:
    """Deeper than a stack goes, and than files can be open."""
    with deep_tree(tmp_path / "tree", 1100) as tree:
        (tree / ".0").mkdir()
        (tree / ".1").write_text("a name that is taken")

        delete_tree(f"{tree}", always)

        assert not tree.exists()
