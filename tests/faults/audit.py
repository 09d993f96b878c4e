"""What must hold after a trial, found in what the run left: facts, transcripts, repository."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podiumd.formats.claude_transcript import decode_record
from tests.e2e.rpc_client import Json
from tests.faults.scenario import LEDGER, STEER_WORDS, Scenario

INVARIANTS = ("ended", "prompts", "effects", "children", "whole")
"""Ended as promised; prompts once; effects once; nothing lives; logs and streams are whole."""


@dataclass
class Findings:
    """What was found wrong, by invariant."""

    wrong: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in INVARIANTS})

    def note(self, invariant: str, *problems: str) -> None:
        self.wrong[invariant] += problems

    @property
    def good(self) -> bool:
        return not any(self.wrong.values())

    def lines(self) -> list[str]:
        return [f"{name}: {one}" for name, problems in self.wrong.items() for one in problems]


def stored_facts(state: Path) -> list[Json]:
    """Every fact in the database, as {run_id, seq, pos, type, data}."""
    names = ("run_id", "seq", "pos", "type")
    select = f"SELECT {', '.join(names)}, data FROM facts ORDER BY pos"
    with closing(sqlite3.connect(f"file:{state / 'facts.db'}?mode=ro", uri=True)) as connection:
        return [
            {**dict(zip(names, row, strict=True)), "data": json.loads(data)}
            for *row, data in connection.execute(select)
        ]


def said_to_agents(home: Path, state: Path) -> Counter[str]:
    """How often each prompt and steer stands in the transcripts, by uuid; those of the native
    agent are in the daemon's ``state``."""
    uuids = Counter(
        row["uuid"]
        for path in (state / "sessions").glob("*.jsonl")
        for row in map(json.loads, path.read_bytes().splitlines())
        if row["type"] == "prompt"
    )
    for record in _records(home):
        if record.source_uuid:
            uuids[record.source_uuid] += 1
        elif record.type == "user" and record.uuid:
            uuids.update((record.uuid, *record.merged_uuids))
    return uuids


def _records(home: Path) -> Iterator[Any]:
    for path in sorted((home / ".claude" / "projects").glob("*/*.jsonl")):
        for line in path.read_bytes().splitlines():
            record = decode_record(line)
            if record is not None:
                yield record


def check_log(findings: Findings, facts: list[Json], events: list[Json]) -> None:
    """The log has no holes, and the person saw all of it, each event once, in order."""
    seqs = [fact["seq"] for fact in facts]
    if seqs != list(range(1, len(facts) + 1)):
        findings.note("whole", f"the log has holes: {seqs}")
    if len({fact["run_id"] for fact in facts}) > 1:
        findings.note("ended", "more than one run was started")
    stored = [(fact["seq"], fact["type"]) for fact in facts]
    seen = [(event["seq"], event["type"]) for event in events]
    if stored != seen:
        findings.note("whole", f"events {sorted(set(seen) ^ set(stored))} were not seen as stored")


def check_prompts(findings: Findings, facts: list[Json], said: Counter[str]) -> None:
    """Every prompt stands once in the transcripts.

    One whose agent was cut off before it wrote anything down may be missing, if the facts say
    that it is, and the next prompt has its text.
    """
    intended = [fact["data"] for fact in facts if fact["type"] == "turn.intended"]
    reports = {
        fact["data"]["turn_id"]: fact["data"]["report"]
        for fact in facts
        if fact["type"] == "turn.ended"
    }
    for at, turn in enumerate(intended):
        count = said[turn["prompt_uuid"]]
        report = reports.get(turn["turn_id"], {})
        known_missing = report.get("kind") in ("broken", "interrupted") and not report.get(
            "prompt_recorded", False
        )
        where = f"the {turn['purpose']} prompt of {turn.get('step')}"
        if count == 0 and known_missing:
            later = intended[at + 1 : at + 2]
            first_line = turn["prompt"].partition("\n")[0]
            if later and first_line not in later[0]["prompt"]:
                findings.note("prompts", f"{where} is lost: no later prompt has its text")
        elif count != 1:
            findings.note("prompts", f"{where} stands {count} times in the transcripts")


