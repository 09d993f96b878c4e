"""Each way by which git runs a program, at each place that an agent may write: none runs outside.

The tests of this file need bubblewrap on Linux, and fail without it: a machine that builds Podium
must be one that can show this.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from podiumd.core.run.facts import Worktree
from podiumd.core.run.native_loop_facts import FileChange
from podiumd.runtime.worktrees.listing import look_inside
from podiumd.speech.words.vocabulary import vocabulary
from podiumd.tools.agent.search import search
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit import worktree_merge
from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.commit import CommitOrder, commit_changes
from podiumd.tools.commit.hooks import Hooks
from podiumd.tools.commit.identity import unknown_committer
from podiumd.tools.commit.index_lock import settle_index
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.worktree_merge import Plan
from podiumd.tools.git import queries as git
from podiumd.tools.git import worktree_remains
from podiumd.tools.git.changes_since import changes_since
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import commit, make_repository, run_git, set_for_person
from tests.tools.ways_to_run import ATTRIBUTES, EMPTY_ATTRIBUTES, GROUPS, OTHERS, Canaries, Way

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")

HEAD = "ref: refs/heads/main\n"


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "person"
    path.mkdir()
    monkeypatch.setenv("HOME", f"{path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    set_for_person(path, "user.name", "A Person")
    set_for_person(path, "user.email", "a@example.org")
    return path


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path / "canaries")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a worktree of its own, a repository in its index, and changes."""
    top = make_repository(tmp_path / "project")
    for name in ("a.txt", "sub/b.txt", "pkg/c.txt"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("one\n")
    (top / ".gitattributes").write_text(ATTRIBUTES)
    (top / "sub/.gitattributes").write_text(ATTRIBUTES)
    run_git(top / "sub", "init", "-q", "-b", "main")
    commit(top / "sub", "inner")
    commit(top, "first")
    run_git(top, "worktree", "add", "-q", "-b", "old", f"{tmp_path}/old")
    (tmp_path / "old/theirs.txt").write_text("theirs\n")
    commit(tmp_path / "old", "theirs")
    for name in ("a.txt", "sub/b.txt"):
        (top / name).write_text("two\n")
    return top


def in_the_repository(top: Path, settings: str) -> Path:
    _append(top / ".git/config", settings)
    return top


def in_a_nested_one(top: Path, settings: str) -> Path:
    _append(top / "sub/.git/config", settings)
    return top


def laid_out(top: Path, settings: str) -> Path:
    pkg = top / "pkg"
    for name in ("objects", "refs"):
        (pkg / name).mkdir()
    (pkg / "HEAD").write_text(HEAD)
    (pkg / "config").write_text(f"[core]\n\tbare = false\n\tworktree = {pkg}\n{settings}")
    return pkg


def by_commondir(top: Path, settings: str) -> Path:
    other = top / "ev"
    run_git(top, "clone", "-q", "--bare", ".git", "ev")
    _append(other / "config", f"[core]\n\tbare = false\n{settings}")
    (top / ".git/commondir").write_text("../ev\n")
    return top


def by_a_link(top: Path, settings: str) -> Path:
    pkg = top / "pkg"
    run_git(top, "clone", "-q", "--bare", ".git", "ev")
    _append(top / "ev/config", f"[core]\n\tbare = false\n{settings}")
    (pkg / ".git").write_text("gitdir: ../ev\n")
    return pkg


def of_a_worktree(top: Path, settings: str) -> Path:
    run_git(top, "config", "extensions.worktreeConfig", "true")
    (top / ".git/config.worktree").write_text(settings)
    return top


Place = Callable[[Path, str], Path]
PLACES: tuple[Place, ...] = (
    *(in_the_repository, in_a_nested_one, laid_out, by_commondir, by_a_link, of_a_worktree),
)


def pick(top: Path, group: str) -> None:
    """Have the attributes, committed as well, name what this group sets."""
    if group == "empty names":
        for where in (top, top / "sub"):
            (where / ".gitattributes").write_text(EMPTY_ATTRIBUTES)
            run_git(where, "commit", "-q", "-m", "other attributes", ".gitattributes")


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


async def every_call_of_ours(root: Path, folder: Path) -> None:
    """All that the daemon asks of git before, in and after a turn; what fails is no matter."""
    originals = Originals(folder / "originals")
    watch = TreeWatch(root, originals)
    where, made, top = f"{root}", f"{folder}/made", f"{root.parent if root.name == 'pkg' else root}"

    async def turn() -> None:
        before = await watch.snapshot()
        changes = []
        for name in ("a.txt", "new.txt"):
            path = root / name
            old = originals.keep(path.read_bytes()) if path.exists() else None
            path.write_text("three\n")
            changes.append(FileChange(path=name, before=old, after=originals.keep(b"three\n")))
        await watch.between(before)
        record = f"{originals.path('commit')}"
        order = CommitOrder(
            root=where, record=record, changes=tuple(changes), run_id="r", turn_id="t"
        )
        shut = Hooks(environment={}, turn_id="t", enclosure=None, shut="there is no sandbox")
        await commit_changes(order, originals, shut)
        await commit_changes(order, originals)

    async def merge() -> None:
        at = GitCall(top)
        theirs, ours = await at.commit_of("refs/heads/old"), await at.commit_of("HEAD")
        if theirs is not None and ours is not None:
            # At once: what is prepared before looks for what is named, and is to be no help.
            plan = Plan(branch="old", commit=theirs, into="main", head=ours, contained=False)
            await worktree_merge.merge(top, plan, "marker")

    async def clear() -> None:
        if not Path(top, ".git/worktrees/old").is_dir():
            return
        Path(top, ".git/worktrees/old/locked").write_text("initializing")
        await worktree_remains.clear(top, f"{folder}/old", "old")
        await worktree_remains.forget_branch(top, "old")

    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: git.top_level(where),
        lambda: git.head(where),
        lambda: git.dirty(where),
        lambda: git.tree_digest(where),
        lambda: git.uncommitted(where),
        lambda: vocabulary(where, seconds=HANG_SECONDS),
        lambda: unknown_committer(where),
        lambda: changes_since(top, None, None),
        lambda: git.listed_files(where, 10),
        lambda: search(Workspace(root), "one", environ=os.environ),
        turn,
        lambda: settle_index(where, "t"),
        lambda: git.dirty(where),
        lambda: worktree_merge.prepare(top, "old"),
        merge,
        lambda: look_inside(Worktree(repository=top, directory=f"{folder}/old", branch="old")),
        lambda: git.add_worktree(where, made, "made"),
        lambda: git.worktree_exists(where, made, "made"),
        lambda: git.remove_worktree(where, made, "made", "0" * 40, force=False),
        lambda: git.remove_worktree(where, made, "made", "0" * 40, force=True),
        clear,
    )
    for call in calls:
        with suppress(GitError, worktree_merge.NotMerged):
            await call()


