"""The driver of Claude Code: the real ``claude``, one process a turn, over stream-json.

The process reads a named pipe and writes a spool file in the turn's directory, so it works on
when the daemon stops, and the next daemon takes it up (``podiumd.drivers.spooled``).
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import trio
from msgspec.structs import replace

from podiumd.agents.claude.arguments import claude_arguments, claude_environment
from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.agents.claude.files import find_transcript, look_back, size_of
from podiumd.agents.claude.inputs import write_inputs
from podiumd.agents.claude.settle import find_agent, settle
from podiumd.agents.claude.tools import hooks_line
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.agent_process import AgentProcess, spawn
from podiumd.drivers.base import PendingTurn, Turn, TurnRequest, TurnStatus
from podiumd.drivers.dialect import Aftermath
from podiumd.drivers.failed_start import FailedStart
from podiumd.drivers.fifo import FifoError
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES, SpooledTurn, running
from podiumd.tools.files.disk import is_full

VERSION_SECONDS = 10.0


class ClaudeDriver:
    """Runs turns of Claude Code; ``watch`` is the service that wakes their followers.

    ``spool_megabytes`` bounds the output of a turn that starts, or is taken up, now.
    """

    name = "claude"
    capabilities = Capabilities(
        structured_output=True,
        approvals=True,
        interrupt=True,
        steer=True,
        resume=True,
        fork=True,
        cost=True,
        read_only_tools=True,
        survives_daemon=True,
        tools=True,
        hooks=True,
        system_text=True,
        permission_modes=(
            "default",
            "acceptEdits",
            "auto",
            "bypassPermissions",
            "dontAsk",
            "manual",
            "plan",
        ),
    )

    def __init__(
        self, watch: SpoolWatch, spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES
    ) -> None:
        self._watch = watch
        self._spool_megabytes = spool_megabytes

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncIterator[Turn]:
        """Run one turn; see ``podiumd.drivers.base.Driver.turn``.

        A deadline for the whole turn is the caller's: ``interrupt()`` it and leave the context. A
        turn that was interrupted reports ``interrupted``, whatever the agent had done by then. An
        agent that cannot be started at all is a turn without events whose report is ``failed``.
        """
        dialect = ClaudeDialect([request.prompt_uuid], request.served)
        # Before the prompt, so that no tool is used unasked.
        hooks = hooks_line(request.hooks)
        prompt = dialect.prompt(request.prompt, request.prompt_uuid)
        directory = Path(request.directory)
        since = size_of(self._transcript_of(request))
        failure = ""
        process: AgentProcess | None = None
        with self._watch.follow(directory) as bell:
            try:
                write_inputs(request)
                process = await spawn(
                    replace(request, environment=claude_environment(request)),
                    claude_arguments(request),
                    *((prompt,) if hooks is None else (hooks, prompt)),
                )
            except (OSError, FifoError, ValueError) as error:
                if is_full(error):
                    raise
                failure = f"the agent cannot be run: {error}"
            if process is None:
                yield FailedStart(TurnReport(kind="failed", detail=failure))
                return
            turn = SpooledTurn(
                directory=directory,
                dialect=dialect,
                process=process,
                bell=bell,
                idle_timeout=request.idle_timeout_seconds,
                spool_megabytes=self._spool_megabytes(),
            )

            async def look() -> Aftermath:
                return await look_back(self._transcript_of(request), request.prompt_uuid, since)

            async with running(turn, process, bell, request.turn_id, look):
                yield turn

    @asynccontextmanager
    async def reattach(self, pending: PendingTurn) -> AsyncIterator[SpooledTurn]:
        """Attach to the turn of an earlier daemon; also where it has ended in the meantime.

        Events of lines before ``pending.offset`` are not told again; what the agent still waits
        for is: approvals, calls of Podium's tools, hooks.

        Raises ``LookupError`` where no process of the turn is known or found: ``settle`` it.
        """
        process = self._found(pending)
        sent = (pending.prompt_uuid, *pending.sent_uuids)
        dialect = ClaudeDialect(sent, pending.served)
        directory = Path(pending.directory)
        with self._watch.follow(directory) as bell:
            turn = SpooledTurn(
                directory=directory,
                dialect=dialect,
                process=process,
                bell=bell,
                idle_timeout=pending.idle_timeout_seconds,
                spool_megabytes=self._spool_megabytes(),
            )

            async def look() -> Aftermath:
                path = find_transcript(
                    pending.session_id, pending.working_directory, pending.environment
                )
                return await look_back(path, pending.prompt_uuid, 0)

            async with running(turn, process, bell, pending.turn_id, look):
                await turn.catch_up(pending.offset)
                yield turn

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look what became of a turn; see ``podiumd.drivers.base.Driver.settle``.

        Where no pid is recorded the caller has made sure that the session's lease can be taken,
        or waits for the marker to appear: a child between fork and exec holds the lease and does
        not carry the marker yet.
        """
        return await settle(pending)

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Return why ``command`` cannot be run as Claude Code, ``None`` where it can.

        Asks the program for its version (15 ms), at most 10 s.
        """
        program = shutil.which(command[0], path=environment.get("PATH"))
        if program is None:
            return f"`{command[0]}` is no program on the PATH that the daemon was started with"
        try:
            with trio.fail_after(VERSION_SECONDS):
                done = await trio.run_process(
                    [program, *command[1:], "--version"],
                    env=dict(environment),
                    stdin=b"",
                    capture_stdout=True,
                    capture_stderr=True,
                    check=False,
                )
        except OSError as error:
            return f"{program} cannot be run: {error.strerror}"
        except trio.TooSlowError:
            return f"`{program} --version` did not answer within {VERSION_SECONDS:g} s"
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-500:]
            return f"`{program} --version` ended with status {done.returncode}: {said}"
        return None

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return the session's transcript, ``None`` where there is none yet."""
        return find_transcript(session_id, working_directory, environment)

    def _transcript_of(self, request: TurnRequest) -> Path | None:
        return find_transcript(request.session_id, request.working_directory, request.environment)

    def _found(self, pending: PendingTurn) -> AgentProcess:
        agent = find_agent(pending)
        if agent is None:
            raise LookupError(f"turn {pending.turn_id} has no living agent process")
        return AgentProcess(agent, agent.pid)
