"""Two writers on one session: what comes of it without Podium, and what Podium prevents."""

from __future__ import annotations

import json

import pytest
import trio

from tests.e2e.claude_process import running
from tests.e2e.conversations import in_short, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import held, when
from tests.e2e.terminal import ask_alone, begin_alone
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

LOAD = b'{"type":"control_request","request_id":"load","request":{"subtype":"initialize"}}\n'
LONG = "Thinking about it. " * 20


async def test_two_writers_outside_podium_are_shown_as_a_fork(
    podium: PodiumDaemon, model_server: ModelServer
) -> None:
    """Both have read the session before either goes on with it: the tree branches there."""
    model_server.load({"default": {"text": "Hello."}})
    machine = podium.machine
    where = machine.home / "work"
    start = (machine.claude, model_server, machine.home)
    async with running(*start) as first:
        await first.prompt("First.")
        await first.finish()
    session = first.session
    async with subscribed(podium, session) as conversation:
        async with running(*start, resume=session) as one, running(*start, resume=session) as two:
            for claude in (one, two):
                await claude.send(LOAD)
                await claude.event()
            for claude, words in ((one, "Of one."), (two, "Of two.")):
                await claude.prompt(words)
                await claude.finish()
        async with running(*start, resume=session) as third:
            await third.prompt("Third.")
            await third.finish()
        messages = await conversation.until(8)
    lines = machine.transcript(session, where)
    assert list(map(in_short, messages)) == recorded(lines), "nothing is merged or left out"
    forks = {m["text"]: m["forks_from"] for m in messages if m.get("forks_from") is not None}
    follows = parent_message(lines, messages[6]["uuid"])
    assert messages[4]["text"] == "Of two."
    assert forks["Of two."] == 2
    assert forks.get("Third.", 6) == [m["uuid"] for m in messages].index(follows) + 1
    shown = (await podium.cli("show", session)).out
    assert "continues from message 2" in shown


def parent_message(lines: list[bytes], uuid: str) -> str | None:
    """The message that a message follows in the tree of records; ``None``: it is the first."""
    records = {record.get("uuid"): record for record in map(json.loads, lines)}
    found = records[uuid]["parentUuid"]
    while found is not None and records[found]["type"] not in ("user", "assistant"):
        found = records[found]["parentUuid"]
    assert found is None or isinstance(found, str)
    return found


async def test_an_answer_that_comes_after_another_writers_turn_is_shown_as_a_fork(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """The agent that resumes last follows the late answer, and the turn between drops out."""
    rules = [when("Of one", held({"text": LONG})), when("Of two", {"text": "Now you."})]
    model_server.load({"rules": rules, "default": {"text": "Hello."}})
    machine = podium.machine
    session = await begin_alone(machine, repo.path, "First.")
    async with subscribed(podium, session) as conversation:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_alone, machine, session, repo.path, "Of one.")
            await holding(model_server, "half")
            await ask_alone(machine, session, repo.path, "Of two.")
            model_server.release("half")
        await ask_alone(machine, session, repo.path, "Third.")
        messages = await conversation.until(9)
    texts = [message["text"] for message in messages]
    assert texts[2:7] == ["Of one.", "No response requested.", "Of two.", "Now you.", LONG]
    assert [m["seq"] for m in messages if m.get("forks_from") is not None] == [7]
    assert messages[6]["forks_from"] == 3
    lines = machine.transcript(session, repo.path)
    assert list(map(in_short, messages)) == recorded(lines)
    assert parent_message(lines, messages[7]["uuid"]) == messages[6]["uuid"]
