"""Pages of a session's messages, and the list of sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.sessions import transcripts
from podiumd.sessions.changes import SessionChanges
from podiumd.sessions.index import logs, watch
from podiumd.sessions.index.follower import Follower
from podiumd.sessions.log import messages, open_log
from podiumd.sessions.transcripts import StillThere, UnknownSession
from tests.long import sampled
from tests.sessions.service import Home, Service, collect, seqs, told
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


# -- following a session: what was, then what comes, to everybody and without a gap ----------


async def test_subscribers_that_enter_at_any_moment_of_a_burst_miss_nothing(home: Home) -> None:
    home.write(lines(1, 3))
    last, found = 203, list[list[int]]()

    async def subscribe(service: Service, limit: int) -> None:
        async with service.following(limit=limit) as feed:
            found.append(await collect(feed, last))

    async with home.running() as service, trio.open_nursery() as nursery:
        for number in range(4, last + 1):
            home.write(line(number))
            if number % 8 == 0:
                nursery.start_soon(subscribe, service, number % 5 + 1)
            await trio.lowlevel.checkpoint()
    assert len(found) == 25
    for numbers in found:
        assert numbers == list(range(numbers[0], last + 1))


@pytest.mark.parametrize("size", [10, 100_000])
async def test_many_subscribers_have_a_message_decoded_once(
    home: Home, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Whether it is read in the event loop or aside."""
    decoded: list[int] = []
    decode = messages._decode

    def counted(*args: object) -> object:
        made = decode(*args)  # type: ignore[arg-type]
        decoded.append(made.seq)
        return made

    monkeypatch.setattr(messages, "_decode", counted)
    home.write(line(1))
    found: list[list[int]] = []
    async with home.running() as service:

        async def subscribe() -> None:
            async with service.following() as feed:
                found.append(await collect(feed, 3))

        async with trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(subscribe)
            await wait_all_tasks_blocked()
            home.write(line(2, "x" * size))
            home.write(line(3, "y" * size))
        assert found == [[1, 2, 3]] * 30
        assert sorted(decoded) == [1, 2, 3]


async def test_a_cache_that_is_full_costs_only_the_reading(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_log, "CACHE_BYTES", 500)
    home.write(lines(1, 8))
    async with home.running() as service:
        for after in (0, 3, 6):
            assert seqs(await service.page(after)) == list(range(after + 1, 9))
        assert seqs(await service.page(limit=1)) == [8]
        assert 0 < service.opened()._cached_bytes <= 500


async def test_a_page_that_follows_the_cache_with_a_gap_takes_its_place(home: Home) -> None:
    home.write(lines(1, 2))
    async with home.running() as service:
        assert seqs(await service.page()) == [1, 2]
        home.write(lines(3, 5))
        await service.sweep()
        assert seqs(await service.page(limit=2)) == [6, 7]
        assert seqs(await service.page(limit=3)) == [5, 6, 7]
        assert seqs(await service.page(0)) == [1, 2, 3, 4, 5, 6, 7]


async def test_a_subscriber_that_reads_nothing_costs_nothing_and_loses_nothing(home: Home) -> None:
    home.write(line(1))
    async with home.running() as service, service.following() as stalled:
        async with service.following() as quick:
            for number in range(2, 600):
                home.write(line(number))
            assert await collect(quick, 599) == list(range(1, 600))
        assert await collect(stalled, 599) == list(range(1, 600))


@pytest.mark.parametrize("appends", sampled([1_000, 10_000]))
async def test_appends_in_a_burst_are_all_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, appends: int
) -> None:
    """Over more files than the watch tells one by one: the rest is found by a sweep."""
    monkeypatch.setattr(watch, "MOST_PATHS", 20)
    files = range(1, 41)
    messages = range(1, appends // len(files) + 2)
    for number in files:
        home.write(line(1), number)
    found: dict[int, list[int]] = {}
    async with home.running() as service, trio.open_nursery() as nursery:

        async def subscribe(number: int, ready: Callable[[], None]) -> None:
            async with service.following(number=number) as feed:
                ready()
                found[number] = await collect(feed, len(messages))

        ready: list[None] = []
        everybody = trio.Event()

        def one_more() -> None:
            ready.append(None)
            if len(ready) == len(files):
                everybody.set()

        for number in files:
            nursery.start_soon(subscribe, number, one_more)
        await everybody.wait()
        for message in messages[1:]:
            for number in files:
                home.write(line(message), number)
            await trio.lowlevel.checkpoint()
    assert found == {number: list(messages) for number in files}


async def test_more_sessions_are_followed_than_logs_are_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "KEPT_OPEN", 2)
    for number in range(1, 6):
        home.write(line(1), number)
    async with (
        home.running() as service,
        service.following(number=1) as one,
        service.following(number=2) as two,
        service.following(number=3) as three,
    ):
        for number, feed in ((1, one), (2, two), (3, three)):
            home.write(line(2), number)
            assert await collect(feed, 2) == [1, 2]
        for number in (4, 5):
            assert seqs(await service.page(number=number)) == [1]
        assert len(service.logs.followed) == 3
        assert service.logs.get(session_id(4)) is None


async def test_logs_that_nobody_uses_are_closed_and_opened_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "KEPT_OPEN", 2)
    for number in range(1, 6):
        home.write(lines(1, number), number)
    async with home.running() as service:
        for _ in range(2):
            for number in range(1, 6):
                assert seqs(await service.page(number=number)) == list(range(1, number + 1))
        assert [service.logs.get(session_id(number)) is None for number in range(1, 6)] == [
            *[True] * 3,
            *[False] * 2,
        ]
        home.write(line(2), 1)  # to one that is closed
        await service.sweep()
        assert seqs(await service.page(number=1)) == [1, 2]


async def test_a_feed_ends_when_the_service_does(home: Home) -> None:
    home.write(line(1))
    ended: list[bool] = []

    async def subscribe(service: Service, task_status: trio.TaskStatus[None]) -> None:
        async with service.following() as feed:
            task_status.started()
            async for _ in feed:
                pytest.fail("nothing happened")
            ended.append(True)

    async with trio.open_nursery() as nursery, home.running() as service:
        # That the service ends first is what this is about.
        await nursery.start(subscribe, service)
        await wait_all_tasks_blocked()
    assert ended == [True]


@pytest.mark.usefixtures("unwatched")
async def test_a_notification_says_how_far_the_log_goes(home: Home) -> None:
    home.write(line(1))
    async with home.running() as service, service.following() as feed:
        home.write(lines(2, 300))
        await service.sweep()
        first, second = await anext(feed), await anext(feed)
        assert (first.session_id, first.generation) == (session_id(), 1)
        assert (first.next_seq, first.last_seq) == (257, 301)
        assert (second.next_seq, second.last_seq) == (301, 301)
        assert len(told(first)) == 256


# -- who keeps a list of sessions hears which of them changed, and is never flooded ----------


async def test_a_listener_hears_each_session_once_however_often_it_changed() -> None:
    news = SessionChanges()
    with news.listen() as one:
        news.notify("a")
        news.notify("b", "a")
        assert await one.changed() == {"a", "b"}
        news.notify("c")
        assert await one.changed() == {"c"}
    news.notify("d")


async def test_a_session_that_is_new_grows_or_goes_is_news(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.running() as service:
        await service.transcripts.complete()
        await wait_all_tasks_blocked()
        with service.transcripts.listen() as listener:
            path = home.write(line(1))
            assert await listener.changed() == {session_id()}
            home.write(line(2))
            assert await listener.changed() == {session_id()}
            path.unlink()
            assert await listener.changed() == {session_id()}
