"""Fold facts into a run's state. Nothing else changes a state. Pure.

Each function takes the state before its fact and returns the one after it. Every kind of fact has
a case, looked for by its family (``core.run.fact``) first. A kind without one, a field that the
state does not have and a value of another type are found by ``make types``.
"""

from __future__ import annotations

from typing import Final, assert_never

from podiumd.core.grown import Grown
from podiumd.core.recipe.context import initial
from podiumd.core.recipe.model import RESTART
from podiumd.core.reply.report import CUT_OFF
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state, progress
from podiumd.core.run.state import ActiveTurn, Claim, Exchange, PendingSteer, Question, RunState
from podiumd.core.structs import replace


def evolve(state: RunState | None, fact: f.AnyFact, at: str) -> RunState:
    """Return the state after one more fact.

    Args:
        state: what the facts before amount to; ``None`` before ``run.started``.
        fact: the fact.
        at: when it was decided (RFC 3339).
    """
    if state is None:
        assert isinstance(fact, f.RunStarted), "a run's first fact is run.started"
        return _started(fact, at)
    match fact:  # what comes most often is looked for first, here and below
        case lf.LoopFact():
            after = _loop(state, fact)
        case f.TurnFact():
            after = _after_turn_fact(state, fact)
        case f.StepFact():
            after = _after_step_fact(state, fact)
        case f.PersonFact():
            after = _after_person_fact(state, fact, at)
        case f.RunFact():
            after = _after_run_fact(state, fact, at)
        case _:
            assert_never(fact)
    if fact.next is None or after.next is fact.next:
        return after
    return replace(after, next=fact.next)


def _after_turn_fact(state: RunState, fact: f.AnyTurnFact) -> RunState:
    match fact:
        case f.TurnIntended():
            return _turn_intended(state, fact)
        case f.TurnStarted():
            return _turn_started(state, fact)
        case f.TurnEnded():
            return _turn_ended(state, fact)
        case f.SessionNamed():
            named = state.agent_sessions.plus(fact.session_id, fact.agent_session_id)
            return replace(state, agent_sessions=named)
        case f.ToolUsed():
            return tool_used(state, fact)
        case _:
            assert_never(fact)


def _after_step_fact(state: RunState, fact: f.AnyStepFact) -> RunState:
    match fact:
        case f.OutcomeParsed():
            return _outcome_parsed(state, fact)
        case f.EdgeTaken():
            return _edge_taken(state, fact)
        case f.StepEntered():
            return _step_entered(state, fact)
        case f.CheckEnded():
            return replace(state, next=fact.next, seconds=state.seconds + fact.seconds)
        case f.CommandEnded():
            seconds = state.seconds + fact.seconds
            return replace(state, next=fact.next, seconds=seconds, tree=fact.tree)
        case f.HookEnded():
            return hook_ended(state, fact)
        case f.ClaimMade():
            return _claim_made(state, fact)
        case f.OutcomeInvalid():
            return replace(state, attempts=fact.attempt, claim=None, left=())
        case f.CommandIntended() | f.ProgressStalled():
            return state
        case _:
            assert_never(fact)


def _after_person_fact(state: RunState, fact: f.AnyPersonFact, at: str) -> RunState:
    match fact:
        case f.QuestionOpened():
            return _question_opened(state, fact, at)
        case f.QuestionClosed():
            return _question_closed(state, fact)
        case f.EffectEnded():
            return _effect_ended(state, fact)
        case f.MessageReceived():
            return message_received(state, fact)
        case f.SteerIntended():
            return _steer_intended(state, fact)
        case f.AsideNoted():
            return state
        case _:
            assert_never(fact)


