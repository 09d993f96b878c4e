"""Settings that include a pipe: no git of ours waits at it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from podiumd.tools.git import process, waits
from podiumd.tools.git import queries as git
from podiumd.tools.git import waits as git_waits
from podiumd.tools.git.pinned_settings import repository_at
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.waits import included_in, waiting_settings, waiting_within
from tests.tools.git_repository import begun, make_repository, run_git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return begun(tmp_path / "repo", {"a.txt": "a\n"})


def add(repo: Path, lines: str, name: str = ".git/config") -> None:
    with (repo / name).open("a") as file:
        file.write(lines)


WAYS = {
    "relative": "[include]\n\tpath = ../pipe\n",
    "absolute": "[include] path = {repo}/pipe\n",
    "in the home": "[include]\npath=~/repo/pipe # a comment\n",
    "quoted": '[Include]\n\tPath = "../"pi"p"e ; a comment\n',
    "continued": "[include]\n\tpath = ../p\\\nipe\n",
    "conditional": '[includeIf "gitdir:/[nowhere] \\" ]"]\n\tpath = ../pipe\n',
    "among others": '[a]\n\tb = "[include]"\n[include]\n\tpath = ../none\n\tpath = ../pipe\n',
    "in an included one": "[include]\n\tpath = ../more\n",
}


@pytest.mark.parametrize("way", WAYS)
async def test_git_is_not_run_where_settings_include_a_pipe(
    repo: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", f"{repo.parent}")
    os.mkfifo(repo / "pipe")
    (repo / "more").write_text("[include]\n\tpath = pipe\n")
    add(repo, WAYS[way].format(repo=repo))

    said = f"would wait for ever at '{repo}/(.git/../)?pipe'"
    with pytest.raises(GitError, match=said):
        await git.dirty(repo)
    with pytest.raises(GitError, match=said):
        await git.head(repo)
    with pytest.raises(GitError, match=said):
        await GitCall(f"{repo}").beginning(10, "diff")
    (repo / "pipe").unlink()
    (repo / "pipe").write_text("[user]\n\tname = included\n")
    assert await git.dirty(repo) == ["more", "pipe"]


async def test_nor_where_those_of_a_worktree_do(repo: Path) -> None:
    run_git(repo, "config", "extensions.worktreeConfig", "true")
    run_git(repo, "worktree", "add", "-q", "../side")
    os.mkfifo(repo.parent / "side/pipe")
    add(
        repo,
        f"[include]\n\tpath = {repo.parent}/side/pipe\n",
        ".git/worktrees/side/config.worktree",
    )

    assert await git.dirty(repo) == []
    with pytest.raises(GitError, match="would wait for ever"):
        await git.head(repo.parent / "side")


@pytest.mark.parametrize("where", [".git/refs/heads/other", "pipe"])
async def test_one_that_comes_later_ends_the_git_that_waits_and_is_named(
    repo: Path, mock_clock: MockClock, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the git, or where nobody looks before: among what git itself keeps."""
    if where == "pipe":
        add(repo, "[include]\n\tpath = ../pipe\n")
        monkeypatch.setattr(process, "fault_at", lambda *_: "")
    os.mkfifo(repo / where)
    writers = []

    async def let_time_pass() -> None:
        writers.append(await trio.to_thread.run_sync(os.open, repo / where, os.O_WRONLY))
        mock_clock.jump(process.LOOK_SECONDS)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(let_time_pass)
        with pytest.raises(GitError, match=f"would wait for ever at '{repo}/.*{where[-4:]}"):
            await GitCall(f"{repo}").out("rev-list", "--all", "HEAD")

    with pytest.raises(BrokenPipeError):  # nobody reads any more
        os.write(writers[0], b"x")
    os.close(writers[0])