def _pairs() -> list[Any]:
    """Every group in every place; 'make test' has one, beside that whose settings are exchanged
    (test_exchanged_settings)."""
    first = (laid_out, "signing")
    return sampled([first, *(pair for pair in product(PLACES, GROUPS) if pair != first)])


@pytest.mark.parametrize(("place", "group"), _pairs())
async def test_none_is_run_by_the_daemon_s_own_git(
    project: Path, canaries: Canaries, tmp_path: Path, place: Place, group: str
) -> None:
    pick(project, group)
    root = place(project, canaries.settings(*GROUPS[group]))

    await every_call_of_ours(root, tmp_path)

    assert canaries.seen == set()


PLAIN = (
    "status", "diff", "log -p -1", "add a.txt", "commit -q -m x", "worktree add -q ../plain",
    "checkout -q -b y", "-p status", "gc --auto", "fetch --all",
)  # fmt: skip
RUN_BY_PLAIN_GIT = {
    "filters": {"filter.clean", "filter.smudge"},
    "process": {"filter.process"},
    "signing": {"gpg.program"},
    "others": {"core.fsmonitor", "hooks", "diff.x.command", "include"},
    "empty names": {"filter..clean", "filter..smudge", "diff..command"},
    "conditional": {"onbranch", "gitdir"},
}


