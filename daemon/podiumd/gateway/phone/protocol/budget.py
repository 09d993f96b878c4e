"""Frame budgets: a phone breaks its connection on a frame that is too large. Pure.

Sizes are bytes of UTF-8; a frame's is that of its JSON, measured, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from podiumd.gateway.phone.protocol.wire import Json, encode

KB: Final = 1024
DEFAULT_BYTES: Final = 100 * KB
"""A frame's size until the phone has set one."""
MESSAGE_BYTES: Final = 20 * KB
"""A message's text is cut to this."""
LEAST_KB: Final = 16
"""With less, a session would take more frames than messages."""
MOST_KB: Final = 1024

_CUTS: Final = tuple(MESSAGE_BYTES >> halving for halving in range(9))
"""20 KB down to 80 bytes: what the strings of a message are cut to until it fits."""


def kilobytes(size_kb: int) -> int:
    """Return the size in KB that a phone gets which asked for this one."""
    return max(LEAST_KB, min(size_kb, MOST_KB))


def cut(text: str, limit: int) -> str:
    """Return the text in at most ``limit`` bytes, with what is too much taken out of its middle.

    A notice stands in the gap, unless there is no room for one. No character is split.
    """
    # A character has at most four bytes, so most texts are measured without a copy.
    if 4 * len(text) <= limit:
        return text
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else _without_middle(data, limit)


def fit(build: Callable[[str], bytes], text: str, budget: int) -> bytes:
    """Return the frame that ``build`` makes of the text, cut so that it has ``budget`` bytes.

    With a budget that not even an empty text fits into, it is the frame of the empty text.
    """
    if len(text) <= budget and len(whole := build(text)) <= budget:
        return whole
    data = text.encode("utf-8", "replace")
    best, least, most = build(""), 0, min(budget, len(data) - 1)
    while least < most:  # how much JSON a text becomes depends on what is in it
        limit = (least + most + 1) // 2
        tried = build(_without_middle(data, limit))
        if len(tried) <= budget:
            best, least = tried, limit
        else:
            most = limit - 1
    return best


def _without_middle(data: bytes, limit: int) -> str:
    """Return the text of ``data``, which has more than ``limit`` bytes."""
    limit = max(0, limit)
    notice = f"\n[truncated ~{max(1, round((len(data) - limit) / KB))} KB]\n"
    room = limit - len(notice)
    if room <= 0:
        return data[:limit].decode("utf-8", "ignore")
    tail = room // 2
    head = data[: room - tail].decode("utf-8", "ignore")
    return head + notice + data[len(data) - tail :].decode("utf-8", "ignore")


def shrink(message: Json, budget: int, spare: Sequence[str] = ()) -> bytes:
    """Return the frame with its longest strings cut, wherever they are, until it fits.

    The fields in ``spare`` become null, one after the other, where cutting does not help.
    """
    data = encode(message)
    for limit in _CUTS:
        if len(data) <= budget:
            return data
        data = encode(_cut_all(message, limit))
    for name in spare:
        if len(data) <= budget:
            return data
        message = {**message, name: None}
        data = encode(_cut_all(message, _CUTS[-1]))
    return data


def listed(message: Json, key: str, rows: Sequence[Json], budget: int) -> bytes:
    """Return the frame with as many of the first ``rows`` under ``key`` as fit."""
    return encode({**message, key: fitting(message, key, rows, budget)})


def fitting(message: Json, key: str, rows: Sequence[Json], budget: int) -> list[Json]:
    """Return as many of the first ``rows`` as fit under ``key``."""
    room = budget - len(encode({**message, key: []}))
    kept = []
    for row in rows:
        room -= len(encode(row)) + 1
        if room < 0:
            break
        kept.append(row)
    return kept


def _cut_all(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return cut(value, limit)
    if isinstance(value, dict):
        return {key: _cut_all(item, limit) for key, item in value.items()}
    return [_cut_all(item, limit) for item in value] if isinstance(value, list | tuple) else value
