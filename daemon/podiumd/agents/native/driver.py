"""The native agent's driver: a turn runs inside the daemon, and the next daemon goes on with it.

A turn ends with its daemon. All that was decided in it is stored among the facts of its run, so
the next daemon enters the same turn once more and goes on at the next thing to be done.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import trio

from podiumd.agents.halves import Host
from podiumd.agents.native.assembling import Workshop, assemble
from podiumd.agents.native.kind import MODES, NATIVE, SESSIONS, NativeSettings
from podiumd.agents.native.model.endpoint import problem
from podiumd.agents.native.transcript import SessionFile
from podiumd.agents.native.turn import NativeTurn
from podiumd.agents.native.user_channel import UserChannel
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.core.run.native_loop_state import LoopState
from podiumd.drivers.base import PendingTurn, TurnRequest, TurnStatus
from podiumd.drivers.in_process_turn import played
from podiumd.tools.agent.workspace import Refused
from podiumd.tools.commit.index_lock import settle_index
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.process.processes import sweep
from podiumd.tools.sandbox.boundary import Placeholders
from podiumd.tools.sandbox.sandbox import Probe

ENDING_SECONDS: Final = 40.0
"""A command ends within 5 s, the last rows are written within 20 s, a sweep takes at most 8 s."""

_is_uuid: Final = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


class Surroundings(msgspec.Struct, frozen=True):
    """The native agent's view of the daemon.

    ``settings`` returns those in force; ``environ`` is the daemon's own environment, which has the
    model's key; ``state`` its STATE directory. ``closed`` are further files and directories of the
    daemon's own, which no agent may touch. ``agent`` is the agent's name.
    """

    settings: Callable[[], NativeSettings]
    environ: Mapping[str, str]
    state: Path
    closed: tuple[Path, ...] = ()
    agent: str = NATIVE.name


def make(host: Host) -> NativeDriver:
    """Make the driver of one native agent."""
    surroundings = Surroundings(host.settings, host.environ, host.state, host.closed, host.agent)
    return NativeDriver(surroundings)


class NativeDriver:
    """Runs turns of the native agent."""

    name = NATIVE.name
    capabilities = Capabilities(
        approvals=True,
        interrupt=True,
        steer=True,
        resume=True,
        fork=True,
        read_only_tools=True,
        hooks=True,
        system_text=True,
        compacts=True,
        permission_modes=MODES,
        exactly_once="facts",
        own_tools="inside",
        usage="cost",
    )

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._probe = Probe()
        self._committing = LineUp()
        self._placeholders = Placeholders()

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncIterator[NativeTurn]:
        """Run one turn; see ``podiumd.drivers.base.Driver.turn``."""
        origin = None
        if request.session_mode == "fork" and request.fork_from is not None:
            origin = self._path(request.fork_from)
        async with _open(SessionFile(self._path(request.session_id), origin)) as session:
            turn = await self._made(request, session)
            async with played(turn, request.turn_id, ENDING_SECONDS):
                yield turn

    async def _made(self, request: TurnRequest, session: SessionFile) -> NativeTurn:
        here = self._surroundings
        journal = request.journal
        assert journal is not None, "the runtime gives every turn a journal"
        people = UserChannel(request.prompt_uuid, journal.words, request.hooks)
        closed = (here.state, *here.closed)
        workshop = Workshop(
            here.settings(),
            here.environ,
            closed,
            self._probe,
            self._committing,
            self._placeholders,
            here.agent,
        )
        try:
            work = await assemble(request, journal, people, session, workshop)
        except Refused as refused:
            refuse = partial(_refused, str(refused))
            return NativeTurn(people, refuse, refuse)
        return NativeTurn(people, work.run, work.wind_up)

    def reattach(self, pending: PendingTurn) -> AbstractAsyncContextManager[NativeTurn]:
        """Refuse to reattach: a native turn ends with its daemon. Raises ``RuntimeError``."""
        raise RuntimeError(f"turn {pending.turn_id} is native and ended with its daemon")

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """End what the turn has left running, and bring the index up to a commit of it; then it
        goes on from its stored facts.

        Only a command that was cut off in a step that must not be repeated unseen breaks it off.
        """
        stopped = await sweep(pending.turn_id)
        await settle_index(pending.working_directory, pending.turn_id)
        if pending.irreversible and _cut_off_command(pending.loop):
            detail = "the daemon ended while a command of this turn ran"
            report = TurnReport(
                kind="broken",
                detail=detail,
                cost_usd=pending.loop.cost_usd,
                prompt_recorded=True,
                tool_begun=True,
                background_stopped=tuple(stopped),
                files=pending.loop.files,
            )
            return TurnStatus(
                state="broken",
                detail=detail,
                report=report,
                prompt_recorded=True,
                session_exists=True,
                tool_begun=True,
            )
        return TurnStatus(state="absent", detail="it goes on from what is stored")

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Return ``None`` if a model can be asked, as far as settings and environment show."""
        here = self._surroundings
        return problem(here.settings(), here.environ, here.agent)

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return the session's file in STATE, if it has one."""
        path = self._path(session_id)
        return path if path.exists() else None

    def _path(self, session_id: str) -> Path:
        if not _is_uuid(session_id):
            raise ValueError(f"{session_id[:80]!r} is no id of a session: expected a UUID")
        return self._surroundings.state / SESSIONS / f"{session_id.lower()}.jsonl"


@asynccontextmanager
async def _open(session: SessionFile) -> AsyncIterator[SessionFile]:
    """Open a session's file on a thread: it is read whole. Raises ``OSError``."""
    await trio.to_thread.run_sync(session.__enter__)
    try:
        yield session
    finally:
        session.__exit__()


async def _refused(reason: str) -> TurnReport:
    """Build the end of a turn that cannot work in its place."""
    await trio.lowlevel.checkpoint()
    return TurnReport(kind="failed", detail=reason)


def _cut_off_command(loop: LoopState) -> bool:
    """Return whether a command was begun whose end is unknown."""
    due = loop.present.due if loop.present is not None else None
    if due is None or loop.present is None:
        return False
    begun = loop.present.actions[due].intended
    return begun is not None and not begun.changes
