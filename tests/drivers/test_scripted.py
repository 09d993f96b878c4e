"""The scripted driver: plays files of turns, really writes and runs, and tells after a crash."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from podiumd.agents.halves import Host, SettingFault, make_driver
from podiumd.agents.kind import Kind
from podiumd.agents.kinds import KINDS
from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import (
    ScriptError,
    parse_script,
)
from podiumd.drivers.base import (
    ApprovalWithdrawn,
    Decision,
    Driver,
    HookPoint,
    HookRaised,
    Output,
    ToolCalled,
    Turn,
    TurnEvent,
)
from podiumd.drivers.spool import watch_spools
from podiumd.tools.process.processes import carriers
from tests.drivers.rig import (
    ALLOW,
    Reaction,
    Rig,
    answering,
    approvals,
    follow,
    play,
    states,
)
from tests.patience import HANG_SECONDS


@pytest.fixture
def bench(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def driver(*turns: dict[str, Any]) -> ScriptedDriver:
    return ScriptedDriver(parse_script({"turns": turns}, "test"))


async def test_a_turn_says_its_text_and_has_its_outcome(bench: Rig) -> None:
    request = bench.request()
    spoken = {"text": "Hello.", "outcome": {"outcome": "complete"}, "cost_usd": 0.5}
    turn, events = await play(driver(spoken), request)
    report = turn.report
    assert (report.kind, report.texts, report.cost_usd) == ("done", ("Hello.",), 0.5)
    assert report.structured == {"outcome": "complete"} and not report.tool_begun
    assert states(events, request.prompt_uuid) == ["started", "completed"]
    assert [e.delta for e in events if isinstance(e, Output)] == ["Hello."]


async def test_files_are_written_and_commands_run_in_the_working_directory(bench: Rig) -> None:
    turns = {
        "write": [{"path": "src/a.py", "content": "print(6 * 7)\n"}],
        "run": [["python3", "src/a.py"]],
    }
    turn, events = await play(driver(turns), bench.request())
    outputs = [(e.kind, e.delta) for e in events if isinstance(e, Output)]
    assert outputs[1:] == [
        ("tool", "write src/a.py"),
        ("tool", "python3 src/a.py"),
        ("tool_result", "42\n"),
    ]
    assert turn.report.tool_begun and (bench.work / "src" / "a.py").exists()


@pytest.mark.parametrize(
    ("does", "words"),
    [
        pytest.param(
            {"run": [["sh", "-c", "echo no good; exit 3"]]}, ("status 3", "no good"), id="status"
        ),
        pytest.param({"run": [["no-such-program"]]}, ("no-such-program",), id="no program"),
        pytest.param({"write": [{"path": "out/a", "content": ""}]}, ("leads out",), id="link"),
        pytest.param({"write": [{"path": "dir", "content": ""}]}, ("cannot be written",), id="dir"),
    ],
)
async def test_an_action_that_fails_fails_the_turn_with_its_reason(
    bench: Rig, does: dict[str, Any], words: tuple[str, ...]
) -> None:
    (bench.work / "out").symlink_to(bench.home)
    (bench.work / "dir").mkdir()
    turn, _ = await play(driver(does), bench.request())
    assert turn.report.kind == "failed"
    assert all(word in turn.report.detail for word in words)
    assert not (bench.home / "a").exists()


async def test_otherwise_stands_for_the_turn_when_a_command_ends_with_its_status(
    bench: Rig,
) -> None:
    other = {"status": 1, "text": "Nothing to do.", "outcome": {"outcome": "nothing"}}
    scripted = driver({"text": "Doing.", "run": [["false"], ["touch", "x"]], "otherwise": other})
    turn, _ = await play(scripted, bench.request())
    assert turn.report.kind == "done" and turn.report.structured == {"outcome": "nothing"}
    assert turn.report.result_text == "Nothing to do." and not (bench.work / "x").exists()


async def test_an_error_and_a_usage_limit_end_the_turn_as_such(bench: Rig) -> None:
    until = "2030-01-01T00:00:00Z"
    scripted = driver({"error": "overloaded"}, {"usage_limit": until})
    first, events = await play(scripted, bench.request())
    second, _ = await play(scripted, bench.request())
    assert (first.report.kind, first.report.detail) == ("api_error", "overloaded")
    assert (second.report.kind, second.report.resets_at) == ("usage_limit", until)
    assert events[-1].state == "cancelled"  # type: ignore[union-attr]


@pytest.mark.parametrize(("behavior", "written"), [("allow", True), ("deny", False)])
async def test_it_acts_only_when_its_question_is_allowed(
    bench: Rig, behavior: Any, written: bool
) -> None:
    asking = {"ask": {"tool": "Write"}, "write": [{"path": "a", "content": "x"}]}
    turn, events = await play(driver(asking), bench.request(), answering(Decision(behavior)))
    assert approvals(events) == ["Write"] and (bench.work / "a").exists() is written
    assert [denial.tool for denial in turn.report.denials] == ([] if written else ["Write"])
    assert not any(isinstance(event, ApprovalWithdrawn) for event in events)


async def test_a_tool_in_allow_is_not_asked_for(bench: Rig) -> None:
    _, events = await play(driver({"ask": {"tool": "Write"}}), bench.request(allow=("Write",)))
    assert approvals(events) == []


async def test_the_first_answer_holds_and_one_after_the_end_is_too_late(bench: Rig) -> None:
    asking = driver({"ask": {"tool": "Write"}, "write": [{"path": "a", "content": "x"}]})

    async def react(turn: Turn, event: TurnEvent) -> None:
        if approvals([event]):
            assert not await turn.answer("unknown", ALLOW)
            assert await turn.answer(event.request_id, Decision("deny"))  # type: ignore[union-attr]
            assert await turn.answer(event.request_id, ALLOW)  # type: ignore[union-attr]

    turn, events = await play(asking, bench.request(), react)
    assert not (bench.work / "a").exists()
    assert not await turn.answer(f"{approvals(events)}", ALLOW)


async def test_a_steer_is_taken_between_actions_and_too_late_after_the_end(bench: Rig) -> None:
    acting = driver({"ask": {"tool": "Write"}, "write": [{"path": "a", "content": "x"}]})

    async def react(turn: Turn, event: TurnEvent) -> None:
        if approvals([event]):
            assert await turn.steer("more", "steer-1")
            assert await turn.steer("more", "steer-1")
            assert await turn.answer(event.request_id, ALLOW)  # type: ignore[union-attr]

    turn, events = await play(acting, bench.request(), react)
    assert states(events, "steer-1") == ["started", "completed"]
    assert turn.report.undelivered == ()
    assert not await turn.steer("again", "steer-2")


async def test_an_interrupt_stops_a_command_and_reports_what_was_not_delivered(bench: Rig) -> None:
    scripted = driver({"run": [["sleep", "1000"]]})
    request = bench.request()
    with trio.fail_after(HANG_SECONDS):
        async with scripted.turn(request) as turn:
            async for event in turn:
                if isinstance(event, Output) and event.kind == "tool":
                    assert await turn.steer("more", "steer-1")
                    await turn.interrupt()
    assert turn.report.kind == "interrupted" and turn.report.undelivered == ("steer-1",)
    assert turn.report.tool_begun and turn.report.seconds > 0
    assert carriers(request.turn_id) == []


async def test_what_a_command_left_running_is_ended_and_reported(bench: Rig) -> None:
    request = bench.request()
    # It has its name when the command ends: in the middle of an exec a process has none.
    left = "setsid sh -c 'echo >ready; sleep 995; :' &"
    code = f"exec 1>&- 2>&-; mkfifo ready; {left} read ready <ready; exit 0"
    scripted = driver({"run": [["sh", "-c", code]]})
    with trio.fail_after(HANG_SECONDS):
        turn, _ = await play(scripted, request)
    assert turn.report.kind == "done" and carriers(request.turn_id) == []
    assert any("sleep 995" in line for line in turn.report.background_stopped)


async def test_a_delay_over_the_idle_timeout_times_out(
    bench: Rig, autojump_clock: trio.testing.MockClock, journal_without_threads: None
) -> None:
    scripted = driver({"delay_ms": 5000, "text": "a"}, {"delay_ms": 15000, "text": "b"})
    first, _ = await play(scripted, bench.request(idle_timeout_seconds=10.0))
    second, _ = await play(scripted, bench.request(idle_timeout_seconds=10.0))
    assert first.report.kind == "done"
    assert first.report.seconds == pytest.approx(5)
    assert second.report.kind == "timeout" and "silent for 10 s" in second.report.detail


@pytest.mark.parametrize("acts", [True, False])
async def test_others_work_while_a_line_goes_to_the_disk(
    bench: Rig, monkeypatch: pytest.MonkeyPatch, acts: bool
) -> None:
    """What is done is on the disk before, the end before it is told, and neither is synced by the
    thread that serves all. That a turn begins goes there with the first of them."""
    synced, sync = list[list[str]](), os.fsync

    def noted(descriptor: int) -> None:
        assert threading.current_thread() is not threading.main_thread()
        synced.append([json.loads(line)["event"] for line in journal.read_text().splitlines()])
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    does = {"write": [{"path": "a", "content": "b"}]} if acts else {}
    request = bench.request()
    journal = Path(request.directory, "journal.jsonl")
    async with driver({"text": "Done.", **does}).turn(request) as turn:
        assert journal.read_bytes()
        await follow(turn)
    told = ["started", *["acting"] * acts, "finished"]
    assert synced == [told[: 2 + at] for at in range(1 + acts)]


@pytest.mark.parametrize("runs", [True, False])
async def test_only_a_turn_that_has_run_a_command_is_looked_for_in_processes(
    bench: Rig, monkeypatch: pytest.MonkeyPatch, runs: bool
) -> None:
    looked = []

    async def sweep(turn_id: str) -> list[str]:
        looked.append(turn_id)
        return []

    monkeypatch.setattr("podiumd.drivers.in_process_turn.sweep", sweep)
    request = bench.request()
    does: dict[str, Any] = (
        {"run": [["true"]]} if runs else {"write": [{"path": "a", "content": ""}]}
    )
    await play(driver({"text": "Done.", **does}), request)
    assert looked == [request.turn_id] * runs


async def test_a_command_over_the_idle_timeout_times_out(bench: Rig) -> None:
    scripted = driver({"run": [["sleep", "1000"]]})
    turn, _ = await play(scripted, bench.request(idle_timeout_seconds=0.1))
    assert turn.report.kind == "timeout" and "sleep 1000" in turn.report.detail


async def test_turns_are_chosen_in_order_by_prompt_and_use_for_each_run(bench: Rig) -> None:
    scripted = driver(
        {"when": "review", "text": "r1"},
        {"when": "review", "text": "r2", "times": 2},
        {"text": "any", "times": 0},
    )

    async def said(prompt: str, run: str = "run-1") -> str:
        turn, _ = await play(scripted, bench.request(prompt, run_id=run))
        return turn.report.result_text

    assert [await said("a review") for _ in range(4)] == ["r1", "r2", "r2", "any"]
    assert [await said("a review", "run-2"), await said("hi", "run-2")] == ["r1", "any"]


async def test_a_script_without_a_turn_for_the_prompt_fails_and_says_so(bench: Rig) -> None:
    scripted = driver({"when": "never", "text": "x"})
    request = bench.request("Review the code.\n\nAll of it" + ", and more" * 20)
    turn, _ = await play(scripted, request)
    assert turn.report.kind == "failed"
    words = "Review the code. All of it, and more, and more"
    assert f"demo.toml has no turn left for this prompt: {words}" in turn.report.detail
    assert turn.report.detail.endswith(" ...")
    mine = {"turns": [{"when": "never"}]}
    turn, _ = await play(scripted, bench.request("go", script=mine, script_file="/tmp/mine.toml"))
    said = "the script /tmp/mine.toml has no turn left for this prompt: go"
    assert turn.report.detail == said


async def test_a_turns_own_script_wins(bench: Rig) -> None:
    turn, _ = await play(
        driver({"text": "default"}), bench.request(script={"turns": [{"text": "own"}]})
    )
    assert turn.report.result_text == "own"
    with pytest.raises(ScriptError, match="the turn's script"):
        await play(driver(), bench.request(script={"turns": 1}))


async def test_an_error_of_the_code_around_the_turn_comes_out_as_it_was(bench: Rig) -> None:
    with pytest.raises(KeyError):
        async with driver({"ask": {"tool": "Write"}}).turn(bench.request()):
            raise KeyError("mine")


# -- after a crash -------------------------------------------------------------------------------


async def test_an_unbegun_turn_is_absent(bench: Rig) -> None:
    assert (await driver().inspect(bench.pending(bench.request(), None))).state == "absent"


async def test_a_finished_turn_whose_end_was_not_recorded_is_adopted(bench: Rig) -> None:
    request = bench.request()
    turn, _ = await play(driver({"text": "Done.", "outcome": {"outcome": "ok"}}), request)
    settled = await driver().inspect(bench.pending(request, None))
    assert settled.state == "finished" and settled.report == turn.report


@pytest.mark.parametrize("acts", [True, False])
async def test_a_turn_that_was_left_in_the_middle_is_broken(bench: Rig, acts: bool) -> None:
    scripted = driver({"run": [["sleep", "1000"]]} if acts else {"ask": {"tool": "x"}})
    request = bench.request()
    async with scripted.turn(request) as turn:
        async for event in turn:
            if approvals([event]) or (isinstance(event, Output) and event.kind == "tool"):
                await turn.leave()
    with pytest.raises(RuntimeError, match="no report"):
        turn.report  # noqa: B018
    settled = await scripted.inspect(bench.pending(request, None))
    assert (settled.state, settled.tool_begun) == ("broken", acts)
    with pytest.raises(RuntimeError, match="ended with its daemon"):
        scripted.reattach(bench.pending(request, None))


async def test_a_journal_cut_by_a_crash_counts_as_far_as_it_goes(bench: Rig) -> None:
    request = bench.request()
    await play(driver({"text": "Done."}), request)
    journal = Path(request.directory, "journal.jsonl")
    journal.write_bytes(journal.read_bytes()[:-10])
    assert (await driver().inspect(bench.pending(request, None))).state == "broken"


async def test_each_kind_has_a_driver_and_the_scripted_one_reads_the_script(tmp_path: Path) -> None:
    script = tmp_path / "a.toml"
    script.write_text('[[turns]]\ntext = "from the file"\n')
    async with watch_spools() as watch:

        def made(kind: Kind, **settings: Any) -> Driver:
            return make_driver(
                kind,
                Host(
                    agent="mine",
                    settings=lambda: kind.settings(**settings),
                    environ={},
                    state=tmp_path,
                    watch=watch,
                ),
            )

        assert [made(kind).name for kind in KINDS.values()] == list(KINDS)
        scripted = made(KINDS["scripted"], script=str(script))
        bench = Rig(tmp_path / "rig")
        async with scripted.turn(bench.request()) as turn:
            await follow(turn)
        assert turn.report.result_text == "from the file"
        with pytest.raises(SettingFault) as refused:
            made(KINDS["scripted"], script=str(tmp_path / "gone.toml"))
        assert refused.value.key == "script"
    assert await scripted.available((), {}) is None
    assert scripted.transcript("x", "/", {}) is None


async def test_a_turn_reads_the_journals_of_others_once_a_run(
    bench: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next daemon, which has a driver of its own, counts on from there."""
    turns = [{"text": text, "times": 3} for text in ("One.", "Two.", "Three.")]
    read: list[Path] = []
    usual = Path.glob

    def glob(path: Path, pattern: str) -> Any:
        read.append(path)
        return usual(path, pattern)

    monkeypatch.setattr(Path, "glob", glob)
    scripted = driver(*turns)
    texts = [(await play(scripted, bench.request()))[0].report.result_text for _ in range(4)]
    assert (texts, len(read)) == (["One."] * 3 + ["Two."], 1)
    texts = [(await play(driver(*turns), bench.request()))[0].report.result_text for _ in range(3)]
    assert texts == ["Two.", "Two.", "Three."]
    read.clear()
    for first in (True, False):  # of a run whose first turn that is there are none
        await play(scripted, bench.request(run_id="another", first=first))
    assert read == []


async def test_of_a_run_that_was_left_out_the_turns_are_counted_anew(
    bench: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podiumd.agents.scripted.journal.MOST_RUNS", 1)
    scripted = driver({"text": "One."}, {"text": "Two."})
    runs = ("a", "b", "a", "b")
    texts = [
        (await play(scripted, replace(bench.request(), run_id=run)))[0].report.result_text
        for run in runs
    ]
    assert texts == ["One.", "One.", "Two.", "Two."]


# -- the scripted driver in a phase: it calls Podium's own tools, and its tools have hooks ---


SAVES = {"tool": "save", "args": {"key": "goal", "value": "a shop"}}

MOVES = {"tool": "transition", "args": {"to": "next", "summary": ""}}


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
