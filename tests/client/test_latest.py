"""Commands about a run where none is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client import stories
from tests.client.fake_daemon import RUN_ID, FakeDaemon, podium


def listed(daemon: FakeDaemon, *, active: bool, any_at_all: bool = True) -> None:
    """The daemon has one run, active or ended, or none."""

    def runs(params: dict[str, Any]) -> list[dict[str, Any]]:
        there = any_at_all and (active or not params.get("active"))
        return [{"run_id": RUN_ID, "recipe": "fix-it", "name": "fix-it: slugs"}] if there else []

    daemon.answers["runs.list"] = runs


@pytest.mark.parametrize(
    ("active", "words"), [(True, "the latest active run"), (False, "the latest run")]
)
def test_the_active_run_is_meant_else_the_latest(
    daemon: FakeDaemon, active: bool, words: str
) -> None:
    stories.recipe_daemon(daemon, stories.started(), stories.ended(2))
    listed(daemon, active=active)

    attached = podium(daemon, "attach")
    log = podium(daemon, "runs", "log")

    daemon.answers["runs.diff"] = {}
    diff = podium(daemon, "diff", "--stat")

    for done in (attached, log, diff):
        assert f"podium: {words}, {RUN_ID[:8]}: fix-it: slugs\n" in done.stderr
    assert {params["run_id"] for params in daemon.params_of("runs.events")} == {RUN_ID}
    assert daemon.params_of("runs.diff") == [{"run_id": RUN_ID, "patch": False}]


@pytest.mark.parametrize(
    "command", [["attach"], ["runs", "show"], ["runs", "log"], ["runs", "export"], ["diff"]]
)
def test_where_there_is_no_run_yet_it_is_said_how_to_start_one(
    daemon: FakeDaemon, command: list[str]
) -> None:
    listed(daemon, active=False, any_at_all=False)

    done = podium(daemon, *command)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "podium: There is no run yet: 'podium run RECIPE' starts one.\n"


def test_what_ends_or_changes_a_run_wants_it_named(daemon: FakeDaemon) -> None:
    done = podium(daemon, "cancel")

    assert (done.returncode, daemon.calls) == (2, [])
    assert "'podium cancel' needs RUN" in done.stderr


def test_without_a_recipe_those_that_there_are_are_listed(daemon: FakeDaemon) -> None:
    daemon.answers["recipes.list"] = [
        {"id": "fix-it", "label": "Fix it", "source": "user", "description": "Mends."},
        {"id": "bad", "label": "bad", "source": "user", "ok": False},
    ]

    done = podium(daemon, "run")

    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["fix-it", "Fix", "it", "user", "Mends."]
    assert lines[2].endswith("'podium recipe check bad' says why")
    assert done.stderr.endswith("podium: 'podium run' needs one of these: 'podium run RECIPE'.\n")
    assert [method for method, _ in daemon.calls] == ["recipes.list"]
