"""What became of a turn of ``claude`` whose end was never recorded. Looks, repeats nothing.

The spool comes first: a tool that had begun stands there before its effect is on disk, while the
transcript is written in batches, some 100 ms later. Only then the transcript is asked.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import trio
from msgspec.structs import replace

from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.agents.claude.files import find_transcript, look_back, trace
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.agent_process import PIPE, SPOOL, end_leftovers
from podiumd.drivers.base import PendingTurn, TurnStatus
from podiumd.drivers.dialect import Ending
from podiumd.drivers.spool import SpoolReader
from podiumd.tools.process.processes import Identity, alive, carriers


def find_agent(pending: PendingTurn) -> Identity | None:
    """Return the turn's living agent process: the recorded one, else the one with the marker
    that has the turn's pipe as its stdin (the agent's own children carry the marker too).

    Where the recorded one is dead the turn may have been begun once more, with a pipe of its own,
    by a daemon that died before it had stored the new process.
    """
    pipe = Path(pending.directory, PIPE)
    if pending.pid is not None and pending.proc_start is not None:
        recorded = Identity(pending.pid, pending.proc_start)
        if alive(recorded):
            return recorded
        if not _later_than(recorded, pipe):
            return None
    marked = sorted(carriers(pending.turn_id), key=lambda one: one.start)
    return next((one for one in marked if _reads(one, pipe)), None)


async def settle(pending: PendingTurn) -> TurnStatus:
    """Say what became of the turn; what outlived a dead agent is ended first."""
    agent = find_agent(pending)
    if agent is not None:
        return TurnStatus(state="running", pid=agent.pid, proc_start=agent.start)
    directory = Path(pending.directory)
    stopped = await end_leftovers(pending.turn_id, directory)
    dialect, torn = await _replay(pending)
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


async def _replay(pending: PendingTurn) -> tuple[ClaudeDialect, bool]:
    """Read the whole spool; also says whether its last line is cut."""
    dialect = ClaudeDialect((pending.prompt_uuid, *pending.sent_uuids))
    try:
        spool = SpoolReader(Path(pending.directory, SPOOL))
    except FileNotFoundError:
        return dialect, False
    try:
        while not spool.at_end:
            for line in spool.read():
                dialect.feed(line.data)
            await trio.lowlevel.checkpoint()
        return dialect, spool.partial
    finally:
        spool.close()


if sys.platform == "linux":

    def _later_than(_identity: Identity, _pipe: Path) -> bool:
        return True  # what reads a pipe of an earlier attempt does not read this one

    def _reads(identity: Identity, pipe: Path) -> bool:
        try:
            return Path(f"/proc/{identity.pid}/fd/0").samefile(pipe)
        except OSError:
            return False

else:

    def _later_than(identity: Identity, pipe: Path) -> bool:
        """Whether the pipe was made after the process, and so for another; both in ms."""
        try:
            return pipe.stat().st_birthtime * 1000 > identity.start + 1
        except OSError:
            return False

    def _reads(_identity: Identity, _pipe: Path) -> bool:
        return True  # nothing tells: the earliest of the marked is the agent
