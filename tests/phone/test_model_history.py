"""How the Swift app merges histories, in the shapes of protocol 0.4 and of 0.5."""

import pytest

from tests.phone.fake_gateway import OTHER, SESSION, history, message
from tests.phone.handmade import connected, feed, reasons, sent, session_of, without
from tests.phone_app.fields import Json
from tests.phone_app.model import PhoneModel

BOTH = pytest.mark.parametrize("variant", ["ios", "ios-0.4"])


def said(first: int, last: int, *, role: str = "assistant") -> list[Json]:
    return [message(SESSION, seq, role, f"text {seq}") for seq in range(first, last + 1)]


def window(first: int, last: int, **more: object) -> Json:
    """A frame of the messages ``first`` to ``last``."""
    return history(SESSION, said(first, last), last + 1) | more


def opened(variant: str) -> PhoneModel:
    phone = connected(variant)
    phone.sync.open(SESSION)
    sent(phone)
    return phone


@BOTH
def test_a_subscription_asks_for_what_follows_the_cursor(variant: str) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    cursor = "from_offset" if variant == "ios" else "last_seq"
    assert sent(phone) == [{"type": "subscribe", "session_id": SESSION, cursor: 0}]

    feed(phone, window(1, 3))
    phone.sync.open(SESSION)
    assert sent(phone)[-1][cursor] == 3


def test_the_signature_that_was_seen_goes_with_the_offset() -> None:
    phone = opened("ios")
    feed(phone, window(1, 3, file_signature="log-7"))
    phone.sync.open(SESSION)

    assert sent(phone)[-1]["file_signature_seen"] == "log-7"


@BOTH
def test_messages_are_kept_in_their_order(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 2), window(3, 3), window(4, 5))

    assert phone.session(SESSION).texts == [f"text {n}" for n in range(1, 6)]
    assert phone.faults == []


@BOTH
def test_what_comes_again_is_not_new(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 4), window(2, 5))

    assert len(session_of(phone).rows) == 5
    assert session_of(phone).message_count == 5
    assert phone.faults == []


@BOTH
def test_only_the_newest_fifty_stay_when_there_are_more_than_sixty(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 60))
    assert len(session_of(phone).rows) == 60

    feed(phone, window(61, 61))
    assert phone.session(SESSION).texts == [f"text {n}" for n in range(12, 62)]
    assert phone.faults == []


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uuid", None),
        ("role", "system"),
        ("text", None),
        ("timestamp", None),
        ("timestamp", "now"),
        ("session_id", OTHER),
    ],
)
def test_a_bad_message_is_skipped_and_the_rest_kept(variant: str, name: str, value: object) -> None:
    phone = opened(variant)
    good, bad = said(1, 2)
    feed(phone, history(SESSION, [good, bad | {name: value}], 3))

    assert phone.session(SESSION).texts == ["text 1"]
    assert ("session_history", f"messages[1].{name}", "message skipped") in reasons(phone)


@pytest.mark.parametrize(("variant", "number"), [("ios", "offset"), ("ios-0.4", "seq")])
def test_a_message_without_its_number_is_skipped(variant: str, number: str) -> None:
    phone = opened(variant)
    feed(phone, history(SESSION, [message(SESSION, 1, "user", "a") | {number: None}], 1))

    assert reasons(phone) == [("session_history", f"messages[0].{number}", "message skipped")]


@BOTH
@pytest.mark.parametrize("stamp", ["2026-11-22T08:00:00Z", "2026-11-22T08:00:00.1+01:00"])
def test_times_of_messages_may_lack_their_fraction(variant: str, stamp: str) -> None:
    phone = opened(variant)
    feed(phone, history(SESSION, [message(SESSION, 1, "user", "a") | {"timestamp": stamp}], 2))

    assert phone.faults == []


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("ios", "session_id"),
        ("ios", "messages"),
        ("ios", "next_offset"),
        ("ios", "end_of_file"),
        ("ios-0.4", "session_id"),
        ("ios-0.4", "messages"),
        ("ios-0.4", "next_seq"),
        ("ios-0.4", "is_complete"),
    ],
)
def test_a_history_without_one_of_these_is_dropped(variant: str, name: str) -> None:
    phone = opened(variant)
    feed(phone, without(window(1, 1), name))

    assert reasons(phone) == [("session_history", name, "frame dropped")]


