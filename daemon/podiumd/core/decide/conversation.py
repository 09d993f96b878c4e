"""A conversation in phases: who speaks next, and where it goes when a turn is over.

There is no phase in here, and no way from one to another: those are data of the recipe. What an
agent asks for with a tool (``prompts.tools``) is kept with its turn and happens at the turn's end.
"""

from __future__ import annotations

from podiumd.core.decide import decision, edges
from podiumd.core.decide.decision import Decision
from podiumd.core.prompts import conversation_prompts, tools
from podiumd.core.recipe.exits import classify
from podiumd.core.recipe.model import COMPLETE, Hook, Step
from podiumd.core.reply.report import CUT_OFF, TurnReport
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import questions
from podiumd.core.run.state import ActiveTurn, Claim, Question, RunState
from podiumd.core.structs import replace

REFUSES = 2
"""The exit status with which a hook says no."""

DETAIL_CHARACTERS = 8 * 1024

_SEND = f.Move(kind="turn", purpose="say")


def first_move(state: RunState, step: Step) -> f.Move | None:
    """Return the first move of a phase: the agent speaks, or gets what people wrote before.

    ``None``: nothing, a person has the first word.
    """
    if step.opening is not None or (step.auto and not step.final):
        return f.Move(kind="turn", purpose="opening")
    return _SEND if state.messages else None


def entered(d: Decision) -> None:
    """Let a phase wait that was entered without a question, where nothing is to be sent."""
    if d.state.in_conversation and d.state.next is None:
        _idle(d)


def _idle(d: Decision) -> None:
    """End the last phase when no message is due; any other phase waits."""
    state, step = d.state, d.state.current
    assert step is not None
    if step.final:
        last = state.last_turn.text if state.last_turn is not None and state.sends else ""
        claim = Claim(outcome=COMPLETE, source="command", detail=last[-DETAIL_CHARACTERS:])
        edges.take(d, edges.edge_for(step, COMPLETE), claim)
    elif state.start.on_question == "fail":
        detail = f"Step '{state.step}' waits for a person's message."
        d.end(classify("clarification-needed"), detail=detail)


def say(d: Decision, command: c.Say) -> None:
    """Deliver a person's message: to the running turn, or as the next prompt.

    Raises:
        CommandRefused: there is nothing in it, or too many wait already.
    """
    state, text = d.state, command.text
    if command.uuid in state.heard:
        return
    if not text.strip():
        raise c.CommandRefused("There is nothing in this message.", c.WrongValue("text"))
    decision.require_room(state)
    for question in state.open_questions:
        if question.ends_turn:
            text = _answered_by_the_way(d, question, command)
    _receive(d, command.uuid, text, command.by)
    turn = state.turn
    if turn is not None and not state.stopping and turn.asked is None:
        d.emit(f.SteerIntended(uuid=command.uuid, text=text, turn_id=turn.intent.turn_id))
    pausing = state.stop is not None and state.stop.how == "pause"
    if state.in_conversation and (state.paused or pausing):
        d.emit(f.RunResumed(why="message"))


def _answered_by_the_way(d: Decision, question: Question, command: c.Say) -> str:
    """Answer an open question with a message where it fits, and return the message to deliver."""
    answer = questions.checked(question, command.text)
    if answer is None:
        d.close(question, "superseded", by=command.by)
        return command.text
    d.close(question, "answered", answer=answer, by=command.by)
    return questions.told(question, answer, None)


def answered(d: Decision, question: Question, answer: str, command: c.Answer) -> None:
    """Send a person's answer to the phase's agent as the next message."""
    d.close(question, "answered", answer=answer, note=command.note, by=command.by)
    _receive(d, question.question_id, questions.told(question, answer, command.note), command.by)


def _receive(d: Decision, uuid: str, text: str, by: str) -> None:
    nothing_due = d.state.turn is None and d.state.next is None
    d.emit(f.MessageReceived(uuid=uuid, text=text, by=by, next=_SEND if nothing_due else None))


def carrier(state: RunState, uuid: str) -> str:
    """Return the turn that gets message ``uuid``, as far as can be foreseen."""
    for steer in state.steers:
        if steer.uuid == uuid and steer.turn_id is not None:
            return steer.turn_id
    move, name = state.next, state.entering
    if name is not None and state.recipe is not None:
        move = first_move(state, state.recipe.steps[name])
        visits = {**state.visits, name: state.visits.get(name, 0) + 1}
        state = replace(state, step=name, visits=visits, sends=0)
    opening = move is not None and move.purpose == "opening"
    return decision.part_id(state, "turn", state.sends + 1 + opening)


