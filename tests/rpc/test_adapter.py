"""JSON-RPC 2.0: the specification's examples, one refusal a fault, and no leak of ours."""

from __future__ import annotations

import gc
import json
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from podiumd.rpc.adapter import Adapter, Method, error_line, notification
from podiumd.runtime.errors import Busy, PodiumError
from podiumd.wire.refusals import RefusalData
from podiumd.wire.sessions import LockHolder
from tests.examples import examples
from tests.patience import HANG_SECONDS
from tests.plain import some


class Operands(msgspec.Struct, forbid_unknown_fields=True):
    minuend: int
    subtrahend: int


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


class World:
    """What the handlers did."""

    def __init__(self) -> None:
        self.updates = 0
        self.arrived = 0
        self.all_here = trio.Event()


async def subtract(world: World, params: Operands) -> int:
    return params.minuend - params.subtrahend


async def update(world: World, params: Nothing) -> None:
    world.updates += 1


async def get_data(world: World, params: Nothing) -> list[Any]:
    return ["hello", 5]


async def leak(world: World, params: Nothing) -> None:
    raise RuntimeError("planted secret sk-ant-1234567890")


async def group(world: World, params: Nothing) -> None:
    raise ExceptionGroup("planted", [ValueError("planted secret")])


async def unserialisable(world: World, params: Nothing) -> object:
    return object()


async def surrogate(world: World, params: Nothing) -> str:
    return "\ud800"


async def busy(world: World, params: Nothing) -> None:
    raise Busy("The session is in use.", some(LockHolder), session_id="s")


async def bare_refusal(world: World, params: Nothing) -> None:
    class OrchestrationOff(PodiumError):
        code = -32007

    raise OrchestrationOff("Orchestration is off.")


async def meet(world: World, params: Nothing) -> str:
    world.arrived += 1
    if world.arrived == 3:
        world.all_here.set()
    await world.all_here.wait()
    return "met"


ADAPTER: Adapter[World] = Adapter(
    [
        Method("bare_refusal", Nothing, bare_refusal, ""),
        Method("busy", Nothing, busy, ""),
        Method("get_data", Nothing, get_data, ""),
        Method("group", Nothing, group, ""),
        Method("leak", Nothing, leak, ""),
        Method("meet", Nothing, meet, "", "waiting"),
        Method("subtract", Operands, subtract, ""),
        Method("surrogate", Nothing, surrogate, ""),
        Method("unserialisable", Nothing, unserialisable, ""),
        Method("update", Nothing, update, ""),
    ],
    batch_entries=10,
    batch_bytes=1000,
)


async def answer(line: str | bytes, world: World | None = None) -> Any:
    """What a line is answered with; ``None`` when with nothing."""
    data = line.encode() if isinstance(line, str) else line
    reply = await ADAPTER.read(data).run(world or World())
    if reply is None:
        return None
    assert reply.endswith(b"\n") and reply.count(b"\n") == 1
    return json.loads(reply)


def ok(result: Any, id: Any) -> Any:
    return {"jsonrpc": "2.0", "result": result, "id": id}


def failed(code: int, id: Any = None) -> Any:
    return {"code": code, "id": id}


def short(message: Any) -> Any:
    """A message without the words of its error."""
    if isinstance(message, list):
        return [short(item) for item in message]
    if isinstance(message, dict) and "error" in message:
        assert set(message) == {"jsonrpc", "error", "id"} and message["jsonrpc"] == "2.0"
        assert isinstance(message["error"]["message"], str)
        return {"code": message["error"]["code"], "id": message["id"]}
    return message


