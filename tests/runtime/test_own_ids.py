"""Sessions whose agent's ids are no UUIDs: clients know each by one UUID, for good."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.drivers.base import SessionNamed
from podiumd.formats.session import public_id
from podiumd.runtime.errors import AgentUnavailable
from podiumd.sessions.index.tree import Root
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running
from tests.runtime.test_one_conversation import begun, listed, seqs
from tests.runtime.test_session_list import ready
from tests.runtime.test_storage import storage_of

OWN = "session_0f5a3b52-0000-4000-8000-000000000001"
OTHER = "session_0f5a3b52-0000-4000-8000-000000000002"


class WithKimi(Machine):
    """A machine with session files of Kimi Code, of an agent of this name."""

    agent_name = "claude"
    form = "kimi"

    @property
    def roots(self) -> list[Root]:
        return [Root(self.agent_name, self.project / ".kimi", self.form)]


@pytest.fixture
def machine(tmp_path: Path) -> WithKimi:
    made = WithKimi(tmp_path)
    made.agent.capabilities = replace(made.agent.capabilities, names_sessions=True)
    return made


def write(machine: WithKimi, text: str, own: str = OWN) -> None:
    """Let a person say something in a session, a sub-agent in another file of it."""
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    line = json.dumps({"type": "context.append_message", "message": message})
    session = machine.roots[0].directory / "wd_app_1" / own
    for agent in ("main", "agent-0"):
        path = session / "agents" / agent / "wire.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{line}\n")
    (session / "state.json").write_text(json.dumps({"cwd": str(machine.project)}))


async def got(daemon: Daemon, name: str) -> tuple[str, int]:
    row = await daemon.service.sessions_get(name)
    return row.session_id, row.subagents


async def test_a_session_of_a_terminal_is_known_by_a_uuid_and_taken_by_both_ids(
    machine: WithKimi,
) -> None:
    write(machine, "Hello")
    write(machine, "Another", OTHER)
    public = public_id(OWN)
    async with ready(machine) as daemon:
        assert sorted(await listed(daemon)) == sorted([public, public_id(OTHER)])
        for name in (public, public[:8], OWN):
            assert await got(daemon, name) == (public, 1)
            assert await seqs(daemon, name) == [1]
        with daemon.service.sessions_changed() as changes:
            write(machine, "More")
            assert await changes.changed() == {public}


async def test_a_session_that_podium_began_is_one_row_by_podiums_id(machine: WithKimi) -> None:
    write(machine, "Hello")
    write(machine, "Another", OTHER)
    async with ready(machine) as daemon:
        session, turn = await begun(daemon, OWN)
        assert sorted(await listed(daemon)) == sorted([session, public_id(OTHER)])
        for name in (session, OWN):
            assert await got(daemon, name) == (session, 1)
            assert await seqs(daemon, name) == [1]
        with daemon.service.sessions_changed() as changes:
            write(machine, "More")
            assert await changes.changed() == {session}
        turn.end(done())


async def test_a_session_that_is_gone_is_pruned_by_podiums_id_and_leaves_no_name(
    machine: WithKimi,
) -> None:
    write(machine, "Hello")
    async with ready(machine) as daemon:
        session, turn = await begun(daemon, OWN)
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        shutil.rmtree(machine.roots[0].directory)
        await daemon.forgotten(turn.request.run_id)
        await daemon.store.forget_runs([turn.request.run_id])
        assert await daemon.store.agent_session(session) == OWN
    async with ready(machine) as daemon:
        assert await storage_of(daemon)._transcripts.gone(None) == [session]
        await daemon.service.sessions_forget(session)
        assert await daemon.store.agent_session(session) is None


async def test_podiums_own_record_of_a_session_is_read_by_podiums_id(machine: WithKimi) -> None:
    machine.form = "acp"
    async with ready(machine) as daemon:
        session, turn = await begun(daemon, "ses_1")
        turn.end(done())
        await daemon.ended(turn.request.run_id)
    row = {"type": "prompt", "uuid": "u", "text": "Hello", "cwd": str(machine.project)}
    machine.roots[0].directory.mkdir()
    (machine.roots[0].directory / f"{session}.jsonl").write_text(json.dumps(row) + "\n")
    async with running(machine) as daemon:  # which does not know every session yet
        for name in (session, "ses_1"):
            assert await seqs(daemon, name) == [1]
        assert await listed(daemon) == [session]


async def test_a_session_of_a_terminal_is_gone_on_with_by_its_own_id(machine: WithKimi) -> None:
    write(machine, "Hello")
    async with ready(machine) as daemon:
        went = await daemon.prompt("Go on", session_id=OWN)
        turn = await daemon.turn()
        assert went["session_id"] == public_id(OWN) == turn.request.session_id
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("resume", OWN)
        turn.says(SessionNamed(OWN))
        turn.end(done())
        await daemon.ended(turn.request.run_id)
        assert await listed(daemon) == [public_id(OWN)]
        copied = await daemon.prompt("Otherwise", session_id=OWN, fork=True)
        turn = await daemon.turn()
        assert copied["session_id"] != public_id(OWN)
        assert (turn.request.session_mode, turn.request.agent_session_id) == ("fork", OWN)
        turn.end(done())


async def test_a_session_of_an_agent_whose_program_is_absent_is_refused_with_its_name(
    machine: WithKimi,
) -> None:
    write(machine, "Hello")
    machine.agent_name = "kimi"
    async with ready(machine) as daemon:
        with pytest.raises(
            AgentUnavailable, match="its program `kimi` was not on the daemon's PATH"
        ):
            await daemon.prompt("Go on", session_id=OWN)


def test_the_uuid_of_an_id_is_for_good() -> None:
    assert public_id(OWN) == "078517ed-8cf1-524a-890c-c627ebcde1ed"
    assert public_id("0F5A3B52-0000-4000-8000-000000000001") == OWN.removeprefix("session_")
