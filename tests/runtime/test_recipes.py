"""Recipes, played by the running daemon: steps, gates, checks, limits, queues."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from trio.testing import MockClock, wait_all_tasks_blocked

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import Script, demo_script
from podiumd.core.analysis.rehearse import Rejected
from podiumd.core.reply.report import TurnReport
from podiumd.runtime.errors import (
    InvalidParameter,
    NotFound,
    OrchestrationDisabled,
    RecipeRefused,
    Refused,
)
from tests.plain import plain, reason
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, fields_of, running, virtual
from tests.tools.git_repository import commit, make_repository, run_git

LOOP = """
format = 1
id = "loop"
label = "Loop"
description = "Works until it is good"
initial = "work"
[limits]
{limits}
[steps.work]
prompt = "Do the work."
[steps.work.on]
complete = {{ exit = "turn-complete" }}
again = {{ to = "work" }}
"""


@pytest.fixture
def repository(machine: Machine) -> Path:
    path = make_repository(machine.project / "repo")
    commit(path, "first")
    return path


def quick_demo() -> ScriptedDriver:
    return ScriptedDriver(Script(tuple(replace(turn, delay_ms=0) for turn in demo_script().turns)))


@pytest.mark.usefixtures("shipped")
async def test_the_built_in_recipe_goes_from_start_to_commit_with_the_scripted_agent(
    machine: Machine, repository: Path
) -> None:
    machine.drivers["scripted"] = quick_demo()
    async with running(machine) as daemon:
        run_id = await daemon.start(
            "implement-and-review", working_directory=str(repository), agent="scripted"
        )
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["class"]) == ("changes-committed", "completed")
        assert [(v["step"], v["outcome"]) for v in run["history"]] == [
            ("implement", "complete"),
            ("code-review", "issues-found"),
            ("fix", "complete"),
            ("code-review", "no-issues"),
            ("commit", "committed"),
        ]
        assert (run["turns"], run["visits"]["code-review"]) == (5, 2)
        assert run["cost_usd"] == pytest.approx(0.039)
        assert run_git(repository, "log", "-1", "--format=%s") == "Add URL slugs"
        assert run_git(repository, "status", "--porcelain") == ""
        [line] = fields_of(daemon.logged, "Recipe completed")
        assert (line["reason"], line["recipe_id"]) == ("changes-committed", "implement-and-review")
        assert len(fields_of(daemon.logged, "Transition")) == 5
        assert await daemon.service.locks() == []
        await daemon.forgotten(run_id)
        assert not list((machine.state / "turns").iterdir())


async def test_a_recipe_that_commits_asks_before_it_starts_on_a_dirty_tree(
    machine: Machine, repository: Path
) -> None:
    committing = machine.one_step("committing", step="commits = true")
    (repository / "new.txt").write_text("mine")
    async with running(machine) as daemon:
        run_id = await daemon.start(committing, working_directory=str(repository))
        question = await daemon.question(run_id)
        assert (question["kind"], question["detail"]) == ("gate", "new.txt")
        await daemon.answer(run_id, "no")
        assert (await daemon.ended(run_id))["exit"]["reason"] == "gate-declined"
        run_id = await daemon.start(committing, working_directory=str(repository))
        await daemon.answer(run_id, "yes")
        (await daemon.turn()).complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "turn-complete"


async def test_a_reply_without_an_outcome_is_asked_for_again_three_times(machine: Machine) -> None:
    one = machine.one_step()
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        for _ in range(4):
            (await daemon.turn()).end(done({"outcome": "perfect"}))
        prompts = [turn.prompt for turn in machine.agent.turns]
        assert all(
            prompt.startswith("Please respond again with JSON per the instructions.")
            for prompt in prompts[1:]
        )
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["detail"]) == ("orchestration-error", "perfect")
        assert len(fields_of(daemon.logged, "Outcome invalid")) == 4
        assert fields_of(daemon.logged, "Unexpected outcome")[0]["returned"] == "perfect"


async def test_a_turn_ends_at_its_time_limit_and_questions_do_not_count(
    machine: Machine, mock_clock: MockClock
) -> None:
    slow = machine.one_step("slow", step="timeout_minutes = 30")
    async with virtual(machine) as daemon:
        run_id = await daemon.start(slow)
        turn = await daemon.turn()
        await daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
        turn.asks()
        await daemon.question(run_id)
        mock_clock.jump(3600.0)
        await daemon.answer(run_id, "allow")
        await turn.answered()
        mock_clock.jump(29 * 60.0)
        await wait_all_tasks_blocked()
        assert not turn.interrupted.is_set()
        mock_clock.jump(61.0)
        await turn.interrupted.wait()
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["detail"]) == (
            "error",
            "the turn took longer than it may",
        )
        assert run["seconds"] == pytest.approx(30 * 60 + 1)


async def test_a_turn_without_a_process_has_a_time_limit_too(
    machine: Machine, mock_clock: MockClock
) -> None:
    script = Script((replace(demo_script().turns[0], when="", delay_ms=100_000_000, write=()),))
    machine.drivers["scripted"] = ScriptedDriver(script)
    slow = machine.one_step("slow", step="timeout_minutes = 5")
    async with virtual(machine) as daemon:
        run_id = await daemon.start(slow, agent="scripted")
        await daemon.until(run_id, lambda state: state.turn is not None)
        while not list((machine.state / "turns").glob("*/journal.jsonl")):
            await daemon.actor(run_id).changed()
        await wait_all_tasks_blocked()
        mock_clock.jump(301.0)
        assert "longer than it may" in (await daemon.ended(run_id))["exit"]["detail"]


async def test_a_run_stopped_by_the_usage_limit_goes_on_by_itself_and_holds_nobody_up(
    machine: Machine, mock_clock: MockClock
) -> None:
    machine.max_agents = 1
    one = machine.one_step()
    async with virtual(machine) as daemon:
        run_id = await daemon.start(one)
        limit = TurnReport(
            kind="usage_limit", resets_at="2026-01-02T05:00:00.000Z", prompt_recorded=True
        )
        (await daemon.turn()).end(limit)
        await daemon.status(run_id, "parked")
        run = await daemon.service.get_run(run_id)
        assert run.parked_until == "2026-01-02T05:00:00.000Z"
        await daemon.prompt("meanwhile")
        (await daemon.turn()).end(done())
        mock_clock.jump(7100.0)
        await wait_all_tasks_blocked()
        assert (await daemon.service.get_run(run_id)).status == "parked"
        mock_clock.jump(101.0)
        turn = await daemon.turn()
        assert turn.request.run_id == run_id
        turn.complete()
        await daemon.ended(run_id)


async def test_a_parked_run_can_be_resumed_or_cancelled_at_once(machine: Machine) -> None:
    one = machine.one_step()
    limit = TurnReport(kind="usage_limit", resets_at="2036-01-02T05:00:00.000Z")
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        (await daemon.turn()).end(limit)
        await daemon.status(run_id, "parked")
        await daemon.service.resume(run_id)
        (await daemon.turn()).end(limit)
        await daemon.status(run_id, "parked")
        assert reason(await daemon.service.cancel(run_id)) == "user-requested"


async def test_runs_over_the_bound_are_queued_and_begin_in_their_order(machine: Machine) -> None:
    machine.max_agents = 1
    one = machine.one_step()
    async with running(machine) as daemon:
        runs = [
            await daemon.start(one, working_directory=machine.directory(f"d{number}"))
            for number in range(4)
        ]
        statuses = [(await daemon.service.get_run(run_id)).status for run_id in runs]
        assert statuses == ["running", "queued", "queued", "queued"]
        await daemon.service.cancel(runs[1])
        for run_id in (runs[0], runs[2], runs[3]):
            turn = await daemon.turn()
            assert turn.request.run_id == run_id
            turn.complete()
        assert [r.run_id for r in await daemon.service.list_runs(None, 10)] == runs[::-1]
        assert await everything(daemon, at_once=1) == runs[::-1]
        with pytest.raises(NotFound):
            await daemon.service.list_runs(None, 1, "no-run")


async def everything(daemon: Daemon, at_once: int) -> list[str]:
    """Every run, page by page, each asked for by the beginning of the last one's id."""
    found: list[str] = []
    before = None
    while page := await daemon.service.list_runs(None, at_once, before):
        found += [run.run_id for run in page]
        before = found[-1][:13]
    return found


