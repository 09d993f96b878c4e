"""What is stored of logs: made anew where it is damaged, never told where it was not stored."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.sessions.index import follower, logs
from podiumd.sessions.index.database import Index
from podiumd.sessions.log import reading
from podiumd.sessions.log.numbered import Log
from podiumd.sessions.log.open_log import LogLost
from podiumd.store.errors import StoreError, StoreFailed
from podiumd.store.records import Ledger
from tests.long import sampled, spread
from tests.sessions import support
from tests.sessions.service import Home, Service, complaints, seqs, told
from tests.sessions.support import line, lines, session_id


def fails(*args: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize("rewritten", sampled([False, True]))
@pytest.mark.parametrize(
    "damage",
    spread(
        [
            "UPDATE logs SET state = x'00'",
            "UPDATE logs SET state = '{}'",
            "UPDATE logs SET last_seq = last_seq - 1",
            "UPDATE logs SET last_seq = 0",
            "UPDATE log_pages SET data = substr(data, 2) WHERE page = 0",
            "UPDATE log_pages SET data = substr(data, 34) WHERE page = 0",
            "DELETE FROM log_pages WHERE page = 0",
            "DELETE FROM log_pages",
            "DELETE FROM logs",
            "DELETE FROM logs; DELETE FROM log_pages; DELETE FROM sessions",
        ],
        5,
    ),
)
async def test_a_damaged_log_is_made_anew_with_the_same_numbers(
    home: Home, damage: str, rewritten: bool
) -> None:
    path = home.write(lines(1, 300))
    async with home.running() as service:
        await service.texts()
        if rewritten:
            support.replace(path, line(500) + lines(11, 290))
            await service.sweep()
        before = (await service.page(0, 1000)).messages
    with closing(sqlite3.connect(home.state / "index.db")) as index:
        index.executescript(damage)
        index.commit()
    for _ in range(2):
        async with home.running() as service:
            assert (await service.page(0, 1000)).messages == before
            assert len(before) == 301 if rewritten else 300


async def test_a_damaged_ledger_is_told_of_and_closes_no_session(
    home: Home, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.write(lines(1, 3))

    async def ledger(session_id: str) -> Ledger | None:
        raise StoreError(tmp_path / "facts.db", "the ledger is damaged")

    async with home.running() as service:
        before = (await service.page()).messages
        monkeypatch.setattr(home.ledgers, "ledger", ledger)
        home.write(line(4))
        await service.sweep()
    async with home.running() as service:
        assert (await service.page()).messages[:3] == before
        path.unlink()
        await service.sweep()
        assert (await service.transcripts.row(session_id())).gone
    assert any("Ledger is damaged" in record.getMessage() for record in caplog.records)


async def test_a_damaged_log_without_messages_is_made_anew(home: Home) -> None:
    home.write(b'{"type":"system"}\n')
    async with home.running() as service:
        await service.page()
    with closing(sqlite3.connect(home.state / "index.db")) as index:
        index.execute("UPDATE logs SET state = x'00'")
        index.commit()
    async with home.running() as service:
        assert seqs(await service.page()) == []
        home.write(line(1))
        await service.sweep()
        assert seqs(await service.page()) == [1]


async def test_a_crash_between_ledger_and_index_keeps_the_ledger_s_numbers(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    async with home.running() as service:
        await service.texts()
    support.replace(path, line(3, "three") + line(2, "two"))
    with monkeypatch.context() as patch:
        patch.setattr(logs, "_save", fails)
        async with home.running():
            assert home.ledgers.kept[session_id()].generation == 2
    support.replace(path, line(4, "four") + line(2, "two") + line(3, "three"))
    async with home.running() as service:
        assert await service.texts() == ["gone", "two", "three", "four"]
        assert (await service.page()).generation > 1


@pytest.mark.usefixtures("unwatched")
async def test_what_could_not_be_stored_is_not_told_and_comes_when_it_can(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home.write(line(1, "one"))
    async with home.running() as service:
        async with service.following() as feed:
            with monkeypatch.context() as patch:
                patch.setattr(logs, "_save", fails)
                home.write(line(2, "two"))
                await service.sweep()
            with pytest.raises(LogLost) as raised:
                await anext(feed)
            assert isinstance(raised.value.__cause__, sqlite3.OperationalError)
            with pytest.raises(LogLost):
                await anext(feed)
        assert len(complaints(caplog, "Sessions cannot be indexed")) == 1
        assert seqs(await service.page()) == [1]
        async with service.following(after=1) as feed:
            await service.sweep()
            assert seqs(await anext(feed)) == [2]
        assert await service.texts() == ["one", "two"]


@pytest.mark.usefixtures("unwatched")
async def test_a_rewrite_whose_ledger_cannot_be_stored_is_not_told_until_it_can(home: Home) -> None:
    path = home.write(line(1, "one") + line(2, "two"))
    async with home.running() as service, service.following() as feed:
        assert await service.texts() == ["one", "two"]
        home.ledgers.full = True
        support.replace(path, line(3, "three") + line(2, "two"))
        await service.sweep()
        opened = service.opened()
        assert (opened.generation, opened.last_seq, opened.closed) == (1, 2, False)
        assert await service.texts() == ["one", "two"]  # what was read before
        opened.forget()
        with pytest.raises(StoreFailed):  # its places are wrong, and no others can be stored
            await service.page()
        home.ledgers.full = False
        home.write(line(4, "four"))
        await service.sweep()
        note = await anext(feed)
        assert (seqs(note), note.generation) == ([3, 4], 2)
        assert await service.texts() == ["gone", "two", "three", "four"]


@pytest.mark.parametrize("broken", ["ledger", "index"])
@pytest.mark.usefixtures("unwatched")
async def test_a_loss_that_cannot_be_stored_is_told_to_nobody(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """And where the file is back before it could be, all is as it was."""
    path = home.write(line(1, "one") + line(2, "two"))
    aside = tmp_path / "aside"
    async with home.running() as service, service.following() as feed:
        path.rename(aside)
        with monkeypatch.context() as patch:
            if broken == "ledger":
                patch.setattr(home.ledgers, "full", True)
            else:
                patch.setattr(logs, "_save_lost", fails)
            await service.sweep()
        assert (service.opened().generation, (await service.row()).gone) == (1, False)
        aside.rename(path)
        await service.sweep()
        assert await service.texts() == ["one", "two"]
        path.unlink()
        await service.sweep()
        assert (await anext(feed)).generation == 2
        assert await service.texts() == ["gone", "gone"]


@pytest.mark.usefixtures("unwatched")
async def test_one_who_gives_up_while_a_session_is_opened_leaves_nothing_behind(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(lines(1, 2))
    async with home.running() as service:
        scope, entries = trio.CancelScope(), logs.read_entries

        def slow(*args: Any) -> Any:
            trio.from_thread.run_sync(scope.cancel)
            return entries(*args)

        monkeypatch.setattr(logs, "read_entries", slow)
        with scope:
            await service.page()
        assert scope.cancelled_caught
        assert service.logs.followed == []
        assert not service.follower._mutexes.held(session_id())
        monkeypatch.undo()
        home.write(line(3))
        await service.sweep()
        assert seqs(await service.page()) == [1, 2, 3]


async def test_a_feed_is_no_user_once_it_is_left(home: Home) -> None:
    home.write(line(1))
    async with home.running() as service:
        async with service.following():
            assert service.logs.followed == [session_id()]
        assert service.logs.followed == []


@pytest.mark.usefixtures("unwatched")
async def test_a_client_that_goes_away_while_a_log_grows_does_not_cost_the_others_the_log(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(line(1, "one"))
    async with home.running() as service, service.following(after=1) as feed:
        usual = Index.write
        client = trio.CancelScope()

        async def write(self: Index, *arguments: Any) -> None:
            client.cancel()
            await trio.lowlevel.checkpoint()
            await usual(self, *arguments)

        home.write(line(2, "two"))
        with client, monkeypatch.context() as patch:
            patch.setattr(Index, "write", write)
            await service.follower.look_again(session_id())
        assert client.cancel_called
        assert seqs(await anext(feed)) == [2]


@pytest.mark.usefixtures("unwatched")
async def test_a_rewritten_transcript_is_numbered_again_off_the_loop(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the longest sessions that takes too long for it."""
    path = home.write(lines(1, 3))
    threads: list[threading.Thread] = []

    def seen(usual: Any) -> Any:
        def spy(*arguments: Any) -> Any:
            threads.append(threading.current_thread())
            return usual(*arguments)

        return spy

    async with home.running() as service:
        await service.page()
        monkeypatch.setattr(Log, "rebuild", seen(Log.rebuild))
        monkeypatch.setattr(Log, "ledger", seen(Log.ledger))
        support.replace(path, line(9) + lines(1, 3))
        await service.sweep()
        assert len((await service.page(0)).messages) == 4
    assert len(threads) == 2
    assert threading.current_thread() not in threads


