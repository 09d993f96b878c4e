"""Commands that Claude Code answers by itself, such as ``/compact``; recorded with 2.1.328."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.core.reply.report import TurnReport
from podiumd.formats.claude_stream import decode
from podiumd.formats.claude_turn import TurnReader

COMMAND = "11111111-1111-4111-8111-111111111111"


def report(*said: str, result: str, terminal_reason: str | None = None) -> TurnReport:
    """What a turn comes to in which the CLI says something by itself."""
    reader = TurnReader([COMMAND])
    lines: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"model": "<synthetic>", "content": _text(words)}}
        for words in said
    ]
    end = {"type": "result", "subtype": "success", "is_error": False, "result": result}
    if terminal_reason is not None:
        end["terminal_reason"] = terminal_reason
    ended = {"type": "command_lifecycle", "command_uuid": COMMAND}
    idle = {"type": "system", "subtype": "session_state_changed", "state": "idle"}
    for line in (*lines, end, {**ended, "state": "completed"}, idle):
        reader.feed(decode(json.dumps(line).encode()))
    assert reader.over
    return reader.report()


def _text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


@pytest.mark.parametrize(
    ("said", "result", "words"),
    [
        ((), "", ""),
        (("Error: No messages to compact",), "", "Error: No messages to compact"),
        (("Error during compaction",), "Error during compaction", "Error during compaction"),
    ],
    ids=["done", "said beside an empty result", "said in the result too"],
)
def test_what_the_cli_answers_by_itself_is_the_turns_text(
    said: tuple[str, ...], result: str, words: str
) -> None:
    found = report(*said, result=result)
    assert (found.kind, found.result_text, found.texts) == ("done", words, ())


def test_its_words_beside_those_of_the_model_are_nobodys_answer() -> None:
    found = report("No response requested.", result="", terminal_reason="completed")
    assert found.result_text == ""
