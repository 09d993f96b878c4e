"""The store as its callers see it."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from podiumd.store import facts as store_facts
from podiumd.store import reading, writing
from podiumd.store.errors import FactDamaged, FactTooNew, RunForgotten, StoreFailed, TokenTaken
from podiumd.store.facts import Marks, Store, open_store
from podiumd.store.records import RunRow, StoredFact, TokenRow
from tests.examples import examples
from tests.store.support import AT, a_fact, a_run, value_of


async def test_facts_get_the_next_seq_of_their_run_and_the_next_global_pos(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        first = await store.append(a_run("a"), [a_fact(1), a_fact(2)])
        second = await store.append(a_run("b"), [a_fact(3)])
        third = await store.append(a_run("a"), [a_fact(4)])
        assert [(f.run_id, f.seq, f.pos) for f in [*first, *second, *third]] == [
            ("a", 1, 1),
            ("a", 2, 2),
            ("b", 1, 3),
            ("a", 3, 4),
        ]
        assert await store.last_pos() == 4


async def test_what_append_returned_is_what_is_read_after_a_restart(tmp_path: Path) -> None:
    odd = a_fact("Zoë\0\n\U0001f600", session_id=None)
    async with open_store(tmp_path) as store:
        stored = await store.append(a_run(), [odd, a_fact(2)])
    async with open_store(tmp_path) as store:
        assert await store.events("run-1") == stored
        assert await store.run("run-1") == a_run()
        assert value_of(stored[0]) == "Zoë\0\n\U0001f600"


async def test_the_data_of_a_stored_fact_is_encoded_as_the_json_it_is(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        [fact] = await store.append(a_run(), [a_fact({"deep": [1, None]})])
    assert msgspec.json.decode(msgspec.json.encode(fact))["data"] == {"value": {"deep": [1, None]}}


async def test_events_of_a_run_can_be_read_in_pages(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact(n) for n in range(1, 6)])
        assert [f.seq for f in await store.events("run-1", after_seq=2, limit=2)] == [3, 4]
        assert [f.seq for f in await store.events("run-1", after_seq=4, limit=2)] == [5]
        assert await store.events("run-1", after_seq=5) == []
        assert await store.events("nobody") == []


async def test_events_of_all_runs_come_in_order_of_pos_and_by_type(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run("a"), [a_fact(1), a_fact(2, type="run.ended")])
        await store.append(a_run("b"), [a_fact(3), a_fact(4, type="run.ended")])
        assert [f.pos for f in await store.events_after(0, 10)] == [1, 2, 3, 4]
        assert [f.pos for f in await store.events_after(1, 2)] == [2, 3]
        ended = await store.events_after(0, 10, frozenset({"run.ended"}))
        assert [value_of(f) for f in ended] == [2, 4]
        assert await store.events_after(0, 10, frozenset()) == []


async def test_a_run_s_row_is_replaced_and_keeps_its_place_in_the_list(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run("a"), [a_fact()])
        await store.append(a_run("b", kind="prompt"), [a_fact()])
        ended = a_run("a", status="ended", ended_at=AT, session_id=None, summary=b'{"new":1}')
        await store.append(ended, [])
        assert await store.runs() == [a_run("b", kind="prompt"), ended]
        assert await store.runs(active=False) == [ended]
        assert await store.runs(active=True, limit=5, kind="recipe") == []
        assert [r.run_id for r in await store.runs(active=True)] == ["b"]
        assert [r.run_id for r in await store.runs(limit=1)] == ["b"]
        assert [r.run_id for r in await store.open_runs()] == ["b"]
        assert await store.run("c") is None


async def test_a_decision_that_moves_its_run_in_no_list_writes_no_index_of_runs(
    tmp_path: Path,
) -> None:
    """Most are of this kind, and a long run stores thousands of them."""
    log = tmp_path / "facts.db-wal"

    async def written(run: RunRow) -> int:
        before = log.stat().st_size
        await store.append(run, [a_fact()])
        return log.stat().st_size - before

    async with open_store(tmp_path) as store:
        await store.append(a_run("other"), [a_fact()])
        await store.append(a_run(), [a_fact()])
        stays = [await written(a_run(summary=b"1" * 100)), await written(a_run(summary=b"2" * 100))]
        moves = await written(a_run(status="waiting", session_id="session-2"))
        assert stays[0] == stays[1] < moves
        row = await store.run("run-1")
        assert row is not None
        assert (row.status, row.session_id, row.intact) == ("waiting", "session-2", True)


async def test_runs_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        for run_id in ("ab1", "ab2", "a%", "b"):
            await store.append(a_run(run_id), [])
        assert [r.run_id for r in await store.runs_with_prefix("ab", 10)] == ["ab1", "ab2"]
        assert [r.run_id for r in await store.runs_with_prefix("a%", 10)] == ["a%"]
        assert [r.run_id for r in await store.runs_with_prefix("a", 1)] == ["a%"]
        assert await store.runs_with_prefix("c", 10) == []


async def test_a_token_is_taken_once_and_a_second_use_stores_nothing(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        assert await store.token("runs.start", "t") is None
        await store.append(a_run("a"), [a_fact()], token=("runs.start", "t", "digest"))
        with pytest.raises(TokenTaken, match=r"'t'.*runs.start"):
            await store.append(a_run("b"), [a_fact()], token=("runs.start", "t", "digest"))
        assert await store.token("runs.start", "t") == TokenRow("digest", "a", AT)
        assert await store.run("b") is None
        assert await store.last_pos() == 1
        await store.append(a_run("c"), [], token=("sessions.prompt", "t", "other"))


async def test_tokens_older_than_a_time_are_forgotten(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        old = a_fact(at="2026-01-01T00:00:00.000Z")
        await store.append(a_run("a"), [old], token=("m", "old", "d"))
        await store.append(a_run("b"), [a_fact(at=AT)], token=("m", "new", "d"))
        assert await store.prune_tokens(AT) == 1
        assert await store.token("m", "old") is None
        assert await store.token("m", "new") is not None


async def test_settings_and_marks_survive_a_restart(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        assert await store.setting("orchestration") is None
        assert await store.mark("s") is None
        await store.set_setting("orchestration", b"true")
        await store.set_setting("orchestration", b"false")
        await store.append(a_run(), [a_fact()], mark=("s", b"{}"))
        await store.append(a_run(), [a_fact()], mark=("s", b'{"size":1}'))
    async with open_store(tmp_path) as store:
        assert await store.setting("orchestration") == b"false"
        assert await store.mark("s") == b'{"size":1}'


async def test_listeners_hear_facts_in_the_order_of_pos_before_append_returns(
    tmp_path: Path,
) -> None:
    heard: list[int] = []

    def listen(facts: Sequence[StoredFact]) -> None:
        heard.extend(fact.pos for fact in facts)

    async def write(run_id: str) -> None:
        for _ in range(3):
            stored = await store.append(a_run(run_id), [a_fact(), a_fact()])
            assert heard.index(stored[0].pos) + 1 == heard.index(stored[1].pos)

    async with open_store(tmp_path, on_facts=listen) as store, trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(write, f"run-{number}")
    assert heard == list(range(1, 121))


async def test_a_listener_that_raises_is_told_to_the_one_who_stored(tmp_path: Path) -> None:
    def listen(facts: Sequence[StoredFact]) -> None:
        raise KeyError("bus")

    async with open_store(tmp_path, on_facts=listen) as store:
        with pytest.raises(KeyError, match="bus"):
            await store.append(a_run(), [a_fact()])
        assert await store.last_pos() == 1


async def test_files_are_for_their_user_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    async with open_store(state) as store:
        await store.append(a_run(), [a_fact()])
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in state.iterdir()}
    assert modes == {"facts.db": 0o600, "facts.db-wal": 0o600, "facts.db-shm": 0o600}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


async def test_rights_that_others_were_given_are_taken_back(tmp_path: Path) -> None:
    async with open_store(tmp_path):
        pass
    (tmp_path / "facts.db").chmod(0o644)
    async with open_store(tmp_path):
        assert stat.S_IMODE((tmp_path / "facts.db").stat().st_mode) == 0o600


async def test_a_closed_store_refuses_writes_by_name(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        pass
    with pytest.raises(StoreFailed, match="closed"):
        await store.append(a_run(), [a_fact()])


async def test_old_facts_are_lifted_step_by_step(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact(7)])
    steps = {
        ("step.entered", 1): lambda data: {"v": data["value"]},
        ("step.entered", 2): lambda data: {"v": [data["v"]]},
    }
    async with open_store(tmp_path, upcasters=steps) as store:
        await store.append(a_run(), [a_fact(version=3, data=b'{"v":[8]}')])
        facts = await store.events("run-1")
        assert [(f.version, msgspec.json.decode(f.data)) for f in facts] == [
            (3, {"v": [7]}),
            (3, {"v": [8]}),
        ]
        assert await store.events_after(0, 10) == facts


async def test_a_fact_of_a_newer_release_stops_its_run_alone(tmp_path: Path) -> None:
    steps = {("step.entered", 1): lambda data: data}
    async with open_store(tmp_path, upcasters=steps) as store:
        await store.append(a_run("a"), [a_fact(1, type="run.started")])
        await store.append(a_run("a"), [a_fact(2, version=2)])
        await store.append(a_run("b"), [a_fact(3, type="run.started")])
    async with open_store(tmp_path) as store:
        with pytest.raises(FactTooNew, match=r"step.entered version 2") as raised:
            await store.events("a")
        assert [value_of(f) for f in raised.value.prefix] == [1]
        assert raised.value.seq == 2
        assert len(await store.events("b")) == 1
        assert [value_of(f) for f in await store.events_after(0, 10)] == [1, 3]


async def test_a_fact_that_no_upcaster_can_lift_stops_its_run_alone(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run("a"), [a_fact(1)])
        await store.append(a_run("b"), [a_fact(2, type="other")])

    def broken(data: dict[str, object]) -> dict[str, object]:
        raise KeyError("gone")

    async with open_store(tmp_path, upcasters={("step.entered", 1): broken}) as store:
        with pytest.raises(FactDamaged, match=r"lifted.*gone"):
            await store.events("a")
        assert len(await store.events("b")) == 1


async def test_a_fact_of_another_version_than_this_release_s_is_not_stored(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        with pytest.raises(ValueError, match=r"step.entered is written as version 1, not 2"):
            await store.append(a_run(), [a_fact(version=2)])
        assert await store.last_pos() == 0


async def test_upcasters_that_leave_out_a_version_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no upcaster lifts turn.ended from version 1"):
        async with open_store(tmp_path, upcasters={("turn.ended", 2): dict}):
            pass


RUNS = st.sampled_from(["a", "b", "c"])

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), RUNS, st.integers(0, 3), st.sampled_from([None, "t", "u"])),
        st.tuples(st.just("end"), RUNS, st.just(1), st.none()),
        st.tuples(st.just("reopen"), st.just(""), st.just(0), st.none()),
    ),
    max_size=12,
)


@examples(40)
@given(steps=STEPS)
def test_any_history_reads_back_like_a_plain_list(
    steps: list[tuple[str, str, int, str | None]],
) -> None:
    """The model: one list of facts, one dictionary of runs in order of creation, one of tokens."""

    async def follow(directory: Path) -> None:
        facts: list[StoredFact] = []
        rows: dict[str, str] = {}
        tokens: dict[str, str] = {}
        position = 0
        while position < len(steps):
            async with open_store(directory) as store:
                for step, run_id, count, token in steps[position:]:
                    position += 1
                    if step == "reopen":
                        break
                    row = a_run(run_id, status="ended" if step == "end" else "running")
                    new = [a_fact(len(facts) + n) for n in range(count)]
                    if token in tokens:
                        with pytest.raises(TokenTaken):
                            await store.append(row, new, token=("m", token, "d"))
                        continue
                    used = None if token is None else ("m", token, "d")
                    facts.extend(await store.append(row, new, token=used))
                    rows[run_id] = row.status
                    if token is not None:
                        tokens[token] = run_id
                assert await store.events_after(0, 1000) == facts
                assert [f.pos for f in facts] == list(range(1, len(facts) + 1))
                for run_id in rows:
                    own = await store.events(run_id)
                    assert own == [f for f in facts if f.run_id == run_id]
                    assert [f.seq for f in own] == list(range(1, len(own) + 1))
                assert [(r.run_id, r.status) for r in await store.runs()] == [*rows.items()][::-1]

    with TemporaryDirectory() as directory:
        trio.run(follow, Path(directory))


# -- runs that are forgotten: wholly, in their order, and without a step back of any count ---


OLD, NEW, LIMIT = "2026-01-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"


async def ended(store: Store, run_id: str, at: str) -> None:
    run = replace(a_run(run_id), status="ended", ended_at=at)
    await store.append(run, [a_fact(1)], token=("runs.start", f"token-{run_id}", "digest"))


async def old_runs(store: Store) -> list[str]:
    return await store.runs_ended_before(LIMIT, 10)


async def test_only_runs_that_ended_long_ago_are_named(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await store.append(a_run("open"), [a_fact(1)])
        await ended(store, "new", NEW)
        assert await old_runs(store) == ["old"]
        assert await store.runs_ended_before(LIMIT, 0) == []


async def test_a_forgotten_run_takes_all_that_is_stored_of_it_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await ended(store, "new", NEW)
        await store.forget_runs(["old"])
        assert await store.run("old") is None and await store.events("old") == []
        assert await store.token("runs.start", "token-old") is None
        assert await store.token("runs.start", "token-new") is not None
        assert [fact.pos for fact in await store.events_after(0, 10)] == [2]


async def test_a_run_that_was_forgotten_is_not_begun_by_what_comes_too_late(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await ended(store, "new", NEW)
        await store.forget_runs(["old"])
        with pytest.raises(RunForgotten, match="run old was deleted"):
            await store.append(a_run("old"), [a_fact(2)], begins=False)
        assert await store.run("old") is None and await store.events("old") == []
        await store.append(a_run("new"), [a_fact(2)], begins=False)
        assert len(await store.events("new")) == 2


async def test_positions_and_the_order_of_runs_never_go_back(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await ended(store, "first", OLD)
        await ended(store, "last", OLD)
        await store.append(replace(a_run("first"), status="ended", ended_at=OLD), [a_fact(2)])
        assert await old_runs(store) == [], "one has the newest fact, one is the newest run"
        await ended(store, "next", NEW)
        assert await old_runs(store) == ["first", "last"]
        await store.forget_runs(await old_runs(store))
    async with open_store(tmp_path) as store:
        (fact,) = await store.append(a_run("after"), [a_fact(1)])
        assert fact.pos == 5
        assert [row.run_id for row in await store.runs(active=None, limit=9)] == ["after", "next"]


async def test_a_run_that_is_forgotten_while_it_is_read_is_whole_or_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at its row and its facts another connection deletes both."""
    async with open_store(tmp_path) as store:
        await ended(store, "old", OLD)
        await ended(store, "new", NEW)
        look = reading.last_seq_of

        def forgotten_meanwhile(connection: sqlite3.Connection, run_id: str) -> int:
            last_seq = look(connection, run_id)
            with closing(sqlite3.connect(store.path)) as other, other:
                writing.forget_runs(other, [run_id])
            return last_seq

        monkeypatch.setattr(reading, "last_seq_of", forgotten_meanwhile)
        assert len(await store.events("old")) == 1
        monkeypatch.undo()
        assert await store.events("old") == []


