"""``POST /agui`` in a conversation of phases: what is asked, saved and gone on to."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.runtime.service import Service
from podiumd.wire.questions import Question
from podiumd.wire.runs import Run
from tests.gateway.agui.caller import asking, interrupts, resolved, stream, told
from tests.gateway.agui.checked import custom, text_of
from tests.gateway.routes.station import Station
from tests.long import sampled
from tests.runtime.conversations import Conversation, agree, begun, designing, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Machine

Json = dict[str, Any]

SIZES = [{"id": "s", "label": "Small"}, {"id": "l", "label": "Large"}]


def place(station: Station, recipe: str) -> Json:
    return {"forwardedProps": {"working_directory": station.where, "recipe": recipe}}


def states(events: list[Json]) -> list[Json]:
    return [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]


async def talking(station: Station, machine: Machine) -> Conversation:
    return await begun(station.daemon, talk(machine))


async def asked(station: Station, found: Conversation, **question: Any) -> list[Json]:
    """What is told of a turn in which the agent asks something."""
    async with stream(station, asking(found.session_id, "A shop")) as one:
        turn = await found.turn()
        assert (await turn.calls("ask", question="How large?", **question))[0]
        turn.end(done(text="I have a question."))
        return await one.rest()


async def test_a_thread_with_a_recipe_alone_is_told_its_opening(
    station: Station, machine: Machine
) -> None:
    value = asking("t", **place(station, talk(machine)))
    async with stream(station, value) as one:
        turn = await station.daemon.turn()
        assert turn.prompt == "Ask what is wanted."
        turn.says_text("What do you want?")
        turn.end(done(text="What do you want?"))
        events = await one.rest()
    assert text_of(events) == "What do you want?"
    assert events[-1]["outcome"] == {"type": "success"}
    assert events[-1]["result"]["status"] == "waiting"
    last = states(events)[-1]
    assert (last["phase"], last["ctx"]["parts"], last["question"]) == ("goal", [], None)
    assert [e["stepName"] for e in events if e["type"].startswith("STEP")] == ["goal", "goal"]
    again = await told(station, asking("t", run="run-2", **place(station, talk(machine))))
    assert again[-1]["result"]["run_id"] == events[-1]["result"]["run_id"]
    assert len(machine.agent.turns) == 1


async def test_a_thread_with_a_recipe_and_words_has_them_for_its_first_phase(
    station: Station, machine: Machine
) -> None:
    async with stream(station, asking("t", "A shop", **place(station, talk(machine)))) as one:
        turn = await station.daemon.turn()
        (actor,) = station.daemon.runs.live
        state = await actor.until(lambda state: bool(state.steers))
        if state.steers[0].turn_id is None:  # before the first turn was begun: its next prompt
            turn.end(done(text=""))
            turn = await station.daemon.turn()
            assert turn.prompt == "A shop"
        else:
            turn.begins_with(await turn.steered())
            assert list(turn.steers.values()) == ["A shop"]
        turn.end(done(text="A shop, good."))
        events = await one.rest()
    assert text_of(events) == "A shop, good."
    turns = len(machine.agent.turns)
    again = await told(station, asking("t", "A shop", run="run-2"))
    assert text_of(again) == "A shop, good." and len(machine.agent.turns) == turns


async def test_a_recipe_can_begin_in_a_session_that_is_there(
    station: Station, machine: Machine
) -> None:
    """It works where the session does."""
    session_id = "5f1c8a52-0000-4000-8000-0000000000aa"
    await station.server.record(
        session_id,
        b'{"type":"user","uuid":"u1","sessionId":"%s","cwd":"%s","timestamp":'
        b'"2026-01-02T03:00:00.000Z","message":{"role":"user","content":"Hi"}}\n'
        % (session_id.encode(), station.where.encode()),
    )
    props: Json = {"forwardedProps": {"session_id": session_id[:13], "recipe": talk(machine)}}
    async with stream(station, asking("t", **props)) as one:
        turn = await station.daemon.turn()
        assert (turn.request.session_id, turn.request.working_directory) == (
            session_id,
            station.where,
        )
        turn.end(done(text="What do you want?"))
        events = await one.rest()
    assert events[-1]["result"]["session_id"] == session_id
    looked = await told(station, asking(session_id, run="run-2", **props))
    assert states(looked)[-1]["phase"] == "goal" and len(machine.agent.turns) == 1


async def test_an_answer_that_another_client_gives_first_counts(
    station: Station, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await talking(station, machine)
    (interrupt,) = interrupts(await asked(station, found, options=SIZES))
    answer = station.daemon.service.answer

    async def second(question_id: str, *_: object) -> Question:
        await answer(question_id, "l", None, "phone")
        return await answer(question_id, "s", None, "mine")

    monkeypatch.setattr(station.daemon.service, "answer", second)
    value = asking(found.session_id, run="run-2", resume=resolved(interrupt, "s"))
    async with stream(station, value) as one:
        turn = await found.turn()
        assert "Large" in turn.prompt
        turn.end(done(text="Large it is."))
        events = await one.rest()
    (notice,) = custom(events, "podium:notice")
    assert notice["code"] == "not-open" and events[-1]["outcome"] == {"type": "success"}


async def test_words_go_to_the_phase_and_its_tools_are_told(
    station: Station, machine: Machine
) -> None:
    found = await talking(station, machine)
    async with stream(station, asking(found.session_id, "A shop")) as one:
        turn = await found.turn()
        assert turn.prompt == "A shop"
        await agree(turn)
        turn.end(done(text="On to the design."))
        events = await one.rest()
    calls = [e["toolCallName"] for e in events if e["type"] == "TOOL_CALL_START"]
    assert calls == ["save", "transition"] and text_of(events) == "On to the design."
    last = states(events)[-1]
    assert (last["phase"], last["ctx"]["goal"]) == ("design", "A shop")
    steps = [(e["type"], e["stepName"]) for e in events if e["type"].startswith("STEP")]
    assert steps == [
        ("STEP_STARTED", "goal"),
        ("STEP_FINISHED", "goal"),
        ("STEP_STARTED", "design"),
        ("STEP_FINISHED", "design"),
    ]
    assert events[-1]["result"]["status"] == "waiting"


@pytest.mark.parametrize(
    ("question", "payload", "prompt"),
    sampled(
        [
            ({"options": SIZES}, {"answer": "s", "note": "for now"}, "Small"),
            ({"options": SIZES, "multi": True}, ["s", "l"], "Large"),
            ({}, "As large as can be", "As large as can be"),
            (
                {
                    "columns": [
                        {"name": "page", "required": True},
                        {"name": "count", "type": "number"},
                    ]
                },
                [{"page": "home", "count": 3}],
                "home",
            ),
        ],
        1,
    ),
)
async def test_a_question_interrupts_and_its_answer_is_the_next_message(
    station: Station, machine: Machine, question: Json, payload: object, prompt: str
) -> None:
    found = await talking(station, machine)
    events = await asked(station, found, **question)
    (interrupt,) = interrupts(events)
    assert (interrupt["reason"], interrupt["message"]) == ("ask", "How large?")
    assert custom(events, "podium:ask") == [interrupt["metadata"]["podium"]]
    assert states(events)[-1]["question"]["question_id"] == interrupt["id"]
    value = asking(found.session_id, "A shop", run="run-2", resume=resolved(interrupt, payload))
    async with stream(station, value) as one:
        turn = await found.turn()
        assert prompt in turn.prompt and "How large?" in turn.prompt
        turn.end(done(text="Thank you."))
        events = await one.rest()
    assert text_of(events) == "Thank you." and events[-1]["outcome"] == {"type": "success"}
    assert custom(events, "podium:answered")[0]["question_id"] == interrupt["id"]
    assert len(machine.agent.turns) == 3, "what was said before is not said again"


async def test_a_question_waits_for_whoever_looks_later(station: Station, machine: Machine) -> None:
    found = await talking(station, machine)
    first = interrupts(await asked(station, found, options=SIZES))
    assert interrupts(await told(station, asking(found.session_id, run="run-2"))) == first


async def test_a_wrong_choice_is_refused_and_the_question_stays(
    station: Station, machine: Machine
) -> None:
    found = await talking(station, machine)
    (interrupt,) = interrupts(await asked(station, found, options=SIZES))
    value = asking(found.session_id, run="run-2", resume=resolved(interrupt, "huge"))
    refused = (await station.post("/agui", value)).problem(422)
    assert refused["parameter"] == "resume[0].payload"
    cancelled = asking(found.session_id, run="run-2", resume=resolved(interrupt, None, "cancelled"))
    refused = (await station.post("/agui", cancelled)).problem(422)
    assert refused["parameter"] == "resume[0].status"
    assert interrupts(await told(station, asking(found.session_id, run="run-3")))


async def test_who_says_something_else_leaves_the_question(
    station: Station, machine: Machine
) -> None:
    found = await talking(station, machine)
    (interrupt,) = interrupts(await asked(station, found, options=SIZES))
    cancelled = resolved(interrupt, None, "cancelled")
    value = asking(found.session_id, "A shop", "No, a bank", run="run-2", resume=cancelled)
    async with stream(station, value) as one:
        turn = await found.turn()
        assert turn.prompt.endswith("No, a bank")
        turn.end(done(text="A bank, then."))
        events = await one.rest()
    assert custom(events, "podium:answered")[0]["closed"] == "superseded"
    assert events[-1]["outcome"] == {"type": "success"}


async def test_words_during_a_turn_are_steered_and_that_turn_is_followed(
    station: Station, machine: Machine
) -> None:
    found = await talking(station, machine)
    turn = await found.answers("A shop")
    async with stream(station, asking(found.session_id, "A small one")) as one:
        turn.begins_with(await turn.steered())
        await one.hears("STATE_SNAPSHOT")
        turn.says_text("A small shop.")
        turn.end(done(text="A small shop."))
        events = await one.rest()
    assert list(turn.steers.values()) == ["A small one"] and text_of(events) == "A small shop."


async def test_the_state_that_is_shown_never_goes_back(
    station: Station, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the run has gone on by the time that it is looked at, what was told before is old."""
    found = await talking(station, machine)
    look = Service.standing_run

    async def late(self: Service, run_id: str) -> tuple[Run, int]:
        (await found.turn()).end(done(text="A shop, good."))
        await found.waits()
        return await look(self, run_id)

    monkeypatch.setattr(Service, "standing_run", late)
    events = await told(station, asking(found.session_id, "A shop"))
    shown = [(state["run"]["turns"], state["run"]["status"]) for state in states(events)]
    assert shown == [(2, "waiting")]
    assert text_of(events) == "A shop, good."


