"""Decide which facts follow from a run's state and a command. Pure.

A run wants one thing at a time (``RunState.next``). The runtime looks at the world and says
``Proceed``; the decider answers with facts, which set the next ``next``. Everything else that
can happen to a run (a turn ends, a person answers, pauses, cancels) is a command of its own.
``MACHINE`` names what each command does wherever a run may be, and what that leads to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from podiumd.core.decide import (
    approvals,
    conversation,
    decision,
    edges,
    limits,
    native_loop,
    plain_steps,
    turns,
)
from podiumd.core.decide.decision import Decision
from podiumd.core.decide.machine import LIVE, NEXT, NO_RULES, Rule
from podiumd.core.ids import derive
from podiumd.core.prompts import prompts
from podiumd.core.recipe.exits import classify
from podiumd.core.recipe.model import CHECKS_FAILED, DECLINED, Recipe, Step
from podiumd.core.recipe.naming import cut
from podiumd.core.recipe.template import MissingVariable
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.state import Claim, Question, RunState


def decide(state: RunState | None, command: c.AnyCommand) -> list[f.AnyFact]:
    """Return the facts that follow; none if the command changes nothing.

    Raises:
        CommandRefused: the command does not fit the run as it is.
    """
    if state is None:
        assert isinstance(command, c.Start), "a run begins with Start"
        return [_start(command)]
    assert not isinstance(command, c.Start), "a run begins once"
    d = Decision(state, command)
    if not MACHINE.takes(command):
        assert_never(command)
    MACHINE.apply(d, command)
    return d.facts


def _first_work(recipe: Recipe | None) -> f.Move:
    if recipe is None:
        return f.Move(kind="turn", purpose="prompt")
    return f.Move(kind="enter", step=recipe.initial)


def _start(command: c.Start) -> f.RunStarted:
    recipe = command.recipe
    first = f.Move(kind="worktree") if command.worktree is not None else _first_work(recipe)
    return f.RunStarted(
        run_id=command.run_id,
        kind=command.kind,
        session_id=command.session_id,
        working_directory=command.working_directory,
        agent=command.agent,
        recipe=recipe,
        source=command.source,
        agent_override=command.agent_override,
        agent_given=command.agent_given,
        doubts=command.doubts,
        fork_from=command.fork_from,
        params=command.params,
        limits=command.limits or (recipe.limits if recipe is not None else None),
        on_question=command.on_question,
        text=command.text,
        system_prompt=command.system_prompt,
        worktree=command.worktree,
        aside_of=command.aside_of,
        permission_mode=command.permission_mode,
        model=command.model,
        script=command.script,
        images=command.images,
        next=first,
    )


def _proceed(
    do: Callable[[Decision, f.Move, c.Proceed], None],
) -> Callable[[Decision, c.Proceed], None]:
    """Let ``do`` decide on what is next, where the run and the world allow it.

    Where a text of the step lacks a value of the context, the run is over.
    """

    def proceed(d: Decision, seen: c.Proceed) -> None:
        before, move = d.state, d.state.next
        if move is None or not before.ready:
            return
        if seen.problem is not None:
            d.end(classify("error"), detail=seen.problem)
        elif seen.locked is not None:
            _hindered(d, "session-locked", LOCKED, seen.locked)
        elif seen.trouble is not None:
            _hindered(d, "error", TROUBLE, seen.trouble)
        else:
            try:
                do(d, move, seen)
            except MissingVariable as missing:
                d.take_back(before)
                d.end(
                    classify("error"), detail=edges.no_value(move.step or before.step, missing.name)
                )

    return proceed


def _by_itself(_d: Decision, _move: f.Move, _seen: c.Proceed) -> None:
    """Decide nothing: what is next is under way, or is a person's to do."""


LOCKED = "Somebody else has this run's session or working tree."
TROUBLE = "Something keeps this run from going on."
HINDERED = "hindered"
"""Subject of the question that is asked when a run cannot go on just now."""


def _hindered(d: Decision, reason: str, text: str, detail: str) -> None:
    """Ask a person to put right what keeps a run from going on.

    A run that has not begun, or that no person attends, ends with the reason.
    """
    if not d.state.begun or d.state.start.on_question == "fail":
        d.end(classify(reason), detail=detail)
        return
    choices = (("retry", "Try again"), ("stop", "Stop the run"))
    d.ask("recover", text, about=HINDERED, detail=detail, choices=choices)


def _look(d: Decision, _move: f.Move, seen: c.Proceed) -> None:
    if seen.look is not None:
        edges.looked(d, seen.look)


def _command(d: Decision, _move: f.Move, _seen: c.Proceed) -> None:
    plain_steps.intend_command(d)


