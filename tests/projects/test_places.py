"""Directories named from afar: absolute, there, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio.testing

from podiumd.projects import places
from podiumd.projects.errors import BadPlace
from podiumd.projects.places import existing_directory, named_directory
from podiumd.projects.resources import Resources
from tests.patience import HANG_SECONDS


async def test_a_directory_is_found_by_its_path_and_from_home(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert await existing_directory(str(tmp_path / "a"), Path("/")) == tmp_path / "a"
    assert await existing_directory("~/a", tmp_path) == tmp_path / "a"
    assert await existing_directory("~", tmp_path) == tmp_path
    assert named_directory("~//etc", tmp_path) == tmp_path / "etc"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("", "no absolute path"),
        ("a", "no absolute path"),
        ("~root/x", "no absolute path"),
        ("/a\0b", "no path"),
        ("/a\ud800", "no path"),
        ("/nowhere/at/all", "is not there"),
        ("/" + "x" * 300, "is not there"),
        ("/dev/null", "is not there"),
    ],
)
async def test_what_is_no_directory_is_refused_in_words(named: str, words: str) -> None:
    with pytest.raises(BadPlace, match=words):
        await existing_directory(named, Path("/"))


@pytest.mark.parametrize("character", "\u200b\n\x1b\u202e\u2060\ufe0f\U000e0041\u3164")
async def test_no_directory_is_made_whose_name_cannot_be_read(
    tmp_path: Path, character: str
) -> None:
    """It is told with what nobody would see; one that is there is taken, whatever it is called."""
    for place in (tmp_path / f"a{character}b" / "c", tmp_path / f"a{character}b"):
        with pytest.raises(BadPlace, match="control or invisible character") as refusal:
            await Resources(tmp_path).put(f"{place}", "a.txt", b"a")
        assert str(refusal.value).isprintable() and character not in str(refusal.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadPlace, match="is not there") as refusal:
        await existing_directory(f"~/a{character}b", tmp_path)
    assert str(refusal.value).isprintable() and character not in str(refusal.value)
    (tmp_path / f"a{character}b").mkdir()
    stored = await Resources(tmp_path).put(f"~/a{character}b", "a.txt", b"a")
    assert Path(stored.path).read_bytes() == b"a"


class DeadShare:
    """Directories that do not answer: whoever looks at one of them is held until ``let_go``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._news = trio.Event()
        self._gate = threading.Event()
        self.asked: list[Path] = []
        monkeypatch.setattr(places, "_is_directory", self._is_directory)

    def _is_directory(self, path: Path) -> bool:
        if path.parts[1] == "share":
            self._token.run_sync_soon(self._asked, path)
            assert self._gate.wait(HANG_SECONDS)
        return True

    def _asked(self, path: Path) -> None:
        self.asked.append(path)
        self._news.set()
        self._news = trio.Event()

    async def looks(self, count: int) -> None:
        """Wait until so many looks were begun."""
        while len(self.asked) < count:
            await self._news.wait()

    def let_go(self) -> None:
        self._gate.set()


@pytest.fixture
async def share(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DeadShare]:
    found = DeadShare(monkeypatch)
    yield found
    found.let_go()


async def refused(path: str) -> None:
    with pytest.raises(BadPlace, match="does not answer"):
        await existing_directory(path, Path("/"))


async def give_up_on(
    share: DeadShare, clock: trio.testing.MockClock, first: int, count: int
) -> None:
    """Ask for directories of the share, and wait for as long as that is done."""
    before = len(share.asked)
    async with trio.open_nursery() as nursery:
        for number in range(first, first + count):
            nursery.start_soon(refused, f"/share/{number}")
        await share.looks(before + count)
        clock.jump(places.LIMIT_SECONDS)


async def test_a_directory_that_does_not_answer_is_refused_and_not_asked_again_meanwhile(
    share: DeadShare, mock_clock: trio.testing.MockClock
) -> None:
    await give_up_on(share, mock_clock, 0, 1)
    await refused("/share/0")
    await refused("/share/0/below")
    assert share.asked == [Path("/share/0")]
    assert await existing_directory("/other", Path("/")) == Path("/other")


async def test_one_that_answers_late_is_asked_again(
    share: DeadShare, mock_clock: trio.testing.MockClock
) -> None:
    await give_up_on(share, mock_clock, 0, 1)
    share.let_go()
    while True:
        with suppress(BadPlace):  # the thread is just about to end
            assert await existing_directory("/share/0", Path("/")) == Path("/share/0")
            break


async def test_a_phone_that_leaves_while_it_waits_leaves_no_second_thread_behind(
    share: DeadShare,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused, "/share/0")
        await share.looks(1)
        nursery.cancel_scope.cancel()
    await refused("/share/0")
    assert share.asked == [Path("/share/0")]


async def test_dead_shares_hold_a_few_threads_and_none_of_the_daemons(
    share: DeadShare, mock_clock: trio.testing.MockClock
) -> None:
    await give_up_on(share, mock_clock, 0, places.MOST_LOOKS)
    await refused("/share/another")
    assert len(share.asked) == places.MOST_LOOKS
    assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
