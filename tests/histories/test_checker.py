"""The model can fail: each promise that a log breaks is caught."""

from __future__ import annotations

from typing import Any

import pytest

from podiumd.formats.claude_session import ClaudeSession
from tests.histories.checker import Record, Subscriber, Wrong, check_row
from tests.histories.disk import Past
from tests.histories.lines import BROKEN, Line, Maker, identity_of

Json = dict[str, Any]
NAMES = [f"0000000{n}-0000-4000-8000-000000000000" for n in range(1, 6)]


def made(count: int = 3) -> tuple[Record, list[Line]]:
    """A record of a session, and lines of its transcript: each follows the one before."""
    maker = Maker()
    lines: list[Line] = []
    for name in NAMES[:count]:
        parent = lines[-1].identity if lines else ""
        words = f"words {name[7]}"
        lines.append(maker._known(words.encode(), name, "user", words, parent=parent))
    return Record("session", maker), lines


def message(line: Line, seq: int, **fields: object) -> Json:
    told = {"seq": seq, "uuid": line.uuid, "role": line.role, "text": line.text}
    return {**told, "timestamp": "", "blocks": [], **fields}


def gone(line: Line, seq: int) -> Json:
    return message(line, seq, uuid=line.identity, text="", gone=True)


def log_of(lines: list[Line]) -> list[Json]:
    return [message(line, seq) for seq, line in enumerate(lines, 1)]


def past(*versions: list[Line], rewritten: bool = False) -> Past:
    return Past([[line.identity for line in lines] for lines in versions], rewritten, existed=True)


def settled(
    record: Record,
    log: list[Json],
    lines: list[Line],
    generation: int = 1,
    before: Past | None = None,
) -> bool:
    return record.settled(log, generation, lines, before or past([], lines))


def page(messages: list[Json], **fields: object) -> Json:
    last = messages[-1]["seq"] if messages else 0
    whole = {"first_seq": min(1, last), "last_seq": last, "next_seq": last, "complete": True}
    return {"messages": messages, **whole, **fields}


def test_a_sound_log_is_sound_and_a_rewrite_is_noticed() -> None:
    record, lines = made()
    assert settled(record, log_of(lines), lines) is False
    again = [message(lines[0], 1), gone(lines[1], 2), message(lines[2], 3)]
    rewritten = past(lines, [lines[0], lines[2]], rewritten=True)
    assert settled(record, again, [lines[0], lines[2]], 2, rewritten) is True


def test_a_lost_line_is_caught() -> None:
    record, lines = made()
    with pytest.raises(Wrong, match=r"words 3.*is lost"):
        settled(record, log_of(lines[:2]), lines)


def test_a_doubled_number_is_caught() -> None:
    record, lines = made()
    log = log_of(lines)
    with pytest.raises(Wrong, match="3 came again after 3"):
        settled(record, [*log, log[2]], lines)


def test_a_doubled_message_is_caught() -> None:
    record, lines = made()
    with pytest.raises(Wrong, match="was 1 and is now 4"):
        settled(record, [*log_of(lines), message(lines[0], 4)], lines)


def test_a_hole_is_caught() -> None:
    record, lines = made()
    with pytest.raises(Wrong, match="2 is left out before 3"):
        settled(record, [message(lines[0], 1), message(lines[1], 3)], lines[:2])


def test_a_renumbering_is_caught() -> None:
    record, lines = made()
    settled(record, log_of(lines), lines)
    with pytest.raises(Wrong, match="was 2 and is now 1"):
        settled(record, log_of(lines[1:]), lines[1:], 2, past(lines, lines[1:], rewritten=True))


def test_a_number_that_went_to_another_message_is_caught() -> None:
    record, lines = made()
    record.told([message(lines[0], 1)])
    with pytest.raises(Wrong, match="number 1 was 0000000100"):
        record.told([message(lines[1], 1)])


def test_what_was_told_and_is_no_longer_in_the_log_is_caught() -> None:
    record, lines = made()
    record.told(log_of(lines))
    with pytest.raises(Wrong, match="the log ends at 2, and 3 was told"):
        settled(record, log_of(lines[:2]), lines[:2])


def test_a_wrong_order_is_caught_and_that_of_a_rewrite_is_not() -> None:
    record, lines = made()
    log = log_of([lines[1], lines[0], lines[2]])
    with pytest.raises(Wrong, match="always stood before"):
        settled(record, log, lines)
    record, lines = made()
    other = [lines[1], lines[0], lines[2]]
    settled(record, log, lines, 1, past([], other, lines, rewritten=True))


def test_other_words_another_uuid_and_another_role_are_caught() -> None:
    for fields, what in (
        ({"text": "words 9"}, "never was"),
        ({"uuid": NAMES[1]}, "never was"),
        ({"role": "assistant"}, "of role assistant"),
    ):
        record, lines = made()
        with pytest.raises(Wrong, match=what):
            record.told([message(lines[0], 1, **fields)])
    record, lines = made()
    with pytest.raises(Wrong, match="a line that never was"):
        record.told([message(lines[0], 1, uuid="another")])


def test_words_of_an_earlier_line_are_caught_at_a_check() -> None:
    record, lines = made(1)
    newer = record._maker._known(b"newer", NAMES[0], "user", "newer")
    with pytest.raises(Wrong, match="its line says 'newer'"):
        settled(record, log_of(lines), [newer])


def test_gone_and_there_are_not_mixed_up() -> None:
    record, lines = made(2)
    with pytest.raises(Wrong, match="no longer there, and not gone"):
        settled(record, log_of(lines), lines[:1])
    record, lines = made(2)
    with pytest.raises(Wrong, match="is gone, and there"):
        settled(record, [message(lines[0], 1), gone(lines[1], 2)], lines)
    record, lines = made(2)
    with pytest.raises(Wrong, match="is gone and has words"):
        record.told([gone(lines[0], 1) | {"text": "words 1"}])


