"""The tables find what an app could not read, and the recorder fails the test that sent it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.long import sampled
from tests.phone.decoders.recorder import Recorder, faults
from tests.phone.decoders.shapes import KINDS, Json, Shape
from tests.phone.decoders.tables import APPS, ROWS

SAMPLES: dict[str, Any] = {
    "str": "text",
    "filled": "text",
    "int": 3,
    "count": 1,
    "bool": True,
    "object": {"requested_last_seq": 9, "min_available_seq": 1, "reason": "client_ahead"},
    "list": [],
    "id": "8c1f2d3e-0000-4000-8000-000000000001",
    "version": "0.5.0",
    "ms": 1_767_323_045_000,
    "time": "2026-01-02T03:04:05Z",
    "fraction": "2026-01-02T03:04:05.678Z",
    "whole": "2026-01-02T03:04:05Z",
}
DEMANDS = [
    (app, kind, name)
    for app, table in APPS.items()
    for kind, shape in table.items()
    for name, word in shape.items()
    if not word.endswith("?")
]


def sample(shape: Shape, deep: int = 2) -> Json:
    """An object that fits a shape."""
    return {name: _sample(word.rstrip("?"), deep) for name, word in shape.items()}


def _sample(word: str, deep: int) -> Any:
    if word.startswith("["):
        return [sample(ROWS[word.strip("[]")], deep - 1)] if deep else []
    return SAMPLES[word] if word in KINDS else word.split("|", maxsplit=1)[0]


def right(kind: str) -> Json:
    """A message that every app can read: each has its field of the narrowest kind."""
    made: Json = {"type": kind}
    for table in reversed(list(APPS.values())):  # Swift, the strictest, has the last word
        for name, value in sample(table.get(kind, {})).items():
            made[name] = _both(made.get(name), value)
    if kind == "session_history":
        made["messages"] = [row | {"session_id": made["session_id"]} for row in made["messages"]]
        made["messages"] = [row | {"seq": 4, "offset": 3} for row in made["messages"]]
    return made


def _both(one: Any, other: Any) -> Any:
    """What fits two shapes, the other one being the stricter."""
    if isinstance(one, list) and isinstance(other, list) and one and other:
        return [{**one[0], **other[0]}]
    return other or one


@pytest.mark.parametrize("kind", sorted({kind for table in APPS.values() for kind in table}))
def test_a_right_message_is_read_by_every_app(kind: str) -> None:
    assert faults(right(kind)) == []


@pytest.mark.parametrize(("app", "kind", "name"), DEMANDS)
@pytest.mark.parametrize("broken", sampled(["missing", "null", "of another kind"]))
def test_a_field_that_an_app_needs_is_missed(app: str, kind: str, name: str, broken: str) -> None:
    frame = right(kind)
    if broken == "missing":
        del frame[name]
    else:
        frame[name] = None if broken == "null" else 7.5
    assert any(one.startswith(f"{app}, {kind}: {name}") for one in faults(frame))


@pytest.mark.parametrize(
    ("kind", "rows", "change"),
    [
        ("session_history", "messages", {"type": None}),
        ("session_history", "messages", {"role": "system"}),
        ("session_history", "messages", {"session_id": "another"}),
        ("session_history", "messages", {"offset": 9}),
        ("session_history", "messages", {"timestamp": "yesterday"}),
        ("session_list", "sessions", {"session_id": "ses_1"}),
        ("session_list", "sessions", {"last_modified": 1_767_323_045}),
        ("session_list", "sessions", {"message_count": 0}),
        ("recent_sessions", "sessions", {"last_modified": "2026-01-02T03:04:05Z"}),
        ("command_history", "sessions", {"output_preview": None}),
        ("resources_list", "resources", {"timestamp": "2026-01-02T03:04:05.000Z"}),
    ],
)
def test_a_row_that_an_app_drops_is_a_fault(kind: str, rows: str, change: Json) -> None:
    frame = right(kind)
    frame[rows] = [{**row, **change} for row in frame[rows]]
    assert faults(frame) != []


@pytest.mark.parametrize("frame", [[], "text", {}, {"type": 3}, {"type": "hologram"}])
def test_what_is_no_message_of_the_protocol_is_a_fault(frame: object) -> None:
    assert len(faults(frame)) == 1


def test_a_broken_message_fails_the_test_in_which_it_was_sent() -> None:
    recorder = Recorder()
    recorder.saw(json.dumps(right("ack")))
    recorder.settle()
    recorder.saw(b'{"type":"ack"}')
    with pytest.raises(AssertionError, match="Kotlin, ack: message is missing"):
        recorder.settle()
    recorder.settle()
    assert recorder.seen == 2