def tool_called(d: Decision, command: c.ReportToolCall) -> None:
    """Record an agent's tool call and answer it; the same call is answered once."""
    turn = d.state.turn
    if turn is None or turn.intent.turn_id != command.turn_id or command.call_id in turn.calls:
        return
    tool = tools.plain_name(command.tool)
    used = tools.use(d.state, turn, tool, command.args)
    if used.success and command.refused is not None:
        used = tools.Use(False, command.refused, used.args)
    d.emit(
        f.ToolUsed(
            turn_id=command.turn_id,
            call_id=command.call_id,
            tool=tool,
            args=used.args,
            success=used.success,
            message=used.message,
        )
    )


def is_over(turn: ActiveTurn, report: TurnReport) -> bool:
    """Return whether the turn has come to its end.

    The agent has ended it, or had nothing left to do in it but end it.
    """
    cut = report.kind in CUT_OFF or report.kind == "usage_limit"
    return report.kind == "done" or (cut and turn.asked is not None)


def turn_end_hooks(step: Step) -> tuple[Hook, ...]:
    """Return the hooks that are asked at the end of each turn; ``Move.index`` counts them."""
    return tuple(hook for hook in step.hooks if hook.event == "turn-end")


def after_turn(state: RunState, turn: ActiveTurn) -> f.Move | None:
    """Return what is next after the running turn: its hooks, or what people wrote meanwhile."""
    step = state.current
    assert step is not None
    if turn_end_hooks(step):
        return f.Move(kind="hook", index=0)
    asks = turn.transition is not None or turn.asked is not None
    return _SEND if state.steers and not asks else None


def over(d: Decision) -> None:
    """Do what the finished turn asked for, unless a hook is asked first."""
    if d.state.next is None or d.state.next.kind != "hook":
        _settle(d)


def hook_over(d: Decision, command: c.ReportHookEnd) -> None:
    """Take the end of a hook at a turn's end; only exit status 2 refuses."""
    state, step = d.state, d.state.current
    if state.next != f.Move(kind="hook", index=command.index):
        return
    assert step is not None and state.step is not None
    hooks = turn_end_hooks(step)
    refused = command.exit_status == REFUSES
    given_up = refused and state.attempts + 1 > state.limits.max_retries
    reason = command.reason.strip() or "a hook of this step says no"
    next_: f.Move | None = None
    if refused and not given_up:
        text = conversation_prompts.refused(reason)
        next_ = f.Move(kind="turn", purpose="retry", original=text)
    elif not refused and command.index + 1 < len(hooks):
        next_ = f.Move(kind="hook", index=command.index + 1)
    elif not refused and state.messages and not state.left:
        next_ = _SEND
    d.emit(
        f.HookEnded(
            step=state.step,
            visit=state.visits[state.step],
            index=command.index,
            run=hooks[command.index].run,
            exit_status=command.exit_status,
            refused=refused,
            reason=reason if refused else command.reason,
            seconds=command.seconds,
            next=next_,
        )
    )
    if given_up:
        d.end(classify("orchestration-error"), detail=reason)
    elif d.state.next is None or d.state.next == _SEND:
        _settle(d)
    decision.hold(d)


def _settle(d: Decision) -> None:
    """Do what a turn leads to: another phase, a question, the next message, or a wait."""
    state, step = d.state, d.state.current
    assert step is not None
    asked = {used.tool: used.args for used in state.left}
    if "transition" in asked:
        outcome, summary = asked["transition"]["to"], asked["transition"]["summary"]
        claim = Claim(outcome=outcome, source="tool", detail=summary)
        edges.leave(d, edges.edge_for(step, outcome), claim)
    elif "ask" in asked:
        args = asked["ask"]
        d.ask(
            "ask",
            args["question"],
            choices=tuple((option["id"], option["label"]) for option in args["options"]),
            free_text=args["free_text"],
            multi=args["multi"],
            columns=tuple(args["columns"]),
            detail=questions.details(args["options"]),
        )
    elif state.next is None and step.auto and not step.final:
        _told_to_go_on(d, step)
    elif state.next is None:
        _idle(d)


def _told_to_go_on(d: Decision, step: Step) -> None:
    """Send the agent on in a phase that waits for no person, up to the limit of retries."""
    attempt = d.state.attempts + 1
    last = attempt > d.state.limits.max_retries
    message = "the turn ended without a transition to another phase"
    retry = f.Move(kind="turn", purpose="retry", original=conversation_prompts.NO_TRANSITION)
    d.emit(
        f.OutcomeInvalid(
            step=d.state.step or "",
            error="no-transition",
            message=message,
            attempt=attempt,
            expected=step.outcomes,
            next=None if last else retry,
        )
    )
    if last:
        d.end(classify("orchestration-error"), detail=message)
