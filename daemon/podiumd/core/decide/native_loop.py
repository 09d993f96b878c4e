"""Decide what follows within one turn of the native agent. Pure.

This is the second decider, nested under the active turn of a run: a driver reports what happened
(``core.run.native_loop_commands``), facts follow, and the turn's ``LoopState.next`` says what is to
be done then. What does not fit the state changes nothing.
"""

from __future__ import annotations

from typing import assert_never

from podiumd.core.decide.approvals import no_longer_asked
from podiumd.core.decide.decision import Decision
from podiumd.core.reply.action_args import checked, unknown
from podiumd.core.reply.actions import Action, parse_reply
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls

MAX_INVALID = 3
"""Replies in a row that cannot be read, before the turn ends."""

TEXT_LIMIT = 256 * 1024
"""Characters of a reply, or of an action's output, that facts keep. A longer reply is not read."""

REFUSED = "User cancelled operation"
CRITICAL = frozenset({"write_file", "patch"})
"""Actions without which the rest of a reply cannot be what the model meant."""


def step(d: Decision, command: c.LoopStep) -> None:
    """Take in what happened within a native turn."""
    turn = d.state.turn
    if turn is None or turn.intent.turn_id != command.turn_id:
        return
    no_longer_asked(d)  # while it waits for a person's answer it does nothing else
    loop, happened = _Loop(d, command.turn_id), command.step
    match happened:
        case lc.PlanAction():
            _planned(loop, happened)
        case lc.ReportActionEnd():
            _action_over(loop, happened)
        case lc.ReportReply():
            _reply_seen(loop, happened)
        case lc.Begin():
            _begin(loop, happened)
        case lc.AddWords():
            _steered(loop, happened)
        case lc.RefuseAction():
            _refused(loop, happened)
        case lc.ReportReplyFailure():
            _reply_failed(loop, happened)
        case lc.ReportCommitEnd():
            _commit_over(loop, happened)
        case _:
            assert_never(happened)


class _Loop:
    """Build a decision about the loop of turn ``turn_id``."""

    def __init__(self, d: Decision, turn_id: str) -> None:
        self._d = d
        self.turn_id = turn_id

    @property
    def state(self) -> ls.LoopState:
        turn = self._d.state.turn
        assert turn is not None
        return turn.loop

    def emit(self, fact: f.AnyFact) -> None:
        self._d.emit(fact)

    def end(
        self, kind: f.EndKind, reason: str = "", detail: str = "", *, limit: int | None = None
    ) -> None:
        """End the turn, as far as it need not commit."""
        self.emit(
            lf.LoopEnded(turn_id=self.turn_id, kind=kind, reason=reason, detail=detail, limit=limit)
        )

    def result(
        self,
        index: int,
        result: lf.Result,
        changes: tuple[lf.FileChange, ...] = (),
        *,
        refused: bool = False,
    ) -> None:
        """Record the end of an action of the present reply."""
        number = self.state.iterations
        self.emit(
            lf.ActionEnded(
                turn_id=self.turn_id,
                reply=number,
                index=index,
                result=result,
                changes=changes,
                refused=refused,
            )
        )


def _begin(loop: _Loop, command: lc.Begin) -> None:
    if loop.state.settings is None:
        loop.emit(lf.LoopStarted(turn_id=loop.turn_id, settings=command.settings))


def _reply_seen(loop: _Loop, command: lc.ReportReply) -> None:
    if loop.state.next != ls.Ask():
        return
    text = command.text.encode("utf-8", "replace").decode()  # facts are UTF-8, half characters not
    settings = loop.state.settings
    assert settings is not None
    reply = parse_reply(text, cut=command.stop == "length", served=settings.served)
    fault, actions = reply.fault, reply.actions
    if len(text) > TEXT_LIMIT:
        fault, actions = f"the reply is longer than {TEXT_LIMIT} characters", ()
    loop.emit(
        lf.ReplyReceived(
            turn_id=loop.turn_id,
            number=loop.state.iterations + 1,
            text=text[:TEXT_LIMIT],
            stop=command.stop,
            actions=actions,
            fault=fault,
            model=command.model,
            usage=command.usage,
            cost_usd=command.cost_usd,
        )
    )
    if fault is None and not actions:
        loop.end("done")
    elif loop.state.invalid_in_a_row >= MAX_INVALID:
        loop.end("stopped", "orchestration-error", fault or "")
    else:
        _go_on(loop)


def _go_on(loop: _Loop) -> None:
    """End the actions that need no work, and the turn where a limit is reached."""
    settings = loop.state.settings
    assert settings is not None
    while isinstance(due := loop.state.next, ls.Act):
        action = _action(loop, due.index)
        if action.name == "done":
            _done(loop, due.index)
        elif action.name in settings.served:  # its server checks its parameters
            return
        elif action.name not in settings.tools:
            there_are = (*settings.tools, *settings.served)
            _fail(loop, due.index, unknown(action.name, there_are), alone=True)
        elif isinstance(problem := checked(action), str):
            _fail(loop, due.index, problem)
        else:
            return
    if loop.state.ending is not None:
        return
    if loop.state.iterations >= settings.max_iterations:
        loop.end("stopped", "max-iterations", limit=settings.max_iterations)
    elif _out_of_requests(loop.state, settings):
        loop.end("budget", detail="the money for this turn is spent")


