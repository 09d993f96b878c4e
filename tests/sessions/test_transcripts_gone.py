"""Transcripts that are deleted, come back, move, or are there twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio

from podiumd.sessions import transcripts
from podiumd.sessions.index import logs
from podiumd.sessions.index.logs import Changed
from podiumd.sessions.log import messages
from podiumd.sessions.log.messages import Moved
from podiumd.sessions.transcripts import StillThere, UnknownSession, Unsettled
from podiumd.store.errors import StoreFailed
from tests.sessions import support
from tests.sessions.service import (
    Home,
    bytes_path,
    complaints,
    next_of,
    seqs,
    told,
    unwatched,
    words_of,
)
from tests.sessions.support import line, lines, session_id

ONE, TWO = "-home-dev-app", "-home-dev-copy"


async def test_a_deleted_transcript_stays_listed_with_its_numbers(home: Home) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    async with home.running() as service, service.following() as feed:
        path.unlink()
        note = await anext(feed)
        assert (note.messages, note.last_seq, note.generation) == ((), 2, 2)
        assert await service.texts() == ["gone", "gone"]
        row = await service.row()
        assert (row.gone, row.summary.messages, row.summary.preview) == (True, 2, "two")
        assert await service.transcripts.listing(None, 10, None) == ([row], 1)


@pytest.mark.parametrize("opened", [False, True])
async def test_it_stays_listed_after_a_restart_and_whenever_the_index_is_lost(
    home: Home, opened: bool
) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    async with home.running() as service:
        if opened:
            assert await service.texts() == ["one", "two"]
    path.unlink()
    for lose_index in (False, True, True):
        if lose_index:
            home.lose_index()
        async with home.running() as service:
            row = await service.row()
            assert (row.gone, row.summary.preview) == (True, "two")
            assert await service.texts() == (["gone", "gone"] if opened else [])


async def test_a_new_index_that_was_not_filled_to_its_end_is_filled_by_the_next_start(
    home: Home,
) -> None:
    path = home.write(line(1))
    async with home.running() as service:
        path.unlink()
        await service.sweep()
    home.lose_index()
    home.ledgers.broken = True
    with pytest.raises(StoreFailed):
        await home.running().__aenter__()  # it cannot know what it lists
    home.ledgers.broken = False
    async with home.running() as service:
        assert (await service.row()).gone


async def test_its_numbers_outlive_an_index_that_was_lost_before_it_was_deleted(home: Home) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    async with home.running() as service:
        await service.texts()
        support.replace(path, line(3, "three") + line(2, "two"))
        await service.sweep()
    home.lose_index()
    async with home.running() as service:
        path.unlink()
        await service.sweep()
        assert await service.texts() == ["gone"] * 3
        home.write(line(4, "four") + line(3, "three"))
        await service.sweep()
        assert await service.texts() == ["gone", "gone", "three", "four"]


async def test_a_transcript_that_comes_back_is_not_gone_and_has_its_numbers(
    home: Home, tmp_path: Path
) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    aside = tmp_path / "aside"
    async with home.running() as service, service.following() as feed:
        path.rename(aside)
        assert (await anext(feed)).generation == 2
        aside.rename(path)
        assert (await anext(feed)).generation == 3
        assert await service.texts() == ["one", "two"]
        assert not (await service.row()).gone
        home.write(line(3))
        assert seqs(await anext(feed)) == [3]
    ledger = home.ledgers.kept[session_id()]
    assert ledger.row is None
    home.lose_index()
    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2, 3]


async def test_a_transcript_that_comes_back_while_no_log_is_kept_is_not_gone(home: Home) -> None:
    path = home.write(lines(1, 2))
    data = path.read_bytes()
    async with home.running() as service:
        path.unlink()
        await service.sweep()
        assert home.ledgers.kept[session_id()].row is not None
        path.write_bytes(data)
        await service.sweep()
        assert not (await service.row()).gone
        assert home.ledgers.kept[session_id()].row is None
        assert seqs(await service.page()) == [1, 2]


@pytest.mark.usefixtures("unwatched")
async def test_a_session_is_forgotten_only_once_its_transcript_is_deleted(home: Home) -> None:
    path = home.write(lines(1, 2))
    async with home.running() as service, service.following() as feed:
        with pytest.raises(StillThere) as raised:
            await service.transcripts.forget(session_id())
        assert raised.value.path == str(path)
        path.unlink()  # and at once, before anything has told of it
        await service.transcripts.forget(session_id())
        assert [note async for note in feed] == []
        with pytest.raises(UnknownSession):
            await service.row()
        assert await service.transcripts.count() == 0
        assert home.ledgers.kept == {}
    home.lose_index()
    async with home.running() as service:
        assert await service.transcripts.count() == 0


async def test_a_renamed_project_directory_is_no_rewrite(home: Home) -> None:
    home.write(line(1, "one") + line(2, "two"))
    moved = home.projects / "-home-dev-other"
    async with home.running() as service, service.following() as feed:
        home.project.rename(moved)
        await service.sweep()
        home.write(line(3, "three"), project=moved.name)
        assert seqs(await next_of(feed)) == [3]
        page = await service.page()
        assert [words_of(message) for message in told(page)] == ["one", "two", "three"]
        assert page.generation == 1
        assert (await service.row()).path == str(home.path(project=moved.name))


@pytest.mark.usefixtures("unwatched")
async def test_a_reader_that_comes_before_the_rename_is_told_finds_no_rewrite_either(
    home: Home,
) -> None:
    home.write(line(1, "one"))
    async with home.running() as service:
        assert await service.texts() == ["one"]
        service.opened().forget()  # what is kept of its messages, so that the file is read
        home.project.rename(home.projects / "-home-dev-other")
        assert await service.texts() == ["one"]
        assert (await service.page()).generation == 1
        assert not (await service.row()).gone


@pytest.mark.usefixtures("unwatched")
async def test_of_two_copies_the_last_written_is_followed_and_numbers_stay(home: Home) -> None:
    home.write_copy(line(1, "one") + line(2, "two"), ONE, minute=1)
    async with home.running() as service:
        assert await service.texts() == ["one", "two"]
        other = home.write_copy(line(1, "one") + line(3, "three"), TWO, minute=2)
        await service.sweep()
        assert await service.texts() == ["one", "gone", "three"]
        assert (await service.row()).path == str(other)
        home.write_copy(line(4, "four"), ONE, minute=3)
        await service.sweep()
        assert await service.texts() == ["one", "two", "gone", "four"]
        await service.sweep()  # nothing was written: nothing changes
        assert (await service.page()).generation == 3
        home.write_copy(line(5, "five"), TWO, minute=4)
        await service.sweep()
        assert await service.texts() == ["one", "gone", "three", "gone", "five"]


@pytest.mark.parametrize("watched", [False, True])
async def test_when_the_copy_that_is_followed_is_deleted_the_other_is(
    home: Home, monkeypatch: pytest.MonkeyPatch, watched: bool
) -> None:
    if not watched:
        unwatched(monkeypatch)
    home.write_copy(line(1, "one") + line(2, "two"), ONE, minute=1)
    copy = home.write_copy(line(1, "one"), TWO, minute=2)
    async with home.running() as service, service.following() as feed:
        assert await service.texts() == ["one"]
        copy.unlink()
        if not watched:
            await service.follower.look_again(session_id())
        assert seqs(await next_of(feed)) == [2]
        assert await service.texts() == ["one", "two"]
        assert not (await service.row()).gone


async def test_an_older_copy_that_is_touched_by_no_writer_is_passed_over(home: Home) -> None:
    home.write_copy(line(1, "old"), TWO, minute=1)
    home.write_copy(line(1, "new") + line(2, "two"), ONE, minute=2)
    async with home.running() as service:
        older = support.find(home.path(project=TWO))
        await service.follower.refresh(older)
        assert await service.texts() == ["new", "two"]


async def test_a_session_in_a_directory_whose_name_is_not_utf8_is_followed_lost_and_found(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    directory = bytes_path(home.projects, b"-caf\xe9")
    path = directory / f"{session_id()}.jsonl"
    directory.mkdir()
    path.write_bytes(line(1, "one"))
    async with home.running() as service, service.following() as feed:
        support.append(path, line(2, "two"))
        assert seqs(await anext(feed)) == [2]
        path.unlink()
        assert (await anext(feed)).generation == 2
        assert (await service.row()).path == str(path)
    home.lose_index()
    async with home.running() as service:
        assert (await service.row()).gone
        assert await service.texts() == ["gone", "gone"]
        path.write_bytes(line(1, "one"))
        await service.sweep()
        assert await service.texts() == ["one", "gone"]
    assert complaints(caplog, "Sessions cannot be indexed") == []


async def test_a_log_is_known_by_its_first_message_whatever_becomes_of_it(home: Home) -> None:
    path = home.write(line(1) + line(2))
    first = "00000000-0000-4000-8000-000000000001"
    async with home.running() as service:
        assert (await service.page()).first_uuid == first
        support.replace(path, line(3) + line(2))
        await service.sweep()
        assert (await service.page(after=2)).first_uuid == first
    home.lose_index()
    async with home.running() as service:
        assert (await service.page()).first_uuid == first
        path.unlink()
        await service.sweep()
        assert (await service.page()).first_uuid == first


async def test_a_session_that_was_forgotten_and_comes_again_has_another_log(home: Home) -> None:
    path = home.write(line(1) + line(2))
    async with home.running() as service:
        await service.texts()
        path.unlink()
        await service.sweep()
        await service.transcripts.forget(session_id())
        home.write(line(7) + line(8) + line(9))
        await service.sweep()
        async with service.following(after=2) as feed:
            assert (feed.start, feed.answer.last_seq) == (3, 3)
            assert feed.answer.first_uuid == "00000000-0000-4000-8000-000000000007"


# -- transcripts that are rewritten: every message keeps its number, whoever follows is told -


@pytest.mark.parametrize("rewrite", [support.replace, support.overwrite])
async def test_a_follower_is_told_the_new_generation_and_numbers_stay(
    home: Home, rewrite: Callable[[Path, bytes], None]
) -> None:
    path = home.write(line(1, "one") + line(2, "two") + line(3, "three"))
    async with home.running() as service, service.following() as feed:
        rewrite(path, line(9, "nine") + line(3, "three"))
        note = await anext(feed)
        while not note.messages:  # as cut, half done, or as it is in the end
            note = await anext(feed)
        assert (seqs(note), note.next_seq, note.generation > 1) == ([4], 4, True)
        assert await service.texts() == ["gone", "gone", "three", "nine"]
        first = told(await service.page(0, 1))[0]
        assert first == {
            "seq": 1,
            "uuid": "00000000-0000-4000-8000-000000000001",
            "role": "user",
            "text": "",
            "timestamp": "",
            "blocks": [],
            "gone": True,
        }
        home.write(line(10, "ten"))
        assert seqs(await anext(feed)) == [5]


async def test_a_rewrite_that_only_loses_messages_is_told_without_any(home: Home) -> None:
    path = home.write(lines(1, 3))
    async with home.running() as service, service.following() as feed:
        support.replace(path, lines(1, 2))
        note = await anext(feed)
        assert (note.messages, note.next_seq, note.generation) == ((), 3, 2)


@pytest.mark.usefixtures("unwatched")
async def test_messages_that_come_back_after_a_half_seen_rewrite_are_a_new_generation(
    home: Home,
) -> None:
    """Else a follower that was told they are gone would never know better."""
    path = home.write(line(1, "one") + line(2, "two") + line(3, "three"))
    async with home.running() as service, service.following() as feed:
        support.overwrite(path, line(1, "one"))
        await service.sweep()
        assert (await anext(feed)).generation == 2
        assert await service.texts() == ["one", "gone", "gone"]
        home.write(line(2, "two"))
        await service.sweep()
        assert (await anext(feed)).generation == 3
        assert await service.texts() == ["one", "two", "gone"]
        assert home.ledgers.kept[session_id()].generation == 3
        home.write(line(2, "two") + line(4, "four"))  # twice in one file: nothing has changed
        await service.sweep()
        note = await anext(feed)
        assert (seqs(note), note.generation) == ([4], 3)


@pytest.mark.parametrize("when", ["followed", "closed", "down"])
async def test_numbers_stay_whenever_the_transcript_is_rewritten(
    home: Home, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    if when == "closed":
        monkeypatch.setattr(logs, "KEPT_OPEN", 0)
    async with home.running() as service:
        assert await service.texts() == ["one", "two"]
        if when == "closed":
            home.write(line(3), 2)
            await service.sweep()
            await service.texts(2)
            assert service.logs.get(session_id()) is None
        if when != "down":
            support.replace(path, line(3, "three") + line(2, "two"))
            await service.sweep()
    if when == "down":
        support.replace(path, line(3, "three") + line(2, "two"))
    for lose_index in (False, True):
        if lose_index:
            home.lose_index()
        async with home.running() as service:
            assert await service.texts() == ["gone", "two", "three"]


@pytest.mark.usefixtures("unwatched")
async def test_the_ledger_is_stored_before_the_index_and_before_anybody_is_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.write(lines(1, 2))
    order: list[str] = []
    save = logs._save

    def saved(*args: Any) -> None:
        order.append("index")
        save(*args)

    home.ledgers.before_saving = lambda: order.append("ledger")
    async with home.running() as service, service.following() as feed:
        monkeypatch.setattr(logs, "_save", saved)
        support.replace(path, line(3))

        async def listen() -> None:
            await anext(feed)
            order.append("told")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await service.sweep()
        assert order == ["ledger", "index", "told"]


@pytest.mark.parametrize("rewritten", [False, True])
@pytest.mark.usefixtures("unwatched")
async def test_what_is_not_stored_yet_is_told_to_nobody(
    home: Home, monkeypatch: pytest.MonkeyPatch, rewritten: bool
) -> None:
    path = home.write(line(1, "one"))
    async with home.running() as service:
        assert await service.texts() == ["one"]
        arrived, gate, write = trio.Event(), trio.Event(), service.index.write

        async def later(change: Any, *args: Any) -> Any:
            if change in (logs._save, logs._save_anew):
                arrived.set()
                await gate.wait()
            return await write(change, *args)

        monkeypatch.setattr(service.index, "write", later)
        monkeypatch.setattr(service.index, "write_in_thread", later)
        if rewritten:
            support.replace(path, line(2, "two") + line(1, "one"))
        else:
            home.write(line(2, "two"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(service.sweep)
            await arrived.wait()
            opened = service.opened()
            if not rewritten:  # where nothing has moved, what was stored is still told
                page = await service.transcripts.page(opened, 0, 10)
                assert (seqs(page), page.last_seq, page.complete) == ([1], 1, True)
            assert (opened.last_seq, opened.generation) == (1, 1)
            gate.set()
        assert (opened.last_seq, opened.generation) == (2, 2 if rewritten else 1)
        assert await service.texts() == ["one", "two"]


@pytest.mark.usefixtures("unwatched")
async def test_a_page_that_races_with_a_rewrite_is_of_one_generation(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "QUICK_BYTES", 0)
    path = home.write(line(1, "one") + line(2, "two"))
    read = transcripts._read_places
    async with home.running() as service:
        left = [line(3, "three") + line(2, "two")]

        def raced(*args: Any) -> Any:
            found = read(*args)
            if left:
                support.replace(path, left.pop())
                trio.from_thread.run(service.sweep)
            return found

        monkeypatch.setattr(transcripts, "_read_places", raced)
        page = await service.page()
        assert [words_of(message) for message in told(page)] == ["gone", "two", "three"]
        assert (page.generation, page.last_seq) == (2, 3)


@pytest.mark.usefixtures("unwatched")
async def test_a_rewrite_that_nobody_told_of_is_found_by_its_readers_and_only_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many find a message out of its place, the transcript is read anew for the first."""
    monkeypatch.setattr(transcripts, "QUICK_BYTES", 0)
    path = home.write(line(1, "one") + line(2, "two"))
    async with home.running() as service, service.following(after=2):
        support.replace(path, line(3, "three") + line(2, "two"))
        found: list[list[str]] = []

        async def ask() -> None:
            page = await service.transcripts.page(service.opened(), 0, 10)
            found.append([words_of(message) for message in told(page)])

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert found == [["gone", "two", "three"]] * 20
        assert service.opened().generation == 2


