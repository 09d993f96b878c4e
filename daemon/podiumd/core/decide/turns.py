"""Decide to send a prompt, and judge what came of it. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from podiumd.core.decide import conversation, decision, edges, limits
from podiumd.core.decide.decision import Decision
from podiumd.core.prompts import conversation_prompts, prompts, tools
from podiumd.core.recipe.exits import classify
from podiumd.core.recipe.model import Step
from podiumd.core.reply.outcome import OutcomeError, extract, prose
from podiumd.core.reply.report import CUT_OFF, Tokens, TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import fold
from podiumd.core.run.state import ActiveTurn, Claim, RunState
from podiumd.core.structs import replace
from podiumd.core.times import wire_time

PLAIN = Step(kind="turn")
"""Settings of a plain prompt: the agent's defaults."""

MAX_BREAKS = 2
"""How often a step that was cut off is taken up by itself, before a person is asked."""

PARK_SECONDS = 60.0
LONGEST_PARK_SECONDS = 3600.0

UNTOLD_PARK_SECONDS = 900.0
"""How long a run waits for a usage limit of which nothing tells when it ends: twice as long each
time in a row, at most ``LONGEST_UNTOLD_PARK_SECONDS``."""
LONGEST_UNTOLD_PARK_SECONDS = 4 * 3600.0

TEXT_LIMIT = 256 * 1024
"""Characters of a turn's words kept in facts; the whole stays in the agent's transcript."""

FOREIGN = (
    "Another program has written into this session since the last step. Retry or continue sends "
    "the next prompt on top of it; stop ends the run."
)


def intend(d: Decision, move: f.Move, seen: c.Proceed) -> None:
    """Decide to send a prompt, unless the world says otherwise."""
    state = d.state
    if seen.foreign_rows and not state.accepted_foreign:
        d.ask("recover", FOREIGN, about="foreign-rows", detail=f"{seen.foreign_rows} rows")
        return
    if limits.spent(d):
        return
    intent = _intent(d, move, seen)
    if intent is None:
        d.end(classify("no-prompt"), detail=f"Step '{state.step}' has nothing to say.")
        return
    d.emit(intent)


def _intent(d: Decision, move: f.Move, seen: c.Proceed) -> f.TurnIntended | None:
    """Build the turn that is next; ``None`` where there is nothing to say."""
    state = d.state
    step = state.current or PLAIN
    own_agent = step.agent or state.start.agent
    agent = state.start.agent_override or own_agent
    native = agent == own_agent  # a model's name means nothing to another agent
    anew = seen.gone and state.in_conversation
    outcomes = step.allowed_outcomes if step.kind == "turn" and state.step is not None else ()
    # A person's own prompt, and what opens a phase, go out as they are; words wait for the next.
    waiting = state.messages if move.purpose not in ("prompt", "opening") else ()
    waiting = prompts.fitting(waiting)
    prompt = _prompt(state, move, step, outcomes, [words.text for words in waiting], gone=anew)
    if not prompt:
        return None
    return f.TurnIntended(
        turn_id=d.id("turn", state.sends + 1),
        prompt_uuid=d.id("prompt", state.sends + 1),
        purpose=move.purpose,
        session_id=state.session_id,
        fork_from=state.fork_from,
        agent=agent,
        prompt=prompt,
        attempt=1 if move.purpose in ("opening", "say") else state.attempts + 1,
        step=state.step,
        visit=state.visits.get(state.step or "", 0),
        model=_model(state, step, agent),
        tools=step.tools,
        allow=step.allow,
        permission_mode=step.permission_mode or state.start.permission_mode if native else None,
        timeout_seconds=None if step.timeout_minutes is None else step.timeout_minutes * 60.0,
        outcomes=outcomes,
        tree=seen.tree,
        carried=tuple(s.uuid for s in waiting),
        budget_usd=limits.budget_left(state),
        seconds_left=limits.seconds_left(state),
        system=conversation_prompts.system(state, step),
        served=tools.served(state.recipe, step) if state.recipe is not None else (),
        anew=anew,
        agent_session_id=seen.agent_session_id,
    )


def _model(state: RunState, step: Step, agent: str) -> str | None:
    """Choose the model of the turn: the person's for this run, else the step's own.

    A model's name means nothing to another agent: that of the run is for the run's agent, that of
    a step for the step's. ``None``: as the agent is configured.
    """
    start = state.start
    if start.model is not None and agent == (start.agent_override or start.agent):
        return start.model
    return step.model if agent == (step.agent or start.agent) else None


