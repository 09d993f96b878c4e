"""Cases of the kit: tools, and leave to use them."""

from __future__ import annotations

from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    Output,
    ToolCalled,
    Turn,
    TurnEvent,
)
from tests.drivers.kit.bench import (
    ALLOWING,
    Bench,
    allow,
    calls,
    command,
    on_approval,
    only,
    own_name,
)
from tests.drivers.kit.registry import case
from tests.drivers.rig import approvals, follow
from tests.drivers.serving import SAVE, Podium

DENY = Decision("deny", "Not that one.")


@case("24")
async def what_is_allowed_runs_and_another_is_asked_about_again(bench: Bench) -> None:
    one, two = command("echo 1 >> made"), command("echo 2 >> made")
    bench.script({"tools": [one]}, {"tools": [two]}, {"text": "Done."})
    report, events = await bench.play(None, ALLOWING)
    asked = [str(one.input) for one in only(events, ApprovalRequested)]
    assert len(asked) == 2 and "echo 1" in asked[0] and "echo 2" in asked[1]
    assert report.kind == "done" and (bench.rig.work / "made").read_text() == "1\n2\n"


@case("25")
async def what_is_denied_does_not_run_and_the_model_is_told_why(bench: Bench) -> None:
    bench.script({"tools": [command("touch made")]}, {"text": "I see."})

    async def deny(turn: Turn, asked: ApprovalRequested) -> None:
        assert await turn.answer(asked.request_id, DENY)

    report, _ = await bench.play(None, on_approval(deny))
    assert report.kind == "done" and bench.ran == []
    assert "Not that one." in bench.asked[1]["results"][0]


@case("26")
async def leave_for_good_is_kept_in_no_file_of_the_project(bench: Bench) -> None:
    bench.script({"tools": [command("true")]}, {"tools": [command("true")]}, {"text": "Done."})

    async def always(turn: Turn, asked: ApprovalRequested) -> None:
        assert await turn.answer(asked.request_id, Decision("allow", rule=asked.tool))

    report, _ = await bench.play(None, on_approval(always))
    assert report.kind == "done" and bench.ran == ["true", "true"]
    assert list(bench.rig.work.iterdir()) == []


@case("27")
async def two_questions_at_once_are_answered_in_any_order(bench: Bench) -> None:
    tools = [command("echo 1 >> made"), command("echo 2 >> made")]
    bench.script({"tools": tools}, {"text": "Done."}, both_open=True)
    asked: list[ApprovalRequested] = []

    async def both(turn: Turn, one: ApprovalRequested) -> None:
        asked.append(one)
        if len(asked) == 2:
            assert await turn.answer(asked[1].request_id, DENY)
            assert await turn.answer(asked[0].request_id, Decision("allow"))

    report, _ = await bench.play(None, on_approval(both))
    assert report.kind == "done" and bench.ran == ["echo 1 >> made"]


