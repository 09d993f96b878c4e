"""Answer of Claude Code to one question that leaves nothing behind. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

from podiumd.agents.kind import OneShot

MODEL: Final = "haiku"
_SETTINGS: Final = json.dumps({"disableAllHooks": True})


def arguments(instruction: str) -> list[str]:
    """Build arguments by which ``claude`` answers one question, with no tools and no traces.

    The question is its input.
    """
    return [
        *("-p", "--output-format", "json", "--model", MODEL, "--no-session-persistence"),
        *("--system-prompt", instruction, "--settings", _SETTINGS, "--tools", ""),
        *("--strict-mcp-config", "--disable-slash-commands"),
    ]


def answer_in(output: str) -> str:
    """Find the result's text in the output of ``claude --output-format json``; empty without one.

    The output is one object, or a list of events with the result in it; warnings may stand around
    it.
    """
    for line in reversed(output.splitlines()):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for event in found if isinstance(found, list) else [found]:
            if _is_good_result(event):
                return str(event["result"])
    return ""


def _is_good_result(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and event.get("type") == "result"
        and not event.get("is_error")
        and isinstance(event.get("result"), str)
    )


ONE_SHOT: Final = OneShot(arguments, answer_in, {"DISABLE_AUTOUPDATER": "1"})
