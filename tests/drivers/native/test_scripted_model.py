"""The model that plays replies."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.opening import open_model
from podiumd.agents.native.model.scripted import ScriptedModel, ScriptedReply
from podiumd.core.reply.actions import parse_reply
from podiumd.core.reply.model_message import Message
from tests.drivers.native.models import HI, Told


async def test_replies_are_told_in_pieces_and_used_once() -> None:
    told = Told()
    text = "a reply of more than one piece"
    model = ScriptedModel([ScriptedReply(text), ScriptedReply("two", stop="length")], told)

    first, second, over = [await model.reply(system, HI) for system in ("a", "b", "c")]

    assert (first.text, first.stop, second.stop) == (text, "end", "length")
    assert len(told.events) > 3 and told.text.startswith(text)
    assert "over" in over.text
    assert model.asked == ("c", tuple(HI)), "of what it was sent it keeps the last alone"
    assert (first.cost_usd, first.priced) == (0.0, True) and first.usage.output > 0


async def test_the_first_unused_reply_that_matches_the_last_message_is_played() -> None:
    replies = [ScriptedReply("b", when="ba+d"), ScriptedReply("any")]
    model = ScriptedModel(replies, Told())

    texts = [(await model.reply("", [Message("user", m)])).text for m in ("good", "baad")]

    assert texts == ["any", "b"]


async def test_a_reply_may_fail_and_may_take_its_time(autojump_clock: MockClock) -> None:
    model = ScriptedModel([ScriptedReply(error="overloaded", delay_seconds=40)], Told())

    with pytest.raises(ModelError, match="overloaded"):
        await model.reply("", HI)

    assert trio.current_time() == pytest.approx(40)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.toml", '[[replies]]\ntext = "from a file"\n'),
        ("s.json", '{"replies": [{"text": "from a file"}]}'),
    ],
)
async def test_a_script_may_be_a_file(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)

    async with open_model(
        NativeSettings(provider="scripted"), {}, tell=Told(), model=str(path)
    ) as m:
        assert (await m.reply("", HI)).text == "from a file"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("[[replies", "Expected"),
        ("replies = 3", "Expected `array`"),
        ("[[replies]]\ntxt = 'x'", "unknown field `txt`"),
        ("[[replies]]\nwhen = '('", r"replies\[0\].when"),
        ("[[replies]]\ndelay_seconds = -1", "delay_seconds"),
        ("[[replies]]\nstop = 'soon'", "Invalid enum value"),
    ],
)
async def test_a_script_that_cannot_be_used_says_why(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "s.toml"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ModelError, match=words) as caught:
        async with open_model(
            NativeSettings(provider="scripted", model=str(path)), {}, tell=Told()
        ):
            raise AssertionError("not opened")

    assert caught.value.kind == "setup" and str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ('{"action": "write_file", "success": false}', "wrote nothing, as you wished"),
        ("Do it.\n\nYour possible outcomes for this step: complete, other", '"outcome": "other"'),
    ],
)
async def test_the_built_in_demonstration_claims_nothing_that_it_has_not_done(
    last: str, said: str
) -> None:
    async with open_model(NativeSettings(provider="scripted"), {}, tell=Told()) as model:
        reply = await model.reply("", [Message("user", last)])

    assert said in reply.text


async def test_the_built_in_demonstration_looks_writes_and_ends() -> None:
    results = ["Try it.", '{"action": "run_command"}', '{"action": "write_file"}']
    async with open_model(NativeSettings(provider="scripted"), {}, tell=Told()) as model:
        replies = [parse_reply((await model.reply("", [Message("user", r)])).text) for r in results]

    names = [[action.name for action in reply.actions] for reply in replies]
    assert names == [["run_command"], ["write_file"], []]
    assert all(reply.fault is None for reply in replies)
