"""What the service answers, as clients get it: plain values, to be compared as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from podiumd.wire.runs import Run

S = TypeVar("S", bound=msgspec.Struct)


def plain(value: object) -> Any:
    """The value as JSON has it: objects are dicts, lists are lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


def shown(make: Callable[..., object], *given: object) -> Any:
    """What ``make`` makes of this, as JSON has it."""
    return plain(make(*given))


def made(kind: type[S], value: object) -> S:
    """A struct of the wire from what it is as JSON."""
    return msgspec.convert(value, kind)


def reason(run: Run) -> str | None:
    """Why a run has ended."""
    return None if run.exit is None else run.exit.reason
