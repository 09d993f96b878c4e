"""The watch: what happens below the roots rings, whatever is there at the start."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from watchdog.events import FileModifiedEvent
from watchdog.observers.api import BaseObserver

from podiumd.sessions.index import watch as watching
from podiumd.sessions.index.watch import Changes, TreeWatch, watch_trees
from tests.patience import HANG_SECONDS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "projects"
    path.mkdir()
    return path


@asynccontextmanager
async def armed(root: Path) -> AsyncIterator[TreeWatch]:
    async with watch_trees([root]) as watch:
        watch.arm()
        yield watch


async def until(watch: TreeWatch, *, file: Path | None = None, sweep: bool = False) -> Changes:
    """Gather changes until the file, or the wish for a sweep, is among them."""
    gathered = Changes(set(), set())
    with trio.fail_after(HANG_SECONDS):
        while True:
            changes = await watch.wait()
            gathered.files |= changes.files
            gathered.directories |= changes.directories
            gathered.sweep |= changes.sweep
            if (file is None or str(file) in gathered.files) and gathered.sweep >= sweep:
                return gathered


async def test_a_line_written_to_a_transcript_is_told_by_its_path(root: Path) -> None:
    transcript = root / "one" / "a.jsonl"
    transcript.parent.mkdir()
    transcript.touch()
    async with armed(root) as watch:
        with transcript.open("ab") as file:
            file.write(b"{}\n")
        changes = await until(watch, file=transcript)
        assert changes.files == {str(transcript)}


async def test_a_new_directory_and_the_file_in_it_are_told(root: Path) -> None:
    async with armed(root) as watch:
        transcript = root / "new" / "a.jsonl"
        transcript.parent.mkdir()
        transcript.write_bytes(b"{}\n")
        with trio.fail_after(HANG_SECONDS):
            changes = await watch.wait()
            while str(transcript.parent) not in changes.directories:
                changes = await watch.wait()


async def test_a_file_in_a_directory_made_meanwhile_is_watched(root: Path) -> None:
    async with armed(root) as watch:
        transcript = root / "new" / "a.jsonl"
        transcript.parent.mkdir()
        with trio.fail_after(HANG_SECONDS):
            while str(transcript.parent) not in (await watch.wait()).directories:
                pass
        transcript.write_bytes(b"{}\n")
        await until(watch, file=transcript)


@pytest.mark.skipif(sys.platform != "linux", reason="of inotify alone")
async def test_a_directory_that_is_watched_twice_is_watched_as_well(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made just as its parent's watch began, and watchdog finds it by both ways."""
    from watchdog.observers.inotify import InotifyWatchGroup

    once, added = InotifyWatchGroup._add_callback, list[bytes]()

    def twice(self: InotifyWatchGroup, path: bytes) -> None:
        once(self, path)
        once(self, path)
        added.append(path)

    monkeypatch.setattr(InotifyWatchGroup, "_add_callback", twice)
    async with armed(root) as watch:
        transcript = root / "new" / "a.jsonl"
        transcript.parent.mkdir()
        with trio.fail_after(HANG_SECONDS):
            while str(transcript.parent) not in (await watch.wait()).directories:
                pass
        transcript.write_bytes(b"{}\n")
        changes = await until(watch, file=transcript)
        assert os.fsencode(transcript.parent) in added
        assert watch.complete([root.stat().st_ino, transcript.parent.stat().st_ino])
        assert not changes.sweep


async def test_a_renamed_directory_asks_for_a_sweep(root: Path) -> None:
    (root / "one").mkdir()
    (root / "one" / "a.jsonl").touch()
    async with armed(root) as watch:
        (root / "one").rename(root / "two")
        await until(watch, sweep=True)


async def test_a_deleted_and_a_renamed_file_are_told_by_both_names(root: Path) -> None:
    (root / "a.jsonl").touch()
    async with armed(root) as watch:
        (root / "a.jsonl").rename(root / "b.jsonl")
        await until(watch, file=root / "b.jsonl")
        (root / "b.jsonl").unlink()
        await until(watch, file=root / "b.jsonl")


async def test_a_root_that_is_not_there_yet_is_noticed_when_it_comes(tmp_path: Path) -> None:
    root = tmp_path / "not" / "yet"
    async with armed(root) as watch:
        root.parent.mkdir()
        await until(watch, sweep=True)
        watch.arm()
        root.mkdir()
        await until(watch, sweep=True)
        watch.arm()
        (root / "a.jsonl").touch()
        await until(watch, file=root / "a.jsonl")


async def test_roots_that_are_to_come_to_one_place_come_one_after_the_other(
    tmp_path: Path,
) -> None:
    roots = [tmp_path / name / "sessions" for name in ("one", "two", "three")]
    async with watch_trees(roots) as watch:
        watch.arm()
        for root in roots:
            root.parent.mkdir()
            await until(watch, sweep=True)
            watch.arm()
            root.mkdir()
            await until(watch, sweep=True)
            watch.arm()
            transcript = root / "a.jsonl"
            transcript.write_bytes(b"{}\n")
            await until(watch, file=transcript)


async def test_a_root_that_was_replaced_is_watched_again(root: Path) -> None:
    async with armed(root) as watch:
        root.rename(root.with_name("away"))
        root.mkdir()
        watch.arm()
        watch.take()
        (root / "a.jsonl").touch()
        await until(watch, file=root / "a.jsonl")


async def test_more_changes_than_can_be_told_become_a_sweep(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST_PATHS", 3)
    async with armed(root) as watch:
        for number in range(3):
            watch.note(FileModifiedEvent(str(root / f"{number}.jsonl")))
        assert len(watch.take().files) == 3
        for number in range(5):
            watch.note(FileModifiedEvent(str(root / f"{number}.jsonl")))
        changes = watch.take()
        assert changes.sweep and len(changes.files) == 1


async def test_an_overflow_of_the_watch_asks_for_a_sweep(root: Path) -> None:
    async with armed(root) as watch:
        logger = logging.getLogger("watchdog.observers.inotify_c")
        logger.warning("Inotify queue overflowed; filesystem events were lost")
        await until(watch, sweep=True)
    assert not any(isinstance(one, watching._OverflowListener) for one in logger.handlers)


async def test_it_knows_whether_every_directory_is_watched(root: Path) -> None:
    for name in ("one", "two"):
        (root / name).mkdir()
    inodes = [path.stat().st_ino for path in (root, root / "one", root / "two")]
    async with armed(root) as watch:
        assert watch.complete(inodes)
        assert not watch.complete([*inodes, 2**60])


@pytest.fixture
def no_watches_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def schedule(self: BaseObserver, *args: object, **kwargs: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(BaseObserver, "schedule", schedule)


async def test_a_system_without_watches_left_is_told_of_once_and_clearly(
    root: Path, no_watches_left: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", logger="podium"):
        async with armed(root) as watch:
            watch.arm()
            assert not watch.complete([root.stat().st_ino])
    told = [record for record in caplog.records if record.name == "podium"]
    assert len(told) == 1
    fields = vars(told[0])["podium"]
    assert fields["place"] == str(root) and "max_user_watches" in fields["fix"]
