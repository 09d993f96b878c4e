"""Messages read back from their places, which may not hold them any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from podiumd.formats.session import Cursor
from podiumd.sessions.log.messages import Moved, read
from podiumd.sessions.log.numbered import Log, Place
from tests.sessions import support
from tests.sessions.support import FORMAT, line

MUCH = 1_000_000


@pytest.fixture
def places(transcript: Path) -> list[Place]:
    """Where three messages stand, between records that are none."""
    other = b'{"type":"system"}\n'
    transcript.write_bytes(
        other + line(1, "one") + other + line(2, "two") + line(3, "three") + other
    )
    result = support.read(transcript, cursor=Cursor())
    log = Log(support.session_id())
    log.append(result.entries)
    return log.places(1, 3)


def texts(path: Path, places: list[Place], budget: int = MUCH) -> list[str]:
    found = read(FORMAT, str(path), places, budget)
    assert [one.seq for one in found] == [place.seq for place in places[: len(found)]]
    return [msgspec.json.decode(one.data)["text"] for one in found]


def test_messages_come_in_the_order_that_is_asked_for(
    transcript: Path, places: list[Place]
) -> None:
    assert texts(transcript, places) == ["one", "two", "three"]
    assert texts(transcript, places[::-1]) == ["three", "two", "one"]
    assert texts(transcript, []) == []


def test_they_end_where_the_budget_does_but_the_first_always_goes(
    transcript: Path, places: list[Place]
) -> None:
    sizes = [len(one.data) for one in read(FORMAT, str(transcript), places, MUCH)]
    assert texts(transcript, places, sum(sizes)) == ["one", "two", "three"]
    assert texts(transcript, places, sum(sizes) - 1) == ["one", "two"]
    assert texts(transcript, places, sizes[0] + sizes[1] - 1) == ["one"]
    assert texts(transcript, places, 0) == ["one"]


def test_a_fork_says_what_it_follows_and_no_other_message_does(
    transcript: Path, places: list[Place]
) -> None:
    change = msgspec.structs.replace
    forked = [places[0], change(places[1], fork=True), change(places[2], fork=True, forks_from=1)]
    found = [msgspec.json.decode(one.data) for one in read(FORMAT, str(transcript), forked, MUCH)]
    assert [message.get("forks_from") for message in found] == [None, 0, 1]


def test_messages_that_are_gone_need_no_transcript(tmp_path: Path, places: list[Place]) -> None:
    gone = [msgspec.structs.replace(place, gone=True, offset=0, length=0) for place in places]
    found = read(FORMAT, str(tmp_path / "nowhere"), gone, MUCH)
    assert [msgspec.json.decode(one.data)["gone"] for one in found] == [True] * 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: data[:-30], id="cut"),
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b" " + data, id="shifted"),
        pytest.param(lambda data: data.replace(b"000000000003", b"000000000004"), id="another"),
        pytest.param(lambda data: data.replace(b'"user"', b'"tool"'), id="no message"),
        pytest.param(lambda data: data.replace(b"three", b"th\nee"), id="two lines"),
        pytest.param(lambda data: bytes(len(data)), id="zeros"),
    ],
)
def test_a_place_that_does_not_hold_its_message_is_noticed(
    transcript: Path, places: list[Place], change: Callable[[bytes], bytes]
) -> None:
    transcript.write_bytes(change(transcript.read_bytes()))
    with pytest.raises(Moved):
        read(FORMAT, str(transcript), places[2:], MUCH)


def test_a_transcript_that_is_not_there_is_told(transcript: Path, places: list[Place]) -> None:
    transcript.unlink()
    with pytest.raises(FileNotFoundError):
        read(FORMAT, str(transcript), places, MUCH)
