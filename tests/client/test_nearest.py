"""What somebody most likely meant is offered, and nothing that is far off."""

import pytest

from podium.nearest import nearest

COMMANDS = ("run", "runs", "status", "prune", "doctor", "questions", "recipe", "up", "down")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("sttaus", "status"),
        ("stats", "status"),
        ("question", "questions"),
        ("runss", "runs"),
        ("runz", "runs"),
        ("dwon", "down"),
        ("doktor", "doctor"),
        ("stop", None),
        ("kill", None),
        ("list", None),
        ("", None),
    ],
)
def test_a_slip_is_seen_and_another_word_is_not(typed: str, meant: str | None) -> None:
    assert nearest(typed, COMMANDS) == meant
