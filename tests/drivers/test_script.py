"""The file of turns that the scripted driver plays."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.scripted.script import (
    SCRIPT_BYTES,
    ScriptError,
    load_script,
    parse_script,
    script_turns,
)


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ({"txt": "x"}, r"turns\[0\]\.txt: it is unknown; the nearest known is 'text'$"),
        ({"times": "one"}, r"turns\[0\]\.times: expected an integer, got 'one'$"),
        ({"ask": "Bash"}, r"turns\[0\]\.ask: expected a table or null, got 'Bash'$"),
        ({"run": ["make"]}, r"turns\[0\]\.run\[0\]: expected a list, each a string, got 'make'$"),
        ({"when": "("}, "not a regular expression"),
        ({"times": -1}, "`times`"),
        ({"delay_ms": -1}, "`delay_ms`"),
        ({"cost_usd": -1.0}, "`cost_usd`"),
        ({"write": [{"path": "/etc/x", "content": ""}]}, "below the working directory"),
        ({"write": [{"path": "../x", "content": ""}]}, "below the working directory"),
        ({"run": [[]]}, "empty command"),
        (
            {"tools": [{"args": {}}]},
            r"turns\[0\]\.tools\[0\]: 'tool' is missing; expected a string$",
        ),
        (
            {"tools": [{"tool": "save", "expect": "no"}]},
            r"\.tools\[0\]\.expect: expected one of 'done', 'refused', got 'no'$",
        ),
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


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.toml", '[[turns]]\n[[turns]]\n\ntimes = "1"\n', r"toml, line 4: turns\[1\]\.times: "),
        ("a.toml", "turns = 1\n", r"line 1: turns: expected a list, each a table, got"),
        ("a.toml", "", r"line 1: 'turns' is missing; expected a list, each a table$"),
        ("a.json", "[]", r"a\.json: expected a table, got a list$"),
        ("a.toml", '[[turns]]\n\n[[turns]]\nwhen = "("\n', r"a\.toml, line 3: turns\[1\]: `when`"),
        ("a.toml", "turns = 1\nturns = 2\n", r"not TOML: .*line 2"),
        ("a.json", '{\n"turns": [}', r"not JSON: .*line 2"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.json", " " * (SCRIPT_BYTES + 1), "larger than 256 KiB"),
        ("a.json", '{"turns": [{"text": "\\ud800"}]}', "holds what cannot be stored"),
    ],
)  # fmt: skip
def test_a_slip_in_a_file_is_told_with_its_line(
    tmp_path: Path, name: str, content: str, complaint: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(ScriptError, match=complaint):
        script_turns(file)


def test_a_pipe_is_no_script_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ScriptError, match="no regular file"):
        load_script(tmp_path / "pipe.toml")


def test_turns_that_are_stored_are_the_same_script(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('[[turns]]\nwrite = [{ path = "a", content = "x" }]\ntimes = 0\n')
    assert parse_script({"turns": script_turns(file)}, "stored") == load_script(file)
