"""Engines of speech: the worker process, a server of OpenAI's or Wyoming's kind, a script.

An engine is given a recording that may still grow. How it is asked again after a failure, what
becomes of the audio and which client waits for the answer is the service's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from podiumd.speech.api import EngineStatus, Heard, UtteranceRequest
from podiumd.speech.audio.recording import Recording


@dataclass
class Job:
    """A job for an engine.

    ``hotwords`` may still change until the recording is finished. ``partial`` is called with the
    text so far, each time the whole of it. ``again``: the attempt before failed; what may have
    caused that is to be avoided.
    """

    request: UtteranceRequest
    recording: Recording
    hotwords: tuple[str, ...] = ()
    partial: Callable[[str], None] = field(default=lambda _: None)
    again: bool = False


class Engine(Protocol):
    """A way to turn speech into text."""

    @property
    def name(self) -> str:
        """Return the configuration's name for it."""
        ...

    @property
    def formats(self) -> tuple[str, ...]:
        """Return which of ``podiumd.speech.api.FORMATS`` it takes."""
        ...

    def status(self) -> EngineStatus:
        """Return the state at once, without a question to any process or server."""
        ...

    def warm(self) -> None:
        """Get ready in the background: a microphone opens."""
        ...

    async def recognise(self, job: Job) -> Heard:
        """Follow the recording to its end and return its text.

        Raises ``AudioError`` where the audio is at fault and ``EngineFailed`` where it is not.
        """
        ...
