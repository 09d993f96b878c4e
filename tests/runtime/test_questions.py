"""Questions: who may answer, what an answer does, and that only the first one counts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from podiumd.drivers.base import ApprovalWithdrawn
from podiumd.runtime.errors import AlreadyEnded, InvalidParameter, NotFound
from podiumd.runtime.service import ANSWER_BYTES
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running


async def asking(daemon: Daemon, recipe: str, **fields: str) -> str:
    """A run whose agent asks for leave to use Bash."""
    run_id = await daemon.start(recipe, **fields)
    (await daemon.turn()).asks()
    return run_id


async def test_an_approval_waits_for_a_person_and_the_answer_reaches_the_agent(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        question = await daemon.question(run_id)
        assert question["kind"] == "approval"
        assert [choice["id"] for choice in question["choices"]] == ["allow", "deny", "always"]
        assert (question["tool"], question["input"]) == ("Bash", {"command": "make"})
        assert (await daemon.service.get_run(run_id)).status == "waiting"
        answered = await daemon.answer(run_id, "deny", note="not now")
        assert (answered["answer"], answered["closed"]) == ("deny", "answered")
        decision = await machine.agent.turns[0].answered()
        assert (decision.behavior, decision.message) == ("deny", "not now")
        machine.agent.turns[0].complete()
        await daemon.ended(run_id)


async def test_an_answer_and_its_note_have_a_bound_and_beyond_it_the_question_stays_open(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        room = "ü" * ((ANSWER_BYTES - len("deny")) // 2)
        with pytest.raises(InvalidParameter, match=f"{ANSWER_BYTES} bytes long; attach a file"):
            await daemon.answer(run_id, "deny", note=room + "x")
        assert (await daemon.question(run_id))["closed"] is None
        await daemon.answer(run_id, "deny", note=room)
        assert (await machine.agent.turns[0].answered()).message == room


async def test_the_note_of_a_leave_that_is_given_reaches_the_agent_as_words(
    machine: Machine,
) -> None:
    """An approval takes no words; those of a refusal are its reason and are said once."""
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        (turn,) = machine.agent.turns
        await daemon.answer(run_id, "allow", note="Quickly.")
        assert (await turn.answered()).behavior == "allow"
        assert list(turn.steers.values()) == ["Quickly."]
        turn.asks("r2")
        await daemon.answer(run_id, "deny", note="Not that.")
        assert (await turn.answered("r2")).message == "Not that."
        assert list(turn.steers.values()) == ["Quickly."]


async def test_the_note_of_a_refusal_goes_as_words_to_an_agent_whose_refusal_has_none(
    machine: Machine,
) -> None:
    machine.agent.capabilities = replace(machine.agent.capabilities, deny_words=False)
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        (turn,) = machine.agent.turns
        await daemon.answer(run_id, "deny", note="Not that.")
        assert (await turn.answered()).behavior == "deny"
        assert list(turn.steers.values()) == ["Not that."], "before the answer itself"


async def test_the_next_turn_may_use_what_was_always_allowed(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        await daemon.answer(run_id, "always")
        await machine.agent.turns[0].answered()
        machine.agent.turns[0].end(done(text="I forgot the JSON."))
        assert (await daemon.turn()).request.allow == ("Bash",)


async def test_an_unattended_run_ends_at_its_first_question(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step(), on_question="fail")
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["class"]) == (
            "clarification-needed",
            "needs-user",
        )
        assert machine.agent.turns[0].interrupted.is_set()


async def test_an_unattended_run_ends_at_a_gate_before_any_agent(machine: Machine) -> None:
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        run = await daemon.ended(await daemon.start(gated, on_question="fail"))
        assert (run["exit"]["reason"], run["exit"]["detail"]) == ("clarification-needed", "Go on?")
        assert machine.agent.turns == []


async def test_a_gate_answered_no_ends_the_run_and_a_later_answer_is_too_late(
    machine: Machine,
) -> None:
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        question = (await daemon.question(run_id))["question_id"]
        await daemon.service.answer(question, "no", None, "ann")
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["message"]) == (
            "gate-declined",
            "Recipe stopped: declined at work",
        )
        with pytest.raises(AlreadyEnded) as raised:
            await daemon.service.answer(question, "yes", None, "bob")
        assert plain(raised.value.data) == {"id": question, "by": "ann"}
    async with running(machine) as daemon:  # nor after a restart
        with pytest.raises(AlreadyEnded, match="run has ended: gate-declined"):
            await daemon.service.pause(run_id)
        with pytest.raises(AlreadyEnded):
            await daemon.service.answer(question[:20], "yes", None, "bob")
        with pytest.raises(NotFound):
            await daemon.service.answer("no-such-question", "yes", None, "bob")


async def test_a_gate_answered_yes_lets_the_step_begin(machine: Machine) -> None:
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.answer(run_id, "yes")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_question_the_agent_withdraws_is_superseded(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        question = (await daemon.question(run_id))["question_id"]
        machine.agent.turns[0].says(ApprovalWithdrawn("r1"))
        await daemon.until(run_id, lambda state: not state.open_questions)
        with pytest.raises(AlreadyEnded, match="superseded"):
            await daemon.service.answer(question, "allow", None, "ann")


async def test_an_answer_its_process_never_got_serves_once_for_the_same_call(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        first = machine.agent.turns[0]
        question = (await daemon.question(run_id))["question_id"]
        first.waits_no_more()
        await daemon.service.answer(question, "allow", None, "ann")
        first.breaks()
        second = await daemon.turn()
        second.asks("s1")
        assert (await second.answered("s1")).behavior == "allow"
        second.asks("s2")
        assert (await daemon.question(run_id))["tool"] == "Bash"


async def test_the_agents_own_question_is_answered_with_an_option_or_a_text(
    machine: Machine,
) -> None:
    asked = {"questions": [{"question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}]}
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.one_step())
        turn = await daemon.turn()
        turn.asks("r1", tool="AskUserQuestion", input=asked, asks_person=True)
        question = await daemon.question(run_id)
        assert (question["kind"], question["text"]) == ("ask", "Which one?")
        assert [choice["id"] for choice in question["choices"]] == ["A", "B"]
        await daemon.answer(run_id, "Neither", note="C")
        decision = await turn.answered()
        assert decision.updated_input == {**asked, "answers": {"Which one?": "Neither (C)"}}
        turn.asks("r2", tool="ExitPlanMode", input={"plan": "1. Do it"}, asks_person=True)
        await daemon.answer(run_id, "Only the first half")
        decision = await turn.answered("r2")
        assert (decision.behavior, decision.message) == ("deny", "Only the first half")
        turn.asks("r3", tool="ExitPlanMode", input={"plan": "1. Half"}, asks_person=True)
        await daemon.answer(run_id, "yes")
        assert (await turn.answered("r3")).behavior == "allow"


async def test_an_answer_while_the_agent_is_not_there_is_kept_until_it_is(
    machine: Machine,
) -> None:
    """The daemon went between the question and the answer; the agent still waits."""
    async with running(machine) as daemon:
        run_id = await asking(daemon, machine.one_step())
        question = (await daemon.question(run_id))["question_id"]
    async with running(machine) as daemon:
        await daemon.service.answer(question, "allow", None, "ann")
        assert (await machine.agent.turns[0].answered()).behavior == "allow"
        machine.agent.turns[0].complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_question_is_found_by_a_unique_beginning_of_its_id(machine: Machine) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.one_step())
        turn = await daemon.turn()
        for number in range(17):  # of 16 hexadecimal digits one comes twice
            turn.asks(f"r{number}")
        state = await daemon.until(run_id, lambda state: len(state.questions) == 17)
        ids = list(state.questions)
        shared = next(one[0] for one in ids if [i[0] for i in ids].count(one[0]) > 1)
        with pytest.raises(NotFound, match="More than one"):
            await daemon.service.answer(shared, "allow", None, "ann")
        answered = await daemon.service.answer(ids[3][:13], "allow", None, "ann")
        assert answered.question_id == ids[3]
