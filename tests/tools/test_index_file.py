"""What an index says of trees is believed where it is true, and nothing in its file is."""

from __future__ import annotations

import hashlib
import struct
import tracemalloc
from pathlib import Path

import pytest

from podiumd.tools.git import honest_index, index_file
from podiumd.tools.git import queries as git
from podiumd.tools.git.index_file import SHA1_BYTES, SHA256_BYTES, trees_hold, unfit, without_trees
from tests.tools.forged_index import trees_in
from tests.tools.git_repository import commit, make_repository, run_git

NAMES = ("a", "a-b/c", "a.b", "b/c/d", "b/c/e", "b/f", "c/" + "x" * 4094)


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


def entry(path: bytes, *, length: int | None = None, prefix: bytes | None = None) -> bytes:
    """A file as an index holds it; with ``prefix`` (how much falls away) as one of version 4."""
    said = min(len(path), 0xFFF) if length is None else length
    fixed = struct.pack(">10I", *[0] * 6, 0o100644, 0, 0, 0) + b"\x11" * 20
    whole = fixed + struct.pack(">H", said)
    if prefix is not None:
        return whole + prefix + path + b"\0"
    return whole + path + b"\0" * (8 - (len(whole) + len(path)) % 8)


def index(entries: list[bytes], trees: bytes = b"\0-1 0\n", version: int = 2) -> bytes:
    """An index of these files, that tells of trees."""
    said = b"TREE" + len(trees).to_bytes(4, "big") + trees if trees else b""
    data = b"DIRC" + struct.pack(">II", version, len(entries)) + b"".join(entries) + said
    return data + hashlib.sha1(data).digest()


NESTED = b"\0-1 1\n" + b"a\x00-1 1\n" * 30_000 + b"a\x00-1 0\n"
BOMB = index(
    [
        entry(b"0" * 4000, prefix=b"\0"),
        *(entry(b"%06d" % n, length=4000, prefix=b"\6") for n in range(1, 2000)),
    ],
    version=4,
)


@pytest.mark.parametrize(
    "data",
    [
        index([entry(b"a/" * 30_000 + b"a")]),
        index([entry(b"a")], NESTED),
        index([entry(b"a")], b"\0-1 9\n" + b"".join(b"%d\0-1 0\n" % n for n in range(9))[:-3]),
        index([entry(b"a")])[:-20] + b"ABCD\0\0\0\0" * 50_000 + bytes(20),
        index([entry(b"a", prefix=b"\xff" * 60_000)], version=4),
    ],
    ids=["deep", "told-deep", "told-cut", "extensions", "prefix"],
)
def test_a_small_index_takes_little_memory_and_is_not_told(data: bytes) -> None:
    tracemalloc.start()
    try:
        assert not trees_hold(data, SHA1_BYTES)
        assert tracemalloc.get_traced_memory()[1] < 40 * len(data) + 4_000_000
    finally:
        tracemalloc.stop()


def test_many_deep_directories_are_held_one_path_at_a_time() -> None:
    files = [entry(b"%03d/" % n + b"a/" * 500 + b"a") for n in range(40)]
    data = index(files)
    tracemalloc.start()
    try:
        assert trees_hold(data, SHA1_BYTES)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "files",
    [
        [entry(b"b"), entry(b"a")],
        [entry(b"a"), entry(b"a")],
        [entry(b"a\0b")],
        [entry(b"a"), entry(b"")],
        [entry(b"abc", length=0xFFF)],
    ],
    ids=["order", "twice", "nul", "empty", "length"],
)
def test_what_git_never_writes_is_not_believed(files: list[bytes]) -> None:
    data = index(files)
    assert not trees_hold(data, SHA1_BYTES)
    with pytest.raises(ValueError):  # noqa: PT011 - whichever it is
        without_trees(data, SHA1_BYTES)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([entry(b"a\0bc", length=1, prefix=b"\0")], ""),
        ([entry(b"a", length=4, prefix=b"\0"), entry(b"b", prefix=b"\1")], "another length"),
        ([entry(b"a", length=0xFFF, prefix=b"\0")], "another length"),
        ([entry(b"a", prefix=b"\1")], "goes on from more"),
        ([entry(b"a" * 5000, prefix=b"\0")], "more than 4096"),
        ([entry(b"b", prefix=b"\0"), entry(b"a", prefix=b"\1")], "order"),
    ],
    ids=["after", "length", "most", "before", "long", "order"],
)
def test_no_git_reads_an_index_of_version_4_that_none_has_written(
    files: list[bytes], why: str
) -> None:
    data = index(files, version=4)
    assert why in unfit(data, SHA1_BYTES)
    assert not trees_hold(data, SHA1_BYTES)
    assert unfit(data[:20], SHA1_BYTES) and not unfit(b"", SHA1_BYTES)


def test_names_that_are_too_much_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    good = index([entry(b"a", prefix=b"\0"), entry(b"b", prefix=b"\1")], version=4)
    assert unfit(good, SHA1_BYTES) == "" and trees_hold(good, SHA1_BYTES)
    assert unfit(BOMB, SHA1_BYTES) == ""
    monkeypatch.setattr(index_file, "MOST_NAMES", 1_000_000)
    assert "more than 1000000 bytes together" in unfit(BOMB, SHA1_BYTES)
    monkeypatch.setattr(index_file, "MOST_TREES", 3)
    assert not trees_hold(index([entry(b"a")], b"\0-1 1\n" + b"a\0-1 1\n" * 3), SHA1_BYTES)


@pytest.mark.parametrize("split", [False, True])
async def test_no_git_is_given_an_index_that_none_has_written(repo: Path, split: bool) -> None:
    own = repo / ".git/index"
    bomb = index([entry(b"a" * 1_000_000, prefix=b"\0")], version=4)
    if split:
        run_git(repo, "update-index", "--split-index")
        [own] = (repo / ".git").glob("sharedindex.*")
    own.write_bytes(bomb)
    with pytest.raises(git.GitError, match="cannot be read: it has a name of more than 4096"):
        await git.dirty(repo)


async def test_a_staged_change_is_not_hidden_behind_a_name_with_a_nul(repo: Path) -> None:
    """Git goes by the length that is said of a name, whatever bytes are in it."""
    hidden = entry(b"x", prefix=b"\3")
    inner = b"a\0" + hidden
    data = index([entry(inner, length=len(inner), prefix=b"\0")], version=4)
    assert run_git(repo, "ls-files", "--stage")
    assert not trees_hold(data, SHA1_BYTES) and "another length" in unfit(data, SHA1_BYTES)
    (repo / ".git/index").write_bytes(data)
    with pytest.raises(git.GitError, match="another length"):
        await git.dirty(repo)


def test_a_file_without_a_name_is_read_but_never_in_a_tree() -> None:
    data = index([entry(b""), entry(b""), entry(b"a")])
    assert not trees_hold(data, SHA1_BYTES) and b"TREE" not in without_trees(data, SHA1_BYTES)


def test_what_has_no_room_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(data: bytes, oid_bytes: int) -> None:
        raise MemoryError

    monkeypatch.setattr(index_file, "_read", full)
    assert not trees_hold(index([entry(b"a")]), SHA1_BYTES)
