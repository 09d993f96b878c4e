"""No file of an agent completes a repository, at any level, or lies in one."""

from __future__ import annotations

import subprocess
from itertools import permutations
from pathlib import Path

import pytest

from podiumd.tools.agent import edit
from podiumd.tools.agent.workspace import Refused, Workspace

HEAD = "ref: refs/heads/main\n"
WAYS = (
    ("HEAD", "objects/x", "refs/x"),
    ("HEAD", "commondir"),
    ("deep/er/HEAD", "deep/er/objects/x", "deep/er/refs/heads/x"),
    ("deep/head", "deep/Objects/x", "deep/refs/x"),
)


@pytest.mark.parametrize("ways", [order for way in WAYS for order in permutations(way)])
def test_the_file_that_would_complete_one_is_refused(tmp_path: Path, ways: tuple[str, ...]) -> None:
    workspace = Workspace(tmp_path)
    *first, last = ways
    # Where case counts, only the last name is looked at so: it may not count elsewhere.
    for name in first:
        exact = name.replace("head", "HEAD") if name.endswith("head") else name
        edit.do_plan(workspace, edit.plan_write(workspace, exact.replace("Obj", "obj"), HEAD))

    with pytest.raises(Refused, match="is laid out as a git repository"):
        edit.plan_write(workspace, last, HEAD)
    with pytest.raises(Refused, match="is laid out as a git repository"):
        workspace.write(last, b"x", before=None)

    assert not (tmp_path / last).exists()


def test_nothing_is_written_in_one_that_is_there(tmp_path: Path) -> None:
    bare = tmp_path / "fixtures/bare.git"
    subprocess.run(["git", "init", "-q", "--bare", f"{bare}"], check=True)
    before = (bare / "config").read_bytes()
    workspace = Workspace(tmp_path)

    for name in ("config", "hooks/post-update", "new"):
        with pytest.raises(Refused, match=r"'fixtures/bare\.git' is laid out as"):
            edit.plan_write(workspace, f"fixtures/bare.git/{name}", "evil")
    line = {"line": 1, "type": "insert", "content": ["[core]"]}
    with pytest.raises(Refused, match="is laid out as"):
        edit.plan_patch(workspace, "fixtures/bare.git/config", [line])

    assert (bare / "config").read_bytes() == before


def test_two_of_the_three_are_names_like_others(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for name in ("refs/x", "objects/x", "config", "a/HEAD", "a/refs/x", "a/objectsx"):
        edit.do_plan(workspace, edit.plan_write(workspace, name, "x"))
        assert (tmp_path / name).read_text() == "x"
