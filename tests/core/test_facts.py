"""Facts are stored for good: what this release writes, every later one reads.

``facts_v1.jsonl`` is the log of played runs as this release wrote it. It is never written again:
when a kind changes, its version rises, a new file is added, and this one is still read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from podiumd.core.run import facts as f
from podiumd.core.run.fold import evolve
from podiumd.core.run.native_loop_state import Act
from podiumd.core.run.state import RunState
from tests.core.builders import Play, a_recipe
from tests.core.looped import change
from tests.core.played_conversation import played_talks
from tests.core.played_log import played
from tests.core.played_native import played_natively

LOG = Path(__file__).with_name("facts_v1.jsonl")

NATIVE_LOG = Path(__file__).with_name("facts_native.jsonl")
"""The same of the turns of the native agent, from the release that had them first."""

# The facts that design and protocol promise to name so, for good.
FIRST_NAMES = {
    *("run.started", "run.paused", "run.resumed", "run.parked", "run.ended", "step.entered"),
    *("turn.intended", "turn.started", "turn.ended", "outcome.parsed", "outcome.invalid"),
    *("check.ended", "command.intended", "command.ended"),
    *("question.opened", "question.closed", "steer.intended", "aside.noted"),
    *("limit.hit", "edge.taken", "progress.stalled", "effect.ended", "stop.intended"),
}
TALK_LOG = Path(__file__).with_name("facts_conversation.jsonl")
"""The same of conversations, from the release that had them first."""

TALK_NAMES = {"message.received", "tool.used", "hook.ended"}
TREE_NAMES = {"tree.seen", "claim.made"}
NAMED_NAMES = {"session.named", "run.renamed"}
LOOP_NAMES = {
    *("loop.started", "reply.received", "words.added"),
    *("action.intended", "action.ended", "loop.ended"),
}


def rows(log: Path = LOG) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def holds(now: Any, then: Any) -> bool:
    """Whether all that was written stands in what is written now; later fields may be added."""
    if isinstance(then, dict):
        return isinstance(now, dict) and all(
            key in now and holds(now[key], value) for key, value in then.items()
        )
    return bool(now == then)


def folded(log: Path = LOG) -> dict[str, RunState]:
    """Every run of a log."""
    states: dict[str, RunState] = {}
    for row in rows(log):
        fact = f.decode(json.dumps(row["fact"]).encode())
        states[row["run"]] = evolve(states.get(row["run"]), fact, row["at"])
    return states


def ends_of(run: str, log: Path) -> list[f.EdgeTaken]:
    """How each visit of a run's steps ended."""
    facts = [f.decode(json.dumps(row["fact"]).encode()) for row in rows(log) if row["run"] == run]
    return [fact for fact in facts if isinstance(fact, f.EdgeTaken)]


def test_the_log_of_the_first_release_holds_every_kind_of_fact() -> None:
    assert {row["fact"]["type"] for row in rows()} == FIRST_NAMES


def test_the_log_of_native_turns_holds_every_kind_of_their_facts() -> None:
    assert {row["fact"]["type"] for row in rows(NATIVE_LOG)} > LOOP_NAMES


def test_the_facts_of_this_release_have_their_public_names() -> None:
    assert {kind.__struct_config__.tag for kind in get_args(f.AnyFact)} == (
        FIRST_NAMES | LOOP_NAMES | TALK_NAMES | TREE_NAMES | NAMED_NAMES
    )


@pytest.mark.parametrize("log", [LOG, NATIVE_LOG, TALK_LOG], ids=lambda log: log.stem)
def test_the_log_of_an_earlier_release_is_read_as_it_was_written(log: Path) -> None:
    for row in rows(log):
        fact = f.decode(json.dumps(row["fact"]).encode())

        assert f.type_of(fact) == row["fact"]["type"]
        assert holds(json.loads(f.encode(fact)), row["fact"])


