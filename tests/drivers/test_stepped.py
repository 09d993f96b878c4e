"""A turn by steps and marks, with a process at the other end: each step arrives once."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.drivers.base import ApprovalRequested, SessionNamed, Started
from podiumd.drivers.spool import SpoolWatch
from podiumd.drivers.steps import Steps
from podiumd.formats.jsonrpc_lines import Answer
from podiumd.tools.process.processes import carriers
from tests.drivers.kit.bench import ALLOWING, Bench, command, only, said
from tests.drivers.kit.subjects import STEPPED
from tests.drivers.rig import follow
from tests.long import spread

KILLS = [
    "turn.fifo-written",
    "turn.after-spawn",
    "turn.first-output",
    *(f"handshake.{when}-write:{hit}" for hit in (1, 2) for when in ("before", "after")),
    "turn.tool-begun",
    "answer.before-write",
    "answer.after-write",
    "turn.idle-seen",
    "turn.ended-process",
]
USES_A_TOOL = ({"text": "first", "tools": [command("echo x >> made")]}, {"text": "last"})


@pytest.fixture
def bench(tmp_path: Path, watch: SpoolWatch) -> Bench:
    return Bench(STEPPED, tmp_path, watch)


async def test_a_turn_goes_by_its_steps_and_names_its_session_first(bench: Bench) -> None:
    bench.script(*USES_A_TOOL)
    report, events = await bench.play(None, ALLOWING)
    assert (report.kind, report.texts, said(events)) == ("done", ("first", "last"), "firstlast")
    assert isinstance(events[0], Started) and isinstance(events[1], SessionNamed)
    assert bench.prompts == ["go"] and bench.ran == ["echo x >> made"]


@pytest.mark.parametrize("failpoint", spread(KILLS, 4))
async def test_a_daemon_that_is_killed_loses_and_doubles_nothing(
    bench: Bench, failpoint: str
) -> None:
    bench.script(*USES_A_TOOL)
    request = bench.request()
    await bench.killed_at(failpoint, request)
    report, _ = await bench.goes_on(bench.pending(request, None), ALLOWING)
    assert (report.kind, report.texts) == ("done", ("first", "last")), report
    assert bench.prompts == ["go"] and (bench.rig.work / "made").read_text() == "x\n"
    assert carriers(request.turn_id) == []


async def test_without_marks_the_prompt_would_be_sent_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.script({"text": "Hello."}, begins_late="gate")
    gate = bench.gate("gate")
    request = bench.request()
    await bench.killed_at("handshake.after-write:2", request)
    feed = Steps.feed

    def without_marks(self: Steps, answer: Answer) -> str | None:
        return None if str(answer.id).startswith("m:") else feed(self, answer)

    monkeypatch.setattr(Steps, "feed", without_marks)
    monkeypatch.setattr(Steps, "attached", lambda self: None)
    report, _ = await bench.goes_on(bench.pending(request, None))
    spool = bench.rig.turns / request.turn_id / "out.jsonl"
    assert report.kind != "done" and b"already in progress" in spool.read_bytes()
    gate.unlink()


async def test_one_that_answers_no_marks_is_given_up_where_it_cannot_be_asked(
    bench: Bench,
) -> None:
    bench.script({"text": "Hello."}, no_marks=True)
    bench.idle_seconds = 0.5
    request = bench.request()
    await bench.killed_at("handshake.before-write:2", request)
    report, _ = await bench.goes_on(bench.pending(request, None))
    assert report.kind in ("timeout", "broken") and bench.prompts == []


async def test_a_cancel_takes_back_its_open_question_in_the_same_write(bench: Bench) -> None:
    bench.script({"tools": [command("touch made")]}, {"text": "no more"})
    request = bench.request()
    async with bench.turn(request) as turn:
        async for event in turn:
            if isinstance(event, ApprovalRequested):
                await turn.interrupt()
    assert turn.report.kind == "interrupted" and bench.ran == []
    assert carriers(request.turn_id) == []


async def test_the_name_of_the_session_is_told_to_the_next_daemon_too(bench: Bench) -> None:
    bench.script(*USES_A_TOOL)
    request = bench.request()
    first, before = await bench.left(request, lambda event: isinstance(event, ApprovalRequested))
    async with bench.driver.reattach(bench.pending(request, first)) as turn:
        events = await follow(turn, ALLOWING)
    assert only(events, SessionNamed) == only(before, SessionNamed) != []
