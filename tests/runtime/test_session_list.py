"""Sessions as clients see them: who holds one, which run works in it, what it is called."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.runtime.errors import InvalidParameter, NotFound, Overloaded, Refused
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.leases import Lease
from podiumd.sessions.log import messages
from podiumd.sessions.log.messages import Moved
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running
from tests.runtime.test_agent_sessions import open_elsewhere
from tests.sessions.service import told
from tests.sessions.support import append, line, lines, session_id


def path_of(machine: Machine, number: int = 1) -> Path:
    return machine.roots[0].directory / "-project" / f"{session_id(number)}.jsonl"


def write(machine: Machine, number: int = 1, data: bytes | None = None) -> Path:
    """Add to the transcript of a session."""
    path = path_of(machine, number)
    path.parent.mkdir(parents=True, exist_ok=True)
    append(path, line(1) if data is None else data)
    return path


def at(moment: str, cwd: str = "/home/dev/app") -> bytes:
    return line(1, timestamp=moment, cwd=cwd)


@asynccontextmanager
async def ready(machine: Machine) -> AsyncIterator[Daemon]:
    """A daemon that knows every session."""
    async with running(machine) as daemon:
        await daemon.transcripts.complete()
        yield daemon


async def listed(daemon: Daemon, **fields: Any) -> list[str]:
    """The last digits of the ids that are listed."""
    asked = {"working_directory": None, "limit": 50, "before": None} | fields
    answer = await daemon.service.sessions_list(**asked)
    return [row.session_id[-1] for row in answer.sessions]


async def test_a_row_says_all_that_is_known_of_a_session(machine: Machine) -> None:
    path = write(machine, data=line(1, "Mend the gate") + line(2, "And the fence"))
    for name, data in (("subagents/agent-1.jsonl", line(1)), ("tool-results/1.txt", b"found")):
        companion = path.with_suffix("") / name
        companion.parent.mkdir(parents=True)
        companion.write_bytes(data)
    async with ready(machine) as daemon:
        assert plain(await daemon.service.sessions_get(session_id())) == {
            "session_id": session_id(),
            "agent": "claude",
            "name": "Mend the gate",
            "working_directory": "/home/dev/app",
            "created": "2026-05-01T10:00:01.000Z",
            "last_modified": "2026-05-01T10:00:02.000Z",
            "message_count": 2,
            "preview": "And the fence",
            "holder": None,
            "active_recipe": None,
            "gone": False,
            "size": path.stat().st_size,
            "subagents": 1,
            "tool_results": 1,
        }


async def test_an_empty_session_has_no_directory_and_no_beginning(machine: Machine) -> None:
    write(machine, data=b"")
    async with ready(machine) as daemon:
        row = await daemon.service.sessions_get(session_id())
        assert (row.working_directory, row.created, row.name) == (None, None, "")
        assert (row.message_count, row.preview) == (0, "")


async def test_pages_of_the_list_go_on_where_the_last_ended(machine: Machine) -> None:
    """The newest first; what shares the last moment of a page is in that page."""
    for number, minute in enumerate((9, 8, 7, 7, 5), 1):
        write(machine, number, at(f"2026-05-01T10:0{minute}:00.123Z"))
    async with ready(machine) as daemon:
        answer = await daemon.service.sessions_list(None, 2, None)
        assert answer.total == 5
        assert [row.session_id[-1] for row in answer.sessions] == ["1", "2"]
        before = answer.sessions[-1].last_modified
        assert before == "2026-05-01T10:08:00.123Z"
        assert await listed(daemon, limit=1, before=before) == ["3", "4"]
        assert await listed(daemon, limit=1, before="2026-05-01T10:07:00.123Z") == ["5"]
        assert await listed(daemon, before="2026-05-01T10:05:00.123Z") == []
        assert await listed(daemon) == ["1", "2", "3", "4", "5"]


async def test_a_place_in_the_list_that_is_no_time_is_refused(machine: Machine) -> None:
    async with ready(machine) as daemon:
        with pytest.raises(InvalidParameter, match="'yesterday' is no time") as raised:
            await listed(daemon, before="yesterday")
        assert plain(raised.value.data) == {"parameter": "before"}


async def test_one_directory_s_sessions_are_listed_and_counted(machine: Machine) -> None:
    write(machine, 1, at("2026-05-01T10:01:00Z", "/home/dev/one"))
    write(machine, 2, at("2026-05-01T10:02:00Z", "/home/dev/two"))
    write(machine, 3, at("2026-05-01T10:03:00Z", "/home/dev/one"))
    async with ready(machine) as daemon:
        assert await listed(daemon, working_directory="/home/dev/one") == ["3", "1"]
        assert await listed(daemon, working_directory="/home/dev") == []
        answer = await daemon.service.sessions_list("/home/dev/one", 1, None)
        assert (len(answer.sessions), answer.total) == (1, 2)


@pytest.mark.parametrize(
    ("timestamp", "listed_as"),
    [
        ("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.999Z"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
    ],
)
async def test_a_clock_that_was_far_out_does_not_spoil_the_list(
    machine: Machine, timestamp: str, listed_as: str
) -> None:
    write(machine, data=at(timestamp))
    async with ready(machine) as daemon:
        answer = await daemon.service.sessions_list(None, 50, None)
        assert [row.last_modified for row in answer.sessions] == [listed_as]


async def test_whoever_holds_a_session_is_named(machine: Machine) -> None:
    machine.config_directory = machine.roots[0].directory.parent
    for number in (1, 2, 3):
        write(machine, number)
    async with ready(machine) as daemon:
        lease = daemon.context.leases.try_session(
            session_id(1), Holder(kind="prompt", id="run-1", state_directory="/state")
        )
        assert isinstance(lease, Lease)
        open_elsewhere(machine, session_id(2), "busy")
        with lease:
            answer = await daemon.service.sessions_list(None, 50, None)
        holders = {row["session_id"][-1]: row["holder"] for row in plain(answer.sessions)}
        assert (holders["1"]["kind"], holders["1"]["id"]) == ("prompt", "run-1")
        assert (holders["2"]["kind"], holders["2"]["pid"]) == ("foreign", os.getpid())
        assert holders["3"] is None


async def test_the_recipe_that_works_in_a_session_is_named_while_it_does(
    machine: Machine,
) -> None:
    limited = machine.one_step("limited", top="[limits]\nmax_total_steps = 7")
    async with ready(machine) as daemon:
        run_id, turn = await daemon.begun(limited)
        session = turn.request.session_id
        path = path_of(machine).with_name(f"{session}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(line(1))
        row: Any = None
        while row is None:
            try:
                row = plain(await daemon.service.sessions_get(session))
            except NotFound:
                await trio.lowlevel.checkpoint()
        recipe = row["active_recipe"]
        assert (recipe["run_id"], recipe["recipe_id"]) == (run_id, limited)
        assert (recipe["current_step"], recipe["step_count"]) == ("work", 1)
        assert recipe["max_total_steps"] == 7
        turn.complete("complete")
        await daemon.ended(run_id)
        await daemon.forgotten(run_id)
        assert (await daemon.service.sessions_get(session)).active_recipe is None


async def test_a_plain_prompt_is_no_recipe(machine: Machine) -> None:
    write(machine, data=line(1, cwd=str(machine.project)))
    async with ready(machine) as daemon:
        went = await daemon.prompt(session_id=session_id())
        turn = await daemon.turn()
        row = await daemon.service.sessions_get(session_id())
        assert row.holder is not None
        assert (row.active_recipe, row.holder.id) == (None, went["run_id"])
        turn.end(done())
        await daemon.ended(went["run_id"])


async def test_a_session_is_read_and_followed_by_the_beginning_of_its_id(machine: Machine) -> None:
    path = write(machine, data=lines(1, 2))
    async with ready(machine) as daemon:
        for name in (
            session_id(),
            session_id().upper(),
            session_id()[:4],
            session_id()[:4].upper(),
        ):
            answer = await daemon.service.sessions_messages(name, 1, 5)
            assert [message["seq"] for message in told(answer)] == [2]
            assert (answer.complete, answer.generation) == (True, 1)
        async with daemon.service.follow_session(session_id()[:4], None, 1) as feed:
            assert feed.about == session_id()
            assert [message["seq"] for message in told(feed.answer)] == [2]
            append(path, line(3))
            assert [message["seq"] for message in told(await anext(feed))] == [3]


async def test_a_session_that_is_not_there_is_said_to_be_unknown(machine: Machine) -> None:
    cases = ["5f1", "5f1c8a52x", session_id(7), "", "%", "5f1c%", "5f1c_"]
    write(machine)
    async with ready(machine) as daemon:
        for name in cases:
            for ask in (
                daemon.service.sessions_get(name),
                daemon.service.sessions_messages(name, None, 5),
                daemon.service.sessions_forget(name),
                daemon.service.follow_session(name, None, 5).__aenter__(),
            ):
                with pytest.raises(NotFound) as raised:
                    await ask
                assert plain(raised.value.data) == {"kind": "session", "id": name}


async def test_more_sessions_with_one_beginning_than_can_be_named(machine: Machine) -> None:
    for number in range(1, 6):
        write(machine, number)
    async with ready(machine) as daemon:
        some = ", ".join(session_id(number) for number in (1, 2, 3))
        with pytest.raises(InvalidParameter, match=rf"begins with '5f1c': {some} \.\.\.\.$"):
            await daemon.service.sessions_get("5f1c")


async def test_a_session_is_forgotten_once_its_transcript_is_deleted(machine: Machine) -> None:
    path = write(machine)
    async with ready(machine) as daemon:
        words = f"Its transcript is still there: {path}. Delete that file first."
        with pytest.raises(Refused) as raised:
            await daemon.service.sessions_forget(session_id()[:8])
        assert raised.value.message == words
        path.unlink()
        await daemon.service.sessions_forget(session_id()[:8])
        assert await listed(daemon) == []


async def test_a_transcript_that_does_not_stand_still_is_for_later(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(machine)

    def moved(*args: object) -> None:
        raise Moved

    monkeypatch.setattr(messages, "read", moved)
    async with ready(machine) as daemon:
        with pytest.raises(Overloaded, match="try again"):
            await daemon.service.sessions_messages(session_id(), None, 5)


TASK = """
format = 1
id = "mend"
label = "Mend it"
initial = "work"
[params.task]
type = "string"
default = ""
[steps.work]
prompt = "Do {{task}}."
[steps.work.on]
complete = { to = "look" }
[steps.look]
session = "fresh"
prompt = "Look."
[steps.look.on]
complete = { exit = "turn-complete" }
"""


async def named(daemon: Daemon, session: str) -> str:
    return str((await daemon.service.sessions_get(session)).name)


def said(machine: Machine, session: str, words: str, moment: str) -> None:
    """A session's transcript, as its agent writes it."""
    path = path_of(machine).with_name(f"{session}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    append(path, line(1, words, timestamp=moment))


LATER, EARLIER = "2030-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z"


async def test_sessions_that_a_recipe_began_are_called_by_recipe_and_task(machine: Machine) -> None:
    """Each of them, by this daemon and by the next, also when the run has long ended."""
    recipe = machine.recipe(TASK, "mend")
    sessions = []
    async with ready(machine) as daemon:
        run_id = await daemon.start(recipe, params={"task": "the gate"})
        for _ in range(2):
            turn = await daemon.turn()
            sessions.append(turn.request.session_id)
            said(machine, sessions[-1], "Do the gate.", LATER)
            turn.complete()
        await daemon.ended(run_id)
        known = await daemon.context.names.of(daemon.store)
        assert [known[one].name for one in sessions] == ["mend: the gate"] * 2
        run = await daemon.service.whole_run(run_id)
        assert (run.name, [*run.sessions]) == ("mend: the gate", sessions)
    async with ready(machine) as daemon:
        assert [await named(daemon, one) for one in sessions] == ["mend: the gate"] * 2


async def test_the_next_daemon_knows_all_sessions_of_a_run_that_goes_on(machine: Machine) -> None:
    """The row of a run that has not ended does not tell them."""
    async with ready(machine) as daemon:
        fresh = TASK.replace("[steps.work]", '[steps.work]\nsession = "fresh"')
        run_id = await daemon.start(machine.recipe(fresh, "mend"), params={"task": "the gate"})
        turn = await daemon.turn()
        first = turn.request.session_id
        said(machine, first, "Do the gate.", LATER)
        turn.complete()
        await daemon.turn()
        row = await daemon.store.run(run_id)
        assert row is not None and first not in row.summary.decode()
    async with ready(machine) as daemon:
        assert await named(daemon, first) == "mend: the gate"


async def test_a_name_that_a_person_gave_and_a_session_s_own_beginning_win(
    machine: Machine,
) -> None:
    recipe = machine.recipe(TASK, "mend")
    talked = session_id(7)
    said(machine, talked, "Let us talk", EARLIER)
    async with ready(machine) as daemon:
        _, turn = await daemon.begun(recipe)
        fresh = turn.request.session_id
        said(machine, fresh, "Do it.", LATER)
        title = {"type": "custom-title", "customTitle": "My own", "sessionId": fresh}
        append(path_of(machine).with_name(f"{fresh}.jsonl"), json.dumps(title).encode() + b"\n")
    async with ready(machine) as daemon:
        assert await named(daemon, fresh) == "My own"
        turn.complete()
        where = machine.directory("other")
        await daemon.start(recipe, session_id=talked, working_directory=where)
        assert await named(daemon, talked) == "Let us talk"
