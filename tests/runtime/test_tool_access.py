"""Tokens of turns: who has one reaches the tools of that turn, while it goes on, nothing else."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from podiumd.core.prompts.tools import ToolSpec
from podiumd.formats import mcp
from podiumd.runtime import tool_access
from podiumd.runtime.errors import Overloaded, Refused
from podiumd.runtime.tool_access import ToolAccess
from tests.plain import plain

SAVE = ToolSpec(name="save", description="Save.", schema={"type": "object"})
Used = list[tuple[str, str, dict[str, Any]]]


@pytest.fixture
def access(tmp_path: Path) -> ToolAccess:
    return ToolAccess(tmp_path / "podium.sock")


@pytest.fixture
def turn(tmp_path: Path) -> Path:
    return directory(tmp_path, "turn-1")


def directory(tmp_path: Path, name: str) -> Path:
    path = tmp_path / name
    path.mkdir(mode=0o700)
    return path


def recorder(used: Used) -> Callable[[str, str, dict[str, Any]], Awaitable[tuple[bool, str]]]:
    """What does a call: it writes it down."""

    async def use(call_id: str, tool: str, args: dict[str, Any]) -> tuple[bool, str]:
        await trio.lowlevel.checkpoint()
        used.append((call_id, tool, args))
        return True, f"Saved {args.get('key')}."

    return use


async def never(call_id: str, tool: str, args: dict[str, Any]) -> tuple[bool, str]:
    await trio.sleep_forever()
    raise AssertionError


def call(id: int = 1, key: str = "goal") -> str:
    params = {"name": "save", "arguments": {"key": key}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


PING = '{"jsonrpc":"2.0","id":9,"method":"ping"}'


async def say(
    access: ToolAccess,
    token: str,
    text: str = PING,
    delivery: str | None = None,
    going_on: Sequence[Path] = (),
) -> Any:
    return await access.message(token, text, delivery, going_on)


# -- the token ---------------------------------------------------------------------------------


def test_a_token_has_256_bits_and_only_its_digest_is_kept(access: ToolAccess, turn: Path) -> None:
    token = access.issue(turn)

    assert re.fullmatch("[0-9a-f]{64}", token)
    (kept,) = turn.iterdir()
    assert kept.read_text() == hashlib.sha256(token.encode()).hexdigest()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert token not in repr(vars(access))


def test_no_two_turns_have_the_same_token(access: ToolAccess, tmp_path: Path) -> None:
    tokens = {access.issue(directory(tmp_path, f"t{number}")) for number in range(20)}

    assert len(tokens) == 20


def test_a_token_is_made_anew_also_where_a_daemon_died_over_it(
    access: ToolAccess, turn: Path
) -> None:
    (turn / "tools.sha256.new").write_text("half a di")

    token = access.issue(turn)

    assert (turn / "tools.sha256").read_text() == hashlib.sha256(token.encode()).hexdigest()


def test_the_server_of_the_tools_gets_the_token_in_its_environment_alone(
    access: ToolAccess, tmp_path: Path
) -> None:
    server = access.server("the-token")

    assert server.environment == {
        "PODIUM_TOOLS_TOKEN": "the-token",
        "PODIUM_SOCKET": str(tmp_path / "podium.sock"),
    }
    assert server.command[-1] == "mcp"
    assert Path(server.command[0]).is_absolute()
    assert "the-token" not in " ".join(server.command)


def test_a_client_without_a_script_is_not_looked_for_where_the_agent_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    assert tool_access.client_command() == (str(tmp_path / "python"), "-P", "-m", "podium")

    (tmp_path / "podium").touch()
    assert tool_access.client_command() == (str(tmp_path / "podium"),)


# -- while the turn goes on --------------------------------------------------------------------


async def test_who_has_the_token_uses_the_tools_of_the_turn(access: ToolAccess, turn: Path) -> None:
    used: Used = []
    token = access.issue(turn)

    with access.open(turn, [SAVE], recorder(used)):
        listed = await say(access, token, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        said = await say(access, token, call())
        unheard = await say(access, token, '{"jsonrpc":"2.0","method":"notifications/initialized"}')

    assert [tool["name"] for tool in listed["result"]["tools"]] == ["save"]
    assert said["result"] == {
        "content": [{"type": "text", "text": "Saved goal."}],
        "isError": False,
    }
    assert unheard is None
    assert [(tool, args) for _, tool, args in used] == [("save", {"key": "goal"})]


async def test_a_batch_is_done_in_its_order(access: ToolAccess, turn: Path) -> None:
    used: Used = []
    token = access.issue(turn)

    with access.open(turn, [SAVE], recorder(used)):
        said = await say(access, token, f"[{call(1, 'a')},{PING},{call(2, 'b')}]", "d-1")

    assert [one["id"] for one in said] == [1, 9, 2]
    assert [args["key"] for _, _, args in used] == ["a", "b"]
    assert len({call_id for call_id, _, _ in used}) == 2


async def test_the_same_delivery_is_the_same_call_and_another_is_another(
    access: ToolAccess, turn: Path
) -> None:
    used: Used = []
    token = access.issue(turn)

    with access.open(turn, [SAVE], recorder(used)):
        for delivery in ("a-1", "a-1", "a-2", "b-1", None, None):
            await say(access, token, call(), delivery)

    ids = [call_id for call_id, _, _ in used]
    assert ids[0] == ids[1]
    assert len(set(ids[1:])) == 5


async def test_a_taken_up_turn_is_served_under_its_old_token(tmp_path: Path, turn: Path) -> None:
    used: Used = []
    token = ToolAccess().issue(turn)
    next_daemon = ToolAccess()

    with next_daemon.open(turn, [SAVE], recorder(used)):
        await say(next_daemon, token, call())

    assert len(used) == 1


# -- everything else ---------------------------------------------------------------------------


async def refusal(access: ToolAccess, token: str, going_on: Sequence[Path] = ()) -> str:
    with pytest.raises(Refused) as caught:
        await say(access, token, call(), going_on=going_on)
    assert plain(caught.value.data) == {"reason": caught.value.message}
    return caught.value.message


async def test_all_that_is_wrong_with_a_token_is_told_with_the_same_words(
    access: ToolAccess, tmp_path: Path, turn: Path
) -> None:
    other = directory(tmp_path, "turn-2")
    used: Used = []
    ended = access.issue(turn)
    with access.open(turn, [SAVE], recorder(used)):
        pass
    with access.open(other, [SAVE], recorder(used)):
        missing = "0" * 64
        digest = (turn / "tools.sha256").read_text()
        words = [
            await refusal(access, token, [other])
            for token in ("", missing, ended, ended.upper(), digest, "\ud800", "x" * 100_000)
        ]

    assert set(words) == {tool_access.REFUSED}
    assert used == []


async def test_a_token_opens_its_own_turn_and_no_other(access: ToolAccess, tmp_path: Path) -> None:
    used: dict[str, Used] = {"a": [], "b": []}
    turns = {name: directory(tmp_path, name) for name in used}
    tokens = {name: access.issue(path) for name, path in turns.items()}

    with (
        access.open(turns["a"], [SAVE], recorder(used["a"])),
        access.open(turns["b"], [], recorder(used["b"])),
    ):
        await say(access, tokens["a"], call())
        refused = await say(access, tokens["b"], call())

    assert len(used["a"]) == 1
    assert used["b"] == []
    assert refused["result"]["isError"] is True


async def test_a_new_token_ends_the_one_before(access: ToolAccess, turn: Path) -> None:
    used: Used = []
    first = access.issue(turn)
    second = access.issue(turn)

    with access.open(turn, [SAVE], recorder(used)):
        await refusal(access, first, [turn])
        await say(access, second)


async def test_a_turn_for_which_no_token_was_made_is_open_to_nobody(
    access: ToolAccess, turn: Path
) -> None:
    used: Used = []
    with access.open(turn, [SAVE], recorder(used)):
        await refusal(access, "", [turn])
        await refusal(access, "0" * 64, [turn])
    (turn / "tools.sha256").write_text("no digest")
    with access.open(turn, [SAVE], recorder(used)):
        await refusal(access, "no digest", [turn])


async def test_a_turn_that_begins_or_is_taken_up_just_now_is_to_be_tried_again(
    access: ToolAccess, turn: Path
) -> None:
    token = access.issue(turn)

    with pytest.raises(Overloaded) as caught:
        await say(access, token, going_on=[turn])

    assert plain(caught.value.data) == {"retry_after_ms": 200}


async def test_who_waits_while_the_turn_is_let_go_is_to_try_again(
    access: ToolAccess, turn: Path
) -> None:
    token = access.issue(turn)
    refused: list[Overloaded] = []

    async def wait() -> None:
        with pytest.raises(Overloaded) as caught:
            await say(access, token, call())
        refused.append(caught.value)

    async with trio.open_nursery() as nursery:
        with access.open(turn, [SAVE], never):
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()

    assert plain(refused[0].data) == {"retry_after_ms": 200}
    await refusal(access, token)


# -- bounds ------------------------------------------------------------------------------------


async def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(
    access: ToolAccess, turn: Path, autojump_clock: MockClock
) -> None:
    used: Used = []
    token = access.issue(turn)
    with access.open(turn, [SAVE], recorder(used)):
        for _ in range(20):
            await refusal(access, "wrong")
        with pytest.raises(Overloaded) as caught:
            await say(access, "wrong")
        await say(access, token, call())
        await trio.sleep(plain(caught.value.data)["retry_after_ms"] / 1000)
        await refusal(access, "wrong")

    assert len(used) == 1


async def test_an_agent_that_calls_without_end_is_slowed_down(
    access: ToolAccess, turn: Path, autojump_clock: MockClock
) -> None:
    used: Used = []
    token = access.issue(turn)
    batch = f"[{','.join([PING] * mcp.BATCH_LIMIT)}]"
    with access.open(turn, [SAVE], recorder(used)):
        await say(access, token, batch)
        await say(access, token, batch)
        with pytest.raises(Overloaded) as caught:
            await say(access, token, batch)
        await trio.sleep(plain(caught.value.data)["retry_after_ms"] / 1000)
        assert len(await say(access, token, batch)) == mcp.BATCH_LIMIT


async def test_notifications_count_too(
    access: ToolAccess, turn: Path, autojump_clock: MockClock
) -> None:
    used: Used = []
    token = access.issue(turn)
    unheard = '{"jsonrpc":"2.0","method":"notifications/cancelled"}'
    with access.open(turn, [SAVE], recorder(used)):
        for _ in range(2 * mcp.BATCH_LIMIT):
            assert await say(access, token, unheard) is None
        with pytest.raises(Overloaded):
            await say(access, token, unheard)


async def test_so_many_calls_of_a_turn_are_in_hand_and_no_more(
    access: ToolAccess, turn: Path
) -> None:
    token = access.issue(turn)

    async def wait() -> None:
        with pytest.raises(Overloaded):
            await say(access, token, call())

    async with trio.open_nursery() as nursery:
        with access.open(turn, [SAVE], never):
            for _ in range(tool_access.AT_ONCE):
                nursery.start_soon(wait)
            await wait_all_tasks_blocked()
            with pytest.raises(Overloaded, match="at once"):
                await say(access, token, call())
