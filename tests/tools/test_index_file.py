"""What an index says of trees is believed where it is true, and nothing in its file is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from podiumd.tools import git, honest_index, index_file
from podiumd.tools.index_file import SHA1_BYTES, SHA256_BYTES, trees_hold, without_trees
from tests.tools.forged_index import trees_in
from tests.tools.git_repository import commit, make_repository, run_git

NAMES = ("a", "a-b/c", "a.b", "b/c/d", "b/c/e", "b/f", "c/" + "long" * 1100)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = make_repository(tmp_path / "repo")
    staged = [word for name in NAMES for word in ("--cacheinfo", f"100644,{'b' * 40},{name}")]
    run_git(repo, "update-index", "--add", *staged)
    run_git(repo, "write-tree", "--missing-ok")
    return repo


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_has_written_holds_in_every_version(repo: Path, version: str) -> None:
    run_git(repo, "update-index", "--index-version", version)
    data = (repo / ".git/index").read_bytes()
    assert b"TREE" in data and trees_hold(data, SHA1_BYTES)
    (repo / ".git/index").write_bytes(without_trees(data, SHA1_BYTES))
    assert run_git(repo, "ls-files").splitlines() == sorted(NAMES)
    assert run_git(repo, "write-tree", "--missing-ok")


def test_another_id_or_another_number_of_files_does_not_hold(repo: Path) -> None:
    data = (repo / ".git/index").read_bytes()
    said = trees_in(repo / ".git/index")
    assert b"b\x003 1\n" in said
    for other in (
        said.replace(b"b\x003 1\n", b"b\x002 1\n"),
        said.replace(b"b\x003 1\n", b"b\x003 0\n"),
        said.replace(b"b\x003 1\n", b"b\x00+3 1\n"),
        said.replace(b"b\x003 1\n", b"x\x003 1\n"),
        said[:-1] + bytes([said[-1] ^ 1]),
        said + said,
    ):
        assert not trees_hold(data.replace(said, other), SHA1_BYTES)


def test_a_file_that_is_cut_or_lies_is_told(repo: Path) -> None:
    data = (repo / ".git/index").read_bytes()
    for end in range(len(data)):
        assert not trees_hold(data[:end], SHA1_BYTES) or b"TREE" not in data[: max(0, end - 20)]
    for wrong in (b"", b"DIRC\0\0\0\5" + data[8:], data[:100], data[:8] + b"\xff" * 4 + data[12:]):
        assert not trees_hold(wrong, SHA1_BYTES) or b"TREE" not in wrong
        with pytest.raises(ValueError):  # noqa: PT011 - whichever it is
            without_trees(wrong, SHA1_BYTES)


def test_an_index_that_tells_of_no_trees_is_not_read(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = without_trees((repo / ".git/index").read_bytes(), SHA1_BYTES)
    monkeypatch.setattr(index_file, "_read", None)
    assert trees_hold(data, SHA1_BYTES)


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """A repository whose index has whole directories in place of their files."""
    repo = make_repository(tmp_path / "sparse")
    for name in ("in/a", "out/b/c", "out/d", "out-er/e", "in/out/f", "z"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(f"{name}\n")
    commit(repo, "first")
    run_git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    run_git(repo, "sparse-checkout", "reapply", "--sparse-index")
    run_git(repo, "read-tree", "HEAD")
    run_git(repo, "sparse-checkout", "reapply", "--sparse-index")
    return repo


def test_a_sparse_index_holds_and_a_directory_of_it_that_is_told_wrongly_does_not(
    sparse: Path,
) -> None:
    data = (sparse / ".git/index").read_bytes()
    assert b"out/\0" in data and b"TREE" in data
    assert trees_hold(data, SHA1_BYTES)
    oid = bytes.fromhex(run_git(sparse, "rev-parse", "HEAD:out"))
    staged, said = data.index(oid), data.rindex(oid)
    assert staged < said
    for place in (staged, said):
        other = data[:place] + bytes(20) + data[place + 20 :]
        assert not trees_hold(other, SHA1_BYTES)


async def test_a_sparse_index_is_not_copied(sparse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(honest_index, "without_trees", None)
    assert await git.dirty(sparse) == []
    (sparse / "in/a").write_text("changed\n")
    (sparse / "out").mkdir()
    (sparse / "out/d").write_text("there all the same\n")
    assert await git.dirty(sparse) == ["in/a", "out/d"]


async def test_a_repository_with_long_ids_is_read_too(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    run_git(repo, "init", "--quiet", "--object-format=sha256")
    (repo / "deep").mkdir()
    (repo / "deep/a").write_text("a\n")
    commit(repo, "first")
    run_git(repo, "read-tree", "HEAD")
    said = trees_in(repo / ".git/index")
    assert trees_hold((repo / ".git/index").read_bytes(), SHA256_BYTES)
    (repo / "deep/a").write_text("staged\n")
    run_git(repo, "add", "deep/a")
    now = trees_in(repo / ".git/index")
    data = (repo / ".git/index").read_bytes()[:-SHA256_BYTES].replace(now, said)
    (repo / ".git/index").write_bytes(data + hashlib.sha256(data).digest())
    assert run_git(repo, "--no-optional-locks", "status", "--porcelain") == ""
    assert await git.dirty(repo) == ["deep/a"]
