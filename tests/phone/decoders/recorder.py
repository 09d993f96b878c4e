"""Runs the apps' tables over every message that a gateway sends while a test runs.

The phones of the tests hand in what they are sent; a message that some app could not decode fails
the test in which it was sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.phone.decoders.shapes import Json, misfits
from tests.phone.decoders.tables import APPS, ROWS

NEVER_SENT: Final = frozenset({"replay", "session_updated", "session_locked"})


def faults(frame: object) -> list[str]:
    """What keeps an app from reading a message, a sentence each."""
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        return [f"{str(frame)[:80]!r} is no object with a type"]
    kind = frame["type"]
    tables = {app: table[kind] for app, table in APPS.items() if kind in table}
    if not tables or kind in NEVER_SENT:
        return [f"{kind}: in the table of no app and no addition of the protocol"]
    found = [
        f"{app}, {kind}: {fault}"
        for app, shape in tables.items()
        for fault in misfits(frame, shape, ROWS)
    ]
    return found + ([] if found or kind != "session_history" else _history_faults(frame))


def _history_faults(frame: Json) -> list[str]:
    """What no single field shows of a history."""
    found = []
    strays = {row["session_id"] for row in frame["messages"]} - {frame["session_id"]}
    if strays:
        found.append(f"Swift, session_history: rows of other sessions: {strays}")
    if any(row["offset"] != row["seq"] - 1 for row in frame["messages"]):
        found.append("Swift, session_history: an offset is not one less than its seq")
    if frame["end_of_file"] is not frame["is_complete"]:
        found.append("Swift, session_history: end_of_file is not is_complete")
    gap = {"requested_last_seq": "int", "min_available_seq": "int", "reason": "filled"}
    if frame["gap"] is not None:
        found += [f"Swift, session_history: gap.{one}" for one in misfits(frame["gap"], gap, {})]
    return found


class Recorder:
    """What was sent since it was last asked, as far as an app could not read it."""

    def __init__(self) -> None:
        self.seen = 0
        self._faults: dict[str, None] = {}

    def saw(self, data: str | bytes) -> None:
        """A gateway has sent this to a phone."""
        self.seen += 1
        self._faults.update(dict.fromkeys(faults(json.loads(data))))

    def forget(self) -> None:
        """What was sent up to now is nobody's."""
        self._faults = {}

    def settle(self) -> None:
        """Raises ``AssertionError`` where an app could not read what was sent; forgets it."""
        found, self._faults = list(self._faults), {}
        assert not found, "sent to phones, and not readable for every app:\n  " + "\n  ".join(found)


RECORDER: Final = Recorder()


@pytest.fixture(autouse=True)
def frames_that_every_app_reads() -> Iterator[None]:
    """What the gateway sends in a test can be read by every app."""
    RECORDER.forget()
    yield
    RECORDER.settle()
