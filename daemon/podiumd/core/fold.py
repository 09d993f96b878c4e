"""The fold: a run's state after one more fact. Nothing else changes a state."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from podiumd.core import facts as f
from podiumd.core import loop_facts as lf
from podiumd.core import loop_state, phase_fold, progress
from podiumd.core import tree_facts as tf
from podiumd.core.grown import Grown
from podiumd.core.phase_context import initial
from podiumd.core.recipe import RESTART
from podiumd.core.report import CUT_OFF
from podiumd.core.state import Claim, PendingSteer, Question, RunState


def evolve(state: RunState | None, fact: f.AnyFact, at: str) -> RunState:
    """The state after one more fact.

    Args:
        state: what the facts before amount to; ``None`` before ``run.started``.
        fact: the fact.
        at: when it was decided (RFC 3339).
    """
    if state is None:
        assert isinstance(fact, f.RunStarted), "a run's first fact is run.started"
        return _started(fact, at)
    changes = _CHANGES[type(fact)](state, fact, at)
    if fact.next is not None:
        changes["next"] = fact.next
    return replace(state, **changes)


def _started(fact: f.RunStarted, at: str) -> RunState:
    return RunState(
        start=fact,
        started_at=at,
        next=fact.next,
        main_session=fact.session_id,
        session_id=fact.session_id,
        sessions=Grown[str, None]().plus(fact.session_id, None),
        fork_from=fact.fork_from,
        ctx=initial(fact.recipe.context) if fact.recipe is not None else {},
    )


def _step_entered(state: RunState, fact: f.StepEntered, _at: str) -> dict[str, Any]:
    return {
        "begun": True,
        "next": None,
        "step": fact.step,
        "visits": {**state.visits, fact.step: fact.visit},
        "step_count": fact.step_count,
        "session_id": fact.session_id,
        "sessions": (
            state.sessions
            if fact.session_id in state.sessions
            else state.sessions.plus(fact.session_id, None)
        ),
        "fork_from": fact.fork_from,
        "attempts": 0,
        "breaks": 0,
        "sends": 0,
        "left": (),
        "asked": tuple(q.question_id for q in state.open_questions),
    }


def _turn_intended(state: RunState, fact: f.TurnIntended, _at: str) -> dict[str, Any]:
    return {
        **phase_fold.turn_intended(state, fact),
        "begun": True,
        "next": None,
        "sends": state.sends + 1,
        "turns": state.turns + 1,
        "accepted_foreign": False,
        "steers": tuple(s for s in state.steers if s.uuid not in fact.carried),
        "asked": tuple(q.question_id for q in state.asking if q.closed is None or q.undelivered),
    }


def _turn_started(state: RunState, fact: f.TurnStarted, _at: str) -> dict[str, Any]:
    assert state.turn is not None
    # What was asked in an attempt before this one is no part of its time.
    asking = fact.mono if state.turn.asking_since is not None else None
    return {"turn": replace(state.turn, started=fact, asked_seconds=0.0, asking_since=asking)}


def _turn_ended(state: RunState, fact: f.TurnEnded, _at: str) -> dict[str, Any]:
    return {
        **phase_fold.turn_ended(state, fact),
        "turn": None,
        "last_turn": fact,
        "tree": fact.tree,
        "seconds": state.seconds + fact.seconds,
        "cost_usd": state.cost_usd + fact.cost_usd,
        "parks": state.parks if fact.report.kind == "usage_limit" else 0,
        "breaks": state.breaks + (fact.report.kind in CUT_OFF and not state.stopping),
        "steers": tuple(replace(s, turn_id=None, queued=False) for s in state.steers),
    }


def _outcome_parsed(_state: RunState, fact: f.OutcomeParsed, _at: str) -> dict[str, Any]:
    claim = Claim(
        outcome=fact.outcome, source=fact.source, description=fact.description, detail=fact.detail
    )
    return {"claim": claim, "attempts": fact.attempt}


def _outcome_invalid(_state: RunState, fact: f.OutcomeInvalid, _at: str) -> dict[str, Any]:
    return {"attempts": fact.attempt, "claim": None, "left": ()}


def _claim_made(_state: RunState, fact: tf.ClaimMade, _at: str) -> dict[str, Any]:
    claim = Claim(
        outcome=fact.outcome, source=fact.source, description=fact.description, detail=fact.detail
    )
    return {"claim": claim}


def _tree_seen(state: RunState, fact: tf.TreeSeen, _at: str) -> dict[str, Any]:
    if fact.why == "start":
        return {"base": fact.look, "found": state.found or fact.look}
    return {"next": None} if fact.why == "claim" else {"parted": fact.look}


def _check_ended(state: RunState, fact: f.CheckEnded, _at: str) -> dict[str, Any]:
    return {"next": None, "seconds": state.seconds + fact.seconds}


def _command_intended(_state: RunState, _fact: f.CommandIntended, _at: str) -> dict[str, Any]:
    return {}


def _command_ended(state: RunState, fact: f.CommandEnded, _at: str) -> dict[str, Any]:
    return {"next": None, "seconds": state.seconds + fact.seconds, "tree": fact.tree}


def _question_opened(state: RunState, fact: f.QuestionOpened, at: str) -> dict[str, Any]:
    question = Question(
        question_id=fact.question_id,
        kind=fact.kind,
        text=fact.text,
        opened_at=at,
        choices=fact.choices,
        free_text=fact.free_text,
        detail=fact.detail,
        about=fact.about,
        turn_id=fact.turn_id,
        request_id=fact.request_id,
        tool=fact.tool,
        input=fact.input,
        tool_use_id=fact.tool_use_id,
        step=fact.step,
        visit=fact.visit,
        multi=fact.multi,
        rule=fact.rule,
        columns=fact.columns,
    )
    changes: dict[str, Any] = {
        "questions": state.questions.plus(fact.question_id, question),
        "asked": (*state.asked, fact.question_id),
        # Recovery may ask about a run that is still in the queue.
        "begun": state.begun or fact.kind != "recover",
    }
    if state.turn is not None and state.turn.asking_since is None:
        changes["turn"] = replace(state.turn, asking_since=fact.mono)
    return changes


def _question_closed(state: RunState, fact: f.QuestionClosed, _at: str) -> dict[str, Any]:
    question = replace(
        state.questions[fact.question_id],
        closed=fact.closed,
        answer=fact.answer,
        note=fact.note,
        by=fact.by,
    )
    changes: dict[str, Any] = {"questions": state.questions.plus(fact.question_id, question)}
    if question.turn_id is None:  # no agent waits for the answer
        changes["asked"] = tuple(name for name in state.asked if name != fact.question_id)
    turn = state.turn
    if (
        turn is not None
        and turn.asking_since is not None
        and all(q.question_id == fact.question_id for q in state.open_questions)
    ):
        asked = turn.asked_seconds + max(0.0, fact.mono - turn.asking_since)
        changes["turn"] = replace(turn, asked_seconds=asked, asking_since=None)
    if fact.closed == "answered":
        changes |= _answered(state, question)
    return changes


def _answered(state: RunState, question: Question) -> dict[str, Any]:
    if question.allowed:
        return {"always": state.always | {question.allowed}}
    if question.kind == "limit" and question.answer == "more":
        return {"granted": state.granted | {question.about}}
    if question.answer == "yes" and question.about == "dirty-tree":
        return {"accepted_dirty": True}
    if question.answer in ("continue", "retry") and question.about == "foreign-rows":
        return {"accepted_foreign": True}
    return {}


def _steer_intended(state: RunState, fact: f.SteerIntended, _at: str) -> dict[str, Any]:
    # What was said in a conversation is there already, and now goes to the agent that works.
    others = tuple(s for s in state.steers if s.uuid != fact.uuid)
    steer = PendingSteer(uuid=fact.uuid, text=fact.text, turn_id=fact.turn_id)
    return {"steers": (*others, steer), "heard": state.heard.plus(fact.uuid, None)}


def _limit_hit(_state: RunState, _fact: f.LimitHit, _at: str) -> dict[str, Any]:
    return {}


def _edge_taken(state: RunState, fact: f.EdgeTaken, _at: str) -> dict[str, Any]:
    left = progress.standing(fact.step, fact.outcome, fact.source, fact.detail, state.tree)
    standings = state.standings
    if left is not None and left not in standings:
        standings = standings.plus(left, fact.visit)
    changes: dict[str, Any] = {
        "next": None,
        "claim": None,
        "tree": None,
        "standings": standings,
        "edges": state.edges + 1,
        "outcome": fact.outcome,
        "details": {**state.details, **dict.fromkeys((fact.step, *fact.returns), fact.detail)},
    }
    if fact.to == RESTART:
        assert fact.session_id is not None
        changes |= {
            "restart": state.restart + 1,
            "visits": {},
            "step_count": 0,
            "main_session": fact.session_id,
            "session_id": fact.session_id,
            "fork_from": None,
            "details": {},
            "base": None,
            "standings": Grown(),
            "ctx": initial(state.start.recipe.context) if state.start.recipe is not None else {},
            "exchanges": (),
        }
    return changes


def _progress_stalled(_state: RunState, _fact: f.ProgressStalled, _at: str) -> dict[str, Any]:
    return {}


def _effect_ended(state: RunState, fact: f.EffectEnded, _at: str) -> dict[str, Any]:
    what, _, name = fact.effect.partition(":")
    if what == "commit":
        return _loop(state, fact, _at)
    if what == "answer":
        spare = fact.state == "spare"
        question = replace(state.questions[name], delivered=not spare, spare=spare)
        return {"questions": state.questions.plus(name, question)}
    if what == "steer" and fact.state == "lost":
        words = PendingSteer(uuid=name, text=fact.detail, turn_id=None)
        return {"steers": (*state.steers, words)}
    if what == "steer":
        return {"steers": tuple(_steer_after(state.steers, name, fact.state))}
    return {"begun": True}


def _loop(state: RunState, fact: f.AnyFact, _at: str) -> dict[str, Any]:
    assert state.turn is not None
    return {"turn": replace(state.turn, loop=loop_state.evolve(state.turn.loop, fact))}


def _steer_after(steers: tuple[PendingSteer, ...], uuid: str, state: str) -> list[PendingSteer]:
    """``delivered`` is over; ``queued`` is with the agent; ``too_late`` waits for a prompt."""
    after = []
    for steer in steers:
        if steer.uuid != uuid:
            after.append(steer)
        elif state == "queued":
            after.append(replace(steer, queued=True))
        elif state == "too_late":
            after.append(replace(steer, turn_id=None, queued=False))
    return after


def _stop_intended(_state: RunState, fact: f.StopIntended, _at: str) -> dict[str, Any]:
    return {"stop": fact}


def _run_paused(_state: RunState, _fact: f.RunPaused, _at: str) -> dict[str, Any]:
    # A person's word replaces the wait for the agent's limit: resuming tries at once.
    return {"paused": True, "parked_until": None, "stop": None}


def _run_resumed(state: RunState, _fact: f.RunResumed, _at: str) -> dict[str, Any]:
    steers = tuple(replace(s, late=False) for s in state.steers)
    return {"paused": False, "parked_until": None, "stop": None, "steers": steers}


def _run_parked(state: RunState, fact: f.RunParked, _at: str) -> dict[str, Any]:
    return {"parked_until": fact.until, "parks": state.parks + 1}


def _run_ended(_state: RunState, fact: f.RunEnded, at: str) -> dict[str, Any]:
    return {
        "exit": fact.exit,
        "ended_at": at,
        "next": None,
        "paused": False,
        "parked_until": None,
        "stop": None,
    }


def _aside_noted(_state: RunState, _fact: f.AsideNoted, _at: str) -> dict[str, Any]:
    return {}


_CHANGES: dict[type[f.Fact], Any] = {
    f.StepEntered: _step_entered,
    f.TurnIntended: _turn_intended,
    f.TurnStarted: _turn_started,
    f.TurnEnded: _turn_ended,
    f.MessageReceived: phase_fold.message_received,
    f.ToolUsed: phase_fold.tool_used,
    f.HookEnded: phase_fold.hook_ended,
    f.OutcomeParsed: _outcome_parsed,
    f.OutcomeInvalid: _outcome_invalid,
    tf.ClaimMade: _claim_made,
    tf.TreeSeen: _tree_seen,
    f.CheckEnded: _check_ended,
    f.CommandIntended: _command_intended,
    f.CommandEnded: _command_ended,
    f.QuestionOpened: _question_opened,
    f.QuestionClosed: _question_closed,
    f.SteerIntended: _steer_intended,
    f.AsideNoted: _aside_noted,
    f.LimitHit: _limit_hit,
    f.EdgeTaken: _edge_taken,
    f.ProgressStalled: _progress_stalled,
    f.EffectEnded: _effect_ended,
    lf.LoopStarted: _loop,
    lf.ReplyReceived: _loop,
    lf.WordsAdded: _loop,
    lf.ActionIntended: _loop,
    lf.ActionEnded: _loop,
    lf.LoopEnded: _loop,
    f.StopIntended: _stop_intended,
    f.RunPaused: _run_paused,
    f.RunResumed: _run_resumed,
    f.RunParked: _run_parked,
    f.RunEnded: _run_ended,
}
