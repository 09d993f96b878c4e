"""A STATE that the release before has left goes on under this one: a real daemon, its own door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.real_daemon import RealDaemon, real_daemon
from tests.store.recorded import ENDED, PROMPT, WAITING, recorded


def state_of(home: Path) -> Path:
    (home / "state").mkdir(parents=True, mode=0o700)
    return recorded(home / "state").parent


def until_ended(daemon: RealDaemon, run_id: str) -> list[dict[str, Any]]:
    """The events of a run, to its end."""
    events: list[dict[str, Any]] = daemon.result("runs.events", run_id=run_id, follow=True)[
        "events"
    ]
    while events[-1]["type"] != "run.ended":
        line = json.loads(daemon.answers.readline())
        if line.get("method") == "run.event":
            events.append(line["params"])
    return events


def test_a_run_that_waited_under_the_release_before_is_answered_ends_and_its_copy_goes_when_named(
    tmp_path: Path,
) -> None:
    state = state_of(tmp_path)
    with real_daemon(tmp_path) as daemon:
        listed = daemon.result("runs.list")
        assert [run["run_id"] for run in listed] == [WAITING, ENDED]
        assert daemon.result("runs.get", run_id=PROMPT[:8])["status"] == "ended"
        [question] = daemon.result("questions.list")
        assert (question["run_id"], question["text"]) == (WAITING, "Commit the note?")
        daemon.result("questions.answer", question_id=question["question_id"], answer="no")
        events = until_ended(daemon, WAITING)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert daemon.result("runs.get", run_id=WAITING)["exit"]["reason"] == "gate-declined"
        again = daemon.call("questions.answer", question_id=question["question_id"], answer="yes")
        assert "already" in again["error"]["message"]
        [lifted] = daemon.logged("Lifted facts.db")
        assert lifted["earlier"] == "facts.db.schema-2"
        sizes = {one["part"]: one["bytes"] for one in daemon.result("storage.usage")["parts"]}
        assert sizes["copies"] == (state / "facts.db.schema-2").stat().st_size
        [part] = daemon.result("storage.prune", what=["copies"], dry_run=True)["parts"]
        assert (part["part"], part["count"]) == ("copies", 1)
        assert (state / "facts.db.schema-2").exists()
        assert daemon.result("storage.prune", what=["copies"], vacuum=True)["parts"] == [part]
        assert not (state / "facts.db.schema-2").exists()
        assert daemon.logged("Pruned")[0]["copies"] == 1
        assert len(daemon.result("runs.list")) == 2