def _out_of_requests(loop: ls.LoopState, settings: lf.LoopSettings) -> bool:
    """Return whether the model may not be asked once more."""
    budget = settings.budget_usd
    spent = budget is not None and loop.cost_usd >= budget
    return spent or loop.iterations >= settings.max_iterations


def _action(loop: _Loop, index: int) -> Action:
    return loop.state.rounds[-1].actions[index].action


def _done(loop: _Loop, index: int) -> None:
    """Believe the model that it has done all, of a reply that went well to its end."""
    actions = loop.state.rounds[-1].actions
    failed = [n for n, a in enumerate(actions) if a.result is not None and not a.result.success]
    problem = None
    if index + 1 != len(actions):
        problem = "done has to be the last action of a reply"
    elif failed:
        problem = "not done: an action of this reply failed, see its result"
    elif isinstance(summary := checked(actions[index].action), str):
        problem = summary
    if problem is not None:
        _fail(loop, index, problem)
        return
    loop.result(index, lf.Result(action="done", success=True, message="done"))
    loop.end("done")


def _fail(loop: _Loop, index: int, message: str, *, alone: bool = False) -> None:
    name = _action(loop, index).name
    _over(loop, index, lf.Result(action=name, success=False, message=message), alone=alone)


def _over(
    loop: _Loop,
    index: int,
    result: lf.Result,
    changes: tuple[lf.FileChange, ...] = (),
    *,
    alone: bool = False,
) -> None:
    """Record a result; after a critical failure the rest of the reply is skipped.

    ``alone``: it is not for this turn to do, which says nothing against the rest.
    """
    name = _action(loop, index).name
    critical = not (result.success or alone) and (result.critical or name in CRITICAL)
    loop.result(
        index,
        lf.Result(
            action=name,
            success=result.success,
            message=_kept(result.message),
            output=_kept(result.output),
            critical=critical,
        ),
        changes,
    )
    if critical:
        _skip(loop, f"skipped: action {index + 1} ({name}) failed")


def _skip(loop: _Loop, message: str) -> None:
    """Do nothing more of the present reply."""
    while (due := loop.state.rounds[-1].due) is not None:
        name = _action(loop, due).name
        loop.result(due, lf.Result(action=name, success=False, message=message))


def _kept(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= TEXT_LIMIT:
        return text
    return f"{text[:TEXT_LIMIT]}\n... ({len(text) - TEXT_LIMIT} more characters)"


def _steered(loop: _Loop, command: lc.AddWords) -> None:
    state, settings = loop.state, loop.state.settings
    told = {words.uuid for words in state.words}
    new = tuple(words for words in command.words if words.uuid not in told)
    if not new or settings is None or _out_of_requests(state, settings) or state.asked:
        return
    if state.ending is None or (state.ending.kind == "done" and state.commit is None):
        loop.emit(lf.WordsAdded(turn_id=loop.turn_id, words=new))


def _reply_failed(loop: _Loop, command: lc.ReportReplyFailure) -> None:
    if loop.state.next == ls.Ask():
        loop.emit(
            lf.LoopEnded(
                turn_id=loop.turn_id,
                kind=command.kind,
                detail=command.detail,
                api_status=command.api_status,
                resets_at=command.resets_at,
                cost_usd=command.cost_usd,
            )
        )


def _planned(loop: _Loop, command: lc.PlanAction) -> None:
    if loop.state.next != ls.Act(command.index):
        return
    intended = lf.ActionIntended(
        turn_id=loop.turn_id,
        reply=loop.state.iterations,
        index=command.index,
        action=_action(loop, command.index).name,
        changes=command.changes,
    )
    if loop.state.rounds[-1].actions[command.index].intended != intended:  # else it is stored
        loop.emit(intended)


def _action_over(loop: _Loop, command: lc.ReportActionEnd) -> None:
    if loop.state.next == ls.Act(command.index):
        _over(loop, command.index, command.result, command.changes, alone=command.alone)
        if loop.state.asked:
            _skip(loop, "skipped: you have asked a person, which ends your turn")
            loop.end("done")
        else:
            _go_on(loop)


def _refused(loop: _Loop, command: lc.RefuseAction) -> None:
    if loop.state.next != ls.Act(command.index):
        return
    action = _action(loop, command.index)
    again = any((a.name, a.args) == (action.name, action.args) for a in loop.state.refusals)
    message = f"{REFUSED}: {command.note}" if command.note else REFUSED
    result = lf.Result(action=action.name, success=False, message=_kept(message))
    loop.result(command.index, result, refused=True)
    if again:
        _skip(loop, "skipped: a person has refused the same action twice")
        detail = f"The same action was refused twice: {action.name}"
        loop.end("stopped", "clarification-needed", detail)
    else:
        _go_on(loop)


def _commit_over(loop: _Loop, command: lc.ReportCommitEnd) -> None:
    if not isinstance(loop.state.next, ls.Commit):
        return
    loop.emit(
        f.EffectEnded(
            effect="commit", state=command.state, detail=_kept(command.detail), commit=command.sha
        )
    )
    if loop.state.ending is None:  # a hook refused it, and the model may put that right
        _go_on(loop)
