"""``podium worktree``: what is listed, and what is said of a merge and a removal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_daemon import RUN_ID, FakeDaemon, Refused, podium
from tests.client.stories import ended_run

ROW = {
    "run_id": RUN_ID,
    "recipe": "fix-it",
    "status": "ended",
    "started_at": "2026-05-01T10:00:00.000Z",
    "repository": "/home/ada/pots",
    "directory": "/home/ada/state/worktrees/pots-1a2b3c4d",
    "branch": "podium/pots-1a2b3c4d",
    "bytes": 1_234_567,
    "head": "c0ffee" * 6,
    "uncommitted": ["a.txt", "b.txt"],
    "more": 3,
    "commits": 2,
    "merged": False,
    "merging": False,
    "problem": None,
}


def test_each_worktree_is_a_line(daemon: FakeDaemon) -> None:
    rows = [
        ROW,
        {**ROW, "merged": True, "commits": 0, "uncommitted": [], "more": 0, "bytes": 12},
        {**ROW, "status": "running", "bytes": None},
        {**ROW, "commits": 0, "merging": True},
        {"run_id": RUN_ID, "status": "ended", "directory": "/w", "problem": "git failed\x1b[2J"},
        {"run_id": None, "directory": "/lost", "bytes": 1, "problem": "its run was forgotten"},
    ]
    daemon.answers["worktrees.list"] = rows
    lines = podium(daemon, "worktree", "list").stdout.splitlines()
    assert lines[0].split() == ["RUN", "RECIPE", "STATUS", "AGE", "SIZE", "UNCOMMITTED", "BRANCH"]
    assert "2 commits to merge" in lines[1] and "1.2 MB" in lines[1] and "5 files" in lines[1]
    assert "nothing to merge" in lines[2] and " 12 B " in lines[2] and " - " in lines[2]
    assert "running" in lines[3] and " ? " in lines[3]
    assert "podium/pots-1a2b3c4d" in lines[4] and " ended " in lines[4]
    assert "⚠ ~/pots: unfinished merge of podium/pots-1a2b3c4d" in lines
    assert "⚠ /w: git failed\\x1b[2J" in lines and "⚠ /lost: its run was forgotten" in lines
    assert (
        json.loads(podium(daemon, "worktree", "list", "--json").stdout)
        == daemon.answers["worktrees.list"]
    )


def test_where_there_is_none_it_says_how_one_comes_about(daemon: FakeDaemon) -> None:
    daemon.answers["worktrees.list"] = []
    assert "--worktree" in podium(daemon, "worktree", "list").stdout


def test_a_merge_is_told_with_what_stays_behind(daemon: FakeDaemon) -> None:
    told = {"branch": "podium/x", "into": "main", "repository": "/home/ada/pots"}
    left = {"paths": ["a.txt"], "more": 2}
    daemon.answers["worktrees.merge"] = {
        **told,
        "merged": True,
        "commit": "c0ffee" * 6,
        "left": left,
    }
    assert podium(daemon, "worktree", "merge", "1a2b").stdout.splitlines() == [
        "Merged podium/x into main of ~/pots: c0ffeec0ffee.",
        "Not committed, and so not merged: a.txt and 2 more.",
        "The worktree stays: 'podium worktree remove 1a2b' removes it.",
    ]
    assert daemon.calls[-1] == ("worktrees.merge", {"run_id": "1a2b"})
    daemon.answers["worktrees.merge"] = {**told, "merged": False, "commit": "c0ffee"}
    assert "main has all of podium/x already" in podium(daemon, "worktree", "merge", "1a2b").stdout


def test_a_removal_is_told_with_what_was_lost_and_how_it_comes_back(daemon: FakeDaemon) -> None:
    told = {"directory": "/home/ada/w", "branch": "podium/x", "commit": "c0ffee"}
    daemon.answers["worktrees.remove"] = {
        **told,
        "branch_kept": False,
        "lost": None,
        "lost_commits": 0,
    }
    assert podium(daemon, "worktree", "remove", "1a2b").stdout == "Removed ~/w.\n"
    assert daemon.calls[-1] == ("worktrees.remove", {"run_id": "1a2b", "force": False})
    lost = {"lost": "in whatever words", "lost_commits": 2}
    daemon.answers["worktrees.remove"] = {**told, "branch_kept": True, **lost}
    said = podium(daemon, "worktree", "remove", "1a2b", "--force").stdout
    assert "Lost: in whatever words." in said and "git branch podium/x c0ffee" in said
    assert "The branch podium/x stays" in said


def test_a_removal_that_lost_no_commit_names_none(daemon: FakeDaemon) -> None:
    told = {"directory": "/home/ada/w", "branch": "podium/x", "commit": "c0ffee"}
    daemon.answers["worktrees.remove"] = {
        **told,
        "lost": "what is not committed (a.txt)",
        "lost_commits": 0,
    }
    said = podium(daemon, "worktree", "remove", "1a2b", "--force").stdout
    assert said.endswith("Lost: what is not committed (a.txt).\n")


@pytest.mark.parametrize("verb", ["merge", "remove"])
def test_a_refusal_is_one_sentence(daemon: FakeDaemon, verb: str) -> None:
    def refused(_params: Any) -> Any:
        raise Refused(
            -32006, "'a' and 'b' conflict in a.txt. The merge was undone.", {"files": ["x"]}
        )

    daemon.answers[f"worktrees.{verb}"] = refused
    done = podium(daemon, "worktree", verb, "1a2b")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "podium: 'a' and 'b' conflict in a.txt. The merge was undone.\n"


def test_a_run_tells_of_its_worktree_for_as_long_as_it_is_there(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    plan = {"repository": "/pots", "directory": str(tmp_path / "w"), "branch": "podium/x"}
    daemon.answers["runs.get"] = ended_run(worktree=plan)
    assert "worktree" not in podium(daemon, "runs", "show", RUN_ID).stdout
    (tmp_path / "w").mkdir()
    shown = podium(daemon, "runs", "show", RUN_ID).stdout
    assert f"Its worktree stays: {tmp_path / 'w'}, branch podium/x" in shown
    assert "Take its work: podium worktree merge 1a2b3c4d" in shown