def _enter(d: Decision, move: f.Move, seen: c.Proceed) -> None:
    state, recipe = d.state, d.state.recipe
    assert recipe is not None
    first = state.step_count == 0 and state.restart == 0
    commits = any(step.commits for step in recipe.steps.values())
    if first and commits and not state.accepted_dirty and seen.dirty:
        text = "The working tree has uncommitted changes, and this recipe commits. Start anyway?"
        d.ask("gate", text, about="dirty-tree", detail="\n".join(seen.dirty[:20]))
        return
    if seen.look is not None and state.step_count == 0:
        d.emit(f.TreeSeen(why="start", look=seen.look))
    if limits.entry_refused(d, move.step):
        return
    step = recipe.steps[move.step]
    session_id, fork_from = _session_for(d, move.step, step)
    d.emit(
        f.StepEntered(
            step=move.step,
            visit=state.visits.get(move.step, 0) + 1,
            step_count=state.step_count + 1,
            session_id=session_id,
            fork_from=fork_from,
            next=plain_steps.first_move(state, step),
        )
    )
    if step.kind == "gate":
        plain_steps.ask(d, step)
    elif step.gate is not None:
        d.ask("gate", prompts.fill(d.state, step.gate), about="step")
    else:
        conversation.entered(d)


def _session_for(d: Decision, name: str, step: Step) -> tuple[str, str | None]:
    state = d.state
    if step.session == "same":
        return state.main_session, state.start.fork_from if state.restart == 0 else None
    own = derive(state.origin, state.restart, name, state.visits.get(name, 0) + 1, "session", 1)
    return own, state.main_session if step.session == "fork" else None


def _turn_started(d: Decision, seen: c.ReportTurnStart) -> None:
    turn = d.state.turn
    if turn is None or turn.intent.turn_id != seen.turn_id:
        return
    d.emit(
        f.TurnStarted(
            turn_id=seen.turn_id,
            pid=seen.pid,
            proc_start=seen.proc_start,
            group=seen.group,
            mono=d.mono,
        )
    )


def _session_named(d: Decision, seen: c.ReportSessionName) -> None:
    turn = d.state.turn
    if turn is None or turn.intent.turn_id != seen.turn_id:
        return
    session_id = turn.intent.session_id
    if d.state.agent_sessions.get(session_id) != seen.agent_session_id:
        d.emit(
            f.SessionNamed(
                turn_id=seen.turn_id,
                session_id=session_id,
                agent_session_id=seen.agent_session_id,
                family=seen.family,
            )
        )


def _check_over(d: Decision, command: c.ReportCheckEnd) -> None:
    state, step, claim = d.state, d.state.current, d.state.claim
    if state.next != f.Move(kind="check", index=command.index):
        return
    assert step is not None and claim is not None
    run = prompts.fill_arguments(state, step.checks[command.index].run)
    last = command.index + 1 == len(step.checks)
    go_on = command.passed and not last
    d.emit(
        f.CheckEnded(
            step=state.step or "",
            index=command.index,
            run=run,
            passed=command.passed,
            exit_status=command.exit_status,
            seconds=command.seconds,
            tail=command.tail,
            log=command.log,
            next=f.Move(kind="check", index=command.index + 1) if go_on else None,
        )
    )
    if not command.passed:
        failed = Claim(
            outcome=CHECKS_FAILED,
            source="check",
            description=plain_steps.how_it_failed(run, command.exit_status),
            detail=command.tail,
        )
        edges.take(d, edges.edge_for(step, CHECKS_FAILED), failed)
    elif last:
        edges.leave(d, edges.edge_for(step, claim.outcome), claim)
    decision.hold(d)


def _work_stopped(d: Decision, _command: c.ReportWorkStopped) -> None:
    if d.state.turn is None:
        decision.hold(d)


def _effect_over(d: Decision, command: c.ReportEffectEnd) -> None:
    """Record what came of an answer, or of a person's words, that was handed to the agent."""
    kind, name = f.effect_of(command.effect)
    state = d.state
    match kind:
        case "answer":
            if name in state.questions and not state.questions[name].delivered:
                d.emit(f.EffectEnded(effect=command.effect, state=command.state))
        case "steer" if command.state == "lost":
            if all(s.uuid != name for s in state.steers):  # they wait already
                lost = f.EffectEnded(effect=command.effect, state="lost", detail=command.detail)
                d.emit(lost)
        case "steer":
            said = (s for s in state.steers if s.uuid == name and s.turn_id is not None)
            if any((command.state, s.queued) != ("queued", True) for s in said):
                d.emit(f.EffectEnded(effect=command.effect, state=command.state))
        case "worktree" | "commit":
            pass  # made already, or recorded by the turn itself
        case _:
            assert_never(kind)


