"""Repositories that a command finds, leads elsewhere or makes: none of them runs anything outside.

The tests of this file need bubblewrap on Linux, and fail without it: a machine that builds Podium
must be one that can show this.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pygit2
import pytest
import trio

from podiumd.tools.files.owner_rights import entries_of
from podiumd.tools.git import repository_remains
from podiumd.tools.git.nested_repositories import RepositoryLook
from podiumd.tools.git.repository_remains import is_plain
from podiumd.tools.sandbox.boundary import RECORD, Boundary, Placeholders, Tidied, make_up_for, tidy
from podiumd.tools.sandbox.sandbox import Probe, Sandbox
from podiumd.tools.sandbox.shell import ShellResult
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import commit, make_repository, run_git

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


@asynccontextmanager
async def at_work(inside: Inside, command: str) -> AsyncIterator[list[ShellResult]]:
    """A command that has come to its end but for a word from us."""
    reached, go = inside.project / "reached", inside.project / "go"
    ended: list[ShellResult] = []
    for fifo in (reached, go):
        if not fifo.exists():
            os.mkfifo(fifo)

    async def run() -> None:
        ended.append(await inside.run(f"{command}; echo > reached; cat go"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.to_thread.run_sync(reached.read_bytes)
        yield ended
        await trio.to_thread.run_sync(go.write_bytes, b"\n")


async def test_git_is_not_led_elsewhere_while_a_command_runs(inside: Inside) -> None:
    """The person's git, and libgit2 of their editor, work in the repository meanwhile."""
    project, canary = inside.project, inside.home / "canary"
    evil = f"git config -f ev/config core.fsmonitor 'touch {canary}'; echo ../ev > .git/commondir"
    async with at_work(
        inside,
        f"mkdir ev; cp -r .git/HEAD .git/refs .git/objects ev/; {evil}",
    ) as ended:
        (project / "b.txt").write_text("b\n")
        assert run_git(project, "status", "--porcelain", "b.txt") == "?? b.txt"
        commit(project, "meanwhile")
        found = pygit2.discover_repository(f"{project}")
        assert found is not None
        assert pygit2.Repository(found).head.peel(pygit2.Commit).message == "meanwhile\n"
        run_git(project, "worktree", "add", "-q", f"{inside.home}/side")

    assert not canary.exists()
    assert ended[0].tidied.removed == (f"{project}/ev/HEAD",)
    assert not (project / ".git/commondir").exists()
    assert run_git(inside.home / "side", "log", "-1", "--format=%s") == "meanwhile"


async def test_settings_of_a_worktree_alone_are_kept_where_git_would_read_them(
    inside: Inside,
) -> None:
    run_git(inside.project, "config", "extensions.worktreeConfig", "true")

    done = await inside.run("echo evil > .git/config.worktree; echo x > .git/remotes")

    assert "cannot create .git/config.worktree" in done.output
    assert done.tidied.removed == (f"{inside.project}/.git/remotes",)
    assert not (inside.project / ".git/config.worktree").exists()


def test_of_several_commands_in_one_repository_the_last_takes_the_placeholder_away(
    tmp_path: Path,
) -> None:
    path = tmp_path / "commondir"
    placeholders = Placeholders()
    for _ in range(2):
        placeholders.put([f"{path}"])
    placeholders.take_away([f"{path}"])
    assert path.read_bytes() == b"./\n"
    with pytest.raises(FileNotFoundError):
        placeholders.put([f"{path}", f"{tmp_path}/gone/commondir"])
    assert path.exists()

    placeholders.take_away([f"{path}"])

    assert not path.exists()


