"""The configuration over the socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podiumd.config.load import ConfigError
from podiumd.config.paths import PlaceError
from podiumd.config.settings import Config
from podiumd.rpc.context import RequestContext
from podiumd.rpc.methods import METHODS
from podiumd.runtime.errors import Refused
from podiumd.wire.daemon import Reloaded
from podiumd.wire.fields import Nothing
from tests.rpc.bare import NoSettings, bare_info
from tests.rpc.fake_service import FakeService
from tests.rpc.harness import served


class Kept(NoSettings):
    """Settings of which a test says how reading them ends."""

    fault: Exception | None = None

    async def reload(self) -> Reloaded:
        if self.fault is not None:
            raise self.fault
        return Reloaded(changed=("a.b",), pending=(), restart="again")


async def ask(method: str, settings: Any) -> Any:
    info = bare_info(settings=settings)
    handler = next(one.handler for one in METHODS if one.name == method)
    service: Any = FakeService()
    host: Any = None
    return await handler(RequestContext(service, info, host), Nothing())


async def test_reload_answers_with_what_changed() -> None:
    answer = await ask("daemon.reload", Kept())
    assert answer == Reloaded(changed=("a.b",), pending=(), restart="again")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ConfigError(["c:1: one"]), "stays in force: c:1: one"),
        (ConfigError(["c:1: one", "c:2: two", "c:3"]), "stays in force: c:1: one (and 2 more)"),
        (PlaceError("too long"), "stays in force: too long"),
    ],
)
async def test_a_file_that_cannot_be_used_is_a_refusal_that_names_the_fault(
    fault: Exception, words: str
) -> None:
    settings = Kept()
    settings.fault = fault
    with pytest.raises(Refused) as refusal:
        await ask("daemon.reload", settings)
    assert refusal.value.message.endswith(words)


async def test_status_holds_the_bounds_and_the_state_of_the_file(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        status = await client.result("daemon.status")
        assert (status["configuration"]["path"], status["configuration"]["pending"]) == (None, [])
        assert status["limits"]["max_agents"] == Config().limits.max_agents
        assert status["retention"]["runs_days"] == Config().retention.runs_days
        document = await client.result("daemon.configuration")
        assert document == status["configuration"] | {"values": []}
        answer = await client.call("daemon.reload")
        assert answer["error"]["code"] == -32006
