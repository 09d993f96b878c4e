"""What takes room on the disk, told by part; what may go, named before and after it goes."""

from __future__ import annotations

import json
from typing import Any

from tests.client.fake_daemon import FakeDaemon, podium

USAGE = {
    "state": "/home/ada/.local/state/podium",
    "parts": [
        {"part": "facts", "bytes": 1_602_000_000, "bound": "retention.runs_days"},
        {"part": "worktrees", "bytes": None, "bound": "'podium worktree remove RUN'"},
        {"part": "checks", "bytes": 0, "bound": "retention.failed_checks"},
    ],
    "unused": 2_000_000,
}
WORKTREES = [
    {
        "run_id": "1a2b3c4d-0000-4000-8000-000000000000",
        "directory": "/state/worktrees/gate-1a2b3c4d",
        "bytes": 12_000_000,
        "started_at": "2020-01-01T00:00:00.000Z",
        "branch": "podium/gate-1a2b3c4d",
    },
    {"run_id": None, "directory": "/state/worktrees/lost", "bytes": 5, "problem": "forgotten"},
]


def pruned(**changes: Any) -> dict[str, Any]:
    parts = [{"part": "marks", "count": 3, "bytes": 90}, {"part": "gone", "count": 1, "bytes": 0}]
    return {"dry_run": False, "parts": parts, "vacuumed": None} | changes


def test_the_storage_is_a_table_of_what_is_there_and_what_bounds_it(daemon: FakeDaemon) -> None:
    daemon.answers["storage.usage"] = USAGE

    told = podium(daemon, "status", "--storage").stdout

    assert daemon.calls == [("storage.usage", {})]
    place, heading, facts, worktrees, unused = told.splitlines()
    assert place == "~/.local/state/podium"
    assert heading.split() == ["PART", "SIZE", "BOUNDED", "BY"]
    assert facts.split() == ["facts", "1.6", "GB", "retention.runs_days"]
    assert worktrees.split()[:2] == ["worktrees", "many"]
    assert unused == "2.0 MB of facts.db are not in use: 'podium prune --vacuum'."
    assert json.loads(podium(daemon, "status", "--storage", "--json").stdout) == USAGE


def test_what_was_pruned_is_said_and_worktrees_are_listed_and_stay(daemon: FakeDaemon) -> None:
    daemon.answers |= {"storage.prune": pruned(vacuumed=4096), "worktrees.list": WORKTREES}

    told = podium(daemon, "prune", "--vacuum", "--what", "marks", "--what", "gone").stdout

    asked = {"dry_run": False, "vacuum": True, "what": ["marks", "gone"]}
    assert daemon.calls == [("storage.prune", asked), ("worktrees.list", {})]
    first, second, third, _, says, _, mine, lost = told.splitlines()
    assert first == "3 marks of sessions that no run has removed, 90 B"
    assert second == "1 sessions whose transcript is gone removed"
    assert third == "4.1 KB of facts.db given back"
    assert says == "Worktrees stay until you say so ('podium worktree remove RUN'):"
    assert mine.startswith("1a2b3c4d  12 MB  ") and mine.endswith("  podium/gate-1a2b3c4d")
    assert lost.startswith("-         5 B") and lost.endswith("/state/worktrees/lost")


def test_a_dry_run_says_what_would_go(daemon: FakeDaemon) -> None:
    daemon.answers |= {
        "storage.prune": pruned(dry_run=True, vacuumed=4096),
        "worktrees.list": [],
    }
    told = podium(daemon, "prune", "--dry-run", "--vacuum").stdout
    assert "3 marks of sessions that no run has would go, 90 B\n" in told
    assert told.endswith("4.1 KB of facts.db could be given back\n")


def test_nothing_to_prune_is_a_sentence(daemon: FakeDaemon) -> None:
    daemon.answers |= {"storage.prune": pruned(parts=[]), "worktrees.list": []}
    told = podium(daemon, "prune").stdout
    assert told == "Nothing to remove: all that is there is kept or in use.\n"


def test_pruning_for_programs_is_the_answer_with_the_worktrees(daemon: FakeDaemon) -> None:
    daemon.answers |= {"storage.prune": pruned(), "worktrees.list": WORKTREES}
    told = {**daemon.answers["storage.prune"], "worktrees": daemon.answers["worktrees.list"]}
    assert json.loads(podium(daemon, "prune", "--json").stdout) == told