def _after_run_fact(state: RunState, fact: f.AnyRunFact, at: str) -> RunState:
    match fact:
        case f.TreeSeen():
            return _tree_seen(state, fact)
        case f.StopIntended():
            return replace(state, stop=fact)
        case f.RunPaused():  # replaces the wait for the agent's limit: resuming tries at once
            return replace(state, paused=True, parked_until=None, stop=None)
        case f.RunResumed():
            return _run_resumed(state)
        case f.RunRenamed():
            return replace(state, title=fact.title)
        case f.RunParked():
            return replace(state, parked_until=fact.until, parks=state.parks + 1)
        case f.RunEnded():
            return _run_ended(state, fact, at)
        case f.LimitHit():
            return state
        case f.RunStarted():
            raise AssertionError("a run starts once")
        case _:
            assert_never(fact)


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


def _step_entered(state: RunState, fact: f.StepEntered) -> RunState:
    sessions = state.sessions
    if fact.session_id not in sessions:
        sessions = sessions.plus(fact.session_id, None)
    return replace(
        state,
        begun=True,
        next=fact.next,
        step=fact.step,
        visits={**state.visits, fact.step: fact.visit},
        step_count=fact.step_count,
        session_id=fact.session_id,
        sessions=sessions,
        fork_from=fact.fork_from,
        attempts=0,
        breaks=0,
        sends=0,
        left=(),
        asked=tuple(q.question_id for q in state.open_questions),
    )


def _turn_intended(state: RunState, fact: f.TurnIntended) -> RunState:
    turn = begun(state, fact)
    return replace(
        state,
        turn=turn,
        prompt=subject(state, turn),
        attempts=0 if fact.purpose in ("opening", "say") else state.attempts,
        left=(),
        begun=True,
        next=None,
        sends=state.sends + 1,
        turns=state.turns + 1,
        accepted_foreign=False,
        steers=tuple(s for s in state.steers if s.uuid not in fact.carried),
        asked=tuple(q.question_id for q in state.asking if q.closed is None or q.undelivered),
    )


def _turn_started(state: RunState, fact: f.TurnStarted) -> RunState:
    assert state.turn is not None
    # A question of an earlier attempt is no part of this one's time.
    asking = fact.mono if state.turn.asking_since is not None else None
    turn = replace(state.turn, started=fact, asked_seconds=0.0, asking_since=asking)
    return replace(state, turn=turn)


def _turn_ended(state: RunState, fact: f.TurnEnded) -> RunState:
    turn = state.turn
    assert turn is not None
    cut_off = fact.report.kind in CUT_OFF and not state.stopping
    return replace(
        state,
        turn=None,
        left=left_by(turn),
        exchanges=exchanges(state, turn, fact.text),
        last_turn=fact,
        tree=fact.tree,
        seconds=state.seconds + fact.seconds,
        cost_usd=state.cost_usd + fact.cost_usd,
        tokens=state.tokens.plus(fact.report.tokens),
        parks=state.parks if fact.report.kind == "usage_limit" else 0,
        breaks=state.breaks + cut_off,
        steers=tuple(replace(s, turn_id=None, queued=False) for s in state.steers),
    )


def _outcome_parsed(state: RunState, fact: f.OutcomeParsed) -> RunState:
    claim = Claim(
        outcome=fact.outcome, source=fact.source, description=fact.description, detail=fact.detail
    )
    return replace(state, claim=claim, attempts=fact.attempt)


def _claim_made(state: RunState, fact: f.ClaimMade) -> RunState:
    claim = Claim(
        outcome=fact.outcome, source=fact.source, description=fact.description, detail=fact.detail
    )
    return replace(state, claim=claim)


def _tree_seen(state: RunState, fact: f.TreeSeen) -> RunState:
    if fact.why == "start":
        return replace(state, base=fact.look, found=state.found or fact.look)
    return replace(state, next=None) if fact.why == "claim" else replace(state, parted=fact.look)


def _question_opened(state: RunState, fact: f.QuestionOpened, at: str) -> RunState:
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
    turn = state.turn
    if turn is not None and turn.asking_since is None:
        turn = replace(turn, asking_since=fact.mono)
    return replace(
        state,
        turn=turn,
        questions=state.questions.plus(fact.question_id, question),
        asked=(*state.asked, fact.question_id),
        # Recovery may ask about a run that is still in the queue.
        begun=state.begun or fact.kind != "recover",
    )


