"""What people are told, asked and say in a turn, each once."""

from __future__ import annotations

import trio

from podiumd.agents.native.user_channel import UserChannel
from podiumd.core.run.loop_facts import Words
from podiumd.drivers.base import ApprovalRequested, Decision, Output, PromptState
from podiumd.drivers.turn_channel import EVENTS_AHEAD

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
    await people.phase("prompt", "started")
    assert await people.events.receive() == PromptState("prompt", "started")