# -- prompts that do not go on from the message before them ----------------------------------


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def prompt(number: int, parent: int | None) -> bytes:
    return line(number, parentUuid=None if parent is None else uuid(parent))


def record(number: int, parent: int) -> bytes:
    """A record of the tree that is no message."""
    fields = {"type": "system", "uuid": uuid(number), "parentUuid": uuid(parent)}
    return json.dumps(fields).encode() + b"\n"


FORKED = (
    prompt(1, None)
    + prompt(2, 1)
    + record(20, 2)
    + record(21, 20)
    + prompt(3, 21)
    + prompt(4, 1)  # back to the first message
    + prompt(5, 21)  # to what followed the second
    + prompt(6, 999)  # to what is not in the file
    + prompt(7, None)  # to nothing
    + prompt(8, 7)
)

FORKS = {4: 1, 5: 2, 6: 0, 7: 0}


def forks(source: Any) -> dict[int, int]:
    return {m["seq"]: m["forks_from"] for m in told(source) if "forks_from" in m}


async def test_a_fork_says_which_message_it_goes_on_from_for_ever(home: Home) -> None:
    """Also one that follows a record that is no message, also when the index was lost."""
    home.write(FORKED)
    for lose_index in (False, False, True):
        if lose_index:
            home.lose_index()
        async with home.running() as service:
            assert forks(await service.page()) == FORKS


