"""After each look at all sessions what it took is free for others."""

from __future__ import annotations

import pytest

from podiumd.sessions.index import follower, give_back
from tests.sessions.service import Home
from tests.sessions.support import line


async def test_a_look_gives_back_what_it_took(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[None] = []
    monkeypatch.setattr(follower, "give_back", lambda: given.append(None))
    home.write(line(1))
    async with home.running() as service:
        given.clear()
        await service.sweep()
        assert given == [None]


def test_another_c_library_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back.give_back()
    monkeypatch.setattr(give_back, "_TRIM", None)
    give_back.give_back()