@case("27b")
async def two_questions_with_one_id_get_no_leave(bench: Bench) -> None:
    """Which of them a person has seen, the agent could not tell from the answer."""
    tools = [command("echo 1 >> made"), command("echo 2 >> made")]
    bench.script({"tools": tools}, {"text": "I see."}, both_open=True, request_ids="same")
    asked: list[ApprovalRequested] = []

    async def the_first(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            asked.append(event)
        if isinstance(event, ApprovalWithdrawn) or len(asked) == len(tools):
            await turn.answer(asked[0].request_id, Decision("allow"))

    report, events = await bench.play(None, the_first)
    assert ApprovalWithdrawn(asked[0].request_id) in events
    assert report.kind == "done" and bench.ran == []


@case("28")
async def a_question_that_is_withdrawn_is_closed(bench: Bench) -> None:
    bench.script({"tools": [command("touch made")]}, {"text": "Without it."}, withdraws=True)
    report, events = await bench.play()
    (asked,) = only(events, ApprovalRequested)
    assert ApprovalWithdrawn(asked.request_id) in events
    assert report.kind == "done" and bench.ran == []


@case("29")
async def an_answer_that_is_sent_again_changes_nothing(bench: Bench) -> None:
    bench.script({"tools": [command("echo 1 >> made")]}, {"text": "Done."})

    async def thrice(turn: Turn, asked: ApprovalRequested) -> None:
        for decision in (Decision("allow"), Decision("allow"), DENY):
            assert await turn.answer(asked.request_id, decision)

    report, _ = await bench.play(None, on_approval(thrice))
    assert report.kind == "done" and (bench.rig.work / "made").read_text() == "1\n"


@case("29b")
async def an_answer_to_nothing_is_told_as_such(bench: Bench) -> None:
    bench.script({"tools": [command("true")]}, {"text": "Done."})
    taken: list[bool] = []

    async def wrong(turn: Turn, asked: ApprovalRequested) -> None:
        taken.append(await turn.answer("never asked", Decision("allow")))
        await allow(turn, asked)

    async with bench.turn() as turn:
        await follow(turn, on_approval(wrong))
    taken.append(await turn.answer("never asked", Decision("allow")))
    assert taken == [False, False] and turn.report.kind == "done"


@case("30")
async def without_leave_for_once_a_person_decides_and_nothing_is_guessed(bench: Bench) -> None:
    bench.script({"tools": [command("touch made")]}, {"text": "Done."}, no_once=True)
    report, events = await bench.play(None, ALLOWING)
    assert approvals(events) and bench.ran == [] and report.kind != "done"


@case("31")
async def the_ids_of_its_requests_begin_with_0(bench: Bench) -> None:
    bench.script({"tools": [command("true")]}, {"text": "Done."}, request_ids="zero")
    report, events = await bench.play(None, ALLOWING)
    assert report.kind == "done" and len(approvals(events)) == 1 and bench.ran == ["true"]


@case("31b")
async def the_ids_of_its_requests_are_words(bench: Bench) -> None:
    bench.script({"tools": [command("true")]}, {"text": "Done."}, request_ids="text")
    report, _ = await bench.play(None, ALLOWING)
    assert report.kind == "done" and bench.ran == ["true"]


@case("31c")
async def the_next_process_uses_the_same_ids(bench: Bench) -> None:
    uses, ends = {"tools": [command("true")]}, {"text": "Done."}
    bench.script(uses, ends, uses, ends)
    ids: list[str] = []
    named: str | None = None
    for mode in ("new", "resume"):
        request = bench.request(session_mode=mode, agent_session_id=named)
        report, events = await bench.play(request, ALLOWING)
        named = own_name(events)
        ids += [one.request_id for one in only(events, ApprovalRequested)]
        assert report.kind == "done"
    assert len(ids) == 2 and bench.ran == ["true", "true"]


@case("32")
async def a_tool_of_ours_is_called_and_its_answer_reaches_the_model(bench: Bench) -> None:
    bench.script({"tools": [calls("save", key="goal", value="x")]}, {"text": "Saved it."})
    podium = Podium(bench.rig.root / "calls.jsonl")
    report, _ = await bench.play(bench.request(served=(SAVE,)), podium)
    assert [done["args"] for done in podium.done] == [{"key": "goal", "value": "x"}]
    assert bench.asked[1]["results"] == ["Saved x."] and report.kind == "done"


@case("32b")
async def a_call_that_is_refused_is_told_to_the_model(bench: Bench) -> None:
    bench.script({"tools": [calls("save", key="goal", value="x")]}, {"text": "I see."})

    async def refuse(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ToolCalled):
            assert await turn.reply_tool(event.call_id, "The goal is fixed.", success=False)

    report, _ = await bench.play(bench.request(served=(SAVE,)), refuse)
    assert bench.asked[1]["results"] == ["The goal is fixed."] and report.kind == "done"


@case("32c")
async def a_call_that_waits_is_told_to_the_next_daemon_and_done_once(bench: Bench) -> None:
    bench.script({"tools": [calls("save", key="goal", value="x")]}, {"text": "Saved it."})
    request = bench.request(served=(SAVE,))
    first, events = await bench.left(request, lambda event: isinstance(event, ToolCalled))
    podium = Podium(bench.rig.root / "calls.jsonl")
    pending = bench.pending(request, first, served=(SAVE,))
    report, more = await bench.goes_on(pending, podium)
    assert only(more, ToolCalled) == only(events, ToolCalled) and len(podium.done) == 1
    assert bench.asked[1]["results"] == ["Saved x."] and report.kind == "done"


@case("32d")
async def a_tool_that_this_turn_is_not_served_is_refused_without_us(bench: Bench) -> None:
    bench.script({"tools": [calls("transition", to="x")]}, {"text": "I see."})
    report, events = await bench.play(bench.request(served=(SAVE,)))
    assert only(events, ToolCalled) == [] and report.kind == "done"
    assert "transition" in bench.asked[1]["results"][0]


@case("33")
async def a_tool_may_fail_without_anybody_being_asked(bench: Bench) -> None:
    bench.script({"tools": [command("exit 3", ask=False)]}, {"text": "It failed."})
    report, events = await bench.play()
    assert report.kind == "done" and approvals(events) == []
    assert any(one.kind == "tool_result" for one in only(events, Output))


@case("33b")
async def a_tool_that_the_step_allows_is_not_asked_about(bench: Bench) -> None:
    bench.script({"tools": [command("echo 1 >> made")]}, {"text": "Done."})
    report, events = await bench.play(bench.request(allow=("Bash",)), ALLOWING)
    assert report.kind == "done" and approvals(events) == [] and len(bench.ran) == 1
