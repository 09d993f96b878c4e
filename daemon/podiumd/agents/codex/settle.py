"""The outcome of a turn of Codex whose end was never recorded. Looks, repeats nothing.

The spool comes first, then the session file, which names our prompt before the model is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from podiumd.agents.codex.dialect import CodexDialect
from podiumd.agents.codex.files import Rollouts, find_rollout, look_back, real_path
from podiumd.agents.codex.script import stored
from podiumd.drivers.agent_process import end_leftovers
from podiumd.drivers.base import PendingTurn, TurnStatus
from podiumd.drivers.dialect import Ending
from podiumd.drivers.reattach import find_agent, replay


async def settle(pending: PendingTurn) -> TurnStatus:
    """Say what became of the turn; what outlived a dead agent is ended first."""
    agent = await find_agent(pending)
    if agent is not None:
        return TurnStatus(state="running", pid=agent.pid, proc_start=agent.start)
    stopped = await end_leftovers(pending.turn_id, Path(pending.directory))
    script = stored(pending.directory)
    if script is None:
        return TurnStatus(state="absent", detail="the agent was not begun")
    called = Rollouts(pending.environment).look_up
    dialect = CodexDialect(script, pending.sent_uuids, called, real_path)
    torn = await replay(pending, dialect)
    thread = dialect.opened or pending.agent_session_id or ""
    rollout = find_rollout(thread, pending.environment)
    steers = tuple(uuid for uuid in pending.sent_uuids if uuid != pending.prompt_uuid)
    aftermath, found = await look_back(rollout, pending.prompt_uuid, script.since, steers)
    report = dialect.report(Ending(background_stopped=stopped, aftermath=aftermath, torn=torn))
    state, detail = _verdict(dialect, recorded=found.recorded)
    if state == "broken":
        report = replace(report, kind="broken", detail=detail)
    return TurnStatus(
        state=state,
        report=None if state == "absent" else report,
        session_exists=rollout is not None,
        prompt_recorded=found.recorded,
        tool_begun=dialect.tool_begun,
        detail=detail,
        delivered_steers=found.delivered,
        agent_session_id=thread if rollout is not None else None,
    )


def _verdict(
    dialect: CodexDialect, *, recorded: bool
) -> tuple[Literal["absent", "finished", "broken"], str]:
    ends = dialect.ends
    if ends.refused is not None:
        return "finished", ""
    if ends.turn is not None and ends.turn.status != "interrupted":
        return "finished", ""
    if recorded or dialect.tool_begun or dialect.taken_up:
        return "broken", "the agent ended after it had taken up the prompt"
    return "absent", "the agent ended before it had taken up the prompt"
