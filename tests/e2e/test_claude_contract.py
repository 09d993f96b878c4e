"""What Podium relies on in Claude Code's protocol, held against the real binary (2.1.328).

Each test is one fact; when a new version breaks one, the reader in ``podiumd.formats`` or the
driver has to follow. The model is scripted, so nothing leaves the machine.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podiumd.formats.claude_control import deny
from podiumd.formats.claude_events import (
    AssistantMessage,
    ControlRequest,
    Lifecycle,
    RateLimit,
    Result,
    StateChanged,
    UserMessage,
)
from podiumd.formats.claude_transcript import (
    find_prompt,
    foreign_user_rows,
    has_steer,
    live_session_record,
    project_directory_name,
)
from tests.e2e.claude_process import running
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

TOUCH = {"name": "Bash", "input": {"command": "touch made", "description": "Make it"}}
OUTCOME = {
    "type": "object",
    "properties": {"outcome": {"enum": ["complete", "blocked"]}},
    "required": ["outcome"],
}
LIMIT_HEADERS = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": "1795900000",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
}


def transcript(home: Path, session: str) -> list[bytes]:
    """The session's file, found by the directory rule."""
    directory = project_directory_name(str((home / "work").resolve()))
    path = home / ".claude" / "projects" / directory / f"{session}.jsonl"
    return path.read_bytes().splitlines()


