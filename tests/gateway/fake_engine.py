"""An engine of speech in the test's hand: what it hears is what the test says."""

from __future__ import annotations

from collections import deque

import trio

from podiumd.speech.api import (
    FORMATS,
    AudioError,
    EngineFailed,
    EngineStatus,
    Heard,
    UtteranceRequest,
)
from podiumd.speech.engines.base import Job
from podiumd.wire.voice import SpeechState as State

PARTIAL_BYTES = 1000
"""So much audio makes one more word of the partial text."""


class FakeEngine:
    """``lines``: what the next recordings say; an exception in their place is raised.

    ``state`` is its own; while ``holds`` is set no text comes. ``heard`` are the recordings that
    were read to their end, ``requests`` those that were begun.
    """

    name = "scripted"
    formats = FORMATS

    def __init__(self) -> None:
        self.lines: deque[str | AudioError | EngineFailed] = deque()
        self.state: State = "ready"
        self.problem: str | None = None
        self.language = "en"
        self.requests: list[UtteranceRequest] = []
        self.heard: list[bytes] = []
        self.let_go = trio.Event()
        self.let_go.set()

    def hold(self) -> None:
        """No text comes until ``let_go`` is set."""
        self.let_go = trio.Event()

    def says(self, *lines: str | AudioError | EngineFailed) -> None:
        """What the next recordings say."""
        self.lines.extend(lines)

    def status(self) -> EngineStatus:
        return EngineStatus(state=self.state, model="ears", problem=self.problem)

    def warm(self) -> None:
        """It is told by the request that follows."""

    async def recognise(self, job: Job) -> Heard:
        recording, request = job.recording, job.request
        self.requests.append(request)
        said = 0
        while not recording.finished:
            await recording.changed()
            words = recording.size // PARTIAL_BYTES
            if request.partials and words > said:
                said = words
                job.partial(" ".join(["word"] * words))
        sound = await recording.whole()
        await self.let_go.wait()
        self.heard.append(sound)
        line = self.lines.popleft() if self.lines else ""
        if not isinstance(line, str):
            raise line
        return Heard(
            text=line,
            language=request.language or self.language,
            duration_s=len(sound) / 32_000,
            terms=job.hotwords,
        )
