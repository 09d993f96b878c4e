"""What a case of the kit works with: a driver, the fake agent, and what was done by it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import trio
from trio.testing import MockClock

import podiumd
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    Driver,
    Output,
    PendingTurn,
    SessionNamed,
    Started,
    Turn,
    TurnEvent,
    TurnRequest,
    TurnStatus,
)
from podiumd.drivers.spool import SpoolWatch
from podiumd.tools.process.processes import Identity, wait_gone
from tests.drivers.kit.fake_agent import QUIRKS
from tests.drivers.kit.subjects import Subject
from tests.drivers.rig import Reaction, Rig, follow, nothing, until
from tests.patience import HANG_SECONDS
from tests.waits import waits_on

ROOT: Final = Path(__file__).parents[3]
CONDUCTOR: Final = Path(__file__).with_name("conductor.py")

E = TypeVar("E")


class Unspoken(AssertionError):
    """The language of the driver has no words for what the agent is to do wrong."""


class Bench:
    """One driver with one fake agent, in a throwaway home."""

    def __init__(
        self,
        subject: Subject,
        root: Path,
        watch: SpoolWatch,
        clock: MockClock | None = None,
    ) -> None:
        self.subject = subject
        self._clock = clock
        self.watch = watch
        self.spool_megabytes = 80
        """MiB that an agent may write in a turn; one case has a line of 65."""
        self.driver: Driver = subject.make(watch, lambda: self.spool_megabytes)
        self.rig = Rig(root, environment={"PYTHONPATH": str(ROOT)})
        self._script = root / "script.json"
        fake = ("-S", "-P", "-m", "tests.drivers.kit.fake_agent", "--as", subject.language)
        self.rig.command = (sys.executable, *fake, str(self._script), "--")
        self.idle_seconds = 30.0
        self.script({})

    # -- what the agent does -------------------------------------------------------------------

    def script(self, *replies: dict[str, Any], **quirks: Any) -> None:
        """Have the agent do this from now on; ``replies`` as well where the model was asked before.

        Raises ``Unspoken``.
        """
        if missing := quirks.keys() & self.subject.unspoken:
            raise Unspoken(", ".join(missing))
        assert quirks.keys() <= QUIRKS.keys()
        said: list[dict[str, Any]] = [{}] * len(self.asked) + list(replies)
        raw = {"home": str(self.rig.home), "replies": said, **quirks}
        self._script.write_text(json.dumps(raw))

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Each request to the model: its ``words``, the ``results`` of tools, the ``history``."""
        return self._book("model")

    @property
    def ran(self) -> list[str]:
        """The commands that ran."""
        return [row["command"] for row in self._book("tools")]

    @property
    def prompts(self) -> list[str]:
        """The prompts and steers that reached the model."""
        return [word for row in self.asked for word in row["words"]]

    def _book(self, name: str) -> list[dict[str, Any]]:
        path = self.rig.home / f"{name}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def gate(self, name: str) -> Path:
        """Make a pipe at which the agent waits."""
        path = self.rig.home / name
        os.mkfifo(path)
        return path

    # -- turns -----------------------------------------------------------------------------------

    def request(self, prompt: str = "go", **changes: Any) -> TurnRequest:
        """Make the request of a turn in the bench's session."""
        return self.rig.request(prompt, **{"idle_timeout_seconds": self.idle_seconds, **changes})

    async def play(
        self, request: TurnRequest | None = None, react: Reaction = nothing
    ) -> tuple[TurnReport, list[TurnEvent]]:
        """Play a turn to its end."""
        async with self.turn(request) as turn:
            events = await follow(turn, react)
        return turn.report, events

    @asynccontextmanager
    async def turn(self, request: TurnRequest | None = None) -> AsyncIterator[Turn]:
        """Begin a turn."""
        with trio.fail_after(HANG_SECONDS):
            async with self.driver.turn(request or self.request()) as turn:
                yield turn

    def pending(self, request: TurnRequest, started: Started | None, **changes: Any) -> PendingTurn:
        """Make what the next daemon knows of a turn."""
        return self.rig.pending(request, started, **changes)

    async def left(
        self, request: TurnRequest, at: Callable[[TurnEvent], bool]
    ) -> tuple[Started, list[TurnEvent]]:
        """Begin a turn and let go of it at an event, that included."""
        events: list[TurnEvent] = []
        async with self.turn(request) as turn:
            async for event in turn:
                events.append(event)
                if at(event):
                    await turn.leave()
                    break
        first = events[0]
        assert isinstance(first, Started)
        return first, events

    async def goes_on(
        self, pending: PendingTurn, react: Reaction = nothing
    ) -> tuple[TurnReport, list[TurnEvent]]:
        """Be the next daemon: look, take the turn up or send it again, and come to its end."""
        with trio.fail_after(HANG_SECONDS):
            status = await self.driver.inspect(pending)
            if status.state == "running":
                async with self.driver.reattach(pending) as turn:
                    events = await follow(turn, react)
                return turn.report, events
        if status.state == "absent":
            mode = "resume" if status.session_exists else "new"
            again = self.request(
                prompt_uuid=pending.prompt_uuid, session_mode=mode, served=pending.served
            )
            return await self.play(again, react)
        assert status.report is not None, status
        return status.report, []

    async def kill(self, agent: Started) -> None:
        """Kill the agent's process, and wait until it is gone."""
        os.kill(agent.pid, signal.SIGKILL)
        await wait_gone(Identity(agent.pid, agent.proc_start))

    async def inspect(self, pending: PendingTurn) -> TurnStatus:
        """Look what became of a turn."""
        return await self.driver.inspect(pending)

    async def until(self, directory: Path, condition: Callable[[], bool]) -> None:
        """Wait until that holds; looked at whenever a file in the directory has grown."""
        await until(self.watch, directory, condition)

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the daemon, whose clock stands still otherwise."""
        assert self._clock is not None, "the case is not played by such a clock"
        self._clock.jump(seconds)

    async def nothing_more(self, turn: Turn) -> None:
        """Hold that the turn neither goes on nor ends by itself."""
        await waits_on(anext, turn)

    async def killed_at(self, failpoint: str, request: TurnRequest) -> None:
        """Run a turn in a daemon that is killed at the failpoint."""
        file = self.rig.root / "request.json"
        file.write_bytes(msgspec.json.encode(request))
        daemon = Path(podiumd.__file__).parents[1]
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{daemon}{os.pathsep}{ROOT}",
            "PODIUM_FAILPOINT": failpoint,
        }
        command = [sys.executable, str(CONDUCTOR), self.subject.name, str(file)]

        def run() -> subprocess.CompletedProcess[bytes]:
            return subprocess.run(
                command, env=environment, capture_output=True, timeout=HANG_SECONDS, check=False
            )

        done = await trio.to_thread.run_sync(run)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def only(events: list[TurnEvent], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def own_name(events: list[TurnEvent]) -> str | None:
    """What the agent calls the session, where it names its sessions itself."""
    named = only(events, SessionNamed)
    return named[0].agent_session_id if named else None


def said(events: list[TurnEvent], *, again: bool = False) -> str:
    """The agent's words, in one piece; those alone that an earlier daemon told, or had not."""
    words = only(events, Output)
    return "".join(one.delta for one in words if one.kind == "text" and one.again is again)


def command(line: str, **fields: Any) -> dict[str, Any]:
    """A use of the agent's shell."""
    return {"command": line, **fields}


def calls(tool: str, **args: Any) -> dict[str, Any]:
    """A call of one of Podium's tools."""
    return {"own": tool, "args": args, "ask": False}


def on_approval(act: Callable[[Turn, ApprovalRequested], Awaitable[object]]) -> Reaction:
    """React to requests for leave."""

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            await act(turn, event)

    return react


async def allow(turn: Turn, asked: ApprovalRequested) -> None:
    """Say yes."""
    assert await turn.answer(asked.request_id, Decision("allow"))


ALLOWING: Final = on_approval(allow)
