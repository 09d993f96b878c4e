"""Repositories within a tree are found, in bounds."""

import os
from pathlib import Path

from podiumd.tools.git.nested_repositories import Repositories, RepositoryLook


def test_they_are_found_in_heaps_hidden_and_deep_ones_too_and_the_root_s_own_is_not(
    tmp_path: Path,
) -> None:
    deep = "/".join("abcdefghij")
    for name in (".", "one", f"far/{deep}", "node_modules/x", "vendor/lib", ".hidden/y"):
        (tmp_path / name / ".git/objects").mkdir(parents=True)
    (tmp_path / "module").mkdir()
    (tmp_path / "module/.git").write_text("gitdir: ../.git/modules/module\n")
    (tmp_path / "led").symlink_to("one")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").symlink_to("../one/.git")

    found = RepositoryLook(tmp_path).look()

    names = [path.relative_to(tmp_path).as_posix() for path in found.gits]
    assert set(names) == {
        *("module/.git", "linked/.git", "one/.git", "node_modules/x/.git", "vendor/lib/.git"),
        *(".hidden/y/.git", f"far/{deep}/.git"),
    }
    assert names[-1] == f"far/{deep}/.git"  # the nearer ones first
    assert found.whole and found.laid_out == ()


def test_a_directory_that_is_laid_out_as_one_is_found(tmp_path: Path) -> None:
    for name in ("bare/objects", "bare/refs", "led", "half/objects"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("bare/HEAD", "led/HEAD", "led/commondir", "half/HEAD"):
        (tmp_path / name).touch()

    found = RepositoryLook(tmp_path).look()

    assert set(found.laid_out) == {tmp_path / "bare", tmp_path / "led"}


def test_what_git_would_wait_at_is_found(tmp_path: Path) -> None:
    """And a file, a directory or a link to one is none of it, until it leads to another."""
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "sub/.gitattributes")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".gitmodules").symlink_to("pipe")
    (tmp_path / ".gitignore").symlink_to("sub/later")
    (tmp_path / ".mailmap").write_text("x\n")
    (tmp_path / ".gitattributes").symlink_to("nowhere")
    look = RepositoryLook(tmp_path)

    assert look.look().waiting == (tmp_path / ".gitmodules", tmp_path / "sub/.gitattributes")
    os.mkfifo(tmp_path / "sub/later")
    assert tmp_path / ".gitignore" in look.look().waiting


def test_a_second_look_sees_what_is_new_and_what_is_gone(tmp_path: Path) -> None:
    for name in ("one", "old/deep"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    look = RepositoryLook(tmp_path)
    look.look()
    (tmp_path / "one/.git").rmdir()
    (tmp_path / "plain/.git").mkdir()

    assert set(look.look().gits) == {tmp_path / "old/deep/.git", tmp_path / "plain/.git"}


def test_there_is_a_bound_that_is_told_and_a_missing_tree_holds_none(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}/below").mkdir(parents=True)
    (tmp_path / "4/below/.git").mkdir()

    assert RepositoryLook(tmp_path, most=11).look().whole
    assert RepositoryLook(tmp_path, most=8).look() == Repositories(whole=False)
    assert RepositoryLook(tmp_path / "gone").look() == Repositories()
