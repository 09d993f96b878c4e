"""What stands behind speech: the worker process, a server of OpenAI's or Wyoming's kind, a script.

An engine is given a recording that may still grow. How it is asked again after a failure, what
becomes of the audio and who waits for the answer is the service's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from podiumd.speech.api import EngineStatus, Heard, UtteranceRequest
from podiumd.speech.audio.recording import Recording


@dataclass
class Job:
    """What an engine is asked for.

    ``hotwords`` may still change until the recording is finished. ``partial`` is told what has been
    understood so far, each time the whole of it. ``again``: the attempt before failed; what may
    have caused that is to be avoided.
    """

    request: UtteranceRequest
    recording: Recording
    hotwords: tuple[str, ...] = ()
    partial: Callable[[str], None] = field(default=lambda _: None)
    again: bool = False


class Engine(Protocol):
    """One way to turn speech into text."""

    @property
    def name(self) -> str:
        """As the configuration calls it."""
        ...

    @property
    def formats(self) -> tuple[str, ...]:
        """Which of ``podiumd.speech.api.FORMATS`` it takes."""
        ...

    def status(self) -> EngineStatus:
        """Told at once, without asking anybody."""
        ...

    def warm(self) -> None:
        """A microphone opens: get ready, in the background."""
        ...

    async def recognise(self, job: Job) -> Heard:
        """Follow the recording to its end and return what was said.

        Raises ``AudioError`` where the audio is at fault and ``EngineFailed`` where it is not.
        """
        ...
