"""A server that speaks OpenAI's ``/v1/audio/transcriptions``: their own, or one of the person's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from podiumd.config.settings import VoiceSettings
from podiumd.core.excerpt import beginning
from podiumd.speech.api import FORMATS, AudioError, Heard
from podiumd.speech.audio import wav
from podiumd.speech.engines.base import Job
from podiumd.speech.engines.server import ServerEngine
from podiumd.wire.voice import Segment

if TYPE_CHECKING:
    import httpx2

DEFAULT_URL: Final = "https://api.openai.com"
_TYPES: Final = {
    "wav": "audio/wav",
    "m4a": "audio/mp4",
    "mp4": "audio/mp4",
    "webm": "audio/webm",
    "ogg": "audio/ogg",
    "caf": "audio/x-caf",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
}
_LARGEST_ANSWER: Final = 16 * 1_048_576
_SAID: Final = 300


class OpenAIEngine(ServerEngine):
    """See the module."""

    name = "openai"
    formats = FORMATS

    def __init__(self, settings: VoiceSettings, environ: Mapping[str, str]) -> None:
        base = (settings.url or DEFAULT_URL).rstrip("/").removesuffix("/v1")
        url = f"{base}/v1/audio/transcriptions"
        super().__init__(settings, url, setup_fault(settings, environ))
        self._key = environ.get(_key_name(settings), "")

    async def recognise(self, job: Job) -> Heard:
        """Send the recording when it is finished. See ``Engine``."""
        import httpx2  # only where this engine is used

        audio = await job.recording.whole()
        try:
            answer = await self._post(httpx2, job, audio)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise self._failed(f"cannot be reached: {reason}") from error
        heard = self._read(answer, job)
        self._answered()
        return heard

    async def _post(self, library: Any, job: Job, audio: bytes) -> tuple[int, bytes]:
        form = job.request.format
        if form == "pcm16":
            form, audio = "wav", wav.head(len(audio), job.request.sample_rate) + audio
        fields = {"model": self._settings.model, "response_format": "verbose_json"}
        language = job.request.language or self._settings.language
        if language:
            fields["language"] = language
        if job.hotwords:
            fields["prompt"] = ", ".join(job.hotwords)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        client: httpx2.AsyncClient
        async with library.AsyncClient(
            timeout=self._settings.timeout_seconds, trust_env=True, follow_redirects=False
        ) as client:
            files = {"file": (f"audio.{form}", audio, _TYPES[form])}
            async with client.stream(
                "POST", self._url, data=fields, files=files, headers=headers
            ) as response:
                body = bytearray()
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _LARGEST_ANSWER:
                        raise self._failed("answers without end")
                return response.status_code, bytes(body)

    def _read(self, answer: tuple[int, bytes], job: Job) -> Heard:
        status, body = answer
        if status != 200:
            said = beginning(body.decode("utf-8", "replace").strip(), _SAID)
            if status in (400, 413, 415, 422):
                words = f"The speech server refuses the audio ({status}): {said}"
                raise AudioError("not_audio" if status != 413 else "too_big", words)
            raise self._failed(f"answers with status {status}: {said}")
        try:
            found = json.loads(body)
            segments = tuple(
                Segment(float(one["start"]), float(one["end"]), str(one["text"]).strip())
                for one in found.get("segments") or ()
            )
            return Heard(
                text=str(found["text"]).strip(),
                language=str(found.get("language") or job.request.language or ""),
                duration_s=float(found.get("duration") or _seconds(job)),
                segments=segments,
                terms=job.hotwords,
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._failed(f"answers what is no transcript: {error!r}") from error


def setup_fault(settings: VoiceSettings, environ: Mapping[str, str]) -> str | None:
    """Return why nothing can be asked with these settings, and what to do; ``None`` where it can.

    A server of the person's own may do without a key, which ``environ``, the daemon's, holds.
    """
    name = _key_name(settings)
    if environ.get(name) or (settings.url and not settings.api_key_env):
        return None
    return (
        f"There is no key for the speech server: {name} is not set. Set it in the daemon's "
        "environment and start the daemon anew, or set voice.url to a server that needs none."
    )


def _key_name(settings: VoiceSettings) -> str:
    return settings.api_key_env or "OPENAI_API_KEY"


def _seconds(job: Job) -> float:
    """Return the length in seconds as far as it is known without a look inside; 0 if not."""
    if job.request.format != "pcm16":
        return 0.0
    return job.recording.size / (2 * job.request.sample_rate)
