"""A program of the person's own is told what needs them and what is over."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from podiumd.runtime.events.notifications import notify
from tests.runtime.conversations import begun, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Json, Machine, fields_of, running

TELL = "import sys; open({!r}, 'w').write(sys.stdin.read()); sys.exit({!r})"


class Program:
    """A program that passes on what it is told."""

    def __init__(self, root: Path) -> None:
        self._told = root / "told"
        os.mkfifo(self._told)
        self._end = os.open(self._told, os.O_RDWR | os.O_NONBLOCK)
        self._read = b""

    def command(self, ending: str = "") -> tuple[str, ...]:
        """How it is run; it ends with this error, if any."""
        return (sys.executable, "-I", "-c", TELL.format(str(self._told), ending or 0))

    async def event(self) -> Json:
        """The next event that it is told."""
        while b"\n" not in self._read:
            await trio.lowlevel.wait_readable(self._end)
            self._read += os.read(self._end, 65536)
        line, _, self._read = self._read.partition(b"\n")
        event: Json = json.loads(line)
        return event

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    yield program
    program.close()


@asynccontextmanager
async def notifying(daemon: Daemon, command: tuple[str, ...]) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        await nursery.start(notify, daemon.context, daemon.service, lambda: command)
        yield
        nursery.cancel_scope.cancel()


async def test_a_question_and_the_end_of_a_recipe_are_told_as_events(
    machine: Machine, gated: str, program: Program
) -> None:
    async with running(machine) as daemon, notifying(daemon, program.command()):
        run_id, _ = await daemon.waiting(gated)
        asked = await program.event()
        question = await daemon.question(run_id)
        await daemon.answer(run_id, "no")
        ending = await program.event()

    assert (asked["type"], asked["data"]["question_id"]) == (
        "question.opened",
        question["question_id"],
    )
    assert asked["data"]["choices"] == [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    assert (ending["type"], ending["run_id"]) == ("run.ended", run_id)
    assert ending["data"]["run"]["exit"]["reason"] == "gate-declined"


async def test_the_end_of_a_plain_prompt_is_no_news(
    machine: Machine, gated: str, program: Program
) -> None:
    async with running(machine) as daemon, notifying(daemon, program.command()):
        prompted = await daemon.prompt()
        (await daemon.turn()).complete()
        await daemon.ended(prompted["run_id"])
        run_id, _ = await daemon.waiting(gated)
        first = await program.event()

    assert (first["type"], first["run_id"]) == ("question.opened", run_id)


async def test_what_was_not_told_when_the_daemon_ended_is_told_by_the_next(
    machine: Machine, gated: str, program: Program
) -> None:
    async with running(machine) as daemon:
        async with notifying(daemon, program.command()):
            run_id, _ = await daemon.waiting(gated)
            await program.event()
        await daemon.answer(run_id, "no")  # nobody is told of this end now
        await daemon.ended(run_id)
    async with running(machine) as daemon, notifying(daemon, program.command()):
        event = await program.event()
        if event["type"] == "question.opened":  # that it was told was not stored: told again
            event = await program.event()

    assert (event["type"], event["run_id"]) == ("run.ended", run_id)


async def test_who_has_just_asked_to_be_told_hears_nothing_of_before(
    machine: Machine, gated: str, program: Program
) -> None:
    async with running(machine) as daemon:
        run_id, _ = await daemon.waiting(gated)
        async with notifying(daemon, program.command()):
            await daemon.answer(run_id, "no")
            first = await program.event()

    assert first["type"] == "run.ended"


async def test_a_program_that_fails_costs_a_line_in_the_log_and_no_later_news(
    machine: Machine, gated: str, program: Program
) -> None:
    async with running(machine) as daemon, notifying(daemon, program.command("no route")):
        run_id, _ = await daemon.waiting(gated)
        await program.event()
        await daemon.answer(run_id, "no")
        assert (await program.event())["type"] == "run.ended"
        await daemon.hears("Notification failed", 2)

    failure = fields_of(daemon.logged, "Notification failed")[0]
    assert failure["type"] == "question.opened"
    assert ("status 1" in failure["reason"], failure["output"].strip()) == (True, "no route")


async def test_a_program_that_is_not_there_is_told_in_the_log(machine: Machine, gated: str) -> None:
    async with running(machine) as daemon, notifying(daemon, ("/no/such/program",)):
        await daemon.waiting(gated)
        await daemon.hears("Notification failed")

    assert "/no/such/program" in fields_of(daemon.logged, "Notification failed")[0]["reason"]


async def test_what_an_agent_in_a_conversation_notifies_of_is_told_and_no_other_tool(
    machine: Machine, program: Program
) -> None:
    async with running(machine) as daemon, notifying(daemon, program.command()):
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        await turn.calls("save", key="goal", value="A shop")
        assert not (await turn.calls("notify", message=""))[0]
        assert (await turn.calls("notify", message="Come and look"))[0]
        event = await program.event()
        assert (event["type"], event["run_id"]) == ("tool.used", held.run_id)
        assert event["data"]["tool"] == "notify" and event["data"]["success"]
        assert event["data"]["args"] == {"message": "Come and look"}
        await turn.calls("ask", question="Which?", options=["Big", "Small"])
        turn.end(done())
        assert (await program.event())["type"] == "question.opened"


async def test_news_that_a_full_disk_has_no_room_for_costs_a_line_in_the_log_and_no_later_news(
    machine: Machine, gated: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with running(machine) as daemon, notifying(daemon, program.command()):
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "TemporaryFile", full)
            run_id, _ = await daemon.waiting(gated)
            await daemon.hears("Notification failed")
        await daemon.answer(run_id, "no")
        first = await program.event()

    assert first["type"] == "run.ended"
