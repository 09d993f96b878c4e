"""An engine that answers from a script: for tests and for trials without a model.

The script is a file of lines; each utterance is answered with the next one, from the front again at
the end. A line that begins with ``!`` is a failure: ``!engine`` of the engine, ``!not_audio`` and
the like of the audio. An empty line is silence. Without a script the answer is how much audio came.
"""

from __future__ import annotations

from collections.abc import Sequence

from podiumd.speech.api import FORMATS, AudioError, EngineFailed, EngineStatus, Heard
from podiumd.speech.engines.base import Job

BYTES_A_WORD = 8000
"""A quarter of a second of PCM16 at 16 kHz: so much audio makes one word of the partial text."""


class ScriptedEngine:
    """See the module."""

    name = "scripted"
    formats = FORMATS

    def __init__(self, lines: Sequence[str] = ()) -> None:
        self._lines = list(lines)
        self._next = 0
        self._problem: str | None = None

    def status(self) -> EngineStatus:
        """Always ready."""
        return EngineStatus(state="ready", model="script")

    def warm(self) -> None:
        """Do nothing."""

    async def recognise(self, job: Job) -> Heard:
        """Take the next line. Its words appear while the audio comes in."""
        recording, request = job.recording, job.request
        line = self._take()
        words = line.split()
        said = 0
        while not recording.finished:
            await recording.changed()
            now = min(recording.size // BYTES_A_WORD, len(words))
            if request.partials and now > said and not line.startswith("!"):
                said = now
                job.partial(" ".join(words[:said]))
        if line == "!engine":
            raise EngineFailed("The script says that the engine fails.")
        if line.startswith("!"):
            raise AudioError(line[1:], f"The script says: {line[1:]}.")
        seconds = recording.size / (2 * request.sample_rate)
        text = line if self._lines else f"{recording.size} bytes of {request.format}"
        return Heard(
            text=text,
            language=request.language or "en",
            duration_s=seconds,
            terms=job.hotwords,
        )

    def _take(self) -> str:
        if not self._lines:
            return ""
        line = self._lines[self._next % len(self._lines)]
        self._next += 1
        return line.strip()
