"""The built-in guided design with Podium's own agent: in a chat, from a script, over kills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.design import GOAL, SAVED, TALK, native_rules, written
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import native_machine
from tests.e2e.test_chat import by_hand
from tests.fakes.trio_gates import holding


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path) as made:
        made.model.load({"rules": native_rules()})
        yield made


@pytest.fixture
def repo(machine: Machine) -> GitRepo:
    return machine.repository()


async def test_in_a_chat_each_line_goes_to_its_phase_and_afterwards_to_the_agent(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    def person() -> None:
        command = ("chat", "--recipe", "guided-design", "--cwd", str(repo.path))
        with Terminal(machine.environment(NO_COLOR="1"), *command, columns=300) as terminal:
            terminal.expect("✗ transition complete refused: from here no way leads to 'complete'")
            terminal.expect("✗ transition agreed refused: 'agreed' needs 'goal_summary'")
            terminal.expect("? ask: Who is it for?")
            terminal.expect("numbers, such as 1,3 > ")
            terminal.type("1,2\r")
            terminal.expect("? ask: Is that right?")
            terminal.expect("a number > ")
            terminal.type("1\r")
            terminal.expect(f"✓ saved goal_summary: {GOAL}")
            terminal.expect("▸ agent-configuration")
            terminal.expect("▸ blueprint-design")
            terminal.expect("row 1, shift (needed)> ")
            for typed, told in (
                ("early", "row 1, nurses (number)> "),
                ("3", "row 2, shift (needed)> "),
                ("", "Shall I write it?"),
            ):
                terminal.type(f"{typed}\r")
                terminal.expect(told)
            terminal.expect("blueprint-design> ")
            terminal.type("Write it.\r")
            terminal.expect("✓ Conversation complete (conversation-complete)")
            terminal.expect("> ")
            terminal.type("Thank you.\r")
            terminal.expect("Gladly.")
            terminal.expect("> ")
            terminal.type("exit\r")

            assert terminal.end() == 0

    await by_hand(person)
    assert written(repo.path) == {"phase": "blueprint-design", **SAVED}
    (run,) = await podium.rpc("runs.list")
    assert run["exit"]["reason"] == "conversation-complete"
    assert repo.subjects == ["Begin"], "nothing is committed"


async def test_a_kill_between_an_agents_tools_and_its_last_words_does_nothing_twice(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    """In each phase the daemon dies when the tools of the turn are done and the model writes on."""
    gates = ("goal", "config", "design", "")
    machine.model.load(
        {"rules": native_rules(tuple(said._replace(hold=gates[said.phase]) for said in TALK))}
    )
    start = {"recipe": "guided-design", "working_directory": str(repo.path), "agent": "native"}
    run_id = (await podium.rpc("runs.start", **start))["run_id"]
    session = (await podium.rpc("runs.get", run_id=run_id))["session_id"]

    async def answers(text: str, answer: str) -> None:
        async with podium.follow(run_id) as feed:
            opened = await feed.until("question.opened", text=text)
        await podium.rpc("questions.answer", question_id=opened["question_id"], answer=answer)

    async def killed_at(gate: str) -> None:
        await holding(machine.model, gate)
        await podium.restart()
        machine.model.release(gate)

    await answers("Who is it for?", "nurses,kin")
    await answers("Is that right?", "it is right")
    await killed_at("goal")
    await killed_at("config")
    await answers("Which shifts are there?", '[{"shift": "early"}]')
    async with podium.follow(run_id) as feed:
        await feed.until("turn.ended", text="Shall I write it?")
    await podium.rpc("sessions.prompt", session_id=session, text="Write it.")
    await killed_at("design")
    run = await podium.ended(run_id)
    assert (run["exit"]["reason"], run["ctx"]) == ("conversation-complete", SAVED)
    told = (await podium.rpc("runs.events", run_id=run_id))["events"]
    done = [one["data"] for one in told if one["type"] == "tool.used" and one["data"]["success"]]
    used = [(one["tool"], one["args"].get("key") or one["args"].get("to")) for one in done]
    assert used == [
        *(("ask", None), ("ask", None), ("save", "goal_summary"), ("transition", "agreed")),
        *(("save", "agent_config"), ("transition", "configured"), ("ask", None)),
        *(("save", key) for key in ("blueprint", "entities", "agents")),
        ("transition", "designed"),
    ]