async def test_a_run_that_waits_for_a_person_makes_room(machine: Machine) -> None:
    machine.max_agents = 1
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        waiting = await daemon.start(gated)
        await daemon.question(waiting)
        other = await daemon.start(gated, working_directory=machine.directory("other"))
        await daemon.answer(other, "yes")
        turn = await daemon.turn()
        await daemon.answer(waiting, "yes")
        await wait_all_tasks_blocked()
        assert len(machine.agent.turns) == 1
        turn.complete()
        assert (await daemon.turn()).request.run_id == waiting


async def test_a_recipe_that_cannot_be_started_says_why(machine: Machine) -> None:
    machine.recipe("format = 1\nid = 'broken'\n", "broken")
    project = machine.project / ".podium" / "recipes"
    project.mkdir(parents=True)
    (project / "theirs.toml").write_text(LOOP.format(limits="max_step_visits = 2"))
    async with running(machine) as daemon:
        with pytest.raises(RecipeRefused) as raised:
            await daemon.start("broken")
        assert plain(raised.value.data)["findings"]
        with pytest.raises(Refused, match="not trusted"):
            await daemon.start("loop")
        with pytest.raises(InvalidParameter) as params:
            await daemon.start(machine.one_step(), params={"no-such": "x"})
        assert plain(params.value.data)["parameter"] == "params"


