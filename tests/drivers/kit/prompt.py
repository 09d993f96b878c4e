"""Cases of the kit: what is said to the agent, and what it says."""

from __future__ import annotations

import base64
from pathlib import Path

from podiumd.drivers.base import ApprovalRequested, Image, Output, Turn
from tests.drivers.kit.bench import Bench, allow, command, on_approval, only, own_name, said
from tests.drivers.kit.registry import case
from tests.drivers.rig import states

PIECES = ["Erst ", "Zweitens: naïve café ☕ ", "and 漢字.\n"]


@case("14")
async def its_words_come_in_their_order(bench: Bench) -> None:
    bench.script({"text": PIECES, "tools": [command("true", ask=False)]}, {"text": "Done."})
    report, events = await bench.play()
    assert said(events) == "".join(PIECES) + "Done."
    assert "".join(report.texts) == "".join(PIECES) + "Done." and report.kind == "done"


@case("14b")
async def lines_and_letters_may_come_in_parts(bench: Bench) -> None:
    bench.script({"text": PIECES}, dribbles=True)
    report, events = await bench.play()
    assert said(events) == "".join(PIECES) and report.bad_lines == 0


@case("15")
async def a_long_prompt_goes_in_whole(bench: Bench) -> None:
    prompt = "".join(f"line {number}: naïve café ☕\n" for number in range(28_000))
    bench.script({"text": "Read."})
    report, _ = await bench.play(bench.request(prompt))
    assert report.kind == "done" and bench.prompts == [prompt]


@case("16")
async def a_prompt_of_odd_characters_arrives(bench: Bench) -> None:
    bench.script({"text": "Read."})
    await bench.play(bench.request("a\nb\r\nc\x00d \ud83d e\u2028f"))
    assert bench.prompts == ["a\nb\r\nc\x00d ? e\u2028f"]


@case("16b")
async def the_fate_of_the_prompt_is_told(bench: Bench) -> None:
    bench.script({"text": "Read."})
    request = bench.request()
    report, events = await bench.play(request)
    assert states(events, request.prompt_uuid)[-1] == "completed" and report.prompt_recorded


@case("17")
async def its_images_reach_the_model_in_their_order(bench: Bench) -> None:
    bench.script({"text": "A door."})
    images = [picture(bench, 1, b"door"), picture(bench, 2, b"gate" * 100_000)]
    report, _ = await bench.play(bench.request("What is it?", images=tuple(images)))
    assert report.kind == "done" and bench.prompts == ["What is it?"]
    shown = [base64.b64decode(one) for one in bench.asked[0]["images"]]
    assert shown == [Path(one.path).read_bytes() for one in images]


@case("17b")
async def an_image_that_is_gone_is_told_and_nothing_is_prompted(bench: Bench) -> None:
    image = picture(bench, 1, b"door")
    Path(image.path).unlink()
    report, _ = await bench.play(bench.request(images=(image,)))
    assert report.kind == "failed" and "1.png" in report.detail
    assert bench.prompts == []


@case("17c")
async def one_that_takes_no_images_after_all_is_not_prompted(bench: Bench) -> None:
    bench.script({"text": "A door."}, blind=True)
    report, _ = await bench.play(bench.request(images=(picture(bench, 1, b"door"),)))
    assert report.kind == "failed" and "does not take images" in report.detail
    assert bench.prompts == []


def picture(bench: Bench, number: int, data: bytes) -> Image:
    """A file that is a picture, as far as anyone looks."""
    path = bench.rig.home / f"{number}.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    return Image(str(path), "image/png")


@case("18")
async def an_answer_by_schema_is_the_outcome(bench: Bench) -> None:
    bench.script({"text": "So.", "structured": {"outcome": "done"}})
    report, _ = await bench.play(bench.request(schema={"type": "object"}))
    assert report.structured == {"outcome": "done"}


@case("19")
async def a_turn_may_end_without_a_word(bench: Bench) -> None:
    bench.script({})
    report, events = await bench.play()
    assert (report.kind, report.result_text, said(events)) == ("done", "", "")


