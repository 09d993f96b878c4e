"""The side of a native turn that people see: its output, its questions, and their own words."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

import trio

from podiumd.core.run.native_loop_facts import Words
from podiumd.drivers.base import (
    ApprovalRequested,
    Decision,
    HookPoint,
    Output,
    OutputKind,
    PromptProgress,
    PromptState,
)
from podiumd.drivers.turn_channel import TurnChannel


class UserChannel(TurnChannel):
    """Channel of events to the turn's followers, and of their answers and words.

    ``waiting`` are words that an earlier life of the daemon has accepted. ``part`` is the part of
    the turn that goes on, see ``Output``.
    """

    def __init__(
        self, prompt_uuid: str, waiting: tuple[Words, ...], hooks: tuple[HookPoint, ...] = ()
    ) -> None:
        super().__init__(hooks)
        self._prompt_uuid = prompt_uuid
        self._waiting = list(waiting)
        self._taken: list[str] = []
        self._late: list[str] = []
        self._over = False
        self.part = ""

    # -- telling ---------------------------------------------------------------------------------

    async def show(self, kind: OutputKind, delta: str) -> None:
        """Show words or activity."""
        if delta:
            await self.tell(Output(self._prompt_uuid, kind, delta, self.part))

    def stream(self, delta: str) -> None:
        """Show a command's output as it comes; what a slow follower has no room for is passed
        over."""
        with suppress(trio.WouldBlock, trio.BrokenResourceError, trio.ClosedResourceError):
            self._send.send_nowait(Output(self._prompt_uuid, "tool_result", delta, self.part))

    async def progress(self, uuid: str, progress: PromptProgress) -> None:
        """Report the phase of a prompt, or of words."""
        await self.tell(PromptState(uuid, progress))

    def end(self) -> None:
        """End the channel: nothing more is reported, asked or received."""
        self._over = True
        super().end()

    # -- asking ----------------------------------------------------------------------------------

    async def ask(
        self,
        use: str,
        tool: str,
        input: dict[str, Any],
        description: str,
        *,
        asks_person: bool = False,
    ) -> Decision:
        """Ask for leave, or (``asks_person``) a question of the turn's own, and wait for the
        answer however long it takes.

        ``use`` is the action's name within the turn: the same about the same is the same question
        in each life of the daemon.
        """
        about = json.dumps([tool, input, description, asks_person], sort_keys=True)
        request_id = f"{use}/{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        return await self.approve(
            ApprovalRequested(
                request_id,
                tool,
                input,
                tool_use_id=request_id,
                description=description,
                asks_person=asks_person,
            )
        )

    # -- hearing ---------------------------------------------------------------------------------

    def say(self, words: Words) -> bool:
        """Take a person's words for the turn; ``False``: it is over."""
        if self._over:
            return False
        known = (*(one.uuid for one in self._waiting), *self._taken, *self._late)
        if words.uuid not in known:
            self._waiting.append(words)
        return True

    @property
    def waiting(self) -> tuple[Words, ...]:
        """Return the words that the turn has accepted and not begun with."""
        return tuple(self._waiting)

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the uuids of the words that it has begun with."""
        return tuple(self._taken)

    def settle(self, words: Words, *, taken: bool) -> None:
        """Note whether the turn has begun with these words, or they came too late for that."""
        self._waiting.remove(words)
        (self._taken if taken else self._late).append(words.uuid)

    @property
    def undelivered(self) -> tuple[str, ...]:
        """Return the uuids of words that the turn has accepted and did not begin with."""
        return (*self._late, *(words.uuid for words in self._waiting))

    def hush(self) -> bool:
        """Hear nothing more, unless there are words waiting; returns whether that is so now."""
        self._over = not self._waiting
        return self._over
