"""The file of turns that the scripted driver plays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podiumd.drivers.script import (
    ScriptError,
    load_script,
    parse_script,
)


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ({"txt": "x"}, "unknown field `txt`"),
        ({"times": "one"}, r"`int`, got `str` - at `\$\.turns\[0\]\.times`"),
        ({"when": "("}, "not a regular expression"),
        ({"times": -1}, "`times`"),
        ({"delay_ms": -1}, "`delay_ms`"),
        ({"cost_usd": -1.0}, "`cost_usd`"),
        ({"write": [{"path": "/etc/x", "content": ""}]}, "below the working directory"),
        ({"write": [{"path": "../x", "content": ""}]}, "below the working directory"),
        ({"run": [[]]}, "empty command"),
        ({"tools": [{"args": {}}]}, "missing required field `tool`"),
        ({"tools": [{"tool": "save", "expect": "no"}]}, "Invalid enum value 'no'"),
        ({"error": "x", "usage_limit": "y"}, "exclude each other"),
    ],
)
def test_a_script_that_cannot_be_meant_is_refused_with_its_place(
    turn: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ScriptError, match=complaint) as caught:
        parse_script({"turns": [turn]}, "file.toml")
    assert str(caught.value).startswith("file.toml: ")


def test_scripts_are_toml_or_json_and_a_bad_file_is_named(tmp_path: Path) -> None:
    toml, data, bad = (tmp_path / name for name in ("a.toml", "a.json", "bad.toml"))
    toml.write_text('[[turns]]\ntext = "x"\n')
    data.write_text(json.dumps({"turns": [{"text": "x"}]}))
    bad.write_text("turns = [\n")
    assert load_script(toml) == load_script(data)
    with pytest.raises(ScriptError, match=r"bad\.toml: not TOML"):
        load_script(bad)
    with pytest.raises(ScriptError, match=r"gone\.json: cannot be read"):
        load_script(tmp_path / "gone.json")
