"""The driver of agents that speak the Agent Client Protocol, one process a turn.

The process reads a named pipe and writes a spool file in the turn's directory, so it works on when
the daemon stops, and the next daemon takes it up (``podiumd.drivers.spooled``).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import trio

from podiumd import __version__
from podiumd.agents.acp.dialect import AcpDialect
from podiumd.agents.acp.greeting import greeting
from podiumd.agents.acp.kind import ACP, AcpSettings, capabilities, records_of
from podiumd.agents.acp.minute import prepare, waiting
from podiumd.agents.acp.record import keep, last_words
from podiumd.agents.acp.script import Before, make_script, store, stored
from podiumd.agents.acp.script import check as check_request
from podiumd.agents.acp.settle import settle
from podiumd.agents.halves import Host, SettingFault
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.drivers.agent_process import AgentProcess, spawn
from podiumd.drivers.base import PendingTurn, TurnRequest, TurnStatus
from podiumd.drivers.dialect import Aftermath
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES, Look
from podiumd.drivers.spooled_driver import SpooledDriver
from podiumd.formats.acp import calls
from podiumd.observe.logs import log

__all__ = ["AcpDriver", "check", "greeting", "make"]


def make(host: Host) -> AcpDriver:
    """Make the driver of one agent."""
    return AcpDriver(host.watch, host.spool_megabytes, agent=host.agent, settings=host.settings)


def check(settings: AcpSettings, environ: Mapping[str, str]) -> None:
    """Refuse settings that name no program. Raises ``SettingFault``."""
    if not settings.command:
        raise SettingFault("command", "name the program and its arguments: nothing is known of it")


class AcpDriver(SpooledDriver[AcpDialect]):
    """Runs turns of one agent. For the parameters see ``SpooledDriver``; ``agent`` is its name,
    ``settings`` gives those in force."""

    name = ACP.name

    def __init__(
        self,
        watch: SpoolWatch,
        spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES,
        *,
        agent: str,
        settings: Callable[[], AcpSettings],
    ) -> None:
        self._agent = agent
        self._settings = settings
        super().__init__(
            watch,
            spool_megabytes,
            dialect=self._dialect_of,
            spawn=self._spawn,
            look_back=self._look_back,
        )

    @property
    def capabilities(self) -> Capabilities:
        """Return what the agent can do."""
        return capabilities(self._settings())

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Return why it cannot be run. It is not asked for its version: some take seconds."""
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            return f"`{command[0]}` is no program on the PATH that the daemon was started with"
        return None

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look what became of a turn; see ``podiumd.drivers.base.Driver.inspect``."""
        status = await settle(pending)
        if status.state in ("finished", "broken"):
            await self._keep(pending)
        return status

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return ``None``: the agent's own files are not read."""
        return None

    def _dialect_of(self, turn: TurnRequest | PendingTurn) -> AcpDialect:
        """Make the reader of a turn. Raises ``LookupError`` where nothing of it was stored."""
        if isinstance(turn, PendingTurn):
            script = stored(turn.directory)
            if script is None:
                raise LookupError(f"turn {turn.turn_id} has left no words for its agent")
            return AcpDialect(script)
        return AcpDialect(make_script(turn, self._settings(), self._agent, self._before(turn)))

    def _before(self, request: TurnRequest) -> Before | None:
        """Return what a new session is told that takes the place of one which cannot be gone on
        with: a recipe asks for an outcome once more where it could not be read."""
        if request.session_mode != "resume" or self._settings().resume != "no":
            return None
        return last_words(self._record(request))

    async def _spawn(self, request: TurnRequest, dialect: AcpDialect) -> AgentProcess:
        check_request(request, self._settings(), self._agent, self._before(request))
        store(dialect.script, request.directory)
        command = list(request.command)
        if dialect.script.how == "load" and "load-not-within-a-minute" in dialect.script.quirks:
            command = await self._after_its_minute(request, command)
        return await spawn(request, command, calls.initialize(__version__))

    async def _after_its_minute(self, request: TurnRequest, command: list[str]) -> list[str]:
        """Return the command, which waits where the session began within this minute."""
        home, session = request.environment.get("HOME", "/"), request.agent_session_id or ""
        copy = self._record(request).with_suffix(".copy")
        files = self._settings().session_files
        seconds = await trio.to_thread.run_sync(prepare, files, home, session, copy)
        return waiting(command, self._agent, seconds) if seconds else command

    def _look_back(self, turn: TurnRequest | PendingTurn) -> Look:
        async def look() -> Aftermath:
            await self._keep(turn)
            return Aftermath()

        return look

    async def _keep(self, turn: TurnRequest | PendingTurn) -> None:
        """Write the turn into its session's record, unless the agent's own files can be read."""
        if self._settings().session_format:
            return
        file = self._record(turn)
        try:
            await trio.to_thread.run_sync(keep, Path(turn.directory), turn.turn_id, file)
        except OSError as error:
            why = f"{error.strerror}: {file}"
            log("A turn is not in its session's record", "error", turn_id=turn.turn_id, reason=why)

    def _record(self, turn: TurnRequest | PendingTurn) -> Path:
        """Return the record of a turn's session, by the turn's directory: STATE/turns/TURN_ID."""
        state = Path(turn.directory).parents[1]
        return records_of(self._agent, state) / f"{turn.session_id}.jsonl"
