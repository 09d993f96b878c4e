"""The stored events of a run, asked for page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.rpc.connection import Connection

Json = dict[str, Any]


def pages(connection: Connection, run_id: str) -> Iterator[list[Json]]:
    """Yield the stored events of a run, as many at a time as the daemon gives."""
    after = 0
    while True:
        page = connection.call("runs.events", {"run_id": run_id, "after_seq": after})
        if page["events"]:
            yield page["events"]
        if not page["events"] or page["next_seq"] <= after:
            return
        after = page["next_seq"]
