"""What the daemon can say of a recipe before it runs: check, simulate, paths, graph, rehearse."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.claude.driver import CAPABILITIES
from podiumd.runtime.errors import InvalidParameter, NotFound, RecipeRefused
from podiumd.runtime.recipes.catalogue import builtin_directory
from podiumd.runtime.recipes.files import PROJECT_NAMES
from tests.plain import plain
from tests.runtime.harness import Daemon, Json, Machine, running

LOOP = """
format = 1
id = "loop"
initial = "work"

[limits]
max_total_steps = 6

[steps.work]
prompt_file = "work.md"

[steps.work.on]
complete = { to = "test" }

[steps.test]
run = ["make", "test"]
timeout_minutes = 2

[steps.test.on]
passed = { to = "ship" }
failed = { to = "work" }

[steps.ship]
gate = "Ship it?"
prompt = "Ship it."

[steps.ship.on]
shipped = { exit = "conversation-complete" }
"""

CALLING = """
format = 1
id = "calling"
initial = "work"
[steps.work]
recipe = "one"
on.turn-complete = { exit = "turn-complete" }
"""

BUILT_IN = sorted(path.stem for path in builtin_directory().glob("*.toml"))


@pytest.fixture
def loop(machine: Machine) -> str:
    """A recipe with a loop, a command, a gate and a prompt file."""
    (machine.recipes / "work.md").write_text("Work until it is right.")
    return machine.recipe(LOOP, "loop")


async def check(daemon: Daemon, **given: Any) -> Json:
    empty = {"path": None, "text": None, "recipe_id": None, "working_directory": None}
    report: Json = plain(await daemon.service.recipe_tools.check(**{**empty, **given}))
    return report


def faults(answer: Json) -> list[tuple[str, int]]:
    return [(finding["code"], finding["line"]) for finding in answer["findings"]]


def open_files() -> list[str]:
    """What this process has open; a descriptor may be closed while it is looked at."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    return links


# -- check ----------------------------------------------------------------------------------------


async def test_a_sound_recipe_has_no_faults_and_a_worst_case(machine: Machine, loop: str) -> None:
    """Six entries at most, four replies in each that is a turn."""
    expected = {"ok": True, "findings": [], "worst_case": {"turns": 24, "minutes": None}}
    async with running(machine) as daemon:
        assert await check(daemon, recipe_id=loop) == expected
        assert await check(daemon, path=str(machine.recipes / "loop.toml")) == expected
        assert await check(daemon, recipe_id="user.loop") == expected


@pytest.mark.usefixtures("shipped")
async def test_every_recipe_that_ships_checks_clean_with_the_agents_that_are_here(
    machine: Machine,
) -> None:
    machine.agent.capabilities = CAPABILITIES
    async with running(machine) as daemon:
        for name in BUILT_IN:
            answer = await check(daemon, recipe_id=name, working_directory=str(machine.project))
            assert (name, answer["ok"], answer["findings"]) == (name, True, [])
            assert answer["worst_case"]["minutes"], name
            # Nobody can say how often people will speak in a conversation.
            talks = name == "guided-design"
            assert (answer["worst_case"]["turns"] is None) == talks, name


async def test_a_fault_is_told_with_file_line_step_and_what_to_do(machine: Machine) -> None:
    text = LOOP.replace('prompt_file = "work.md"', 'prompt = "Work."')
    endless = text.replace("max_total_steps = 6", "max_minutes = 60")
    async with running(machine) as daemon:
        answer = await check(daemon, text=endless)
    assert (answer["ok"], faults(answer)) == (False, [("unbounded-cycle", 9)])
    [finding] = answer["findings"]
    assert (finding["file"], finding["step"], finding["level"]) == ("recipe.toml", "work", "error")
    assert "set max_step_visits or max_total_steps in [limits]" in finding["message"]
    assert answer["worst_case"] == {"turns": None, "minutes": 60.0}


async def test_a_text_has_no_files_beside_it(machine: Machine) -> None:
    async with running(machine) as daemon:
        answer = await check(daemon, text=LOOP)
    assert (answer["ok"], answer["worst_case"]) == (False, None)
    [finding] = answer["findings"]
    assert "comes as text has no files beside it" in finding["message"]


async def test_a_broken_recipe_is_told_all_its_faults_by_name_too(machine: Machine) -> None:
    machine.recipe(LOOP.replace("exit =", "exti ="), "loop")
    async with running(machine) as daemon:
        by_file = await check(daemon, path=str(machine.recipes / "loop.toml"))
        by_name = await check(daemon, recipe_id="loop")
    assert by_file == by_name and not by_name["ok"]
    assert {code for code, _ in faults(by_name)} >= {"unknown-key", "bad-value"}


