"""An event: typed for who reads it in the daemon, and JSON for who is told it."""

from __future__ import annotations

import pytest

from podiumd.core.run import facts as f
from podiumd.wire.event import Event, Happened
from podiumd.wire.events import Snapshot, TurnOutput
from podiumd.wire.runs import Run
from tests.plain import plain, some, told

AT = "2026-01-02T03:04:05.000Z"


def test_a_stored_event_is_told_with_its_places() -> None:
    fact = f.RunParked(until=AT)
    event = Event(fact, at=AT, run_id="r", session_id="s", seq=3, pos=9)

    assert event.type == "run.parked"
    assert list(told(event).items()) == [
        ("seq", 3),
        ("pos", 9),
        ("type", "run.parked"),
        ("at", AT),
        ("run_id", "r"),
        ("session_id", "s"),
        ("data", {"until": AT, "detail": ""}),
    ]


@pytest.mark.parametrize(
    ("kind", "fact"), [("turn.output", some(TurnOutput)), ("snapshot", some(Snapshot))]
)
def test_a_transient_event_has_no_place(kind: str, fact: Happened) -> None:
    event = Event(fact, at=AT, run_id="r", session_id=None)

    assert [*told(event)] == ["type", "at", "run_id", "session_id", "data"]
    assert (event.type, told(event)["data"]) == (kind, plain(fact))


def test_the_end_of_a_run_tells_the_run() -> None:
    run = some(Run, name="Sample")
    event = Event(some(f.RunEnded), at=AT, run_id="r", session_id="s", seq=1, pos=1, run=run)

    assert told(event)["data"]["run"] == plain(run)


def test_an_event_is_written_once() -> None:
    event = Event(f.RunPaused(), at=AT, run_id="r", session_id="s", seq=1, pos=1)
    assert event.written is event.written