def test_the_log_of_the_first_release_folds_to_what_its_runs_came_to() -> None:
    states = folded()

    ends = {name: state.exit.reason for name, state in states.items() if state.exit is not None}
    assert ends == {
        "recipe": "changes-committed",
        "limited": "max-total-steps",
        "plain": "changes-committed",
        "prompt": "turn-complete",
        "stalled": "max-total-steps",
    }
    recipe = states["recipe"]
    assert [(visit.step, visit.outcome, visit.attempts) for visit in ends_of("recipe", LOG)] == [
        ("work", "checks-failed", 1),
        ("work", "complete", 2),
        ("review", "issues-found", 1),
        ("commit", "committed", 1),
    ]
    assert (recipe.edges, recipe.outcome) == (4, "committed")
    assert (recipe.turns, recipe.cost_usd) == (8, 1.75)
    assert recipe.always == {"Bash"}
    assert recipe.start.worktree is not None
    assert states["limited"].granted == {"max-total-steps"}


def test_the_log_of_native_turns_folds_to_what_they_came_to() -> None:
    states = folded(NATIVE_LOG)

    ends = {name: state.exit.reason for name, state in states.items() if state.exit is not None}
    assert ends == {"committed": "turn-complete", "limited": "max-iterations"}
    report = states["committed"].last_turn
    assert report is not None
    assert (report.report.commit, report.report.files) == (
        "c0ffee",
        (("a.py", "modified"), ("new.py", "created")),
    )
    loop = states["half"].turn
    assert loop is not None
    assert loop.loop.next == Act(1)
    intended = loop.loop.rounds[-1].actions[1].intended
    assert intended is not None
    assert intended.changes == (change("b.py"),)


def test_the_log_of_conversations_holds_every_kind_of_their_facts() -> None:
    assert {row["fact"]["type"] for row in rows(TALK_LOG)} > TALK_NAMES


def test_the_log_of_conversations_folds_to_what_they_came_to() -> None:
    states = folded(TALK_LOG)

    assert {name: state.status for name, state in states.items()} == {
        "whole": "ended",
        "asked": "waiting",
        "half": "running",
    }
    whole, asked, half = states["whole"], states["asked"], states["half"]
    assert whole.exit is not None
    assert whole.exit.reason == "conversation-complete"
    assert whole.ctx == {"goal": "A boat", "people": ["Ada"], "size": 3, "notes": []}
    assert [visit.outcome for visit in ends_of("whole", TALK_LOG)][:2] == ["agreed", "ready"]
    assert asked.open_questions[0].columns[0]["name"] == "who"
    assert half.turn is not None
    assert half.turn.transition is not None
    assert half.turn.intent.anew


def test_a_fact_is_the_same_after_it_was_stored() -> None:
    fact = f.TurnIntended(
        turn_id="t",
        prompt_uuid="p",
        purpose="retry",
        session_id="s",
        agent="claude",
        prompt="Ünïcode \U0001f9ea \x00 {{x}}",
        tools=("Read",),
        tree=f.TreeMark(head=None, digest="d"),
        next=f.Move(kind="check", index=2),
    )

    assert f.decode(f.encode(fact)) == fact


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"{}", b'{"type":"no.such"}', b'{"type":"run.parked","until":7}']
)
def test_what_is_no_fact_is_refused(data: bytes) -> None:
    with pytest.raises((msgspec.ValidationError, msgspec.DecodeError)):
        f.decode(data)


def test_an_unknown_field_of_a_later_release_does_no_harm() -> None:
    assert f.decode(b'{"type":"run.paused","why":"requested","more":1}') == f.RunPaused()


def test_a_played_run_is_the_same_byte_for_byte_each_time() -> None:
    plays = [Play(a_recipe()) for _ in range(2)]
    for play in plays:
        play.say("complete")

    assert plays[0].stored == plays[1].stored


def test_the_runs_of_the_log_still_end_the_same_when_they_are_played_again() -> None:
    kept = ((LOG, played()), (NATIVE_LOG, played_natively()), (TALK_LOG, played_talks()))
    for log, plays in kept:
        ends = {name: state.exit for name, state in folded(log).items()}

        assert {name: play.state.exit for name, play in plays.items()} == ends
