"""What goes wrong below the gateway stays with the message, the run or the session concerned."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from podiumd.core.run import facts as f
from podiumd.gateway.phone.feed import run_events
from podiumd.gateway.phone.feed.recipe_board import Reported
from podiumd.gateway.phone.phone_link import MOST_PROMPTED
from podiumd.projects.worktrees import Worktree, Worktrees
from podiumd.runtime.errors import Overloaded
from podiumd.store.errors import StoreFailed
from podiumd.tools.git.queries import GitError
from tests.gateway.phone.phone_server import PhoneClient, PhoneServer, open_phone_server
from tests.runtime.harness import Machine
from tests.sessions.support import line as record


async def test_a_run_whose_beginning_is_damaged_does_not_keep_the_gateway_from_starting(
    machine: Machine, tmp_path: Path, gated: str, one: str
) -> None:
    async with open_phone_server(machine, tmp_path) as server:
        damaged, _ = await server.daemon.waiting(gated)
    database = sqlite3.connect(machine.state / "facts.db")
    with database:
        database.execute("update facts set data = x'7b7d' where seq = 1 and run_id = ?", [damaged])
    database.close()
    async with open_phone_server(machine, tmp_path) as server:
        client = await server.connected()
        other = machine.directory("other")
        client.say("start_recipe", session_id=None, recipe_id=one, working_directory=other)
        assert (await client.hears("recipe_started"))["recipe_id"] == one


FAULTS = [
    sqlite3.OperationalError("disk I/O error"),
    OSError(5, "Input/output error"),
    StoreFailed(Path("facts.db"), "facts.db: the database refused"),
    ZeroDivisionError(),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_whatever_goes_wrong_with_a_message_the_phone_is_told_and_stays(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    session = str(uuid.uuid4())
    await server.record(session, record(1))
    client = await server.connected()

    async def refuse(*_: object) -> Any:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(server.hub.services.service, "sessions_messages", refuse)
        client.say("subscribe", session_id=session)
        await client.caught_up()
    assert len(client.of("error")) == 1 and client.closed is None
    client.say("subscribe", session_id=session)
    await client.hears("session_history")


async def test_a_fault_is_logged_with_an_id_that_the_phone_is_told(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = await server.connected()

    async def refuse(*_: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(server.hub.services.service.recipes, "list", refuse)
    client.say("get_available_recipes")
    said = (await client.hears("error"))["message"]
    (entry,) = [each for each in caplog.records if each.msg == "%s" and each.exc_info]
    assert entry.podium["id"] in said  # type: ignore[attr-defined]


async def test_a_list_that_cannot_be_read_does_not_turn_a_phone_away(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> Any:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(server.hub.services.service, "sessions_list", refuse)
        client = await server.connected()
    client.say("refresh_sessions")
    await client.hears("session_list")


# -- worktrees -------------------------------------------------------------------------------


class Trees:
    """Working trees that are only said to be made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.path = path
        self.discarded: list[str] = []
        self.fault: Exception | None = None
        monkeypatch.setattr(Worktrees, "create", self._create)
        monkeypatch.setattr(Worktrees, "discard", self._discard)

    async def _create(self, *_: object) -> Worktree:
        await trio.lowlevel.checkpoint()
        return Worktree(path=str(self.path), branch="topic", project="/p", commit="c")

    async def _discard(self, tree: Worktree) -> None:
        await trio.lowlevel.checkpoint()
        self.discarded.append(tree.branch)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> Trees:
    return Trees(monkeypatch, machine.project)


def wanted(client: PhoneClient, **fields: str) -> None:
    """The phone asks for a session in a working tree of its own."""
    client.say("create_worktree_session", session_name="topic", parent_directory="/p", **fields)


async def test_a_tree_that_git_does_not_remove_again_costs_nothing_but_a_line_in_the_log(
    server: PhoneServer, trees: Trees
) -> None:
    trees.fault = GitError("work stands in it")
    client = await server.connected()
    wanted(client, provider="none-such")
    assert (await client.hears("worktree_session_error"))["error_type"] == "agent_failed"
    await client.caught_up()
    assert trees.discarded == ["topic"] and client.of("error") == []


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (StoreFailed(Path("facts.db"), "facts.db: the disk"), "worktree_session_error"),
        (ZeroDivisionError(), "error"),
    ],
)
async def test_no_tree_is_left_in_which_no_session_was_begun(
    server: PhoneServer,
    trees: Trees,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    told: str,
) -> None:
    async def refuse(*_: object) -> Any:
        raise fault

    monkeypatch.setattr(server.hub.services.service, "prompt", refuse)
    client = await server.connected()
    wanted(client)
    await client.hears(told)
    assert trees.discarded == ["topic"]