@pytest.mark.usefixtures("unwatched")
async def test_a_rewrite_in_the_middle_that_leaves_both_ends_is_found_by_its_reader(
    home: Home,
) -> None:
    """Of the same size, and out of sight of what tells one transcript from another."""
    path = home.write(lines(1, 100))
    async with home.running() as service, service.following(after=100) as feed:
        data = path.read_bytes()
        path.write_bytes(data.replace(line(50), line(1050)))
        await service.sweep()
        assert (await service.row()).generation == 1
        page = await service.page(48, 3)
        assert [words_of(message) for message in told(page)] == ["hello", "gone", "hello"]
        assert page.generation == 2 == (await service.row()).generation
        note = await anext(feed)
        assert (seqs(note), note.generation) == ([101], 2)


@pytest.mark.parametrize(
    ("owner", "name", "error"), [(messages, "read", Moved), (logs, "read_entries", Changed)]
)
async def test_a_transcript_that_changes_whenever_it_is_looked_at_is_given_up(
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    owner: ModuleType,
    name: str,
    error: type[Exception],
) -> None:
    home.write(line(1))

    def changes(*args: object) -> None:
        raise error

    async with home.running() as service:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, changes)
            with pytest.raises(Unsettled):
                await service.page()
        assert seqs(await service.page()) == [1]
        assert service.opened().users == 0


