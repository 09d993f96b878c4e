"""The ids that agents have given to sessions: kept for good, and by one session each."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from podiumd.store.facts import open_store
from podiumd.store.opening import open_facts
from podiumd.store.records import NewFact
from podiumd.store.schema import MIGRATIONS
from podiumd.store.writing import Decision
from tests.store.support import a_fact, a_run

BEFORE = MIGRATIONS[:3]
"""The schema before there was a table of them."""


def naming(ours: str, theirs: str, family: str = "codex") -> NewFact:
    said = {"session_id": ours, "agent_session_id": theirs, "family": family}
    data = msgspec.json.encode(said)
    return a_fact(type="session.named", data=data, session_id=ours)


async def test_the_last_name_of_a_session_holds_and_outlives_its_runs(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(session_id="one"), [naming("one", "a"), naming("one", "b")])
        assert await store.agent_session("one") == "b"
        assert await store.sessions_called("b") == {"codex": "one"}
        assert await store.sessions_called("a") == await store.sessions_called("one") == {}
        await store.forget_runs(["run-1"])
    async with open_store(tmp_path) as store:
        assert await store.agent_session("one") == "b"
        assert await store.named_with_prefix("o", 3) == ["one"]
        assert await store.named_with_prefix("b", 3) == ["one"]
        await store.forget_ledger("by-file", "one")
        assert await store.agent_session("one") is None


async def test_a_name_is_no_other_sessions(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(session_id="one"), [naming("one", "a")])
        for taken in ("a", "one"):
            await store.append(a_run("run-2", session_id="two"), [naming("two", taken)])
        assert await store.sessions_called("a") == {"codex": "one"}
        assert await store.sessions_called("one") == {}
        assert await store.agent_session("two") is None
        await store.append(a_run("run-3", session_id="c"), [naming("c", "c")])
        assert await store.agent_session("c") == "c", "a session that the agent began itself"


async def test_agents_of_two_families_may_mean_two_sessions_by_one_id(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        for number, (ours, family) in enumerate((("one", "codex"), ("two", "other"))):
            run = a_run(f"run-{number}", session_id=ours)
            await store.append(run, [naming(ours, "a", family)])
        names = [("codex", "a"), ("other", "a"), ("third", "a")]
        assert await store.sessions_named(names) == {names[0]: "one", names[1]: "two"}
        assert await store.sessions_called("a") == {"codex": "one", "other": "two"}
        await store.forget_runs(["run-0", "run-1"])
        await store.forget_ledger("by-file", "one")
        assert await store.sessions_called("a") == {"other": "two"}, "the other is there still"


async def test_what_is_forgotten_of_a_session_that_a_run_has_leaves_its_name(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path) as store:
        await store.append(a_run(session_id="one"), [naming("one", "a")])
        await store.forget_ledger("by-file", "one")
        assert await store.agent_session("one") == "a"


async def test_names_of_before_there_was_a_place_for_them_are_found(tmp_path: Path) -> None:
    file = tmp_path / "facts.db"
    with closing(open_facts(tmp_path, BEFORE)) as connection:
        facts = (naming("one", "a"), naming("one", "b"), a_fact(type="session.named", data=b"[]"))
        for number, fact in enumerate((*facts, a_fact())):
            run = a_run(session_id="one")
            connection.execute("BEGIN")
            plain = msgspec.structs.replace(fact, type=f"put-{number}")
            Decision(file, run, (plain,), None, None, begins=True)(connection)
            connection.execute("UPDATE facts SET type = ? WHERE pos = ?", (fact.type, number + 1))
            connection.execute("COMMIT")
    async with open_store(tmp_path) as store:
        assert await store.agent_session("one") == "b"
