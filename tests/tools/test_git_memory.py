"""No git of ours takes more memory than its bound, and as many at once as another one says."""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.tools.git import process
from podiumd.tools.git.at_work import AT_WORK, Reach
from podiumd.tools.git.beside import Confined
from podiumd.tools.git.process import GitCall, GitError
from podiumd.tools.process import in_thread

GIGABYTES = 3 * 1024**3
ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the system has no such bound")


def lying_commit(repository: Path) -> str:
    """Put a commit there that says of itself that it has gigabytes."""
    content = b"commit %d\0tree" % GIGABYTES
    name = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    place = repository / ".git/objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(content))
    return name


@ONLY_LINUX
@pytest.mark.parametrize("beside", [False, True])
async def test_a_git_that_is_to_take_gigabytes_gives_up_and_that_is_said(
    repository: Path, beside: bool
) -> None:
    name, call = lying_commit(repository), GitCall(f"{repository}")
    reach = Reach("bwrap", f"{repository}")
    if beside:
        AT_WORK.begin(reach)
    try:
        with pytest.raises(GitError, match=r"git cat-file .* asked for more than 2 GB of memory"):
            # It reads what is asked for only once it has its bound, whenever that came.
            await call.run("cat-file", "--batch", stdin=f"{name}\n".encode())
        with pytest.raises(GitError, match="failed with status 128"):
            await call.beginning(10, "cat-file", "commit", name)
        assert (await call.run("status", "--short")).returncode == 0
    finally:
        AT_WORK.end(reach)


async def test_gits_beyond_a_number_wait_until_others_are_over(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "AT_ONCE", trio.CapacityLimiter(2))
    include = tmp_path / "waits"
    os.mkfifo(include)
    waits = ["git", "-C", f"{repository}", "config", "--file", f"{include}", "--list"]
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(process._run, waits, {"PATH": os.environ["PATH"]})
        await wait_all_tasks_blocked()
        assert process.AT_ONCE.borrowed_tokens == 2
        assert process.AT_ONCE.statistics().tasks_waiting == 1
        nursery.cancel_scope.cancel()
    assert process.AT_ONCE.borrowed_tokens == 0


@pytest.mark.parametrize("confined", [False, True])
async def test_a_git_that_prints_more_than_the_daemon_holds_is_ended_and_that_is_said(
    repository: Path, confined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_thread, "MOST_PRINTED", 1000)
    asked = ["git", "-C", f"{repository}", "cat-file", "--batch-check"]
    how = Confined(("env",)) if confined else None
    environment = {"PATH": os.environ["PATH"]}
    with pytest.raises(
        GitError, match=f"git cat-file .* in '{repository}' printed more than 64 MB"
    ):
        await process._run(asked, environment, b"HEAD\n" * 1000, how)
    done = await process._run(asked, environment, b"HEAD\n", how)
    assert (done.returncode, len(done.stdout)) == (0, 52)