async def test_forks_are_told_live(home: Home) -> None:
    home.write(prompt(1, None) + record(20, 1) + prompt(2, 20))
    async with home.running() as service, service.following() as feed:
        home.write(prompt(3, 20))
        assert forks(await anext(feed)) == {3: 1}


async def test_forks_are_found_again_when_only_the_ledger_is_left(home: Home) -> None:
    path = home.write(FORKED)
    async with home.running() as service:
        await service.page()
        support.replace(path, FORKED + prompt(9, 8))
        await service.sweep()
        assert forks(await service.page()) == FORKS
    home.lose_index()
    async with home.running() as service:
        assert forks(await service.page()) == FORKS


async def test_what_records_follow_is_that_of_the_transcript_as_it_is_now(home: Home) -> None:
    """Of a rewritten one, of one that grew while nobody looked, of one that was gone."""
    path = home.write(prompt(1, None) + prompt(2, 1) + record(20, 1))
    async with home.running() as service:
        await service.page()
        support.replace(path, prompt(1, None) + prompt(2, 1) + record(20, 2) + prompt(3, 2))
        await service.sweep()
        await service.take(home.write(prompt(4, 20)))
        assert forks(await service.page()) == {4: 2}
    home.write(record(21, 1) + prompt(5, 3))
    async with home.running() as service:
        await service.take(home.write(prompt(6, 21)))
        assert forks(await service.page()) == {4: 2, 5: 3, 6: 1}
        path.unlink()
        await service.sweep()
        home.write(prompt(1, None) + prompt(7, 1) + prompt(8, 21))
        await service.sweep()
        assert {m["seq"]: m.get("forks_from") for m in told(await service.page())}[8] == 0


async def test_of_two_records_with_one_uuid_the_last_counts(home: Home) -> None:
    home.write(prompt(1, None) + prompt(2, 1) + record(20, 1) + record(20, 2) + prompt(3, 2))
    async with home.running() as service:
        await service.page()
        await service.take(home.write(prompt(4, 20) + prompt(5, 4) + record(20, 1) + prompt(6, 20)))
        assert forks(await service.page()) == {4: 1, 6: 1}, "the file as it is when it is read"


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("restarted", [False, True])
async def test_no_more_of_a_long_transcript_is_read_for_a_fork_than_of_a_short_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    """Nobody but the test looks for what has grown, so every byte that is read is counted once."""
    counted: list[int] = []
    read = reading._read

    def counting(fd: int, size: int, offset: int) -> bytes:
        data = read(fd, size, offset)
        counted.append(len(data))
        return data

    monkeypatch.setattr(follower, "UNWATCHED_SWEEP_SECONDS", 3600.0)
    monkeypatch.setattr(reading, "_read", counting)
    sizes, took = {1: 100, 2: 2000}, list[int]()
    for number, size in sizes.items():
        chain = b"".join(prompt(at, at - 1) for at in range(2, size + 1))
        home.write(prompt(1, None) + record(9000, 1) + chain, number)
    async with home.running() as service:
        for number in sizes:
            await service.page(number=number)
        if not restarted:
            took = [await read_for(service, *each, counted) for each in sizes.items()]
    if restarted:
        async with home.running() as service:
            took = [await read_for(service, *each, counted) for each in sizes.items()]
    assert took[0] == took[1] <= 4 * reading.MARK_BYTES


async def read_for(service: Service, number: int, size: int, counted: list[int]) -> int:
    """How much of a transcript is read for a prompt that follows a record at its beginning."""
    await service.page(number=number)
    path = Path((await service.row(number)).path)
    counted.clear()
    support.append(path, prompt(size + 1, 9000))
    await service.take(path)
    assert service.opened(number).log.place(size + 1).forks_from == 1
    return sum(counted)
