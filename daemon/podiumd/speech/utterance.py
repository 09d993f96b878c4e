"""An utterance: the speech between the opening of a microphone and the text.

It belongs to the service and not to a connection: a phone that loses its own comes back, asks for
``next_frame`` and goes on.
"""

from __future__ import annotations

import time

import trio

from podiumd.speech.api import AudioError, UtteranceRequest
from podiumd.speech.audio.recording import Recording
from podiumd.speech.engines.base import Job
from podiumd.wire.voice import Transcribed


class Partials:
    """Iterator over the text so far, the newest only; ends with the utterance.

    Any number may read at once, each at its own pace.
    """

    def __init__(self, utterance: Utterance) -> None:
        self._utterance = utterance
        self._seen = 0

    def __aiter__(self) -> Partials:
        return self

    async def __anext__(self) -> str:
        number, text = await self._utterance.partial_after(self._seen)
        if not number:
            raise StopAsyncIteration
        self._seen = number
        return text


class Utterance:
    """See the module. Made by ``Speech.open``."""

    def __init__(self, request: UtteranceRequest, recording: Recording) -> None:
        self.request = request
        self.recording = recording
        self.job = Job(request, recording, request.hotwords, self._understood)
        self.next_frame = 0
        """The number of the frame that is expected next; frames are numbered from 0."""
        self.scope = trio.CancelScope()
        self._partial = ""
        self._partials = 0
        self._news = trio.Event()
        self._ended_at: float | None = None
        self._outcome: Transcribed | AudioError | None = None
        self._over = trio.Event()
        self._released = trio.Event()
        self._lock = trio.Lock()

    @property
    def id(self) -> str:
        """Return the client's name for it."""
        return self.request.id

    @property
    def over(self) -> bool:
        """Return whether its outcome is known."""
        return self._outcome is not None

    async def feed(self, data: bytes, number: int | None = None) -> None:
        """Take the bytes of one frame. One that is here already (its ``number`` is below
        ``next_frame``) is dropped.

        Raises ``AudioError``: ``frame_gap`` where frames are missing before it, ``too_big``,
        ``not_open`` after its end, or what has gone wrong with it meanwhile.
        """
        async with self._lock:
            if number is not None and number < self.next_frame:
                return
            if number is not None and number > self.next_frame:
                words = f"Frame {self.next_frame} is missing; send again from there."
                raise AudioError("frame_gap", words)
            if isinstance(self._outcome, AudioError):
                raise self._outcome
            try:
                await self.recording.append(data)
            except OSError as error:
                raise AudioError("engine_failed", f"The audio is not stored: {error}.") from error
            self.next_frame += 1

    def expect(self, hotwords: tuple[str, ...]) -> None:
        """Name the terms to expect, which may take a while to gather: until the end is reported."""
        self.job.hotwords = hotwords

    async def end(self) -> Transcribed:
        """End the utterance and wait for the text.

        Harmless to repeat, also from elsewhere; a caller that is cancelled while waiting cancels
        nothing. Raises ``AudioError``.
        """
        if self._ended_at is None:
            self._ended_at = time.monotonic()
            self.recording.finish()
        await self._over.wait()
        if isinstance(self._outcome, Transcribed):
            return self._outcome
        assert self._outcome is not None
        raise self._outcome

    def cancel(self) -> None:
        """Forget it at once: the audio is deleted, who waits gets ``cancelled``."""
        self.settle(AudioError("cancelled", "The recording was cancelled."))
        self.release()
        self.scope.cancel()

    def release(self) -> None:
        """Release it: its transcript has arrived where it belongs, and is not asked for again."""
        self._released.set()

    def partials(self) -> Partials:
        """Iterate over what has been understood so far."""
        return Partials(self)

    async def partial_after(self, number: int) -> tuple[int, str]:
        """Wait for a partial text with a number above ``number``; return that and the text.

        Return 0 and nothing when the utterance is over.
        """
        while self._partials <= number and not self.over:
            await self._news.wait()
        return (0, "") if self.over else (self._partials, self._partial)

    # --- for the service ---------------------------------------------------------------------

    def _understood(self, text: str) -> None:
        if text and text != self._partial:
            self._partial = text
            self._partials += 1
            self._tell()

    def settle(self, outcome: Transcribed | AudioError) -> None:
        """Settle the utterance; the first outcome holds."""
        if self._outcome is None:
            self._outcome = outcome
            self._over.set()
            self._tell()

    def latency_ms(self) -> int:
        """Milliseconds since its end; 0 before."""
        return 0 if self._ended_at is None else round((time.monotonic() - self._ended_at) * 1000)

    async def released(self) -> None:
        """Wait until it will not be asked for again."""
        await self._released.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = trio.Event()
