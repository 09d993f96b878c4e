"""``POST /v1/audio/transcriptions``: a recording becomes text, as OpenAI's servers give it.

The recordings that come with prompts are made text here too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.http.form import FORM, File, Form, media_type, read_form
from podiumd.gateway.routes.table import json_response
from podiumd.runtime.errors import InvalidParameter
from podiumd.runtime.voice.service import Voice
from podiumd.speech.api import AudioError, SpeechUnavailable
from podiumd.speech.words.languages import code_of
from podiumd.wire.voice import Transcribed
from podiumd.wording import quoted

FILE_BYTES: Final = 25 * 1024 * 1024
"""Bytes of a recording, as OpenAI's servers have it: an hour of speech that is compressed."""

AT_ONCE: Final = 2
"""Recordings in memory, while they arrive."""

LONGEST_LANGUAGE: Final = 16

_FIELDS: Final = frozenset({"language", "response_format", "session_id"})
_IGNORED: Final = frozenset({"model", "prompt", "temperature"})
"""Fields that clients of OpenAI's servers send as well; the model is the daemon's."""
_RAW: Final = ("pcm", "raw")
_STATUS: Final = {
    "too_big": 413,
    "too_long": 413,
    "unknown_format": 415,
    "not_audio": 422,
    "truncated": 422,
}
_AGAIN: Final = (("Retry-After", "1"),)


class Recordings:
    """Recordings as requests bring them, and their text."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._slots = trio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def arriving(self, request: Request) -> AsyncIterator[Form]:
        """Read the form of a request, which may hold a recording; few are in memory at a time.

        Raises ``Problem``: 503, before the body is read, where no speech can be read at all; what
        ``read_form`` raises.
        """
        try:
            self._voice.speech.check()
        except SpeechUnavailable as reason:
            raise _unavailable(reason) from None
        async with self._slots:
            yield await read_form(request, file_bytes=FILE_BYTES)

    async def text_of(
        self, file: File, device: str, language: str | None, session_id: str | None
    ) -> Transcribed:
        """Transcribe a recording. Raises ``Problem``, ``NotFound`` for the session."""
        suffix = file.filename.rpartition(".")[2].lower() if "." in file.filename else ""
        raw = suffix in _RAW or file.content_type == "audio/l16"
        try:
            return await self._voice.speech.transcribe(
                file.data,
                format="pcm16" if raw else suffix[:16],
                language=code_of(language),
                hotwords=await self._voice.terms(session_id),
                owner=f"device {device}",
            )
        except SpeechUnavailable as reason:
            raise _unavailable(reason) from None
        except AudioError as fault:
            raise _problem(fault) from None


class TranscriptionRoute:
    """The handler of ``POST /v1/audio/transcriptions``."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings

    async def __call__(self, request: Request, device: str) -> Response:
        """Transcribe a recording in a form. Raises ``Problem``, ``PodiumError``."""
        kind = media_type(request)
        if kind != FORM:
            raise Problem(415, detail=f"Send {FORM}, with the recording in 'file'.")
        async with self._recordings.arriving(request) as form:
            as_text = _format(form) == "text"
            if form.file is None:
                raise InvalidParameter("file", "'file' is missing: expected a recording.")
            heard = await self._recordings.text_of(
                form.file, device, language_of(form), form.fields.get("session_id") or None
            )
        if as_text:
            text = f"{heard.text}\n".encode()
            return Response(200, text, content_type="text/plain; charset=utf-8")
        duration = heard.duration_ms / 1000
        return json_response(
            200, {"text": heard.text, "language": heard.language, "duration": duration}
        )


def language_of(form: Form) -> str | None:
    """Return the language that a form names. Raises ``InvalidParameter``."""
    language = form.fields.get("language") or None
    if language is None:
        return None
    plain = language.replace("-", "")
    if len(language) > LONGEST_LANGUAGE or not (plain.isascii() and plain.isalnum()):
        words = f"'language': {quoted(language)} is not the code of a language, such as 'en'."
        raise InvalidParameter("language", words)
    return language


def _format(form: Form) -> str:
    unknown = next((name for name in form.fields if name not in _FIELDS | _IGNORED), None)
    if unknown is not None:
        known = ", ".join(sorted({"file", *_FIELDS}))
        words = f"There is no field {quoted(unknown)}; there are: {known}."
        raise InvalidParameter(unknown[:64], words)
    wanted = form.fields.get("response_format") or "json"
    if wanted not in ("json", "text"):
        words = f"'response_format': {quoted(wanted)} is neither 'json' nor 'text'."
        raise InvalidParameter("response_format", words)
    return wanted


def _unavailable(reason: SpeechUnavailable) -> Problem:
    return Problem(503, "Speech not available", str(reason), reason=reason.state)


def _problem(fault: AudioError) -> Problem:
    status = _STATUS.get(fault.code)
    if status is None:
        return Problem(503, "Speech not available", fault.message, _AGAIN, code=fault.code)
    return Problem(status, "", fault.message, code=fault.code)
