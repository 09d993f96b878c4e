"""Cases of the kit: how a turn begins."""

from __future__ import annotations

import uuid

from msgspec.structs import replace

from podiumd.drivers.base import Output, SessionNamed, TurnEvent, TurnRequest
from tests.drivers.kit.bench import Bench, only, own_name, said
from tests.drivers.kit.registry import case


@case("03")
async def it_ends_before_its_first_word(bench: Bench) -> None:
    bench.script(exits=3)
    report, _ = await bench.play()
    assert report.kind == "failed" and report.exit_status == 3
    assert "status 3" in report.detail and "the fake agent cannot go on" in report.detail
    assert bench.asked == []


@case("04")
async def a_banner_comes_first(bench: Bench) -> None:
    bench.script({"text": "Hello."}, banner=True)
    report, _ = await bench.play()
    assert (report.kind, report.texts, report.bad_lines) == ("done", ("Hello.",), 1)


@case("05")
async def its_protocol_is_of_another_version(bench: Bench) -> None:
    bench.script({"text": "Hello."}, version=2)
    report, _ = await bench.play()
    assert report.kind == "failed" and "version" in report.detail and bench.asked == []


@case("06")
async def it_is_not_logged_in(bench: Bench) -> None:
    bench.script({"text": "Hello."}, logged_out=True)
    report, _ = await bench.play()
    assert report.kind in ("failed", "api_error") and "log" in report.detail.lower()
    assert bench.asked == []


@case("07")
async def a_new_session_is_named_once_before_anything_is_said(bench: Bench) -> None:
    bench.script({"text": "Hello."})
    _, events = await bench.play()
    (named,) = only(events, SessionNamed)
    assert named.agent_session_id
    assert events.index(named) < events.index(only(events, Output)[0])


@case("07b")
async def a_new_session_can_be_found_again(bench: Bench) -> None:
    bench.script({"text": "Hello."})
    request = bench.request()
    report, events = await bench.play(request)
    named = [one.agent_session_id for one in only(events, SessionNamed)]
    assert report.kind == "done"
    pending = bench.pending(request, None, agent_session_id=named[0] if named else None)
    status = await bench.inspect(pending)
    assert (status.state, status.session_exists, status.prompt_recorded) == ("finished", True, True)


async def _resumed(bench: Bench, agent_session_id: str | None) -> str | None:
    """A further turn in the session; how its agent calls it."""
    request = bench.request(
        f"turn {len(bench.asked)}", session_mode="resume", agent_session_id=agent_session_id
    )
    report, events = await bench.play(request)
    assert report.kind == "done", report.detail
    named = {one.agent_session_id for one in only(events, SessionNamed)}
    assert named <= {agent_session_id}
    return agent_session_id


@case("08")
async def a_session_is_gone_on_with_and_the_model_knows_what_was_said(bench: Bench) -> None:
    bench.script({"text": "The first answer."}, {"text": "The second."})
    _, events = await bench.play(bench.request("the first prompt"))
    named = [one.agent_session_id for one in only(events, SessionNamed)]
    await _resumed(bench, named[0] if named else None)
    first, second = bench.asked
    assert second["session"] == first["session"] and first["history"] == []
    history = " ".join(second["history"])
    assert "the first prompt" in history and "The first answer." in history


@case("08b")
async def a_session_is_gone_on_with_at_once_and_at_once_again(bench: Bench) -> None:
    bench.script(*({"text": f"answer {number}"} for number in range(4)))
    _, events = await bench.play(bench.request("the first prompt"))
    named = [one.agent_session_id for one in only(events, SessionNamed)]
    for _ in range(3):
        await _resumed(bench, named[0] if named else None)
    history = " ".join(bench.asked[-1]["history"])
    assert all(f"answer {number}" in history for number in range(3))


@case("09")
async def a_session_that_is_not_there_is_never_begun_anew(bench: Bench) -> None:
    name = str(uuid.uuid4())
    request = bench.request(session_mode="resume", session_id=name, agent_session_id=name)
    report, _ = await bench.play(request)
    assert report.kind == "failed" and report.detail and bench.asked == []
    status = await bench.inspect(bench.pending(request, None, agent_session_id=name))
    assert not status.session_exists


@case("09b")
async def a_copy_knows_what_was_said_and_leaves_the_first_as_it_was(bench: Bench) -> None:
    bench.script({"text": "The first answer."}, {"text": "In the copy."}, {"text": "In the first."})
    first = bench.request("the first prompt")
    _, events = await bench.play(first)
    named = [one.agent_session_id for one in only(events, SessionNamed)]
    own = named[0] if named else None
    copy = bench.request(
        "what if",
        session_mode="fork",
        session_id=str(uuid.uuid4()),
        fork_from=first.session_id,
        agent_session_id=own,
    )
    report, _ = await bench.play(copy)
    assert report.kind == "done" and "The first answer." in " ".join(bench.asked[1]["history"])
    await _resumed(bench, own)
    assert "what if" not in " ".join(bench.asked[2]["history"])


def _next(bench: Bench, first: list[TurnEvent]) -> TurnRequest:
    """The next turn of the session."""
    return bench.request(session_mode="resume", agent_session_id=own_name(first))


@case("10")
async def a_thousand_updates_of_the_past_are_none_of_this_turn(bench: Bench) -> None:
    bench.script({"text": "Hello."}, {"text": "And again."}, replays=1000)
    _, first = await bench.play()
    report, events = await bench.play(_next(bench, first))
    assert said(events) == "And again." and report.texts == ("And again.",)


@case("10b")
async def nor_are_those_that_come_too_late(bench: Bench) -> None:
    bench.script({"text": "Hello."}, {"text": "And again."}, replays=20, replays_late=True)
    _, first = await bench.play()
    report, events = await bench.play(_next(bench, first))
    assert said(events) == "And again." and report.texts == ("And again.",)


@case("11")
async def a_session_may_be_opened_with_null(bench: Bench) -> None:
    bench.script({"text": "Hello."}, {"text": "And again."}, null_open=True)
    _, first = await bench.play()
    report, _ = await bench.play(_next(bench, first))
    assert report.kind == "done"


@case("12")
async def a_mode_that_it_does_not_take_up_is_not_worked_in(bench: Bench) -> None:
    bench.script({"text": "Hello."}, mode_refused=True)
    report, _ = await bench.play(bench.request(permission_mode="plan"))
    assert report.kind == "failed" and "plan" in report.detail and bench.asked == []


@case("13")
async def a_model_that_it_does_not_know_is_told(bench: Bench) -> None:
    bench.script({"text": "Hello."}, model_unknown=True)
    report, _ = await bench.play(bench.request(model="gigantic"))
    assert report.kind == "failed" and "gigantic" in report.detail and bench.asked == []


@case("13b")
async def its_words_about_itself_reach_the_right_turn(bench: Bench) -> None:
    """Two turns of two sessions side by side: neither has anything of the other."""
    bench.script({"text": "one"}, {"text": "two"})
    other = replace(bench.request("b"), session_id=str(uuid.uuid4()))
    async with bench.turn(bench.request("a")) as first, bench.turn(other) as second:
        events = [[event async for event in turn] for turn in (first, second)]
    assert sorted(said(one) for one in events) == ["one", "two"]
    assert sorted(bench.prompts) == ["a", "b"]