async def test_settings_that_git_writes_in_the_place_of_a_placeholder_stay(
    inside: Inside, tmp_path: Path
) -> None:
    """``git sparse-checkout`` of the person: a new file, and then its name."""
    run_git(inside.project, "config", "extensions.worktreeConfig", "true")
    settings = inside.project / ".git/config.worktree"
    async with at_work(inside, "true") as ended:
        run_git(inside.project, "config", "--worktree", "core.sparseCheckout", "true")

    assert "sparseCheckout = true" in settings.read_text()
    assert ended[0].tidied.removed == ()
    settings.unlink()
    record = tmp_path / RECORD
    sandbox = Sandbox("required", home=inside.home, environ={}, probe=Probe(), record=record)
    enclosure, _ = await sandbox.enclose(inside.project, tmp_path)
    assert enclosure is not None
    enclosure.prepare()  # and the daemon is killed
    run_git(inside.project, "config", "--worktree", "core.sparseCheckout", "true")
    assert make_up_for(record).removed == (f"{inside.project}/.git/commondir",)
    assert "sparseCheckout = true" in settings.read_text()


HEAPS = ("vendor/lib", "node_modules/x", ".hidden/lib", "a/b/c/d/e/lib", "plain/lib")


async def test_repositories_in_heaps_hidden_and_deep_ones_keep_what_they_name(
    inside: Inside,
) -> None:
    (inside.project / ".gitignore").write_text("*/\n")
    for name in HEAPS:
        make_repository(inside.project / name)
    bare = inside.project / "fixtures/bare.git"
    make_repository(bare)
    run_git(bare, "init", "-q", "--bare", f"{bare}")
    kept = [inside.project / name / ".git" for name in HEAPS] + [bare]
    before = [(git / "config").read_bytes() for git in kept]

    done = await inside.run(
        f"for git in {' '.join(map(str, kept))}; do echo evil >> $git/config; "
        "echo evil > $git/hooks/pre-commit; echo ../.. > $git/commondir; mv $git $git-gone; done"
    )

    assert done.tidied == Tidied()
    assert [(git / "config").read_bytes() for git in kept] == before
    assert not any((git / "hooks/pre-commit").exists() for git in kept)
    assert not any((git / "commondir").exists() for git in kept)


