"""A slice of the campaign of cuts, and that it finds a phone that has not what the log has."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.phone import campaign
from tests.phone.campaign import Paced, Wrong, compare
from tests.phone.decoders.recorder import frames_that_every_app_reads
from tests.phone.driver import Phone
from tests.phone.flow import Transcript, made
from tests.phone_app.histories import Message

__all__ = ["frames_that_every_app_reads"]

MESSAGES, CUTS = 500, 10


async def test_phones_behind_a_bad_network_have_every_message_once_and_in_order(
    tmp_path: Path,
) -> None:
    counts = await campaign.play(tmp_path, MESSAGES, CUTS, seed=1)
    assert counts["messages appended"] == MESSAGES
    # Each session is followed by a phone of each version, and began with a message.
    taken = counts["messages taken by phones"] + counts["messages left out of answers"]
    assert taken == 2 * (MESSAGES + campaign.SESSIONS)
    assert counts["network: cut"] + counts["phone: cut"] >= CUTS
    assert campaign.troubles(counts) > CUTS
    assert "messages appended                  500" in campaign.table(counts, 1.0)


def test_a_seed_decides_what_is_written_and_how_connections_end(tmp_path: Path) -> None:
    def written(seed: int) -> list[Transcript]:
        sessions = made(tmp_path / str(random.random()), 2, seed)
        for session in sessions:
            assert len(list(session.append(50))) >= 1
        return sessions

    def fates(seed: int) -> list[object]:
        schedule = Paced(seed, 20)
        before = schedule.next()
        for _ in range(20):
            schedule.deal()
        return [before, *(schedule.next() for _ in range(20))]

    one, again, other = written(1), written(1), written(2)
    assert [session.lines for session in one] == [session.lines for session in again]
    assert one[0].lines != other[0].lines
    assert fates(1) == fates(1) != fates(2)
    assert fates(1)[0] == Paced(1, 0).next(), "none before it is dealt"


def lose(ledger: list[Message]) -> None:
    del ledger[3]


def end_early(ledger: list[Message]) -> None:
    del ledger[-1]


def double(ledger: list[Message]) -> None:
    ledger.append(ledger[-1])


def swap(ledger: list[Message]) -> None:
    ledger[2], ledger[3] = ledger[3], ledger[2]


def renumber(ledger: list[Message]) -> None:
    ledger[4] = ledger[4]._replace(number=40)


def reword(ledger: list[Message]) -> None:
    ledger[1] = ledger[1]._replace(text=ledger[1].text + " ")


@pytest.mark.parametrize("spoil", [lose, end_early, double, swap, renumber, reword])
def test_a_ledger_that_is_not_the_log_is_found(
    tmp_path: Path, spoil: Callable[[list[Message]], None]
) -> None:
    (session,) = made(tmp_path, 1, seed=1)
    for _ in session.append(9):
        pass
    phone = Phone("ws://127.0.0.1:1", "key", "ios-0.4")
    ledger = phone.ledger[session.session_id]
    ledger += [
        Message(at, line.uuid, line.role, line.text) for at, line in enumerate(session.lines, 1)
    ]
    compare(phone, session)
    spoil(ledger)
    with pytest.raises(Wrong):
        compare(phone, session)
