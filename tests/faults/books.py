"""What reached the model of an agent over JSON-RPC, and what it did: as the agent wrote it down.

The fake keeps books of all its lives. The real Codex has its session files, and its scripted model
has counted the requests.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.codex.machine import CodexMachine
from tests.e2e.machine import Machine
from tests.e2e.rpc_client import Json
from tests.faults.agent_scenario import REFUSED, AgentScenario
from tests.faults.audit import Findings
from tests.faults.machines import FakeMachine
from tests.faults.scenario import once, plainly


def heard(machine: Machine, facts: list[Json]) -> Counter[str]:
    """How often each prompt and steer has reached the agent's model, by uuid."""
    if isinstance(machine, FakeMachine):
        return _heard_by_fake(machine.book("model"), facts)
    assert isinstance(machine, CodexMachine)
    return Counter(
        row["payload"]["item"]["client_id"]
        for path in machine.codex.glob("sessions/*/*/*/rollout-*.jsonl")
        for row in map(json.loads, path.read_bytes().splitlines())
        if row["payload"].get("type") == "item_completed"
        and row["payload"]["item"]["type"] == "UserMessage"
    )


def _heard_by_fake(requests: list[dict[str, Any]], facts: list[Json]) -> Counter[str]:
    words = Counter(word for request in requests for word in request["words"])
    past = {word for request in requests for word in request["history"]}
    uuids: Counter[str] = Counter()
    for text, uuid in _spoken(facts):
        # One that an agent had when it was killed is in the history of the next.
        known = words[text] or (text in past)
        uuids[uuid] += min(1, known)
        words[text] = max(0, words[text] - 1)
    last = dict(_spoken(facts))
    for text, left in words.items():
        if text in last:
            uuids[last[text]] += left
    return uuids


def _spoken(facts: list[Json]) -> list[tuple[str, str]]:
    """What was to be said, each text with its uuid, in order."""
    said = []
    for fact in facts:
        if fact["type"] == "turn.intended":
            said.append((fact["data"]["prompt"], fact["data"]["prompt_uuid"]))
        elif fact["type"] == "steer.intended":
            said.append((fact["data"]["text"], fact["data"]["uuid"]))
    return said


def check(
    findings: Findings,
    scenario: AgentScenario,
    machine: Machine,
    facts: list[Json],
    *,
    undisturbed: bool,
) -> None:
    """Each tool ran once, each answer arrived, nothing was asked of the model in vain.

    ``undisturbed``: no agent was killed; then all of it is exact.
    """
    if isinstance(machine, FakeMachine):
        ran = Counter(row["command"] for row in machine.book("tools"))
        for command, times in ran.items():
            if times > 1 or command == REFUSED:
                findings.note("effects", f"{command!r} ran {times} times")
        for name in scenario.steps:
            if not (ran[plainly(name)] or ran[once(name)]):
                findings.note("effects", f"the tool of {name} never ran")
        if undisturbed:
            _check_answers(findings, machine.book("answers"), facts)
    asked = len(machine.model.requests)
    if isinstance(machine, FakeMachine):
        asked = len(machine.book("model"))
    if undisturbed and asked != 2 * len(scenario.steps):
        findings.note("prompts", f"the model was asked {asked} times, twice a turn was expected")


def _check_answers(findings: Findings, rows: list[dict[str, Any]], facts: list[Json]) -> None:
    opened = {
        fact["data"]["question_id"]: fact["data"]["input"]["command"]
        for fact in facts
        if fact["type"] == "question.opened" and fact["data"]["kind"] == "approval"
    }
    given = Counter(
        (opened[fact["data"]["question_id"]], fact["data"]["answer"] == "allow")
        for fact in facts
        if fact["type"] == "question.closed" and fact["data"]["question_id"] in opened
    )
    arrived = Counter((row["command"], row["allowed"]) for row in rows)
    if arrived != given:
        findings.note("effects", f"the answers {arrived} arrived of {given}")
