"""The published schema says what the loader says: the same keys, the same values."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from podiumd.core.recipe import format as fmt
from podiumd.core.recipe.load import RecipeInvalid, load_recipe
from podiumd.core.recipe.schema import TEXTS, recipe_schema
from tests.core.recipe_files import FAULTY, SOUND, marks

PUBLISHED = Path(__file__).parents[2] / "docs" / "recipe.schema.json"
BUILTIN = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
VALIDATOR = Draft202012Validator(recipe_schema())

#: The faults that one look at a table shows, so that an editor can underline them.
SHOWN = {
    *("bad-format", "missing-key", "unknown-key", "bad-value", "bad-name"),
    *("unclassified-exit", "reserved-reason"),
}
#: Of these codes, what only a look at other tables and files shows.
NOT_SHOWN = {
    "bad-value-agent",
    "bad-value-agent-of-call",
    "bad-value-auto-of-the-last-phase",
    "bad-value-built-in-hook",
    "bad-value-call-that-restarts",
    "bad-value-context-of-a-called-recipe",
    "bad-value-context-type",
    "bad-value-for-a-called-recipe",
    "bad-value-prompt-file",
    "bad-value-shell-variable",
    "bad-value-tools-without-transition",
    "missing-key-of-a-called-recipe",
    "unknown-key-in-the-context",
    "unknown-key-of-a-called-recipe",
}


def seen_in_editor(path: Path) -> bool:
    return path.stem not in NOT_SHOWN and bool({m.code for m in marks(path)} & SHOWN)


def errors(path: Path) -> list[str]:
    data = tomllib.loads(path.read_text())
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(data)]


def test_the_published_schema_is_the_one_of_the_loader() -> None:
    """Write it anew with ``python -m tests.core.test_recipe_schema``."""
    assert PUBLISHED.read_text() == written()


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(recipe_schema())


def test_a_sound_recipe_is_valid() -> None:
    assert {path.stem: found for path in [*SOUND, *BUILTIN] if (found := errors(path))} == {}


def test_a_fault_of_one_table_is_not() -> None:
    assert [path.stem for path in FAULTY if seen_in_editor(path) and not errors(path)] == []


def test_what_other_tables_and_files_say_the_schema_cannot_know() -> None:
    unseen = [path for path in FAULTY if path.stem in NOT_SHOWN]
    assert {path.stem for path in unseen} == NOT_SHOWN
    assert {path.stem: found for path in unseen if (found := errors(path))} == {}


def keys(schema: dict[str, Any]) -> set[str]:
    assert schema["additionalProperties"] is False
    return set(schema["properties"])


def test_schema_and_loader_have_the_same_keys() -> None:
    schema = recipe_schema()
    parts = schema["$defs"]
    assert keys(schema) == set(fmt.TOP_KEYS)
    assert keys(parts["param"]) == set(fmt.PARAM_KEYS)
    assert keys(parts["limits"]) == set(fmt.LIMIT_FIELDS)
    assert keys(parts["check"]) == set(fmt.CHECK_FIELDS)
    assert keys(parts["hook"]) == set(fmt.HOOK_FIELDS)
    assert keys(parts["edge"]) == set(fmt.edge_keys("turn"))
    assert keys(parts["talk-edge"]) == set(fmt.edge_keys("talk"))
    for kind, its in fmt.STEP_KEYS.items():
        assert keys(parts[kind]) == set(its)


def test_every_key_is_explained_and_nothing_else() -> None:
    assert set(TEXTS["step"]) == {key for its in fmt.STEP_KEYS.values() for key in its}
    assert set(TEXTS["top"]) == set(fmt.TOP_KEYS)
    assert set(TEXTS["param"]) == set(fmt.PARAM_KEYS)
    assert set(TEXTS["limits"]) == set(fmt.LIMIT_FIELDS)
    assert set(TEXTS["edge"]) == set(fmt.EDGE_FIELDS)
    assert set(TEXTS["check"]) == set(fmt.CHECK_FIELDS)
    assert set(TEXTS["hook"]) == set(fmt.HOOK_FIELDS)


# A table, its key, its value as TOML, and whether schema and loader take it.
VALUES: list[tuple[str, str, bool]] = [
    ("limits", "max_step_visits = 1", True),
    ("limits", "max_step_visits = 1_000_000_000", True),
    ("limits", "max_step_visits = 1_000_000_001", False),
    ("limits", "max_minutes = 0.5", True),
    ("limits", "max_minutes = true", False),
    ("step", 'tools = ["Read"]', True),
    ("step", 'tools = ["Read", 1]', False),
    ("step", 'checks = [{ run = [" "] }]', False),
    ("step", 'checks = [{ run = ["a", ""] }]', True),
    ("step", 'outcomes = ["complete", "complete"]', False),
    ("step", "outcomes = []", False),
    ("step", 'allow = ["Bash"]', True),
    ("step", f'outcomes = ["{"c" * 65}"]', False),
    ("step", 'needs = ["steer", "cost"]', True),
    ("step", 'needs = ["money"]', False),
    ("step", "needs = []", False),
    ("step", 'needs = ["cost", "cost"]', False),
    ("param", 'type = "agent"\ndefault = ""', True),
    ("param", 'type = "agent"\nchoices = ["codex"]', False),
    ("param", 'type = "choice"', False),
    ("param", 'type = "choice"\nchoices = ["a"]\ndefault = "a"', True),
    ("param", 'type = "string"\nchoices = ["a"]', False),
    ("param", 'type = "integer"\ndefault = "1"', False),
    ("param", 'type = "integer"\ndefault = true', False),
    ("param", 'type = "boolean"\ndefault = true', True),
    ("param", 'type = "path"\ndefault = ""', False),
    ("param", 'type = "string"\ndefault = ""', True),
]


@pytest.mark.parametrize(("table", "lines", "taken"), VALUES)
def test_schema_and_loader_take_the_same_values(
    table: str, lines: str, taken: bool, tmp_path: Path
) -> None:
    given = {"limits": "", "step": "", "param": 'type = "string"', table: lines}
    text = f"""
format = 1
id = "values"
initial = "work"
[limits]
{given["limits"]}
[params.value]
{given["param"]}
[steps.work]
prompt = "Do {{{{value}}}}."
{given["step"]}
[steps.work.on]
complete = {{ exit = "changes-committed" }}
"""
    path = tmp_path / "values.toml"
    path.write_text(text)
    assert (errors(path) == []) == taken
    assert loads(text) == taken


def loads(text: str) -> bool:
    try:
        load_recipe(text, file="values.toml", read_prompt=str)
    except RecipeInvalid:
        return False
    return True


def written() -> str:
    return json.dumps(recipe_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PUBLISHED.write_text(written())
