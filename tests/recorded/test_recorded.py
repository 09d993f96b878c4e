"""What users and programs see is what is recorded: answers, events, the command line."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.recorded.placeholders import Names
from tests.recorded.record import HERE, Files, commands, methods_and_events

ADVICE = "If that is meant, write the recordings anew with 'make record' and read the difference."


def differences(made: Files) -> str:
    """How the recordings of the folders that were made differ from those that are kept."""
    folders = {path.partition("/")[0] for path in made}
    kept = {
        f"{folder}/{path.name}": path.read_text(encoding="utf-8")
        for folder in folders
        for path in (HERE / folder).iterdir()
    }
    lines = [
        line
        for path in sorted(made.keys() | kept.keys())
        for line in unified_diff(
            kept.get(path, "").splitlines(),
            made.get(path, "").splitlines(),
            f"recorded/{path}",
            f"now/{path}",
            n=2,
            lineterm="",
        )
    ]
    return "\n".join(lines)


def test_methods_answer_and_events_are_told_as_recorded() -> None:
    found = differences(methods_and_events())
    assert not found, f"{ADVICE}\n{found}"


@pytest.mark.long("test_methods_answer_and_events_are_told_as_recorded")
def test_the_command_line_shows_what_is_recorded() -> None:
    found = differences(commands())
    assert not found, f"{ADVICE}\n{found}"


def test_the_same_id_has_the_same_name_short_or_whole_and_all_else_stays() -> None:
    one, other = f"{'1' * 8}-2222-4333-8444-{'5' * 12}", f"{'1' * 8}-2222-4333-8444-{'6' * 12}"
    names = Names(Path("/tmp/podium-recorded-abcdefgh"), 40123)
    names.give(f"{'a' * 8}-2222-4333-8444-{'5' * 12}", "run good")
    text = names.recording().text

    assert text(f"{one} {other} {one}") == "<id 1> <id 2> <id 1>"
    assert text(f"{'a' * 8} of 127.0.0.1:40123") == "<run good> of 127.0.0.1:<port>"
    assert text("at 2031-01-02T03:04:05.678Z, after 1.5 s") == "at <time>, after <duration>"
    assert text("kept for 30 days, 4012345 pieces") == "kept for 30 days, 4012345 pieces"
    value = names.recording().value
    assert value({"seconds": 0.25, "cost_usd": 0.25, "run": [one, other]}) == {
        "seconds": "<seconds>",
        "cost_usd": 0.25,
        "run": ["<id 1>", "<id 2>"],
    }
