"""Turns of the real ``claude`` against the scripted model server."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
import trio

from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.drivers.base import Decision, Output, Turn, TurnEvent
from podiumd.formats.claude_transcript import decode_record
from podiumd.tools.process.processes import Identity, alive
from tests.drivers.rig import (
    ALLOW,
    Rig,
    answering,
    approvals,
    bash,
    follow,
    in_thread,
    play,
    started,
    states,
    write,
)
from tests.fakes.model_server import ModelServer
from tests.long import sampled
from tests.patience import HANG_SECONDS

pytestmark = [pytest.mark.claude, pytest.mark.slow]


async def test_a_prompt_of_900_kb_arrives_whole_and_is_done_with_words_cost_and_mark(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [{"text": "Hello there."}]})
    prompt = "".join(f"line {n}: naïve café ☕\n" for n in range(30000))[:850_000]
    request = rig.request(prompt)
    turn, events = await play(claude, request)
    report = turn.report
    assert (report.kind, report.texts) == ("done", ("Hello there.",)) and len(server.requests) == 1
    assert states(events, request.prompt_uuid)[-1] == "completed"
    assert "".join(e.delta for e in events if isinstance(e, Output)) == "Hello there."
    assert report.cost_usd > 0 and report.exit_status == 0 and report.prompt_recorded
    transcript = claude.transcript(rig.session_id, str(rig.work), rig.environment)
    assert transcript is not None and report.mark is not None
    assert report.mark["size"] == transcript.stat().st_size and report.mark["last_uuid"]
    assert not alive(Identity(started(events).pid, started(events).proc_start))
    records = (decode_record(line) for line in transcript.read_bytes().splitlines())
    rows = [record for record in records if record and record.uuid == request.prompt_uuid]
    assert [row.message.text for row in rows if row.message] == [prompt]


async def test_an_allowed_tool_runs_a_denied_one_does_not_and_always_holds_for_the_session(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    files = [rig.work / f"{n}.txt" for n in range(4)]
    server.load({"turns": [*(write(file, "x") for file in files), {"text": "ok"}]})
    always = Decision("allow", rule="Write")
    react = answering(ALLOW, Decision("deny", "Not that one."), always)
    turn, events = await play(claude, rig.request(), react)
    assert approvals(events) == ["Write"] * 3
    assert turn.report.kind == "done" and [d.tool for d in turn.report.denials] == ["Write"]
    assert sorted(path.name for path in rig.work.iterdir()) == ["0.txt", "2.txt", "3.txt"]


async def test_a_steer_is_taken_at_the_next_boundary(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [write(rig.work / "a", "a"), {"text": "done"}]})
    request, steer = rig.request(), str(uuid.uuid4())

    async def react(turn: Turn, event: TurnEvent) -> None:
        if approvals([event]):
            assert await turn.steer("also look at b", steer)
            assert await turn.answer(event.request_id, ALLOW)  # type: ignore[union-attr]

    turn, events = await play(claude, request, react)
    assert states(events, steer) == ["queued", "started", "completed"]
    assert turn.report.kind == "done" and turn.report.undelivered == ()
    assert "also look at b" in str(server.requests[-1])


@pytest.mark.long("test_a_steer_is_taken_at_the_next_boundary")
async def test_a_steer_while_the_last_answer_streams_makes_one_longer_turn(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [{"text": "a first answer", "hold": "half"}, {"text": "a second"}]})
    request, steer = rig.request(), str(uuid.uuid4())
    async with claude.turn(request) as turn, trio.open_nursery() as nursery:

        async def meddle() -> None:
            await in_thread(server.wait_holding, "half")
            assert await turn.steer("more", steer)
            server.release("half")

        nursery.start_soon(meddle)
        with trio.fail_after(HANG_SECONDS):
            events = await follow(turn)
    assert states(events, steer)[-1] == "completed"
    assert turn.report.texts == ("a first answer", "a second")


async def test_an_interrupt_ends_the_turn_and_withdraws_a_queued_steer(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [{"text": "a long answer", "hold": "half"}, {"text": "must not run"}]})
    steer = str(uuid.uuid4())
    async with claude.turn(rig.request()) as turn, trio.open_nursery() as nursery:

        async def meddle() -> None:
            await in_thread(server.wait_holding, "half")
            assert await turn.steer("more", steer)
            await turn.interrupt()

        nursery.start_soon(meddle)
        with trio.fail_after(HANG_SECONDS):
            await follow(turn)
    assert turn.report.kind == "interrupted" and turn.report.undelivered == (steer,)
    assert len(server.requests) == 1
    assert turn.report.exit_status in (0, 1), "it was ended in order, by no signal"


@pytest.mark.parametrize(
    "how", sampled(["nohup {} >/dev/null 2>&1 &", "setsid {} >/dev/null 2>&1 &"])
)
async def test_a_server_the_agent_left_running_is_ended_and_reported(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, how: str
) -> None:
    server.load({"turns": [bash(how.format("sleep 997")), {"text": "started it"}]})
    turn, _ = await play(claude, rig.request(allow=("Bash",)))
    assert turn.report.kind == "done"
    assert any("sleep 997" in line for line in turn.report.background_stopped)


@pytest.mark.long("test_a_server_the_agent_left_running_is_ended_and_reported")
async def test_a_background_task_that_never_ends_does_not_hold_the_turn(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    tool = {"command": "sleep 996", "description": "dev server", "run_in_background": True}
    server.load({"turns": [{"tools": [{"name": "Bash", "input": tool}]}, {"text": "it runs"}]})
    turn, _ = await play(claude, rig.request(allow=("Bash",)))
    assert turn.report.kind == "done" and turn.report.background_stopped


@pytest.mark.long("tests/drivers/test_claude_args.py::test_model_budget_mode_and_schema")
async def test_a_spent_budget_ends_the_turn_as_such_whatever_the_session_cost_before(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    dear = {"input_tokens": 1000, "output_tokens": 50000}
    server.load({"turns": [{"text": "dear", "usage": dear}]})
    first, _ = await play(claude, rig.request())
    assert first.report.cost_usd > 0.5
    server.load({"turns": [bash("true"), {"text": "cheap"}, {**bash("true"), "usage": dear}]})
    resumed: dict[str, Any] = {"session_mode": "resume", "allow": ("Bash",), "max_budget_usd": 0.5}
    second, _ = await play(claude, rig.request(**resumed))
    third, _ = await play(claude, rig.request(**resumed))
    assert (second.report.kind, third.report.kind) == ("done", "budget")
    assert second.report.cost_usd < 0.01


@pytest.mark.long("tests/formats/test_claude_turn.py::test_an_api_error_has_its_status_and_words")
async def test_an_error_of_the_models_api_is_reported_with_its_status(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    error = {"status": 529, "type": "overloaded_error", "message": "busy"}
    server.load({"turns": [{"error": error}]})
    turn, _ = await play(claude, rig.request())
    assert (turn.report.kind, turn.report.api_status) == ("api_error", 529)


@pytest.mark.long("tests/drivers/test_claude_dialect.py::test_refused_credentials_are_hopeless")
async def test_refused_credentials_are_not_tried_for_a_minute(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    error = {"status": 401, "type": "authentication_error", "message": "invalid x-api-key"}
    server.load({"default": {"error": error}})
    rig.environment.pop("CLAUDE_CODE_MAX_RETRIES")
    turn, _ = await play(claude, rig.request())
    assert (turn.report.kind, turn.report.api_status) == ("api_error", 401)
    assert len(server.requests) <= 2


async def test_a_prompt_too_long_for_the_pipe_is_refused_and_nothing_runs(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    turn, events = await play(claude, rig.request("x" * (1 << 20)))
    assert turn.report.kind == "failed" and "attach it as a file" in turn.report.detail
    assert events == [] and server.requests == []


@pytest.mark.long("test_a_flag_the_agent_does_not_know_fails_with_its_error_output")
async def test_an_unknown_session_to_resume_fails_with_the_agents_own_words(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    turn, _ = await play(claude, rig.request(session_mode="resume"))
    assert turn.report.kind == "failed"
    assert "No conversation found" in turn.report.detail


async def test_a_flag_the_agent_does_not_know_fails_with_its_error_output(
    claude: ClaudeDriver, rig: Rig
) -> None:
    turn, _ = await play(claude, rig.request(command=(*rig.command, "--no-such-flag")))
    assert turn.report.kind == "failed" and "no-such-flag" in turn.report.detail


async def test_a_program_that_is_not_there_fails_and_says_so(
    claude: ClaudeDriver, rig: Rig
) -> None:
    turn, events = await play(claude, rig.request(command=("no-such-agent",)))
    assert turn.report.kind == "failed" and "no-such-agent" in turn.report.detail
    assert events == []


@pytest.mark.long("test_a_structured_answer_and_a_fork_that_leaves_its_origin_as_it_was")
@pytest.mark.parametrize(
    ("tools", "expected"), [("none", set()), (("Bash", "Read"), {"Bash", "Read"})]
)
async def test_only_the_tools_of_the_step_exist(
    claude: ClaudeDriver, rig: Rig, server: ModelServer, tools: object, expected: set[str]
) -> None:
    server.load({"turns": [{"text": "ok"}]})
    await play(claude, rig.request(tools=tools))
    assert set(server.requests[0].tools) - {"DeferredToolPlaceholder"} == expected


async def test_a_structured_answer_and_a_fork_that_leaves_its_origin_as_it_was(
    claude: ClaudeDriver, rig: Rig, server: ModelServer
) -> None:
    server.load({"turns": [{"text": "first"}, {"structured": {"outcome": "a"}}]})
    await play(claude, rig.request(tools="read-only"))
    offered = set(server.requests[0].tools) - {"DeferredToolPlaceholder"}
    assert offered == {"Glob", "Grep", "Read", "WebFetch", "WebSearch"}
    origin = claude.transcript(rig.session_id, str(rig.work), rig.environment)
    assert origin is not None
    before = origin.read_bytes()
    schema = {
        "type": "object",
        "properties": {"outcome": {"enum": ["a", "b"]}},
        "required": ["outcome"],
    }
    fork = str(uuid.uuid4())
    request = rig.request(
        session_id=fork, session_mode="fork", fork_from=rig.session_id, schema=schema
    )
    turn, _ = await play(claude, request)
    assert turn.report.structured == {"outcome": "a"} and origin.read_bytes() == before
    assert claude.transcript(fork, str(rig.work), rig.environment) is not None


async def test_the_agent_is_available_and_a_missing_or_broken_one_says_why(
    claude: ClaudeDriver, rig: Rig
) -> None:
    assert await claude.available(rig.command[:1], rig.environment) is None
    missing = await claude.available(("no-such-agent",), rig.environment)
    assert (
        missing == "`no-such-agent` is no program on the PATH that the daemon was started with"
    )  # what to do is said once, with it
    broken = await claude.available(("false",), rig.environment)
    assert broken is not None and "status 1" in broken
