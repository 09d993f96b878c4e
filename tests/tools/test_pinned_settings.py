"""A repository's settings are pinned for one git: what it reads is what was looked at."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.tools.git import pinned_settings, process
from podiumd.tools.git import queries as git
from podiumd.tools.git.pinned_settings import Listings, Pins, repository_at, settings_text
from podiumd.tools.git.process import PINS, GitCall
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import run_git, set_for_person

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the daemon's git has what it is given."""
    monkeypatch.setattr(PINS, "_place", None)
    path = tmp_path / "pins"
    PINS.keep_in(path)
    return path


def listing_of(file: Path) -> bytes:
    return subprocess.run(
        ["git", "config", "--file", f"{file}", "-z", "--list"], check=True, capture_output=True
    ).stdout


_VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
_SUBSECTIONS = st.text(
    st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), max_size=10
)


@given(st.lists(st.tuples(_SUBSECTIONS, _VALUES), max_size=5))
def test_git_reads_the_same_settings_in_what_is_written_for_it(
    tmp_path_factory: pytest.TempPathFactory, settings: list[tuple[str, str]]
) -> None:
    listing = b'core.bare\0user.name\nA "Person" # ; \\ \r\0'
    listing += "".join(f"remote.{name}.url\n{value}\0" for name, value in settings).encode()
    file = tmp_path_factory.getbasetemp() / "written"

    file.write_bytes(settings_text(listing))

    assert listing_of(file) == listing


def test_what_names_programs_or_leads_to_further_settings_is_left_out() -> None:
    listing = (
        b"core.bare\nfalse\0filter.x.clean\nevil\0filter.x.required\ntrue\0include.path\n../evil\0"
        b"includeif.gitdir:a.b.path\n/evil\0extensions.worktreeconfig\ntrue\0core.worktree\n..\0"
        b"core.hookspath\n.husky\0gpg.program\nevil\0core.autocrlf\ninput\0"
    )

    text = settings_text(listing).decode()

    assert text.splitlines() == [
        *("[core]", '\tbare = "false"', '[filter "x"]', '\trequired = "true"'),
        *("[core]", '\tautocrlf = "input"'),
    ]


def test_a_repository_is_found_where_git_finds_it(repository: Path, tmp_path: Path) -> None:
    below = repository / "sub/deep"
    below.mkdir(parents=True)
    run_git(repository, "worktree", "add", "-q", "../side")
    (repository / "sub/.git").mkdir()  # of nothing: git goes on above it
    common = f"{repository}/.git"

    assert repository_at(f"{below}") == (common, common, f"{repository}")
    side = repository_at(f"{tmp_path}/side")
    assert side == (f"{common}/worktrees/side", common, f"{tmp_path}/side")
    assert repository_at(f"{tmp_path}") is None


@pytest.mark.parametrize("said", ["gitdir: nowhere\n", "gitdir: a\0b\n", "nothing"])
def test_a_link_that_leads_nowhere_is_no_repository(repository: Path, said: str) -> None:
    inner = repository / "inner"
    inner.mkdir()
    (inner / ".git").write_text(said)

    assert repository_at(f"{inner}") is None


async def test_git_outside_of_any_says_what_it_always_says(tmp_path: Path) -> None:
    done = await GitCall(f"{tmp_path}").run("status")

    assert done.returncode == 128 and b"not a git repository" in done.stderr


async def test_looks_share_one_for_as_long_as_it_is_as_it_would_be_made(
    repository: Path, place: Path
) -> None:
    (repository / "a.txt").write_text("two\n")

    assert await git.dirty(repository) == ["a.txt"]
    first = list(place.iterdir())
    assert await git.dirty(repository) == ["a.txt"]
    assert list(place.iterdir()) == first and len(first) == 1

    (repository / ".git/new").touch()
    assert await git.dirty(repository) == ["a.txt"]
    then = list(place.iterdir())
    assert len(then) == 1 and then != first

    run_git(repository, "config", "core.fileMode", "false")
    assert await git.dirty(repository) == ["a.txt"]
    assert len(list(place.iterdir())) == 2


