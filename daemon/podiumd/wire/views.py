"""A run as its clients see it: the public ``run``, ``question`` and ``turn``."""

from __future__ import annotations

from podiumd.core.decide.claims import left_uncommitted
from podiumd.core.run import facts as f
from podiumd.core.run import history
from podiumd.core.run import state as state_of
from podiumd.core.run.state import RunState
from podiumd.wire.event import data_of
from podiumd.wire.events import Snapshot
from podiumd.wire.questions import Choice, Question
from podiumd.wire.runs import (
    ActivePrompt,
    Run,
    Talk,
    Turn,
    TurnFile,
    Visit,
    VisitNote,
    VisitQuestion,
    WholeVisit,
)


def run_view(state: RunState) -> Run:
    """Build the public ``run``, but for what grows with its steps: how each visit ended and the
    sessions (``runtime.fact_reader.whole``)."""
    start = state.start
    return Run(
        run_id=start.run_id,
        kind=start.kind,
        recipe=start.recipe.id if start.recipe is not None else None,
        name=state.name,
        session_id=state.session_id,
        main_session_id=state.main_session,
        working_directory=start.working_directory,
        agent=start.agent_override or start.agent,
        model=start.model,
        params=start.params,
        limits=start.limits,
        status=state.status,
        paused=state.paused,
        stop=state.stop.how if state.stop is not None and state.exit is None else None,
        step=state.step,
        step_count=state.step_count,
        visits=state.visits,
        questions=tuple(question_view(state, q) for q in state.open_questions),
        ctx=state.ctx,
        turns=state.turns,
        cost_usd=round(state.cost_usd, 6),
        tokens=state.tokens,
        seconds=round(state.seconds, 3),
        restarts=state.restart,
        base=state.found.head if state.found is not None else None,
        left=left_uncommitted(state.found, state.parted),
        parked_until=state.parked_until,
        worktree=start.worktree,
        started_at=state.started_at,
        ended_at=state.ended_at,
        exit=state.exit,
    )


def visit_view(edge: f.EdgeTaken, at: str) -> Visit:
    """Build an entry of the public ``history``: how a visit of a step ended, and when."""
    return Visit(
        step=edge.step,
        visit=edge.visit,
        outcome=edge.outcome,
        source=edge.source,
        attempts=edge.attempts,
        at=at,
        description=edge.description,
    )


def history_visit_view(visit: history.Visit, until: str) -> WholeVisit:
    """Render a visit with what happened in it, counted up to ``until``."""
    fields = {name: getattr(visit, name) for name in history.VisitFields.__struct_fields__}
    return WholeVisit(
        **fields,
        questions=tuple(_visit_question(one) for one in visit.questions),
        stills=visit.stills,
        notes=tuple(
            VisitNote(at=one.at, type=f.type_of(one.fact), data=data_of(one.fact))
            for one in visit.notes
        ),
        work_seconds=round(visit.work_seconds, 3),
        waited_seconds=round(visit.waited_seconds(until), 3),
        still_seconds=round(visit.still_seconds(until), 3),
        cost_usd=round(visit.cost_usd, 6),
        tokens=visit.tokens,
    )


def _visit_question(asked: history.Asked) -> VisitQuestion:
    return VisitQuestion(
        opened_at=asked.opened_at,
        closed_at=asked.closed_at,
        opened=data_of(asked.opened),
        closed=None if asked.closed is None else data_of(asked.closed),
    )


def waiting_conversation_view(state: RunState) -> Talk:
    """Build the view of a conversation that goes on at a message of its person."""
    start = state.start
    return Talk(run_id=start.run_id, name=state.name, session_id=state.session_id)


def prompt_view(state: RunState) -> ActivePrompt:
    """Build the view of a prompt that has not ended, as the status lists it."""
    start = state.start
    return ActivePrompt(
        run_id=start.run_id,
        name=state.name,
        session_id=state.session_id,
        status=state.status,
        paused=state.paused,
        started_at=state.started_at,
    )


def snapshot_view(state: RunState) -> Snapshot:
    """Build the view of a conversation: its phase, what has been saved, and what it waits for."""
    asked = state.open_questions
    return Snapshot(
        run_id=state.start.run_id,
        session_id=state.session_id,
        phase=state.step,
        ctx=state.ctx,
        question=question_view(state, asked[0]) if asked else None,
        run=run_view(state),
    )


def question_view(state: RunState, question: state_of.Question) -> Question:
    """Build the public ``question``."""
    return Question(
        question_id=question.question_id,
        run_id=state.start.run_id,
        run_name=state.name,
        session_id=state.session_id,
        kind=question.kind,
        text=question.text,
        choices=tuple(Choice(id=choice, label=label) for choice, label in question.choices),
        free_text=question.free_text,
        multi=question.multi,
        columns=question.columns,
        detail=question.detail,
        tool=question.tool,
        input=question.input,
        opened_at=question.opened_at,
        answer=question.answer,
        note=question.note,
        by=question.by,
        closed=question.closed,
        paused=state.paused,
    )


def turn_view(state: RunState) -> Turn:
    """Build the public ``turn``: the run's last one."""
    last = state.last_turn
    turn_id = state.turn.intent.turn_id if state.turn else (last.turn_id if last else None)
    files, commit = _changed(state)
    return Turn(
        turn_id=turn_id,
        run_id=state.start.run_id,
        session_id=state.session_id,
        status="ended" if state.exit is not None else ("running" if state.begun else "queued"),
        text=last.text if last is not None else "",
        outcome=state.outcome,
        exit=state.exit,
        files=turn_files(files),
        commit=commit,
        cost_usd=round(state.cost_usd, 6),
        tokens=state.tokens,
        started_at=state.started_at,
        ended_at=state.ended_at,
    )


def _changed(state: RunState) -> tuple[tuple[tuple[str, str], ...], str | None]:
    """Return what the turn has changed so far, and the commit of it, as far as its agent reports
    it."""
    if state.turn is not None:
        note = state.turn.loop.commit
        return state.turn.loop.files, note.sha if note is not None else None
    report = state.last_turn.report if state.last_turn is not None else None
    return (report.files, report.commit) if report is not None else ((), None)


def turn_files(files: tuple[tuple[str, str], ...]) -> tuple[TurnFile, ...]:
    """List the files that a turn has changed, of the public ``turn``."""
    return tuple(TurnFile(path=path, change=change) for path, change in files)