# -- the mark of a session is read once, and anew after whatever may have written it ---------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose marks are read from the database."""
    keys: list[str] = []
    real = Store._value

    async def value(self: Store, query: str, key: str) -> bytes | None:
        keys.append(key)
        return await real(self, query, key)

    monkeypatch.setattr(Store, "_value", value)
    return keys


async def test_a_mark_is_read_once_until_it_is_written(tmp_path: Path, reads: list[str]) -> None:
    async with open_store(tmp_path) as store:
        for _ in range(2):
            assert await store.mark("s") is None
        assert reads == ["s"]
        for value in (b"1", b"2"):
            await store.append(a_run(), [a_fact(1)], mark=("s", value))
            for _ in range(2):
                assert await store.mark("s") == value
        assert reads == ["s"] * 3
        await store.append(a_run(), [a_fact(2)])
        assert await store.mark("s") == b"2" and reads == ["s"] * 3


async def test_one_that_is_forgotten_is_none(tmp_path: Path, reads: list[str]) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(), [a_fact(1)], mark=("of nobody", b"1"))
        assert await store.mark("of nobody") == b"1"
        await store.forget_marks(["of nobody"])
        assert await store.mark("of nobody") is None


async def test_what_may_or_may_not_have_been_written_is_read_anew(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(tmp_path) as store:
        real = store._writer.submit

        async def stored_and_failed(*given: Any) -> Any:
            await real(*given)
            raise StoreFailed(tmp_path, "nobody knows")

        assert await store.mark("s") is None
        monkeypatch.setattr(store._writer, "submit", stored_and_failed)
        with pytest.raises(StoreFailed):
            await store.append(a_run(), [a_fact(1)], mark=("s", b"1"))
        assert await store.mark("s") == b"1"


async def test_what_was_read_before_a_write_is_not_kept_after_it() -> None:
    known, read, written = Marks(), trio.Event(), trio.Event()

    async def slow() -> bytes:
        read.set()
        await written.wait()
        return b"old"

    async def new() -> bytes:
        return b"new"

    async def ask() -> None:
        assert await known.get("s", slow) == b"old"

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await read.wait()
        with known.changing("s"):
            pass
        written.set()
    assert await known.get("s", new) == b"new"


async def test_no_more_are_kept_than_have_room(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_facts, "MOST_KEPT", 2)
    async with open_store(tmp_path) as store:
        for session in ("a", "b", "a", "c", "a", "b"):
            await store.mark(session)
    assert reads == ["a", "b", "c", "b"]
