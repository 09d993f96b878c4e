"""A scripted turn whose daemon ended before it is played again; one that had an end is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import parse_script
from podiumd.drivers.base import Output, Turn, TurnEvent
from tests.drivers.rig import ALLOW, Rig, answering, approvals, play

GOES_ON = "You were interrupted: your process ended before this step was finished."
ASKS = {"tool": "x"}


@pytest.fixture
def bench(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def driver(*turns: dict[str, Any]) -> ScriptedDriver:
    return ScriptedDriver(parse_script({"turns": turns}, "test"))


async def cut_off(
    scripted: ScriptedDriver, bench: Rig, prompt: str, how: str, *, goes_on: bool = False
) -> None:
    """Play a turn that asks, and leave (its daemon ends) or interrupt it there."""

    async def react(turn: Turn, event: TurnEvent) -> None:
        if approvals([event]):
            await (turn.leave() if how == "leave" else turn.interrupt())

    await play(scripted, bench.request(prompt, goes_on=goes_on), react)


async def said(scripted: ScriptedDriver, bench: Rig, prompt: str, *, goes_on: bool = False) -> str:
    turn, _ = await play(scripted, bench.request(prompt, goes_on=goes_on), answering(ALLOW))
    return turn.report.result_text or turn.report.detail


@pytest.mark.parametrize("restarted", [True, False])
async def test_two_agents_of_one_run_play_each_its_own_script(bench: Rig, restarted: bool) -> None:
    def agents() -> list[ScriptedDriver]:
        scripts = (
            parse_script({"turns": [{"text": f"{name} {turn}"} for turn in (1, 2)]}, name)
            for name in ("author", "critic")
        )
        return [
            ScriptedDriver(script, "", name) for script, name in zip(scripts, "ac", strict=True)
        ]

    author, critic = agents()
    assert await said(author, bench, "Work.") == "author 1"
    assert await said(critic, bench, "Review.") == "critic 1"
    if restarted:
        author, critic = agents()
    assert await said(author, bench, "Go on.") == "author 2"
    assert await said(critic, bench, "Review.") == "critic 2"


@pytest.mark.parametrize("restarted", [True, False])
async def test_what_was_cut_off_is_played_again_whatever_its_prompt_is_then(
    bench: Rig, restarted: bool
) -> None:
    turns = (
        {"when": "implement", "text": "Done."},
        {"when": "review", "text": "A fault.", "ask": ASKS},
        {"when": "review", "text": "All is right."},
        {"text": "Anything else."},
    )
    scripted = driver(*turns)
    assert await said(scripted, bench, "implement") == "Done."
    await cut_off(scripted, bench, "review", "leave")
    scripted = driver(*turns) if restarted else scripted
    await cut_off(scripted, bench, GOES_ON, "leave", goes_on=True)
    scripted = driver(*turns) if restarted else scripted

    assert await said(scripted, bench, GOES_ON, goes_on=True) == "A fault."
    assert await said(scripted, bench, "review") == "All is right."
    assert await said(scripted, bench, "review") == "Anything else."


@pytest.mark.parametrize("restarted", [True, False])
async def test_no_command_that_had_begun_is_run_again(bench: Rig, restarted: bool) -> None:
    """What came of it is not known: the turn goes on with the next, however often it is cut off."""
    gate = bench.work / "gate"
    os.mkfifo(gate)
    commands = [["sh", "-c", f"echo {name} >> ran; read line < gate"] for name in ("a", "b")]
    turns = ({"text": "Done.", "run": [*commands, ["sh", "-c", "echo c >> ran"]]},)
    scripted = driver(*turns)

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, Output) and event.kind == "tool":
            opened = await trio.to_thread.run_sync(os.open, gate, os.O_WRONLY)  # it is at work
            await turn.leave()
            os.close(opened)

    for goes_on in (False, True):
        await play(scripted, bench.request("do it", goes_on=goes_on), react)
        scripted = driver(*turns) if restarted else scripted

    assert await said(scripted, bench, GOES_ON, goes_on=True) == "Done."
    assert (bench.work / "ran").read_text().split() == ["a", "b", "c"]


async def test_a_turn_that_ended_is_not_played_again_for_a_prompt_that_goes_on(bench: Rig) -> None:
    turns = ({"text": "One."}, {"text": "Two."})
    assert await said(driver(*turns), bench, "do it") == "One."
    assert await said(driver(*turns), bench, GOES_ON, goes_on=True) == "Two."


@pytest.mark.parametrize("restarted", [True, False])
async def test_a_turn_that_a_person_interrupted_is_used_up(bench: Rig, restarted: bool) -> None:
    turns = ({"text": "One.", "ask": ASKS}, {"text": "Two."})
    scripted = driver(*turns)
    await cut_off(scripted, bench, "do it", "interrupt")
    scripted = driver(*turns) if restarted else scripted
    assert await said(scripted, bench, GOES_ON, goes_on=True) == "Two."


async def test_a_turn_for_the_words_of_an_interruption_comes_before_the_one_cut_off(
    bench: Rig,
) -> None:
    turns = ({"when": "You were interrupted", "text": "Again."}, {"ask": ASKS, "text": "First."})
    await cut_off(driver(*turns), bench, "do it", "leave")
    assert await said(driver(*turns), bench, GOES_ON, goes_on=True) == "Again."


async def test_a_script_that_has_become_shorter_meanwhile_is_played_as_it_is(bench: Rig) -> None:
    await cut_off(driver({"when": "x"}, {"ask": ASKS}), bench, "do it", "leave")
    assert await said(driver({"text": "One."}), bench, GOES_ON, goes_on=True) == "One."