async def test_a_message_of_before_is_told_from_there_on(
    station: Station, machine: Machine
) -> None:
    found = await talking(station, machine)
    value = asking(found.session_id, "A shop")
    async with stream(station, value) as one:
        turn = await found.turn()
        await one.hears("STATE_SNAPSHOT")
    turn.end(done(text="A shop, good."))
    await found.waits()
    events = await told(station, value)
    assert text_of(events) == "A shop, good.", "and nothing of the opening"
    assert len(machine.agent.turns) == 2


async def test_words_that_were_an_answer_are_told_of_again_from_there_on(
    station: Station, machine: Machine
) -> None:
    """They stand in the run as the answer that they were, not as they were said."""
    found = await talking(station, machine)
    await asked(station, found, options=SIZES)
    value = asking(found.session_id, "A shop", "s", run="run-2")
    async with stream(station, value) as one:
        turn = await found.turn()
        assert turn.prompt == "You asked: How large?\nThe answer: Small [s]"
        await one.hears("STATE_SNAPSHOT")
    turn.end(done(text="A small one."))
    await found.waits()
    assert text_of(await told(station, value)) == "A small one."


async def test_a_message_is_told_of_again_though_somebody_said_the_same_since(
    station: Station, machine: Machine
) -> None:
    found = await talking(station, machine)
    value = asking(found.session_id, "Go on")
    async with stream(station, value) as one:
        turn = await found.turn()
        await one.hears("STATE_SNAPSHOT")
    turn.end(done(text="Once."))
    await found.waits()
    (await found.answers("Go on")).end(done(text="Twice."))
    await found.waits()
    assert text_of(await told(station, value)) == "Once.Twice."


async def test_the_last_phase_ends_the_run_and_the_thread_goes_on_in_its_session(
    station: Station, machine: Machine
) -> None:
    found = await designing(station.daemon, talk(machine))
    session_id = found.session_id
    async with stream(station, asking(session_id, "Done")) as one:
        turn = await found.turn()
        assert (await turn.calls("save", key="parts", value=["till"]))[0]
        assert (await turn.calls("transition", to="designed", summary="All of it"))[0]
        turn.end(done(text="Now the end."))
        last = await found.turn()
        assert last.prompt == "Say what was made."
        last.end(done(text="A till."))
        events = await one.rest()
    assert text_of(events) == "Now the end.A till."
    assert events[-1]["result"]["exit"]["reason"] == "conversation-complete"
    async with stream(station, asking(session_id, "Thanks", run="run-2")) as one:
        turn = await station.daemon.turn()
        assert turn.prompt == "Thanks"
        turn.end(done(text="You are welcome."))
        assert text_of(await one.rest()) == "You are welcome."
