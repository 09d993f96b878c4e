"""Facts and runs to store, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import msgspec

from podiumd.store.records import NewFact, RunRow

AT = "2026-01-02T03:04:05.678Z"


def a_run(run_id: str = "run-1", **changes: Any) -> RunRow:
    """A running run of a recipe, with these fields changed."""
    row = RunRow(
        run_id=run_id,
        kind="recipe",
        status="running",
        session_id="session-1",
        working_directory="/project",
        started_at=AT,
        ended_at=None,
        summary=msgspec.json.encode({"run_id": run_id}),
    )
    return msgspec.structs.replace(row, **changes)


def a_fact(value: Any = 0, type: str = "step.entered", **changes: Any) -> NewFact:
    """A fact whose data is {"value": value}, with these fields changed."""
    data = msgspec.json.encode({"value": value})
    fact = NewFact(type=type, version=1, at=AT, session_id="session-1", data=data)
    return msgspec.structs.replace(fact, **changes)


def value_of(fact: Any) -> Any:
    """What ``a_fact`` was given."""
    return msgspec.json.decode(fact.data)["value"]
