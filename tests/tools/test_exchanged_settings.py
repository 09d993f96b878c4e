"""Settings are exchanged between the look at them and the git that follows: nothing runs.

Whoever exchanges them is faster here than anybody can be: they are harmless at every look of ours,
and hostile from its end on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.core.run.facts import Worktree
from podiumd.runtime.worktrees.listing import look_inside
from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git import process
from podiumd.tools.git import queries as git
from podiumd.tools.git.changes_since import changes_since
from podiumd.tools.git.queries import GitError
from tests.long import sampled
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import run_git
from tests.tools.test_ways_to_run import (
    PLACES,
    Place,
    canaries,
    every_call_of_ours,
    person,
    pick,
    project,
)
from tests.tools.ways_to_run import GROUPS, Canaries

__all__ = ["canaries", "person", "project"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")

Listed = Callable[[str], Awaitable[Any]]


def between(monkeypatch: pytest.MonkeyPatch, before: Callable[[], object], after: Listed) -> None:
    """Have ``before`` called at each look at settings, and ``after`` when it is over."""
    real: Listed = process._listed

    async def listed(path: str) -> Any:
        before()
        found = await real(path)
        await after(path)
        return found

    monkeypatch.setattr(process, "_listed", listed)


class Exchange:
    """The files below a tree that a place makes hostile, and what they were before."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._files = (
            *(".git/config", ".git/config.worktree", ".git/commondir", "sub/.git/config"),
            *("pkg/.git", "pkg/HEAD"),
        )
        self._was = self._now()
        self._hostile: dict[Path, bytes | None] = {}

    def note(self) -> None:
        self._hostile = {
            path: data for path, data in self._now().items() if data != self._was[path]
        }
        assert self._hostile

    def harmless(self) -> None:
        self._put({path: self._was[path] for path in self._hostile})

    async def hostile(self, _path: str) -> None:
        self._put(self._hostile)

    def _now(self) -> dict[Path, bytes | None]:
        paths = [self._tree / name for name in self._files]
        return {path: path.read_bytes() if path.is_file() else None for path in paths}

    @staticmethod
    def _put(files: dict[Path, bytes | None]) -> None:
        for path, data in files.items():
            if data is None:
                path.unlink(missing_ok=True)
                continue
            draft = path.with_name("draft")
            draft.write_bytes(data)
            draft.replace(path)


@pytest.mark.parametrize("place", sampled(PLACES))
@pytest.mark.parametrize("group", sampled(GROUPS))
async def test_no_exchange_has_the_daemon_s_own_git_run_anything(
    project: Path,
    canaries: Canaries,
    tmp_path: Path,
    place: Place,
    group: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pick(project, group)
    exchange = Exchange(project)
    root = place(project, canaries.settings(*GROUPS[group]))
    exchange.note()
    between(monkeypatch, exchange.harmless, exchange.hostile)

    await every_call_of_ours(root, tmp_path)

    assert canaries.seen == set()


FLIPPING = """
set -e
git init -q nest; cd nest; git config user.name a; git config user.email b
printf one > a; git add a; git commit -qm 1; cd ..
git update-index --add --cacheinfo 160000,$(git -C nest rev-parse HEAD),nest
printf '* filter=x\\n' | tee .gitattributes > nest/.git/info/attributes
printf '[filter "x"]\\n\\tclean = touch {canary}; cat\\n' > evil
: > .gitconfig; cp nest/.git/config good; cat nest/.git/config evil > bad
: > begun
while read -r which < go; do
  if [ $which = evil ]; then cp bad nest/.git/n; cp evil n; else cp good nest/.git/n; : > n; fi
  mv nest/.git/n nest/.git/config; mv n .gitconfig
  touch a.txt nest/a
  echo done > gone
done
"""


@pytest.fixture
def boxed(tmp_path: Path) -> Inside:
    return Inside(tmp_path)


Look = Callable[[Path], Awaitable[object]]
LOOKS: dict[str, Look] = {
    "what differs": git.dirty,
    "what is not committed": git.uncommitted,
    "the digest of a tree": git.tree_digest,
    "podium diff": lambda tree: changes_since(f"{tree}", None, None),
    "a native command's own look": lambda tree: TreeWatch(
        tree, Originals(tree.parent / "originals")
    ).snapshot(),
    "podium worktree list": lambda tree: look_inside(
        Worktree(repository=f"{tree.parent}/origin", directory=f"{tree}", branch="side")
    ),
}


@pytest.mark.parametrize("name", sampled(LOOKS))
async def test_a_command_that_runs_meanwhile_wins_nothing(
    boxed: Inside, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In the sandbox, through a file that the person's settings of the repository include, and
    through a repository that the command has made."""
    origin, tree = boxed.project.rename(boxed.home / "origin"), boxed.home / "side"
    run_git(origin, "config", "include.path", f"{tree}/.gitconfig")
    run_git(origin, "worktree", "add", "-q", "-b", "side", f"{tree}")
    canary = boxed.home / "canary"
    for fifo in ("go", "gone", "begun"):
        os.mkfifo(tree / fifo)
    monkeypatch.setenv("HOME", f"{boxed.home}")
    (boxed.home / ".gitconfig").unlink()

    def flip(which: str) -> None:
        (tree / "go").write_text(f"{which}\n")
        (tree / "gone").read_text()

    async def hostile(_path: str) -> None:
        await trio.to_thread.run_sync(flip, "evil")

    between(monkeypatch, lambda: flip("harmless"), hostile)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(boxed.run, FLIPPING.replace("{canary}", f"{canary}"), tree)
        await trio.to_thread.run_sync((tree / "begun").read_text)
        flip("harmless")
        for _ in range(2):
            with suppress(GitError):
                await LOOKS[name](tree)
        assert not canary.exists()
        # What the daemon's git is kept from, a plain one does in the same place.
        flip("evil")
        for where in (tree, tree / "nest"):
            subprocess.run(["git", "-C", f"{where}", "status"], check=False, capture_output=True)
            assert canary.exists()
            canary.unlink()
        nursery.cancel_scope.cancel()
