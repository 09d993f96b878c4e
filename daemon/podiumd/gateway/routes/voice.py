"""``POST /v1/audio/transcriptions``, which waits for speech to be part of the daemon."""

from __future__ import annotations

from podiumd.gateway.http import Problem, Request, Response


async def transcriptions(_request: Request, _device: str) -> Response:
    """Raises ``Problem`` 503: no speech is read yet."""
    raise not_yet()


def not_yet() -> Problem:
    """That speech cannot be read."""
    words = "This daemon reads no speech: send text to /v1/prompt."
    return Problem(503, "Speech not available", words)