def _prompt(
    state: RunState,
    move: f.Move,
    step: Step,
    outcomes: tuple[str, ...],
    words: list[str],
    *,
    gone: bool,
) -> str:
    """Compose the whole prompt; empty where there is nothing to say."""
    if state.in_conversation:
        return conversation_prompts.prompt(state, move, step, words, gone=gone)
    body = _body(state, move, step, outcomes)
    return prompts.compose(body, words, outcomes) if body else ""


def _body(state: RunState, move: f.Move, step: Step, outcomes: tuple[str, ...]) -> str:
    """Write the prompt without what the person added and without the block."""
    if move.fault is not None:
        return prompts.retry(move.fault, outcomes)
    if move.purpose == "interrupted":
        return prompts.interrupted(move.original, outcomes)
    if move.purpose == "go-on":
        return prompts.go_on(move.original, outcomes)
    if state.step is None:
        return state.start.text or ""
    return prompts.step_body(state, step)


def over(d: Decision, command: c.ReportTurnEnd) -> None:
    """Record the end of a turn, then judge it."""
    turn = d.state.turn
    if turn is None or turn.intent.turn_id != command.turn_id:
        return
    report = _with_tools(turn, command.report)
    command = replace(command, report=report)
    d.close_all("superseded", [q for q in d.state.open_questions if q.turn_id == command.turn_id])
    for steer in d.state.steers:
        if steer.uuid in command.delivered:
            d.emit(f.EffectEnded(effect=f"steer:{steer.uuid}", state="delivered"))
    settled = d.state.in_conversation and conversation.is_over(turn, report)
    d.emit(
        f.TurnEnded(
            turn_id=command.turn_id,
            report=replace(report, texts=(), result_text=""),
            text=_kept("\n\n".join(report.texts) or report.result_text),
            seconds=_active_seconds(d, report),
            cost_usd=report.cost_usd,
            tree=command.tree,
            next=conversation.after_turn(d.state, turn)
            if settled
            else _taken_up(d, turn.intent, report),
        )
    )
    _judge(d, turn.intent, command, settled=settled)
    decision.hold(d)


def _with_tools(turn: ActiveTurn, report: TurnReport) -> TurnReport:
    """Add what a turn did by Podium's means: it stands in facts, independent of the report."""
    if turn.reported is not None:
        report = replace(report, tool_outcome=turn.reported.args)
    loop = turn.loop
    if loop.settings is None:
        return report
    commit = loop.commit.sha if loop.commit is not None else None
    tokens = loop.tokens if loop.tokens != Tokens() else None
    return replace(report, files=loop.files, commit=commit, cost_usd=loop.cost_usd, tokens=tokens)


def _taken_up(d: Decision, intent: f.TurnIntended, report: TurnReport) -> f.Move | None:
    """Return what a turn that did not come to its own end leaves to be done."""
    stop = d.state.stop
    if report.kind == "done" and (stop is None or stop.how != "interrupt"):
        return None
    cut_off = report.kind in CUT_OFF and not d.state.stopping
    return f.Move(
        kind="turn",
        purpose="interrupted" if cut_off else "go-on",
        original="" if report.prompt_recorded else fold.asked_for(intent),
    )


