"""A conversation in phases: each has its own text and tools, and nothing of it is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.runtime.errors import AlreadyEnded, InvalidParameter
from tests.plain import plain
from tests.runtime.conversations import Conversation, begun, designing, talk
from tests.runtime.fake_agent import done
from tests.runtime.harness import Json, Machine, running


async def test_a_whole_conversation_from_its_opening_to_its_last_word(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine))
        turn = await held.answers("Begin")
        assert (await turn.calls("save", key="parts", value=["door"]))[0]
        assert (await turn.calls("transition", to="designed", summary="All is there"))[0]
        turn.end(done(text="It is designed."))
        last = await held.turn()
        assert last.prompt == "Say what was made."
        last.end(done(text="A shop with a door."))
        run = await daemon.ended(held.run_id)
        assert run["exit"]["reason"] == "conversation-complete"
        assert run["ctx"] == {"goal": "A shop", "parts": ["door"]}
        assert [(visit["step"], visit["outcome"], visit["source"]) for visit in run["history"]] == [
            ("goal", "agreed", "tool"),
            ("design", "designed", "tool"),
            ("end", "conversation-complete", "command"),
        ]


async def test_what_is_saved_is_told_of_a_run_and_stored_with_it_once_not_in_every_list(
    machine: Machine,
) -> None:
    """It may be long, and a row is written with each fact."""
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine))

        async def told() -> tuple[Json, Json, Json]:
            row = await daemon.context.store.run(held.run_id)
            assert row is not None
            [listed] = await daemon.service.list_runs(None, 10)
            run = plain(await daemon.service.get_run(held.run_id))
            return run, plain(listed), json.loads(row.summary)

        session_id = held.session_id
        run, listed, stored = await told()
        assert run.pop("ctx") == {"goal": "A shop", "parts": []}
        assert listed == stored == run
        await daemon.service.cancel(held.run_id)
    async with running(machine) as daemon:
        run, listed, stored = await told()
        assert stored.pop("sessions") == [session_id]
        assert run == stored
        assert run.pop("ctx") == {"goal": "A shop", "parts": []}
        assert listed == run


async def test_each_phase_has_its_own_text_and_tools_and_no_schema(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(talk(machine))
        first = (await daemon.turn()).request
        assert first.prompt == "Ask what is wanted."
        assert (first.system_prompt, first.schema) == ("You find out the goal.", None)
        served = {spec.name: spec for spec in first.served}
        assert sorted(served) == ["ask", "notify", "save", "transition"]
        assert served["transition"].schema["properties"]["to"]["enum"][0] == "agreed"
        assert [(point.event, point.match) for point in first.hooks] == [("before-tool", None)]
        machine.agent.turns[0].end(done())
        held = Conversation(daemon, run_id)
        await held.waits()
        turn = await held.answers("A shop")
        await turn.calls("save", key="goal", value="A shop")
        await turn.calls("transition", to="agreed", summary="s")
        turn.end(done())
        await daemon.until(run_id, lambda state: state.step == "design")
        assert (await held.answers("Go")).request.system_prompt == "You design: A shop"


async def test_an_agent_that_cannot_change_its_text_gets_it_before_the_phases_first_message(
    machine: Machine,
) -> None:
    machine.agent.capabilities = replace(machine.agent.capabilities, system_text=False)
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine))
        prompts = [turn.request.prompt for turn in machine.agent.turns]
        assert prompts == ["You find out the goal.\n\nAsk what is wanted.", "A shop"]
        assert {turn.request.system_prompt for turn in machine.agent.turns} == {None}
        turn = await held.answers("Go")
        assert turn.prompt == "You design: A shop\n\nGo"
        turn.breaks(recorded=False)
        again = await held.turn()  # the record of the agent lacks the first message
        assert again.prompt.startswith("You design: A shop\n\nYou were interrupted")
        again.end(done())
        await held.waits()
        assert (await held.answers("More")).prompt == "More"


async def test_a_step_of_work_in_between_keeps_its_schema_and_can_report_by_tool(
    machine: Machine,
) -> None:
    recipe = machine.one_step("worked")
    async with running(machine) as daemon:
        run_id, turn = await daemon.begun(recipe)
        assert turn.request.schema is not None and turn.request.hooks == ()
        assert [spec.name for spec in turn.request.served] == ["report_outcome", "notify"]
        wrong = await turn.calls("report_outcome", outcome="nonsense")
        assert not wrong[0] and "complete" in wrong[1]
        assert (await turn.calls("report_outcome", outcome="complete"))[0]
        turn.end(done(text="All done."))
        run = await daemon.ended(run_id)
        assert run["exit"]["reason"] == "turn-complete"
        assert run["history"][0]["source"] == "tool"


async def test_a_plain_prompt_gets_none_of_podiums_tools(machine: Machine) -> None:
    async with running(machine) as daemon:
        await daemon.prompt("Hello")
        turn = await daemon.turn()
        assert (turn.request.served, turn.request.hooks) == ((), ())
        turn.end(done())


async def test_a_question_ends_the_turn_and_its_answer_is_the_next_message(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        assert (await turn.calls("ask", question="Which?", options=["Big", "Small"]))[0]
        refused = await turn.calls("save", key="goal", value="x")
        assert not refused[0] and "end your turn" in refused[1]
        assert await turn.uses("Bash", command="ls") is not None
        turn.end(done())
        question = await daemon.question(held.run_id)
        assert (question["kind"], question["text"]) == ("ask", "Which?")
        assert [choice["label"] for choice in question["choices"]] == ["Big", "Small"]
        with pytest.raises(InvalidParameter):
            await daemon.answer(held.run_id, "Huge")
        await daemon.answer(held.run_id, "Big")
        assert "Big" in (await held.turn()).prompt
        with pytest.raises(AlreadyEnded):
            await daemon.service.answer(question["question_id"], "Small", None, "bob")


async def test_everything_is_there_after_a_restart_between_turns(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await designing(daemon, talk(machine))
        turn = await held.answers("Go")
        await turn.calls("ask", question="Which?", options=["Big", "Small"])
        turn.end(done())
        before = await daemon.question(held.run_id)
        run_id = held.run_id
    async with running(machine) as daemon:
        after = await daemon.question(run_id)
        assert after == before
        state = daemon.actor(run_id).state
        assert (state.step, state.ctx) == ("design", {"goal": "A shop", "parts": []})
        await daemon.answer(run_id, "Small")
        turn = await daemon.turn()
        assert "Small" in turn.prompt and turn.request.system_prompt == "You design: A shop"


async def test_a_turn_that_outlives_its_daemon_has_its_calls_answered_once(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        turn = await held.answers("A shop")
        told = await turn.calls("save", "c1", key="goal", value="A shop")
    async with running(machine) as daemon:
        await turn.taken_up()
        again = await turn.calls("save", "c1", key="goal", value="A shop")
        assert again == told
        assert len(await daemon.events(held.run_id, "tool.used")) == 1
        pending = machine.agent.looked_at[-1]
        assert [spec.name for spec in pending.served] == [s.name for s in turn.request.served]
        assert pending.hooks == turn.request.hooks
        await turn.calls("transition", "c2", to="agreed", summary="s")
        turn.end(done())
        await daemon.until(held.run_id, lambda state: state.step == "design")


async def test_a_conversation_that_is_gone_begins_anew_with_a_summary(
    machine: Machine, tmp_path: Path
) -> None:
    transcript = tmp_path / "transcript"
    transcript.write_text("{}\n")
    async with running(machine) as daemon:
        run_id = await daemon.start(talk(machine))
        held = Conversation(daemon, run_id)
        machine.agent.transcripts[held.session_id] = transcript
        (await daemon.turn()).end(done(text="What do you want?"))
        await held.waits()
        turn = await held.answers("A shop")
        assert turn.request.session_mode == "resume" and turn.prompt == "A shop"
        await turn.calls("save", key="goal", value="A shop")
        turn.end(done(text="Which?"))
        await held.waits()
        machine.agent.transcripts.clear()
    async with running(machine) as daemon:
        held = Conversation(daemon, run_id)
        turn = await held.answers("A big one")
        assert turn.request.session_mode == "new"
        assert turn.prompt.startswith("This conversation is new to you")
        assert turn.prompt.endswith("A big one")
        for known in ("goal: A shop", "The person said: A shop", "The agent said: Which?"):
            assert known in turn.prompt
        [*_, intended] = await daemon.events(run_id, "turn.intended")
        assert intended["anew"] is True


async def test_a_conversation_that_has_not_begun_is_not_gone(machine: Machine) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        assert (await held.answers("A shop")).prompt == "A shop"
        assert [one["anew"] for one in await daemon.events(held.run_id, "turn.intended")] == [
            False,
            False,
        ]


async def test_after_the_last_phase_messages_are_plain_prompts_in_the_same_conversation(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        held = await begun(daemon, talk(machine))
        session = held.session_id
        turn = await held.answers("Never mind")
        await turn.calls("transition", to="dropped", summary="s")
        turn.end(done())
        assert (await daemon.ended(held.run_id))["exit"]["reason"] == "goal-dropped"
        went = await daemon.prompt("And now?", session_id=session)
        assert went["delivery"] == "sent" and went["run_id"] != held.run_id
        plain = await daemon.turn()
        assert (plain.prompt, plain.request.session_id) == ("And now?", session)
        assert plain.request.served == ()
        plain.end(done())
