"""What a repository's own settings name is told from the rest, and kept from running."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.tools.git import queries as git
from podiumd.tools.git.process import GitCall
from podiumd.tools.git.queries import GitError
from podiumd.tools.git.settings import cut_short, kept_from, named_programs, runs_nothing, within
from tests.long import sampled
from tests.tools.git_repository import begun, run_git, set_for_person

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One whose files go through the filter ``x``."""
    return begun(tmp_path / "repository", {".gitattributes": "*.x filter=x\n", "a.x": "plain\n"})


def test_settings_that_name_a_program_are_found_among_the_others() -> None:
    listing = (
        b"core.bare\nfalse\0filter.a b.clean\nx\ny\0filter.x.smudge\n\0gpg.program\ng\0alias.x"
    )

    assert named_programs(listing + b"\0") == {"filter.a b.clean": "x\ny", "gpg.program": "g"}


def test_a_filter_is_left_out_to_look_and_refused_to_write_or_confined() -> None:
    named = {"filter.x.clean": "evil", "merge.m.driver": "evil"}

    looking, writing = kept_from(named, ["status"]), kept_from(named, ["worktree", "add"])
    inside = kept_from(named, ["hash-object", "--path=a"], lambda command: f"box {command}")

    assert looking[:2] == ["filter.x.required=false", "filter.x.clean="]
    assert writing[0] == "filter.x.required=true" and writing[1].endswith("exit 1")
    assert inside[:2] == ["filter.x.required=true", "filter.x.clean=box evil"]
    assert all(settings[2].endswith("exit 1") for settings in (looking, writing, inside))


def test_a_hook_that_settings_name_is_disabled_and_ends_no_command() -> None:
    assert kept_from({"hook.a b.command": "evil"}, ["update-ref"]) == ["hook.a b.enabled=false"]


@pytest.mark.parametrize(
    ("command", "nothing"),
    [
        ("rev-parse HEAD", True),
        ("hash-object -w --stdin", True),
        ("hash-object -w --stdin --path=a", False),
        ("cat-file blob x", True),
        ("cat-file --filters x", False),
        ("ls-files --others", True),
        ("ls-files --modified", False),
        ("update-index --index-info", False),
        ("update-index --refresh", False),
        ("status", False),
        ("diff-tree -r a b", True),
        ("diff-tree -r -p a b", False),
        ("worktree add --quiet --no-checkout -- a b", False),
        ("worktree add --quiet -- a b", False),
        ("worktree remove --force -- a", False),
        ("worktree remove -- a", False),
        ("worktree unlock -- a", True),
        ("worktree move a b", False),
        ("branch --delete a", False),
        ("branch a", False),
        ("symbolic-ref --quiet HEAD", True),
        ("symbolic-ref HEAD refs/heads/a", False),
        ("update-ref HEAD a", False),
        ("read-tree a", False),
        ("write-tree", False),
        ("whatever-comes", False),
    ],
)
def test_what_is_not_known_to_run_nothing_is_kept_from_it(command: str, nothing: bool) -> None:
    assert runs_nothing(command.split()) == nothing


