"""What a person says to a turn of the native agent while it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio.testing

from tests.runtime.harness import Daemon, Json, running
from tests.runtime.native_bench import READ, NativeMachine, act, report


@pytest.fixture
def machine(tmp_path: Path, databases: list[Path]) -> NativeMachine:
    return NativeMachine(tmp_path, databases)


async def asked(daemon: Daemon, sent: Json) -> None:
    """Wait until the model has been asked, and has not answered: nothing else goes on then."""
    await daemon.until(sent["run_id"], lambda s: bool(s.turn and s.turn.loop.settings))
    await trio.testing.wait_all_tasks_blocked(0.1)


async def test_words_said_meanwhile_go_along_with_the_next_request(
    machine: NativeMachine,
) -> None:
    machine.replies(
        {"text": act(READ), "delay_seconds": 1.0},
        {"text": "I hear you.", "when": "Mind the names"},
        {"text": "I heard nothing.", "when": ""},
    )
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native")
        await asked(daemon, sent)
        where = await daemon.prompt(
            "Mind the names.", session_id=sent["session_id"], if_busy="steer"
        )
        assert where["delivery"] == "steered"
        await daemon.ended(sent["run_id"])
        told = await report(daemon, sent["run_id"])
        ends = await daemon.events(sent["run_id"], "effect.ended")
        assert [end["state"] for end in ends] == ["queued", "delivered"]
    assert told["text"] == "I hear you."
    assert "Mind the names." in [one.text for one in machine.messages(sent["session_id"])]


async def test_words_said_during_the_last_answer_call_the_model_back(
    machine: NativeMachine,
) -> None:
    machine.replies(
        {"text": "That is all.", "delay_seconds": 1.0},
        {"text": "And that too.", "when": "One more thing"},
    )
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native")
        await asked(daemon, sent)
        await daemon.prompt("One more thing.", session_id=sent["session_id"], if_busy="steer")
        ended = await daemon.ended(sent["run_id"])
        told = await report(daemon, sent["run_id"])
    assert told["text"] == "That is all.\n\nAnd that too."
    assert ended["exit"]["reason"] == "turn-complete"


async def test_words_that_no_request_can_carry_any_more_are_given_back(
    machine: NativeMachine,
) -> None:
    machine.configure(max_iterations=1)
    machine.replies({"text": "That is all.", "delay_seconds": 1.0})
    async with running(machine) as daemon:
        sent = await daemon.prompt("Look.", agent="native")
        await asked(daemon, sent)
        await daemon.prompt("One more thing.", session_id=sent["session_id"], if_busy="steer")
        await daemon.ended(sent["run_id"])
        (ended,) = await daemon.events(sent["run_id"], "run.ended")
    assert ended["undelivered"] == ["One more thing."]