def check_steers(findings: Findings, facts: list[Json], said: Counter[str]) -> None:
    """What the person said reached the agent once: by itself, or in one prompt."""
    carrying = Counter(
        uuid
        for fact in facts
        if fact["type"] == "turn.intended" and said[fact["data"]["prompt_uuid"]]
        for uuid in fact["data"].get("carried", [])
    )
    unsaid = [
        text
        for fact in facts
        if fact["type"] == "run.ended"
        for text in fact["data"].get("undelivered", [])
    ]
    steers = [fact["data"]["uuid"] for fact in facts if fact["type"] == "steer.intended"]
    if len(steers) > 1:
        findings.note("prompts", f"the steer was stored {len(steers)} times")
    for uuid in steers:
        count = said[uuid] + carrying[uuid] + (STEER_WORDS in unsaid)
        # The prompt that had it may have died with its agent: then the next one quotes it.
        if count != 1 and not (count == 0 and _quoted(facts, said)):
            findings.note(
                "prompts",
                f"the steer reached the agent {said[uuid]} times by itself and "
                f"{carrying[uuid]} times in a prompt",
            )


def _quoted(facts: list[Json], said: Counter[str]) -> bool:
    return any(
        STEER_WORDS in fact["data"]["prompt"]
        for fact in facts
        if fact["type"] == "turn.intended"
        and fact["data"]["purpose"] == "interrupted"
        and said[fact["data"]["prompt_uuid"]]
    )


def check_words(findings: Findings, facts: list[Json], said: Counter[str]) -> None:
    """What people said in a conversation was stored once, and reached its agent once."""
    received = [fact["data"] for fact in facts if fact["type"] == "message.received"]
    prompts = [
        fact["data"]["prompt"]
        for fact in facts
        if fact["type"] == "turn.intended" and said[fact["data"]["prompt_uuid"]]
    ]
    # An agent that was killed may ask again, and be answered the same again.
    for text, times in Counter(words["text"] for words in received).items():
        alone = sum(said[words["uuid"]] for words in received if words["text"] == text)
        heard = alone + sum(text in prompt for prompt in prompts)
        if heard != times:
            findings.note("prompts", f"the words {text[:40]!r} were heard {heard} times")
    calls = Counter(
        (fact["data"]["turn_id"], fact["data"]["call_id"])
        for fact in facts
        if fact["type"] == "tool.used"
    )
    for (_, call_id), count in calls.items():
        if count > 1:
            findings.note("effects", f"the call {call_id} was done {count} times")


def check_documents(findings: Findings, scenario: Scenario, directory: Path) -> None:
    """What was found out is written whole, and nothing is beside it."""
    if not scenario.documents:
        return
    found = sorted(path.name for path in (directory / "docs").glob("*"))
    found += [path.name for path in (directory / "docs").glob(".*")]
    if found != ["plan.json", "plan.md"]:
        findings.note("effects", f"in docs there are {found}")
        return
    written = json.loads((directory / "docs" / "plan.json").read_text())
    if written != scenario.documents:
        findings.note("effects", f"the document says {written}")


def check_effects(findings: Findings, scenario: Scenario, directory: Path, commits: int) -> None:
    """Each tool's effect is there once; a run that was cancelled may lack it."""
    ledger = directory / LEDGER
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    if scenario.cancels:
        if len(lines) > 1 or commits:
            findings.note("effects", f"cancelled, but the ledger says {lines}, {commits} commits")
        return
    if lines != scenario.ledger:
        findings.note("effects", f"the ledger says {lines}, expected {scenario.ledger}")
    if commits != scenario.commits:
        findings.note("effects", f"{commits} commits were made, expected {scenario.commits}")


def check_notifications(findings: Findings, facts: list[Json], told: Path) -> None:
    """The person's program heard of every question, perhaps more than once."""
    lines = told.read_text().splitlines() if told.exists() else []
    heard = {json.loads(line)["pos"] for line in lines}
    missing = [f["pos"] for f in facts if f["type"] == "question.opened" and f["pos"] not in heard]
    if missing:
        findings.note("effects", f"nobody was told of the questions at {missing}")


def check_end(findings: Findings, facts: list[Json], scenario: Scenario) -> None:
    """The run ended as it should, with nothing open."""
    last = facts[-1]
    if last["type"] != "run.ended":
        findings.note("ended", f"the last fact is {last['type']}")
        return
    ending = last["data"]["exit"]
    if ending["reason"] != scenario.exit_reason:
        findings.note("ended", f"it ended {ending['reason']}: {ending.get('detail', '')}")
    opened = {f["data"]["question_id"] for f in facts if f["type"] == "question.opened"}
    closed = [f["data"]["question_id"] for f in facts if f["type"] == "question.closed"]
    if sorted(closed) != sorted(opened):
        findings.note("ended", "a question was not closed exactly once")
