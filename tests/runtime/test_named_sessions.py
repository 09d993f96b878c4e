"""Sessions of an agent that names them itself: everybody else knows them by Podium's id."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from msgspec.structs import replace

from podiumd.core.run import facts as f
from podiumd.drivers.base import SessionNamed, TurnStatus
from podiumd.runtime.errors import InvalidParameter
from podiumd.tools.failpoints import VARIABLE
from tests.runtime.fake_agent import FakeDriver, FakeTurn, done
from tests.runtime.harness import Daemon, Machine, running

KILLED: Final = """
import sys
from pathlib import Path
import trio
from tests.runtime.test_named_sessions import one_turn
trio.run(one_turn, Path(sys.argv[1]))
"""


@pytest.fixture
def naming(machine: Machine) -> Machine:
    """A machine whose agent takes no session id from anybody."""
    machine.agent.capabilities = replace(machine.agent.capabilities, names_sessions=True)
    return machine


async def named(daemon: Daemon, name: str, **fields: Any) -> tuple[str, FakeTurn]:
    """A prompt whose agent says how it calls the session; the session, and the turn, which is
    over."""
    went = await daemon.prompt("Hello", **fields)
    turn = await daemon.turn()
    turn.says(SessionNamed(name))
    turn.says(SessionNamed(name))
    turn.end(done())
    await daemon.ended(went["run_id"])
    return str(went["session_id"]), turn


async def test_the_next_turn_of_a_session_gets_the_agents_own_id_also_from_the_next_daemon(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        session, first = await named(daemon, "ses_1")
        assert (first.request.session_mode, first.request.agent_session_id) == ("new", None)
        again, second = await named(daemon, "ses_1", session_id=session)
        assert again == second.request.session_id == session
        asked = second.request
        assert (asked.session_mode, asked.agent_session_id) == ("resume", "ses_1")
    async with running(naming) as daemon:
        _, third = await named(daemon, "ses_2", session_id=session)
        assert third.request.agent_session_id == "ses_1"
        assert await daemon.context.store.agent_session(session) == "ses_2", "the last one holds"


async def test_a_session_is_found_by_the_id_that_its_agent_has_for_it(naming: Machine) -> None:
    async with running(naming) as daemon:
        session, _ = await named(daemon, "ses_1")
        store = daemon.context.store
        assert await store.sessions_called("ses_1") == {"claude": session}
        assert await store.agent_session("ses_1") is None
        again, turn = await named(daemon, "ses_1", session_id="ses_1")
        assert again == session and turn.request.session_mode == "resume"


async def test_the_name_is_one_fact_however_often_it_is_told(naming: Machine) -> None:
    async with running(naming) as daemon:
        _, turn = await named(daemon, "ses_1")
        rows = await daemon.context.store.of_type([turn.request.run_id], "session.named")
        assert [f.decode(bytes(row.data)) for row in rows] == [
            f.SessionNamed(
                turn_id=turn.request.turn_id,
                session_id=turn.request.session_id,
                agent_session_id="ses_1",
                family="claude",
            )
        ]


async def test_a_turn_that_is_looked_for_is_looked_for_under_the_agents_own_id(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        went = await daemon.prompt("Hello")
        turn = await daemon.turn()
        turn.says(SessionNamed("ses_1"))
        await daemon.until(went["run_id"], lambda state: bool(state.agent_sessions))
    turn.end(done())
    naming.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(naming) as daemon:
        again = await daemon.turn()
        assert naming.agent.looked_at[-1].agent_session_id == "ses_1"
        # It was begun as a new session, and nothing of that is with the agent: so it is again.
        assert (again.request.session_mode, again.request.agent_session_id) == ("new", None)


async def one_turn(root: Path) -> None:
    """A turn whose agent tells its id of the session, in a process that a failpoint kills."""
    machine = Machine(root)
    machine.agent.capabilities = replace(machine.agent.capabilities, names_sessions=True)
    async with running(machine) as daemon:
        await named(daemon, "ses_1")


async def killed(root: Path, point: str) -> None:
    """Kill the daemon of that turn at a failpoint."""
    result = await trio.run_process(
        [sys.executable, "-c", KILLED, str(root)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            VARIABLE: point,
        },
        check=False,
    )
    assert result.returncode == -signal.SIGKILL


async def test_an_id_that_was_told_before_a_kill_and_not_stored_is_stored_by_the_next_daemon(
    tmp_path: Path,
) -> None:
    """Its agent has ended meanwhile."""
    await killed(tmp_path, "turn.session-named")
    machine = Machine(tmp_path)
    ended = TurnStatus(state="finished", report=done(), agent_session_id="ses_1")
    [turn] = (machine.state / "turns").iterdir()
    machine.agent.settled[turn.name] = ended
    async with running(machine) as daemon:
        store = daemon.context.store
        [run] = await store.runs()
        await daemon.ended(run.run_id)
        assert await store.agent_session(run.session_id or "") == "ses_1"


async def test_a_copy_is_made_of_the_agents_own_session_and_then_gone_on_with(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        session, _ = await named(daemon, "ses_1")
        copy, turn = await named(daemon, "ses_2", session_id=session, fork=True)
        asked = turn.request
        assert (asked.session_mode, asked.fork_from) == ("fork", session)
        assert asked.agent_session_id == "ses_1" and copy not in (session, "ses_2")
        _, turn = await named(daemon, "ses_2", session_id=copy)
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("resume", "ses_2")


async def test_a_copy_that_came_to_nothing_is_made_again_though_it_had_a_name(
    naming: Machine,
) -> None:
    async with running(naming) as daemon:
        session, _ = await named(daemon, "ses_1")
        went = await daemon.prompt("What if", session_id=session, fork=True)
        turn = await daemon.turn()
        turn.says(SessionNamed("ses_2"))
        await daemon.until(went["run_id"], lambda state: bool(state.agent_sessions))
    turn.end(done())
    naming.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(naming):
        again = (await naming.agent.next_turn()).request
        assert (again.session_mode, again.agent_session_id) == ("fork", "ses_1")


async def test_a_session_goes_on_with_its_own_kind_of_agent_alone(machine: Machine) -> None:
    other, second_account, player = FakeDriver(), FakeDriver(), FakeDriver()
    other.name = "other"
    machine.drivers |= {"other": other, "work": second_account, "scripted": player}
    async with running(machine) as daemon:
        went = await daemon.prompt("Hello")
        (await daemon.turn()).end(done())
        await daemon.ended(went["run_id"])
        session = str(went["session_id"])
        for fork in (False, True):
            with pytest.raises(InvalidParameter) as refused:
                await daemon.prompt(session_id=session, agent="other", fork=fork)
            assert f"{session} is a conversation with claude, of which other" in str(refused.value)
        assert other.turns == []
        for agent, driver in (("work", second_account), ("scripted", player)):
            went = await daemon.prompt(session_id=session, agent=agent)
            (await driver.next_turn()).end(done())
            await daemon.ended(went["run_id"])
