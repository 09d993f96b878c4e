"""What the end of a turn of Codex means, and what a turn is to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.codex.script import make_script, require_kept, store, stored, strict
from podiumd.agents.codex.verdict import LAST_SECOND, End, end_of
from podiumd.core.reply.outcome import recipe_schema
from podiumd.drivers.base import ToolsServer, TurnRequest
from podiumd.formats.codex.wire import RateLimitSnapshot, RateLimitWindow, Turn, TurnError
from podiumd.formats.jsonrpc_lines import Request, read

NONE = RateLimitSnapshot()


def failed(info: Any, message: str = "no") -> Turn:
    return Turn(status="failed", error=TurnError(message=message, codex_error_info=info))


@pytest.mark.parametrize(
    ("turn", "end"),
    [
        (Turn(status="completed"), End("done")),
        (Turn(status="interrupted"), End("interrupted", "the turn was stopped")),
        (Turn(status="failed"), End("api_error", "Codex failed without a word")),
        (failed("unauthorized", "key."), End("api_error", "key", 401)),
        (failed("other", ""), End("api_error", "Codex failed: other")),
        (failed({"httpConnectionFailed": {"httpStatusCode": 502}}), End("api_error", "no", 502)),
        (failed({"httpConnectionFailed": {"httpStatusCode": 404}}), End("failed", "no", 404)),
        (failed({"responseStreamDisconnected": {}}), End("api_error", "no")),
        (failed({"newer": 3}), End("api_error", "no")),
        (failed({}), End("api_error", "no")),
        (failed("contextWindowExceeded"), End("failed", "no")),
        (failed("modelNotFound"), End("failed", "no")),
    ],
)
def test_an_end_is_judged_by_status_and_cause(turn: Turn, end: End) -> None:
    assert end_of(turn, NONE) == end


@pytest.mark.parametrize(
    ("primary", "secondary", "resets_at"),
    [
        ((100, 1795900000), None, "2026-11-28T21:06:40.000Z"),
        ((100, 1), (100, 1795900000), "2026-11-28T21:06:40.000Z"),
        ((100, 1795900000), (99, 1795999999), "2026-11-28T21:06:40.000Z"),
        ((99, 1795900000), None, None),
        ((100, None), None, None),
        ((100, LAST_SECOND + 1), None, None),
    ],
)
def test_a_used_up_limit_ends_when_the_last_of_them_does(
    primary: Any, secondary: Any, resets_at: str | None
) -> None:
    windows = [
        None if one is None else RateLimitWindow(used_percent=one[0], resets_at=one[1])
        for one in (primary, secondary)
    ]
    limits = RateLimitSnapshot(primary=windows[0], secondary=windows[1])
    end = end_of(failed("usageLimitExceeded"), limits)
    assert (end.kind, end.status, end.resets_at) == ("usage_limit", 429, resets_at)


def request(**changes: Any) -> TurnRequest:
    fields: dict[str, Any] = {
        "turn_id": "t",
        "run_id": "r",
        "session_id": "s",
        "session_mode": "new",
        "working_directory": "/w",
        "prompt": "go \ud800",
        "prompt_uuid": "u",
        "command": ("codex",),
        "environment": {},
        "directory": "/d",
    }
    return TurnRequest(**{**fields, **changes})


def opening(asked: TurnRequest) -> tuple[str, dict[str, Any]]:
    found = read(make_script(asked).opening.encode())
    assert isinstance(found, Request)
    return found.method, found.params


def test_a_turn_says_all_that_is_its_own_and_is_read_back(tmp_path: Path) -> None:
    schema = recipe_schema(["complete"])
    asked = request(schema=schema, model="m", allow=("Bash",))
    made = make_script(asked, effort="high", roots=("/git",), since=7)
    assert made.settings["sandboxPolicy"]["writableRoots"] == ["/git"]
    assert (made.settings["approvalPolicy"], made.settings["approvalsReviewer"]) == (
        "untrusted",
        "user",
    )
    assert (made.settings["model"], made.settings["effort"], made.since) == ("m", "high", 7)
    assert made.structured and made.prompt == "go ?"
    found = read(made.prompt_line("thread"))
    assert isinstance(found, Request) and found.params["clientUserMessageId"] == "u"
    assert stored(str(tmp_path)) is None
    store(made, str(tmp_path))
    assert stored(str(tmp_path)) == made
    (tmp_path / "codex.json").write_text("{")
    assert stored(str(tmp_path)) is None


def test_a_thread_is_begun_gone_on_with_or_copied() -> None:
    assert opening(request()) == ("thread/start", {"cwd": "/w"})
    server = ToolsServer(command=("podium", "mcp"), environment={"T": "secret"})
    method, params = opening(request(tools_server=server, model="m", system_prompt="Be brief."))
    assert params["config"] == {
        "mcp_servers.podium": {"command": "podium", "args": ["mcp"], "env": {"T": "secret"}}
    }
    assert (params["model"], params["developerInstructions"]) == ("m", "Be brief.")
    for mode in ("resume", "fork"):
        known = request(session_mode=mode, agent_session_id="thread")
        method, params = opening(known)
        assert (method, params["threadId"]) == (f"thread/{mode}", "thread")
        assert params.get("approvalPolicy") == ("untrusted" if mode == "resume" else None)
        require_kept(known)
        with pytest.raises(ValueError, match="no thread of Codex"):
            require_kept(request(session_mode=mode))


def test_the_models_strict_mode_knows_no_optional_members() -> None:
    made = strict(recipe_schema(["complete"]))
    assert made["required"] == ["outcome", "otherDescription", "detail"]
    assert made["properties"]["detail"] == {"type": ["string", "null"]}
    assert made["properties"]["outcome"]["enum"] == ["complete", "other"]
    nested = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}},
            "word": {"type": "string", "enum": ["x"]},
        },
        "required": ["list"],
    }
    made = strict(nested)
    assert made["properties"]["list"]["items"]["required"] == ["a"]
    assert made["properties"]["word"]["anyOf"][1] == {"type": "null"}
    assert made["additionalProperties"] is False