@pytest.mark.parametrize(
    ("variant", "names"),
    [
        ("ios", ("next_seq", "is_complete", "first_seq", "last_seq", "gap", "file_signature")),
        ("ios-0.4", ("next_offset", "end_of_file", "file_signature", "first_seq", "gap")),
    ],
)
def test_what_the_other_protocol_needs_may_be_missing(variant: str, names: tuple[str, ...]) -> None:
    phone = opened(variant)
    feed(phone, without(window(1, 1), *names))

    assert phone.session(SESSION).texts == ["text 1"]
    assert phone.faults == []


@pytest.mark.parametrize("name", ["requested_last_seq", "min_available_seq", "reason"])
def test_a_gap_without_all_of_its_fields_costs_the_frame(name: str) -> None:
    gap = {"requested_last_seq": 1, "min_available_seq": 2, "reason": "client_ahead"}
    phone = opened("ios-0.4")
    feed(phone, window(1, 1, gap=without(gap, name)))

    assert reasons(phone) == [("session_history", f"gap.{name}", "frame dropped")]


def test_a_pruned_gap_stops_all_merging_until_the_person_taps() -> None:
    gap = {"requested_last_seq": 1, "min_available_seq": 2, "reason": "pruned"}
    phone = opened("ios-0.4")
    feed(phone, window(1, 1, gap=gap), window(1, 2))
    assert phone.session(SESSION).texts == []
    assert [effect for _, _, effect in reasons(phone)] == ["misread"]

    phone.sync.unblock(SESSION)
    assert sent(phone) == [{"type": "subscribe", "session_id": SESSION, "last_seq": 0}]
    feed(phone, window(1, 2))
    assert phone.session(SESSION).texts == ["text 1", "text 2"]


def test_a_client_that_is_ahead_takes_what_it_is_given_by_number() -> None:
    gap = {"requested_last_seq": 5, "min_available_seq": 1, "reason": "client_ahead"}
    phone = opened("ios-0.4")
    feed(phone, window(1, 5), window(1, 3, gap=gap))

    assert len(session_of(phone).rows) == 5
    assert session_of(phone).last_seq() == 5


def test_a_first_window_is_a_gap_to_0_4_which_asks_once_more() -> None:
    phone = opened("ios-0.4")
    again = feed(phone, window(101, 150))
    assert again == [{"type": "subscribe", "session_id": SESSION, "last_seq": 150}]

    assert feed(phone, history(SESSION, [], 151)) == []
    assert phone.faults == []


def test_a_first_window_is_enough_for_0_5() -> None:
    phone = opened("ios")

    assert feed(phone, window(101, 150)) == []
    assert session_of(phone).next_number == 150
    assert phone.faults == []


@BOTH
def test_a_hole_behind_the_cursor_is_a_fault_as_no_app_ever_fills_it(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 3), window(5, 5))

    assert reasons(phone) == [("session_history", "messages", "hole")]


@BOTH
def test_a_hole_within_a_frame_is_a_fault(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 1), history(SESSION, [*said(2, 2), *said(4, 4)], 5))

    assert reasons(phone) == [("session_history", "messages", "hole")]


@BOTH
def test_a_first_reply_may_lack_what_is_gone(variant: str) -> None:
    phone = opened(variant)
    feed(phone, history(SESSION, [*said(1, 1), *said(3, 3)], 4))

    assert phone.faults == []


@BOTH
def test_a_cursor_that_jumps_over_messages_is_a_fault(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 3) | {"next_seq": 9, "next_offset": 8})

    assert reasons(phone) == [("session_history", "messages", "hole")]


@BOTH
def test_an_empty_first_reply_must_not_move_the_cursor(variant: str) -> None:
    phone = opened(variant)
    feed(phone, history(SESSION, [], 8))

    assert reasons(phone) == [("session_history", "messages", "hole")]


