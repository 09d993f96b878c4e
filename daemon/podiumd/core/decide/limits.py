"""The hard limits of a run: what is left, and what happens when nothing is."""

from __future__ import annotations

from podiumd.core.decide.decision import Decision
from podiumd.core.recipe.exits import classify
from podiumd.core.run import facts as f
from podiumd.core.run.state import RunState


def _allowed(state: RunState, name: str, limit: float) -> float:
    """Return a limit, doubled once a person has granted the same again."""
    return limit * 2 if name in state.granted else limit


def seconds_left(state: RunState) -> float | None:
    """Return the seconds of work left to the run, or ``None`` without a limit."""
    minutes = state.limits.max_minutes
    if minutes is None:
        return None
    return max(0.0, _allowed(state, "max-minutes", minutes) * 60.0 - state.seconds)


def budget_left(state: RunState) -> float | None:
    """US dollars left to the run, or ``None`` without a limit."""
    cost = state.limits.max_cost_usd
    if cost is None:
        return None
    return max(0.0, _allowed(state, "max-cost", cost) - state.cost_usd)


def spent(d: Decision) -> bool:
    """Stop, or ask, where time or money is used up. Returns whether the run must not go on."""
    limits = d.state.limits
    if limits.max_minutes is not None and seconds_left(d.state) == 0.0:
        stop_at(d, "max-minutes", limits.max_minutes)
        return True
    if limits.max_cost_usd is not None and budget_left(d.state) == 0.0:
        stop_at(d, "max-cost", limits.max_cost_usd)
        return True
    return False


def stop_restarts(d: Decision) -> None:
    """Stop, or ask, where the restart that an edge has just made is one too many."""
    most = d.state.limits.max_restarts
    if d.state.restart > _allowed(d.state, "max-restarts", most):
        stop_at(d, "max-restarts", most)


def entry_refused(d: Decision, step: str) -> bool:
    """Stop at the limit that one more entry into ``step`` would pass; return whether there is one.

    The total is tested first.
    """
    state, limits = d.state, d.state.limits
    total, visits = limits.max_total_steps, limits.max_step_visits
    if total is not None and state.step_count + 1 > _allowed(state, "max-total-steps", total):
        stop_at(d, "max-total-steps", total)
        return True
    name = f"max-step-visits-exceeded:{step}"
    if visits is not None and state.visits.get(step, 0) + 1 > _allowed(state, name, visits):
        stop_at(d, name, visits)
        return True
    return False


def stop_at(d: Decision, name: str, limit: float, *, detail: str = "") -> None:
    """Stop at the limit ``name``: end the run, or ask where the recipe says so.

    A limit that was granted once more is not asked for again.
    """
    reached = _allowed(d.state, name, limit)
    d.emit(f.LimitHit(limit=name, count=reached))
    if d.state.limits.on_limit == "ask" and name not in d.state.granted:
        d.ask("limit", f"The limit {name} ({reached:g}) is reached.", about=name, detail=detail)
    else:
        d.end(classify(name, limit=int(reached)), detail=detail)