async def test_what_writes_has_one_of_its_own_of_which_nothing_is_left(
    repository: Path, place: Path
) -> None:
    await GitCall(f"{repository}").out("reset", "--hard", "--quiet")

    assert list(place.iterdir()) == []


async def test_no_more_are_kept_than_have_room(
    repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned_settings, "MOST_SHARED", 2)
    for number in range(4):
        run_git(repository, "config", "a.b", f"{number}")
        await git.dirty(repository)

    assert len(list(place.iterdir())) == 2


def test_what_is_linked_is_read_anew_only_where_a_directory_has_changed(
    repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", 0)
    read, usual = list[str](), pinned_settings._entries

    def entries(directory: str) -> frozenset[str]:
        read.append(directory)
        return usual(directory)

    found = repository_at(f"{repository}")
    assert found is not None
    one = PINS.make(found, b"")
    assert PINS.let_go(one, wrote=False) == []
    monkeypatch.setattr(pinned_settings, "_entries", entries)
    for _ in range(2):
        assert PINS.shared(found, b"") is one and PINS.let_go(one, wrote=False) == []
    assert read == []
    other = shutil.copytree(repository / ".git", repository / "other", symlinks=True)
    (repository / ".git").rename(repository / "before")
    other.rename(repository / ".git")  # its time may be that of before, within one tick
    (repository / ".git/new").touch()
    assert PINS.shared(found, b"") is None and read == [f"{repository}/.git"]


def test_one_that_is_in_use_twice_is_let_go_once(repository: Path, place: Path) -> None:
    found = repository_at(f"{repository}")
    assert found is not None
    one = PINS.make(found, b"")
    assert PINS.let_go(one, wrote=False) == []
    assert PINS.shared(found, b"") is one and PINS.shared(found, b"") is one
    (repository / ".git/new").touch()

    assert PINS.shared(found, b"") is None
    assert PINS.let_go(one, wrote=False) == []
    assert PINS.let_go(one, wrote=False) == [one]


def test_two_that_were_made_at_once_are_one_afterwards(repository: Path, place: Path) -> None:
    found = repository_at(f"{repository}")
    assert found is not None
    one, other = PINS.make(found, b""), PINS.make(found, b"")

    assert PINS.let_go(one, wrote=False) == []
    assert PINS.let_go(other, wrote=False) == [other]


def test_one_that_is_as_it_should_be_takes_the_place_of_one_that_is_not(
    repository: Path, place: Path
) -> None:
    found = repository_at(f"{repository}")
    assert found is not None
    old = PINS.make(found, b"")
    PINS.let_go(old, wrote=False)
    assert PINS.shared(found, b"") is old
    (repository / ".git/new").touch()
    new = PINS.make(found, b"")

    assert PINS.let_go(new, wrote=False) == []
    assert PINS.shared(found, b"") is new
    assert PINS.let_go(old, wrote=False) == [old]


def test_one_without_a_repository_is_not_used_again(repository: Path, place: Path) -> None:
    found = repository_at(f"{repository}")
    assert found is not None
    one = PINS.make(found, b"")
    (repository / ".git").rename(repository / "gone")

    assert PINS.let_go(one, wrote=False) == [one]


async def test_settings_hold_as_they_did(repository: Path, place: Path) -> None:
    run_git(repository, "config", "core.fileMode", "false")
    (repository / "a.txt").chmod(0o755)
    assert await git.dirty(repository) == []

    run_git(repository, "config", "core.fileMode", "true")
    assert await git.dirty(repository) == ["a.txt"]


async def test_a_tree_that_the_settings_name_is_the_one_looked_at(
    repository: Path, tmp_path: Path, place: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.txt").write_text("other\n")
    run_git(repository, "config", "core.worktree", "../../elsewhere")

    done = await GitCall(f"{elsewhere.parent}/repository").out("diff-index", "--name-only", "HEAD")

    assert done == b"a.txt\n"


async def test_a_repository_without_a_tree_has_none_for_us_either(
    repository: Path, place: Path
) -> None:
    run_git(repository, "config", "core.bare", "true")

    done = await GitCall(f"{repository}").run("status")

    assert b"must be run in a work tree" in done.stderr


async def test_what_the_person_s_own_filter_keeps_beside_the_repository_is_kept(
    repository: Path, home: Path, place: Path
) -> None:
    """As git-lfs keeps the contents that stand for none in the commit."""
    keep = 'd=$(git rev-parse --git-common-dir)/lfs; mkdir -p "$d"; tee "$d/kept"'
    set_for_person(home, "filter.keep.clean", keep)
    (repository / ".gitattributes").write_text("*.bin filter=keep\n")

    await GitCall(f"{repository}").out("hash-object", "-w", "--stdin", "--path=a.bin", stdin=b"big")
    assert (repository / ".git/lfs/kept").read_bytes() == b"big"

    await GitCall(f"{repository}").out("hash-object", "-w", "--stdin", "--path=a.bin", stdin=b"own")
    assert (repository / ".git/lfs/kept").read_bytes() == b"own"


async def test_a_look_leaves_nothing_in_the_repository(
    repository: Path, home: Path, place: Path
) -> None:
    set_for_person(home, "filter.keep.clean", 'touch "$(git rev-parse --git-common-dir)/new"; cat')
    (repository / ".gitattributes").write_text("*.txt filter=keep\n")
    (repository / "a.txt").write_text("two\n")

    assert await git.dirty(repository) != []
    assert not (repository / ".git/new").exists()


def test_what_a_killed_daemon_has_left_goes_at_the_next_start(
    repository: Path, place: Path
) -> None:
    found = repository_at(f"{repository}")
    assert found is not None
    PINS.make(found, b"core.bare\nfalse\0")
    assert len(list(place.iterdir())) == 1

    pins = Pins()
    pins.keep_in(place)
    new = pins.make(found, b"core.bare\nfalse\0")
    assert len(list(place.iterdir())) == 2  # its gits may read there still
    pins.clear()

    assert list(place.iterdir()) == [Path(new.variables["GIT_COMMON_DIR"])]
    assert (repository / ".git/objects").is_dir()


def test_what_cannot_be_made_leaves_nothing(repository: Path, place: Path) -> None:
    found = repository_at(f"{repository}")
    assert found is not None

    with pytest.raises(FileNotFoundError):
        PINS.make(found._replace(common=f"{repository}/gone"), b"")

    assert list(place.iterdir()) == []


async def test_settings_are_listed_once_while_nobody_changes_them(
    repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = process._listed

    async def listed(path: str) -> Any:
        asked.append(path)
        return await real(path)

    monkeypatch.setattr(process, "_listed", listed)
    await git.dirty(repository)
    fresh = len(asked)
    await git.dirty(repository)
    assert len(asked) > fresh  # within a tick of the clock a change would not be seen

    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", -HANG_SECONDS * 10**9)
    await git.dirty(repository)
    known = len(asked)
    await git.dirty(repository)
    assert len(asked) == known

    (repository / "a.txt").chmod(0o755)
    run_git(repository, "config", "core.fileMode", "false")
    assert await git.dirty(repository) == []
    run_git(repository, "config", "include.path", "more")
    (repository / ".git/more").write_text("[core]\n\tfileMode = true\n")
    assert await git.dirty(repository) == ["a.txt"]
    (repository / ".git/more").write_text("[core]\n\tfileMode = false\n")
    assert await git.dirty(repository) == []


def test_no_more_listings_are_remembered_than_have_room(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pinned_settings, "MOST_LISTINGS", 1)
    monkeypatch.setattr(pinned_settings, "_SETTLED_NS", -HANG_SECONDS * 10**9)
    listings, found = Listings(), repository_at(f"{repository}")
    assert found is not None
    other = found._replace(top="/elsewhere")

    for one in (found, other):
        listings.keep(one, listings.stamp(one), b"core.bare\nfalse\0")

    told = [listings.get(one, listings.stamp(one)) for one in (found, other)]
    assert told == [None, b"core.bare\nfalse\0"]


async def test_a_repository_with_more_in_it_than_is_linked_is_one_nevertheless(
    repository: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(repository, "pack-refs", "--all")
    (repository / "a.txt").write_text("two\n")
    monkeypatch.setattr(pinned_settings, "MOST_ENTRIES", 1)

    assert await git.dirty(repository) == ["a.txt"]
    assert await git.head(repository) == run_git(repository, "rev-parse", "HEAD")
