"""A scripted turn while it plays: prints its text, asks, writes files, runs commands, calls."""

from __future__ import annotations

import shlex
import subprocess
import textwrap
from pathlib import Path
from typing import Any, Literal

import trio
from msgspec.structs import replace

from podiumd.agents.scripted.journal import Journal, ended_with_daemon
from podiumd.agents.scripted.script import Call, ScriptedTurn, Write
from podiumd.core.excerpt import end
from podiumd.core.reply.report import Denial, EndKind, TurnReport
from podiumd.drivers.base import (
    ApprovalRequested,
    Output,
    OutputKind,
    PromptState,
    ToolCalled,
    TurnRequest,
)
from podiumd.drivers.in_process_turn import InProcessTurn
from podiumd.drivers.turn_channel import TurnChannel
from podiumd.tools.failpoints import failpoint

COMMAND_END_SECONDS = 2.0
FIRST_WORDS = 80


class _Ended(Exception):
    """The turn is over before its script is; carries its report."""

    def __init__(self, report: TurnReport) -> None:
        super().__init__(report.detail)
        self.report = report


class ScriptedTurnRun(InProcessTurn):
    """Implements ``podiumd.drivers.base.Turn``; ``run`` is run by the driver's nursery."""

    def __init__(
        self,
        request: TurnRequest,
        turn: ScriptedTurn | None,
        file: str,
        journal: Journal,
        ran: int = 0,
    ) -> None:
        """``ran``: an earlier daemon began so many of its commands, which are not run again."""
        super().__init__(TurnChannel(request.hooks))
        self.journal = journal
        self.ran = ran
        self._request = request
        self._turn = turn
        self._file = file
        self._waiting_steers: list[str] = []
        self._taken: list[str] = []
        self._denials: list[Denial] = []
        self._acted = False
        self._started_process = False
        self._uses = 0
        self._began = trio.current_time()

    @property
    def may_leave_processes(self) -> bool:
        """Return whether it has run a command.

        Processes that a daemon left when it died are ended before a turn is played again.
        """
        return self._started_process

    async def steer(self, text: str, uuid: str) -> bool:
        """Accept a message; it is taken at the next boundary between actions."""
        failpoint("steer.before-write")
        await trio.lowlevel.checkpoint()
        if self._stopped:
            return False
        if uuid not in (*self._waiting_steers, *self._taken):
            self._waiting_steers.append(uuid)
        failpoint("steer.after-write")
        return True

    async def close(self, stopped: tuple[str, ...]) -> None:
        """See ``InProcessTurn.close``; the report goes into the journal."""
        await super().close(stopped)
        if self._report is not None:
            await self.journal.finished(self._report)

    @property
    def ended_with_daemon(self) -> bool:
        """Return whether its daemon ended before it, and so it is to be played again."""
        return ended_with_daemon(self._report)

    async def run(self) -> None:
        """Play the turn to its end; never raises but for faults of this module."""
        report: TurnReport | None = None
        try:
            with self._scope:
                report = await self._played()
        finally:
            report = report or self._ending("interrupted", "stopped on request")
            self._report = replace(report, undelivered=tuple(self._waiting_steers))
            self._dealings.end()
            self.finished.set()

    async def _played(self) -> TurnReport:
        await self._dealings.tell(PromptState(self._request.prompt_uuid, "started"))
        try:
            report = await self._steps()
        except _Ended as ended:
            report = ended.report
        await self._take_steers()
        for uuid in (self._request.prompt_uuid, *self._taken):
            await self._dealings.tell(
                PromptState(uuid, "completed" if report.kind == "done" else "cancelled")
            )
        return report

    async def _steps(self) -> TurnReport:
        turn = self._turn
        if turn is None:
            raise _Ended(self._ending("failed", _none_left(self._request.prompt, self._file)))
        await self._quiet(turn.delay_ms / 1000)
        if turn.error:
            raise _Ended(self._ending("api_error", turn.error))
        if turn.usage_limit:
            report = self._ending("usage_limit", "the scripted usage limit is reached")
            raise _Ended(replace(report, resets_at=turn.usage_limit))
        text, outcome = turn.text, turn.outcome
        await self._say(text)
        if await self._allowed(turn):
            status = await self._act(turn)
            if status and turn.otherwise is not None:
                text, outcome = turn.otherwise.text, turn.otherwise.outcome
                await self._say(text)
        for number, call in enumerate(turn.tools):
            await self._call(number, call)
        report = self._ending("done", "")
        return replace(report, texts=(text,), result_text=text, structured=outcome)

    async def _say(self, text: str) -> None:
        await self._show("text", text)
        await self._take_steers()

    async def _take_steers(self) -> None:
        for uuid in tuple(self._waiting_steers):
            self._waiting_steers.remove(uuid)
            self._taken.append(uuid)
            await self._dealings.tell(PromptState(uuid, "started"))

    async def _quiet(self, seconds: float) -> None:
        limit = self._request.idle_timeout_seconds
        await trio.sleep(min(seconds, limit))
        if seconds > limit:
            raise _Ended(self._ending("timeout", f"silent for {limit:g} s"))

    async def _allowed(self, turn: ScriptedTurn) -> bool:
        ask = turn.ask
        if ask is None or ask.tool in self._request.allow:
            return True
        request_id = f"{self._request.turn_id}/1"
        decision = await self._dealings.approve(
            ApprovalRequested(request_id, ask.tool, ask.input, tool_use_id=request_id)
        )
        allowed = decision.behavior == "allow"
        if not allowed:
            self._denials.append(Denial(ask.tool, request_id))
        return allowed

    async def _act(self, turn: ScriptedTurn) -> int:
        """Write and run; returns the status of the command that ``otherwise`` speaks of, or 0."""
        for write in turn.write:
            given = {"file_path": write.path, "content": write.content}
            if await self._hooked("before-tool", "Write", given):
                continue
            await self._acting(f"write {write.path}")
            self._write(write)
            await self._show("tool", f"write {write.path}")
            await self._hooked("after-tool", "Write", given)
            await self._take_steers()
        for number, command in enumerate(turn.run):
            given = {"command": shlex.join(command)}
            if number < self.ran or await self._hooked("before-tool", "Bash", given):
                continue
            self.ran = number + 1
            status, output = await self._run(command)
            await self._hooked("after-tool", "Bash", given, output)
            if turn.otherwise is not None and status == turn.otherwise.status:
                return status
            if status != 0:
                detail = f"{command[0]} ended with status {status}: {end(output.strip(), 2000)}"
                raise _Ended(self._ending("failed", detail))
        return 0

    def _write(self, write: Write) -> None:
        root = Path(self._request.working_directory).resolve()
        path = (root / write.path).resolve()
        if not path.is_relative_to(root):
            detail = f"{write.path} leads out of the working directory"
            raise _Ended(self._ending("failed", detail))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(write.content, encoding="utf-8")
        except OSError as error:
            detail = f"{write.path} cannot be written: {error}"
            raise _Ended(self._ending("failed", detail)) from None

    async def _run(self, command: tuple[str, ...]) -> tuple[int, str]:
        line = " ".join(command)
        await self._acting(f"run {line}", self.ran)
        await self._show("tool", line)
        self._started_process = True
        try:
            with trio.fail_after(self._request.idle_timeout_seconds):
                done = await trio.run_process(
                    command,
                    cwd=self._request.working_directory,
                    env=self._request.environment,
                    stdin=b"",
                    capture_stdout=True,
                    stderr=subprocess.STDOUT,
                    check=False,
                    start_new_session=True,
                    pass_fds=self._request.inherited,
                    deliver_cancel=_end_command,
                )
        except OSError as error:
            raise _Ended(self._ending("failed", f"{command[0]} cannot be run: {error}")) from None
        except trio.TooSlowError:
            limit = self._request.idle_timeout_seconds
            raise _Ended(self._ending("timeout", f"{line}: silent for {limit:g} s")) from None
        output = done.stdout.decode(errors="replace")
        await self._show("tool_result", output[-2000:])
        await self._take_steers()
        return done.returncode, output

    async def _call(self, number: int, call: Call) -> None:
        """Call one of Podium's own tools; what comes of it must be what the script expects."""
        call_id = f"1:{number}"
        await self.journal.calling(call_id)
        await self._show("tool", call.tool)
        failpoint("tool.before-call")
        reply = await self._dealings.call(ToolCalled(call_id, call.tool, call.args))
        failpoint("tool.after-answer")
        await self._show("tool_result", reply.text)
        await self._take_steers()
        if reply.success is (call.expect == "refused"):
            came = "was not refused" if reply.success else "was refused"
            detail = f"tools[{number}]: {call.tool} {came}: {reply.text}"
            raise _Ended(self._ending("failed", detail))

    async def _hooked(
        self,
        event: Literal["before-tool", "after-tool"],
        tool: str,
        given: dict[str, Any],
        output: str = "",
    ) -> bool:
        """Let the hooks speak; returns whether one refuses. The script goes on all the same."""
        self._uses += event == "before-tool"
        refusal = await self._dealings.hook(f"{self._uses}", event, tool, given, output)
        if refusal is not None:
            await self._show("tool_result", f"refused by a hook: {refusal}")
        return refusal is not None

    async def _show(self, kind: OutputKind, delta: str) -> None:
        await self._dealings.tell(Output(self._request.prompt_uuid, kind, delta))

    async def _acting(self, action: str, ran: int = 0) -> None:
        await self.journal.acting(action, ran)
        if not self._acted:
            self._acted = True
            failpoint("turn.tool-begun")

    def _ending(self, kind: EndKind, detail: str) -> TurnReport:
        return TurnReport(
            kind=kind,
            detail=detail,
            denials=tuple(self._denials),
            cost_usd=self._turn.cost_usd if self._turn else 0.0,
            seconds=trio.current_time() - self._began,
            prompt_recorded=True,
            tool_begun=self._acted,
        )


def _none_left(prompt: str, file: str) -> str:
    """Say that no turn of a script fits a prompt, or all that do are used up."""
    words = textwrap.shorten(prompt, FIRST_WORDS, placeholder=" ...")
    return f"the script {file} has no turn left for this prompt: {words}"


async def _end_command(process: trio.Process) -> None:
    process.terminate()
    await trio.sleep(COMMAND_END_SECONDS)
    process.kill()