async def test_what_is_beyond_the_bound_is_looked_at_and_told(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podiumd.tools.confine.places.MOST_NEAR", 1)
    monkeypatch.setattr("podiumd.tools.confine.places.MOST_MOUNTS", 24)
    for name in ("one", "two", "x/y/z/three", "x/y/z/zz/four"):
        make_repository(inside.project / name)
    last = inside.project / "x/y/z/zz/four/.git"

    done = await inside.run(
        "for git in one two x/y/z/three x/y/z/zz/four; do echo evil >> $git/.git/config; done"
    )
    quiet = await inside.run("touch x/y/z/zz/four/file")

    assert done.tidied.changed == (f"{last}",)
    assert (last / "config").read_text().endswith("evil\n")
    assert quiet.tidied == Tidied()


async def test_a_repository_that_a_command_makes_within_the_tree_runs_nothing(
    inside: Inside,
) -> None:
    """A status of the tree around looks into what is in its index."""
    canary = inside.home / "canary"

    done = await inside.run(
        "for sub in sub .hid/sub good; do git init -q $sub; "
        "git -C $sub -c user.name=m -c user.email=m@x commit -q --allow-empty -m x; "
        f"git add $sub; done 2>/dev/null; git -C sub config core.fsmonitor 'touch {canary}'; "
        f"git -C .hid/sub config core.fsmonitor 'touch {canary}'; "
        "mkdir led && echo 'gitdir: ../sub/.git' > led/.git; ln -s sub/.git linked; "
        "git worktree add -q -b w wt"
    )
    status = run_git(inside.project, "status", "--porcelain")

    names = (".hid/sub/.git", "led/.git", "sub/.git")
    assert sorted(done.tidied.removed) == [f"{inside.project}/{name}" for name in names]
    assert "A  sub" in status and not canary.exists()
    [aside] = (inside.project / "sub").glob("git-set-aside-*")
    assert (aside / "config").exists() and not (aside / "HEAD").exists()
    # Whoever made it, and not the command, has it again.
    (aside / "HEAD.set-aside").rename(aside / "HEAD")
    aside.rename(aside.with_name(".git"))
    assert run_git(inside.project / "sub", "log", "--format=%s") == "x"
    assert run_git(inside.project / "good", "log", "--format=%s") == "x"
    assert run_git(inside.project / "wt", "symbolic-ref", "HEAD") == "refs/heads/w"


async def test_a_directory_that_a_command_lays_out_as_a_repository_loses_its_head(
    inside: Inside,
) -> None:
    tree = inside.home / "plain"
    (tree / "deep").mkdir(parents=True)
    layout = "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; echo evil > config"
    pointed = "mkdir -p p; cd p; echo 'ref: refs/heads/main' > HEAD; echo ../.. > commondir"

    done = await inside.run(f"{layout}; cd deep; {layout}; cd ..; {pointed}", tree)

    assert sorted(done.tidied.removed) == [f"{tree}/{name}HEAD" for name in ("", "deep/", "p/")]
    assert (tree / "config").exists() and (tree / "objects").is_dir()
    outside = subprocess.run(["git", "-C", f"{tree}", "status"], capture_output=True, check=False)
    assert b"not a git repository" in outside.stderr


async def test_a_module_that_a_command_prepares_is_none(inside: Inside) -> None:
    """A submodule that is fetched later would be taken from there, with its settings."""
    done = await inside.run("git init -q --bare .git/modules/x; echo evil >> .git/modules/x/config")

    assert done.tidied.removed == (f"{inside.project}/.git/modules/x/HEAD",)


async def test_a_repository_that_a_command_makes_within_one_runs_nothing(inside: Inside) -> None:
    """A person who looks into ``.git`` uses git there too."""
    git, canary = inside.project / ".git", inside.home / "canary"
    run_git(inside.project, "worktree", "add", "-q", "-b", "old", f"{inside.project}/old")
    run_git(git, "init", "-q", f"{git}/mine")
    evil = f"git -C $sub config core.fsmonitor 'touch {canary}'"
    layout = "mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; cp ../../x/.git/config ."

    done = await inside.run(
        f"for sub in .git/x .git/refs/y .git/objects/z/z/z/z/z; do git init -q $sub; {evil}; done; "
        f"git init -q .git/plain; git worktree add -q -b new new; echo >> .git/mine/.git/config; "
        f"mkdir -p .git/laid/out && cd .git/laid/out && {layout}; cd ..; mkdir -p worktrees/w; "
        "echo ../.. > worktrees/w/commondir; echo 'ref: refs/heads/main' > worktrees/w/HEAD"
    )

    names = (
        "laid/out/HEAD",
        "laid/worktrees/w/HEAD",
        "objects/z/z/z/z/z/.git",
        "refs/y/.git",
        "x/.git",
    )
    assert sorted(done.tidied.removed) == [f"{git}/{name}" for name in names]
    assert done.tidied.changed == (f"{git}/mine/.git",)
    for name in ("x", "refs/y", "objects/z/z/z/z/z", "laid/out"):
        subprocess.run(["git", "-C", f"{git}/{name}", "status"], capture_output=True, check=False)
    assert not canary.exists()
    for name in ("old", "new"):
        assert run_git(inside.project / name, "log", "--format=%s") == "first"
    assert (git / "plain/.git/HEAD").exists()
    assert (await inside.run("true")).tidied == Tidied()


async def test_no_heap_of_a_repository_hides_one_that_runs_something(inside: Inside) -> None:
    """Nor do ``lfs`` and ``annex`` of the repository that the command works in."""
    git, canary = inside.project / ".git", inside.home / "canary"
    run_git(git, "init", "-q", f"{git}/mine/lfs/x")
    new = ("objects/x", "lfs/x", "annex/x", "y/lfs/x", "objects/x/.git/objects/z")
    old = ("y/lfs/x", "y/annex/x", "modules/lfs/x", "objects/lfs/x", "refs/lfs/x")
    own = ("lfs/a/b/c/d/e/x", "annex/x")
    both = (("new/.git", new), (".git", (*old, *own)))
    subs = [f"{top}/{sub}" for top, all_of in both for sub in all_of]

    done = await inside.run(
        f"git init -q new; rm -rf new/.git/hooks; for sub in {' '.join(subs)}; do "
        f"mkdir -p $sub; git init -q $sub; git -C $sub config core.fsmonitor 'touch {canary}'; "
        "done; git init -q good; git init -q .git/lfs/mine; "
        "mkdir led; ln -s ../.git/lfs led/.git"
    )

    gone = [f"{inside.project}/{one}/.git" for one in subs] + [f"{inside.project}/new/.git"]
    gone += [f"{inside.project}/led/.git", f"{git}/modules/lfs/x/.git/HEAD"]
    assert sorted(done.tidied.removed) == sorted(gone) and done.tidied.left == ()
    places = [path.parent for path in inside.project.rglob("config") if path.is_file()]
    assert len(places) >= len(gone)
    for place in places:
        for there in (place, place.parent):
            subprocess.run(["git", "-C", f"{there}", "status"], capture_output=True, check=False)
    assert not canary.exists()
    for kept in (git / "mine/lfs/x", inside.project / "good", git / "lfs/mine"):
        assert (kept / ".git/HEAD").exists()
    assert (await inside.run("true")).tidied == Tidied()


@pytest.mark.parametrize("place", ["lfs", "annex", "objects"])
@pytest.mark.parametrize(
    "how",
    [
        "printf '[core]\\n\\tfsmonitor = touch %s\\n' CANARY >> .git/config",
        "echo 'touch CANARY' > .git/hooks/post-index-change; chmod +x .git/hooks/*",
    ],
)
async def test_a_harmless_one_in_a_heap_turns_into_no_other(
    inside: Inside, place: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository_remains, "_TICK_NS", 0)  # what was before is not new
    sub, canary = inside.project / f".git/{place}/x", inside.home / "canary"
    assert (await inside.run(f"git init -q {sub}; rm {sub}/.git/hooks/*")).tidied == Tidied()

    done = await inside.run(f"cd {sub}; {how.replace('CANARY', f'{canary}')}")

    assert done.tidied.removed == (f"{sub}/.git",)
    subprocess.run(["git", "-C", f"{sub}", "status"], capture_output=True, check=False)
    assert not canary.exists()


HARMLESS = '[branch "main"]\n\tremote = .\n\tmerge = refs/heads/other\n'
NAMED = (
    '[branch "main"]\n\tremote = ./evil.git\n',
    '[branch "main"]\n\tremote = ext::sh\n',
    '[branch "main"]\n\tremote = evil\n',  # a directory of that name is one as well
    '[branch "main"]\n\tremote\n',
    '[branch "main"]\n\tpushRemote = origin\n',
    '[remote "origin"]\n\turl = ./evil.git\n',
    "[remote]\n\tpushDefault = evil\n",
    '[url "./evil.git"]\n\tinsteadOf = https://example.org\n',
)


def test_a_new_repository_leads_no_push_into_another(tmp_path: Path) -> None:
    path = make_repository(tmp_path / "new")
    config = path / ".git/config"
    plain = config.read_text()
    assert is_plain(path / ".git")
    config.write_text(plain + HARMLESS)
    assert is_plain(path / ".git")
    for named in NAMED:
        config.write_text(plain + named)
        assert not is_plain(path / ".git"), named
    config.write_text(plain)
    (path / ".git/remotes").mkdir()
    assert is_plain(path / ".git")
    (path / ".git/remotes/origin").write_text("URL: ./evil.git\n")
    assert not is_plain(path / ".git")


def test_a_new_repository_with_worktrees_of_its_own_is_plain(tmp_path: Path) -> None:
    git = make_repository(tmp_path / "new") / ".git"
    commit(git.parent, "first")
    run_git(git.parent, "worktree", "add", "-q", f"{tmp_path}/tree")
    run_git(git.parent, "repack", "-adq")
    assert is_plain(git)

    (git / "objects/pack/x").symlink_to("/etc")
    assert not is_plain(git)
    (git / "objects/pack/x").unlink()
    (git / "worktrees/tree/commondir").write_text("../../evil\n")
    assert not is_plain(git)


async def test_what_a_killed_daemon_left_is_made_up_for_by_what_was_written_down(
    inside: Inside, tmp_path: Path
) -> None:
    record = tmp_path / RECORD
    sandbox = Sandbox("required", home=inside.home, environ={}, probe=Probe(), record=record)
    enclosure, _ = await sandbox.enclose(inside.project, tmp_path)
    assert enclosure is not None
    enclosure.prepare()
    git = inside.project / ".git"
    (git / "refs/heads/away").symlink_to("/etc")
    (inside.project / "objects").mkdir()
    (inside.project / "refs").mkdir()
    (inside.project / "HEAD").write_text("ref: refs/heads/main\n")
    assert record.stat().st_mode & 0o777 == 0o600

    removed, changed, unsettled = make_up_for(record)

    left = ("/.git/commondir", "/.git/refs/heads/away", "/HEAD")
    assert set(removed) == {f"{inside.project}{name}" for name in left}
    assert changed == unsettled == ()
    assert not any(os.path.lexists(path) for path in removed)
    assert make_up_for(record) == Tidied(), "again is harmless"


async def test_what_git_would_wait_at_among_objects_is_removed(inside: Inside) -> None:
    objects = inside.project / ".git/objects"
    run_git(inside.project, "repack", "-adq")
    os.mkfifo(objects / "pack/before.idx")

    done = await inside.run(
        "mkdir -p .git/objects/ff .git/objects/info/commit-graphs && cd .git/objects && "
        "mkfifo ff/$(printf %038d 0) info/alternates pack/x.idx info/commit-graphs/x && "
        "ln -s /dev/zero info/zero; ln -s /etc ee; mkdir -p deep; mv ff deep/ff; mv deep/ff fe"
    )

    removed = {path.removeprefix(f"{objects}/") for path in done.tidied.removed}
    assert removed - {"pack/before.idx"} == {
        *("ee", f"fe/{0:038d}", "info/alternates", "info/commit-graphs/x", "info/zero"),
        "pack/x.idx",
    }
    (objects / "pack/before.idx").unlink(missing_ok=True)
    assert not [one for one in objects.rglob("*") if one.is_fifo() or one.is_symlink()]
    assert run_git(inside.project, "fsck", "--no-dangling") == ""


async def test_objects_in_which_nothing_is_new_are_not_looked_into(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Boundary(root=f"{inside.project}", repositories=(f"{inside.project}/.git",))
    looked: list[str] = []
    real = entries_of

    def entries(directory: str) -> list[os.DirEntry[str]]:
        looked.append(directory)
        return real(directory)

    monkeypatch.setattr(repository_remains, "entries_of", entries)
    later = (inside.project / ".git").stat().st_ctime_ns + 3600 * 10**9
    tidy(msgspec.structs.replace(fresh, began=later), RepositoryLook(inside.project))
    few = [path for path in looked if "/objects/" in path]
    looked.clear()
    tidy(fresh, RepositoryLook(inside.project))

    assert len(few) < len([path for path in looked if "/objects/" in path])
    assert all(path.endswith(("/info", "/pack")) for path in few)


@pytest.mark.parametrize("how", ["echo 'touch {canary}' > {hook}", "chmod +x {hook}"])
async def test_a_hook_that_is_changed_where_it_stands_is_seen_among_heaps_too(
    inside: Inside, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory's own time says nothing of it."""
    monkeypatch.setattr(repository_remains, "_TICK_NS", 0)
    inner, canary = inside.project / ".git/lfs/x", inside.home / "canary"
    run_git(inside.project, "init", "-q", f"{inner}")
    hook = inner / ".git/hooks/post-index-change"
    written = how.startswith("echo")
    hook.write_text("#!/bin/sh\n" + ("true\n" if written else f"touch {canary}\n"))
    hook.chmod(0o755 if written else 0o644)
    assert (await inside.run("true")).tidied == Tidied()

    done = await inside.run(how.format(canary=canary, hook=hook))

    assert done.tidied != Tidied()
    (inner / "file").write_text("x")
    subprocess.run(["git", "-C", f"{inner}", "add", "file"], capture_output=True, check=False)
    assert not canary.exists()
