"""A session's messages for a phone: which a subscription gets, and how many fit. Pure.

One shape for all versions. A message's ``seq`` counts from 1; for phones of 0.5.0 its ``offset`` is
one less. A cursor is the ``seq`` of the last message that a phone has, and 0 for none: it goes over
the wire as ``next_offset``, and as ``next_seq`` with one added.

Apps read aloud what comes behind the first answer to a subscription: 0.5.0 behind its
``next_offset``, 0.4.0 behind its ``next_seq``. So nothing old may stand there: 0.5.0 gets one
answer, however much it lacks, and 0.4.0 in each answer the number that the session's next message
will have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

import msgspec

from podiumd.formats.message import Role
from podiumd.formats.session import identity_of, uuid_of
from podiumd.gateway.phone.protocol import budget, dates, versions
from podiumd.gateway.phone.protocol.requests import Subscribe
from podiumd.gateway.phone.protocol.wire import Json, encode
from podiumd.wire.sessions import MessagesPage, NewMessages

WINDOW: Final = 50
"""Messages that a phone keeps of a session, and so the most that it first gets."""

EMPTY: Final = "podium-0"
"""The signature of an empty log. A phone that has only seen this one has messages of no other."""

_WINDOW_CUTS: Final = (budget.MESSAGE_BYTES, 6 * budget.KB, 2 * budget.KB)
"""Limits to which a window's older messages are cut until all of them fit."""


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message as a phone shows it. ``typed``: a person's own words; ``gone``: its line is no
    longer in the transcript."""

    seq: int
    uuid: str
    role: Role
    text: str
    timestamp: str
    typed: bool = False
    gone: bool = False


class Session(NamedTuple):
    """The fields that all messages of a session share.

    ``last_seq`` is that of the newest message, 0 where there is none. ``signature`` is a word that
    stays while every message keeps its ``seq``, see ``signature``.
    """

    session_id: str
    provider: str
    last_seq: int
    signature: str


class Reply(NamedTuple):
    """A frame, and where the phone stands after it.

    ``reached`` is its cursor. ``complete``: it has everything, and what comes can be pushed; else
    it subscribes once more by itself.
    """

    frame: bytes
    reached: int
    complete: bool


class Plan(NamedTuple):
    """The plan for a subscription's answer: which function of this module, after which cursor."""

    kind: Literal["window", "delta", "replaced"]
    after: int = 0
    gap: Json | None = None


def signature(page: MessagesPage | NewMessages) -> str:
    """Return the word for a session's log, from a page of it.

    A log's first message keeps its number for ever, so the word outlives growth, restarts and the
    index; a session that was forgotten and comes again begins with another one. So it is another
    when a rewrite has taken messages out: phones have to forget them. Where all are gone the
    transcript itself is, and may come back.
    """
    if page.first_uuid is None:
        return EMPTY
    word = f"podium-{uuid_of(identity_of(page.first_uuid))}"
    return f"{word}-{page.generation}" if 0 < page.gone < page.last_seq else word


def plan(subscribe: Subscribe, version: str, session: Session, hint: int | None = None) -> Plan:
    """Decide what a subscription gets.

    ``version`` decides between two cursors; ``hint`` is the seq of the message that
    ``last_message_id`` names, if it is known. A cursor of another log says nothing of this one:
    apps of the newest version get a notice of that, for the others it is as one beyond the end.
    """
    foreign = subscribe.file_signature_seen not in (None, EMPTY, session.signature)
    if foreign and version == versions.CEILING:
        return Plan("replaced")
    first, second = subscribe.from_offset, subscribe.last_seq
    if version != versions.CEILING:
        first, second = second, first
    cursor = first if first is not None else second
    after = (hint or 0) if cursor is None else cursor
    if after > session.last_seq or (foreign and after):
        gap = {"requested_last_seq": after, "min_available_seq": 1, "reason": "client_ahead"}
        return Plan("window", 0, gap)
    return Plan("delta", after) if after else Plan("window")


def window(
    session: Session, messages: Sequence[Message], frame_bytes: int, gap: Json | None = None
) -> Reply:
    """Return the newest messages, as many as a phone keeps and the frame holds.

    ``messages`` end with the session's newest; older ones may be missing at their front. Those that
    are gone are left out. The reply is complete: nothing older is ever sent, for phones would drop
    it.
    """
    newest = _dated([each for each in messages if not each.gone][-WINDOW:])
    room = frame_bytes - _envelope_bytes(session, newest, session.last_seq, gap)
    rows: list[_Row] = []
    for limit in _WINDOW_CUTS:
        rows = _newest(session, newest, room, limit)
        if len(rows) == len(newest):
            break
    frame = _frame(session, rows[::-1], session.last_seq, complete=True, gap=gap)
    return Reply(frame, session.last_seq, complete=True)


