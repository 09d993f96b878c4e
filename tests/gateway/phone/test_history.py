"""What a phone is sent of a session, and how it stays in step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.phone.feed import history
from podiumd.gateway.phone.protocol import dates, versions
from podiumd.gateway.phone.protocol.requests import Subscribe
from tests.gateway.phone.samples import SESSION, a_log, a_message, messages, read

KB = 1024
BOTH = (versions.CEILING, versions.FLOOR)


def _subscribe(**fields: Any) -> Subscribe:
    return Subscribe(session_id=SESSION, **fields)


# -- the shape -------------------------------------------------------------------------------


def test_one_shape_for_apps_of_every_age() -> None:
    """P-5.1, P-5.6"""
    reply = history.delta(a_log(9), messages(3, 4), 2, 100 * KB)

    assert read(reply.frame) == {
        "type": "session_history",
        "session_id": SESSION,
        "messages": [_wire(3), _wire(4)],
        "first_seq": 3,
        "last_seq": 4,
        "next_seq": 10,
        "is_complete": False,
        "gap": None,
        "next_offset": 4,
        "end_of_file": False,
        "file_signature": "log-1",
        "total_count": 9,
        "oldest_message_id": _wire(3)["uuid"],
        "newest_message_id": _wire(4)["uuid"],
    }


def _wire(seq: int) -> dict[str, Any]:
    """P-5.2, P-5.3 and P-5.7 in one value."""
    uuid = f"0ba82fac-b61d-4d50-88f2-{seq:012d}"
    return {
        "seq": seq,
        "offset": seq - 1,
        "uuid": uuid,
        "id": uuid,
        "type": "assistant",
        "role": "assistant",
        "text": "Hello",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "provider": "claude",
        "session_id": SESSION,
    }


def test_a_message_has_what_each_app_reads_of_it() -> None:
    """P-5.2, P-5.3"""
    shown = read(history.window(a_log(7), messages(7, 7), 100 * KB).frame)["messages"]

    assert shown == [_wire(7)]
    assert (shown[0]["seq"], shown[0]["offset"]) == (7, 6)


def test_a_message_has_one_identity_in_every_frame() -> None:
    """P-5.7"""
    frames = [
        history.window(a_log(1), messages(1, 1), 100 * KB).frame,
        history.delta(a_log(1), messages(1, 1), 0, 100 * KB).frame,
        *(reply.frame for reply in history.pushes(a_log(1), messages(1, 1), 100 * KB)),
    ]
    identities = {(m["uuid"], m["id"]) for frame in frames for m in read(frame)["messages"]}

    assert identities == {(messages(1, 1)[0].uuid,) * 2}


def test_an_empty_frame_says_null_of_its_messages() -> None:
    """P-5.6, P-6.3"""
    shown = read(history.delta(a_log(5), [], 5, 100 * KB).frame)

    assert shown["messages"] == []
    assert shown["first_seq"] is shown["last_seq"] is None
    assert shown["oldest_message_id"] is shown["newest_message_id"] is None
    assert (shown["next_seq"], shown["next_offset"], shown["total_count"]) == (6, 5, 5)
    assert shown["is_complete"] is shown["end_of_file"] is True


@given(st.integers(0, 30), st.integers(0, 30), st.integers(400, 4000))
def test_an_answer_tells_the_number_of_the_next_message_and_how_far_it_goes(
    after: int, more: int, size: int
) -> None:
    """P-5.4, P-5.5"""
    last = after + more
    reply = history.delta(a_log(last), messages(after + 1, last), after, size)
    shown = read(reply.frame)

    assert shown["next_seq"] == last + 1
    assert shown["next_offset"] == reply.reached == (shown["last_seq"] or after)
    assert shown["is_complete"] is shown["end_of_file"] is reply.complete
    assert reply.complete == (reply.reached == last)


def test_a_time_is_always_told_with_a_fraction() -> None:
    """P-5.8"""
    times = ["", "2026-01-02T03:04:05Z", "nonsense", "2026-01-02T03:04:07+01:00"]
    log = [a_message(seq, timestamp=time) for seq, time in enumerate(times, 1)]
    shown = read(history.window(a_log(4), log, 100 * KB).frame)["messages"]

    assert [m["timestamp"] for m in shown] == [
        "1970-01-01T00:00:00.000Z",
        "2026-01-02T03:04:05.000Z",
        "2026-01-02T03:04:05.000Z",
        "2026-01-02T02:04:07.000Z",
    ]


# -- what a subscription gets ----------------------------------------------------------------


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("fields", [{}, {"from_offset": 0}, {"last_seq": 0}])
def test_a_fresh_subscription_gets_one_window(version: str, fields: dict[str, int]) -> None:
    """P-6.1"""
    log = a_log(120)
    plan = history.plan(_subscribe(**fields), version, log)
    reply = history.window(log, messages(1, 120), 200 * KB, plan.gap)
    shown = read(reply.frame)

    assert plan == ("window", 0, None)
    assert (shown["first_seq"], shown["last_seq"], shown["next_offset"]) == (71, 120, 120)
    assert shown["is_complete"] is True
    assert reply[1:] == (120, True)


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("field", ["from_offset", "last_seq"])
def test_a_cursor_gets_what_comes_after_it(version: str, field: str) -> None:
    """P-6.2"""
    plan = history.plan(_subscribe(**{field: 3}), version, a_log(5))
    shown = read(history.delta(a_log(5), messages(4, 5), plan.after, 100 * KB).frame)

    assert plan == ("delta", 3, None)
    assert [m["seq"] for m in shown["messages"]] == [4, 5]


def test_a_cursor_at_the_end_gets_an_empty_complete_answer() -> None:
    """P-6.3"""
    assert history.plan(_subscribe(from_offset=5), "0.5.0", a_log(5)) == ("delta", 5, None)
    assert history.delta(a_log(5), [], 5, 100 * KB).complete


@pytest.mark.parametrize(("version", "after"), [("0.5.0", 3), ("0.4.0", 4)])
def test_the_version_decides_between_two_cursors(version: str, after: int) -> None:
    """P-3.6"""
    subscribe = _subscribe(from_offset=3, last_seq=4)

    assert history.plan(subscribe, version, a_log(9)).after == after


def test_an_older_cursor_is_the_last_message_that_the_phone_has() -> None:
    """P-6.6"""
    subscribe = _subscribe(last_message_id="an id")

    assert history.plan(subscribe, "0.4.0", a_log(9), hint=4) == ("delta", 4, None)
    assert history.plan(subscribe, "0.4.0", a_log(9)) == ("window", 0, None)
    with_cursor = _subscribe(last_message_id="an id", last_seq=2)
    assert history.plan(with_cursor, "0.4.0", a_log(9), hint=4).after == 2


@pytest.mark.parametrize("version", BOTH)
def test_a_cursor_beyond_the_end_gets_the_newest_and_a_gap(version: str) -> None:
    """P-6.7"""
    plan = history.plan(_subscribe(last_seq=9, from_offset=9), version, a_log(2))
    shown = read(history.window(a_log(2), messages(1, 2), 100 * KB, plan.gap).frame)

    assert plan.kind == "window"
    assert shown["gap"] == {
        "requested_last_seq": 9,
        "min_available_seq": 1,
        "reason": "client_ahead",
    }
    assert (shown["next_seq"], shown["next_offset"]) == (3, 2)


def test_no_other_frame_speaks_of_a_replaced_log() -> None:
    """P-5.1, P-6.7"""
    for reply in (
        history.window(a_log(1), messages(1, 1), 100 * KB),
        history.delta(a_log(1), messages(1, 1), 0, 100 * KB),
    ):
        assert "file_replaced" not in read(reply.frame)
        assert read(reply.frame)["gap"] is None


# -- what fits -------------------------------------------------------------------------------

_TEXTS = st.lists(
    st.text(max_size=40) | st.text('x\n"\\é', min_size=900, max_size=2500), max_size=12
)


@given(_TEXTS, st.integers(900, 6000))
def test_a_chain_of_answers_tells_every_message_once(texts: list[str], size: int) -> None:
    """P-6.4, P-6.5, P-7.3, P-7.7"""
    log, last = [a_message(seq, text) for seq, text in enumerate(texts, 1)], len(texts)
    told: list[int] = []
    at = 0
    while at < last:
        reply = history.delta(a_log(last), log[at:], at, size)
        shown = read(reply.frame)
        assert reply.reached > at
        assert len(reply.frame) <= size
        assert shown["is_complete"] is (reply.reached == last)
        told += [m["seq"] for m in shown["messages"]]
        at = reply.reached

    assert told == list(range(1, last + 1))


@given(_TEXTS, st.integers(900, 6000))
def test_a_window_has_the_newest_without_a_hole(texts: list[str], size: int) -> None:
    """P-6.1, P-7.3"""
    log, last = [a_message(seq, text) for seq, text in enumerate(texts, 1)], len(texts)
    reply = history.window(a_log(last), log, size)
    seqs = [m["seq"] for m in read(reply.frame)["messages"]]

    assert len(reply.frame) <= size
    assert seqs == list(range(last - len(seqs) + 1, last + 1))
    assert bool(seqs) == bool(texts)


@pytest.mark.parametrize("size", [1 * KB, 5 * KB, 15 * KB])
@pytest.mark.parametrize("text", ["x" * 60_000, "\x00" * 60_000, "漢" * 60_000])
def test_a_message_that_no_frame_holds_is_cut_until_it_fits(text: str, size: int) -> None:
    """P-6.5, P-7.7"""
    log = [a_message(1, text), *messages(2, 3)]
    window = history.window(a_log(1), log[:1], size)
    delta = history.delta(a_log(3), log, 0, size)

    assert size - 16 < len(window.frame) <= size
    assert size - 16 < len(delta.frame) <= size
    assert (delta.reached, delta.complete) == (1, False)


def test_even_a_frame_too_small_for_anything_moves_the_cursor() -> None:
    """P-6.5"""
    reply = history.delta(a_log(2), messages(1, 2, "words"), 0, 10)

    assert read(reply.frame)["messages"][0]["text"] == ""
    assert reply.reached == 1


def test_a_page_without_messages_is_not_asked_for_again() -> None:
    assert history.delta(a_log(9), [], 5, 100 * KB).complete


def test_a_long_message_is_cut_to_20_kb() -> None:
    """P-7.4"""
    long = [a_message(1, "a" * 30_000, role="user")]
    for reply in (
        history.delta(a_log(1), long, 0, 100 * KB),
        history.window(a_log(1), long, 100 * KB),
    ):
        text = read(reply.frame)["messages"][0]["text"]
        assert len(text) == 20 * KB
        assert "[truncated ~9 KB]" in text


def test_a_persons_words_are_cut_only_where_no_frame_holds_them() -> None:
    """P-7.6"""
    typed = [a_message(1, "a" * 60_000, role="user", typed=True)]
    whole = [
        history.delta(a_log(1), typed, 0, 100 * KB),
        history.window(a_log(1), typed, 100 * KB),
    ]
    cut = [
        history.delta(a_log(1), typed, 0, 50 * KB),
        history.window(a_log(1), typed, 50 * KB),
    ]

    for reply in whole:
        assert read(reply.frame)["messages"][0]["text"] == typed[0].text
    for reply in cut:
        assert 50 * KB - 16 < len(reply.frame) <= 50 * KB
        assert "[truncated ~" in read(reply.frame)["messages"][0]["text"]


@pytest.mark.parametrize(("length", "older"), [(15_000, 6 * KB), (5_000, 2 * KB)])
def test_older_messages_are_cut_before_any_is_left_out(length: int, older: int) -> None:
    """P-7.8"""
    count = 12 if length == 15_000 else 30
    log = messages(1, count, "x" * length)
    shown = read(history.window(a_log(count), log, 100 * KB).frame)["messages"]

    assert len(shown) == count
    assert {len(m["text"]) for m in shown[:-1]} == {older}
    assert len(shown[-1]["text"]) == length


def test_a_window_that_is_still_too_large_keeps_the_newest() -> None:
    """P-7.8"""
    shown = read(history.window(a_log(50), messages(1, 50, "x" * 9000), 50 * KB).frame)

    assert 10 < len(shown["messages"]) < 50
    assert shown["last_seq"] == 50
    assert shown["is_complete"] is True


# -- pushes ----------------------------------------------------------------------------------


def test_a_push_says_that_it_is_complete() -> None:
    """P-6.11"""
    log = messages(1, 90, "x" * 900)
    reply = next(history.pushes(a_log(90), log, 20 * KB))

    assert 1 < reply.reached < 90
    assert read(reply.frame)["is_complete"] is read(reply.frame)["end_of_file"] is True


@given(_TEXTS, st.integers(900, 6000))
def test_pushes_tell_every_message_once(texts: list[str], size: int) -> None:
    """P-6.16, P-7.3"""
    log = [a_message(seq, text) for seq, text in enumerate(texts, 1)]
    replies = list(history.pushes(a_log(len(texts)), log, size))
    told = [m["seq"] for reply in replies for m in read(reply.frame)["messages"]]

    assert told == list(range(1, len(texts) + 1))
    assert all(len(reply.frame) <= size and reply.complete for reply in replies)
    assert [reply.reached for reply in replies[-1:]] == [len(texts)][: len(texts)]


def test_each_message_of_a_push_is_dated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[str | None] = []
    readable = dates.readable

    def counted(timestamp: str | None) -> bool:
        readings.append(timestamp)
        return readable(timestamp)

    monkeypatch.setattr(dates, "readable", counted)
    frames = list(history.pushes(a_log(90), messages(1, 90, "x" * 900), 4 * KB))

    assert len(frames) > 20 and len(readings) == 90


def test_a_persons_own_words_are_pushed_too() -> None:
    """P-6.12"""
    log = [a_message(1, "Do it", role="user", typed=True), a_message(2, "Done")]
    (told,) = history.pushes(a_log(2), log, 100 * KB)

    assert [m["seq"] for m in read(told.frame)["messages"]] == [1, 2]