async def test_two_files_with_one_id_are_a_fault_of_the_recipe_that_is_meant(
    machine: Machine,
) -> None:
    machine.one_step("one")
    (machine.recipes / "two.toml").write_bytes((machine.recipes / "one.toml").read_bytes())
    async with running(machine) as daemon:
        answer = await check(daemon, recipe_id="one")
    assert (answer["ok"], answer["findings"][-1]["code"]) == (False, "bad-name")


async def test_what_an_agent_cannot_do_is_a_fault(machine: Machine, loop: str) -> None:
    machine.one_step("other", step='agent = "gemini"')
    machine.one_step("writing", step='agent = "kimi"\ntools = "read-only"')
    machine.one_step("mode", step='permission_mode = "sleepy"')
    async with running(machine) as daemon:
        assert faults(await check(daemon, recipe_id="other")) == [("agent-not-here", 10)]
        assert faults(await check(daemon, recipe_id="writing")) == [
            ("agent-not-here", 10),
            ("agent-capability", 11),
        ]
        assert faults(await check(daemon, recipe_id="mode")) == [("agent-capability", 10)]


async def test_one_thing_is_checked_at_a_time(machine: Machine) -> None:
    cases = [{}, {"path": "/x", "text": ""}, {"recipe_id": "loop", "text": ""}]
    async with running(machine) as daemon:
        for given in cases:
            with pytest.raises(InvalidParameter, match="exactly one of 'path', 'text' and 'id'"):
                await check(daemon, **given)


async def test_what_is_not_there_is_named(machine: Machine, loop: str) -> None:
    async with running(machine) as daemon:
        with pytest.raises(NotFound, match=r"no recipe 'lop'.*'loop'"):
            await check(daemon, recipe_id="lop")
        with pytest.raises(InvalidParameter, match="/nowhere' is not a directory"):
            await check(daemon, text="", working_directory="/nowhere")


async def test_a_file_that_cannot_be_read_is_an_error_and_leaves_nothing_open(
    machine: Machine,
) -> None:
    cases: list[tuple[Callable[[Path], Any], str]] = [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "expected a regular file"),
        (os.mkfifo, "expected a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "expected a regular file"),
        (lambda path: path.symlink_to(path), "loop"),
        (lambda path: path.write_bytes(b"a\xff"), "not UTF-8 at byte 1"),
        (lambda path: path.write_bytes(b"#" * 70_000), "larger than 64 KiB"),
    ]
    async with running(machine) as daemon:
        for number, (make, why) in enumerate(cases):
            path = machine.project / f"{number}.toml"
            make(path)
            with pytest.raises(InvalidParameter) as raised:
                await check(daemon, path=str(path))
            assert plain(raised.value.data) == {"parameter": "path"}
            assert raised.value.message.startswith(f"'{path}' cannot be read: ")
            assert why in raised.value.message
            assert str(path) not in open_files()


# -- check, of a project's recipes ----------------------------------------------------------------


@pytest.fixture
def place(machine: Machine) -> Path:
    """Where the recipes of the project are."""
    path = machine.project / ".podium" / "recipes"
    path.mkdir(parents=True)
    return path


@pytest.mark.parametrize("by_name", [True, False])
async def test_a_check_of_a_projects_recipe_follows_no_link_either(
    machine: Machine, place: Path, by_name: bool
) -> None:
    """A check that is content with what a run refuses would be none."""
    secret = machine.project.parent / "secret"
    secret.write_text("Do it.")
    (place / "work.md").symlink_to(secret)
    (place / "loop.toml").write_text(LOOP)
    given = {"recipe_id": "loop"} if by_name else {"path": str(place / "loop.toml")}
    async with running(machine) as daemon:
        answer = await check(daemon, working_directory=str(machine.project), **given)
        assert not answer["ok"] and "is a link" in answer["findings"][0]["message"]
        (place / "work.md").unlink()
        (place / "work.md").write_text("Do it.")
        answer = await check(daemon, working_directory=str(machine.project), **given)
        assert answer["ok"]


async def test_a_file_of_the_project_that_is_a_link_is_not_read(
    machine: Machine, place: Path
) -> None:
    secret = machine.project.parent / "secret.toml"
    secret.write_text(LOOP)
    (place / "loop.toml").symlink_to(secret)
    async with running(machine) as daemon:
        with pytest.raises(InvalidParameter, match="is a link"):
            await check(daemon, path=str(place / "loop.toml"))
        by_name = await check(daemon, recipe_id="loop", working_directory=str(machine.project))
        assert "is a link" in by_name["findings"][0]["message"]


