"""Files below the root are read and written, atomically, as they were meant to be."""

import hashlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from podiumd.tools.agent.workspace import Changed, Missing, Refused, Workspace
from tests.long import sampled
from tests.patience import HANG_SECONDS


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_bytes(b"old\n")
    return root


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


def test_a_file_is_read_with_its_digest_and_mode(root: Path, workspace: Workspace) -> None:
    (root / "a.txt").chmod(0o640)

    found = workspace.read("a.txt")

    assert (found.path, found.data, found.mode) == ("a.txt", b"old\n", 0o640)
    assert found.digest == digest(b"old\n") == workspace.digest("a.txt")


@pytest.mark.parametrize(
    "path",
    [
        "a..b.txt", "...", "..a", "a..", "-rf", "with space", " leading", "ünïcode", "日本語",
        "a\\b", "%2e%2e", "$(x)", "*", "?", ".gitignore", ".github/x.yml", "git", "a.git",
        "x/.gitkeep", ".envrc", "~tilde", "a:b", "👩‍💻.txt", "n" * 255, "./x/./y//z.txt",
    ],
)  # fmt: skip
def test_legal_names_are_written_and_read_back(workspace: Workspace, path: str) -> None:
    workspace.write(path, b"data", before=None)

    assert workspace.read(path).data == b"data"


def test_absolute_paths_inside_are_taken_and_dots_stay_inside(
    root: Path, workspace: Workspace
) -> None:
    (root / "sub").mkdir()

    assert workspace.read(f"{root}/a.txt").path == "a.txt"
    assert workspace.read("sub/../a.txt").path == "a.txt"
    assert workspace.read(f"{root}/sub/..//./a.txt").path == "a.txt"


