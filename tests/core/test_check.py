"""The checker: every seeded fault is found where it is, and nothing else; sound recipes pass."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from podiumd.core.analysis.check import check_recipe, check_text
from podiumd.core.analysis.check_agents import KnownAgents
from podiumd.core.analysis.worst_case import WorstCase, worst_case
from podiumd.core.findings import MOST_FINDINGS, Notes
from podiumd.core.recipe.expand import MOST_CALLED_STEPS
from podiumd.core.recipe.model import Limits, Recipe, Step
from podiumd.core.toml_lines import TomlLines
from tests.core import test_recipe_load
from tests.core.builders import a_recipe, a_step, leave, to
from tests.core.recipe_files import (
    AGENTS,
    FAULTY,
    SOUND,
    WARNINGS,
    check_file,
    load_called,
    marks,
)

#: Every code there is; each has a seeded fault.
CODES = {
    *("syntax", "bad-format", "missing-key", "unknown-key", "bad-value", "bad-name"),
    *("bad-initial", "unknown-target", "unhandled-outcome", "dead-handler", "unreachable-step"),
    *("no-exit", "trapped-cycle", "unbounded-cycle", "unknown-variable", "agent-capability"),
    *("unclassified-exit", "reserved-reason"),
    *WARNINGS,
}


def by_name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", FAULTY, ids=by_name)
def test_each_fault_is_found_on_its_line_and_nothing_else(path: Path) -> None:
    result = check_file(path)
    expected = marks(path)

    found = sorted((f.file, f.line, f.code) for f in result.findings)
    assert found == sorted(mark[:3] for mark in expected), result.findings
    for mark in expected:
        said = [f.message for f in result.findings if (f.line, f.code) == (mark.line, mark.code)]
        assert any(mark.words in message for message in said), said
    for finding in result.findings:
        assert finding.level == ("warning" if finding.code in WARNINGS else "error")
    assert result.ok == all(mark.code in WARNINGS for mark in expected)


@pytest.mark.parametrize("path", SOUND, ids=by_name)
def test_a_sound_recipe_is_accepted_without_a_word(path: Path) -> None:
    result = check_file(path)

    assert result.findings == ()
    assert result.ok
    assert result.recipe is not None and result.recipe.id == path.stem


def test_every_code_has_its_seeded_faults() -> None:
    assert {mark.code for path in FAULTY for mark in marks(path)} == CODES
    assert len(FAULTY) >= 60
    assert len(SOUND) >= 30


def test_the_sample_of_the_format_is_sound() -> None:
    result = check_text(
        test_recipe_load.SAMPLE,
        file="sample.toml",
        read_prompt=lambda _name: "Review it.",
        agents=KnownAgents(can=AGENTS, own="claude"),
        load_called=load_called,
    )
    assert (result.ok, result.findings) == (True, ())
    assert result.worst_case == WorstCase(turns=28, minutes=120)


def test_a_recipe_that_does_not_load_is_not_checked_further() -> None:
    result = check_text("format = 1\n", file="r.toml", read_prompt=str)
    assert {finding.code for finding in result.findings} == {"missing-key"}
    assert (result.ok, result.recipe, result.worst_case) == (False, None, None)


def test_without_agents_and_other_recipes_these_are_not_looked_at() -> None:
    """A recipe that is only data, without its file, is checked on line 1."""
    steps = {
        "work": a_step(agent="nobody", on={"complete": to("rest")}),
        "rest": Step(
            kind="call",
            recipe="unheard-of",
            outcomes=("changes-committed",),
            on={"changes-committed": leave("changes-committed")},
        ),
        "lost": a_step(),
    }
    limits = Limits(max_total_steps=99)  # not judged: nobody knows how many steps a call has
    notes = Notes("r.toml", TomlLines(""))
    findings = check_recipe(a_recipe(steps, limits), notes).findings
    assert [(f.code, f.step, f.line) for f in findings] == [("unreachable-step", "lost", 1)]
    assert tuple(notes.sorted()) == findings


def test_what_the_steps_of_a_called_recipe_demand_is_told_of_the_call() -> None:
    call = Step(
        kind="call",
        recipe="agents-of-its-own",
        on={"turn-complete": leave("all-done", "completed")},
    )
    recipe = a_recipe({"work": call})
    notes = Notes("r.toml", TomlLines(""))
    only_plain = {"plain": AGENTS["plain"]}
    findings = check_recipe(
        recipe, notes, agents=KnownAgents(can=only_plain, own="claude"), load_called=load_called
    ).findings
    assert [(f.code, f.step) for f in findings] == [("agent-not-here", "work")]
    assert "there is no agent 'claude'" in findings[0].message


def test_a_called_recipe_that_calls_nothing_usable_cannot_be_called() -> None:
    def load_broken(id: str) -> Recipe | None:
        call = Step(kind="call", recipe="gone", on={"turn-complete": leave("turn-complete")})
        return a_recipe({"rest": call}, id=id) if id == "calling" else None

    call = Step(kind="call", recipe="calling", on={"turn-complete": leave("turn-complete")})
    notes = Notes("r.toml", TomlLines(""))
    findings = check_recipe(a_recipe({"work": call}), notes, load_called=load_broken).findings
    assert [(f.code, f.step) for f in findings] == [("bad-value", "work")]
    assert "it calls 'gone', which cannot be used" in findings[0].message


def test_calls_that_fit_one_by_one_and_not_together_are_found() -> None:
    steps = {f"s{n}": a_step() for n in range(MOST_CALLED_STEPS // 2 + 1)}
    called = a_recipe(steps, id="large")
    on = {"changes-committed": leave("task-committed")}
    calls = {name: Step(kind="call", recipe="large", on=on) for name in "ab"}
    notes = Notes("r.toml", TomlLines(""))
    findings = check_recipe(a_recipe(calls), notes, load_called=lambda _id: called).findings
    assert [(f.code, f.step) for f in findings if f.code == "bad-value"] == [("bad-value", "b")]
    assert f"more than {MOST_CALLED_STEPS} steps: call less" in findings[0].message


def test_recipes_that_call_each_other_are_named() -> None:
    def calling(id: str, other: str) -> Recipe:
        call = Step(kind="call", recipe=other, on={"turn-complete": leave("turn-complete")})
        return a_recipe({"work": call}, id=id)

    recipes = {"a": calling("a", "b"), "b": calling("b", "c"), "c": calling("c", "a")}
    notes = Notes("r.toml", TomlLines(""))
    findings = check_recipe(recipes["a"], notes, load_called=recipes.get).findings
    assert [f.code for f in findings] == ["unbounded-cycle"]
    assert "recipe 'a' calls itself by way of 'b'" in findings[0].message


def test_a_recipe_with_endless_faults_is_told_of_the_first_hundred() -> None:
    steps = {"work": a_step(), **{f"lost-{number}": a_step() for number in range(150)}}
    findings = check_recipe(a_recipe(steps), Notes("r.toml", TomlLines(""))).findings
    assert len(findings) == MOST_FINDINGS


def test_a_long_chain_and_a_long_ring_are_checked_without_recursion() -> None:
    count = sys.getrecursionlimit() + 200
    names = [f"s{number}" for number in range(count)]
    chain = {a: a_step(on={"complete": to(b)}) for a, b in pairwise(names)}
    ring = {**chain, names[-1]: a_step(on={"complete": to(names[0]), "done": leave("done")})}
    chain[names[-1]] = a_step()

    assert check_recipe(a_recipe(chain), Notes("r.toml", TomlLines(""))).findings == ()
    assert worst_case(a_recipe(chain)).turns == count * 4
    findings = check_recipe(a_recipe(ring), Notes("r.toml", TomlLines(""))).findings
    assert [f.code for f in findings] == ["unbounded-cycle", "no-success-exit"]