async def test_a_filter_of_the_repository_is_not_run_and_nothing_goes_by_it(
    repository: Path, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    for name in ("clean", "smudge", "process"):
        run_git(repository, "config", f"filter.x.{name}", f"touch {canary}; cat")
    (repository / "a.x").write_text("other\n")

    changed = await git.dirty(repository)
    with pytest.raises(GitError, match="Podium runs nothing outside of the sandbox"):
        await git.add_worktree(str(repository), str(tmp_path / "w"), "side")
    added = await GitCall(str(repository)).run("hash-object", "-w", "--stdin", "--path=a.x")

    assert changed == ["a.x"] and added.returncode != 0
    assert not canary.exists() and not (tmp_path / "w").exists()


@pytest.mark.parametrize("condition", sampled(["onbranch:podium/**", "gitdir:**/worktrees/**"]))
async def test_settings_that_hold_in_a_new_worktree_alone_count_there(
    repository: Path, tmp_path: Path, condition: str
) -> None:
    """For the checkout, and for the look of a git that another git starts there."""
    canary, side = tmp_path / "canary", tmp_path / "side"
    evil = "".join(f'\t{name} = "touch {canary}; cat"\n' for name in ("clean", "smudge"))
    (tmp_path / "evil").write_text(f'[filter "x"]\n{evil}')
    await git.add_worktree(str(repository), str(side), "podium/side")
    run_git(repository, "config", f"includeIf.{condition}.path", f"{tmp_path}/evil")

    with pytest.raises(GitError, match="Podium runs nothing outside of the sandbox"):
        await git.add_worktree(str(repository), str(tmp_path / "w"), "podium/w")
    (side / "a.x").write_text("other\n")
    with pytest.raises(GitError):
        await git.remove_worktree(str(repository), str(side), "podium/side", "0" * 40, force=False)

    assert not canary.exists() and not (tmp_path / "w").exists()
    assert (side / "a.x").read_text() == "other\n"


async def test_a_filter_of_the_persons_own_runs_as_ever(
    repository: Path, tmp_path: Path, home: Path
) -> None:
    for name, other in (("clean", "tr b a"), ("smudge", "tr a b")):
        set_for_person(home, f"filter.x.{name}", other)

    await git.add_worktree(str(repository), str(tmp_path / "w"), "side")

    assert (tmp_path / "w/a.x").read_text() == "plbin\n"
    assert await git.dirty(tmp_path / "w") == []


async def test_settings_of_one_worktree_alone_count_too(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "config", "extensions.worktreeConfig", "true")
    run_git(repository, "config", "--worktree", "filter.x.clean", f"touch {tmp_path}/canary; cat")
    (repository / "a.x").write_text("other\n")

    assert await git.dirty(repository) == ["a.x"]
    assert not (tmp_path / "canary").exists()


async def test_a_filter_whose_name_cannot_be_overruled_is_an_error(repository: Path) -> None:
    run_git(repository, "config", "filter.a=b.clean", "evil")

    with pytest.raises(GitError, match=r"cannot be overruled: .filter\.a=b\.clean."):
        await git.dirty(repository)


@pytest.mark.parametrize("pointer", ["commondir", "objects"])
async def test_a_directory_that_is_laid_out_as_a_repository_is_none(
    tmp_path: Path, pointer: str
) -> None:
    """Whatever git it is: older ones than 2.38 know no setting against it."""
    for name in ("objects", "refs") if pointer == "objects" else ("x/objects", "x/refs"):
        (tmp_path / "laid" / name).mkdir(parents=True)
    if pointer == "commondir":
        (tmp_path / "laid/commondir").write_text("x\n")
    (tmp_path / "laid/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "laid/sub").mkdir()
    assert run_git(tmp_path / "laid", "rev-parse", "--is-bare-repository") == "true"

    assert await git.top_level(tmp_path / "laid/sub") is None
    with pytest.raises(GitError, match=r"cannot use bare repository '.*/laid'"):
        await git.dirty(tmp_path / "laid/sub")


@pytest.mark.parametrize("name", ["diff", "diff-files", "diff-index", "status"])
def test_no_look_goes_into_submodules(name: str) -> None:
    """By ``.gitmodules`` one can be looked into whatever the settings say, but not then."""
    assert within([name, "-z"]) == [name, "--ignore-submodules=dirty", "-z"]
    assert within([name, "--ignore-submodules=all"]) == [name, "--ignore-submodules=all"]
    assert within(["ls-files", "-z"]) == ["ls-files", "-z"]


@pytest.mark.parametrize("name", sampled(["x.Clean", "x.", "x.cl ean", "", "x.clean.1"], 2))
async def test_a_name_with_a_nul_byte_arms_nothing_and_is_refused(
    repository: Path, tmp_path: Path, name: str
) -> None:
    """Git lists it up to there; written down again it would be the name of a program."""
    canary = tmp_path / "canary"
    run_git(repository, "config", "include.path", "../.gitconfig")
    text = f'[filter "{name}\0"]\n\tfoo = "touch {canary}; cat"\n'
    (repository / ".gitconfig").write_text(text)
    (repository / "a.x").write_text("changed\n")

    for call in (git.dirty, git.uncommitted):
        with pytest.raises(GitError, match="NUL byte"):
            await call(f"{repository}")
    assert not canary.exists()


def test_names_as_git_says_them_are_whole() -> None:
    assert cut_short(b"core.bare\nfalse\0filter.A b\xff.clean\nx\0a-1.b2\0\0") is None