@case("20")
async def what_it_says_after_its_end_is_kept_and_holds_nothing_up(bench: Bench) -> None:
    bench.script({"text": "Hello."}, goes_on=True)
    report, _ = await bench.play()
    assert report.kind == "done" and report.texts[0] == "Hello."
    spool = next(bench.rig.turns.glob("*/out.jsonl")).read_text()
    assert "one word more" in spool


@case("21")
async def what_nobody_knows_is_passed_over(bench: Bench) -> None:
    bench.script({"text": "Hello."}, unknown_update=True)
    report, events = await bench.play()
    assert (report.kind, report.texts, report.bad_lines) == ("done", ("Hello.",), 0)
    assert said(events) == "Hello."


@case("22")
async def a_request_that_nobody_knows_is_refused_at_once(bench: Bench) -> None:
    """The agent waits for the answer: without it the turn would never end."""
    bench.script({"text": "Hello."}, unknown_request=True)
    report, _ = await bench.play()
    assert (report.kind, report.texts) == ("done", ("Hello.",))


@case("23")
async def two_ends_are_one(bench: Bench) -> None:
    bench.script({"text": "Hello."}, two_ends=True)
    report, events = await bench.play()
    assert (report.kind, report.texts, said(events)) == ("done", ("Hello.",), "Hello.")


@case("23b")
async def its_use_is_told_as_far_as_it_is_declared(bench: Bench) -> None:
    bench.script({"text": "Hello.", "tools": [command("true", ask=False)]}, {"text": "Done."})
    report, _ = await bench.play()
    usage = bench.driver.capabilities.usage
    assert (report.cost_usd > 0) is (usage == "cost")
    assert (report.tokens is not None) is (usage != "none")
    if report.tokens is not None:
        assert report.tokens.read >= report.tokens.cached and report.tokens.written > 0


@case("23c")
async def what_a_tool_did_is_told(bench: Bench) -> None:
    bench.script({"tools": [command("true", ask=False)]}, {"text": "Done."})
    report, events = await bench.play()
    kinds = [one.kind for one in only(events, Output)]
    assert kinds.index("tool") < kinds.index("text") and report.tool_begun
    assert any("true" in one.delta for one in only(events, Output) if one.kind == "tool")


@case("71")
async def a_message_that_waits_in_the_agent_itself_runs_no_turn(bench: Bench) -> None:
    bench.script({"text": "One."})
    _, events = await bench.play(bench.request("one"))
    known = {"session_mode": "resume", "agent_session_id": own_name(events)}
    bench.script({"text": "Two."}, queued=["THEIRS", "AND THIS"])
    report, events = await bench.play(bench.request("two", **known))
    assert (report.kind, report.texts, said(events)) == ("done", ("Two.",), "Two.")
    assert bench.prompts == ["one", "two"]
    shown = [one.delta for one in only(events, Output) if one.kind == "status"]
    for words in ("THEIRS", "AND THIS"):
        assert any(words in one for one in shown)
        assert any(words in one for one in report.background_stopped)


@case("71b")
async def a_message_that_waits_for_the_end_of_the_turn_is_cut_off_and_named(bench: Bench) -> None:
    bench.script({"text": "Hello."}, queued=["THEIRS"])
    report, _ = await bench.play()
    assert (report.kind, report.texts, bench.prompts) == ("done", ("Hello.",), ["go"])
    assert any("THEIRS" in one for one in report.background_stopped)


@case("72")
async def an_agent_beside_it_asks_and_its_end_and_words_are_not_the_turns(bench: Bench) -> None:
    bench.script({"text": "Mine."}, sub_agent="touch beside")
    asked: list[str] = []

    async def note(turn: Turn, one: ApprovalRequested) -> None:
        asked.append(one.description)
        await allow(turn, one)

    report, events = await bench.play(None, on_approval(note))
    assert (report.kind, report.texts, said(events)) == ("done", ("Mine.",), "Mine.")
    assert len(asked) == 1 and "Erdos" in asked[0]
    tools = [one.delta for one in only(events, Output) if one.kind == "tool"]
    assert any("Erdos" in one and "touch beside" in one for one in tools)
