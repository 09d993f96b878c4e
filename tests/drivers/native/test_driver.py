"""What the driver says of turns and sessions without running any."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents.native.assembling import Workshop
from podiumd.agents.native.driver import NativeDriver
from podiumd.agents.native.kind import SESSIONS, NativeSettings
from podiumd.agents.native.model.base import ModelError, ModelReply
from podiumd.agents.native.model.scripted import ScriptedModel
from podiumd.agents.native.rules import Rules
from podiumd.agents.native.transcript import Row, SessionFile
from podiumd.agents.native.user_channel import UserChannel
from podiumd.agents.native.work import failed_reply
from podiumd.core.reply.actions import Action
from podiumd.core.reply.model_message import Message
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from podiumd.core.run.native_loop_facts import Words
from podiumd.drivers.base import ApprovalRequested, Decision, Output, PendingTurn, PromptState
from podiumd.drivers.turn_channel import EVENTS_AHEAD
from tests.drivers.native.bench import Bench, act
from tests.drivers.rig import play
from tests.tools.fresh_turn import fresh_turn

ID = "ABCDEF01-2345-4789-8ABC-DEF012345678"


@pytest.fixture
def driver(tmp_path: Path) -> NativeDriver:
    shop = Workshop(agent="native", settings=NativeSettings, environ={}, state=tmp_path)
    return NativeDriver(shop)


def cut_off(name: str, *changes: lf.FileChange) -> ls.LoopState:
    """A turn that was cut off in the middle of an action."""
    begun = lf.ActionIntended(turn_id="t", reply=1, index=0, action=name, changes=changes)
    state = ls.ActionState(action=Action(name=name), intended=begun)
    return ls.LoopState(rounds=(ls.Round(number=1, text="", stop="end", actions=(state,)),))


def pending(loop: ls.LoopState, *, irreversible: bool) -> PendingTurn:
    return PendingTurn(
        turn_id=fresh_turn(),
        session_id=ID,
        session_mode="new",
        working_directory="/",
        prompt_uuid="p",
        directory="/nonexistent",
        environment={},
        loop=loop,
        irreversible=irreversible,
    )


@pytest.mark.parametrize(
    ("loop", "irreversible", "state"),
    [
        (ls.LoopState(), True, "absent"),
        (cut_off("run_command"), False, "absent"),
        (cut_off("run_command"), True, "broken"),
        (cut_off("run_tests"), True, "broken"),
        (cut_off("patch", lf.FileChange(path="a", after="d")), True, "absent"),
    ],
)
async def test_a_turn_goes_on_unless_a_command_must_not_be_repeated(
    driver: NativeDriver, loop: ls.LoopState, irreversible: bool, state: str
) -> None:
    settled = await driver.inspect(pending(loop, irreversible=irreversible))
    assert settled.state == state
    assert (settled.report is not None) is (state == "broken")


def test_a_session_is_found_however_its_id_is_written(driver: NativeDriver, tmp_path: Path) -> None:
    assert driver.transcript(ID, "/", {}) is None
    path = tmp_path / "sessions" / f"{ID.lower()}.jsonl"
    path.parent.mkdir()
    path.touch()
    assert driver.transcript(ID, "/", {}) == driver.transcript(ID.lower(), "/", {}) == path


@pytest.mark.parametrize("name", ["../../etc/passwd", "", f"{ID}/x", f"{ID}\n"])
def test_what_is_no_id_never_touches_a_path(driver: NativeDriver, name: str) -> None:
    with pytest.raises(ValueError, match="expected a UUID"):
        driver.transcript(name, "/", {})


async def test_a_native_turn_cannot_be_taken_up(driver: NativeDriver) -> None:
    with pytest.raises(RuntimeError, match="ended with its daemon"):
        driver.reattach(pending(ls.LoopState(), irreversible=False))


@pytest.mark.parametrize(
    ("tools", "known", "offered"),
    [
        ("all", {"read_file", "patch", "run_command"}, {"read_file", "patch", "run_command"}),
        ("read-only", {"read_file"}, {"read_file"}),
        ("none", set(), set()),
        (("Read", "Edit"), {"read_file", "patch"}, {"read_file", "patch"}),
    ],
)
def test_what_exists_in_a_turn_is_what_the_recipe_says(
    tools: str | tuple[str, ...], known: set[str], offered: set[str]
) -> None:
    rules = Rules("confirm", tools, ())
    risks = {"read_file": "read", "patch": "write", "run_command": "exec"}
    assert {name for name, risk in risks.items() if rules.knows(name, risk)} == known  # type: ignore[arg-type]
    assert {name for name, risk in risks.items() if rules.offers(name, risk)} == offered  # type: ignore[arg-type]
    assert rules.knows("done", "read")


def test_what_only_the_mode_forbids_exists_and_is_refused() -> None:
    rules = Rules("read-only", "all", ())
    assert rules.knows("patch", "write") and not rules.offers("patch", "write")


def test_a_limit_that_says_when_it_ends_parks_the_run_until_then() -> None:
    error = ModelError("rate", "Come back later.", retry_after=3600.0, status=429)

    failed = failed_reply(error)

    assert (failed.kind, failed.api_status) == ("usage_limit", 429)
    assert failed.resets_at is not None
    until = datetime.fromisoformat(failed.resets_at) - datetime.now(UTC)
    assert timedelta(minutes=50) < until <= timedelta(hours=1)


def test_a_limit_that_says_no_time_fails_the_turn() -> None:
    failed = failed_reply(ModelError("rate", "Come back later."))

    assert (failed.kind, failed.resets_at) == ("api_error", None)


@pytest.mark.parametrize("kind", ["rate", "network"])
def test_what_attempts_without_a_reply_have_cost_counts(kind: Any) -> None:
    error = ModelError(kind, "No reply came.", retry_after=5.0)
    error.cost_usd = 0.25

    assert failed_reply(error).cost_usd == 0.25


# -- what a native turn works with: the turns before it; an environment without the model's key


AT = "2026-11-22T09:00:00.000Z"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model is sent, a text for each request."""
    texts: list[str] = []
    reply = ScriptedModel.reply

    async def noted(
        model: ScriptedModel, system: str, messages: Sequence[Message], **limits: Any
    ) -> ModelReply:
        texts.append("\n".join(message.text for message in messages))
        return await reply(model, system, messages, **limits)

    monkeypatch.setattr(ScriptedModel, "reply", noted)
    return texts


