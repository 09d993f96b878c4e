"""The built-in ``plan-execute-verify`` with the native agent, started in a chat."""

from __future__ import annotations

from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import (
    MENDED,
    PATCH,
    READ,
    TEST,
    act,
    after,
    first,
    fixtures,
    says,
)
from tests.e2e.rpc_client import Json
from tests.e2e.test_chat import by_hand

GOAL = "The test of calc.py passes"
PLAN = "calc.py:2 subtracts. 1. calc.py: add. Evidence: python3 -m unittest."
ISSUE = "1. [high] calc.py:2: still subtracts, so add(2, 3) is -1; it has to add."
ADD_AND_COMMIT = "git add -- calc.py && git commit --quiet --message='Add what is to be added'"


def word(outcome: str, words: str) -> Json:
    """A reply that ends a step."""
    return says(f'{words}\n\n{{"outcome": "{outcome}"}}')


def once(rule: Json) -> Json:
    """A rule that holds for the first prompt that it fits."""
    return {**rule, "times": 1}


RULES: list[Json] = [
    after("read_file", True, word("ready", PLAN)),
    first("Plan how to reach a goal", says(act(READ, words="I look."))),
    once(first("Execute the plan", word("complete", "1. done: not really."))),
    first("Execute the plan", says(act(PATCH, TEST, words="I mend it."))),
    once(after("run_tests", False, word("issues-found", ISSUE))),
    once(after("run_tests", True, word("complete", "1. done: calc.py adds; the test passes."))),
    after("run_tests", True, word("achieved", "reached: the test passes.")),
    first("Verify whether a goal", says(act(TEST, words="I run it."))),
    first(
        "Commit the work",
        says(act({"action": "run_command", "command": ADD_AND_COMMIT}, words="I commit.")),
    ),
    after("run_command", True, word("committed", "It is committed.")),
]


machine, repo = fixtures(RULES)


async def test_a_goal_is_planned_executed_verified_mended_and_committed_with_nobody_asked(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    def person() -> None:
        where = ("--cwd", str(repo.path))
        environment = machine.environment(NO_COLOR="1")
        with Terminal(environment, "chat", *where, columns=300) as terminal:
            terminal.expect("> ")
            terminal.type(f"/recipe plan-execute-verify goal='{GOAL}'\r")
            terminal.expect("plan-execute-verify: ")
            for step, outcome in (
                ("plan  visit 1", "outcome ready"),
                ("execute  visit 1", "outcome complete"),
                ("verify  visit 1", "outcome issues-found"),
                ("execute  visit 2", "outcome complete"),
                ("verify  visit 2", "outcome achieved"),
                ("commit  visit 1", "outcome committed"),
            ):
                terminal.expect(f"▸ {step}")
                terminal.expect(outcome)
            terminal.expect("✓ Goal reached, verified and committed (changes-committed)")
            terminal.expect("> ")
            terminal.type("exit\r")

            assert terminal.end() == 0

    await by_hand(person)
    assert (repo.path / "calc.py").read_text() == MENDED
    assert repo.subjects == ["Add what is to be added", "A calculator", "Begin"]
    assert repo.git("status", "--porcelain") == ""
    (run,) = await podium.rpc("runs.list")
    assert run["questions"] == [] and run["turns"] == 6
    prompts = [asked.prompt for asked in machine.model.requests]
    assert GOAL in prompts[0]
    executions = [prompt for prompt in prompts if prompt.startswith("Execute the plan")]
    assert PLAN in executions[0] and ISSUE not in executions[0] and ISSUE in executions[1]
    verifications = [prompt for prompt in prompts if prompt.startswith("Verify whether")]
    assert all(GOAL in prompt and PLAN in prompt for prompt in verifications)
    assert "calc.py adds" in verifications[1]
    fresh = [asked for asked in machine.model.requests if asked.prompt in verifications]
    assert not any("I look." in asked.anywhere for asked in fresh), "the verifier starts afresh"
