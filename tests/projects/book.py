"""A command book under test: its project, what it told, and commands that can be waited for."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import trio

from podiumd.projects.commands import (
    Bounds,
    CommandBook,
    CommandComplete,
    CommandEvent,
    CommandOutput,
    CommandStarted,
    open_command_book,
)
from podiumd.projects.records import CommandRecord
from podiumd.tools.process.environment import child_environment
from tests.patience import HANG_SECONDS

NOON = datetime(2026, 3, 1, 12, 0, 0, 5000, tzinfo=UTC)


def environment(marker: str) -> dict[str, str]:
    """As the daemon makes it for commands, from an environment that holds secrets."""
    base = {"PATH": os.environ["PATH"], "HOME": "/", "ANTHROPIC_API_KEY": "s3", "PODIUM_X": "1"}
    return child_environment(base, pass_env=(), extra_env={}, marker=marker)


@dataclass
class Bench:
    """``make(NAME, RECIPE)`` writes a target, ``start`` runs it."""

    root: Path
    events: list[CommandEvent] = field(default_factory=list)
    now: datetime = NOON
    bounds: Bounds = field(default_factory=Bounds)
    _news: trio.Event = field(default_factory=trio.Event)

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def state(self) -> Path:
        return self.root / "commands"

    def make(self, **recipes: str) -> None:
        """Write a Makefile whose recipes are single lines of sh."""
        self.project.mkdir(exist_ok=True)
        text = "".join(f"{name}:\n\t@{recipe}\n" for name, recipe in recipes.items())
        (self.project / "Makefile").write_text(text)

    def tell(self, event: CommandEvent) -> None:
        self.events.append(event)
        self._news.set()
        self._news = trio.Event()

    @asynccontextmanager
    async def book(self) -> AsyncIterator[CommandBook]:
        async with open_command_book(
            self.state,
            environment=environment,
            tell=self.tell,
            home=self.root,
            wall=lambda: self.now,
            bounds=lambda: self.bounds,
        ) as book:
            yield book

    async def until(self, condition: Callable[[CommandEvent], bool]) -> CommandEvent:
        """The first event for which the condition holds, waited for at most 20 s."""
        with trio.fail_after(HANG_SECONDS):
            while True:
                for event in self.events:
                    if condition(event):
                        return event
                await self._news.wait()

    async def over(self, record: CommandRecord) -> CommandRecord:
        """The record of that run once it is complete."""
        run_id = record.command_session_id
        event = await self.until(
            lambda one: isinstance(one, CommandComplete) and one.record.command_session_id == run_id
        )
        assert isinstance(event, CommandComplete)
        return event.record

    async def said(self, text: str) -> None:
        """Wait for a line that somebody printed."""
        await self.until(lambda one: isinstance(one, CommandOutput) and one.text == text)

    def lines(self, stream: str) -> list[str]:
        return [
            event.text
            for event in self.events
            if isinstance(event, CommandOutput) and event.stream == stream
        ]

    def kinds(self, record: CommandRecord) -> list[type[CommandEvent]]:
        """The kinds of events of that run, in order."""
        run_id = record.command_session_id
        return [
            type(event)
            for event in self.events
            if (event.command_session_id if isinstance(event, CommandOutput)
                else event.record.command_session_id) == run_id
        ]  # fmt: skip


START, LINE, END = CommandStarted, CommandOutput, CommandComplete