async def test_the_model_is_told_of_the_earlier_turns_of_its_session(
    tmp_path: Path, asked: list[str]
) -> None:
    bench = Bench(tmp_path, "Yes.")
    request = bench.request("Is it in?", session_mode="resume")
    file = bench.rig.root / SESSIONS / f"{request.session_id}.jsonl"
    with SessionFile(file) as session:
        session.append(
            Row(type="prompt", uuid="p", turn="earlier", timestamp=AT, text="Build a door."),
            Row(type="reply", uuid="r", turn="earlier", timestamp=AT, number=1, said="It is in."),
            Row(type="notice", uuid="n", turn="earlier", timestamp=AT, text="committed c0ffee"),
        )

    turn, _ = await play(bench.driver, request)

    assert turn.report.result_text == "Yes."
    for words in ("Build a door.", "It is in.", "committed c0ffee", "Is it in?"):
        assert words in asked[-1]


async def test_the_variable_that_holds_the_models_key_reaches_no_command(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, act({"action": "run_command", "command": "env"}), "Done.", api_key_env="MY_KEY"
    )
    bench.rig.environment |= {"MY_KEY": "s3cret", "OTHER": "seen"}

    await play(bench.driver, bench.request())

    (done,) = bench.journal.results
    assert "OTHER=seen\n" in done.output and "s3cret" not in done.output


# -- what people are told, asked and say in a turn, each once --------------------------------


ALLOW, DENY = Decision("allow"), Decision("deny")

EARLY, LATE = Words("early", "Be quick."), Words("late", "Be kind.")


async def test_a_question_waits_for_its_first_answer() -> None:
    people = UserChannel("prompt", ())
    decided: list[Decision] = []

    async def ask() -> None:
        decided.append(await people.ask("1:0", "patch", {"path": "a"}, "a diff"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        asked = await people.events.receive()
        assert isinstance(asked, ApprovalRequested)
        assert (asked.tool, asked.description, asked.asks_person) == ("patch", "a diff", False)
        assert not people.approvals.give("another", DENY)
        assert people.approvals.give(asked.request_id, ALLOW)
        assert people.approvals.give(asked.request_id, DENY), "told again, and the first one holds"
    assert decided == [ALLOW]


async def test_the_same_question_is_the_same_in_each_life_of_the_daemon() -> None:
    """And another about another file, another content, or of another action."""
    names = []
    for use, path, diff in (
        ("1:0", "a", "a diff"),
        ("1:0", "a", "a diff"),
        ("1:1", "a", "a diff"),
        ("1:0", "b\udcff", "a diff"),
        ("1:0", "a", "another"),
    ):
        people = UserChannel("prompt", ())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(people.ask, use, "patch", {"path": path}, diff)
            asked = await people.events.receive()
            assert isinstance(asked, ApprovalRequested)
            names.append(asked.request_id)
            nursery.cancel_scope.cancel()

    assert names[0] == names[1]
    assert len(set(names)) == 4


async def test_words_are_taken_once_also_those_of_an_earlier_life() -> None:
    people = UserChannel("prompt", (EARLY,))
    assert people.say(EARLY) and people.say(LATE) and people.say(LATE)
    assert people.waiting == (EARLY, LATE)
    assert not people.hush(), "there is something to be heard"
    people.settle(EARLY, taken=True)
    people.settle(LATE, taken=False)
    assert people.say(EARLY) and people.say(LATE) and not people.waiting
    assert (people.taken, people.undelivered) == (("early",), ("late",))


async def test_when_the_turn_is_over_nothing_is_heard_any_more() -> None:
    people = UserChannel("prompt", ())
    assert people.hush()
    assert not people.say(EARLY)
    people.end()
    assert not people.approvals.give("any", ALLOW)
    people.stream("a command's last words come too late")


async def test_output_that_nobody_keeps_up_with_is_passed_over_and_words_are_not() -> None:
    people = UserChannel("prompt", ())
    for _ in range(2 * EVENTS_AHEAD):
        people.stream("much")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(people.show, "text", "words")
        seen = [await people.events.receive() for _ in range(EVENTS_AHEAD + 1)]
    assert seen[-1] == Output("prompt", "text", "words")


async def test_what_is_shown_belongs_to_the_part_of_the_turn_that_goes_on() -> None:
    people = UserChannel("prompt", ())
    people.part = "2/0"
    people.stream("a line")
    await people.show("tool", "make")

    assert [await people.events.receive() for _ in range(2)] == [
        Output("prompt", "tool_result", "a line", "2/0"),
        Output("prompt", "tool", "make", "2/0"),
    ]


async def test_nothing_is_shown_of_no_words() -> None:
    people = UserChannel("prompt", ())
    await people.show("text", "")
    await people.progress("prompt", "started")
    assert await people.events.receive() == PromptState("prompt", "started")
