"""``podium diff``: what is shown at a terminal, with ``--stat``, and into a pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.render import run_words
from tests.client.fake_daemon import RUN_ID, FakeDaemon, Refused, podium
from tests.client.terminal import Terminal
from tests.client.test_export import DIFF

# What these tests name of what is sent is all that they are about.
worktree_notes: Any = run_words.worktree_notes

NOTHING = {
    "rewritten": False,
    "gone": False,
    "commits": [],
    "more_commits": 0,
    "committed": {"files": [], "more": 0, "patch": "", "cut": False},
    "uncommitted": {"files": [], "more": 0, "patch": "", "cut": False},
}


def test_the_files_and_their_numbers_stand_under_the_commits(daemon: FakeDaemon) -> None:
    daemon.answers["runs.diff"] = DIFF
    lines = podium(daemon, "diff", RUN_ID, "--stat").stdout.splitlines()
    assert lines[:2] == ["c0ffeec0ffee Add <slugs>", "and 2 earlier"]
    assert lines[2].startswith("⚠ Its branch was rewritten since")
    assert lines[3:] == [
        "",
        "In its commits:",
        "     +12 -0  slug.py (new)",
        "      +0 -0  a.txt → b.txt",
        "  binary     logo.png",
        "  and 4 more files",
        "",
        "Not committed:",
        "  +1 -2  notes.txt (mode 100755, changed before the run too)",
    ]
    assert daemon.calls[-1] == ("runs.diff", {"run_id": RUN_ID, "patch": False})


def test_a_terminal_gets_the_patch_too_and_nothing_of_it_drives_the_terminal(
    daemon: FakeDaemon,
) -> None:
    part = {**DIFF["committed"], "patch": "@@ -1 +1 @@\n-old\n+\x1b[2Jnew\n same\n"}  # type: ignore[dict-item]
    daemon.answers["runs.diff"] = {**DIFF, "committed": part}
    with Terminal(daemon, "diff", RUN_ID, NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    assert "-old\r\n+\\x1b[2Jnew\r\n same" in terminal.screen
    assert "the rest is cut" in terminal.screen and "\x1b[2J" not in terminal.screen


def test_a_pipe_gets_the_patch_alone_as_it_is(daemon: FakeDaemon) -> None:
    left = {**NOTHING["uncommitted"], "patch": "--- b\n"}  # type: ignore[dict-item]
    made = {**NOTHING["committed"], "patch": "--- a\n\x1b\r\n", "cut": True}  # type: ignore[dict-item]
    daemon.answers["runs.diff"] = {**NOTHING, "committed": made, "uncommitted": left}
    done = podium(daemon, "diff", RUN_ID)
    assert done.stdout.replace("\r", "") == "--- a\n\x1b\n--- b\n"
    assert "the patch is cut" in done.stderr


def test_a_run_that_changed_nothing_says_so(daemon: FakeDaemon) -> None:
    daemon.answers["runs.diff"] = NOTHING
    assert podium(daemon, "diff", RUN_ID, "--stat").stdout == "The run has changed nothing.\n"
    assert podium(daemon, "diff", RUN_ID).stdout == ""
    assert (
        json.loads(podium(daemon, "diff", RUN_ID, "--json").stdout) == daemon.answers["runs.diff"]
    )


def test_why_it_cannot_be_told_is_one_sentence(daemon: FakeDaemon) -> None:
    def refused(_params: Any) -> Any:
        raise Refused(-32006, "The run began outside git, in '/tmp'.")

    daemon.answers["runs.diff"] = refused
    done = podium(daemon, "diff", RUN_ID)
    assert (done.returncode, done.stderr) == (1, "podium: The run began outside git, in '/tmp'.\n")


@pytest.mark.parametrize(("head", "merged"), [("c0ffee", False), ("decade", True), (None, True)])
def test_only_a_worktree_with_commits_of_its_own_is_offered_for_merging(
    head: str | None, merged: bool, tmp_path: Path
) -> None:
    """Where what it left is not known, it may have some."""
    tree = {"directory": str(tmp_path), "branch": "podium/x"}
    run = {"run_id": RUN_ID, "worktree": tree, "base": "c0ffee", "left": {"head": head}}
    stays, then = worktree_notes(run)
    assert stays == f"its worktree stays: {tmp_path}, branch podium/x"
    assert ("worktree merge" in then) is merged and "worktree remove" in then
    tree["directory"] += "/removed"
    (gone,) = worktree_notes(run)
    assert gone == f"its worktree is gone from {tmp_path}/removed; its branch was podium/x"
