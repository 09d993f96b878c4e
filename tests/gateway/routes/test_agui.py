"""``POST /agui`` on a real port: plain prompts, recipes, interrupts and what answers them."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from podiumd.core.reply.report import TurnReport
from podiumd.gateway.agui import route
from podiumd.gateway.agui.conversation import Entered
from podiumd.gateway.agui.reporter import RunReporter
from tests.gateway.agui.caller import asking, interrupts, resolved, stream, told
from tests.gateway.agui.checked import custom, text_of, types
from tests.gateway.routes.station import Station
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine

Json = dict[str, Any]

TWO_STEPS = """
format = 1
id = "two"
label = "Two steps"
description = "Work, and a look at it"
initial = "work"
[params.task]
type = "string"
[steps.work]
prompt = "{{task}}"
on = { complete = { to = "check" } }
[steps.check]
prompt = "Check it."
on = { complete = { exit = "turn-complete" } }
"""
GATED = 'gate = "Go on?"'


def place(station: Station, **props: Any) -> Json:
    """Where a new thread works."""
    return {"forwardedProps": {"working_directory": station.where} | props}


async def test_a_new_thread_with_words_is_a_prompt_in_a_new_session(station: Station) -> None:
    async with stream(station, asking("t", "What is this?", **place(station))) as asked:
        turn = await station.daemon.turn()
        assert turn.prompt == "What is this?"
        await asked.hears("STATE_SNAPSHOT")
        turn.says_text("A ")
        await asked.hears("TEXT_MESSAGE_CONTENT")
        turn.says_text("project.")
        turn.end(done(text="A project."))
        events = await asked.rest()
    assert text_of(events) == "A project."
    last = events[-1]
    assert (last["threadId"], last["runId"], last["outcome"]) == ("t", "run-1", {"type": "success"})
    assert last["result"]["session_id"] == turn.request.session_id
    assert last["result"]["exit"]["reason"] == "turn-complete"


async def test_the_thread_goes_on_in_its_session(station: Station) -> None:
    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        first = await station.daemon.turn()
        first.end(done(text="Hello."))
        await asked.rest()
    said = {"id": "a-1", "role": "assistant", "content": "Hello."}
    async with stream(station, asking("t", "Hi", said, "And?", run="run-2")) as asked:
        turn = await station.daemon.turn()
        assert (turn.prompt, turn.request.session_id) == ("And?", first.request.session_id)
        turn.end(done(text="That is all."))
        assert text_of(await asked.rest()) == "That is all."


async def test_a_thread_named_as_a_session_is_that_session(station: Station) -> None:
    before = await station.daemon.prompt("Hi")
    (await station.daemon.turn()).end(done())
    await station.daemon.service.run_gone(before["run_id"])
    station.daemon.machine.agent.transcripts.clear()
    props = {"forwardedProps": {"session_id": before["session_id"]}}
    await station.server.record(
        before["session_id"],
        b'{"type":"user","uuid":"u1","sessionId":"%s","cwd":"%s","timestamp":'
        b'"2026-01-02T03:00:00.000Z","message":{"role":"user","content":"Hi"}}\n'
        % (before["session_id"].encode(), station.where.encode()),
    )
    threads: list[tuple[str, Json]] = [(before["session_id"], {}), ("another", props)]
    for thread, more in threads:
        async with stream(station, asking(thread, f"To {thread}", **more)) as asked:
            turn = await station.daemon.turn()
            assert turn.request.session_id == before["session_id"]
            turn.end(done(text="Yes."))
            assert text_of(await asked.rest()) == "Yes."


async def test_two_first_messages_at_once_make_one_session(station: Station) -> None:
    async with (
        stream(station, asking("t", "One", run="r-1", **place(station))) as one,
        stream(
            station, asking("t", {"id": "x", "role": "user", "content": "Two"}, **place(station))
        ) as two,
    ):
        for _ in range(2):
            (await station.daemon.turn()).end(done(text="Done."))
        ends = [(await each.rest())[-1]["result"] for each in (one, two)]
    assert ends[0]["session_id"] == ends[1]["session_id"]
    prompts = [turn.prompt for turn in station.daemon.machine.agent.turns]
    assert sorted(prompts) == ["One", "Two"]


async def test_a_message_that_comes_again_is_not_sent_again_and_its_answer_is_told(
    station: Station,
) -> None:
    value = asking("t", "Count this", **place(station))
    async with stream(station, value) as asked:
        turn = await station.daemon.turn()
        turn.says_text("Coun")
        await asked.hears("TEXT_MESSAGE_CONTENT")
    async with stream(station, value) as again:
        await again.hears("STATE_SNAPSHOT")
        turn.end(done(text="Counted."))
        assert text_of(await again.rest()) == "Counted."
    assert text_of(await told(station, value)) == "Counted."
    assert len(station.daemon.machine.agent.turns) == 1


async def test_a_client_that_hangs_up_ends_its_stream_and_not_the_run(station: Station) -> None:
    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        turn = await station.daemon.turn()
        await asked.hears("STATE_SNAPSHOT")
    assert not turn.interrupted.is_set()
    turn.end(done(text="Hello."))
    run = (await station.daemon.store.runs(limit=1))[0]
    assert (await station.daemon.ended(run.run_id))["exit"]["reason"] == "turn-complete"


async def test_an_approval_interrupts_and_its_answer_goes_on(station: Station) -> None:
    async with stream(station, asking("t", "Build it", **place(station))) as asked:
        turn = await station.daemon.turn()
        turn.says_text("I build it.")
        turn.asks("r1", tool="Bash")
        events = await asked.rest()
    (interrupt,) = interrupts(events)
    assert interrupt["reason"] == "approval" and "Bash" in interrupt["message"]
    assert custom(events, "podium:ask") == [interrupt["metadata"]["podium"]]
    answer = resolved(interrupt, {"answer": "allow", "note": "Quickly."})
    async with stream(station, asking("t", "Build it", run="run-2", resume=answer)) as asked:
        assert (await turn.answered()).behavior == "allow"
        turn.says_text("Built.")
        turn.end(done(text="I build it.\n\nBuilt."))
        events = await asked.rest()
    assert text_of(events) == "Built."
    assert custom(events, "podium:answered")[0]["by"] == "mine"
    assert events[-1]["outcome"] == {"type": "success"}
    assert len(station.daemon.machine.agent.turns) == 1


async def test_who_cancels_an_approval_denies_it(station: Station) -> None:
    async with stream(station, asking("t", "Build it", **place(station))) as asked:
        turn = await station.daemon.turn()
        turn.asks("r1")
        (interrupt,) = interrupts(await asked.rest())
    cancelled = resolved(interrupt, None, "cancelled")
    async with stream(station, asking("t", run="run-2", resume=cancelled)) as asked:
        assert (await turn.answered()).behavior == "deny"
        turn.end(done(text="Then not."))
        assert (await asked.rest())[-1]["outcome"] == {"type": "success"}


async def test_one_of_two_answers_leaves_the_other_interrupt_open(station: Station) -> None:
    async with stream(station, asking("t", "Build it", **place(station))) as asked:
        turn = await station.daemon.turn()
        turn.asks("r1")
        (first,) = interrupts(await asked.rest())
    turn.asks("r2", tool="Write")
    run_id = first["metadata"]["podium"]["run_id"]
    await station.daemon.until(run_id, lambda state: len(state.open_questions) == 2)
    events = await told(station, asking("t", run="run-2", resume=resolved(first, "allow")))
    (second,) = interrupts(events)
    assert second["id"] != first["id"] and "Write" in second["message"]
    turn.complete()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("perhaps", "'resume[0].payload': "),
        (7, "'resume[0].payload': expected a string, a list or an object, got the number 7."),
        (None, "'resume[0].payload': expected a string, a list or an object, got null."),
    ],
)
async def test_what_is_no_answer_is_refused_and_the_question_stays_open(
    station: Station, machine: Machine, payload: object, words: str
) -> None:
    run_id, session_id = await station.daemon.waiting(machine.one_step(step=GATED))
    question = await station.daemon.question(run_id)
    resume = [
        {"interruptId": question["question_id"], "status": "resolved", "payload": payload},
    ]
    async with stream(station, asking(session_id, resume=resume)) as asked:
        while not asked.over:
            await asked.read()
        found = asked.answer.problem(422)
    assert found["detail"].startswith(words) and found["parameter"] == "resume[0].payload"
    assert await station.daemon.question(run_id) == question
    (interrupt,) = interrupts(await told(station, asking(session_id)))
    assert interrupt["reason"] == "gate"


async def test_an_answer_that_comes_too_late_is_a_notice_and_the_run_goes_on(
    station: Station, machine: Machine
) -> None:
    """As the protocol wants it: nobody's run fails for an answer that nothing waits for."""
    run_id, session_id = await station.daemon.waiting(machine.one_step(step=GATED))
    question = await station.daemon.question(run_id)
    await station.daemon.answer(run_id, "yes", by="phone")
    turn = await station.daemon.turn()
    entry = {"interruptId": question["question_id"], "status": "resolved", "payload": "no"}
    async with stream(station, asking(session_id, resume=[entry])) as asked:
        await asked.hears("STATE_SNAPSHOT")
        turn.complete()
        events = await asked.rest()
    (notice,) = custom(events, "podium:notice")
    assert notice["code"] == "not-open" and question["question_id"] in notice["message"]
    assert events[-1]["result"]["exit"]["reason"] == "turn-complete"


