"""Under whose name a turn's commit is made, and what is said before where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from podiumd.tools.commit.identity import NOBODY, identity_variables, unknown_committer
from podiumd.tools.commit.worktree_merge import merge, prepare
from tests.tools.git_repository import commit
from tests.tools.turn_repository import Turn

BOTH = {
    "GIT_AUTHOR_NAME": "An Author",
    "GIT_AUTHOR_EMAIL": "author@example.org",
    "GIT_COMMITTER_NAME": "A Committer",
    "GIT_COMMITTER_EMAIL": "committer@example.org",
}


def put(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Turn:
    """In the repository of a person who has told git nothing about themselves."""
    monkeypatch.setenv("HOME", f"{tmp_path}")
    for name in ("XDG_CONFIG_HOME", "EMAIL", *BOTH):
        monkeypatch.delenv(name, raising=False)
    turn = Turn(tmp_path)
    turn.git("config", "--unset", "user.name")
    turn.git("config", "--unset", "user.email")
    turn.git("config", "user.useConfigOnly", "true")
    turn.change("a.py", "x\n")
    return turn


async def test_who_commits_is_whom_git_would_take_and_nobody_is_told_before(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await unknown_committer(f"{turn.root}") == NOBODY
    done = await turn.commit()
    assert done.state == "failed" and "git config --global user.name" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first
    put(monkeypatch, {name: BOTH[name] for name in BOTH if "COMMITTER" in name})
    assert await unknown_committer(f"{turn.root}") == NOBODY, "there is no author"

    put(monkeypatch, BOTH)
    assert await unknown_committer(f"{turn.root}") == ""
    assert (await turn.commit()).state == "committed"
    assert turn.git("log", "-1", "--format=%an <%ae> %cn <%ce>") == (
        "An Author <author@example.org> A Committer <committer@example.org>"
    )

    for name in set(BOTH) - {"GIT_AUTHOR_NAME"}:  # which goes before the settings, as in git
        monkeypatch.delenv(name)
    turn.git("config", "user.name", "A Person")
    turn.git("config", "user.email", "a@example.org")
    turn.changes.clear()
    turn.change("a.py", "y\n")
    await turn.commit("another-turn")
    assert turn.git("log", "-1", "--format=%an <%ae> %cn") == "An Author <a@example.org> A Person"


async def test_a_merge_is_made_under_the_same_name(
    turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn.git("branch", "side")
    commit(turn.top, "ours")
    turn.git("checkout", "-q", "side")
    commit(turn.top, "theirs")
    turn.git("checkout", "-q", "main")
    put(monkeypatch, BOTH)

    await merge(f"{turn.top}", await prepare(f"{turn.top}", "side"), "marker")

    assert turn.git("log", "-1", "--format=%s, %an <%ae> %cn <%ce>") == (
        "Merge branch 'side', An Author <author@example.org> A Committer <committer@example.org>"
    )


async def test_where_nothing_can_be_committed_nobody_needs_to_be_known(
    turn: Turn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (tmp_path / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    assert await unknown_committer(f"{plain}") == ""

    monkeypatch.setenv("PATH", f"{plain}")  # there is no git either: the commit says so
    assert await unknown_committer(f"{turn.root}") == ""


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_INDEX_FILE"])
def test_what_git_tells_a_hook_of_another_commit_says_nothing_about_ours(name: str) -> None:
    """A daemon may have been started in one."""
    assert identity_variables({**BOTH, "GIT_DIR_": "x", "HOME": "y"}) == BOTH
    assert identity_variables({**BOTH, name: ".git"}) == {}
