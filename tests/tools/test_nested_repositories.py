"""Repositories within a tree are found, in bounds."""

from pathlib import Path

from podiumd.tools.nested_repositories import DEEPEST, MOST, nested_repositories


def test_those_in_reach_are_found_and_heaps_links_and_the_root_s_own_are_not(
    tmp_path: Path,
) -> None:
    deep = "/".join("abcd")
    for name in (".", "one", f"two/{deep[:3]}", f"far/{deep}", "node_modules/x", ".hidden/y"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "module").mkdir()
    (tmp_path / "module/.git").write_text("gitdir: ../.git/modules/module\n")
    (tmp_path / "led").symlink_to("one")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").symlink_to("../one/.git")

    found = [path.relative_to(tmp_path).as_posix() for path in nested_repositories(tmp_path)]

    assert sorted(found) == ["module/.git", "one/.git", "two/a/b/.git"]
    assert len(Path(f"far/{deep}").parts) > DEEPEST


def test_there_is_a_bound_and_a_missing_tree_holds_none(tmp_path: Path) -> None:
    for number in range(MOST + 3):
        (tmp_path / f"{number}/.git").mkdir(parents=True)

    assert len(nested_repositories(tmp_path)) == MOST
    assert nested_repositories(tmp_path / "gone") == []