async def test_an_interrupt_of_another_thread_is_none_of_this_one(
    station: Station, machine: Machine
) -> None:
    run_id, _ = await station.daemon.waiting(machine.one_step(step=GATED))
    question = await station.daemon.question(run_id)
    entry = {"interruptId": question["question_id"], "status": "resolved", "payload": "yes"}
    body = place(station, working_directory=machine.directory("elsewhere"))
    async with stream(station, asking("t", "Hi", resume=[entry], **body)) as asked:
        (await station.daemon.turn()).end(done(text="Hello."))
        events = await asked.rest()
    assert custom(events, "podium:notice")[0]["code"] == "not-open"
    assert await station.daemon.question(run_id) == question


async def test_words_beside_a_gate_leave_it_open(station: Station, machine: Machine) -> None:
    """They are a prompt of their own; the run of AG-UI is interrupted all the same."""
    run_id, session_id = await station.daemon.waiting(machine.one_step(step=GATED))
    question = await station.daemon.question(run_id)
    async with stream(station, asking(session_id, "What is this?")) as asked:
        turn = await station.daemon.turn()
        assert turn.prompt == "What is this?"
        turn.end(done(text="A gate."))
        events = await asked.rest()
    assert text_of(events) == "A gate."
    assert [each["id"] for each in interrupts(events)] == [question["question_id"]]