@pytest.mark.parametrize("group", sampled(GROUPS))
def test_they_are_run_by_a_git_that_is_not_kept_from_it(
    project: Path, canaries: Canaries, group: str
) -> None:
    """Else the tests beside this one would show nothing."""
    later = ("core.fsmonitor", "include", "includeIf")
    ways = [way for way in GROUPS[group] if way.name not in later]
    pick(project, group)
    if group == "conditional":  # each overrules the filter of the other
        in_the_repository(project, canaries.settings(*ways[1:]))
        subprocess.run(
            ["git", "-C", f"{project}", "worktree", "add", "-q", "../another"], check=True
        )
        ways = ways[:1]
    in_the_repository(project, canaries.settings(*ways))
    _plain_git(project)
    if group == "others":
        for name in later[:2]:
            way = next(one for one in OTHERS if one.name == name)
            in_the_repository(project, canaries.settings(way))
            _plain_git(project)

    assert canaries.seen >= RUN_BY_PLAIN_GIT[group]


def _plain_git(where: Path) -> None:
    for command in PLAIN:
        subprocess.run(
            ["git", "-C", f"{where}", *command.split()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )


# What a command in the sandbox writes where it can: $1 is a file with all settings, $2 has hooks.
ATTEMPTS = {
    "the settings": "cat $1 >> .git/config; cp $1 .git/config; git config core.fsmonitor evil",
    "the hooks": (
        "for name in pre-commit post-checkout reference-transaction; do "
        "ln -s $2/$name .git/hooks/$name; done; rm -r .git/hooks; mv .git/hooks .git/h"
    ),
    "the settings of a worktree alone": "cp $1 .git/config.worktree",
    "commondir": "cp -r .git .ev; cat $1 >> .ev/config; echo ../.ev > .git/commondir",
    "another .git": "mv .git g; mkdir .git; cp $1 .git/config; echo 'gitdir: .ev' > .git",
    "settings of a nested one": "cat $1 >> sub/.git/config; cat $1 >> vendor/lib/.git/config",
    "a nested one moved away": "mv sub gone; git init -q sub; cat $1 >> sub/.git/config",
    "a new one in the index": (
        "git init -q new; git -C new commit -q --allow-empty -m x; git add new; "
        "cat $1 >> new/.git/config"
    ),
    "a new one by a link": (
        "git init -q .ev; cat $1 >> .ev/.git/config; mkdir new; "
        "echo 'gitdir: ../.ev/.git' > new/.git"
    ),
    "a module": "git init -q --bare .git/modules/m; cat $1 >> .git/modules/m/config",
    "laid out": (
        "cd pkg; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; "
        "printf '[core]\\nbare = false\\nworktree = .\\n' > config; cat $1 >> config"
    ),
    "remotes of old": "mkdir -p .git/remotes; echo 'URL: ../ev' > .git/remotes/origin",
    "attributes": "echo '* filter=x' > .gitattributes; echo '* filter=x' > .git/info/attributes",
    "a worktree": "git worktree add -q wt; cp $1 .git/worktrees/wt/config.worktree",
    "alternates": (
        "git init -q .o; cat $1 >> .o/.git/config; "
        "echo $PWD/.o/.git/objects > .git/objects/info/alternates"
    ),
}


@pytest.mark.parametrize("attempt", sampled(ATTEMPTS))
async def test_none_that_a_command_leaves_is_run_by_anybody_s_git(
    tmp_path: Path, canaries: Canaries, attempt: str
) -> None:
    """Nor by the person's own, anywhere in the tree."""
    inside = Inside(tmp_path)
    top = inside.project
    for name in ("sub", "vendor/lib"):
        make_repository(top / name)
        (top / name / "b.txt").write_text("b\n")
        commit(top / name, "inner")
    (top / "pkg").mkdir()
    (top / "pkg/c.txt").write_text("c\n")
    commit(top, "with others")
    ways: list[Way] = [way for group in ("others", "filters") for way in GROUPS[group]]
    (top / ".evil").write_text(canaries.settings(*ways))
    command = f"set -- $PWD/.evil {canaries.hooks}; {ATTEMPTS[attempt]}"

    await inside.run(f"export HOME=$PWD; {command}")
    for where in (top, top / "sub", top / "vendor/lib", top / "pkg", top / "new", top / "wt"):
        if where.is_dir():
            (where / "changed.txt").write_text("x\n")
            _plain_git(where)
    await every_call_of_ours(top, tmp_path)

    assert canaries.seen == set(), shlex.join(canaries.seen)