def _question_closed(state: RunState, fact: f.QuestionClosed) -> RunState:
    question = replace(
        state.questions[fact.question_id],
        closed=fact.closed,
        answer=fact.answer,
        note=fact.note,
        by=fact.by,
    )
    asked = state.asked
    if question.turn_id is None:  # no agent waits for the answer
        asked = tuple(name for name in asked if name != fact.question_id)
    turn = state.turn
    if (
        turn is not None
        and turn.asking_since is not None
        and all(q.question_id == fact.question_id for q in state.open_questions)
    ):
        seconds = turn.asked_seconds + max(0.0, fact.mono - turn.asking_since)
        turn = replace(turn, asked_seconds=seconds, asking_since=None)
    questions = state.questions.plus(fact.question_id, question)
    after = replace(state, turn=turn, questions=questions, asked=asked)
    return _answered(after, question) if fact.closed == "answered" else after


def _answered(state: RunState, question: Question) -> RunState:
    """Keep what an answer allows from now on."""
    if question.allowed:
        return replace(state, always=state.always | {question.allowed})
    if question.kind == "limit" and question.answer == "more":
        return replace(state, granted=state.granted | {question.about})
    if question.answer == "yes" and question.about == "dirty-tree":
        return replace(state, accepted_dirty=True)
    if question.answer in ("continue", "retry") and question.about == "foreign-rows":
        return replace(state, accepted_foreign=True)
    return state


def _steer_intended(state: RunState, fact: f.SteerIntended) -> RunState:
    # A message in a conversation is there already, and now goes to the agent that works.
    others = tuple(s for s in state.steers if s.uuid != fact.uuid)
    steer = PendingSteer(uuid=fact.uuid, text=fact.text, turn_id=fact.turn_id)
    return replace(state, steers=(*others, steer), heard=state.heard.plus(fact.uuid, None))


def _edge_taken(state: RunState, fact: f.EdgeTaken) -> RunState:
    left = progress.standing(fact.step, fact.outcome, fact.source, fact.detail, state.tree)
    standings = state.standings
    if left is not None and left not in standings:
        standings = standings.plus(left, fact.visit)
    after = replace(
        state,
        next=fact.next,
        claim=None,
        tree=None,
        standings=standings,
        edges=state.edges + 1,
        outcome=fact.outcome,
        details={**state.details, **dict.fromkeys((fact.step, *fact.returns), fact.detail)},
    )
    return _restarted(after, fact) if fact.to == RESTART else after


def _restarted(state: RunState, fact: f.EdgeTaken) -> RunState:
    """Begin the recipe anew, in a session of its own."""
    assert fact.session_id is not None
    return replace(
        state,
        restart=state.restart + 1,
        visits={},
        step_count=0,
        main_session=fact.session_id,
        session_id=fact.session_id,
        fork_from=None,
        details={},
        base=None,
        standings=Grown(),
        ctx=initial(state.start.recipe.context) if state.start.recipe is not None else {},
        exchanges=(),
    )


def _effect_ended(state: RunState, fact: f.EffectEnded) -> RunState:
    kind, name = f.effect_of(fact.effect)
    match kind:
        case "commit":
            return _loop(state, fact)
        case "answer":
            spare = fact.state == "spare"
            question = replace(state.questions[name], delivered=not spare, spare=spare)
            return replace(state, questions=state.questions.plus(name, question))
        case "steer" if fact.state == "lost":
            words = PendingSteer(uuid=name, text=fact.detail, turn_id=None)
            return replace(state, steers=(*state.steers, words))
        case "steer":
            return replace(state, steers=tuple(_steer_after(state.steers, name, fact.state)))
        case "worktree":
            return replace(state, begun=True)
        case _:
            assert_never(kind)


def _loop(state: RunState, fact: lf.AnyLoopFact | f.EffectEnded) -> RunState:
    assert state.turn is not None
    turn = replace(state.turn, loop=native_loop_state.evolve(state.turn.loop, fact))
    return replace(state, turn=turn)