def test_a_first_seq_that_is_not_the_first_is_a_fault() -> None:
    phone = opened("ios-0.4")
    feed(phone, window(1, 3, first_seq=2))

    assert ("session_history", "first_seq", "misread") in reasons(phone)


@BOTH
def test_one_message_under_two_numbers_is_a_fault(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 2))
    doubled = said(2, 2)[0] | {"seq": 3, "offset": 2}
    feed(phone, history(SESSION, [doubled], 4))

    assert reasons(phone) == [("session_history", "messages", "doubled")]


@BOTH
def test_another_message_under_a_known_number_is_a_fault(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 2))
    feed(phone, history(SESSION, [said(2, 2)[0] | {"text": "other words"}], 3))

    assert reasons(phone) == [("session_history", "messages", "overwritten")]


def test_an_offset_below_the_cursor_deletes_rows() -> None:
    phone = opened("ios")
    feed(phone, window(1, 5), window(1, 2))

    assert phone.session(SESSION).texts == ["text 1", "text 2"]
    assert session_of(phone).next_number == 2
    assert reasons(phone) == [("session_history", "next_offset", "misread")]


def test_a_replaced_log_is_forgotten_and_read_anew() -> None:
    phone = opened("ios")
    feed(phone, window(1, 5, file_signature="old"))
    again = feed(phone, window(1, 2, file_signature="new", file_replaced=True))

    assert again == [
        {
            "type": "subscribe",
            "session_id": SESSION,
            "from_offset": 0,
            "file_signature_seen": "new",
        }
    ]
    assert session_of(phone).texts == []
    phone.say("hello")
    assert sent(phone)[-1]["new_session_id"] == SESSION  # its count is zero: it takes it for new


@BOTH
def test_an_incomplete_reply_is_followed_by_another_subscription(variant: str) -> None:
    phone = opened(variant)
    cursor = "from_offset" if variant == "ios" else "last_seq"
    part = history(SESSION, said(1, 3, role="user"), 4, complete=False)

    (again,) = feed(phone, part | {"next_seq": 6})
    assert (again["type"], again[cursor]) == ("subscribe", 3)
    assert not phone.sync.settled(SESSION)
    feed(phone, history(SESSION, said(4, 5, role="user"), 6))
    assert phone.sync.settled(SESSION)
    read_aloud = [("session_history", "end_of_file", "misread")]
    assert reasons(phone) == (read_aloud if variant == "ios" else [])


def test_an_answer_may_leave_out_what_no_phone_keeps_and_a_push_may_not() -> None:
    phone = opened("ios")
    feed(phone, history(SESSION, said(1, 3), 4))
    phone.sync.open(SESSION)
    feed(phone, history(SESSION, said(51, 100), 101))
    assert phone.faults == []

    feed(phone, history(SESSION, said(102, 103), 104))
    assert reasons(phone) == [("session_history", "messages", "hole")]


@BOTH
def test_an_incomplete_reply_that_moves_nothing_is_given_up(variant: str) -> None:
    phone = opened(variant)
    stuck = history(SESSION, [], 1, complete=False)

    assert feed(phone, stuck) == []
    assert session_of(phone).stalled
    assert reasons(phone) == [("session_history", "is_complete", "stalled")]


@BOTH
def test_a_prompt_is_settled_only_by_its_exact_words(variant: str) -> None:
    phone = opened(variant)
    feed(phone, window(1, 1))
    phone.say("hello")
    phone.say("hello")
    feed(phone, history(SESSION, [message(SESSION, 2, "user", "hello ")], 3))
    assert session_of(phone).sending == ["hello", "hello"]

    feed(phone, history(SESSION, [message(SESSION, 3, "assistant", "hello")], 4))
    assert session_of(phone).sending == ["hello", "hello"]

    feed(phone, history(SESSION, [message(SESSION, 4, "user", "hello")], 5))
    assert session_of(phone).sending == ["hello"]


def test_a_history_over_the_size_that_was_asked_for_is_a_fault() -> None:
    phone = opened("ios")
    long = message(SESSION, 1, "assistant", "x" * 210 * 1024)
    feed(phone, history(SESSION, [long], 2))

    assert reasons(phone) == [("session_history", "size", "over the budget")]
