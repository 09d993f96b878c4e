"""From a step's outcome to where it leads: checks first, then what it claims, then the edge."""

from __future__ import annotations

from podiumd.core.decide import claims, limits
from podiumd.core.decide.decision import Decision
from podiumd.core.ids import derive
from podiumd.core.prompts import conversation_prompts, prompts
from podiumd.core.recipe.exits import classify
from podiumd.core.recipe.model import CHECKS_FAILED, OTHER, RESTART, Edge, Step
from podiumd.core.reply.outcome import OutcomeError
from podiumd.core.run import facts as f
from podiumd.core.run import progress
from podiumd.core.run.state import Claim

_FOR_A_PERSON = ("needs-user", "blocked")


def claimed(d: Decision, claim: Claim, *, attempt: int, repaired: bool) -> None:
    """Take the agent's claim of how the step went: run the checks, or believe it."""
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
        leave(d, edge, claim)


def no_value(step: str | None, variable: str) -> str:
    """Return why a run ends whose step needs a value that nothing has saved."""
    return f"Step '{step}' needs '{{{{{variable}}}}}', and nothing has saved that."


def edge_for(step: Step, outcome: str) -> Edge:
    """Return the edge of an outcome that the step allows."""
    edge = step.edge(outcome)
    assert edge is not None, "a loaded recipe has an edge for each outcome"
    return edge


def _needs_person(edge: Edge) -> bool:
    """Return whether the edge hands the work to a person, so that no check is due."""
    if edge.exit is None:
        return False
    return classify(edge.exit, edge.class_, edge.message).class_ in _FOR_A_PERSON


def leave(d: Decision, edge: Edge, claim: Claim) -> None:
    """Leave the step by ``edge``, once the working tree is seen to be as that claims.

    Of a run whose tree was not seen before its first step, as those of earlier releases, nothing
    can be compared: it is believed.
    """
    state, name = d.state, d.state.step
    assert name is not None
    if edge.claims in (None, "none") or state.base is None:
        take(d, edge, claim)
        return
    d.emit(
        f.ClaimMade(
            step=name,
            visit=state.visits[name],
            claims=edge.claims or "",
            outcome=claim.outcome,
            source=claim.source,
            description=claim.description,
            detail=claim.detail,
            next=f.Move(kind="look"),
        )
    )


def looked(d: Decision, look: f.TreeLook) -> None:
    """Test the claim against the tree that was seen, and take its edge if it holds.

    Otherwise it goes where the recipe sends a failed check, or back to the agent, as often as a
    reply without an outcome may.
    """
    state, step, claim = d.state, d.state.current, d.state.claim
    assert step is not None and claim is not None and state.base is not None
    edge = edge_for(step, claim.outcome)
    d.emit(f.TreeSeen(why="claim", look=look))
    wrong = claims.refuted(edge.claims or "", state.base, look, accepted=state.accepted_dirty)
    if wrong is None:
        take(d, edge, claim)
        return
    judged = state.attempts + (step.kind == "talk")
    last = judged > state.limits.max_retries
    if step.kind in ("turn", "talk") and CHECKS_FAILED not in step.on:
        _back_to_the_agent(d, step, OutcomeError("not-so", wrong, returned=claim.outcome), judged)
        if not last:
            return
    failed = Claim(
        outcome=CHECKS_FAILED,
        source="check",
        description=f"'{claim.outcome}' is not so: {wrong}",
        detail=wrong,
    )
    take(d, edge_for(step, CHECKS_FAILED), failed)


def _back_to_the_agent(d: Decision, step: Step, fault: OutcomeError, attempt: int) -> None:
    """Report a false claim to the agent with what was seen, unless that was its last attempt."""
    again = f.Move(kind="turn", purpose="retry", fault=fault)
    if step.kind == "talk":
        again = f.Move(
            kind="turn", purpose="retry", original=conversation_prompts.refused(fault.message)
        )
    d.emit(
        f.OutcomeInvalid(
            step=d.state.step or "",
            error=fault.error,
            message=f"'{fault.returned}' is not so: {fault.message}",
            attempt=attempt,
            returned=fault.returned,
            expected=step.allowed_outcomes,
            next=again if attempt <= d.state.limits.max_retries else None,
        )
    )


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
        # The person who goes on from here needs all that the agent wrote, such as its questions.
        words = claim.detail if ending.class_ in _FOR_A_PERSON else ""
        d.end(ending, detail=claim.description or words)
    elif restart:
        limits.stop_restarts(d)