def _steer_after(steers: tuple[PendingSteer, ...], uuid: str, state: str) -> list[PendingSteer]:
    """Drop what is ``delivered``, mark what is ``queued`` with the agent, and keep what came
    ``too_late`` for the next prompt."""
    after = []
    for steer in steers:
        if steer.uuid != uuid:
            after.append(steer)
        elif state == "queued":
            after.append(replace(steer, queued=True))
        elif state == "too_late":
            after.append(replace(steer, turn_id=None, queued=False))
    return after


def _run_resumed(state: RunState) -> RunState:
    steers = tuple(replace(s, late=False) for s in state.steers)
    return replace(state, paused=False, parked_until=None, stop=None, steers=steers)


def _run_ended(state: RunState, fact: f.RunEnded, at: str) -> RunState:
    return replace(
        state,
        exit=fact.exit,
        ended_at=at,
        next=None,
        paused=False,
        parked_until=None,
        stop=None,
    )


EXCHANGES: Final = 20
EXCHANGE_CHARACTERS: Final = 2000

NOW: Final = "This is what comes next:"
"""Stands between the first words to a new agent and its prompt."""

_GOES_ON: Final = ("go-on", "interrupted")


def asked_for(intent: f.TurnIntended) -> str:
    """Return a turn's prompt, without the summary that a new agent gets first."""
    return intent.prompt.partition(f"{NOW}\n\n")[2] if intent.anew else intent.prompt


def begun(state: RunState, intent: f.TurnIntended) -> ActiveTurn:
    """Begin a turn; one that goes on with another has the calls of that before its own."""
    words = tuple(s.text for s in state.steers if s.uuid in intent.carried)
    before = state.left if intent.purpose in _GOES_ON else ()
    return ActiveTurn(intent=intent, before=before, words=words)


def subject(state: RunState, turn: ActiveTurn) -> str:
    """Return what a new turn is about; one that goes on with another keeps what that was about."""
    if turn.intent.purpose in _GOES_ON or turn.intent.purpose == "again":
        return "\n\n".join([state.prompt, *turn.words])
    return asked_for(turn.intent)


def left_by(turn: ActiveTurn) -> tuple[f.ToolUsed, ...]:
    """Return those of a turn's calls that count when it is over."""
    return tuple(used for used in (turn.transition, turn.asked) if used is not None)


def exchanges(state: RunState, turn: ActiveTurn, text: str) -> tuple[Exchange, ...]:
    """Add a turn of a conversation: the person's words and the agent's answer."""
    if not state.in_conversation:
        return state.exchanges
    exchange = Exchange(_shortened("\n\n".join(turn.words)), _shortened(text))
    return (*state.exchanges, exchange)[-EXCHANGES:]


def message_received(state: RunState, fact: f.MessageReceived) -> RunState:
    """Keep a person's words for the next prompt."""
    words = PendingSteer(uuid=fact.uuid, text=fact.text, turn_id=None, late=state.stopping)
    return replace(state, steers=(*state.steers, words), heard=state.heard.plus(fact.uuid, None))


def tool_used(state: RunState, fact: f.ToolUsed) -> RunState:
    """Keep a call with its turn, and what it has saved."""
    assert state.turn is not None
    turn = replace(state.turn, calls={**state.turn.calls, fact.call_id: fact})
    saved = fact.tool == "save" and fact.success
    ctx = {**state.ctx, fact.args["key"]: fact.args["value"]} if saved else state.ctx
    return replace(state, turn=turn, ctx=ctx)


def hook_ended(state: RunState, fact: f.HookEnded) -> RunState:
    """Go on after a hook; what it refuses counts no more, as an attempt of the agent's."""
    return replace(
        state,
        next=fact.next,
        seconds=state.seconds + fact.seconds,
        attempts=state.attempts + fact.refused,
        left=() if fact.refused else state.left,
    )


def _shortened(text: str) -> str:
    if len(text) <= EXCHANGE_CHARACTERS:
        return text
    return f"{text[:EXCHANGE_CHARACTERS]}… ({len(text)} characters)"
