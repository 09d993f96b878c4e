"""The campaign itself: a handful of its trials on a run of two steps, and that it can fail."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import trio

from podiumd.tools import failpoints
from tests.e2e.rpc_client import Json
from tests.fakes.model_server import ModelServer
from tests.faults import agent_plan, audit, books, plan, report
from tests.faults.agent_scenario import REFUSED, AgentScenario, Language
from tests.faults.audit import Findings
from tests.faults.machines import FakeMachine
from tests.faults.native_scenario import NativeScenario
from tests.faults.phases_scenario import GOAL, PhasesScenario
from tests.faults.scenario import LEDGER, PROMPTED, STEER_WORDS, TWO_STEPS, Scenario, plainly
from tests.faults.trial import Result, run_trial
from tests.faults.trials import KINDS, Trial

BRIEF = Scenario(steps=TWO_STEPS)
QUIET = Scenario(steps=TWO_STEPS, steered=False)
HANDFUL = [
    Trial("begun", "turn.tool-begun", "both", 2, scenario=QUIET),
    Trial("written", "steer.after-write", "agent", 1, scenario=BRIEF),
    Trial("away", "away", "daemon", scenario=Scenario(TWO_STEPS, steered=False, away="commit")),
    Trial("talked", "tool.after-recorded", "both", 2, scenario=PhasesScenario()),
    Trial("never", "worktree.after-make", "daemon", 1, scenario=QUIET),
]


@pytest.mark.claude
@pytest.mark.slow
async def test_runs_survive_kills_and_a_point_that_is_never_reached_fails(
    claude_binary: Path,
) -> None:
    """Both die in the irreversible step and in a talk, the agent with a steer, the daemon during an
    answer."""
    results: dict[str, Result] = {}

    async def work(*trials: Trial) -> None:
        for trial in trials:
            results[trial.name] = await run_trial(trial, claude_binary)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work, *HANDFUL[::2])
        nursery.start_soon(work, *HANDFUL[1::2])
    never = results.pop("never")
    failed = [result for result in results.values() if not result.findings.good]
    assert [report.failure(result, seed=0) for result in failed] == []
    assert len(results) == 4
    assert never.findings.lines() == ["ended: worktree.after-make was not reached 1 times"]
    assert never.directory is not None
    shutil.rmtree(never.directory)


def test_the_plan_tries_every_failpoint_and_as_many_moments_as_it_says() -> None:
    trials = plan.every(seed=1)
    assert plan.not_tried(trials) == set()
    assert plan.not_tried(plan.short(seed=1)) == set()
    moments = Counter(type(trial.scenario) for trial in trials if trial.point == "moment")
    assert moments == {
        Scenario: 200,
        NativeScenario: 40,
        PhasesScenario: 20,
        AgentScenario: 100 + 100 + 20,
    }
    away = [trial.scenario for trial in trials if trial.point == "away"]
    assert len(away) == 20
    assert {one.away for one in away} == set(PROMPTED)
    assert {trial.kind for trial in trials if trial.point == "turn.tool-begun"} == set(KINDS)
    assert len({trial.name for trial in trials}) == len(trials)


def test_a_point_that_no_trial_is_about_is_told() -> None:
    trials = [trial for trial in plan.every(seed=1) if trial.point != "turn.swept"]
    assert plan.not_tried(trials) == {"turn.swept"}
    assert plan.not_tried([]) == set(failpoints.names()) - {*plan.ELSEWHERE}


def test_a_point_that_no_run_passes_has_a_test_of_its_own() -> None:
    for point, test in plan.ELSEWHERE.items():
        assert point in failpoints.names()
        assert f'"{point}"' in Path(test).read_text()


def test_a_seed_gives_the_same_moments_again() -> None:
    assert plan.at_moments(7, 20) == plan.at_moments(7, 20)
    parts = [trial.part for trial in plan.at_moments(7, 200)]
    assert parts == sorted(parts) and parts[0] >= 0 and parts[-1] < 1
    assert parts != [trial.part for trial in plan.at_moments(8, 200)]


def intended(step: str, uuid: str, prompt: str, carried: tuple[str, ...] = ()) -> Json:
    data = {"turn_id": uuid, "prompt_uuid": uuid, "step": step, "purpose": "step"}
    return {"type": "turn.intended", "data": {**data, "prompt": prompt, "carried": list(carried)}}


def ended(uuid: str, kind: str, *, recorded: bool) -> Json:
    turn_report = {"kind": kind, "prompt_recorded": recorded}
    return {"type": "turn.ended", "data": {"turn_id": uuid, "report": turn_report}}


def wrong(findings: Findings, invariant: str) -> str:
    return "\n".join(findings.wrong[invariant])


def test_a_prompt_that_stands_twice_or_not_at_all_is_found() -> None:
    facts = [intended("survey", "p1", "Look."), ended("p1", "done", recorded=True)]
    for count in (0, 2):
        findings = Findings()
        audit.check_prompts(findings, facts, Counter({"p1": count}))
        assert f"stands {count} times" in wrong(findings, "prompts")
    findings = Findings()
    audit.check_prompts(findings, facts, Counter({"p1": 1}))
    assert findings.good


def test_a_cut_off_prompt_may_be_missing_only_where_the_next_one_has_its_text() -> None:
    cut = [intended("survey", "p1", "Look.\n\nEnd."), ended("p1", "broken", recorded=False)]
    for prompt, good in (("You were interrupted.\n\nLook.", True), ("Go on.", False)):
        findings = Findings()
        facts = [*cut, intended("survey", "p2", prompt)]
        audit.check_prompts(findings, facts, Counter({"p2": 1}))
        assert findings.good is good


def test_a_steer_that_came_twice_or_never_is_found() -> None:
    steer = {"type": "steer.intended", "data": {"uuid": "s"}}
    carrying = intended("build", "p2", "Build it.", carried=("s",))
    quoting = intended("build", "p3", f"You were interrupted.\n\n{STEER_WORDS}")
    quoting["data"]["purpose"] = "interrupted"
    for said, facts, good in (
        (Counter({"s": 1}), [steer], True),
        (Counter({"p2": 1}), [steer, carrying], True),
        (Counter({"s": 1, "p2": 1}), [steer, carrying], False),
        (Counter[str](), [steer], False),
        (Counter({"p3": 1}), [steer, carrying, quoting], True),
        (Counter[str](), [steer, carrying, quoting], False),
        (Counter({"s": 1}), [steer, steer], False),
    ):
        findings = Findings()
        audit.check_steers(findings, facts, said)
        assert findings.good is good


def test_a_doubled_effect_and_a_second_commit_are_found(tmp_path: Path) -> None:
    (tmp_path / LEDGER).write_text("survey\nsurvey\n")
    findings = Findings()
    audit.check_effects(findings, BRIEF, tmp_path, commits=2)
    assert len(findings.wrong["effects"]) == 2
    (tmp_path / LEDGER).write_text("survey\n")
    findings = Findings()
    audit.check_effects(findings, BRIEF, tmp_path, commits=1)
    assert findings.good


def test_words_that_were_heard_twice_or_never_and_a_call_done_twice_are_found() -> None:
    words = {"type": "message.received", "data": {"uuid": "w", "text": "Mind it"}}
    call = {"type": "tool.used", "data": {"turn_id": "t", "call_id": "c"}}
    for said, facts, good in (
        (Counter({"w": 1}), [words], True),
        (Counter({"p1": 1}), [words, intended("talk", "p1", "Mind it")], True),
        (Counter[str](), [words, intended("talk", "p1", "Mind it")], False),
        (Counter({"w": 1, "p1": 1}), [words, intended("talk", "p1", "Mind it")], False),
        (Counter[str](), [call], True),
        (Counter[str](), [call, call], False),
    ):
        findings = Findings()
        audit.check_words(findings, facts, said)
        assert findings.good is good


def test_a_document_that_is_wrong_or_torn_or_missing_is_found(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    right = {"phase": "talk", "goal": GOAL}
    for names, text, good in (
        (("plan.json", "plan.md"), right, True),
        (("plan.json", "plan.md"), {**right, "goal": "x"}, False),
        (("plan.json", "plan.md", ".podium-1.draft"), right, False),
        (("plan.md",), right, False),
    ):
        for left in docs.iterdir():
            left.unlink()
        for name in names:
            (docs / name).write_text(json.dumps(text))
        findings = Findings()
        audit.check_documents(findings, PhasesScenario(), tmp_path)
        assert findings.good is good
    findings = Findings()
    audit.check_documents(findings, BRIEF, tmp_path)
    assert findings.good


def test_the_points_of_other_agents_are_tried_with_each_of_them() -> None:
    trials = agent_plan.every(seed=1)
    names = {
        name: {trial.point for trial in trials if trial.scenario.name == name}
        for name in ("acp", "codex", "real-codex")
    }
    assert names["codex"] - names["acp"] == {"steer.before-write", "steer.after-write"}
    assert names["acp"] - names["codex"] == {"turn.end-sent"} and len(names["real-codex"]) > 20
    short = agent_plan.short(seed=1)
    assert {trial.point for trial in short} == (names["codex"] | names["acp"]) - {"moment"}
    assert "unread" in names["codex"]
    assert {trial.scenario.name for trial in short} == {"acp", "codex"}
    assert short == agent_plan.short(seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("language", agent_plan.LANGUAGES)
async def test_a_prompt_that_is_not_read_yet_is_written_once_and_without_marks_twice(
    language: Language,
) -> None:
    for marks in (True, False):
        result = await run_trial(agent_plan.unread(language, marks=marks)[0], Path())
        doubled = "prompts: the step prompt of survey stands 2 times in the transcripts"
        assert result.findings.good is marks, report.failure(result, seed=0)
        assert (doubled in result.findings.lines()) is not marks
        if result.directory is not None:
            shutil.rmtree(result.directory)


FAKED = AgentScenario(steps=("survey",))


def looked(tmp_path: Path, facts: list[Json], books_of: dict[str, list[Json]]) -> Findings:
    """What is found wrong where the fake's books have these rows."""
    with ModelServer() as model:
        machine = FakeMachine(tmp_path, tmp_path / "home", tmp_path / "fake", model)
        machine.set_up()
        for name in ("model", "tools", "answers"):
            text = "".join(json.dumps(row) + "\n" for row in books_of.get(name, []))
            (machine.books / f"{name}.jsonl").write_text(text)
        findings = Findings()
        books.check(findings, FAKED, machine, facts, undisturbed=True)
        audit.check_prompts(findings, facts, books.heard(machine, facts))
        return findings


