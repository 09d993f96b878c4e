"""The native agent's driver: a turn runs inside the daemon, and the next daemon goes on with it.

A turn ends with its daemon. All that was decided in it is stored among the facts of its run, so
the next daemon enters the same turn once more and goes on at the next thing to be done.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import trio

from podiumd.agents.halves import Host
from podiumd.agents.native.assembling import Workshop, assemble
from podiumd.agents.native.kind import MODES, NATIVE, SESSIONS
from podiumd.agents.native.model.endpoint import problem
from podiumd.agents.native.transcript import SessionFile
from podiumd.agents.native.user_channel import UserChannel
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.core.run.native_loop_facts import Words
from podiumd.core.run.native_loop_state import LoopState
from podiumd.drivers.base import JournalClosed, PendingTurn, TurnRequest, TurnStatus
from podiumd.drivers.in_process_turn import InProcessTurn, played
from podiumd.tools.agent.workspace import Refused
from podiumd.tools.commit.index_lock import settle_index
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process.processes import sweep

ENDING_SECONDS: Final = 40.0
"""A command ends within 5 s, the last rows are written within 20 s, a sweep takes at most 8 s."""

_is_uuid: Final = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


class NativeTurn(InProcessTurn):
    """Implements ``podiumd.drivers.base.Turn``.

    Parameters:
        work: does the turn, to its end, and reports it.
        wind_up: reports a turn that was stopped, after what has to be noted down; bounded.
    """

    def __init__(
        self,
        channel: UserChannel,
        work: Callable[[], Awaitable[TurnReport]],
        wind_up: Callable[[], Awaitable[TurnReport]],
    ) -> None:
        super().__init__(channel)
        self._channel = channel
        self._work = work
        self._wind_up = wind_up

    async def steer(self, text: str, uuid: str) -> bool:
        """Accept words; the model gets them with its next request."""
        failpoint("steer.before-write")
        await trio.lowlevel.checkpoint()
        if self._stopped:
            return False
        taken = self._channel.say(Words(uuid, text))
        failpoint("steer.after-write")
        return taken

    async def run(self) -> None:
        """Do the turn to its end; never raises but for faults of this daemon."""
        report: TurnReport | None = None
        try:
            with self._scope:
                try:
                    report = await self._work()
                except JournalClosed:
                    report = None
            if report is None and not self._left:
                report = await self._wind_up()
        finally:
            self._channel.end()
            self._report = report
            self.finished.set()


def make(host: Host) -> NativeDriver:
    """Make the driver of one native agent."""
    return NativeDriver(
        Workshop(
            agent=host.agent,
            settings=host.settings,
            environ=host.environ,
            state=host.state,
            closed=host.closed,
        )
    )


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
        tool_lists=True,
        deny_words=True,
        hooks=True,
        system_text=True,
        compacts=True,
        permission_modes=MODES,
        exactly_once="facts",
        own_tools="inside",
        usage="cost",
    )

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

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
        journal = request.journal
        assert journal is not None, "the runtime gives every turn a journal"
        channel = UserChannel(request.prompt_uuid, journal.words, request.hooks)
        try:
            work = await assemble(request, journal, channel, session, self._shop)
        except Refused as refused:
            refuse = partial(_refused, str(refused))
            return NativeTurn(channel, refuse, refuse)
        return NativeTurn(channel, work.run, work.wind_up)

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
        return problem(self._shop.settings(), self._shop.environ, self._shop.agent)

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return the session's file in STATE, if it has one."""
        path = self._path(session_id)
        return path if path.exists() else None

    def _path(self, session_id: str) -> Path:
        if not _is_uuid(session_id):
            raise ValueError(f"{session_id[:80]!r} is no id of a session: expected a UUID")
        return self._shop.state / SESSIONS / f"{session_id.lower()}.jsonl"


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