def _worktree_over(d: Decision, command: c.ReportEffectEnd) -> None:
    """Go on to the first work in the worktree that was made; without it the run is over."""
    if command.effect != "worktree":
        _effect_over(d, command)
        return
    made = command.state == "made"
    d.emit(
        f.EffectEnded(
            effect="worktree",
            state=command.state,
            detail=command.detail,
            next=_first_work(d.state.recipe) if made else None,
        )
    )
    if not made:
        d.end(classify("error"), detail=command.detail)


def _answer(d: Decision, command: c.Answer) -> None:
    question, answer = decision.checked_answer(d.state, command)
    if question.ends_turn:
        conversation.answered(d, question, answer, command)
        return
    match question.kind:
        case "approval" | "ask":
            d.close(question, "answered", answer=command.answer, note=command.note, by=command.by)
        case "gate":
            _gate_answered(d, question, command)
        case "limit":
            _limit_answered(d, question, command)
        case "recover":
            _recover_answered(d, question, command)
        case _:
            assert_never(question.kind)


def _gate_answered(d: Decision, question: Question, command: c.Answer) -> None:
    d.close(question, "answered", answer=command.answer, note=command.note, by=command.by)
    step = d.state.current
    if question.about == plain_steps.CHOICE and step is not None:
        plain_steps.chosen(d, step, command)
        return
    if command.answer == "yes":
        conversation.entered(d)
        return
    if step is None:  # the tree was dirty, nothing has begun
        recipe = d.state.recipe
        assert recipe is not None
        d.end(classify("gate-declined", step=recipe.initial))
        return
    declined = Claim(outcome=DECLINED, source="person", detail=command.note or "")
    edges.take(d, edges.edge_for(step, DECLINED), declined)


def _limit_answered(d: Decision, question: Question, command: c.Answer) -> None:
    d.close(question, "answered", answer=command.answer, note=command.note, by=command.by)
    if command.answer == "stop":
        d.end(classify(question.about, limit=d.state.limits.max_total_steps))


def _recover_answered(d: Decision, question: Question, command: c.Answer) -> None:
    d.close(
        question,
        "answered",
        answer=command.answer,
        note=command.note,
        by=command.by,
        next=_after_recovery(d.state, question, command.answer),
    )
    if command.answer == "stop":
        d.give_up("user-requested")
    elif command.answer == "continue":
        plain_steps.accept_command(d, question)


def _after_recovery(state: RunState, question: Question, answer: str) -> f.Move | None:
    """Return what a person's word puts in the place of what was next; ``None``: nothing."""
    move = state.next
    if (
        answer == "stop"
        or question.about in ("foreign-rows", HINDERED)
        or state.turn is not None
        or (move is not None and move.kind != "turn")
        # In a conversation nothing, or something that no turn has tried yet, is next.
        or (state.in_conversation and (move is None or move.purpose in ("opening", "say", "retry")))
    ):
        return None
    if answer == "retry":
        return f.Move(kind="turn", purpose="prompt" if state.recipe is None else "again")
    if move is None or move.purpose == "interrupted":
        original = move.original if move is not None else ""
        return f.Move(kind="turn", purpose="go-on", original=original)
    return None


def _approval_gone(d: Decision, command: c.ReportApprovalGone) -> None:
    gone = [q for q in d.state.open_questions if q.request_id == command.request_id]
    d.close_all("superseded", gone)


def _limit_reset(d: Decision, _command: c.ReportLimitReset) -> None:
    if d.state.parked_until is not None:
        d.emit(f.RunResumed(why="limit-reset"))


def _note_aside(d: Decision, command: c.NoteAside) -> None:
    d.emit(f.AsideNoted(run_id=command.run_id, session_id=command.session_id))


def _ask_recovery(d: Decision, command: c.AskRecovery) -> None:
    open_already = any(q.about == command.about for q in d.state.open_questions)
    if not open_already:
        d.ask("recover", command.text, about=command.about, detail=command.detail)


def _steer(d: Decision, command: c.Steer) -> None:
    """Send words to the running turn; in a conversation they are a message like any other."""
    if d.state.in_conversation:
        conversation.say(
            d, c.Say(at=command.at, mono=command.mono, uuid=command.uuid, text=command.text)
        )
    else:
        decision.steer(d, command)


def _fault(d: Decision, command: c.ReportFault) -> None:
    d.end(classify("internal-error"), detail=command.detail)


def _answer_too_late(d: Decision, command: c.Answer) -> None:
    decision.checked_answer(d.state, command)


def _words_too_late(d: Decision, command: c.Say | c.Steer) -> None:
    if command.uuid not in d.state.heard:
        raise decision.refused_as_ended(d.state)


