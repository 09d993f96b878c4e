"""Batches: their entries in order, and bounded in what they may answer together."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import trio

from podiumd import wording
from podiumd.core.findings import nearest
from podiumd.observe.redaction import redact
from podiumd.rpc import adapter
from podiumd.rpc.adapter import Adapter, Method


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


class World:
    """What the handlers did, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.gate = trio.Event()


async def large(world: World, params: Nothing) -> str:
    world.done.append("large")
    return "x" * 600


async def small(world: World, params: Nothing) -> str:
    world.done.append("small")
    world.gate.set()
    return "y"


async def wait(world: World, params: Nothing) -> str:
    await world.gate.wait()
    world.done.append("wait")
    return "z" * 600


ADAPTER: Adapter[World] = Adapter(
    [
        Method("large", Nothing, large, ""),
        Method("small", Nothing, small, ""),
        Method("read", Nothing, small, "", reads=True),
        Method("wait", Nothing, wait, "", "waiting"),
    ],
    batch_entries=10,
    batch_bytes=1000,
)


async def answers(world: World, *entries: tuple[str, int | None]) -> list[Any]:
    """The answers to a batch: a result, or the code of an error, with its id."""
    batch = [
        {"jsonrpc": "2.0", "method": method} | ({} if number is None else {"id": number})
        for method, number in entries
    ]
    reply = await ADAPTER.read(json.dumps(batch).encode()).run(world)
    assert reply is not None
    return [
        (one["id"], one["result"] if "result" in one else one["error"]["code"])
        for one in json.loads(reply)
    ]


async def test_a_batch_is_refused_from_where_its_answers_have_grown_too_large() -> None:
    """What is refused was not done; a notification is refused without a word."""
    world = World()
    entries = [("large", 1), ("large", 2), ("small", 3), ("small", None), ("large", 4)]
    told = await answers(world, *entries)
    assert told == [(1, "x" * 600), (2, "x" * 600), (3, -32008), (4, -32008)]
    assert world.done == ["large", "large"]


async def test_the_refusal_says_that_nothing_was_done_and_what_to_do() -> None:
    batch = [{"jsonrpc": "2.0", "method": "large", "id": n} for n in range(3)]
    reply = await ADAPTER.read(json.dumps(batch).encode()).run(World())
    error = json.loads(reply or b"")[2]["error"]
    assert error["message"] == (
        "Not done: the answers of this batch have reached 1000 bytes; "
        "send this request again in another one."
    )
    assert error["data"] == {"retry_after_ms": 1000}


async def test_entries_run_in_order_and_those_that_wait_beside_them() -> None:
    """One that waits is begun at once, so it is never refused for what others answer."""
    world = World()
    told = await answers(world, ("wait", 1), ("large", 2), ("small", 3))
    assert told == [(1, "z" * 600), (2, "x" * 600), (3, "y")]
    assert world.done == ["large", "small", "wait"]


async def test_a_batch_of_far_too_many_is_refused_before_each_is_an_object() -> None:
    """Numbers below 256 are objects that are there already; an entry as such takes 72 bytes."""
    many = 100_000
    line = b"[" + b"1," * (many - 1) + b"1]"
    tracemalloc.start()
    try:
        work = ADAPTER.read(line)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert f"a batch of {many} entries".encode() in (await work.run(World()) or b"")
    assert peak < 32 * many


async def test_a_member_that_stands_twice_is_told_as_such() -> None:
    """What stands last counts where both are as they may be."""
    line = b'{"jsonrpc":"2.0","method":1,"id":1,"method":"small"}'
    reply = await ADAPTER.read(line).run(World())
    assert json.loads(reply or b"") == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {
            "code": -32600,
            "message": "Invalid request: a member stands in it twice, once as it may not be.",
        },
    }


async def test_names_like_wrong_ones_are_looked_for_once_in_a_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []

    def look(name: str, known: Iterable[str]) -> str:
        looked.append(name)
        return nearest(name, known)

    monkeypatch.setattr(adapter, "nearest", look)
    unknown = [{"jsonrpc": "2.0", "method": f"smal{n}", "id": n} for n in range(3)]
    unfit = {"jsonrpc": "2.0", "method": "large", "params": {"x": 1}, "id": 3}
    for _ in range(2):
        reply = await ADAPTER.read(json.dumps([*unknown, unfit]).encode()).run(World())
        words = [one["error"]["message"] for one in json.loads(reply or b"")]
        assert words == [
            "Method not found: 'smal0'; the nearest known is 'small'.",
            "Method not found: 'smal1'.",
            "Method not found: 'smal2'.",
            "Invalid params: unknown parameter 'x'; this method takes none.",
        ]
    assert looked == ["smal0", "smal0"]


async def test_what_only_makes_answers_is_not_begun_once_nobody_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that acts is, and the others have no turn of the scheduler's either."""
    world, turns = World(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    monkeypatch.setattr(adapter, "nearest", None)
    entries = [{"jsonrpc": "2.0", "method": name, "id": 1} for name in ("absent", "read") * 4]
    batch = [*entries, {"jsonrpc": "2.0", "method": "small"}]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await trio.lowlevel.checkpoint()
        for line in (batch, entries[0], entries[1]):
            assert await ADAPTER.read(json.dumps(line).encode()).run(world, lambda: True) is None
        told = turns
        nursery.cancel_scope.cancel()
    assert world.done == ["small"] and told <= 5


LONG_NAME = "token-" * 2500
WRONG = [
    {"jsonrpc": "2.0", "id": 1, "method": LONG_NAME},
    {"jsonrpc": "2.0", "id": 1, "method": "large", "params": {LONG_NAME: 1}},
]


@pytest.fixture
def redacted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters were searched for secrets each time."""
    lengths: list[int] = []

    def counted(text: str) -> str:
        lengths.append(len(text))
        return redact(text)

    monkeypatch.setattr(wording, "redact", counted)
    return lengths


@pytest.mark.parametrize("wrong", WRONG)
async def test_long_names_that_are_none_are_searched_for_secrets_at_their_beginning_alone(
    wrong: dict[str, Any], redacted: list[int]
) -> None:
    """And not before their turn: where a line is refused whole, no words are looked for."""
    line = json.dumps([wrong] * 3).encode()
    work = ADAPTER.read(line)
    assert redacted == []
    answer = await work.run(World())
    assert len(json.loads(answer or b"")) == len(redacted) == 3
    assert max(redacted) <= 512


@pytest.mark.parametrize("wrong", WRONG)
async def test_each_request_that_is_refused_at_length_lets_others_have_a_turn(
    wrong: dict[str, Any],
) -> None:
    line = json.dumps(wrong).encode()
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await trio.lowlevel.checkpoint()
        for _ in range(20):
            assert await ADAPTER.read(line).run(World()) is not None
        told = turns
        nursery.cancel_scope.cancel()
    assert told >= 19
