"""Prompts that do not go on from the message before them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.sessions import scan
from podiumd.sessions.scan import Changed
from tests.sessions import support
from tests.sessions.service import Home, told
from tests.sessions.support import line


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def prompt(number: int, parent: int | None) -> bytes:
    return line(number, parentUuid=None if parent is None else uuid(parent))


def record(number: int, parent: int) -> bytes:
    """A record of the tree that is no message."""
    fields = {"type": "system", "uuid": uuid(number), "parentUuid": uuid(parent)}
    return json.dumps(fields).encode() + b"\n"


FORKED = (
    prompt(1, None)
    + prompt(2, 1)
    + record(20, 2)
    + record(21, 20)
    + prompt(3, 21)
    + prompt(4, 1)  # back to the first message
    + prompt(5, 21)  # to what followed the second
    + prompt(6, 999)  # to what is not in the file
    + prompt(7, None)  # to nothing
    + prompt(8, 7)
)
FORKS = {4: 1, 5: 2, 6: 0, 7: 0}


def forks(source: Any) -> dict[int, int]:
    return {m["seq"]: m["forks_from"] for m in told(source) if "forks_from" in m}


async def test_a_fork_says_which_message_it_goes_on_from_for_ever(home: Home) -> None:
    """Also one that follows a record that is no message, also when the index was lost."""
    home.write(FORKED)
    for lose_index in (False, False, True):
        if lose_index:
            home.lose_index()
        async with home.running() as service:
            assert forks(await service.page()) == FORKS


async def test_forks_are_told_live(home: Home) -> None:
    home.write(prompt(1, None) + record(20, 1) + prompt(2, 20))
    async with home.running() as service, service.following() as feed:
        home.write(prompt(3, 20))
        assert forks(await anext(feed)) == {3: 1}


async def test_forks_are_found_again_when_only_the_ledger_is_left(home: Home) -> None:
    path = home.write(FORKED)
    async with home.running() as service:
        await service.page()
        support.replace(path, FORKED + prompt(9, 8))
        await service.sweep()
        assert forks(await service.page()) == FORKS
    home.lose_index()
    async with home.running() as service:
        assert forks(await service.page()) == FORKS


async def test_the_transcript_is_looked_through_once_for_all_forks(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(prompt(1, None) + record(99, 1) + prompt(2, 99))
    home.write(b"".join(prompt(number, 99) for number in range(3, 40)))
    looks: list[object] = []
    parents = scan.parents

    def counted(*args: Any) -> Any:
        looks.append(args)
        return parents(*args)

    monkeypatch.setattr(scan, "parents", counted)
    async with home.running() as service:
        assert forks(await service.page()) == dict.fromkeys(range(3, 40), 1)
    assert len(looks) == 1


async def test_a_fork_whose_origin_cannot_be_looked_for_is_shown_as_one(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write(FORKED)

    def changed(*args: object) -> None:
        raise Changed

    monkeypatch.setattr(scan, "parents", changed)
    async with home.running() as service:
        assert forks(await service.page()) == {4: 1, 5: 0, 6: 0, 7: 0}