async def test_a_turn_ends_at_idle_after_its_prompts_lifecycle(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """queued, started, then ``result``, completed, idle; the uuid is also the transcript's row."""
    model_server.load({"default": {"text": "Hello."}})
    async with running(claude_binary, model_server, tmp_path) as claude:
        prompt = await claude.prompt("hi")
        await claude.finish()
    told = [e for e in claude.events if isinstance(e, (Lifecycle, StateChanged, Result))]
    assert [e.state if isinstance(e, (Lifecycle, StateChanged)) else "result" for e in told] == [
        *("running", "queued", "started", "result", "completed", "idle")
    ]
    report = claude.turn.report()
    assert (report.kind, report.texts) == ("done", ("Hello.",))
    assert model_server.requests[0].session == claude.session
    assert model_server.requests[0].prompt == "hi", "handed on as it was"
    lines = transcript(tmp_path, claude.session)
    assert find_prompt(lines, prompt).followed
    assert foreign_user_rows(lines, {prompt}) == []


async def test_a_schemas_answer_comes_as_structured_output(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """The CLI offers a tool of its own, StructuredOutput, and a valid call ends the turn."""
    model_server.load({"default": {"text": "Done.", "structured": {"outcome": "complete"}}})
    schema = ("--json-schema", json.dumps(OUTCOME))
    async with running(claude_binary, model_server, tmp_path, *schema) as claude:
        await claude.prompt("do it")
        await claude.finish()
    report = claude.turn.report()
    assert (report.kind, report.structured) == ("done", {"outcome": "complete"})
    assert report.texts == ("Done.",) and not report.tool_begun
    assert len(model_server.requests) == 1


async def test_a_denial_is_told_to_the_model_and_listed_in_a_good_result(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.load({"turns": [{"tools": [TOUCH]}, {"text": "Then not."}]})
    async with running(claude_binary, model_server, tmp_path) as claude:
        await claude.prompt("go")
        request = await claude.until(ControlRequest)
        await claude.send(deny(request.request_id, "Not here."))
        await claude.finish()
    assert claude.all(UserMessage)[0].results[0].text == "Not here."
    report = claude.turn.report()
    assert (report.kind, [denial.tool for denial in report.denials]) == ("done", ["Bash"])


async def test_a_steer_at_a_tools_boundary_is_folded_into_the_turn(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """One result for two messages; in the transcript it is an attachment with our uuid."""
    call = {"text": "Looking around.", "tools": [TOUCH], "hold": "half"}
    model_server.load({"turns": [call, {"text": "Both done."}]})
    async with running(claude_binary, model_server, tmp_path, "--allowedTools", "Bash") as claude:
        await claude.prompt("go")
        await holding(model_server, "half")
        steer = await claude.prompt("and this")
        while await claude.until(Lifecycle) != Lifecycle(steer, "queued"):
            pass
        model_server.release("half")
        await claude.finish()
    assert len(claude.all(Result)) == 1
    assert claude.turn.report().undelivered == ()
    assert has_steer(transcript(tmp_path, claude.session), steer)
    assert "and this" in model_server.requests[1].anywhere


async def test_a_used_up_account_is_told_with_the_time_it_goes_on(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """Only with CLAUDE_CODE_OAUTH_TOKEN, and these headers on a 429.

    ``unified-status: rejected`` alone gives a ``rate_limit_event``; ``unified-reset`` (seconds
    since 1970) gives its ``resetsAt``; ``unified-representative-claim`` (``five_hour``,
    ``seven_day``) makes the result say ``api_error: usage_limit_reached``, without it the CLI
    takes it for a busy server. It is not retried, whatever CLAUDE_CODE_MAX_RETRIES says. A good
    answer with these headers brings the event too, with status ``allowed``. With an API key the
    same answer is a plain API error with no event.
    """
    error = {"status": 429, "type": "rate_limit_error", "message": "x", "headers": LIMIT_HEADERS}
    model_server.load({"default": {"error": error}})
    token = {"CLAUDE_CODE_OAUTH_TOKEN": "dummy", "CLAUDE_CODE_MAX_RETRIES": "10"}
    async with running(claude_binary, model_server, tmp_path, environment=token) as claude:
        await claude.prompt("go")
        await claude.finish()
    assert claude.all(RateLimit) == [RateLimit("rejected", 1795900000, "five_hour")]
    report = claude.turn.report()
    assert (report.kind, report.resets_at) == ("usage_limit", "2026-11-28T21:06:40.000Z")
    assert len(model_server.requests) == 1


async def test_an_api_keys_429_is_no_usage_limit(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    error = {"status": 429, "type": "rate_limit_error", "message": "x", "headers": LIMIT_HEADERS}
    model_server.load({"default": {"error": error}})
    async with running(claude_binary, model_server, tmp_path) as claude:
        await claude.prompt("go")
        await claude.finish()
    assert claude.all(RateLimit) == []
    report = claude.turn.report()
    assert (report.kind, report.api_status) == ("api_error", 429)


async def test_each_results_cost_is_its_own_also_after_a_resume(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """``total_cost_usd`` goes on from the earlier process; ``model_usage_since_last_result``
    starts anew with every result, so its sum is this result's cost."""
    model_server.load({"default": {"text": "Hello."}})
    async with running(claude_binary, model_server, tmp_path) as first:
        await first.prompt("one")
        await first.finish()
    async with running(claude_binary, model_server, tmp_path, resume=first.session) as second:
        await second.prompt("two")
        await second.finish()
    once, again = first.all(Result)[0], second.all(Result)[0]
    assert once.cost_usd > 0
    assert again.cost_usd == pytest.approx(once.cost_usd)
    assert again.total_cost_usd == pytest.approx(2 * once.cost_usd)


async def test_a_prompts_uuid_is_taken_once_whatever_process_sends_it(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """Sent again it is acknowledged: ``completed`` and idle, no ``started``, no ``result``."""
    model_server.load({"default": {"text": "Hello."}})
    async with running(claude_binary, model_server, tmp_path) as first:
        prompt = await first.prompt("one")
        await first.finish()
    async with running(claude_binary, model_server, tmp_path, resume=first.session) as second:
        await second.prompt("one", prompt)
        await second.finish()
    assert second.all(Lifecycle) == [Lifecycle(prompt, "completed")]
    assert second.all(Result) == [] and len(model_server.requests) == 1
    assert second.turn.report().prompt_recorded


async def test_a_running_session_shows_in_the_registry(
    claude_binary: Path, model_server: ModelServer, tmp_path: Path
) -> None:
    """``~/.claude/sessions/PID.json`` is there in mid-turn and gone after an orderly end."""
    model_server.load({"default": {"text": "A long answer. " * 20, "hold": "half"}})
    directory = tmp_path / ".claude" / "sessions"
    async with running(claude_binary, model_server, tmp_path) as claude:
        await claude.prompt("go")
        await holding(model_server, "half")
        (path,) = directory.glob("*.json")
        live = live_session_record(path.read_bytes())
        assert live is not None and live.session_id == claude.session
        assert (str(live.pid), live.status) == (path.stem, "busy")
        assert live.cwd == str((tmp_path / "work").resolve())
        model_server.release("half")
        await claude.finish()
    assert list(directory.glob("*.json")) == []
    assert claude.all(AssistantMessage)
