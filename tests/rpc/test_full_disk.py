"""What a client is told when nothing can be stored."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from podiumd.rpc.adapter import Adapter, Method
from podiumd.store.errors import StoreFailed, StoreFull
from podiumd.wire.fields import Nothing


async def full(context: None, params: Nothing) -> None:
    raise StoreFull(Path("facts.db"), "facts.db: no space left to store this.")


async def broken(context: None, params: Nothing) -> None:
    raise StoreFailed(Path("facts.db"), "facts.db: the database refused (SECRET)")


ADAPTER: Adapter[None] = Adapter(
    [Method("broken", Nothing, broken, ""), Method("full", Nothing, full, "")],
    batch_entries=10,
    batch_bytes=1000,
)


async def answer(method: str) -> dict[str, object]:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()
    work = ADAPTER.read(line)
    reply = await work.run(None)
    assert reply is not None
    error: dict[str, object] = msgspec.json.decode(reply)["error"]
    return error


async def test_a_full_disk_is_said_and_when_to_try_again() -> None:
    error = await answer("full")

    assert (error["code"], error["data"]) == (-32008, {"retry_after_ms": 5000})
    assert "Free some space" in str(error["message"])


@pytest.mark.parametrize("method", ["broken"])
async def test_any_other_fault_of_the_store_is_only_an_id_in_the_log(method: str) -> None:
    error = await answer(method)

    assert error["code"] == -32603
    assert "SECRET" not in str(error)
