"""A log has a word of its own, by which a phone knows that its cursor is of this one."""

from __future__ import annotations

import pytest

from podiumd.formats.session import identity_of, uuid_of
from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.protocol.requests import Subscribe
from podiumd.wire.sessions import MessagesPage
from tests.gateway.phone.samples import SESSION, a_log, messages, read

KB = 1024


def word(first_uuid: str | None, last: int = 5, generation: int = 1, gone: int = 0) -> str:
    """The signature of a log."""
    page = MessagesPage(
        messages=(),
        first_seq=1,
        first_uuid=first_uuid,
        last_seq=last,
        next_seq=last,
        complete=True,
        generation=generation,
        gone=gone,
    )
    return history.signature(page)


def test_a_rewrite_that_took_messages_out_is_another_log_to_phones() -> None:
    """P-6.8"""
    uuid = "0ba82fac-b61d-4d50-88f2-000000000001"
    plain = word(uuid)
    assert word(uuid, generation=2) == plain  # every message was found again
    rewritten = word(uuid, generation=2, gone=3)
    assert rewritten != plain
    assert word(uuid, last=9, generation=2, gone=3) == rewritten  # it grew
    assert word(uuid, generation=3, gone=3) not in (plain, rewritten)
    assert word(uuid, last=5, generation=2, gone=5) == plain  # its transcript is not there


def test_a_session_that_grows_keeps_its_signature() -> None:
    """P-6.8"""
    signatures = {
        read(history.window(a_log(last), messages(1, last), 100 * KB).frame)["file_signature"]
        for last in (0, 1, 60)
    }

    assert signatures == {"log-1"}
    assert (
        history.plan(
            Subscribe(session_id=SESSION, file_signature_seen="log-1"), "0.5.0", a_log(3)
        ).kind
        == "window"
    )


@pytest.mark.parametrize("cursor", [0, 3, 99])
def test_a_foreign_signature_makes_the_phone_begin_again(cursor: int) -> None:
    """P-6.9"""
    subscribe = Subscribe(session_id=SESSION, from_offset=cursor, file_signature_seen="4711:first")
    reply = history.replaced(a_log(3))
    shown = read(reply.frame)

    assert history.plan(subscribe, "0.5.0", a_log(3)) == ("replaced", 0, None)
    assert shown["file_replaced"] is shown["end_of_file"] is shown["is_complete"] is True
    assert (shown["messages"], shown["next_offset"], shown["next_seq"]) == ([], 0, 1)
    assert shown["file_signature"] == "log-1"
    assert reply[1:] == (0, False)  # nothing is pushed until it has


@pytest.mark.parametrize("version", ["0.4.0", "0.3.0"])
def test_to_an_older_app_another_log_is_as_one_that_it_is_ahead_of(version: str) -> None:
    """P-6.17"""
    foreign = Subscribe(session_id=SESSION, last_seq=2, file_signature_seen="log-0")
    gap = {"requested_last_seq": 2, "min_available_seq": 1, "reason": "client_ahead"}

    assert history.plan(foreign, version, a_log(3)) == ("window", 0, gap)
    assert (
        history.plan(
            Subscribe(session_id=SESSION, file_signature_seen="log-0"), version, a_log(3)
        ).kind
        == "window"
    )


def test_a_log_is_known_by_its_first_message_and_an_empty_one_is_foreign_to_nobody() -> None:
    """P-6.8, P-6.18"""
    uuid = "0ba82fac-b61d-4d50-88f2-000000000001"
    empty = Subscribe(session_id=SESSION, from_offset=2, file_signature_seen=word(None))

    assert word(uuid) == word(uuid.upper())
    assert word("msg_1") == word(uuid_of(identity_of("msg_1")))
    assert len({word(each) for each in (None, uuid, "msg_1", "msg_2")}) == 4
    assert history.plan(empty, "0.5.0", a_log(3)) == ("delta", 2, None)