def test_what_the_books_of_an_agent_hold_too_often_or_not_at_all_is_found(tmp_path: Path) -> None:
    command = plainly("survey")
    asked = {"question_id": "q", "kind": "approval", "input": {"command": command}}
    facts = [
        intended("survey", "p1", "Look."),
        {"type": "question.opened", "data": asked},
        {"type": "question.closed", "data": {"question_id": "q", "answer": "allow"}},
        ended("p1", "done", recorded=True),
    ]
    first: Json = {"words": ["Look."], "history": []}
    then: Json = {"words": [], "history": []}
    tool: Json = {"command": command}
    right = {"model": [first, then], "tools": [tool], "answers": [{**tool, "allowed": True}]}
    assert looked(tmp_path, facts, right).good
    wrong_books: list[tuple[str, list[Json], str]] = [
        ("model", [first, first], "stands 2 times"),
        ("model", [then, then], "stands 0 times"),
        ("model", [first, then, then], "the model was asked 3 times"),
        ("tools", [tool, tool], "ran 2 times"),
        ("tools", [], "never ran"),
        ("tools", [tool, {"command": REFUSED}], "ran 1 times"),
        ("answers", [], "the answers"),
        ("answers", [{**tool, "allowed": False}], "the answers"),
    ]
    for book, rows, words in wrong_books:
        found = looked(tmp_path, facts, {**right, book: rows})
        assert words in "\n".join(found.lines())