@pytest.mark.usefixtures("unwatched")
async def test_a_session_whose_file_vanishes_while_it_is_opened_is_gone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.write(line(1))
    entries = logs.read_entries

    def vanishing(*args: Any) -> Any:
        path.unlink(missing_ok=True)
        return entries(*args)

    async with home.running() as service:
        monkeypatch.setattr(logs, "read_entries", vanishing)
        page = await service.page()
        assert (seqs(page), page.last_seq) == ([], 0)
        assert (await service.row()).gone


@pytest.mark.usefixtures("unwatched")
async def test_a_rewrite_that_was_undone_before_it_was_read_loses_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of a session that grew while nobody read it stays behind until it is opened."""
    monkeypatch.setattr(logs, "KEPT_OPEN", 0)
    path = home.write(lines(1, 2))
    home.write(line(1), 2)

    def changed(*args: object) -> None:
        raise Changed

    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2]
        assert seqs(await service.page(number=2)) == [1]
        home.write(lines(3, 2))
        await service.sweep()
        aside = path.rename(path.with_name("aside"))
        path.write_bytes(line(9))
        monkeypatch.setattr(logs, "read_entries", changed)
        await service.sweep()
        monkeypatch.undo()
        aside.rename(path)
        home.write(line(5))
        await service.sweep()
        page = await service.page()
        assert [message["uuid"][-1] for message in told(page)] == ["1", "2", "3", "4", "5"]