def test_a_fork_that_is_not_told_and_one_that_is_none_are_caught() -> None:
    record, lines = made(3)
    forked = [lines[0], lines[2], lines[1]]
    with pytest.raises(Wrong, match=r"follows 3 .* fork from None"):
        settled(record, log_of(forked), forked)
    record, lines = made(3)
    log = [message(lines[0], 1), message(lines[1], 2, forks_from=1), message(lines[2], 3)]
    with pytest.raises(Wrong, match=r"follows None .* fork from 1"):
        settled(record, log, lines)
    record, lines = made(3)
    with pytest.raises(Wrong, match="which its line does not follow"):
        record.told([*log_of(lines[:2]), message(lines[2], 3, forks_from=1)])


def test_a_generation_that_runs_back_is_caught() -> None:
    record, lines = made()
    settled(record, log_of(lines), lines, 3)
    with pytest.raises(Wrong, match="generation 2 came after 3"):
        settled(record, log_of(lines), lines, 2, past(lines))


def test_numbers_go_only_where_a_rewrite_was_not_seen_before_the_index_was_lost() -> None:
    record, lines = made(4)
    settled(record, log_of(lines), lines)
    assert record.index_lost(past(lines)) is False
    with pytest.raises(Wrong, match="was 2 and is now 1"):
        record.told(log_of(lines[1:]))
    record, lines = made(4)
    settled(record, log_of(lines), lines)
    assert record.index_lost(past(lines, lines[1:], rewritten=True)) is True
    record.told(log_of(lines[1:]))


def test_what_a_ledger_has_stays_even_then() -> None:
    record, lines = made(4)
    settled(record, log_of(lines[:3]), lines[:3])
    left = [message(lines[0], 1), gone(lines[1], 2), message(lines[2], 3), message(lines[3], 4)]
    there = [lines[0], *lines[2:]]
    assert settled(record, left, there, 2, past(lines[:3], there, rewritten=True))
    assert record.index_lost(past(there, lines[2:], rewritten=True)) is True
    with pytest.raises(Wrong, match="was 3 and is now 1"):
        record.told([message(lines[2], 1)])


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"next_seq": 2}, "goes on at 2, not 3"),
        ({"complete": False}, "says complete: False"),
        ({"first_seq": 0}, "begins at 0"),
        ({"last_seq": 4}, "says complete: True"),
    ],
)
def test_a_page_that_is_wrong_about_itself_is_caught(fields: Json, what: str) -> None:
    record, lines = made()
    with pytest.raises(Wrong, match=what):
        record.page(page(log_of(lines), **fields), 0, 10)


def test_a_page_with_too_much_or_from_elsewhere_is_caught() -> None:
    record, lines = made()
    log = log_of(lines)
    with pytest.raises(Wrong, match="has 3 messages"):
        record.page(page(log), 0, 2)
    with pytest.raises(Wrong, match="2 is left out before 3"):
        record.page(page(log[2:]), 1, 10)
    with pytest.raises(Wrong, match="is empty, and 3 is the last"):
        record.page(page([], first_seq=1, last_seq=3, complete=False), 0, 10)
    record.page(page(log[1:]), None, 2)


def test_a_subscriber_that_misses_hears_twice_or_hears_nothing_is_caught() -> None:
    record, lines = made()
    log = log_of(lines)
    one = Subscriber("one", record)
    one.answered(page(log[:1]), 0, 10)
    with pytest.raises(Wrong, match="2 is left out"):
        one.noted({"messages": log[2:], "next_seq": 3})
    with pytest.raises(Wrong, match="1 came again"):
        one.noted({"messages": log[:2], "next_seq": 2})
    with pytest.raises(Wrong, match="go on at 7"):
        one.noted({"messages": log[1:], "next_seq": 7})
    settled(record, log, lines)
    with pytest.raises(Wrong, match="up to 1, and the log ends at 3"):
        one.check()
    one.noted({"messages": log[1:], "next_seq": 3})
    one.check()
    one.connected = False
    with pytest.raises(Wrong, match="after its end"):
        one.noted({"messages": [], "next_seq": 3})


def test_a_row_that_is_missing_or_counts_wrongly_is_caught() -> None:
    _, lines = made()
    check_row("session", {"gone": False, "messages": 3}, lines)
    check_row("session", {"gone": True, "messages": 9}, None)
    for row, there in (
        (None, lines),
        ({"gone": True, "messages": 3}, lines),
        ({"gone": False, "messages": 3}, None),
        ({"gone": False, "messages": 2}, lines),
    ):
        with pytest.raises(Wrong, match="listed"):
            check_row("session", row, there)


@pytest.mark.parametrize("line", BROKEN, ids=range(len(BROKEN)))
def test_wherever_a_broken_line_is_cut_the_model_and_the_reader_agree(line: bytes) -> None:
    maker, reader = Maker(), ClaudeSession()
    for size in range(len(line) + 1):
        found, read = maker.line(line[:size]), reader.message(line[:size])
        assert (read is not None) == bool(found.identity), line[:size]
        if read is not None:
            assert (identity_of(read.uuid), read.role) == (found.identity, found.role)


def test_a_line_between_blanks_is_the_same_message_and_without_a_uuid_another() -> None:
    maker = Maker()
    named = maker._known(b"{1}", NAMES[0], "user", "one")
    nameless = maker._known(b"{2}", "", "user", "two")
    assert maker.line(b"  {1}").identity == named.identity == maker.line(b"{1}").identity
    assert maker.line(b"{2} ").identity not in ("", nameless.identity)
    assert maker.line(b"{1}{2}").identity == "" == maker.line(b"   ").identity
