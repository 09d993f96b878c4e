"""A native turn in a phase: Podium's own tools, the phase's tools and text, and its hooks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents.native.acting import OBJECTED_BY_HOOK, REFUSED_BY_HOOK
from podiumd.agents.native.system_text import system_text
from podiumd.drivers.base import HookPoint, HookRaised, Output, ToolCalled, Turn, TurnEvent
from podiumd.tools.sandbox.sandbox import AS_ROOT, Probe
from tests.drivers.native.bench import ASK, ENDS, SAVE, Bench, act
from tests.drivers.rig import Reaction, follow, play
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import run_git

SAVES = {"action": "save", "key": "goal", "value": "a shop"}
ASKS = {"action": "tool_call", "tool": "ask", "args": {"question": "Which?"}}
WRITES = {"action": "write_file", "path": "a.txt", "content": "x\n"}
RUNS = {"action": "run_command", "command": "echo hi > b.txt"}


def serving(*replies: tuple[str, bool], refusals: dict[str, str] | None = None) -> Reaction:
    """Answer each call with the next of ``replies``, each hook by its id (else: no objection)."""
    left = list(replies)

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            assert not await turn.reply_tool("another", "x", True)
            assert await turn.reply_tool(event.call_id, *left.pop(0))
            assert await turn.reply_tool(event.call_id, "again", True), "harmless"
        elif isinstance(event, HookRaised):
            assert await turn.settle_hook(event.hook_id, (refusals or {}).get(event.hook_id))

    return react


def calls(events: list[TurnEvent]) -> list[ToolCalled]:
    return [event for event in events if isinstance(event, ToolCalled)]


def hooks(events: list[TurnEvent]) -> list[str]:
    return [event.hook_id for event in events if isinstance(event, HookRaised)]


async def test_a_served_tool_is_called_and_its_answer_is_the_result(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act(SAVES, {"action": "save", "key": "x"}), act(SAVES), "Done.")
    request = bench.request(served=(SAVE,))

    turn, events = await play(
        bench.driver, request, serving(("saved", True), ("no such key: x", False), ("saved", True))
    )

    assert calls(events) == [
        ToolCalled("1:0", "save", {"key": "goal", "value": "a shop"}),
        ToolCalled("1:1", "save", {"key": "x"}),
        ToolCalled("2:0", "save", {"key": "goal", "value": "a shop"}),
    ]
    assert [(one.action, one.success, one.message) for one in bench.journal.results] == [
        ("save", True, "saved"),
        ("save", False, "no such key: x"),
        ("save", True, "saved"),
    ]
    assert (turn.report.kind, turn.report.result_text) == ("done", "Done.")
    assert not await turn.reply_tool("1:0", "late", True)
    assert not await turn.settle_hook("1:0/before-tool", None)


async def test_ask_ends_the_turn(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act(ASKS, WRITES), "never said")

    turn, events = await play(bench.driver, bench.request(served=(ASK,)), serving(("asked", True)))

    assert [call.tool for call in calls(events)] == ["ask"]
    assert turn.report.kind == "done" and "never said" not in turn.report.texts
    assert not (bench.rig.work / "a.txt").exists()


async def test_a_call_that_a_crash_cut_off_is_made_again_under_its_name(tmp_path: Path) -> None:
    """Whoever keeps what was called answers the second one from that."""
    bench = Bench(tmp_path, ENDS, act(WRITES, SAVES))
    request = bench.request(served=(SAVE,))

    async def leave(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            await turn.leave()

    _, before = await play(bench.driver, request, leave)
    again, events = await play(bench.driver, request, serving(("saved", True)))

    assert calls(events) == calls(before) and calls(events)[0].call_id == "1:1"
    assert again.report.kind == "done"
    assert [(one.action, one.message) for one in bench.journal.results][1:] == [("save", "saved")]


@pytest.mark.parametrize(
    ("tools", "unknown"),
    [
        ("none", {"read_file", "write_file", "run_command"}),
        ("read-only", {"write_file", "run_command"}),
        (("read_file", "mcp__podium__save"), {"write_file", "run_command"}),
        ("all", set()),
    ],
)
async def test_only_what_the_phase_offers_is_told_and_done(
    tmp_path: Path, tools: Any, unknown: set[str]
) -> None:
    reads = {"action": "read_file", "path": "there"}
    bench = Bench(tmp_path, *(act(one) for one in (reads, WRITES, RUNS, SAVES)), "Done.")
    (bench.rig.work / "there").write_text("x\n")

    await play(bench.driver, bench.request(tools=tools, served=(SAVE,)), serving(("saved", True)))

    messages = {one.action: one.message for one in bench.journal.results}
    told = {n for n, m in messages.items() if m.startswith(f"unknown action type: {n}; there are ")}
    assert told == unknown
    assert not any(one.critical for one in bench.journal.results)
    assert messages["save"] == "saved"
    assert (bench.rig.work / "a.txt").exists() is ("write_file" not in unknown)
    settings = bench.journal.loop.settings
    assert settings is not None and settings.served == ("save",)
    assert set(settings.tools) & unknown == set()


async def test_the_model_is_told_the_phases_text_and_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def spy(**given: Any) -> str:
        seen.append(system_text(**given))
        return seen[-1]

    monkeypatch.setattr("podiumd.agents.native.assembling.system_text", spy)
    bench = Bench(tmp_path, "Hello.")

    request = bench.request(system_prompt="You find out the goal.", tools="none", served=(SAVE,))
    await play(bench.driver, request)

    (text,) = seen
    assert text.endswith("INSTRUCTIONS\nYou find out the goal.\n")
    assert "\nsave: Saves what is known.\n" in text and '"required": ["key"]' in text
    assert "write_file" not in text


@pytest.mark.parametrize(("tools", "said"), [("none", "blind"), ("read-only", "seen")])
async def test_in_a_phase_that_may_not_read_no_file_is_looked_up_for_the_prompt(
    tmp_path: Path, tools: str, said: str
) -> None:
    looks = {"when": "(?s)The files here.*secret of there", "text": "seen"}
    bench = Bench(tmp_path, looks, {"text": "blind"})
    (bench.rig.work / "there.txt").write_text("the secret of there\n")

    turn, _ = await play(bench.driver, bench.request("Look at there.txt.", tools=tools))

    assert turn.report.result_text == said


# -- hooks -----------------------------------------------------------------------------------------

AROUND = (HookPoint("before-tool"), HookPoint("after-tool"))


async def test_hooks_are_heard_around_each_action_of_the_agents_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act(WRITES, RUNS, SAVES), "Done.")
    request = bench.request(served=(SAVE,), hooks=AROUND)

    _, events = await play(bench.driver, request, serving(("saved", True)))

    assert hooks(events) == [
        "1:0/before-tool",
        "1:0/after-tool",
        "1:1/before-tool",
        "1:1/after-tool",
    ]
    before, after = (e for e in events if isinstance(e, HookRaised) and e.tool == "write_file")
    assert before.input == after.input == {"path": "a.txt", "content": "x\n"}
    assert (before.output, after.output) == ("", "created a.txt, 2 bytes")
    assert [one.success for one in bench.journal.results] == [True] * 3


async def test_a_hooks_no_is_the_result_and_nobody_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act(RUNS), act(WRITES, RUNS), "Done.", mode="confirm")
    request = bench.request(
        hooks=(HookPoint("before-tool", "Bash"), HookPoint("before-tool", "write_*"))
    )

    refusals = {"1:0/before-tool": "no shell", "2:0/before-tool": "not there"}
    turn, _ = await play(bench.driver, request, serving(refusals=refusals))

    assert [one.message for one in bench.journal.results] == [
        REFUSED_BY_HOOK.format("no shell"),
        REFUSED_BY_HOOK.format("not there"),
        "skipped: action 1 (write_file) failed",
    ]
    assert turn.report.kind == "done", "not a person's refusal: two of them end no turn"
    assert list(bench.rig.work.iterdir()) == []


async def test_what_a_hook_says_afterwards_goes_to_the_model_and_the_change_stays(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, act(WRITES), "Done.")
    request = bench.request(hooks=(HookPoint("after-tool", "Write"),))

    turn, _ = await play(
        bench.driver, request, serving(refusals={"1:0/after-tool": "badly formatted"})
    )

    (result,) = bench.journal.results
    assert not result.success
    assert result.message.endswith(OBJECTED_BY_HOOK.format("badly formatted"))
    assert turn.report.files == (("a.txt", "created"),)


@pytest.mark.parametrize("event", ["before-tool", "after-tool"])
async def test_a_hook_that_a_crash_cut_off_is_heard_again_and_nothing_is_done_twice(
    tmp_path: Path, event: Any
) -> None:
    append = {"action": "run_command", "command": "echo x >> log"}
    bench = Bench(tmp_path, ENDS, act(WRITES if event == "after-tool" else append))
    request = bench.request(hooks=(HookPoint(event),))
    with trio.fail_after(HANG_SECONDS):
        async with bench.driver.turn(request) as turn:
            async for one in turn:
                if isinstance(one, HookRaised):
                    await turn.leave()
        _, events = await play(bench.driver, request, serving())

    assert hooks(events) == [f"1:0/{event}"]
    (result,) = bench.journal.results
    assert result.success
    if event == "before-tool":
        assert (bench.rig.work / "log").read_text() == "x\n"


@pytest.mark.parametrize("stop", ["interrupt", "leave"])
async def test_what_a_command_did_is_kept_when_the_turn_is_stopped_in_a_hook_after_it(
    tmp_path: Path, stop: str
) -> None:
    bench = Bench(tmp_path, ENDS, act(RUNS))
    run_git(bench.rig.work, "init", "--quiet")
    request = bench.request(hooks=(HookPoint("after-tool"),))

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, HookRaised):
            await getattr(turn, stop)()

    turn, _ = await play(bench.driver, request, react)

    (result,) = bench.journal.results
    assert result.success and bench.journal.loop.files == (("b.txt", "created"),)
    if stop == "leave":
        again, _ = await play(bench.driver, request, serving())
        assert again.report.kind == "done"
    else:
        assert turn.report.files == (("b.txt", "created"),)


# -- no sandbox ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_that_no_sandbox_holds_commands_is_told_once_before_the_first_of_them(
    tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(_: Probe) -> tuple[None, str]:
        await trio.lowlevel.checkpoint()
        return None, "install bubblewrap"

    monkeypatch.setattr(Probe, "program", none)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    bench = Bench(tmp_path, act(WRITES, RUNS, RUNS), "Done.", sandbox=sandbox)

    _, events = await play(bench.driver, bench.request())

    runs = f"run_command {RUNS['command']}"
    told = ["no sandbox: commands run unconfined (install bubblewrap)"] if sandbox == "auto" else []
    kinds = ("tool", "status")
    assert [e.delta for e in events if isinstance(e, Output) and e.kind in kinds] == [
        "write_file a.txt",
        *(runs, *told, runs),
    ]


async def test_that_it_runs_as_root_is_told_in_the_first_turn_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    bench = Bench(tmp_path, act(RUNS, RUNS), "Done.", act(RUNS), "Done.", sandbox="off")

    _, first = await play(bench.driver, bench.request())
    _, second = await play(bench.driver, bench.request())

    told = [[e.delta for e in events if isinstance(e, Output) and e.kind == "status"] for events in
            (first, second)]  # fmt: skip
    assert told == [[AS_ROOT], []]


async def test_the_events_of_a_turn_end_with_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act(SAVES))
    with trio.fail_after(HANG_SECONDS):
        async with bench.driver.turn(bench.request(served=(SAVE,))) as turn:
            events: list[TurnEvent] = []

            async def stop(turn: Turn, event: TurnEvent) -> None:
                if isinstance(event, ToolCalled):
                    await turn.interrupt()

            events = await follow(turn, stop)
    assert turn.report.kind == "interrupted" and len(calls(events)) == 1