def _too_late(d: Decision, _command: c.Command) -> None:
    """Refuse what a person wants of a run that is over."""
    raise decision.refused_as_ended(d.state)


def _pause(d: Decision, _command: c.Pause) -> None:
    decision.pause(d)


def _resume(d: Decision, _command: c.Resume) -> None:
    plain_steps.resume(d)


def _rename(d: Decision, command: c.Rename) -> None:
    title = cut(command.title)
    if title != d.state.title:
        d.emit(f.RunRenamed(title=title))


def _interrupt(d: Decision, _command: c.Interrupt) -> None:
    decision.interrupt(d)


MACHINE: Final = (
    NO_RULES.on(
        c.Proceed,
        Rule("enter", _proceed(_enter), to=("turn", "command", "gate", "waiting", "ended")),
        Rule("turn", _proceed(turns.intend), to=("in-turn", "ended")),
        Rule("command", _proceed(_command), to=("run", "ended")),
        Rule("look", _proceed(_look), to=("enter", "turn", "ended")),
        Rule(("worktree", "check", "run", "hook"), _proceed(_by_itself), to=("ended",)),
    )
    .on(c.ReportTurnStart, Rule("in-turn", _turn_started))
    .on(c.ReportSessionName, Rule("in-turn", _session_named))
    .on(c.LoopStep, Rule("in-turn", native_loop.step))
    .on(c.ReportToolCall, Rule("in-turn", conversation.tool_called))
    .on(c.ReportApproval, Rule("in-turn", approvals.approval))
    .on(c.ReportApprovalGone, Rule("in-turn", _approval_gone))
    .on(c.ReportAskerGone, Rule("in-turn", approvals.asker_gone))
    .on(
        c.ReportTurnEnd,
        Rule(
            "in-turn",
            turns.over,
            to=("turn", "check", "look", "hook", "enter", "waiting", "ended"),
        ),
    )
    .on(c.ReportCheckEnd, Rule("check", _check_over, to=("look", "enter", "ended")))
    .on(c.ReportCommandEnd, Rule("run", plain_steps.command_over, to=("look", "enter", "ended")))
    .on(
        c.ReportHookEnd,
        Rule("hook", conversation.hook_over, to=("turn", "look", "enter", "waiting", "ended")),
    )
    .on(
        c.ReportEffectEnd,
        Rule("worktree", _worktree_over, to=("enter", "turn", "ended")),
        Rule(tuple(place for place in LIVE if place != "worktree"), _effect_over),
    )
    .on(
        c.Answer,
        Rule(("turn", "command", "run", "gate"), _answer, to=("enter", "ended")),
        Rule("waiting", _answer, to=("turn", "enter", "ended")),
        Rule(("worktree", "enter", "check", "look", "hook"), _answer, to=("ended",)),
        Rule("in-turn", _answer),
        Rule("ended", _answer_too_late),
    )
    .on(
        c.Say,
        Rule("waiting", conversation.say, to=("turn",)),
        Rule((*NEXT, "in-turn"), conversation.say),
        Rule("ended", _words_too_late),
    )
    .on(
        c.Steer,
        Rule("waiting", _steer, to=("turn",)),
        Rule((*NEXT, "in-turn"), _steer),
        Rule("ended", _words_too_late),
    )
    .on(c.NoteAside, Rule(LIVE, _note_aside), Rule("ended", _too_late))
    .on(c.Pause, Rule(LIVE, _pause), Rule("ended", _too_late))
    .on(c.Resume, Rule(LIVE, _resume), Rule("ended", _too_late))
    .on(c.Rename, Rule((*LIVE, "ended"), _rename))
    .on(c.ReportWorkStopped, Rule(LIVE, _work_stopped))
    .on(c.ReportLimitReset, Rule(LIVE, _limit_reset))
    .on(
        c.AskRecovery,
        Rule(
            ("worktree", "enter", "turn", "command", "run", "check", "look", "hook"),
            _ask_recovery,
            to=("ended",),
        ),
        Rule(("in-turn", "gate", "waiting"), _ask_recovery),
    )
    .on(
        c.Interrupt,
        Rule(("worktree", "turn"), _interrupt, to=("ended",)),
        Rule(tuple(place for place in LIVE if place not in ("worktree", "turn")), _interrupt),
        Rule("ended", _too_late),
    )
    .on(
        c.Cancel,
        Rule((*NEXT, "waiting"), decision.cancel, to=("ended",)),
        Rule("in-turn", decision.cancel),
        Rule("ended", _too_late),
    )
    .on(c.ReportFault, Rule(LIVE, _fault, to=("ended",)))
)
"""Effect of each command wherever a run is.

A pause, a question and a stop that is to take hold later are no places: they keep ``Proceed`` from
what is next (``RunState.ready``).
"""