def test_a_prompt_that_a_killed_agent_had_is_in_what_the_next_goes_on_from(tmp_path: Path) -> None:
    facts = [intended("survey", "p1", "Look."), ended("p1", "broken", recorded=True)]
    rows: list[Json] = [{"words": ["Go on with this step."], "history": ["Look."]}] * 2
    assert looked(tmp_path, facts, {"model": rows}).wrong["prompts"] == []


def test_a_control_that_does_not_double_each_prompt_fails() -> None:
    doubled = Result(Trial("c", "moment", "daemon", marks=False), Findings(), 1.0, None)
    doubled.findings.note("prompts", "the step prompt of survey stands 2 times")
    single = Result(Trial("d", "moment", "daemon", marks=False), Findings(), 1.0, None)
    assert report.control([doubled, doubled], 2).startswith("The control")
    assert report.control([doubled, single], 2).startswith("FAILED")
    assert report.control([], 2).startswith("FAILED") and report.control([], 0) == ""


def test_a_hole_in_the_log_and_a_repeated_event_are_found() -> None:
    facts = [{"seq": seq, "type": "a", "run_id": "r"} for seq in (1, 2, 4)]
    findings = Findings()
    audit.check_log(findings, facts, [*facts, facts[-1]])
    assert "holes" in wrong(findings, "whole") and "as stored" in wrong(findings, "whole")


def test_another_end_than_the_promised_one_and_an_open_question_are_found() -> None:
    opened = {"type": "question.opened", "data": {"question_id": "q"}}
    exit_ = {"reason": "error", "detail": "it broke"}
    findings = Findings()
    audit.check_end(findings, [opened, {"type": "run.ended", "data": {"exit": exit_}}], BRIEF)
    assert "it broke" in wrong(findings, "ended") and "question" in wrong(findings, "ended")
    findings = Findings()
    audit.check_end(findings, [opened], BRIEF)
    assert "the last fact is question.opened" in wrong(findings, "ended")


def test_the_table_has_a_line_for_each_point_and_kind_and_says_what_failed() -> None:
    good = Result(Trial("a", "turn.swept", "daemon", 1), Findings(), 1.0, None)
    bad = Result(Trial("b", "moment", "both"), Findings(), 1.0, Path("kept"))
    bad.findings.note("effects", "the ledger says twice")
    lines = report.table([good, bad]).splitlines()
    assert [line.split()[0] for line in lines[3:5]] == ["moment", "turn.swept"]
    assert lines[3].split() == ["moment", "both", "1", "1", "1", "0", "1", "0", "FAILED"]
    assert lines[4].split()[-1] == "ok" and lines[-1].split()[-1] == "FAILED"
    told = report.failure(bad, seed=5)
    assert "kept" in told and "--seed 5 --only b" in told and "the ledger says twice" in told