async def test_a_project_that_was_made_to_hold_us_up_is_told_as_a_whole(
    machine: Machine, place: Path
) -> None:
    for number in range(PROJECT_NAMES + 1):
        (place / f"{number}.txt").touch()
    async with running(machine) as daemon:
        answer = await check(daemon, recipe_id="loop", working_directory=str(machine.project))
        assert f"more than {PROJECT_NAMES} files" in answer["findings"][0]["message"]


async def test_calls_are_looked_up_as_a_run_would(machine: Machine, place: Path) -> None:
    """A person's own recipe never calls a project's, a project's own one does."""
    (place / "one.toml").write_text(LOOP.replace('"loop"', '"one"'))
    (place / "work.md").write_text("Work.")
    (place / "calling.toml").write_text(CALLING)
    machine.recipe(CALLING, "calling")
    where = str(machine.project)
    async with running(machine) as daemon:
        own = await check(daemon, recipe_id="user.calling", working_directory=where)
        assert faults(own) == [("unknown-target", 6)]
        for answer in (
            await check(daemon, recipe_id="calling", working_directory=where),
            await check(daemon, path=str(place / "calling.toml")),
            await check(daemon, text=CALLING, working_directory=where),
        ):
            assert faults(answer) == [("dead-handler", 7)], "it ends conversation-complete"
        machine.one_step("one")
        assert (await check(daemon, recipe_id="user.calling", working_directory=where))["ok"]
        assert (await check(daemon, text=CALLING))["ok"]


# -- what a recipe is, and where it can lead ------------------------------------------------------


async def test_a_recipe_says_where_each_step_leads_and_what_it_costs_at_worst(
    machine: Machine, loop: str
) -> None:
    async with running(machine) as daemon:
        recipe = await daemon.service.recipes.get(loop, None)
    assert plain(recipe.worst_case) == {"turns": 24, "minutes": None}
    ship = [(way.outcome, way.exit, way.class_) for way in recipe.ways["ship"]]
    assert ship == [
        ("shipped", "conversation-complete", "completed"),
        ("other", "user-provided-other", "needs-user"),
        ("declined", "gate-declined", "needs-user"),
    ]
    assert [way.implied for way in recipe.ways["ship"]] == [False, True, True]


async def test_a_recipe_is_drawn_in_both_languages(machine: Machine, loop: str) -> None:
    async with running(machine) as daemon:
        mermaid = await daemon.service.recipe_tools.graph(loop, "mermaid", None)
        dot = await daemon.service.recipe_tools.graph(loop, "dot", None)
    assert mermaid.text.startswith("flowchart TD\n") and "Ship it?" in mermaid.text
    assert dot.text.startswith("digraph ") and "make test" in dot.text


async def test_one_step_is_played_with_replies(machine: Machine, loop: str) -> None:
    async with running(machine) as daemon:
        replies = ["I am done.", '{"outcome": "shiped"}', 'So be it. {"outcome": "Shipped"}', "x"]
        played = plain(await daemon.service.recipe_tools.rehearse(loop, "ship", replies, None))
        assert [reply.get("error") for reply in played["replies"]] == [
            "no-json",
            "unknown-outcome",
            None,
        ]
        assert played["replies"][-1]["outcome"] == "shipped"
        assert (played["exit"]["reason"], played["unused"]) == ("conversation-complete", 1)
        given_up = plain(await daemon.service.recipe_tools.rehearse(loop, "ship", ["no"] * 5, None))
        assert (given_up["exit"]["reason"], given_up["unused"]) == ("orchestration-error", 1)
        with pytest.raises(InvalidParameter, match="'test' has no prompt"):
            await daemon.service.recipe_tools.rehearse(loop, "test", replies, None)
        with pytest.raises(NotFound, match="no step 'tset'; the nearest known is 'test'"):
            await daemon.service.recipe_tools.rehearse(loop, "tset", replies, None)


async def test_a_recipe_that_is_missing_or_broken_is_refused_by_every_tool(
    machine: Machine,
) -> None:
    machine.recipe('format = 1\nid = "broken"\ninitial = "nowhere"\n', "broken")
    async with running(machine) as daemon:
        service = daemon.service
        for recipe, kind in (("gone", NotFound), ("broken", RecipeRefused)):
            for call in (
                service.recipe_tools.simulate(recipe, [], None),
                service.recipe_tools.paths(recipe, None),
                service.recipe_tools.graph(recipe, "dot", None),
                service.recipe_tools.rehearse(recipe, "work", [], None),
            ):
                with pytest.raises(kind):
                    await call
