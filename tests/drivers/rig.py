"""A workbench for driver tests: directories, an environment, requests and their bookkeeping."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    Driver,
    PendingTurn,
    PromptState,
    Started,
    Turn,
    TurnEvent,
    TurnRequest,
)
from podiumd.drivers.spool import SpoolWatch
from tests.patience import HANG_SECONDS

SMALL = (
    "--system-prompt",
    "You are a test agent.",
    "--system-prompt-snapshot",
    "off",
    "--disable-slash-commands",
)

STEER = "00000000-0000-4000-8000-00000000000a"

ALLOW = Decision("allow")

Reaction = Callable[[Turn, TurnEvent], Awaitable[None]]


@dataclass
class Rig:
    """One throwaway home, working directory and turns directory, and an agent to run there."""

    root: Path
    command: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    session_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        for path in (self.home / "tmp", self.work, self.turns):
            path.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            **self.environment,
        }

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def turns(self) -> Path:
        return self.root / "turns"

    def request(self, prompt: str = "go", **changes: Any) -> TurnRequest:
        """Make the request of a new turn in this rig's session."""
        turn_id = changes.pop("turn_id", str(uuid.uuid4()))
        directory = self.turns / turn_id
        directory.mkdir(mode=0o700)
        fields: dict[str, Any] = {
            "turn_id": turn_id,
            "run_id": "run-1",
            "session_id": self.session_id,
            "session_mode": "new",
            "working_directory": str(self.work),
            "prompt": prompt,
            "prompt_uuid": str(uuid.uuid4()),
            "command": self.command,
            "environment": {**self.environment, "PODIUM_TURN": turn_id},
            "directory": str(directory),
            "idle_timeout_seconds": 30.0,
        }
        return TurnRequest(**{**fields, **changes})

    def pending(self, request: TurnRequest, started: Started | None, **changes: Any) -> PendingTurn:
        """Make what recovery knows of a turn."""
        fields: dict[str, Any] = {
            "turn_id": request.turn_id,
            "session_id": request.session_id,
            "session_mode": request.session_mode,
            "working_directory": request.working_directory,
            "prompt_uuid": request.prompt_uuid,
            "directory": request.directory,
            "environment": request.environment,
            "pid": started.pid if started else None,
            "proc_start": started.proc_start if started else None,
            "sent_uuids": (request.prompt_uuid,),
            "idle_timeout_seconds": request.idle_timeout_seconds,
        }
        return PendingTurn(**{**fields, **changes})


async def nothing(turn: Turn, event: TurnEvent) -> None:
    """React to nothing."""


async def follow(turn: Turn, react: Reaction = nothing) -> list[TurnEvent]:
    """Follow a turn to its end and return all its events."""
    events = []
    async for event in turn:
        events.append(event)
        await react(turn, event)
    return events


def answering(*decisions: Decision) -> Reaction:
    """Answer each approval with the next of ``decisions``; the last serves for all later ones."""
    left = list(decisions)

    async def react(turn: Turn, event: TurnEvent) -> None:
        if isinstance(event, ApprovalRequested):
            assert await turn.answer(event.request_id, left.pop(0) if len(left) > 1 else left[0])

    return react


def states(events: list[TurnEvent], uuid: str) -> list[str]:
    """The lifecycle of one message."""
    return [e.state for e in events if isinstance(e, PromptState) and e.uuid == uuid]


def approvals(events: list[TurnEvent]) -> list[str]:
    """The tools that were asked for."""
    return [event.tool for event in events if isinstance(event, ApprovalRequested)]


def started(events: list[TurnEvent]) -> Started:
    """The first event, which tells of the process."""
    assert isinstance(events[0], Started)
    return events[0]


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Wait in a thread for something that blocks; a test's own deadline ends it."""
    return await trio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)


async def until(watch: SpoolWatch, directory: Path, condition: Callable[[], bool]) -> None:
    """Return once ``condition`` holds; asked again whenever a file in ``directory`` grew."""
    with watch.follow(directory) as bell, trio.fail_after(HANG_SECONDS):
        while not condition():
            await bell.wait()


def bash(command: str, text: str = "") -> dict[str, object]:
    tool = {"name": "Bash", "input": {"command": command, "description": "test"}}
    return {"text": text, "tools": [tool]} if text else {"tools": [tool]}


def write(path: Path, content: str) -> dict[str, object]:
    return {"tools": [{"name": "Write", "input": {"file_path": str(path), "content": content}}]}


async def play(
    driver: Driver, request: TurnRequest, react: Reaction = nothing
) -> tuple[Turn, list[TurnEvent]]:
    with trio.fail_after(HANG_SECONDS):
        async with driver.turn(request) as turn:
            events = await follow(turn, react)
    return turn, events
