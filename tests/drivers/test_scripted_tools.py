"""The scripted driver in a phase: it calls Podium's own tools, and its tools have hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import parse_script
from podiumd.drivers.base import HookPoint, HookRaised, Output, ToolCalled, Turn, TurnEvent
from tests.drivers.rig import Reaction, Rig, play
from tests.patience import HANG_SECONDS

SAVES = {"tool": "save", "args": {"key": "goal", "value": "a shop"}}
MOVES = {"tool": "transition", "args": {"to": "next", "summary": ""}}


@pytest.fixture
def bench(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def driver(*turns: dict[str, Any]) -> ScriptedDriver:
    return ScriptedDriver(parse_script({"turns": turns}, "test"))


def replying(success: bool, text: str) -> Reaction:
    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            assert await turn.reply_tool(event.call_id, text, success)

    return react


def calls(events: list[TurnEvent]) -> list[tuple[str, str]]:
    return [(one.call_id, one.tool) for one in events if isinstance(one, ToolCalled)]


async def test_tools_are_called_one_after_the_other_when_all_else_is_done(bench: Rig) -> None:
    scripted = driver(
        {"text": "So.", "write": [{"path": "a", "content": "x"}], "tools": [SAVES, MOVES]}
    )
    there: list[bool] = []

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            there.append((bench.work / "a").exists())
            await turn.reply_tool(event.call_id, f"{event.tool} done", True)

    turn, events = await play(scripted, bench.request(), react)

    assert (turn.report.kind, turn.report.texts) == ("done", ("So.",))
    assert calls(events) == [("1:0", "save"), ("1:1", "transition")] and there == [True, True]
    (first,) = (e for e in events if isinstance(e, ToolCalled) and e.tool == "save")
    assert first.args == SAVES["args"]
    shown = [(e.kind, e.delta) for e in events if isinstance(e, Output)]
    assert shown[-2:] == [("tool", "transition"), ("tool_result", "transition done")]


@pytest.mark.parametrize(
    ("expect", "success", "detail"),
    [
        ("done", True, ""),
        ("refused", False, ""),
        ("done", False, "tools[0]: save was refused: no such key"),
        ("refused", True, "tools[0]: save was not refused: no such key"),
    ],
)
async def test_what_comes_of_a_call_must_be_what_was_expected(
    bench: Rig, expect: str, success: bool, detail: str
) -> None:
    scripted = driver({"tools": [{**SAVES, "expect": expect}, MOVES]})

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            first = event.tool == "save"
            await turn.reply_tool(event.call_id, "no such key", success if first else True)

    turn, events = await play(scripted, bench.request(), react)

    assert turn.report.detail == detail
    assert turn.report.kind == ("failed" if detail else "done")
    assert len(calls(events)) == (1 if detail else 2)


async def test_a_turn_cut_off_in_its_calls_is_played_again_and_makes_the_same(bench: Rig) -> None:
    line = {"text": "So.", "tools": [SAVES, MOVES]}
    request = bench.request()

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled) and event.tool == "save":
            await turn.reply_tool(event.call_id, "saved", True)
        elif isinstance(event, ToolCalled):
            await turn.leave()

    _, events = await play(driver(line), request, react)
    settled = await driver().inspect(bench.pending(request, None))
    assert (settled.state, settled.report) == ("absent", None)

    for path in Path(request.directory).iterdir():  # an earlier try that left nothing
        path.unlink()
    turn, again = await play(driver(line), request, replying(True, "done"))  # the next daemon's

    assert turn.report.kind == "done"
    assert [e for e in events if isinstance(e, ToolCalled)] == [
        e for e in again if isinstance(e, ToolCalled)
    ]


async def test_a_turn_that_had_also_written_is_broken(bench: Rig) -> None:
    scripted = driver({"write": [{"path": "a", "content": "x"}], "tools": [SAVES]})
    request = bench.request()

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            await turn.leave()

    await play(scripted, request, react)

    settled = await driver().inspect(bench.pending(request, None))
    assert (settled.state, settled.tool_begun) == ("broken", True)


@pytest.mark.parametrize("refused", [None, "1/before-tool", "2/before-tool", "2/after-tool"])
async def test_hooks_are_heard_around_files_and_commands(bench: Rig, refused: str | None) -> None:
    scripted = driver({"write": [{"path": "a", "content": "x"}], "run": [["touch", "b c"]]})
    raised: list[HookRaised] = []

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, HookRaised):
            raised.append(event)
            no = "not so" if event.hook_id == refused else None
            assert await turn.settle_hook(event.hook_id, no)

    hooks = (HookPoint("before-tool"), HookPoint("after-tool", "Bash"))
    turn, events = await play(scripted, bench.request(hooks=hooks), react)

    assert turn.report.kind == "done"
    assert [one.tool for one in raised][:2] == ["Write", "Bash"]
    assert raised[0].input == {"file_path": "a", "content": "x"}
    assert raised[1].input == {"command": "touch 'b c'"}
    assert (bench.work / "a").exists() is (refused != "1/before-tool")
    assert (bench.work / "b c").exists() is (refused != "2/before-tool")
    told = [e.delta for e in events if isinstance(e, Output) and e.kind == "tool_result"]
    assert ("refused by a hook: not so" in told) is (refused is not None)


async def test_a_call_that_nobody_answers_ends_with_its_turn(bench: Rig) -> None:
    scripted = driver({"tools": [SAVES]})
    with trio.fail_after(HANG_SECONDS):
        async with scripted.turn(bench.request()) as turn:
            async for event in turn:
                if isinstance(event, ToolCalled):
                    assert not await turn.reply_tool("another", "x", True)
                    assert not await turn.settle_hook("another", None)
                    await turn.interrupt()
    assert turn.report.kind == "interrupted"
    assert not await turn.reply_tool("1:0", "late", True)
