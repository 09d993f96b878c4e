"""From a step's outcome to where it leads: checks first, then the edge."""

from __future__ import annotations

from podiumd.core import facts as f
from podiumd.core import limits, progress, prompts
from podiumd.core.exits import classify
from podiumd.core.ids import derive
from podiumd.core.kernel import Decision
from podiumd.core.recipe import OTHER, RESTART, Edge, Step
from podiumd.core.state import Claim

_FOR_A_PERSON = ("needs-user", "blocked")


def claimed(d: Decision, claim: Claim, *, attempt: int, repaired: bool) -> None:
    """The agent said how the step went: run the checks, or believe it."""
    step, name = d.state.current, d.state.step
    assert step is not None and name is not None
    edge = edge_for(step, claim.outcome)
    checked = bool(step.checks) and claim.outcome != OTHER and not _needs_person(edge)
    arguments = (argument for check in step.checks for argument in check.run)
    missing = prompts.missing(d.state, arguments) if checked else None
    d.emit(
        f.OutcomeParsed(
            step=name,
            outcome=claim.outcome,
            source=claim.source,
            description=claim.description,
            repaired=repaired,
            detail=claim.detail,
            attempt=attempt,
            next=f.Move(kind="check", index=0) if checked and missing is None else None,
        )
    )
    if missing is not None:
        d.end(classify("error"), detail=no_value(name, missing))
    elif not checked:
        take(d, edge, claim)


def no_value(step: str | None, variable: str) -> str:
    """Why a run ends whose step needs what nothing has saved."""
    return f"Step '{step}' needs '{{{{{variable}}}}}', and nothing has saved that."


def edge_for(step: Step, outcome: str) -> Edge:
    """The edge of an outcome that the step allows."""
    edge = step.edge(outcome)
    assert edge is not None, "a loaded recipe has an edge for each outcome"
    return edge


def _needs_person(edge: Edge) -> bool:
    """Whether the edge hands the work to a person, so that no check is due."""
    if edge.exit is None:
        return False
    return classify(edge.exit, edge.class_, edge.message).class_ in _FOR_A_PERSON


def take(d: Decision, edge: Edge, claim: Claim) -> None:
    """Leave the step by ``edge``."""
    state, name = d.state, d.state.step
    assert state.recipe is not None and name is not None
    restart = edge.to == RESTART
    to = state.recipe.initial if restart else edge.to
    session_id = derive(state.origin, state.restart + 1, "session") if restart else None
    stalled = progress.stalled(state, claim)
    d.emit(
        f.EdgeTaken(
            step=name,
            visit=state.visits[name],
            outcome=claim.outcome,
            source=claim.source,
            attempts=state.attempts,
            description=claim.description,
            detail=claim.detail,
            to=edge.to,
            exit=edge.exit,
            session_id=session_id,
            returns=edge.returns,
            next=f.Move(kind="enter", step=to) if to is not None else None,
        )
    )
    if stalled is not None:
        d.emit(stalled)
    if edge.exit is not None:
        ending = classify(edge.exit, edge.class_, edge.message, step=name)
        # Who has to go on from here needs all that the agent said, such as its questions.
        words = claim.detail if ending.class_ in _FOR_A_PERSON else ""
        d.end(ending, detail=claim.description or words)
    elif restart:
        limits.stop_restarts(d)
