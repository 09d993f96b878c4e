"""A git of ours that writes while a command works in the same repository, and exchanges for links
what git writes to: nothing beyond the repository is written."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.commit import CommitOrder, Committed, commit_changes
from podiumd.tools.commit.confined_filters import ConfinedFilters
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.worktree_merge import merge, prepare
from podiumd.tools.git import at_work as at_work_module
from podiumd.tools.git import beside
from podiumd.tools.git import queries as git
from podiumd.tools.git.at_work import AtWork, Reach
from podiumd.tools.git.beside import Confined
from podiumd.tools.git.queries import GitError
from podiumd.tools.sandbox.sandbox import Enclosure
from podiumd.tools.sandbox.shell import ShellResult, run_arguments
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.tools.boxed_project import Inside
from tests.tools.fresh_turn import fresh_turn
from tests.tools.git_repository import run_git, set_for_person

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inside:
    found = Inside(tmp_path)
    (found.home / ".gitconfig").unlink()
    (found.home / ".bashrc").write_text("[mine]\n")
    monkeypatch.setenv("HOME", f"{found.home}")
    set_for_person(found.home, "user.name", "A Person")
    set_for_person(found.home, "user.email", "a@example.org")
    return found


@asynccontextmanager
async def at_work(inside: Inside, deed: str, root: Path | None = None) -> AsyncIterator[None]:
    """A command in the sandbox of ``root`` that has done its deed, and goes on for the block."""
    root = root or inside.project
    pipe = root / "goes-on"
    os.mkfifo(pipe)
    begun = trio.Event()
    enclosure, _ = await inside.sandbox.enclose(root, inside.state)
    assert enclosure is not None
    said = ""

    def hear(piece: str) -> None:
        nonlocal said
        said += piece
        if "begun" in said:
            begun.set()

    async def run() -> None:
        done = await run_arguments(
            ["/bin/sh", "-ec", f"{deed}\necho begun\ncat goes-on"],
            cwd=f"{root}",
            environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            turn_id=fresh_turn(),
            enclosure=enclosure,
            limit_seconds=HANG_SECONDS,
            on_output=hear,
        )
        assert done.exit_status == 0, done.output
        begun.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await begun.wait()
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(pipe.write_bytes, b"")


async def committed(
    inside: Inside, root: Path, confines: ConfinedFilters | None = None
) -> Committed:
    """What comes of the commit of a turn that has changed one file in ``root``."""
    originals, turn = Originals(inside.state / "originals"), fresh_turn()
    before, after = originals.keep(b"a\n"), originals.keep(f"{turn}\n".encode())
    (root / "a.txt").write_text(f"{turn}\n")
    change = FileChange(path="a.txt", before=before, after=after)
    order = CommitOrder(
        root=f"{root}",
        record=f"{inside.state}/commit",
        changes=(change,),
        run_id="r1",
        turn_id=turn,
    )
    return await commit_changes(order, originals, confines=confines)


def worktree(inside: Inside) -> Path:
    side = inside.home / "side"
    run_git(inside.project, "worktree", "add", "-q", "-b", "side", f"{side}")
    return side


LINKS = {
    "the log of a branch": "ln -sf {target} .git/logs/refs/heads/side",
    "objects": "mv .git/objects .git/old; ln -s {folder} .git/objects",
    "the log of HEAD": "ln -sf {target} .git/worktrees/side/logs/HEAD",
    "all logs": "mv .git/logs .git/old; ln -s {folder} .git/logs",
    "all branches": "mv .git/refs/heads .git/refs/old; ln -s {folder} .git/refs/heads",
}


@pytest.mark.parametrize("link", sampled(LINKS))
async def test_no_link_leads_a_commit_out_of_the_repository(inside: Inside, link: str) -> None:
    side, folder = worktree(inside), inside.home / "folder"
    folder.mkdir()
    target = inside.home / ".bashrc"
    if link == "all branches":
        (folder / "side").write_text(run_git(side, "rev-parse", "HEAD") + "\n")
    if link == "objects":
        run_git(inside.home, "clone", "-q", "--bare", f"{inside.project}", "clone")
        folder.rmdir()
        (inside.home / "clone/objects").rename(folder)
    if link == "all logs":
        (folder / "refs/heads").mkdir(parents=True)
        (folder / "refs/heads/side").write_text("[mine]\n")
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    deed = LINKS[link].format(target=target, folder=folder)

    async with at_work(inside, deed):
        done = await committed(inside, side)

    assert done.state == "failed", done.detail
    assert target.read_text() == "[mine]\n"
    after = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    assert after == before
    if "log" in link:  # else the command has taken more than a link from the repository
        again = await committed(inside, side)
        assert again.state == "committed", again.detail


async def test_a_commit_beside_a_command_is_made_as_ever(inside: Inside) -> None:
    side = worktree(inside)

    async with at_work(inside, ":"):
        done = await committed(inside, side)
        assert run_git(side, "log", "-1", "--format=%an") == "A Person"

    assert done.state == "committed", done.detail
    assert "commit: " in run_git(side, "reflog", "-1")
    assert run_git(side, "status", "--porcelain") == ""
    assert list((inside.project / ".git").glob("podium-*")) == []


async def test_a_worktree_is_made_merged_and_removed_beside_a_command(inside: Inside) -> None:
    made, project = inside.home / "trees/made", inside.project
    (project / ".gitignore").write_text("goes-on\n")
    run_git(project, "add", ".gitignore")
    run_git(project, "commit", "-qm", "ignored")
    run_git(project, "branch", "old")
    run_git(project, "pack-refs", "--all")

    async with at_work(inside, ":"):
        await git.add_worktree(f"{project}", f"{made}", "new")
        assert (made / "a.txt").read_text() == "a\n"
        done = await committed(inside, made)
        plan = await prepare(f"{project}", "new")
        await merge(f"{project}", plan, fresh_turn())
        tip = run_git(project, "rev-parse", "new")
        await git.remove_worktree(f"{project}", f"{made}", "new", tip, force=False)

    assert done.state == "committed" and run_git(project, "rev-parse", "HEAD") == done.sha
    assert not made.exists() and len(run_git(project, "worktree", "list").splitlines()) == 1
    assert run_git(project, "branch", "--format=%(refname:short)").split() == ["main", "old"]
    assert run_git(project, "status", "--porcelain") == ""


async def test_no_link_leads_a_new_branch_or_a_removed_one_out(inside: Inside) -> None:
    target, project = inside.home / ".bashrc", inside.project
    deed = f"mkdir -p .git/logs/refs/heads; ln -s {target} .git/logs/refs/heads/new"

    async with at_work(inside, deed):
        with pytest.raises(GitError, match="Read-only file system"):
            await git.add_worktree(f"{project}", f"{inside.home}/made", "new")

    assert target.read_text() == "[mine]\n"
    assert (project / "a.txt").read_text() == "a\n"


@pytest.mark.parametrize("beside", sampled([True, False]))
async def test_who_signs_and_filters_for_the_person_is_not_confined(
    inside: Inside, beside: bool
) -> None:
    """They may write what is theirs."""
    side, told = worktree(inside), inside.home / "told"
    told.mkdir()
    for name, text in {
        "sign": f"cat > /dev/null; touch {told}/signed\n"
        "echo '[GNUPG:] SIG_CREATED D 1 8 00 1 AA' >&2\necho signature\n",
        "clean": f"touch {told}/cleaned; cat\n",
    }.items():
        (inside.home / name).write_text(f"#!/bin/sh\n{text}")
        (inside.home / name).chmod(0o700)
    set_for_person(inside.home, "gpg.program", f"{inside.home}/sign")
    set_for_person(inside.home, "commit.gpgSign", "true")
    set_for_person(inside.home, "filter.x.clean", f"{inside.home}/clean")
    (inside.project / ".git/info").mkdir(exist_ok=True)
    (inside.project / ".git/info/attributes").write_text("*.txt filter=x\n")

    if beside:
        async with at_work(inside, ":"):
            done = await committed(inside, side)
    else:
        done = await committed(inside, side)

    assert {path.name for path in told.iterdir()} == {"signed", "cleaned"}, done.detail
    assert done.state == "committed"
    assert "signature" in run_git(side, "cat-file", "commit", "HEAD")
    assert f"{run_git(side, 'show', 'HEAD:a.txt')}\n" == (side / "a.txt").read_text()


@pytest.mark.parametrize("beside", sampled([True, False]))
async def test_a_filter_of_the_repository_runs_in_its_sandbox_alone(
    inside: Inside, beside: bool
) -> None:
    side = worktree(inside)
    run_git(inside.project, "config", "filter.x.clean", f"touch {inside.home}/out {side}/in; cat")
    (inside.project / ".git/info").mkdir(exist_ok=True)
    (inside.project / ".git/info/attributes").write_text("*.txt filter=x\n")
    enclosure, _ = await inside.sandbox.enclose(side, inside.state)
    assert enclosure is not None
    confines = ConfinedFilters(enclosure, fresh_turn(), inside.state / "filters")

    if beside:
        async with at_work(inside, ":"):
            done = await committed(inside, side, confines)
    else:
        done = await committed(inside, side, confines)

    assert done.state == "committed", done.detail
    assert not (inside.home / "out").exists() and (side / "in").exists()
    assert f"{run_git(side, 'show', 'HEAD:a.txt')}\n" == (side / "a.txt").read_text()
    assert run_git(side, "diff", "--cached", "--name-only") == ""


async def test_git_is_not_led_to_another_repository(inside: Inside) -> None:
    """By what a command may write in a tree around that which git works in."""
    within, mine = inside.project / "within", inside.home / "mine"
    run_git(inside.home, "clone", "-q", f"{inside.project}", f"{mine}")
    before = run_git(mine, "rev-parse", "HEAD")

    async with at_work(inside, ":"):
        run_git(inside.home, "clone", "-q", f"{inside.project}", f"{within}")
        fresh = await committed(inside, within)
        (within / ".git").rename(inside.project / ".git/aside")
        (within / ".git").write_text(f"gitdir: {mine}/.git\n")
        led = await committed(inside, within)

    assert run_git(mine, "rev-parse", "HEAD") == before
    for done in (fresh, led):
        assert done.state == "failed" and "not the one which was there before" in done.detail


async def test_a_command_begins_once_no_git_writes_unconfined_where_it_can() -> None:
    work, begun = AtWork(), trio.Event()
    reach, other = Reach("bwrap", "/tree", ("/repository",)), Reach("bwrap", "/other")

    async def begin() -> None:
        work.begin(reach)
        await work.let_end(reach)
        begun.set()

    async with trio.open_nursery() as nursery:
        with work.writing(("/repository/refs",)) as found:
            assert found == ()
            work.begin(other)
            await work.let_end(other)  # which has nothing to do with it
            nursery.start_soon(begin)
            await wait_all_tasks_blocked()
            with work.writing(("/repository/logs",)) as beside:
                assert beside == (reach,)
            assert not begun.is_set()

    assert begun.is_set()
    with work.writing(("/",)) as found:
        assert found == (other, reach)
    work.end(reach)
    with work.writing(("/tree/a",), own=other) as found:
        assert found == ()
    with work.writing(("/other/a",), own=other) as found:
        assert found == ()


@asynccontextmanager
async def written(inside: Inside) -> AsyncIterator[None]:
    """A git of ours writes unconfined in the repository until the block is over."""
    with at_work_module.AT_WORK.writing((f"{inside.project}/.git",)) as found:
        assert found == ()
        yield
    with at_work_module.AT_WORK.writing((f"{inside.project}/.git",)) as found:
        assert found == (), "the command that was given up is still at work"


def waiting(inside: Inside, enclosure: Enclosure, **more: Any) -> Awaitable[ShellResult]:
    return run_arguments(
        ["touch", "begun"],
        cwd=f"{inside.project}",
        environment={"PATH": "/usr/bin:/bin"},
        turn_id=fresh_turn(),
        enclosure=enclosure,
        **more,
    )


async def test_commands_that_wait_for_a_git_are_given_up_with_their_callers_and_hold_nobody(
    inside: Inside,
) -> None:
    enclosure, _ = await inside.sandbox.enclose(inside.project, inside.state)
    elsewhere = inside.home / "elsewhere"
    elsewhere.mkdir()
    beside, _ = await inside.sandbox.enclose(elsewhere, inside.home / "other-state")
    assert enclosure is not None and beside is not None

    async with written(inside), trio.open_nursery() as nursery:
        for _ in range(9):
            nursery.start_soon(waiting, inside, enclosure)
        done = await waiting(inside, beside)
        nursery.cancel_scope.cancel()

    assert done.exit_status is not None
    assert not (inside.project / "begun").exists()


async def test_a_command_that_waits_for_a_git_ends_at_its_limit(inside: Inside) -> None:
    enclosure, _ = await inside.sandbox.enclose(inside.project, inside.state)
    assert enclosure is not None

    async with written(inside):
        done = await waiting(inside, enclosure, limit_seconds=0.0)

    assert done.exit_status is None and done.timed_out
    assert "not begun" in done.message
    assert not (inside.project / "begun").exists()


async def test_what_is_exchanged_as_a_git_is_confined_is_not_written(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox of git finds by paths what it mounts, as that of a command does."""
    side, mine = worktree(inside), inside.home / "mine"
    run_git(inside.home, "clone", "-q", "--bare", f"{inside.project}", f"{mine}")
    real, common = beside._confined, inside.project / ".git"

    def exchanged(program: str, *how: Any) -> Confined:
        words = real(program, *how).prefix
        box = inside.state / "bwrap"
        box.write_text(
            f"#!{sys.executable}\nimport os, sys\n"
            f"words = [{f'{mine}'!r} if before == '--bind' and word == {f'{common}'!r} else word\n"
            "         for before, word in zip(sys.argv, sys.argv[1:])]\n"
            f"os.execv({shutil.which('bwrap')!r}, ['bwrap', *words])\n"
        )
        box.chmod(0o700)
        return Confined((f"{box}", *words[1:]))

    before = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    async with at_work(inside, ":"):
        monkeypatch.setattr(beside, "_confined", exchanged)
        done = await committed(inside, side)

    assert done.state == "failed" and f"'{common}' was exchanged" in done.detail
    after = {path: path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    assert before.items() <= after.items()
    assert not any(after[path] for path in after.keys() - before.keys())  # where it would mount


def test_on_macos_the_profile_says_where_git_writes() -> None:
    box = beside._confined("/usr/bin/sandbox-exec", ["/r/.git"], ["/r/.git/config"], "darwin")

    assert box.gate() is None and box.command(["git"], None)[:2] == list(box.prefix[:2])
    assert box.prefix[2].splitlines()[2:4] == [
        "(deny file-write*)",
        '(allow file-write* (subpath "/r/.git"))',
    ]
    assert box.prefix[2].splitlines()[-1] == '(deny file-write* (subpath "/r/.git/config"))'