async def test_a_recipe_begins_with_the_thread_and_its_text_is_what_is_said(
    station: Station, machine: Machine
) -> None:
    recipe = machine.one_step(top='[params.task]\ntype = "string"\n')
    value = asking("t", "Add a list", **place(station, recipe=recipe))
    async with stream(station, value) as asked:
        turn = await station.daemon.turn()
        run = (await station.daemon.service.list_runs(active=True, limit=5))[0]
        assert run.params == {"task": "Add a list"}
        assert run.main_session_id == turn.request.session_id
        turn.complete()
        events = await asked.rest()
    assert [e["stepName"] for e in events if e["type"].startswith("STEP")] == ["work", "work"]
    assert events[-1]["result"]["exit"]["reason"] == "turn-complete"
    assert types(await told(station, value))[-1] == "RUN_FINISHED"
    assert len(machine.agent.turns) == 1, "the same once more starts nothing"


async def test_words_for_a_recipe_at_work_are_steered_and_its_turn_is_followed(
    station: Station, machine: Machine
) -> None:
    _, turn = await station.daemon.begun(machine.one_step())
    value = asking(turn.request.session_id, "Mind the tests.", **place(station, recipe="one"))
    async with stream(station, value) as asked:
        turn.begins_with(await turn.steered())
        await asked.hears("STATE_SNAPSHOT")
        turn.says_text("I do.")
        turn.complete()
        events = await asked.rest()
    assert list(turn.steers.values()) == ["Mind the tests."] and text_of(events) == "I do."


async def test_a_run_that_fails_is_an_error_of_the_stream(station: Station) -> None:
    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        turn = await station.daemon.turn()
        turn.end(TurnReport(kind="api_error", detail="no credit", prompt_recorded=True))
        last = (await asked.rest())[-1]
    assert last["type"] == "RUN_ERROR" and "no credit" in last["message"]


async def test_a_run_that_somebody_cancels_is_cancelled(station: Station, machine: Machine) -> None:
    run_id, turn = await station.daemon.begun(machine.one_step())
    async with stream(station, asking(turn.request.session_id)) as asked:
        await asked.hears("STATE_SNAPSHOT")
        await station.daemon.service.cancel(run_id)
        assert (await asked.rest())[-1]["outcome"] == {"type": "cancelled"}


async def test_a_run_that_somebody_pauses_is_cancelled_and_can_be_looked_at(
    station: Station, machine: Machine
) -> None:
    run_id, turn = await station.daemon.begun(machine.one_step())
    async with stream(station, asking(turn.request.session_id)) as asked:
        await asked.hears("STATE_SNAPSHOT")
        await station.daemon.service.interrupt(run_id)
        assert (await asked.rest())[-1]["outcome"] == {"type": "cancelled"}
    events = await told(station, asking(turn.request.session_id, run="run-2"))
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert events[1]["snapshot"]["run"]["status"] == "paused"


async def test_what_is_not_used_is_said(station: Station) -> None:
    tools = [{"name": "confirm", "description": "Ask the user"}]
    async with stream(station, asking("t", "Hi", tools=tools, **place(station))) as asked:
        (await station.daemon.turn()).end(done(text="Hello."))
        (notice,) = custom(await asked.rest(), "podium:notice")
    assert notice == {"code": "not-used", "message": "Not used here: tools."}


