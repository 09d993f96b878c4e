"""The end of a turn of Codex, and its meaning: from a turn's status and error to an end. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from podiumd.core.reply.report import EndKind
from podiumd.formats.codex.wire import RateLimitSnapshot, RateLimitWindow, Turn, TurnError

LAST_SECOND: Final = 253_402_300_799  # of the year 9999, the last that RFC 3339 can write

_STATUS: Final = {
    "internalServerError": 500,
    "rateLimitExceeded": 429,
    "serverOverloaded": 503,
    "unauthorized": 401,
}
"""The status that a provider answers with where Codex tells a word for it."""

_OWN: Final = frozenset({"contextWindowExceeded", "modelNotFound", "badRequest", "sandboxError"})
"""Words for what asking again does not mend."""


class End(msgspec.Struct, frozen=True):
    """An end: ``status`` is the provider's answer, ``resets_at`` when a limit ends, if told."""

    kind: EndKind
    detail: str = ""
    status: int | None = None
    resets_at: str | None = None


def end_of(turn: Turn, limits: RateLimitSnapshot) -> End:
    """Judge a turn that has ended, with the limits as last told."""
    if turn.status == "completed":
        return End("done")
    if turn.status == "interrupted":
        return End("interrupted", "the turn was stopped")
    error = turn.error or TurnError(message="Codex failed without a word")
    return _failed(error, limits)


def _failed(error: TurnError, limits: RateLimitSnapshot) -> End:
    word, status = _cause(error.codex_error_info)
    words = error.message.rstrip(".") or f"Codex failed: {word}"
    if word == "usageLimitExceeded":
        return End("usage_limit", words, 429, _resets_at(limits))
    if word in _OWN or (status is not None and status in (400, 404)):
        return End("failed", words, status)
    return End("api_error", words, status)


def _cause(info: Any) -> tuple[str, int | None]:
    """Return Codex's word for a failure, and the provider's status."""
    if isinstance(info, str):
        return info, _STATUS.get(info)
    if isinstance(info, dict) and info:
        word, about = next(iter(info.items()))
        status = about.get("httpStatusCode") if isinstance(about, dict) else None
        return str(word), status if isinstance(status, int) else None
    return "other", None


def _resets_at(limits: RateLimitSnapshot) -> str | None:
    """Return when the used-up limits of the account end, the last of them."""
    used = [one for one in (limits.primary, limits.secondary) if one is not None and _used_up(one)]
    seconds = max((one.resets_at or 0 for one in used), default=0)
    if not 0 < seconds <= LAST_SECOND:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _used_up(window: RateLimitWindow) -> bool:
    return window.used_percent >= 100