async def test_switching_recipes_off_lets_the_turn_finish_and_leaves_plain_chat(
    machine: Machine,
) -> None:
    one = machine.one_step()
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        run_id = await daemon.start(one)
        turn = await daemon.turn()
        waiting = await daemon.start(gated, working_directory=machine.directory("other"))
        await daemon.question(waiting)
        assert plain(await daemon.service.configure(orchestration_enabled=False)) == {
            "orchestration": {"enabled": False}
        }
        assert (await daemon.ended(waiting))["exit"]["reason"] == "orchestration-disabled"
        assert not turn.interrupted.is_set()
        with pytest.raises(OrchestrationDisabled):
            await daemon.start(one, working_directory=machine.directory("third"))
        assert await daemon.service.recipes.list(None) == []
        turn.complete()
        run = await daemon.ended(run_id)
        assert (run["exit"]["reason"], run["exit"]["class"]) == (
            "orchestration-disabled",
            "cancelled",
        )
        await daemon.prompt("Just chat", session_id=turn.request.session_id)
        chat = await daemon.turn()
        assert chat.prompt == "Just chat"
    async with running(machine) as daemon:  # kept over a restart
        assert not (await daemon.service.status()).orchestration.enabled
        await daemon.service.configure(orchestration_enabled=True)
        await daemon.start(one)


async def test_a_recipe_cut_off_before_it_heard_of_the_switch_ends_at_the_next_start(
    machine: Machine,
) -> None:
    async with running(machine) as daemon:
        run_id = await daemon.start(machine.one_step())
        turn = await daemon.turn()
        await daemon.store.set_setting("orchestration.enabled", b"false")
    async with running(machine) as daemon:
        turn.complete()
        assert (await daemon.ended(run_id))["exit"]["reason"] == "orchestration-disabled"


@pytest.mark.usefixtures("shipped")
async def test_recipes_are_listed_and_shown_as_their_project_sees_them(machine: Machine) -> None:
    machine.one_step("mine")
    machine.recipe("format = 1\nid = 'broken'\n", "broken")
    async with running(machine) as daemon:
        listed = {entry.id: entry for entry in await daemon.service.recipes.list(None)}
        assert listed["mine"].first_prompt == "Do the work."
        assert listed["mine"].source == "user"
        assert (listed["broken"].ok, listed["broken"].first_prompt) == (False, "")
        assert listed["implement-and-review"].source == "builtin"
        assert len(listed["implement-and-review"].first_prompt) == 120
        shown = await daemon.service.recipes.get("mine", str(machine.project))
        assert shown.steps["work"].prompt == "Do the work."
        with pytest.raises(RecipeRefused):
            await daemon.service.recipes.get("broken", None)


async def test_an_outcome_is_read_from_a_text_as_a_run_would_read_it(machine: Machine) -> None:
    machine.one_step("mine")
    async with running(machine) as daemon:
        good = await daemon.service.recipes.outcome(
            "mine", "work", 'Done.\n{"outcome": "complete"}', None
        )
        assert plain(good) == {
            "ok": True,
            "outcome": "complete",
            "description": None,
            "source": "text",
            "repaired": False,
        }
        bad = await daemon.service.recipes.outcome("mine", "work", "Done.", None)
        assert isinstance(bad, Rejected) and (bad.ok, bad.error) == (False, "no-json")
        with pytest.raises(NotFound, match="no step 'play'; known here: 'work'"):
            await daemon.service.recipes.outcome("mine", "play", "Done.", None)


async def test_a_start_that_git_is_missing_for_says_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/no/such/place")
    async with running(machine) as daemon:
        with pytest.raises(InvalidParameter, match="git cannot be run"):
            await daemon.start(machine.one_step())
        assert await daemon.service.locks() == []


async def test_the_status_counts_what_is_going_on(machine: Machine) -> None:
    gated = machine.one_step("gated", step='gate = "Go on?"')
    async with running(machine) as daemon:
        run_id = await daemon.start(gated)
        await daemon.question(run_id)
        await daemon.service.pause(run_id)
        await daemon.prompt()
        status = plain(await daemon.service.status())
        ((name, paused),) = [(one["name"], one["paused"]) for one in status.pop("prompts")]
        assert (name, paused) == ("Hello", False)
        assert status.pop("prompts_waiting") in (0, 1)
        assert status == {
            "sessions": 0,
            "runs_active": 1,
            "runs_paused": 1,
            "prompts_active": 1,
            "questions_open": 1,
            "orchestration": {"enabled": True},
            "taken_up": 0,
            "talks_waiting": [],
        }
