"""The gateway put together: what keeps it from opening costs the gateway and not the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import trio

from podiumd.config.settings import GatewaySettings
from podiumd.gateway.service import Surroundings, open_gateway
from podiumd.gateway.web.door import PageMessages
from podiumd.runtime.errors import Refused
from podiumd.runtime.service import Service
from podiumd.runtime.voice.service import Voice
from podiumd.store.errors import StoreFailed
from podiumd.store.facts import Store as Facts
from podiumd.wire.method import Scope
from tests.gateway.kept import NOON, Kept
from tests.patience import HANG_SECONDS

UNASKED = cast("Service", object())
"""The daemon's service, which is not asked for anything here."""


def around(root: Path) -> Surroundings:
    async def no_name(_: str) -> str:
        raise AssertionError("nobody starts a session here")

    return Surroundings(
        settings=GatewaySettings(port=0),
        state=root / "state",
        home=root,
        user="ada",
        config_file="config.toml",
        now=lambda: NOON,
        environment=lambda marker: {"MARKER": marker},
        infer_name=no_name,
        voice=cast("Voice", object()),
        page_files=root / "web",
        serve_page=no_pages,
    )


async def no_pages(messages: PageMessages, first: str, caller: str, scope: Scope) -> None:
    """Serve no page."""


class Store(Kept):
    """Nothing was ever asked of the daemon."""

    async def token(self, _method: str, _token: str) -> None:
        await trio.lowlevel.checkpoint()


async def problem(root: Path, kept: Store) -> str:
    """Why the gateway does not listen, of a daemon that runs all the same."""
    with trio.fail_after(HANG_SECONDS):
        async with open_gateway(around(root), UNASKED, cast("Facts", kept)) as control:
            status = control.status()
            with pytest.raises(Refused):  # a key that nobody could use is not given out
                await control.pair(None, png=False)
    assert status.enabled and status.url is None
    return str(status.problem)


async def test_a_history_of_commands_that_is_no_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "commands").write_text("")
    told = await problem(tmp_path, Store())
    assert str(tmp_path / "state" / "commands") in told and "File exists" in told


async def test_a_history_of_commands_that_may_not_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", read_only)
    assert "Read-only file system" in await problem(tmp_path, Store())


async def test_a_store_that_cannot_be_read_is_told_and_no_device_is_lost(tmp_path: Path) -> None:
    class Broken(Store):
        async def setting(self, key: str) -> bytes | None:
            await trio.lowlevel.checkpoint()
            raise StoreFailed(Path("facts.db"), "facts.db: disk I/O error")

    kept = Broken()
    assert await problem(tmp_path, kept) == "facts.db: disk I/O error"
    assert kept.writes == 0
