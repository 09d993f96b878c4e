"""The outcome of a turn whose end was never recorded. Looks at its spool, repeats nothing.

An agent's own files are not read. What its spool shows is all there is: a prompt whose mark was
answered has arrived, and what came of it beyond the spool is unknown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from podiumd.agents.acp.dialect import AcpDialect
from podiumd.agents.acp.script import stored
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
    dialect = AcpDialect(script)
    torn = await replay(pending, dialect)
    report = dialect.report(Ending(background_stopped=stopped, torn=torn))
    state, detail = _verdict(dialect)
    if state == "broken":
        report = replace(report, kind="broken", detail=detail)
    exists = dialect.taken_up or (script.how in ("resume", "load") and not dialect.hopeless)
    return TurnStatus(
        state=state,
        report=None if state == "absent" else report,
        session_exists=exists,
        prompt_recorded=dialect.taken_up,
        tool_begun=dialect.tool_begun,
        detail=detail,
        agent_session_id=(dialect.opened or script.session) if exists else None,
    )


def _verdict(dialect: AcpDialect) -> tuple[Literal["absent", "finished", "broken"], str]:
    ends = dialect.ends
    if ends.refused is not None:
        return "finished", ""
    if ends.end is not None and ends.end.kind != "interrupted":
        return "finished", ""
    if dialect.taken_up or dialect.tool_begun:
        return "broken", "the agent ended after it had taken up the prompt"
    if dialect.weak:
        return "broken", "the agent ended, and it answers no marks: it may have had the prompt"
    return "absent", "the agent ended before it had taken up the prompt"
