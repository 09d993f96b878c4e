"""What Podium relies on of the pinned Codex, seen with nothing of Podium between."""

from __future__ import annotations

from typing import Any

import pytest

from tests.codex.app_server import Home, app_server
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.codex


def command(line: str, **more: Any) -> dict[str, Any]:
    """A call of its shell."""
    return {"tools": [{"name": "exec_command", "input": {"cmd": line, **more}}]}


async def test_a_turn_runs_offline_and_is_written_down_under_our_id(
    home: Home, server: ModelServer
) -> None:
    server.load({"turns": [command("echo hi > made.txt; cat made.txt"), {"text": "Done."}]})
    async with app_server(home) as codex:
        thread = await codex.thread()
        turn = await codex.prompt(thread, "make a file", "our-id")
        ended = await codex.until("turn/completed", threadId=thread)
    assert (ended["turn"]["id"], ended["turn"]["status"]) == (turn, "completed")
    assert (home.project / "made.txt").read_text() == "hi\n"
    first, second = server.requests
    assert first.is_responses and first.prompt == "make a file"
    assert "hi" in second.result and second.prompt == "make a file"
    assert b'"client_id":"our-id"' in home.rollout(thread)
