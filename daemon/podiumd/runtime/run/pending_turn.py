"""A turn whose end is not recorded: what facts know of it, and a finding that can be judged."""

from __future__ import annotations

from msgspec.structs import replace

from podiumd.core.reply.report import TurnReport
from podiumd.core.run import facts as f
from podiumd.drivers import base
from podiumd.runtime.fact_reader import facts_of
from podiumd.runtime.run import hook_runner
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.turn_request import served_tools


def pending_turn(actor: RunActor, settled: base.TurnStatus | None = None) -> base.PendingTurn:
    """Build what facts know of the active turn, for a driver to settle or take up.

    A living process that ``settled`` found goes before the one that is stored: for a turn that was
    begun once more that may be its first, which is dead.
    """
    state = actor.state
    active = state.turn
    assert active is not None
    intent, started = active.intent, active.started
    agent = actor.context.agents[intent.agent]
    denied = {
        q.tool_use_id
        for q in state.asking
        if q.turn_id == intent.turn_id and q.answer in ("deny", "no") and q.tool_use_id
    }
    found = settled if settled is not None and settled.state == "running" else started
    return base.PendingTurn(
        turn_id=intent.turn_id,
        session_id=intent.session_id,
        session_mode="fork" if intent.fork_from is not None else "resume",
        working_directory=state.start.working_directory,
        prompt_uuid=intent.prompt_uuid,
        directory=str(actor.context.turn_directory(intent.turn_id)),
        environment=agent.environment(intent.turn_id),
        pid=found.pid if found is not None else None,
        proc_start=found.proc_start if found is not None else None,
        sent_uuids=(
            intent.prompt_uuid,
            *(s.uuid for s in state.steers if s.turn_id == intent.turn_id),
        ),
        denied_tool_uses=frozenset(denied),
        idle_timeout_seconds=agent.idle_timeout_seconds,
        loop=active.loop,
        irreversible=state.current is not None and state.current.irreversible,
        served=served_tools(state, intent),
        hooks=hook_runner.points(state, intent),
        agent_session_id=state.agent_sessions.get(intent.session_id),
    )


async def lost_words(actor: RunActor) -> dict[str, str]:
    """Find words that the agent of the active turn had taken up, and its record lacks.

    Its process died before it wrote them down, so the next process of the session has never got
    them.
    """
    turn = actor.state.turn
    agent = None if turn is None else actor.context.agents.get(turn.intent.agent)
    if turn is None or agent is None or not agent.driver.capabilities.survives_daemon:
        return {}
    facts = await facts_of(actor.context.store, actor.run_id)
    said = {
        fact.uuid: fact.text
        for fact in facts
        if isinstance(fact, f.SteerIntended) and fact.turn_id == turn.intent.turn_id
    }
    taken = [
        uuid for uuid in said if f.EffectEnded(effect=f"steer:{uuid}", state="delivered") in facts
    ]
    if not taken:
        return {}
    pending = replace(pending_turn(actor), sent_uuids=(turn.intent.prompt_uuid, *taken))
    settled = await agent.driver.inspect(pending)
    if settled.state not in ("absent", "broken"):
        return {}
    return {uuid: said[uuid] for uuid in taken if uuid not in settled.delivered_steers}


def with_report(settled: base.TurnStatus) -> base.TurnStatus:
    """Add a report to a broken turn of which none is left, so that it can be judged."""
    if settled.report is not None or settled.state == "running":
        return settled
    report = TurnReport(
        kind="broken",
        detail=settled.detail,
        prompt_recorded=settled.prompt_recorded,
        tool_begun=settled.tool_begun,
    )
    return replace(settled, report=report)
