"""The file of an agent that names its sessions, and our session of it, are one conversation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace

from podiumd.drivers.base import PendingTurn, SessionNamed, TurnStatus
from podiumd.formats.session import public_id
from podiumd.runtime.errors import Busy, InvalidParameter, NotFound
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.leases import Lease, LeaseBook
from tests.plain import plain
from tests.runtime.fake_agent import FakeDriver, FakeTurn, done
from tests.runtime.harness import Daemon, Machine, fields_of, running
from tests.runtime.test_named_sessions import killed
from tests.runtime.test_session_list import path_of, ready, write
from tests.sessions.support import line, lines, session_id

OWN = session_id(1)
ELSEWHERE = Holder(kind="prompt", id="elsewhere", pid=os.getpid(), state_directory="/elsewhere")


@pytest.fixture
def naming(machine: Machine) -> Machine:
    """A machine whose agent takes no session id from anybody."""
    machine.agent.capabilities = replace(machine.agent.capabilities, names_sessions=True)
    return machine


async def begun(daemon: Daemon, name: str = OWN, **fields: Any) -> tuple[str, FakeTurn]:
    """A prompt whose agent has told its id of the session; the session, and the turn."""
    went = await daemon.prompt("Hello", **fields)
    turn = await daemon.turn()
    turn.says(SessionNamed(name))
    await daemon.until(went["run_id"], lambda state: bool(state.agent_sessions))
    return str(went["session_id"]), turn


async def finished(daemon: Daemon, name: str = OWN, **fields: Any) -> str:
    """The session of a prompt that is over."""
    session, turn = await begun(daemon, name, **fields)
    turn.end(done())
    await daemon.ended(turn.request.run_id)
    return session


async def refused(daemon: Daemon, name: str, whose: str, **fields: Any) -> None:
    """A prompt whose agent calls its session as another is called: it fails and says so."""
    went = await daemon.prompt("Hello", **fields)
    agent = daemon.context.agents[fields.get("agent", "claude")].driver
    assert isinstance(agent, FakeDriver)
    turn = await agent.next_turn()
    turn.says(SessionNamed(name))
    run = await daemon.ended(went["run_id"])
    assert run["exit"]["reason"] == "error" and whose in run["exit"]["detail"]
    assert await daemon.store.of_type([str(went["run_id"])], "session.named") == []


async def listed(daemon: Daemon) -> list[str]:
    page = await daemon.service.sessions_list(None, 50, None)
    return [row.session_id for row in page.sessions]


async def seqs(daemon: Daemon, session: str) -> list[int]:
    page = await daemon.service.sessions_messages(session, 0, 100)
    return [message["seq"] for message in plain(page)["messages"]]


async def test_the_agents_file_is_listed_once_by_our_id_and_read_by_either(
    naming: Machine,
) -> None:
    write(naming, 1, lines(1, 2))
    write(naming, 16)
    async with ready(naming) as daemon:
        session = await finished(daemon)
        assert sorted(await listed(daemon)) == sorted([session, session_id(16)])
        for name in (session, OWN, session[:8], OWN[:-1]):
            assert (await daemon.service.sessions_get(name)).session_id == session
            assert await seqs(daemon, name) == [1, 2]


async def test_a_file_that_was_listed_before_its_naming_is_told_as_changed_by_our_id(
    naming: Machine,
) -> None:
    async with ready(naming) as daemon:
        with daemon.service.sessions_changed() as changes:
            path = write(naming)
            assert await changes.changed() == {OWN}
            session, turn = await begun(daemon)
            write(naming, data=line(2))
            assert await changes.changed() == {session}
        assert await listed(daemon) == [session] and path == path_of(naming)
        turn.end(done())


async def test_messages_are_followed_under_our_id_while_the_agents_file_grows(
    naming: Machine,
) -> None:
    async with ready(naming) as daemon:
        session, turn = await begun(daemon)
        with pytest.raises(NotFound):
            await daemon.service.sessions_messages(session, 0, 10)
        with daemon.service.sessions_changed() as changes:
            write(naming)
            assert await changes.changed() == {session}
        async with daemon.service.follow_session(session, None, 10) as feed:
            assert (feed.about, feed.start) == (session, 1)
            write(naming, data=line(2))
            told = await anext(feed)
            assert (told.session_id, told.next_seq) == (session, 2)
        turn.end(done())


@pytest.mark.parametrize("lost", [False, True])
async def test_it_is_one_conversation_for_the_next_daemon_too_also_with_a_new_index(
    naming: Machine, lost: bool
) -> None:
    write(naming, 1, lines(1, 3))
    async with ready(naming) as daemon:
        session = await finished(daemon)
        before = await seqs(daemon, session)
    for database in naming.state.glob("index.db*") if lost else ():
        database.unlink()
    async with ready(naming) as daemon:
        assert await listed(daemon) == [session]
        assert await seqs(daemon, session) == before == [1, 2, 3]
        await daemon.prompt("Again", session_id=session)
        turn = await daemon.turn()
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("resume", OWN)
        turn.end(done())


async def test_the_id_outlives_the_run_that_it_came_from(naming: Machine) -> None:
    write(naming)
    async with ready(naming) as daemon:
        session, turn = await begun(daemon)
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        await daemon.forgotten(turn.request.run_id)
        await daemon.store.forget_runs([turn.request.run_id])
        assert await listed(daemon) == [session]
        again, turn = await begun(daemon, session_id=OWN, working_directory=naming.directory("d"))
        assert again == session and turn.request.agent_session_id == OWN
        turn.end(done())


async def test_a_session_that_is_gone_and_forgotten_leaves_no_name(naming: Machine) -> None:
    path = write(naming)
    async with ready(naming) as daemon:
        session, turn = await begun(daemon)
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        await daemon.forgotten(turn.request.run_id)
        await daemon.store.forget_runs([turn.request.run_id])
        path.unlink()
        await daemon.service.sessions_forget(session)
        assert await listed(daemon) == []
        assert await daemon.store.agent_session(session) is None


async def test_a_session_of_the_agents_own_keeps_its_id_and_is_gone_on_with(
    naming: Machine,
) -> None:
    naming.agent.transcripts[OWN] = write(naming)
    async with ready(naming) as daemon:
        where = {"working_directory": str(naming.project)}
        session, turn = await begun(daemon, session_id=OWN, **where)
        assert session == OWN
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("resume", OWN)
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        assert await listed(daemon) == [OWN]
        await daemon.prompt("What if", session_id=OWN, fork=True, **where)
        turn = await daemon.turn()
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("fork", OWN)
        turn.end(done())


async def test_a_session_of_the_agents_own_is_gone_on_with_before_the_next_index_has_it(
    naming: Machine,
) -> None:
    naming.max_agents = 1
    path = naming.agent.transcripts[OWN] = write(naming)
    async with ready(naming) as daemon:
        await daemon.prompt("Hello")
        turn = await daemon.turn()
        await daemon.prompt("In line", session_id=OWN, working_directory=str(naming.project))
    for file in (path, *naming.state.glob("index.db*")):
        file.unlink()
    async with running(naming) as daemon:
        turn.end(done())
        turn = await daemon.turn()
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("resume", OWN)
        turn.end(done())


async def test_a_beginning_of_the_agents_id_will_do_where_only_one_begins_so(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        first = await finished(daemon, "ses_Ab1")
        second = await finished(daemon, "ses_Ac2")
        assert await daemon.service._sessions.resolve("ses_Ab") == first
        assert await daemon.service._sessions.resolve("ses_Ac") == second
        with pytest.raises(InvalidParameter, match="More than one"):
            await daemon.service._sessions.resolve("ses_A")


async def test_an_agent_cannot_take_the_id_of_another_session(naming: Machine) -> None:
    async with running(naming) as daemon:
        first = await finished(daemon, "ses_1")
        for taken in ("ses_1", first):
            await refused(daemon, taken, f"the session {first}")
        assert await daemon.store.sessions_called("ses_1") == {"claude": first}
        assert await daemon.service._sessions.resolve(first) == first


async def test_an_agent_cannot_take_the_session_of_another_agent_by_its_id(
    naming: Machine,
) -> None:
    """What a person says in the session goes to the agent whose session it is."""
    evil = FakeDriver()
    evil.name, evil.capabilities = "evil", naming.agent.capabilities
    naming.drivers["evil"] = evil
    naming.agent.transcripts[OWN] = write(naming, 1, lines(1, 2))
    async with ready(naming) as daemon:
        await refused(daemon, OWN, "a session of claude", agent="evil")
        [row] = (await daemon.service.sessions_list(None, 50, None)).sessions
        assert (row.session_id, row.agent) == (OWN, "claude")
        where = str(naming.project)
        await daemon.prompt("For Claude", session_id=OWN, working_directory=where)
        turn = await daemon.turn()
        assert turn.request.prompt == "For Claude"
        turn.end(done())


async def test_a_session_is_its_own_agents_though_another_had_its_name_before_it_was_known(
    naming: Machine,
) -> None:
    """The file of a session may be seen later than the name that another agent takes."""
    evil = FakeDriver()
    evil.name, evil.capabilities = "evil", naming.agent.capabilities
    naming.drivers["evil"] = evil
    async with ready(naming) as daemon:
        went = await daemon.prompt("Hello", agent="evil")
        turn = await evil.next_turn()
        turn.says(SessionNamed(OWN))
        await daemon.until(went["run_id"], lambda state: bool(state.agent_sessions))
        with daemon.service.sessions_changed() as changes:
            naming.agent.transcripts[OWN] = write(naming)
            assert await changes.changed() == {OWN}
        [row] = (await daemon.service.sessions_list(None, 50, None)).sessions
        assert (row.session_id, row.agent) == (OWN, "claude")
        assert await daemon.service._sessions.resolve(OWN) == OWN
        turn.end(done())


async def test_what_an_agent_asks_after_it_took_a_name_is_shown_to_no_one(naming: Machine) -> None:
    async with running(naming) as daemon:
        first = await finished(daemon, "ses_1")
        went = await daemon.prompt("Hello")
        turn = await daemon.turn()
        turn.says(SessionNamed(first))
        turn.asks()
        await daemon.ended(went["run_id"])
        assert await daemon.store.of_type([went["run_id"]], "question.opened") == []


async def test_a_name_that_is_taken_is_refused_by_the_next_daemon_too(naming: Machine) -> None:
    async with running(naming) as daemon:
        first = await finished(daemon, "ses_1")
        went = await daemon.prompt("Hello")
        turn = await daemon.turn()
    ended = TurnStatus(state="finished", report=done(), agent_session_id=first)
    naming.agent.settled[turn.request.turn_id] = ended
    turn.end(done())
    async with running(naming) as daemon:
        run = await daemon.ended(went["run_id"])
        assert first in run["exit"]["detail"]
        assert await daemon.store.of_type([went["run_id"]], "session.named") == []


# -- locks ---------------------------------------------------------------------------------------


def taken(machine: Machine, session: str) -> Holder | None:
    """Who keeps another daemon of the user from a session."""
    found = LeaseBook(machine.locks).try_session(session, ELSEWHERE)
    if isinstance(found, Holder):
        return found
    found.release()
    return None


async def test_a_session_is_held_under_both_its_ids_and_is_one_lock(naming: Machine) -> None:
    async with running(naming) as daemon:
        session, turn = await begun(daemon, "ses_1")
        run_id = turn.request.run_id
        for name in (session, "ses_1"):
            holder = taken(naming, name)
            assert holder is not None and holder.id == run_id
        with pytest.raises(Busy):
            await daemon.prompt("Beside it", session_id="ses_1")
        [lock] = await daemon.service.locks()
        assert lock.session_id == session and lock.holder.id == run_id
        turn.end(done())
        await daemon.ended(run_id)
        assert taken(naming, session) is None and taken(naming, "ses_1") is None
        assert await daemon.service.locks() == []


@pytest.mark.parametrize("own", ["a/b", "../x", "x" * 300, ""])
async def test_a_session_is_held_also_where_no_file_can_be_called_as_it_is(
    naming: Machine, own: str
) -> None:
    """Another daemon knows a session of that id by the one that follows from it."""
    async with running(naming) as daemon:
        session, turn = await begun(daemon, own)
        holder = taken(naming, public_id(own))
        assert holder is not None and holder.id == turn.request.run_id
        with pytest.raises(Busy):
            await daemon.prompt("Beside it", session_id=own or session)
        [lock] = await daemon.service.locks()
        assert lock.session_id == session
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        assert taken(naming, public_id(own)) is None


async def test_an_agent_that_outlives_its_daemon_holds_its_own_id_too(naming: Machine) -> None:
    async with running(naming) as daemon:
        session, turn = await begun(daemon, "ses_1")
    assert taken(naming, "ses_1") is not None
    naming.agent.settled[turn.request.turn_id] = TurnStatus(state="finished", report=done())
    turn.end(done())
    assert taken(naming, "ses_1") is None
    async with running(naming) as daemon:
        await daemon.ended(turn.request.run_id)
        assert taken(naming, session) is None and taken(naming, "ses_1") is None


async def test_a_session_that_was_named_before_a_kill_and_not_locked_so_is_by_the_next_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await killed(tmp_path, "turn.session-stored")
    machine = Machine(tmp_path)
    assert taken(machine, "ses_1") is None
    monkeypatch.setattr(machine.agent, "inspect", never)
    async with running(machine) as daemon:
        [run] = await daemon.context.store.runs()
        for name in ("ses_1", run.session_id or ""):
            holder = taken(machine, name)
            assert holder is not None and holder.id == run.run_id


async def never(pending: PendingTurn) -> TurnStatus:
    """What became of a turn is not yet known."""
    await trio.sleep_forever()


async def test_an_agent_that_outlives_its_daemon_has_its_own_id_locked_by_the_next(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        session, turn = await begun(daemon, "ses_1")
    (naming.locks / "session-ses_1.lock").unlink()  # as if killed before it was made
    async with running(naming) as daemon:
        holder = taken(naming, "ses_1")
        assert holder is not None and holder.id == turn.request.run_id
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        assert taken(naming, session) is None and taken(naming, "ses_1") is None


async def test_an_id_of_the_agents_that_another_daemon_has_locked_is_logged(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        lease = LeaseBook(naming.locks).try_session("ses_1", ELSEWHERE)
        assert isinstance(lease, Lease)
        with lease:
            session, turn = await begun(daemon, "ses_1")
            await daemon.hears("Session held under its agent's id by another")
            turn.end(done())
            await daemon.ended(turn.request.run_id)
        [logged] = fields_of(daemon.logged, "Session held under its agent's id by another")
        assert (logged["session_id"], logged["holder"]) == (session, "elsewhere")


async def test_a_lock_of_the_agents_id_that_cannot_be_used_is_logged_and_the_turn_goes_on(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        (naming.locks / "session-ses_1.lock").mkdir()
        _, turn = await begun(daemon, "ses_1")
        turn.end(done())
        assert (await daemon.ended(turn.request.run_id))["exit"]["reason"] == "turn-complete"
        assert fields_of(daemon.logged, "Session not held under its agent's id")


async def test_what_another_daemon_has_under_the_agents_id_is_held(
    naming: Machine, one: str
) -> None:
    write(naming)
    async with ready(naming) as daemon:
        session = await finished(daemon)
        (naming.locks / f"session-{OWN}.lock").unlink()  # the other has never seen ours
        lease = LeaseBook(naming.locks).try_session(OWN, ELSEWHERE)
        assert isinstance(lease, Lease)
        with lease:
            for work in (
                lambda: daemon.prompt("Hello", session_id=session),
                lambda: daemon.start(one, session_id=session),
            ):
                with pytest.raises(Busy) as refused:
                    await work()
                assert plain(refused.value.data)["holder"]["id"] == "elsewhere"
                assert taken(naming, session) is None, "what it had taken is given back"
            shown = await daemon.service.sessions_get(session)
            assert shown.holder is not None and shown.holder.id == "elsewhere"
        assert await finished(daemon, session_id=session) == session


async def test_two_daemons_that_give_a_lock_its_second_name_at_once_leave_one_lock(
    naming: Machine,
) -> None:
    books = [LeaseBook(naming.locks) for _ in range(2)]
    held = [book.try_session(f"ours-{n}", ELSEWHERE) for n, book in enumerate(books)]
    found: list[Holder | None] = []

    async def name(number: int) -> None:
        found.append(
            await trio.to_thread.run_sync(books[number].name_also, f"ours-{number}", "theirs")
        )

    async with trio.open_nursery() as nursery:
        for number in range(2):
            nursery.start_soon(name, number)
    assert found.count(None) == 1
    for lease in held:
        assert isinstance(lease, Lease)
        lease.release()
    assert taken(naming, "theirs") is None
