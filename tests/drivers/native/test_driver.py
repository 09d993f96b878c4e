"""What the driver says of turns and sessions without running any."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.native.driver import NativeDriver, Surroundings
from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.rules import Rules
from podiumd.agents.native.work import failed_reply
from podiumd.core.reply.actions import Action
from podiumd.core.run import loop_facts as lf
from podiumd.core.run import loop_state as ls
from podiumd.drivers.base import PendingTurn
from tests.tools.fresh_turn import fresh_turn

ID = "ABCDEF01-2345-4789-8ABC-DEF012345678"


@pytest.fixture
def driver(tmp_path: Path) -> NativeDriver:
    return NativeDriver(Surroundings(NativeSettings, {}, tmp_path))


def cut_off(name: str, *changes: lf.FileChange) -> ls.LoopState:
    """A turn that was cut off in the middle of an action."""
    begun = lf.ActionIntended(turn_id="t", reply=1, index=0, action=name, changes=changes)
    state = ls.ActionState(action=Action(name=name), intended=begun)
    return ls.LoopState(rounds=(ls.Round(number=1, text="", stop="end", actions=(state,)),))


def pending(loop: ls.LoopState, *, irreversible: bool) -> PendingTurn:
    return PendingTurn(
        turn_id=fresh_turn(),
        session_id=ID,
        session_mode="new",
        working_directory="/",
        prompt_uuid="p",
        directory="/nonexistent",
        environment={},
        loop=loop,
        irreversible=irreversible,
    )


@pytest.mark.parametrize(
    ("loop", "irreversible", "state"),
    [
        (ls.LoopState(), True, "absent"),
        (cut_off("run_command"), False, "absent"),
        (cut_off("run_command"), True, "broken"),
        (cut_off("run_tests"), True, "broken"),
        (cut_off("patch", lf.FileChange(path="a", after="d")), True, "absent"),
    ],
)
async def test_a_turn_goes_on_unless_a_command_must_not_be_repeated(
    driver: NativeDriver, loop: ls.LoopState, irreversible: bool, state: str
) -> None:
    settled = await driver.inspect(pending(loop, irreversible=irreversible))
    assert settled.state == state
    assert (settled.report is not None) is (state == "broken")


def test_a_session_is_found_however_its_id_is_written(driver: NativeDriver, tmp_path: Path) -> None:
    assert driver.transcript(ID, "/", {}) is None
    path = tmp_path / "sessions" / f"{ID.lower()}.jsonl"
    path.parent.mkdir()
    path.touch()
    assert driver.transcript(ID, "/", {}) == driver.transcript(ID.lower(), "/", {}) == path


@pytest.mark.parametrize("name", ["../../etc/passwd", "", f"{ID}/x", f"{ID}\n"])
def test_what_is_no_id_never_touches_a_path(driver: NativeDriver, name: str) -> None:
    with pytest.raises(ValueError, match="expected a UUID"):
        driver.transcript(name, "/", {})


async def test_a_native_turn_cannot_be_taken_up(driver: NativeDriver) -> None:
    with pytest.raises(RuntimeError, match="ended with its daemon"):
        driver.reattach(pending(ls.LoopState(), irreversible=False))


@pytest.mark.parametrize(
    ("tools", "known", "offered"),
    [
        ("all", {"read_file", "patch", "run_command"}, {"read_file", "patch", "run_command"}),
        ("read-only", {"read_file"}, {"read_file"}),
        ("none", set(), set()),
        (("Read", "Edit"), {"read_file", "patch"}, {"read_file", "patch"}),
    ],
)
def test_what_exists_in_a_turn_is_what_the_recipe_says(
    tools: str | tuple[str, ...], known: set[str], offered: set[str]
) -> None:
    rules = Rules("confirm", tools, ())
    risks = {"read_file": "read", "patch": "write", "run_command": "exec"}
    assert {name for name, risk in risks.items() if rules.knows(name, risk)} == known  # type: ignore[arg-type]
    assert {name for name, risk in risks.items() if rules.offers(name, risk)} == offered  # type: ignore[arg-type]
    assert rules.knows("done", "read")


def test_what_only_the_mode_forbids_exists_and_is_refused() -> None:
    rules = Rules("read-only", "all", ())
    assert rules.knows("patch", "write") and not rules.offers("patch", "write")


def test_a_limit_that_says_when_it_ends_parks_the_run_until_then() -> None:
    error = ModelError("rate", "Come back later.", retry_after=3600.0, status=429)

    failed = failed_reply(error)

    assert (failed.kind, failed.api_status) == ("usage_limit", 429)
    assert failed.resets_at is not None
    until = datetime.fromisoformat(failed.resets_at) - datetime.now(UTC)
    assert timedelta(minutes=50) < until <= timedelta(hours=1)


def test_a_limit_that_says_no_time_fails_the_turn() -> None:
    failed = failed_reply(ModelError("rate", "Come back later."))

    assert (failed.kind, failed.resets_at) == ("api_error", None)


@pytest.mark.parametrize("kind", ["rate", "network"])
def test_what_attempts_without_a_reply_have_cost_counts(kind: Any) -> None:
    error = ModelError(kind, "No reply came.", retry_after=5.0)
    error.cost_usd = 0.25

    assert failed_reply(error).cost_usd == 0.25
