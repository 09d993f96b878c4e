"""The message of a commit goes to its hooks in a file, and nowhere else."""

import os
from pathlib import Path

import pytest

from podiumd.tools.commit.hooks import (
    MOST_MESSAGE_BYTES,
    HookFailed,
    Hooks,
    placed_hooks,
    read_message,
    write_message,
)
from podiumd.tools.git.plumbing import GitCall
from tests.tools.git_repository import set_for_person
from tests.tools.turn_repository import Turn


async def test_a_hook_cannot_have_the_message_written_through_a_link(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    profile = tmp_path / "profile"
    profile.write_text("the user's\n")
    turn.hook("pre-commit", f"ln -s {profile} .git/podium-message-t1")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert profile.read_text() == "the user's\n"


async def test_a_hook_cannot_have_a_file_from_outside_committed_as_the_message(
    tmp_path: Path,
) -> None:
    turn = Turn(tmp_path)
    (tmp_path / "key").write_text("[secret]\n")
    turn.hook("commit-msg", f'ln -sf {tmp_path}/key "$1"')
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "refused" and "a hook left no message" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first


def test_a_message_that_is_no_file_or_endless_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long").write_bytes(b"x" * (MOST_MESSAGE_BYTES + 1))

    for name in ("pipe", "long", "missing"):
        with pytest.raises(HookFailed, match="a hook left no message"):
            read_message(f"{tmp_path / name}")


def test_what_stands_in_the_place_of_the_message_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    (tmp_path / "message").symlink_to("other")

    write_message(f"{tmp_path / 'message'}", "words\n")

    assert read_message(f"{tmp_path / 'message'}") == "words"
    assert (tmp_path / "other").read_text() == "kept"


@pytest.mark.parametrize("named_in", ["config", "config.worktree", "an included file", "global"])
async def test_hooks_are_the_person_s_where_no_setting_of_the_repository_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_in: str
) -> None:
    turn = Turn(tmp_path)
    monkeypatch.setenv("HOME", f"{tmp_path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    where, included = f"{tmp_path}/hooks", f"{tmp_path}/included"
    turn.git("config", "extensions.worktreeConfig", "true")
    if named_in == "global":
        set_for_person(tmp_path, "core.hooksPath", where)
    elif named_in == "an included file":
        turn.git("config", "-f", included, "core.hooksPath", where)
        turn.git("config", "--worktree", "include.path", included)
    else:
        scope = "--local" if named_in == "config" else "--worktree"
        turn.git("config", scope, "core.hooksPath", where)

    shut = Hooks(environment={}, turn_id=turn.turn, enclosure=None, shut="there is no sandbox")
    placed = await placed_hooks(GitCall(f"{turn.top}"), shut)

    assert placed.directory == where
    assert placed.shut == ("" if named_in == "global" else "there is no sandbox")
