"""The driver of Codex: the real ``codex app-server``, one process a turn.

The process reads a named pipe and writes a spool file in the turn's directory, so it works on when
the daemon stops, and the next daemon takes it up (``podiumd.drivers.spooled``).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

import trio
from msgspec.structs import replace

from podiumd import __version__
from podiumd.agents.codex.dialect import CodexDialect
from podiumd.agents.codex.files import Rollouts, find_rollout, look_back, real_path, size_of
from podiumd.agents.codex.greeting import greeting, traces
from podiumd.agents.codex.kind import CODEX, CodexSettings
from podiumd.agents.codex.script import Script, make_script, require_kept, store, stored
from podiumd.agents.codex.settle import settle
from podiumd.agents.codex.version import Versions
from podiumd.agents.halves import Host
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.drivers.agent_process import AgentProcess, spawn
from podiumd.drivers.base import PendingTurn, TurnRequest, TurnStatus
from podiumd.drivers.dialect import Aftermath
from podiumd.drivers.fifo import require_short
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.spooled import SPOOL_MEGABYTES, Look
from podiumd.drivers.spooled_driver import SpooledDriver
from podiumd.formats.codex import calls
from podiumd.tools.git.pinned_settings import repository_at

__all__ = ["CodexDriver", "greeting", "make", "traces"]

ARGUMENTS: Final = (
    # The version is the person's to choose, and a turn has one prompt: no goal goes on after it.
    *("-c", "check_for_update_on_startup=false"),
    *("--disable", "goals"),
    "app-server",
)

TEMPORARY: Final = "tmp"
"""The directory for temporary files of a turn, in its own: its sandbox lets no other be written."""

_ANY_THREAD: Final = "00000000-0000-0000-0000-000000000000"
_MARK_BYTES: Final = 200
"""At most so long is what goes with the prompt in one write."""


def make(host: Host) -> CodexDriver:
    """Make the driver of one agent that is Codex."""
    return CodexDriver(host.watch, host.spool_megabytes, settings=host.settings)


class CodexDriver(SpooledDriver[CodexDialect]):
    """Runs turns of Codex. For the parameters see ``SpooledDriver``; ``settings`` are those in
    force."""

    name = CODEX.name
    capabilities = Capabilities(
        structured_output=True,
        approvals=True,
        interrupt=True,
        steer=True,
        resume=True,
        fork=True,
        read_only_tools=True,
        survives_daemon=True,
        compacts=True,
        names_sessions=True,
        exactly_once="agent",
        own_tools="mcp",
        usage="tokens",
        images="path",
    )

    def __init__(
        self,
        watch: SpoolWatch,
        spool_megabytes: Callable[[], int] = lambda: SPOOL_MEGABYTES,
        *,
        settings: Callable[[], CodexSettings] = CodexSettings,
    ) -> None:
        self._settings = settings
        self._versions = Versions()
        self._dialects: WeakValueDictionary[str, CodexDialect] = WeakValueDictionary()
        """Those of living turns, which know their threads."""
        super().__init__(
            watch,
            spool_megabytes,
            dialect=self._dialect_of,
            spawn=_spawn,
            look_back=self._look_back_of,
        )

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Return why it cannot be run: also a version that lacks what is used of its protocol."""
        fault = await super().available(command, environment)
        program = shutil.which(command[0], path=environment.get("PATH"))
        if fault is not None or program is None:
            return fault
        return await trio.to_thread.run_sync(self._versions.fault, program, environment)

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look what became of a turn; see ``podiumd.drivers.base.Driver.inspect``."""
        return await settle(pending)

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return the thread's session file, ``None`` where there is none yet."""
        return find_rollout(session_id, environment)

    def _dialect_of(self, turn: TurnRequest | PendingTurn) -> CodexDialect:
        """Make the reader of a turn. Raises ``LookupError`` where nothing of it was stored."""
        called = Rollouts(turn.environment).look_up
        if isinstance(turn, PendingTurn):
            script = stored(turn.directory)
            if script is None:
                raise LookupError(f"turn {turn.turn_id} has left no words for its agent")
            dialect = CodexDialect(script, turn.sent_uuids, called, real_path)
        else:
            dialect = CodexDialect(_script_of(turn, self._settings()), (), called, real_path)
        self._dialects[turn.turn_id] = dialect
        return dialect

    def _look_back_of(self, turn: TurnRequest | PendingTurn) -> Look:
        return _look_back(turn, self._dialects[turn.turn_id])


def _script_of(request: TurnRequest, settings: CodexSettings) -> Script:
    thread = request.agent_session_id if request.session_mode == "resume" else None
    since = size_of(find_rollout(thread or "", request.environment))
    roots = _roots_of_git(request.working_directory) if request.writes_git else ()
    return make_script(request, effort=settings.effort, roots=roots, since=since)


def _roots_of_git(working_directory: str) -> tuple[str, ...]:
    """Return the directories of git that a commit writes, which Codex's sandbox keeps read-only.

    A linked worktree has two: one with objects and branches, the other with HEAD and the index.
    """
    found = repository_at(working_directory)
    return () if found is None else tuple(dict.fromkeys((found.common, found.directory)))


async def _spawn(request: TurnRequest, dialect: CodexDialect) -> AgentProcess:
    require_kept(request)
    script = dialect.script
    require_short(script.prompt_line(_ANY_THREAD), b" " * _MARK_BYTES)
    store(script, request.directory)
    environment = {**request.environment, "TMPDIR": _make_temporary(request.directory)}
    return await spawn(
        replace(request, environment=environment),
        [*request.command, *ARGUMENTS],
        *calls.initialize(__version__),
        calls.read_account(),
        script.opening.encode(),
    )


def _make_temporary(directory: str) -> str:
    made = Path(directory, TEMPORARY)
    made.mkdir(mode=0o700, exist_ok=True)
    return str(made)


def _look_back(turn: TurnRequest | PendingTurn, dialect: CodexDialect) -> Look:
    async def look() -> Aftermath:
        thread = dialect.opened or turn.agent_session_id or ""
        rollout = find_rollout(thread, turn.environment)
        found, _ = await look_back(rollout, turn.prompt_uuid, dialect.script.since)
        return found

    return look
