"""Cases of the kit: trouble with the model, and an agent that writes what it should not."""

from __future__ import annotations

from datetime import UTC, datetime

from podiumd.drivers.base import Output
from tests.drivers.kit.bench import Bench, only
from tests.drivers.kit.registry import case

RESETS = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


async def _refused(bench: Bench, status: int | None, words: str, **error: object) -> None:
    """A turn whose model cannot answer ends with its words, and is not done."""
    bench.script({"text": "I begin.", "error": {"status": status, "message": words, **error}})
    report, _ = await bench.play()
    assert report.kind in ("api_error", "failed") and report.detail, report
    assert report.api_status == status


@case("42")
async def its_model_has_no_time(bench: Bench) -> None:
    await _refused(bench, 429, "slow down")


@case("42b")
async def its_limit_is_used_up_and_it_tells_until_when(bench: Bench) -> None:
    error = {"status": 429, "message": "used up", "kind": "usage_limit_reached"}
    bench.script({"error": {**error, "resets_at": int(RESETS.timestamp())}})
    report, _ = await bench.play()
    assert (report.kind, report.resets_at) == ("usage_limit", "2030-01-02T03:04:05.000Z")


@case("43")
async def its_model_has_a_fault(bench: Bench) -> None:
    await _refused(bench, 500, "an internal error")


@case("44")
async def its_model_does_not_let_it_in(bench: Bench) -> None:
    await _refused(bench, 401, "bad key")


@case("45")
async def the_stream_of_its_model_breaks_off(bench: Bench) -> None:
    await _refused(bench, None, "stream disconnected before completion")


@case("45b")
async def it_ends_within_a_line(bench: Bench) -> None:
    bench.script({"text": "I begin.", "then": "cut"})
    report, _ = await bench.play()
    assert report.kind == "broken" and report.prompt_recorded


@case("45c")
async def it_is_killed_while_it_speaks(bench: Bench) -> None:
    bench.script({"text": "I begin.", "then": "die"})
    report, events = await bench.play()
    assert report.kind == "broken" and report.texts == ("I begin.",)
    assert [one.delta for one in only(events, Output) if one.kind == "text"] == ["I begin."]


@case("46")
async def it_writes_without_end(bench: Bench) -> None:
    bench.script({"text": ""}, floods=1 << 20)
    bench.spool_megabytes = 2
    report, _ = await bench.play()
    assert report.kind == "failed" and "more than 2 MiB" in report.detail


@case("47", long=True)
async def it_writes_a_line_of_65_mebibytes(bench: Bench) -> None:
    bench.script({"text": "Hello."}, long_line=65 << 20)
    report, _ = await bench.play()
    assert (report.kind, report.bad_lines) == ("broken", 1), report


@case("48")
async def it_answers_our_requests_twice(bench: Bench) -> None:
    bench.script({"text": "half", "then": "hold"}, answers_twice=True)
    async with bench.turn() as turn:
        async for event in turn:
            if isinstance(event, Output):
                await turn.interrupt()
    assert turn.report.kind == "interrupted" and turn.report.bad_lines == 0


@case("49")
async def an_answer_with_a_result_and_an_error_is_an_error(bench: Bench) -> None:
    bench.script({"text": "Hello."}, answers_both=True)
    report, _ = await bench.play()
    assert report.kind == "failed" and bench.asked == []