async def test_what_cannot_be_done_is_refused_before_the_stream(station: Station) -> None:
    cases = [
        (asking("1", "Hi"), 422, "forwardedProps.working_directory"),
        (asking("2"), 422, "messages"),
        (
            asking("3", "Hi", forwardedProps={"working_directory": "w"}),
            422,
            "forwardedProps.working_directory",
        ),
        (asking("4", forwardedProps={"session_id": "none"}), 404, None),
        (asking("5", forwardedProps={"recipe": "none", "working_directory": "/"}), 404, None),
        (asking("6", "Hi", forwardedProps={"session_id": "none"}), 404, None),
        ({"threadId": "t"}, 422, "runId"),
        ([], 400, None),
    ]
    for value, status, parameter in cases:
        answer = await station.post("/agui", value)
        found = answer.problem(status)
        assert found.get("parameter") == parameter and found["detail"]
        assert station.daemon.machine.agent.turns == []


async def test_a_refused_first_message_can_be_put_right(station: Station) -> None:
    (await station.post("/agui", asking("t", "Hi"))).problem(422)
    wrong = asking("t", "Hi", forwardedProps={"working_directory": "/no/such/place"})
    assert (await station.post("/agui", wrong)).status == 422
    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        (await station.daemon.turn()).end(done(text="Hello."))
        assert text_of(await asked.rest()) == "Hello."


async def test_another_type_of_body_is_refused(station: Station) -> None:
    answer = await station.ask("POST", "/agui", b"{}", content_type="text/plain")
    assert "application/json" in answer.problem(415)["detail"]
    (await station.ask("GET", "/agui")).problem(405)


async def test_streams_are_bounded(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "MOST_STREAMS", 1)
    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        turn = await station.daemon.turn()
        await asked.hears("STATE_SNAPSHOT")
        answer = await station.post("/agui", asking("u", "Hi", **place(station)))
        assert answer.problem(503)["detail"] and int(answer.headers["retry-after"]) > 0
        turn.end(done(text="Hello."))
        await asked.rest()
    assert (await told(station, asking("t", run="run-2")))[-1]["type"] == "RUN_FINISHED"


async def test_a_device_that_is_revoked_loses_its_stream_at_once(station: Station) -> None:
    other = await station.other("other")
    async with stream(other, asking("t", "Hi", **place(station))) as asked:
        turn = await station.daemon.turn()
        await asked.hears("STATE_SNAPSHOT")
        await station.server.devices.revoke("other")
        assert types(await asked.broken_off())[0] == "RUN_STARTED"
    assert not turn.interrupted.is_set()
    turn.complete()


async def test_a_daemon_that_stops_ends_the_stream_in_order(station: Station) -> None:
    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        await station.daemon.turn()
        await asked.hears("STATE_SNAPSHOT")
        station.daemon.bus.close()
        last = (await asked.rest())[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "stopping")


async def test_a_run_that_ended_as_the_daemon_stopped_is_over_and_not_to_be_asked_for_again(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``podium down`` stops turns and then feeds: an end that the feed did not bring is told."""

    async def feed_ends(_report: RunReporter, entered: Entered, *_: object) -> None:
        await station.daemon.turn()
        await station.daemon.service.cancel(str(entered.run_id))

    monkeypatch.setattr(RunReporter, "_to_its_stand", feed_ends)
    last = (await told(station, asking("t", "Hi", **place(station))))[-1]
    assert (last["type"], last["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})


async def test_the_steps_of_a_run_that_is_told_again_are_told_once(
    station: Station, machine: Machine
) -> None:
    recipe = machine.recipe(TWO_STEPS, "two")
    value = asking("t", "Add a list", **place(station, recipe=recipe))
    async with stream(station, value) as asked:
        (await station.daemon.turn()).complete()
        (await station.daemon.turn()).complete()
        streams = [await asked.rest(), await told(station, value)]
    for events in streams:
        steps = [each["stepName"] for each in events if each["type"] == "STEP_STARTED"]
        assert steps == ["work", "check"]


async def test_a_fault_of_ours_is_told_by_its_id_alone(
    station: Station, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object) -> Json:
        await trio.lowlevel.checkpoint()
        raise ValueError("a secret of ours")

    async with stream(station, asking("t", "Hi", **place(station))) as asked:
        turn = await station.daemon.turn()
        await asked.hears("STATE_SNAPSHOT")
        monkeypatch.setattr(station.daemon.service, "get_run", fails)
        turn.end(done())
        last = (await asked.rest())[-1]
    assert last["code"] == "internal" and "secret" not in last["message"]
    assert "Stream failed" in caplog.text
