"""Prompts that do not go on from the message before them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podiumd.sessions.index import sweep_pause
from podiumd.sessions.log import reading
from tests.sessions import support
from tests.sessions.service import Home, Service, told
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


async def test_what_records_follow_is_that_of_the_transcript_as_it_is_now(home: Home) -> None:
    """Of a rewritten one, of one that grew while nobody looked, of one that was gone."""
    path = home.write(prompt(1, None) + prompt(2, 1) + record(20, 1))
    async with home.running() as service:
        await service.page()
        support.replace(path, prompt(1, None) + prompt(2, 1) + record(20, 2) + prompt(3, 2))
        await service.sweep()
        await service.take(home.write(prompt(4, 20)))
        assert forks(await service.page()) == {4: 2}
    home.write(record(21, 1) + prompt(5, 3))
    async with home.running() as service:
        await service.take(home.write(prompt(6, 21)))
        assert forks(await service.page()) == {4: 2, 5: 3, 6: 1}
        path.unlink()
        await service.sweep()
        home.write(prompt(1, None) + prompt(7, 1) + prompt(8, 21))
        await service.sweep()
        assert {m["seq"]: m.get("forks_from") for m in told(await service.page())}[8] == 0


async def test_of_two_records_with_one_uuid_the_last_counts(home: Home) -> None:
    home.write(prompt(1, None) + prompt(2, 1) + record(20, 1) + record(20, 2) + prompt(3, 2))
    async with home.running() as service:
        await service.page()
        await service.take(home.write(prompt(4, 20) + prompt(5, 4) + record(20, 1) + prompt(6, 20)))
        assert forks(await service.page()) == {4: 1, 6: 1}, "the file as it is when it is read"


@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("restarted", [False, True])
async def test_no_more_of_a_long_transcript_is_read_for_a_fork_than_of_a_short_one(
    home: Home, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    """Nobody but the test looks for what has grown, so every byte that is read is counted once."""
    counted: list[int] = []
    read = reading._read

    def counting(fd: int, size: int, offset: int) -> bytes:
        data = read(fd, size, offset)
        counted.append(len(data))
        return data

    monkeypatch.setattr(sweep_pause, "UNWATCHED_SWEEP_SECONDS", 3600.0)
    monkeypatch.setattr(reading, "_read", counting)
    sizes, took = {1: 100, 2: 2000}, list[int]()
    for number, size in sizes.items():
        chain = b"".join(prompt(at, at - 1) for at in range(2, size + 1))
        home.write(prompt(1, None) + record(9000, 1) + chain, number)
    async with home.running() as service:
        for number in sizes:
            await service.page(number=number)
        if not restarted:
            took = [await read_for(service, *each, counted) for each in sizes.items()]
    if restarted:
        async with home.running() as service:
            took = [await read_for(service, *each, counted) for each in sizes.items()]
    assert took[0] == took[1] <= 4 * reading.MARK_BYTES


async def read_for(service: Service, number: int, size: int, counted: list[int]) -> int:
    """How much of a transcript is read for a prompt that follows a record at its beginning."""
    await service.page(number=number)
    path = Path((await service.row(number)).path)
    counted.clear()
    support.append(path, prompt(size + 1, 9000))
    await service.take(path)
    assert service.opened(number).log.place(size + 1).forks_from == 1
    return sum(counted)
