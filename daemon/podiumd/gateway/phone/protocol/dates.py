"""The three ways in which phones read a time; each message needs its own. Pure.

A time that cannot be read becomes ``UNKNOWN``: a row without one would not be shown at all.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from podiumd.formats.session import milliseconds

UNKNOWN: Final = "1970-01-01T00:00:00.000Z"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def readable(timestamp: str | None) -> bool:
    """Say whether this is a time."""
    return _moment(timestamp) is not None


def number(timestamp: str | None) -> int:
    """Return milliseconds since 1970."""
    return milliseconds(timestamp or "") or 0


def fractional(timestamp: str | None) -> str:
    """Return RFC 3339 in UTC with three digits of a second, though they be zeros."""
    moment = _moment(timestamp)
    return UNKNOWN if moment is None else _text(moment, "milliseconds")


def whole(timestamp: str | None) -> str:
    """Return RFC 3339 in UTC without a fraction of a second."""
    return _text(_moment(timestamp) or _EPOCH, "seconds")


def minute(timestamp: str | None) -> str:
    """Return the date and the minute in UTC, for people."""
    return (_moment(timestamp) or _EPOCH).strftime("%Y-%m-%d %H:%M")


def _moment(timestamp: str | None) -> datetime | None:
    since_1970 = milliseconds(timestamp or "")
    if since_1970 is None:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=since_1970)
    except OverflowError:  # its time zone takes it out of the years that there are
        return None


def _text(moment: datetime, precision: str) -> str:
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