def test_a_root_named_through_a_link_is_the_same_root(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    workspace = Workspace(tmp_path / "link")

    assert workspace.root == root
    assert workspace.read(f"{tmp_path}/link/a.txt").path == "a.txt"
    assert workspace.read(f"{root}/a.txt").path == "a.txt"


def test_links_that_stay_inside_are_followed_to_the_file_itself(
    root: Path, workspace: Workspace
) -> None:
    (root / "sub").mkdir()
    (root / "sub/b.txt").write_bytes(b"b")
    (root / "dir").symlink_to("sub")
    (root / "sub/up").symlink_to("../a.txt")
    (root / "absolute").symlink_to(root / "dir/b.txt")

    assert workspace.read("dir/b.txt").path == "sub/b.txt"
    assert workspace.read("dir/up").path == "a.txt"
    assert workspace.locate("absolute") == "sub/b.txt"
    workspace.write("absolute", b"new", before=digest(b"b"))
    assert (root / "absolute").is_symlink() and (root / "sub/b.txt").read_bytes() == b"new"


def test_a_link_to_a_name_that_is_no_text_is_refused(root: Path, workspace: Workspace) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_bytes(b"old\n")
    (root / "link").symlink_to(os.fsdecode(b"caf\xe9"))

    with pytest.raises(Refused, match="'link' leads to a name that is not valid Unicode"):
        workspace.read("link")


def test_a_link_to_nothing_inside_makes_the_file_it_names(root: Path, workspace: Workspace) -> None:
    (root / "link").symlink_to("new/file.txt")

    workspace.write("link", b"x", before=None)

    assert (root / "new/file.txt").read_bytes() == b"x"


def test_a_write_makes_directories_and_keeps_the_mode(root: Path, workspace: Workspace) -> None:
    (root / "a.txt").chmod(0o750)

    workspace.write("a.txt", b"new\n", before=digest(b"old\n"))
    workspace.write("x/y/z.txt", b"z", before=None)

    assert (root / "a.txt").read_bytes() == b"new\n"
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o750
    assert sorted(path.name for path in root.rglob("*")) == ["a.txt", "x", "y", "z.txt"]


def test_a_new_file_has_the_mode_that_the_user_wants(root: Path, workspace: Workspace) -> None:
    old = os.umask(0o027)
    try:
        workspace.write("n", b"", before=None)
    finally:
        os.umask(old)

    assert (root / "n").stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_another_by_now_or_protected_is_not_written(
    root: Path, workspace: Workspace
) -> None:
    for before in (None, digest(b"other")):
        with pytest.raises(Changed, match="was changed since it was read"):
            workspace.write("a.txt", b"new", before=before)
    (root / "a.txt").chmod(0o444)
    with pytest.raises(Refused, match=r"'a\.txt' is write-protected"):
        workspace.write("a.txt", b"new", before=digest(b"old\n"))
    assert (root / "a.txt").read_bytes() == b"old\n"
    (root / "a.txt").unlink()
    with pytest.raises(Changed):
        workspace.write("a.txt", b"new", before=digest(b"old\n"))
    assert list(root.iterdir()) == []


def test_other_names_of_a_file_keep_the_old_content(root: Path, workspace: Workspace) -> None:
    """A hard link may lead out of the tree: the file is replaced, never written into."""
    os.link(root / "a.txt", root.parent / "outside.txt")

    workspace.write("a.txt", b"new", before=digest(b"old\n"))

    assert (root.parent / "outside.txt").read_bytes() == b"old\n"


def test_what_is_no_plain_file_is_refused(root: Path, workspace: Workspace) -> None:
    os.mkfifo(root / "fifo")
    (root / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{root}/socket")
    # The one device that anybody may make, not only root.
    os.mknod(root / "device", 0o600 | 0o020000, os.makedev(0, 0))

    for name, kind in [
        ("fifo", "a named pipe"),
        ("folder", "a directory"),
        ("socket", "a socket"),
        ("device", "a device"),
    ]:
        for use in (workspace.read, lambda path: workspace.write(path, b"x", before=None)):
            with pytest.raises(Refused, match=kind):
                use(name)


def test_sizes_are_capped_in_both_directions(root: Path) -> None:
    workspace = Workspace(root, most_bytes=10)
    (root / "big").write_bytes(b"x" * 11)

    with pytest.raises(Refused, match="11 bytes"):
        workspace.read("big")
    with pytest.raises(Refused, match="11 bytes"):
        workspace.write("new", b"x" * 11, before=None)


def test_a_file_that_is_not_there_is_told_from_one_that_is_refused(workspace: Workspace) -> None:
    assert workspace.find("nope") is None and workspace.digest("no/pe") is None
    with pytest.raises(Missing, match="there is no file 'nope'"):
        workspace.read("nope")


def test_the_state_of_podium_is_closed_under_every_name(root: Path) -> None:
    state = root / "state"
    state.mkdir()
    (state / "facts.db").write_bytes(b"secret")
    (root / "link").symlink_to("state")
    os.link(state / "facts.db", root / "hard")
    workspace = Workspace(root, closed=[state, root / "later", root / "hard"])

    for path in ("state/facts.db", "link/facts.db", "state/new", "later/x", "later", "hard"):
        with pytest.raises(Refused, match="closed"):
            workspace.read(path)
        with pytest.raises(Refused, match="closed"):
            workspace.write(path, b"x", before=None)


def test_a_tree_within_the_state_is_open(tmp_path: Path) -> None:
    """The worktrees of runs live there."""
    tree = tmp_path / "state/worktrees/run"
    tree.mkdir(parents=True)
    workspace = Workspace(tree, closed=[tmp_path / "state"])

    workspace.write("a.txt", b"x", before=None)

    with pytest.raises(Refused):
        workspace.read("../../facts.db")


@pytest.mark.parametrize("name", ["missing", "state", "repo/.git"])
def test_some_directories_are_no_place_to_work_in(tmp_path: Path, name: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "repo/.git").mkdir(parents=True)

    with pytest.raises(Refused):
        Workspace(tmp_path / name, closed=[tmp_path / "state"])


def test_a_failing_disk_leaves_the_file_and_says_why(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(Refused, match="No space left on device"):
        workspace.write("a.txt", b"new", before=digest(b"old\n"))
    assert [(path.name, path.read_bytes()) for path in root.iterdir()] == [("a.txt", b"old\n")]


@pytest.mark.parametrize("links", [True, False])
def test_files_are_made_where_there_are_no_hard_links_too(
    root: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", not_permitted)
    workspace.write("new.txt", b"ours", before=None)
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "new.txt"]


def not_permitted(*_: object, **__: object) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize(("name", "before"), [("new.txt", None), ("a.txt", digest(b"old\n"))])
def test_what_somebody_writes_meanwhile_is_not_overwritten(
    root: Path,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    before: str | None,
    links: bool,
) -> None:
    real = os.fsync

    def somebody_writes(descriptor: int) -> None:
        (root / name).write_bytes(b"their longer text")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", somebody_writes)
    if not links:
        monkeypatch.setattr(os, "link", not_permitted)

    with pytest.raises(Changed, match="while it was written"):
        workspace.write(name, b"ours", before=before)
    assert (root / name).read_bytes() == b"their longer text"
    assert {path.name for path in root.iterdir()} == {"a.txt", name}


def test_after_a_crash_a_look_tells_what_became_of_a_write(
    root: Path, workspace: Workspace
) -> None:
    planned = digest(b"new")

    assert workspace.look("a.txt", before=digest(b"old\n"), planned=planned) == "before"
    workspace.write("a.txt", b"new", before=digest(b"old\n"))
    assert workspace.look("a.txt", before=digest(b"old\n"), planned=planned) == "planned"
    (root / "a.txt").write_bytes(b"else")
    assert workspace.look("a.txt", before=digest(b"old\n"), planned=planned) == "neither"
    assert workspace.look("x/y", before=None, planned=planned) == "before"


# -- whenever a write is killed, the file is the old one or the new one, and nothing else is le


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["file.txt", "new/file.txt"]))
def test_a_write_that_is_killed_at_any_file_call_leaves_no_torn_file(
    tmp_path: Path, name: str
) -> None:
    done = subprocess.run(
        [sys.executable, f"{ROOT}/tests/tools/killed_write.py", f"{tmp_path}", name],
        env={**os.environ, "PYTHONPATH": f"{ROOT}/daemon"},
        capture_output=True,
        check=True,
        timeout=HANG_SECONDS,
    )
    rows = json.loads(done.stdout)

    assert len(rows) > 40 and not rows[-1]["killed"]
    files = [row["file"] for row in rows]
    turn = files.index("new")
    # First always the old one, from one moment on always the new one.
    assert set(files[:turn]) == {"old"} and set(files[turn:]) == {"new"}
    assert all(row["look"] == {"old": "before", "new": "planned"}[row["file"]] for row in rows)
    assert [row["rest"] for row in rows if row["rest"]] == []
