"""Codex's words about itself: what its answers to the greeting and to a new thread hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from podiumd.agents.codex.kind import home_of
from podiumd.agents.halves import Greeting
from podiumd.formats.codex import calls
from podiumd.formats.jsonrpc_lines import Answer
from podiumd.formats.jsonrpc_lines import read as read_line

AGENT: Final = "userAgent"
PROVIDER: Final = "modelProvider"
_NUMBER: Final = re.compile(r"/(\d\S*)")


def greeting(lines: Sequence[bytes]) -> Greeting:
    """Read them off the lines of a turn that only opened a thread."""
    answers = {one.id: one for line in lines if isinstance(one := read_line(line), Answer)}
    model = _word(answers.get(calls.OPEN), "model")
    provider = _word(answers.get(calls.OPEN), PROVIDER)
    number = _NUMBER.search(_word(answers.get(calls.INITIALIZE), AGENT))
    return Greeting(
        version=f"Codex {number[1]}" if number else "",
        model=f"{model} of {provider}" if model and provider else model,
    )


def traces(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """List the file in which it notes which directories are trusted."""
    return (home_of(dict(environment)) / "config.toml",)


def _word(answer: Answer | None, name: str) -> str:
    result = None if answer is None else answer.result
    value = result.get(name) if isinstance(result, dict) else None
    return value if isinstance(value, str) else ""