def delta(
    session: Session,
    messages: Sequence[Message],
    after: int,
    frame_bytes: int,
) -> Reply:
    """Return the messages after a cursor, the oldest first, as many as the frame holds.

    ``messages`` follow the cursor without a hole. The cursor moves whenever there are any: the
    first is cut until it fits.
    """
    dated = _dated(messages)
    room = frame_bytes - _envelope_bytes(session, dated, max(after, session.last_seq), None)
    rows = _oldest(session, dated, 0, room)
    reached = rows[-1].seq if rows else after
    complete = reached >= session.last_seq or not messages
    return Reply(_frame(session, rows, reached, complete=complete), reached, complete)


def pushes(
    session: Session,
    messages: Sequence[Message],
    frame_bytes: int,
) -> Iterator[Reply]:
    """Yield frames with messages that follow one another without a hole, in their order.

    Each is made when it is asked for, and says that it is complete, so that the phone does not
    ask for what comes by itself.
    """
    dated = _dated(messages)
    room = frame_bytes - _envelope_bytes(session, dated, session.last_seq, None)
    at = 0
    while at < len(dated):
        rows = _oldest(session, dated, at, room)
        at += len(rows)
        reached = dated[at - 1].seq
        yield Reply(_frame(session, rows, reached, complete=True), reached, complete=True)


def replaced(session: Session) -> Reply:
    """Return what makes a phone forget the messages it has and subscribe from the beginning.

    The reply is not complete: nothing may be pushed before that subscription.
    """
    return Reply(_frame(session, [], 0, complete=True, replaced=True), 0, complete=False)


class _Row(NamedTuple):
    seq: int
    uuid: str
    data: bytes


def _row(session: Session, message: Message, limit: int) -> _Row:
    text = message.text if message.typed else budget.cut(message.text, limit)
    return _encoded(session, message, text)


def _fitted(session: Session, message: Message, room: int) -> _Row:
    """Cut the message to less than ``room`` bytes, its comma included."""

    def build(text: str) -> bytes:
        return _encoded(session, message, text).data

    text = message.text if message.typed else budget.cut(message.text, budget.MESSAGE_BYTES)
    return _Row(message.seq, message.uuid, budget.fit(build, text, room - 1))


def _encoded(session: Session, message: Message, text: str) -> _Row:
    row = {
        "seq": message.seq,
        "offset": message.seq - 1,
        "uuid": message.uuid,
        "id": message.uuid,
        "type": message.role,
        "role": message.role,
        "text": text,
        "timestamp": message.timestamp,
        "provider": session.provider,
        "session_id": session.session_id,
    }
    return _Row(message.seq, message.uuid, encode(row))


def _oldest(session: Session, messages: Sequence[Message], at: int, room: int) -> list[_Row]:
    """Return the messages from ``messages[at]`` on that fit, at least one."""
    rows: list[_Row] = []
    for message in islice(messages, at, None):
        row = _row(session, message, budget.MESSAGE_BYTES)
        if len(row.data) >= room:
            if rows:
                break
            row = _fitted(session, message, room)
        rows.append(row)
        room -= len(row.data) + 1
    return rows


def _newest(session: Session, messages: Sequence[Message], room: int, limit: int) -> list[_Row]:
    """Return the newest messages that fit, the newest first; older ones are cut to ``limit``."""
    rows: list[_Row] = []
    for message in reversed(messages):
        row = _row(session, message, limit if rows else budget.MESSAGE_BYTES)
        if len(row.data) >= room:
            if rows:
                break
            row = _fitted(session, message, room)
        rows.append(row)
        room -= len(row.data) + 1
    return rows


def _dated(messages: Iterable[Message]) -> list[Message]:
    """Give each message a time, for phones drop one without: if need be, that of the one before."""
    dated: list[Message] = []
    before = dates.UNKNOWN
    for message in messages:
        if dates.readable(message.timestamp):
            before = dates.fractional(message.timestamp)
        dated.append(msgspec.structs.replace(message, timestamp=before))
    return dated


def _frame(
    session: Session,
    rows: Sequence[_Row],
    reached: int,
    *,
    complete: bool,
    gap: Json | None = None,
    replaced: bool = False,
) -> bytes:
    first = rows[0] if rows else None
    last = rows[-1] if rows else None
    return encode(
        {
            "type": "session_history",
            "session_id": session.session_id,
            "messages": [msgspec.Raw(row.data) for row in rows],
            "first_seq": first.seq if first else None,
            "last_seq": last.seq if last else None,
            "next_seq": (reached if complete else session.last_seq) + 1,
            "is_complete": complete,
            "gap": gap,
            "next_offset": reached,
            "end_of_file": complete,
            "file_signature": session.signature,
            **({"file_replaced": True} if replaced else {}),
            "total_count": session.last_seq,
            "oldest_message_id": first.uuid if first else None,
            "newest_message_id": last.uuid if last else None,
        }
    )


def _envelope_bytes(
    session: Session, messages: Sequence[Message], most: int, gap: Json | None
) -> int:
    """Return the size of the frame around any of these messages, with the longest numbers."""
    uuid = max((message.uuid for message in messages), key=len, default="")
    row = _Row(most, uuid, b"")
    return len(_frame(session, [row], most, complete=False, gap=gap))