async def test_a_session_in_a_tree_is_begun_though_the_phone_that_asked_has_gone(
    server: PhoneServer, trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gate, prompt = trio.Event(), trio.Event(), server.hub.services.service.prompt

    async def slow(request: Any) -> Any:
        begun.set()
        await gate.wait()
        return await prompt(request)

    monkeypatch.setattr(server.hub.services.service, "prompt", slow)
    client = await server.connected()
    wanted(client)
    await begun.wait()
    client.hang_up()
    while server.hub.phones:
        await wait_all_tasks_blocked()
    gate.set()
    assert (await server.daemon.turn()).request.working_directory == str(trees.path)
    assert trees.discarded == []


async def test_a_daemon_that_stops_before_the_session_is_begun_leaves_no_tree(
    machine: Machine, tmp_path: Path, trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = trio.Event()

    async def never(_: object) -> Any:
        begun.set()
        await trio.sleep_forever()

    async with open_phone_server(machine, tmp_path) as server:
        monkeypatch.setattr(server.hub.services.service, "prompt", never)
        client = await server.connected()
        wanted(client)
        await begun.wait()
    assert trees.discarded == ["topic"]


# -- what is remembered ----------------------------------------------------------------------


async def test_a_phone_that_has_spoken_in_many_sessions_hears_of_the_latest(
    server: PhoneServer,
) -> None:
    """P-9.8."""
    went = await server.daemon.prompt("Hi")
    turn = await server.daemon.turn()
    client = await server.connected()
    (phone,) = server.hub.phones
    for _ in range(MOST_PROMPTED):
        phone.prompted.add(str(uuid.uuid4()))
    client.say("prompt", text="more", resume_session_id=went["session_id"])
    await client.hears("ack")
    turn.complete()
    assert (await client.hears("turn_complete"))["session_id"] == went["session_id"]


# -- all phones together: what goes wrong with one event or one phone stays there


async def test_a_fault_in_telling_one_event_does_not_end_the_gateway(
    server: PhoneServer, one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await server.connected()
    take = server.hub.services.news.board.take

    def broken(run_id: str, fact: Reported) -> object:
        if isinstance(fact, f.StepEntered):
            raise RuntimeError("broken")  # noqa: TRY004
        return take(run_id, fact)

    monkeypatch.setattr(server.hub.services.news.board, "take", broken)
    _, turn = await server.daemon.begun(one)
    turn.complete()
    await client.hears("recipe_exited")
    assert client.of("recipe_started") == []


async def test_events_that_cannot_be_read_are_read_again_where_it_stopped(
    server: PhoneServer, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_events, "AGAIN_SECONDS", 0.0)
    client = await server.connected()
    machine.one_step()
    take = run_events.guarded
    failed: list[None] = []

    async def refused(work: object) -> None:
        if not failed:
            failed.append(work.close())  # type: ignore[attr-defined]
            raise Overloaded("the disk is slow")
        await take(work)  # type: ignore[arg-type]

    monkeypatch.setattr(run_events, "guarded", refused)
    _, turn = await server.daemon.begun("one")
    turn.complete()
    await client.hears("recipe_exited")
    assert [m["current_step"] for m in client.of("recipe_started")] == ["work"]


async def test_what_changed_while_no_phone_is_here_is_not_kept(server: PhoneServer) -> None:
    """A first index changes every session, and the ids of all of them are much."""
    (kept,) = server.daemon.transcripts._follower.changes._listeners
    for known in (True, True, False, False):
        await server.record(str(uuid.uuid4()), record(1))
        await wait_all_tasks_blocked()
        assert kept._changed == set()
        client = await server.connected() if known else server.dial()
        await wait_all_tasks_blocked()
        client.hang_up()
        await wait_all_tasks_blocked()


async def test_what_changes_while_a_phone_connects_is_told_to_it(server: PhoneServer) -> None:
    """Its lists may have been made just before."""
    client = server.dial()
    await wait_all_tasks_blocked()
    session = str(uuid.uuid4())
    await server.record(session, record(1))
    _, key = await server.devices.pair(None)
    client.say("connect", api_key=key, protocol_version="0.5.0")
    again = await client.hears("recent_sessions", 2)
    assert [row["session_id"] for row in again["sessions"]] == [session]


async def test_who_connects_without_a_key_and_goes_holds_up_no_list(server: PhoneServer) -> None:
    stranger = server.dial()
    await wait_all_tasks_blocked()
    await server.record(str(uuid.uuid4()), record(1))
    stranger.hang_up()
    await wait_all_tasks_blocked()
    client = await server.connected()
    await server.record(session := str(uuid.uuid4()), record(1))
    newest = await client.hears("recent_sessions")
    assert session in [row["session_id"] for row in newest["sessions"]]