def _kept(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else text[-TEXT_LIMIT:]


def _active_seconds(d: Decision, report: TurnReport) -> float:
    """Count monotonic seconds since the agent's start, less the time a question was open.

    An agent without a process of its own says itself how long it took.
    """
    turn = d.state.turn
    assert turn is not None
    length = report.seconds if turn.started is None else d.mono - turn.started.mono
    asked = turn.asked_seconds
    if turn.asking_since is not None:
        asked += max(0.0, d.mono - turn.asking_since)
    return max(0.0, length - asked)


def _judge(d: Decision, intent: f.TurnIntended, command: c.ReportTurnEnd, *, settled: bool) -> None:
    stop, report = d.state.stop, command.report
    if stop is not None and stop.how in ("cancel", "end"):
        d.end(classify(stop.reason), detail=stop.detail)
    elif settled:
        conversation.over(d)
    elif stop is not None and stop.how == "interrupt":
        decision.hold(d)
    elif report.kind == "done":
        _done(d, intent, report)
    elif report.kind == "usage_limit":
        d.emit(_parked(d, report))
    elif report.kind in CUT_OFF:
        _broken_off(d, intent, command)
    elif report.kind == "stopped":
        _stopped(d, report)
    elif not _out_of_means(d, report):
        d.end(classify("error"), detail=report.detail or report.kind)


def _parked(d: Decision, report: TurnReport) -> f.RunParked:
    """Park the run until its agent's limit ends, as far as that is known."""
    if report.resets_at is not None:
        return f.RunParked(until=_park_until(d, report.resets_at), detail=report.detail)
    pause = min(UNTOLD_PARK_SECONDS * 2 ** min(d.state.parks, 8), LONGEST_UNTOLD_PARK_SECONDS)
    until = datetime.fromisoformat(d.at) + timedelta(seconds=pause)
    why = f"it is not known until when: tried again in {pause / 60:g} minutes"
    words = f"{report.detail} ({why})" if report.detail else why
    return f.RunParked(until=wire_time(until), detail=words)


def _park_until(d: Decision, resets_at: str) -> str:
    """Return when to try again: as announced, later each time that was too early in a row.

    A reset that lies in the past (clocks differ) must not start the agent over and over.
    """
    parks = d.state.parks
    if parks == 0:
        return resets_at
    pause = timedelta(seconds=min(PARK_SECONDS * 2 ** (parks - 1), LONGEST_PARK_SECONDS))
    earliest = datetime.fromisoformat(d.at) + pause
    until = max(datetime.fromisoformat(resets_at), earliest)
    return wire_time(until)


def _out_of_means(d: Decision, report: TurnReport) -> bool:
    """Stop, or ask, if the run's time or money ended the turn. Returns whether it did."""
    cost = d.state.limits.max_cost_usd
    if report.kind == "budget" and cost is not None:
        limits.stop_at(d, "max-cost", cost)
        return True
    return report.kind == "timeout" and limits.spent(d)


def _stopped(d: Decision, report: TurnReport) -> None:
    """End the run by the rule of the agent's own loop that ended the turn."""
    if report.limit is not None:
        limits.stop_at(d, report.reason, report.limit, detail=report.detail)
    else:
        d.end(classify(report.reason or "error"), detail=report.detail)


def _broken_off(d: Decision, intent: f.TurnIntended, command: c.ReportTurnEnd) -> None:
    """Ask a person about a turn that was cut off, where it may not just go on (``_taken_up``)."""
    step = d.state.current
    if step is not None and step.irreversible:
        text = f"Step '{d.state.step}' was cut off and must not be repeated unseen."
        detail = _tree_detail(intent.tree, command.tree)
        d.ask("recover", text, about="irreversible", detail=detail)
    elif d.state.breaks > MAX_BREAKS:
        text = f"The turn was cut off {d.state.breaks} times."
        d.ask("recover", text, about="broken-off", detail=command.report.detail)


def _tree_detail(before: f.TreeMark | None, now: f.TreeMark | None) -> str:
    """Describe the tree before a step and now, for a person to see before it is repeated."""
    if before is None or now is None:
        return "Git cannot report the changes here: inspect the directory before you answer."
    heads = f"HEAD was {before.head or 'unborn'} before the step and is {now.head or 'unborn'} now."
    same = "is as it was" if before.digest == now.digest else "has changed"
    return f"{heads} The working tree {same}."


def _done(d: Decision, intent: f.TurnIntended, report: TurnReport) -> None:
    if d.state.step is None:
        d.end(classify("turn-complete"), detail=report.detail)
        return
    found = extract(report, intent.outcomes)
    if isinstance(found, OutcomeError):
        _invalid(d, intent, found)
        return
    edges.claimed(
        d,
        Claim(
            outcome=found.outcome,
            source=found.source,
            description=found.description,
            detail=found.detail or found.description or prose(report.texts, found),
        ),
        attempt=intent.attempt,
        repaired=found.repaired,
    )


def _invalid(d: Decision, intent: f.TurnIntended, error: OutcomeError) -> None:
    last = intent.attempt > d.state.limits.max_retries
    retry = f.Move(kind="turn", purpose="retry", fault=error)
    d.emit(
        f.OutcomeInvalid(
            step=intent.step or "",
            error=error.error,
            message=error.message,
            attempt=intent.attempt,
            excerpt=error.excerpt,
            returned=error.returned,
            expected=intent.outcomes,
            next=None if last else retry,
        )
    )
    if last:
        d.end(classify("orchestration-error"), detail=error.returned or error.message)
