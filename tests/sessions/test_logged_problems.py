"""What is wrong with a file is told once, whoever finds it, and over restarts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sessions import support
from tests.sessions.service import Home, bytes_path, complaints, refuse, seqs, unwatched
from tests.sessions.support import line, lines, session_id

UNREADABLE = "Session file cannot be read"
FAULT = "Session file has a fault"
LATIN = line(9, "caf\N{LATIN SMALL LETTER E WITH ACUTE}").decode().encode("latin-1")
MANY = lines(100, 100)
"""More than a chunk that is looked at for what is not UTF-8."""


@pytest.mark.usefixtures("unwatched")
async def test_a_file_that_cannot_be_read_is_told_once_and_read_when_it_can(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = home.write(line(1))
    home.write(line(1), 2)
    with monkeypatch.context() as patch:
        refuse(patch, "open", [path])
        async with home.running() as service:
            await service.sweep()
            await service.take(path)
            assert await service.transcripts.count() == 1
            patch.undo()
            unwatched(monkeypatch)
            await service.sweep()
            assert seqs(await service.page()) == [1]
    assert complaints(caplog, "Session file cannot be read") == [
        {"path": str(path), "problem": "cannot be read: Permission denied"}
    ]
    assert complaints(caplog, "Sessions cannot be indexed") == []


@pytest.mark.usefixtures("unwatched")
async def test_sessions_in_a_directory_that_cannot_be_read_are_not_gone(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = home.write(line(1))
    async with home.running() as service, service.following():
        refuse(monkeypatch, "scandir", [path.parent])
        refuse(monkeypatch, "stat", [path])
        for _ in range(2):
            await service.sweep()
            await service.take(path)
            await service.follower.look_again(session_id())
        assert not (await service.row()).gone
    told = complaints(caplog, "Session file cannot be read")
    assert [Path(fields["path"]) for fields in told] == [path.parent, path]
    assert complaints(caplog, "Sessions cannot be indexed") == []


async def test_a_file_that_vanishes_before_it_is_read_is_no_problem(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    path = home.write(line(1))
    found = support.find(path)
    path.unlink()
    async with home.running() as service:
        await service.follower.refresh(found)
        assert await service.transcripts.count() == 0
    assert complaints(caplog, "Session file cannot be read") == []


async def test_what_is_wrong_in_a_file_is_told_once_also_over_restarts(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.write(line(1) + b"no json\n")
    for number in (2, 3):
        async with home.running() as service:
            home.write(line(number) + b"nor this\n")
            await service.sweep()
            assert len(seqs(await service.page())) == number
    told = complaints(caplog, "Session file has a fault")
    assert len(told) == 1
    assert told[0]["session_id"] == session_id() and "no JSON objects" in told[0]["problem"]


async def test_a_file_that_stays_as_it_is_is_not_told_again_after_a_restart(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the name of its directory."""
    os.mkfifo(home.path())
    directory = bytes_path(home.projects, b"-\xff")
    directory.mkdir()
    link = directory / home.path(2).name
    link.symlink_to("nowhere")
    for _ in range(2):
        async with home.running():
            pass
    told = [(Path(one["path"]), one["problem"]) for one in complaints(caplog, UNREADABLE)]
    assert sorted(told) == [
        (home.path(), "is a named pipe, not a regular file"),
        (link, "is a link that leads nowhere"),
    ]


@pytest.mark.parametrize("how", ["told", "swept", "gone"])
@pytest.mark.usefixtures("unwatched")
async def test_a_file_with_which_nothing_was_wrong_meanwhile_is_told_again(
    home: Home, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """It was read, as the watch told or a sweep found; or it was gone when a daemon started."""
    path = home.path()
    for _ in range(2):
        os.mkfifo(path)
        async with home.running() as service:
            path.unlink()
            if how != "gone":
                home.write(lines(1, 2))
            if how == "told":
                await service.take(path)
        if how != "told":
            async with home.running():
                pass
        path.unlink(missing_ok=True)
    assert len(complaints(caplog, UNREADABLE)) == 2


async def test_bytes_that_are_not_utf8_are_told_when_their_message_is_read(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    path = home.write(MANY + LATIN + MANY)
    for lost in (False, False, True):
        if lost:
            home.lose_index()
        async with home.running() as service:
            assert len(seqs(await service.page(0, 10))) == 10
            assert len(complaints(caplog, FAULT)) == (1 if lost or caplog.records else 0)
            for _ in range(2):
                assert "caf\N{REPLACEMENT CHARACTER}" in await service.texts()
    what = f"{path} is not UTF-8 in message 101; what is not is read as U+FFFD"
    assert [one["problem"] for one in complaints(caplog, FAULT)] == [what, what]


async def test_bytes_that_are_not_utf8_are_told_where_the_list_shows_them(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    path = home.write(MANY + LATIN)
    async with home.running() as service:
        assert (await service.row()).summary.preview == "caf\N{REPLACEMENT CHARACTER}"
        await service.texts()
    (told,) = complaints(caplog, FAULT)
    at = path.read_bytes().index(b"caf\xe9") + len("caf")
    assert told["problem"] == f"{path} is not UTF-8 at byte {at}; what is not is read as U+FFFD"


async def test_the_sign_for_what_is_not_utf8_may_itself_be_said(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.write(MANY + line(9, "\N{REPLACEMENT CHARACTER}"))
    async with home.running() as service:
        assert "\N{REPLACEMENT CHARACTER}" in await service.texts()
    assert complaints(caplog, FAULT) == []
