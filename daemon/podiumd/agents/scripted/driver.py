"""The scripted driver: plays a file of turns inside the daemon, with no agent and no model.

For trying recipes out, for demos and for tests. Its actions are real: files are written, commands
run. A journal in the turn's directory shows after a crash what became of the turn, and how far its
run has played the script.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from podiumd.agents.halves import Host, SettingFault
from podiumd.agents.scripted.journal import Journal, Plays, read_journal
from podiumd.agents.scripted.kind import SCRIPTED, ScriptedSettings
from podiumd.agents.scripted.script import (
    Script,
    ScriptError,
    demo_script,
    load_script,
    parse_script,
)
from podiumd.agents.scripted.turn import ScriptedTurnRun
from podiumd.agents.settings import of_home
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import PendingTurn, TurnRequest, TurnStatus
from podiumd.drivers.in_process_turn import played
from podiumd.tools.process.processes import sweep

ENDING_SECONDS = 15.0
"""Playing ends at once, or with its command within 2 s; a sweep takes at most 8 s."""


def make(host: Host) -> ScriptedDriver:
    """Make the driver of one scripted agent. Raises ``SettingFault`` where its file cannot be
    used."""
    script = check(host.settings(), host.environ)
    file = of_home(host.settings().script, host.environ)
    return ScriptedDriver(script or demo_script(), file, host.agent)


def check(settings: ScriptedSettings, environ: Mapping[str, str]) -> Script | None:
    """Read the file that the settings name, if they name one. Raises ``SettingFault``."""
    file = of_home(settings.script, environ)
    try:
        return load_script(Path(file)) if file else None
    except ScriptError as error:
        raise SettingFault("script", str(error)) from None


class ScriptedDriver:
    """Plays ``script`` (the default of every turn that brings none of its own), of ``file``, as the
    agent of that name."""

    name = SCRIPTED.name
    capabilities = Capabilities(
        structured_output=True,
        approvals=True,
        interrupt=True,
        steer=True,
        resume=True,
        fork=True,
        read_only_tools=True,
        tool_lists=True,
        deny_words=True,
        survives_daemon=False,
        hooks=True,
        system_text=True,
        exactly_once="agent",
        own_tools="inside",
        usage="cost",
    )

    def __init__(self, script: Script, file: str = "", agent: str = SCRIPTED.name) -> None:
        self._script = script
        self._file = file or "demo.toml"
        self._agent = agent
        self._plays = Plays(agent)

    @asynccontextmanager
    async def turn(self, request: TurnRequest) -> AsyncIterator[ScriptedTurnRun]:
        """Play one turn; see ``podiumd.drivers.base.Driver.turn``.

        Raises ``ScriptError`` where ``request.script`` is no valid script.
        """
        script, file = self._script, self._file
        if request.script is not None:
            file = request.script_file or "the turn's script"
            script = parse_script(request.script, file)
        directory = Path(request.directory)
        if request.first and not request.goes_on:
            self._plays.none_yet(request.run_id)
        plays = self._plays.of(directory.parent, request.run_id)
        index, ran = script.choose(request.prompt, plays.used), 0
        if request.goes_on and plays.cut is not None and plays.cut < len(script.turns):
            index = script.resume(request.prompt, plays.used, plays.cut)
            ran = plays.ran if index == plays.cut else 0
        chosen = None if index is None else script.turns[index]
        run = ScriptedTurnRun(request, chosen, file, Journal(directory, self._agent), ran)
        await run.journal.started(request.run_id, index, ran)
        plays.begun(index)
        try:
            async with played(run, request.turn_id, ENDING_SECONDS):
                yield run
        finally:
            if run.ended_with_daemon:
                plays.cut_off(index, run.ran)

    def reattach(self, pending: PendingTurn) -> AbstractAsyncContextManager[ScriptedTurnRun]:
        """Refuse to reattach: a scripted turn ends with its daemon. Raises ``RuntimeError``."""
        raise RuntimeError(f"turn {pending.turn_id} is scripted and ended with its daemon")

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look into the turn's journal; commands that outlived their daemon are ended first."""
        stopped = tuple(await sweep(pending.turn_id))
        found = read_journal(Path(pending.directory))
        if found.report is not None:
            return TurnStatus(state="finished", report=found.report, prompt_recorded=True)
        if not found.started:
            return TurnStatus(state="absent", detail="the turn was never begun")
        if found.called and not found.acted:
            # Played from its beginning it makes the same calls, under the same names: those that
            # are stored are answered, not done again.
            return TurnStatus(state="absent", detail="it had called tools of Podium's own alone")
        detail = "the daemon ended while it played this turn"
        return TurnStatus(
            state="broken",
            prompt_recorded=True,
            session_exists=True,
            tool_begun=found.acted,
            detail=detail,
            report=TurnReport(
                kind="broken",
                detail=detail,
                prompt_recorded=True,
                tool_begun=found.acted,
                background_stopped=stopped,
            ),
        )

    async def available(
        self, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> str | None:
        """Always: it needs no program."""
        return None

    def transcript(
        self, session_id: str, working_directory: str, environment: Mapping[str, str]
    ) -> Path | None:
        """Return ``None``: scripted sessions have no transcript."""
        return None
