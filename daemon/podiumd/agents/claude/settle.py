"""The outcome of a ``claude`` turn whose end was never recorded. Looks, repeats nothing.

The spool comes first: a tool that had begun stands there before its effect is on disk, while the
transcript is written in batches, some 100 ms later. Only then the transcript is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.agents.claude.files import find_transcript, look_back, trace
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.agent_process import end_leftovers
from podiumd.drivers.base import PendingTurn, TurnStatus
from podiumd.drivers.dialect import Ending
from podiumd.drivers.reattach import find_agent, replay


async def settle(pending: PendingTurn) -> TurnStatus:
    """Say what became of the turn; what outlived a dead agent is ended first."""
    agent = await find_agent(pending)
    if agent is not None:
        return TurnStatus(state="running", pid=agent.pid, proc_start=agent.start)
    directory = Path(pending.directory)
    stopped = await end_leftovers(pending.turn_id, directory)
    dialect = ClaudeDialect((pending.prompt_uuid, *pending.sent_uuids))
    torn = await replay(pending, dialect)
    transcript = find_transcript(pending.session_id, pending.working_directory, pending.environment)
    steers = tuple(uuid for uuid in pending.sent_uuids if uuid != pending.prompt_uuid)
    found, delivered = await trace(transcript, pending.prompt_uuid, steers)
    aftermath = await look_back(transcript, pending.prompt_uuid, 0)
    report = dialect.report(Ending(background_stopped=stopped, aftermath=aftermath, torn=torn))
    state, detail = _verdict(pending, dialect, report, followed=found.followed)
    if state == "broken":
        report = replace(report, kind="broken", detail=detail)
    return TurnStatus(
        state=state,
        report=None if state == "absent" else report,
        session_exists=transcript is not None,
        prompt_recorded=found.recorded,
        tool_begun=dialect.tool_begun,
        detail=detail,
        delivered_steers=delivered,
    )


def _verdict(
    pending: PendingTurn, dialect: ClaudeDialect, report: TurnReport, *, followed: bool
) -> tuple[Literal["absent", "finished", "broken"], str]:
    if dialect.reader.has_result and report.kind not in ("broken", "interrupted"):
        unknown = [
            denial.tool
            for denial in report.denials
            if denial.tool_use_id not in pending.denied_tool_uses | dialect.reader.hook_refusals
        ]
        if unknown:
            return "broken", f"{', '.join(unknown)} was denied, and no person had denied it"
        return "finished", ""
    if dialect.reader.has_result or report.bad_lines:
        return "broken", report.detail
    if dialect.tool_begun:
        return "broken", "the agent ended after it had begun with a tool"
    if followed:
        return "broken", "the agent ended after it had begun its answer"
    return "absent", "the agent ended before it had begun its answer"