def test_all_that_git_keeps_is_looked_through(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = repo / ".git/objects/info/commit-graph"
    os.mkfifo(pipe)

    assert waiting_within([f"{repo}/sub", f"{repo}/.git"]) == f"{pipe}"

    monkeypatch.setattr(git_waits, "MOST_DIRECTORIES", 1)
    assert waiting_within([f"{repo}/.git"]) is None


@pytest.mark.parametrize(
    "listed",
    [
        "../../others/a\n",
        "# no\n\n{}/a\n",
        '"{}/\\141"\n',
        '"{}/a"',
        '"{}/none"x"{}/a"\n',
        '"\\8"\n"\\400"\n"{}\n{}/a\n',
        "{}/\udcff\n{}/a\n",
        "x" * 5000 + "\n{}/a\0\n",
        "".join(f"{{}}/none/{number}\n" for number in range(150)) + "{}/a",
    ],
)
def test_objects_that_are_elsewhere_are_looked_through_too(repo: Path, listed: str) -> None:
    others = repo / "others"
    for name in ("a/info", "b", "linked", "../othersx"):
        (others / name).mkdir(parents=True)
    (others / "a/info/alternates").write_text(f"{others}/b\n{others}/a\n")
    (others / "b/00").symlink_to(others / "linked")
    (others / "linked/00").symlink_to(others)
    written = os.fsencode(listed.replace("{}", f"{others}"))
    (repo / ".git/objects/info/alternates").write_bytes(written)
    assert waiting_within([f"{repo}/.git"]) is None

    os.mkfifo(others / "linked/11")
    assert waiting_within([f"{repo}/.git"]) == f"{others}/b/00/11"


def test_what_leads_nowhere_among_objects_is_passed_over(repo: Path) -> None:
    """A name that is too long, a loop, what is shut, what git does not read, and no file at all."""
    objects = repo / ".git/objects"
    (objects / "aa").symlink_to("b" * 300)
    (objects / "bb").symlink_to("bb")
    (objects / "cc").symlink_to(".")
    (objects / "dd").symlink_to(repo / "shut/below")
    (objects / "link").symlink_to("/")
    (repo / "shut/below").mkdir(parents=True)
    (repo / "shut").chmod(0)
    (objects / "info/alternates").write_bytes(b'"\\8"\n"\\000"\n\xff\n')
    try:
        assert waiting_within([f"{repo}/gone", f"{repo}/.git"]) is None
        os.mkfifo(objects / "pack/x.idx")
        assert waiting_within([f"{repo}/gone", f"{repo}/.git"]) == f"{objects}/pack/x.idx"
    finally:
        (repo / "shut").chmod(0o700)


@pytest.mark.parametrize("name", ["MOST_PLACES", "MOST_NAMED"])
def test_as_many_places_are_looked_at_as_there_may_be(
    repo: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Those that there are: the repository, two that it names, of three names in all."""
    for place in ("one", "two"):
        (repo / place).mkdir()
    os.mkfifo(repo / "two/pipe")
    listed = "".join(f"{repo}/{place}\n" for place in ("one", "none", "two"))
    (repo / ".git/objects/info/alternates").write_text(listed)
    monkeypatch.setattr(git_waits, name, 3)
    assert waiting_within([f"{repo}/.git"]) == f"{repo}/two/pipe"

    monkeypatch.setattr(git_waits, name, 2)
    assert waiting_within([f"{repo}/.git"]) is None


def test_what_is_looked_at_is_bounded(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = repository_at(f"{repo}")
    assert repository is not None
    os.mkfifo(repo / "pipe")
    add(
        repo,
        "[include]\n\tpath = one\n\tpath = ../pipe\n\tpath = config\n\tpath = a\0b\n\tpath =\n",
    )
    assert waiting_settings(repository) == f"{repo}/.git/../pipe"

    monkeypatch.setattr(waits, "MOST_INCLUDED", 2)

    assert waiting_settings(repository) is None


TEXT = st.text('ab \\";#n[]=/.~é', max_size=12).filter(lambda text: text[-1:] != "\\")


@given(st.lists(st.tuples(st.sampled_from(["path", "PATH", "other"]), TEXT), max_size=5))
def test_what_is_included_is_what_git_would_say(settings: list[tuple[str, str]]) -> None:
    lines = "".join(f"\t{key} = {value}\n" for key, value in settings)
    text = f'[a "include"]\npath = no\n[include]\n{lines}'.encode()
    told = subprocess.run(
        ["git", "config", "-f", "-", "--no-includes", "-z", "--get-all", "include.path"],
        input=text,
        capture_output=True,
        check=False,
    )
    if told.returncode in (0, 1):
        assert included_in(text) == told.stdout.split(b"\0")[:-1]


def test_a_link_among_objects_to_the_root_of_all_is_looked_at_as_far_as_git_reads_there(
    tmp_path: Path,
) -> None:
    repo = make_repository(tmp_path / "repo")
    root = tmp_path / "root/sub/sub"
    root.mkdir(parents=True)
    os.mkfifo(root / "pipe")
    (repo / ".git/objects/00").symlink_to(root.parents[1])
    assert waiting_within([f"{repo}/.git"]) is None

    os.mkfifo(root.parents[1] / "pipe")
    assert waiting_within([f"{repo}/.git"]) == f"{repo}/.git/objects/00/pipe"
