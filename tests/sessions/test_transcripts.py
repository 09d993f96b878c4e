"""Pages of a session's messages, and the list of sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.sessions import transcripts
from podiumd.sessions.index.follower import Follower
from podiumd.sessions.transcripts import StillThere, UnknownSession
from tests.sessions.service import Home, seqs, told
from tests.sessions.support import line, lines, session_id

# -- pages -----------------------------------------------------------------------------------


async def test_without_a_cursor_a_page_holds_the_newest_messages(home: Home) -> None:
    home.write(lines(1, 10))
    async with home.running() as service:
        page = await service.page(limit=3)
        assert seqs(page) == [8, 9, 10]
        assert (page.first_seq, page.last_seq, page.next_seq) == (1, 10, 10)
        assert page.complete and page.generation == 1


async def test_a_page_after_a_number_holds_the_first_that_follow(home: Home) -> None:
    home.write(lines(1, 10))
    async with home.running() as service:
        page = await service.page(after=4, limit=3)
        assert (seqs(page), page.next_seq, page.complete) == ([5, 6, 7], 7, False)
        page = await service.page(after=page.next_seq, limit=3)
        assert (seqs(page), page.complete) == ([8, 9, 10], True)
        page = await service.page(after=page.next_seq, limit=3)
        assert (seqs(page), page.next_seq, page.complete) == ([], 10, True)
        assert seqs(await service.page(after=0, limit=2)) == [1, 2]


async def test_a_delta_holds_what_was_written_since(home: Home) -> None:
    home.write(lines(1, 3))
    async with home.running() as service:
        page = await service.page()
        home.write(line(4, "since"))
        await service.sweep()
        assert [message["text"] for message in told(await service.page(page.next_seq))] == ["since"]


async def test_a_cursor_beyond_the_end_counts_as_the_end(home: Home) -> None:
    home.write(lines(1, 3))
    async with home.running() as service:
        page = await service.page(after=1_000_000)
        assert (seqs(page), page.next_seq, page.last_seq, page.complete) == ([], 3, 3, True)
        async with service.following(after=1_000_000) as feed:
            home.write(line(4))
            await service.sweep()
            assert feed.start == 3
            assert seqs(await anext(feed)) == [4]


async def test_an_empty_log_begins_and_ends_at_nothing(home: Home) -> None:
    home.write(b"not json\n")
    async with home.running() as service:
        page = await service.page()
        assert (seqs(page), page.first_seq, page.last_seq, page.next_seq) == ([], 0, 0, 0)
        assert page.complete and page.first_uuid is None


async def test_a_message_is_told_as_the_transcript_has_it(home: Home) -> None:
    home.write(line(1, "tëxt\n\u2028 verbatim"))
    async with home.running() as service:
        assert told(await service.page()) == [
            {
                "seq": 1,
                "uuid": "00000000-0000-4000-8000-000000000001",
                "role": "user",
                "text": "tëxt\n\u2028 verbatim",
                "timestamp": "2026-05-01T10:00:01.000Z",
                "blocks": [{"kind": "text", "text": "tëxt\n\u2028 verbatim"}],
            }
        ]


@pytest.mark.parametrize("aside", [False, True])
async def test_a_page_holds_no_more_bytes_than_fit_from_either_end(
    home: Home, monkeypatch: pytest.MonkeyPatch, aside: bool
) -> None:
    """A tail keeps the newest, and may not reach as far back as was asked."""
    home.write(lines(1, 10))
    if aside:
        monkeypatch.setattr(transcripts, "QUICK_BYTES", 0)
    async with home.running() as service:
        one = len((await service.page(after=0, limit=1)).messages[0])
        monkeypatch.setattr(transcripts, "PAGE_BYTES", one * 4)
        page = await service.page(after=2, limit=9)
        assert (seqs(page), page.next_seq, page.complete) == ([3, 4, 5, 6], 6, False)
        page = await service.page(limit=9)
        assert (seqs(page), page.next_seq, page.complete) == ([8, 9, 10][-len(told(page)) :], 10, 1)
        assert len(told(page)) in {3, 4}


async def test_a_message_larger_than_a_page_still_goes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "PAGE_BYTES", 1000)
    home.write(line(1) + line(2, "x" * 100_000) + line(3, "y" * 100_000))
    async with home.running() as service:
        assert seqs(await service.page()) == [3]
        assert seqs(await service.page(after=0)) == [1]
        assert seqs(await service.page(after=1)) == [2]


async def test_a_session_that_nobody_knows_is_named(tmp_path: Path) -> None:
    async with Home(tmp_path).running() as service:
        with pytest.raises(UnknownSession, match=session_id(7)):
            await service.page(number=7)
        with pytest.raises(UnknownSession):
            await service.transcripts.forget(session_id(7))


# -- the list --------------------------------------------------------------------------------


async def test_sessions_are_found_by_the_beginning_of_their_ids(home: Home) -> None:
    for number in (1, 2, 0x20):
        home.write(line(1), number)
    async with home.running() as service:
        find = service.transcripts.with_prefix
        assert await find(session_id(1), 5) == [session_id(1)]
        assert await find(session_id(1)[:-2], 2) == [session_id(1), session_id(2)]
        assert await find("ffff", 5) == []
        assert await service.transcripts.count() == 3


async def test_files_that_belong_to_a_session_are_counted_and_come_and_go(home: Home) -> None:
    home.write(line(1))
    subagents = home.project / session_id() / "subagents"
    results = home.project / session_id() / "tool-results"
    for directory in (subagents, results):
        directory.mkdir(parents=True)
    (subagents / "agent-1.jsonl").write_bytes(line(1))
    (subagents / "agent-1.meta.json").write_text("{}")
    (results / "1.txt").write_text("found")
    async with home.running() as service:
        counts = await service.transcripts.companion_counts([session_id()])
        assert counts == {session_id(): {"subagent": 1, "subagent_meta": 1, "tool_result": 1}}
        (results / "2.txt").write_text("more")
        (subagents / "agent-1.jsonl").unlink()
        await service.sweep()
        counts = await service.transcripts.companion_counts([session_id()])
        assert counts == {session_id(): {"subagent_meta": 1, "tool_result": 2}}


# -- before the first sweep is over ----------------------------------------------------------


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> trio.Event:
    """The first sweep does not begin before this is set."""
    gate = trio.Event()
    sweep = Follower._sweep

    async def later(self: Follower) -> None:
        await gate.wait()
        await sweep(self)

    monkeypatch.setattr(Follower, "_sweep", later)
    return gate


async def test_a_known_session_is_answered_before_the_first_sweep_and_up_to_date(
    home: Home, request: pytest.FixtureRequest
) -> None:
    home.write(lines(1, 2))
    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2]
    home.write(line(3))
    request.getfixturevalue("held")
    async with home.running(complete=False) as service:
        assert seqs(await service.page()) == [1, 2, 3]
        assert not service.follower.ready.is_set()


async def test_what_is_not_known_yet_is_waited_for(home: Home, held: trio.Event) -> None:
    home.write(lines(1, 2))
    answers: list[object] = []
    async with home.running(complete=False) as service, trio.open_nursery() as nursery:

        async def ask() -> None:
            answers.append(seqs(await service.page()))

        async def ask_for_another() -> None:
            with pytest.raises(UnknownSession):
                await service.page(number=2)
            answers.append("unknown")

        async def ask_by_prefix() -> None:
            answers.append(await service.transcripts.with_prefix("5f1c", 2))

        for each in (ask, ask_for_another, ask_by_prefix):
            nursery.start_soon(each)
        await wait_all_tasks_blocked()
        assert not answers
        held.set()
    assert sorted(map(str, answers)) == ["['" + session_id() + "']", "[1, 2]", "unknown"]


async def test_who_waits_to_forget_a_session_does_not_keep_the_sweep_from_finding_it(
    home: Home, request: pytest.FixtureRequest
) -> None:
    path = home.write(lines(1, 2))
    async with home.running() as service:
        path.unlink()
        await service.sweep()
        assert (await service.row()).gone
    home.write(lines(1, 2))
    held = request.getfixturevalue("held")
    async with home.running(complete=False) as service, trio.open_nursery() as nursery:

        async def forget() -> None:
            with pytest.raises(StillThere):
                await service.transcripts.forget(session_id())

        nursery.start_soon(forget)
        await wait_all_tasks_blocked()
        held.set()