# The examples of https://www.jsonrpc.org/specification#examples. Ours take parameters by name
# alone, so the positional ones are answered with -32602.
SPECIFICATION: list[tuple[str, str, Any]] = [
    (
        "positional parameters",
        '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
        failed(-32602, 1),
    ),
    (
        "positional parameters the other way round",
        '{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
        failed(-32602, 2),
    ),
    (
        "named parameters",
        (
            '{"jsonrpc": "2.0", "method": "subtract",'
            ' "params": {"subtrahend": 23, "minuend": 42}, "id": 3}'
        ),
        ok(19, 3),
    ),
    (
        "named parameters in another order",
        (
            '{"jsonrpc": "2.0", "method": "subtract",'
            ' "params": {"minuend": 42, "subtrahend": 23}, "id": 4}'
        ),
        ok(19, 4),
    ),
    ("a notification", '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
    ("a notification of an unknown method", '{"jsonrpc": "2.0", "method": "foobar"}', None),
    (
        "an unknown method",
        '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}',
        failed(-32601, "1"),
    ),
    (
        "invalid JSON",
        '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
        failed(-32700),
    ),
    (
        "an invalid request",
        '{"jsonrpc": "2.0", "method": 1, "params": "bar"}',
        failed(-32600),
    ),
    (
        "a batch of invalid JSON",
        (
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
            '{"jsonrpc": "2.0", "method"]'
        ),
        failed(-32700),
    ),
    ("an empty batch", "[]", failed(-32600)),
    ("an invalid batch", "[1]", [failed(-32600)]),
    ("a batch of three invalid", "[1,2,3]", [failed(-32600)] * 3),
    (
        "a mixed batch",
        (
            '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},'
            '{"jsonrpc": "2.0", "method": "update", "params": [7]},'
            '{"jsonrpc": "2.0", "method": "subtract",'
            ' "params": {"minuend": 42, "subtrahend": 23}, "id": "2"},'
            '{"foo": "boo"},'
            '{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},'
            '{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]'
        ),
        [
            failed(-32601, "1"),
            ok(19, "2"),
            failed(-32600),
            failed(-32601, "5"),
            ok(["hello", 5], "9"),
        ],
    ),
    (
        "a batch of notifications",
        '[{"jsonrpc": "2.0", "method": "update"}, {"jsonrpc": "2.0", "method": "update"}]',
        None,
    ),
]


@pytest.mark.parametrize(
    ("line", "expected"),
    [(line, expected) for _, line, expected in SPECIFICATION],
    ids=[name for name, _, _ in SPECIFICATION],
)
async def test_the_specifications_examples(line: str, expected: Any) -> None:
    assert short(await answer(line)) == expected


async def test_a_notification_runs() -> None:
    world = World()
    assert await answer('{"jsonrpc":"2.0","method":"update"}', world) is None
    assert world.updates == 1


async def test_entries_of_a_batch_that_wait_run_beside_each_other() -> None:
    entry = '{"jsonrpc":"2.0","id":%d,"method":"meet"}'
    line = "[" + ",".join(entry % n for n in range(3)) + "]"
    assert await answer(line) == [ok("met", n) for n in range(3)]


async def test_a_batch_over_the_bound_is_refused_whole() -> None:
    world = World()
    line = "[" + ",".join(['{"jsonrpc":"2.0","method":"update"}'] * 11) + "]"
    assert short(await answer(line, world)) == failed(-32600) and world.updates == 0


async def test_a_result_that_is_no_json_spoils_only_its_entry() -> None:
    entry = '{"jsonrpc":"2.0","id":%d,"method":"%s"}'
    names = ("get_data", "unserialisable", "surrogate", "get_data")
    line = "[" + ",".join(entry % (n, name) for n, name in enumerate(names)) + "]"
    assert [item.get("error", {}).get("code") for item in await answer(line)] == [
        None,
        -32603,
        -32603,
        None,
    ]


@pytest.mark.parametrize("id", ['"x"', "0", "-5", "1.5", "null", '""', "123456789012345678901234"])
async def test_an_id_comes_back_as_it_was(id: str) -> None:
    reply = await answer(f'{{"jsonrpc":"2.0","id":{id},"method":"get_data"}}')
    assert reply == ok(["hello", 5], json.loads(id))


@pytest.mark.parametrize("id", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_an_id_that_is_no_json_number_is_a_parse_error(id: str) -> None:
    reply = await answer(f'{{"jsonrpc":"2.0","id":{id},"method":"get_data"}}')
    assert short(reply) == failed(-32700)


@pytest.mark.parametrize("id", ["true", "[]", "{}", "[1]"])
async def test_an_id_of_another_type_is_an_invalid_request(id: str) -> None:
    reply = await answer(f'{{"jsonrpc":"2.0","id":{id},"method":"get_data"}}')
    assert short(reply) == failed(-32600)


async def test_an_invalid_request_with_a_good_id_is_answered_under_it() -> None:
    assert short(await answer('{"id":7,"method":"get_data"}')) == failed(-32600, 7)


async def test_further_members_of_a_request_are_ignored() -> None:
    line = '{"jsonrpc":"2.0","id":1,"method":"get_data","trace":{"a":[1]}}'
    assert await answer(line) == ok(["hello", 5], 1)


@pytest.mark.parametrize("method", ["leak", "group"])
async def test_an_exception_gives_an_id_that_stands_in_the_log_and_nothing_else(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await answer(f'{{"jsonrpc":"2.0","id":1,"method":"{method}"}}')
    log_id = reply["error"]["data"]["log_id"]
    assert reply["error"]["code"] == -32603 and log_id in reply["error"]["message"]
    assert "planted" not in json.dumps(reply) and "Traceback" not in json.dumps(reply)
    (record,) = caplog.records
    assert record.podium == {"log_id": log_id, "method": method}  # type: ignore[attr-defined]


async def test_a_refusal_of_the_service_keeps_its_code_words_and_data() -> None:
    reply = await answer('{"jsonrpc":"2.0","id":1,"method":"busy"}')
    assert reply["error"] == {
        "code": -32001,
        "message": "The session is in use.",
        "data": {"holder": {"kind": "run"}, "session_id": "s"},
    }


async def test_a_refusal_without_data_has_none() -> None:
    reply = await answer('{"jsonrpc":"2.0","id":1,"method":"bare_refusal"}')
    assert reply["error"] == {"code": -32007, "message": "Orchestration is off."}


async def test_an_unknown_method_names_the_nearest() -> None:
    reply = await answer('{"jsonrpc":"2.0","id":1,"method":"substract"}')
    assert reply["error"]["message"].endswith("the nearest known is 'subtract'.")


@pytest.mark.parametrize(
    ("params", "parameter", "words"),
    [
        ('{"minuend":1}', "subtrahend", "missing parameter 'subtrahend': expected an integer"),
        ('{"minuend":1,"subtrahend":"x"}', "subtrahend", "expected an integer, got 'x'"),
        ('{"minuend":1,"subtrahend":null}', "subtrahend", "expected an integer, got null"),
        ('{"minuend":1,"subtrahend":true}', "subtrahend", "expected an integer, got true"),
        ('{"minuend":1.5,"subtrahend":1}', "minuend", "expected an integer, got the number 1.5"),
        ('{"minuend":{},"subtrahend":1}', "minuend", "expected an integer, got an object"),
        ('{"minuend":[],"subtrahend":1}', "minuend", "expected an integer, got a list"),
        (
            '{"minuend":1,"subtrahend":2,"minuent":3}',
            "minuent",
            "unknown parameter 'minuent'; the nearest known is 'minuend'",
        ),
    ],
)
async def test_a_wrong_parameter_is_named(params: str, parameter: str, words: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":1,"method":"subtract","params":{params}}}'
    error = (await answer(line))["error"]
    assert error["code"] == -32602 and error["data"] == {"parameter": parameter}
    assert words in error["message"]


async def test_cancelling_a_call_is_no_error_of_it() -> None:
    with trio.move_on_after(0) as scope:
        await answer('{"jsonrpc":"2.0","id":1,"method":"meet"}')
    assert scope.cancelled_caught


LISTS = b"[" + b"[]," * 100_000 + b"[]]"
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"get_data"'


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    "line",
    [
        LISTS,
        REQUEST + b',"params":{"x":' + LISTS + b"}}",
        b'{"jsonrpc":"2.0","id":1,"x":' + LISTS + b"}",
        REQUEST + b',"params":{' + b",".join(b'"%d":[]' % at for at in range(50_000)) + b"}}",
    ],
    ids=["batch", "parameter", "member", "parameters"],
)
def test_no_collection_of_garbage_walks_through_what_a_long_line_is_decoded_to(
    line: bytes, enabled: bool
) -> None:
    seen: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    if not enabled:
        gc.disable()
    try:
        ADAPTER.read(line)
        during, after = len(seen), gc.isenabled()
    finally:
        gc.callbacks.remove(note)
        gc.enable()

    assert (during, after) == (0, enabled)


@pytest.mark.parametrize(
    "line",
    [
        REQUEST + b',"params":{"\xff":"\xff"},"params":{}}',
        REQUEST + b',"params":{"\xff":"\xff"},"params":{"x":1}}',
        REQUEST + b',"extra":"\xff"}',
    ],
)
async def test_each_byte_of_a_line_is_utf8_also_where_it_is_skipped(line: bytes) -> None:
    error = (await answer(line))["error"]
    assert error == {"code": -32700, "message": "Parse error: the line is not UTF-8."}


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (r'"x":"\ud800"', "a lone surrogate"),
        (r'"x":"\ud800","y":"and more"', "a lone surrogate (byte "),
        (r'"x":"\ud800\n and more"', "a lone surrogate (byte "),
        (r'"x":"\ud800\u0041"', "a lone surrogate (byte "),
        (r'"x":"\\\ud800"', "a lone surrogate"),
        (r'"x":"\udc00"', "a lone surrogate (byte "),
        (r'"x":"\\ud800', "the line is not complete JSON"),
        (r'"x":"\ud800\udc00', "the line is not complete JSON"),
        (r'"x":"\u00"', "the line is not"),
    ],
)
async def test_half_a_character_is_named_where_it_stands_in_an_unknown_member(
    member: str, words: str
) -> None:
    error = (await answer(REQUEST + b"," + member.encode() + b"}"))["error"]
    assert error["code"] == -32700 and error["message"].startswith(f"Parse error: {words}")


def test_lines_of_our_own() -> None:
    assert json.loads(notification("event", {"pos": 1})) == {
        "jsonrpc": "2.0",
        "method": "event",
        "params": {"pos": 1},
    }
    assert json.loads(error_line(-32008, "Try again.", RefusalData(retry_after_ms=1))) == {
        "jsonrpc": "2.0",
        "error": {"code": -32008, "message": "Try again.", "data": {"retry_after_ms": 1}},
        "id": None,
    }


def run_line(line: bytes) -> bytes | None:
    async def once() -> bytes | None:
        with trio.fail_after(HANG_SECONDS):
            return await ADAPTER.read(line).run(World())

    return trio.run(once)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "method": st.sampled_from(["subtract", "update", "get_data", "leak"]) | JSON,
        "params": st.fixed_dictionaries({"minuend": JSON, "subtrahend": JSON}) | JSON,
        "id": JSON,
    },
)


@examples(300)
@given(st.binary(max_size=200))
def test_any_bytes_are_answered_or_silent(line: bytes) -> None:
    reply = run_line(line)
    assert reply is None or reply.endswith(b"\n")


@examples(300)
@given(st.lists(REQUESTS, max_size=4) | REQUESTS | JSON)
def test_any_json_gets_as_many_answers_as_it_asks_for(value: Any) -> None:
    line = json.dumps(value).encode()
    reply = run_line(line)
    if reply is None:
        items = value if isinstance(value, list) else [value]
        assert items and all(isinstance(item, dict) and "id" not in item for item in items)
    else:
        answers = json.loads(reply)
        batch = isinstance(answers, list)
        assert not batch or (isinstance(value, list) and len(answers) <= len(value))
        for item in answers if batch else [answers]:
            assert item["jsonrpc"] == "2.0" and ("result" in item) != ("error" in item)
