"""A recipe drawn in the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest

from podium import text
from podium.render.drawing import WIDEST, drawn, mark, ways_of
from tests.client.stories import Json

PLAIN = text.Style(io.StringIO())


class Coloured(text.Style):
    """Colours for no terminal."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.colours = True


def way(outcome: str, to: str | None = None, *, implied: bool = False) -> Json:
    return {"outcome": outcome, "to": to, "exit": None, "class": None, "implied": implied}


def out(outcome: str, exit: str, class_: str, *, implied: bool = False) -> Json:
    return way(outcome, implied=implied) | {"exit": exit, "class": class_}


def a_recipe(**more: Json | list[Json]) -> Json:
    """A recipe; ``more`` are its steps, or the ways out of them (a list)."""
    steps = {name: step for name, step in more.items() if isinstance(step, dict)}
    return {
        "id": "fix-it",
        "label": "Fix it",
        "initial": "work",
        "steps": steps or {"work": {"kind": "turn", "prompt": "Work."}},
        "ways": {name: ways for name, ways in more.items() if isinstance(ways, list)},
    }


def lines(recipe: Any, columns: int = 0) -> list[str]:
    return drawn(recipe, PLAIN, columns).splitlines()


def test_each_outcome_shows_where_it_leads() -> None:
    ways = [
        way("complete", to="last"),
        way("again", to="work"),
        way("over", to="@restart"),
        out("done", "changes-committed", "completed"),
        out("broken", "odd", "error"),
        out("other", "user-provided-other", "needs-user", implied=True),
    ]
    recipe = a_recipe(work=ways)
    recipe["steps"] = {"work": {"prompt": "Work."}, "last": {"prompt": "Last."}}
    recipe["ways"]["last"] = [way("back", to="work")]

    assert [line for line in lines(recipe) if line.startswith(" ")] == [
        " ├─ complete ─→ last",
        " ├─ again    ─↺ work",
        " ├─ over     ─⟲ begins again (@restart)",
        " ├─ done     ─✓ changes-committed",
        " ├─ broken   ─✗ odd (error)",
        " └╌ other    ╌⚠ user-provided-other (needs-user)",
        " └─ back ─↑ work",
    ]


def test_each_kind_of_step_shows_what_it_does() -> None:
    recipe = a_recipe()
    recipe["steps"] = {
        "build": {"kind": "command", "run": ["make", "all"], "gate": "Build?"},
        "script": {"kind": "command", "shell": "make | tee log"},
        "ask": {"kind": "gate", "ask": "Well?"},
        "ship": {"kind": "call", "recipe": "ship-a-fix"},
        "talk": {"kind": "talk", "opening": "Hello.", "agent": "native", "model": "small"},
    }
    shown = lines(recipe)

    for words in ("? Build?", "$ make all", "$ make | tee log", "? Well?", "» recipe ship-a-fix"):
        assert any(line.startswith(f"│ {words} ") for line in shown)
    assert any(line.endswith(" talk, agent native, model small ╮") for line in shown)


def test_limits_and_worst_case_are_told() -> None:
    recipe = a_recipe(work=[way("over", to="@restart")])
    recipe["limits"] = {
        "max_step_visits": 1,
        "max_total_steps": 12,
        "max_minutes": 240.0,
        "max_cost_usd": 15.0,
        "max_retries": 3,
        "max_restarts": 20,
        "on_limit": "ask",
    }
    recipe["worst_case"] = {"turns": 48, "minutes": 90.5}
    said = ["1 visit of each step", "12 steps in all", "240 minutes of work", "$15.00"]
    said += ["3 retries of a reply", "20 restarts"]

    assert lines(recipe)[2:5] == [
        f"At most: {', '.join(said)}",
        "At a limit a person is asked for more, once",
        "At worst: 48 turns, 90.5 minutes",
    ]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_retries": 1, "max_total_steps": 1}, "At most: 1 step in all, 1 retry of a reply"),
        ({"max_total_steps": None, "on_limit": "exit"}, ""),
    ],
)
def test_only_limits_that_exist_are_told(limits: Json, said: str) -> None:
    shown = lines({**a_recipe(), "limits": limits, "worst_case": {"turns": None}})

    assert shown[2 if said else 1] == said


@pytest.mark.parametrize("columns", [0, 20, 40, 50, 200])
def test_boxes_are_closed_whatever_is_in_them(columns: int) -> None:
    recipe = a_recipe(work=[way("完了" * 40, to="work")])
    recipe["steps"]["work"] = {
        "prompt": "日本語 " * 60 + "\x1b[31m" + "e\u0301" * 9,
        "tools": "read-only",
        "session": "fork",
        "checks": [{"run": ["make", "x" * 200]}],
    }
    boxed = [line for line in lines(recipe, columns) if line[0:1] in ("╭", "│", "╰")]

    assert len({text.cells(line) for line in boxed}) == 1
    assert text.cells(boxed[0]) == {0: WIDEST, 20: 20, 40: 40, 50: 50, 200: WIDEST}[columns]
    assert "\x1b" not in "".join(boxed)


def test_colours_are_for_ends_and_titles() -> None:
    recipe: Any = a_recipe(
        work=[
            out("done", "changes-committed", "completed"),
            out("other", "stuck", "blocked", implied=True),
        ]
    )
    shown = drawn(recipe, Coloured())

    assert "\x1b[32m✓ changes-committed\x1b[0m" in shown
    assert "\x1b[33m⚠ stuck\x1b[0m\x1b[2m (blocked)\x1b[0m" in shown
    assert "\x1b[2mother\x1b[0m" in shown


def test_a_daemon_that_tells_no_ways_is_read_by_the_edges() -> None:
    recipe: Any = a_recipe()
    recipe["steps"]["work"]["on"] = {"done": {"exit": "changes-committed"}}

    assert ways_of(recipe, "work") == [{"outcome": "done", "exit": "changes-committed"}]
    assert lines(recipe)[-1] == " └─ done ─■ changes-committed"
    assert mark("checks-failed") == ("✗", "red")


def test_a_conversation_shows_what_it_saves_what_an_edge_needs_and_its_hooks() -> None:
    phase = {
        "kind": "talk",
        "opening": "Begin.",
        "auto": True,
        "on": {"agreed": {"to": "last", "requires": ["goal", "agents"]}, "back": {"to": "work"}},
        "hooks": [
            {"event": "turn-end", "run": ["podium:write", "a.md"]},
            {"event": "before-tool", "match": "save", "run": ["./guard"]},
        ],
    }
    recipe = a_recipe(work=[way("agreed", to="last"), way("back", to="work")])
    recipe["steps"] = {"work": phase, "last": {"kind": "talk", "opening": "Bye."}}
    recipe["context"] = {"goal": "string", "agents": {"type": "list", "description": "Who\nworks"}}

    shown = lines(recipe)

    at = shown.index("Saved on the way")
    assert shown[at + 1 : at + 3] == ["  goal", "  agents: Who works"]
    assert any("start, talk, auto ╮" in line for line in shown)
    assert any("✓ turn-end: podium:write a.md" in line for line in shown)
    assert any("✓ before-tool save: ./guard" in line for line in shown)
    assert " ├─ agreed ─→ last (needs goal, agents)" in shown
    assert " └─ back   ─↺ work" in shown
