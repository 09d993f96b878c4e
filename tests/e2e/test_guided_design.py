"""The built-in guided design with the real ``claude``: at a terminal, from a phone, over kills."""

from __future__ import annotations

from functools import partial

import pytest
import trio

from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.design import GOAL, PHASES, SAVED, TALK, claude_rules, written
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.phones import back, exited, heard, paired, started
from tests.e2e.rpc_client import Json
from tests.e2e.test_chat import by_hand
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude


async def test_a_person_at_a_terminal_designs_from_the_goal_to_the_written_blueprint(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine, model_server: ModelServer
) -> None:
    model_server.load({"rules": claude_rules()})

    def person() -> None:
        command = ("run", "guided-design", "--cwd", str(repo.path))
        with Terminal(machine.environment(NO_COLOR="1"), *command, columns=300) as terminal:
            terminal.expect("Guided Design")
            terminal.expect("▸ goal-understanding")
            terminal.expect("✗ transition complete refused: from here no way leads to 'complete'")
            terminal.expect("✗ transition agreed refused: 'agreed' needs 'goal_summary'")
            terminal.expect("What is it?")
            terminal.expect("? ask: Who is it for?")
            terminal.expect("1) Nurses: on the ward")
            terminal.expect("> ")
            terminal.type("1,2\n")
            terminal.expect("? answered on this machine: nurses, kin")
            terminal.expect("? ask: Is that right?")
            terminal.expect("> ")
            terminal.type("1\n")
            terminal.expect(f"✓ saved goal_summary: {GOAL}")
            terminal.expect("→ moves on to agreed: Agreed")
            terminal.expect("agreed → agent-configuration")
            terminal.expect("I plan shifts.")
            terminal.expect("▸ blueprint-design")
            terminal.expect("row 1, shift (needed)> ")
            for typed in ("early", "3", "late", "2", ""):
                terminal.type(f"{typed}\n")
            terminal.expect("Shall I write it?")
            terminal.expect("you> ")
            terminal.type("Write it.\n")
            terminal.expect("refused: 'designed' needs 'blueprint', 'entities', 'agents'")
            terminal.expect("▸ complete")
            terminal.expect("We have made a rota")
            terminal.expect("✓ Conversation complete (conversation-complete)")

            assert terminal.end() == 0

    await by_hand(person)
    document = written(repo.path)
    assert document == {"phase": "blueprint-design", **SAVED}
    (listed,) = await podium.rpc("runs.list")
    run = await podium.rpc("runs.get", run_id=listed["run_id"])
    assert run["ctx"] == SAVED
    assert [row["outcome"] for row in run["history"]] == [
        "agreed",
        "configured",
        "designed",
        "conversation-complete",
    ]
    assert (run["turns"], run["questions"]) == (len(TALK), [])
    used = {request.system for request in model_server.requests if request.tools}
    for words in PHASES:
        assert any(words in system for system in used), "each phase has its own text"
    prompts = machine.prompts(run["session_id"], repo.path)
    assert len(prompts) == len(TALK), "one conversation, and nothing in it twice"
    said = await podium.cli("prompt", "Thank you.", "--session", run["session_id"])
    assert said.out == "Gladly.\n"
    shown = await podium.cli("runs", "show", run["run_id"])
    assert "goal_summary" in shown.out and GOAL[:40] in shown.out


def _looks_on(podium: PodiumDaemon, run_id: str, asked: trio.Event, wanted: trio.Event) -> None:
    environment = podium.machine.environment(NO_COLOR="1")
    with Terminal(environment, "attach", run_id, columns=300) as terminal:
        terminal.expect("? ask: Who is it for?")
        terminal.expect("> ")
        trio.from_thread.run_sync(asked.set)
        terminal.expect("? answered by phone: nurses, kin")
        terminal.expect("▸ agent-configuration")
        terminal.expect("? answered by phone: [{")
        terminal.expect("you> ")
        trio.from_thread.run_sync(wanted.set)
        terminal.expect("you: Write it.")
        terminal.expect("▸ complete")
        terminal.expect("✓ Conversation complete")

        assert terminal.end() == 0


async def test_a_phone_holds_the_conversation_while_a_terminal_looks_on_over_kills(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """P-9.14, P-12.6. Answers come from the phone; the daemon is killed while each phase works."""
    gates = ("goal", "config", "design", "last")
    talk = tuple(
        said._replace(hold=gates[said.phase])
        if said.calls and said.calls[-1].tool != "ask"
        else said
        for said in TALK[:-1]
    )
    talk = (*talk, TALK[-1]._replace(hold="last"))
    model_server.load({"rules": claude_rules(talk)})
    url, key = await paired(podium)
    async with Phone(url, key) as phone:
        session = await started(phone, "guided-design", repo)
        (run_id,) = (run["run_id"] for run in await podium.rpc("runs.list"))

        async def answers(text: str, answer: str) -> None:
            def standing(phone: Phone) -> list[Json]:
                return [one for one in phone.model.board.questions.values() if one["text"] == text]

            (question,) = await phone.until(standing)
            told = {"question_id": question["question_id"], "answer": answer}
            await phone.request({"type": "answer_question", **told}, "question_closed")

        async def killed_at(gate: str) -> None:
            await holding(model_server, gate)
            await podium.restart()
            model_server.release(gate)
            await back(podium, phone)

        asked, wanted = trio.Event(), trio.Event()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(by_hand, partial(_looks_on, podium, run_id, asked, wanted))
            await asked.wait()
            await answers("Who is it for?", "nurses,kin")
            await answers("Is that right?", "it is right")
            await killed_at("goal")
            await killed_at("config")
            await answers("Which shifts are there?", '[{"shift": "early", "nurses": 3}]')
            await phone.open(session)
            await heard(phone, session, "Shall I write it?")
            await wanted.wait()
            await phone.say("Write it.")
            await killed_at("design")
            await killed_at("last")
            told = await exited(phone, session)
            assert (told["reason"], told["class"]) == ("conversation-complete", "completed")
        await phone.say("Thank you.")
        await heard(phone, session, "Gladly.")
        assert phone.faults == []
    assert written(repo.path) == {"phase": "blueprint-design", **SAVED}
    run = await podium.rpc("runs.get", run_id=run_id)
    assert (run["turns"], run["ctx"]) == (len(TALK), SAVED)
    prompts = podium.machine.prompts(session, repo.path)
    assert len(prompts) == len(TALK) + 1, "nothing was said twice"
