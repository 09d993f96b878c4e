"""``session_history`` as each app decodes it."""

from __future__ import annotations

from typing import NamedTuple

from tests.phone_app.fields import (
    BOOL,
    INT,
    LIST,
    MESSAGE_SKIPPED,
    OBJECT,
    Fault,
    Field,
    Json,
    Unusable,
    is_time,
    optional,
    require,
    shown,
)

ROLES = ("user", "assistant")


class Message(NamedTuple):
    """One message. ``number`` is its ``seq`` or ``offset``; -1 for an app that reads neither."""

    number: int
    uuid: str
    role: str
    text: str
    timestamp: str = ""


class History(NamedTuple):
    """One decoded frame. ``next`` is ``next_seq`` or ``next_offset``."""

    session_id: str
    messages: list[Message]
    next: int
    complete: bool
    first: int | None = None
    gap: Json | None = None
    signature: str | None = None
    replaced: bool = False


_SEQ = (
    Field("session_id"),
    Field("messages", LIST),
    Field("next_seq", INT),
    Field("is_complete", BOOL),
    optional("first_seq", INT),
    optional("last_seq", INT),
    optional("gap", OBJECT),
)
_GAP = (Field("requested_last_seq", INT), Field("min_available_seq", INT), Field("reason"))
_OFFSET = (
    Field("session_id"),
    Field("messages", LIST),
    Field("next_offset", INT),
    Field("end_of_file", BOOL),
    optional("file_signature"),
    optional("file_replaced", BOOL),
)
_KOTLIN = (
    Field("session_id"),
    Field("messages", LIST),
    Field("total_count", INT),
    Field("is_complete", BOOL),
)


def by_seq(frame: Json, faults: list[Fault]) -> History:
    """As the Swift app reads it in protocol 0.4.

    Raises:
        Unusable: the app drops the frame.
    """
    require(frame, _SEQ)
    if frame.get("gap") is not None:
        require(frame["gap"], _GAP, "gap")
    messages = _numbered(frame, "seq", faults)
    return History(
        frame["session_id"],
        messages,
        frame["next_seq"],
        frame["is_complete"],
        first=frame.get("first_seq"),
        gap=frame.get("gap"),
    )


def by_offset(frame: Json, faults: list[Fault]) -> History:
    """As the Swift app reads it in protocol 0.5.

    Raises:
        Unusable: the app drops the frame.
    """
    require(frame, _OFFSET)
    return History(
        frame["session_id"],
        _numbered(frame, "offset", faults),
        frame["next_offset"],
        frame["end_of_file"],
        signature=frame.get("file_signature"),
        replaced=frame.get("file_replaced") is True,
    )


def by_kotlin(frame: Json, faults: list[Fault]) -> History:
    """As the Kotlin app reads it: a message it cannot decode costs the whole frame.

    Raises:
        Unusable: the app drops the frame.
    """
    require(frame, _KOTLIN)
    messages = []
    for at, entry in enumerate(frame["messages"]):
        where = f"messages[{at}]"
        require(entry, (Field("role"), Field("text"), optional("id")), where)
        if not entry.get("id"):
            faults.append(
                Fault(
                    "session_history",
                    f"{where}.id",
                    "is missing, so that the app makes up another at every subscription",
                    "doubled at the next subscription",
                )
            )
        messages.append(Message(-1, entry.get("id") or "", entry["role"], entry["text"]))
    return History(frame["session_id"], messages, 0, frame["is_complete"])


def by_react(frame: Json, faults: list[Fault]) -> History:
    """As a client without types reads it: what it finds. It knows a message's role by the
    ``type`` that the record has, and shows none without one.

    Raises:
        Unusable: there is nothing to find.
    """
    require(frame, (Field("session_id"), Field("messages", LIST)))
    messages = []
    for at, entry in enumerate(frame["messages"]):
        where = f"messages[{at}]"
        try:
            require(entry, (Field("type"), Field("text")), where)
            identity = entry.get("uuid") or entry.get("id")
            if not isinstance(identity, str):
                raise Unusable(where, "has neither id nor uuid")
            if entry["type"] not in ROLES:
                raise Unusable(f"{where}.type", f"is {shown(entry['type'])}")
        except Unusable as bad:
            faults.append(Fault("session_history", bad.field, bad.reason, MESSAGE_SKIPPED))
            continue
        if entry["text"].strip():  # others are not shown
            messages.append(Message(-1, identity, entry["type"], entry["text"]))
    return History(frame["session_id"], messages, 0, frame.get("is_complete") is not False)


def _numbered(frame: Json, number: str, faults: list[Fault]) -> list[Message]:
    """The messages that the Swift app keeps; each bad one is skipped alone."""
    kept = []
    for at, entry in enumerate(frame["messages"]):
        try:
            kept.append(_message(entry, number, frame["session_id"], f"messages[{at}]"))
        except Unusable as bad:
            faults.append(Fault("session_history", bad.field, bad.reason, MESSAGE_SKIPPED))
    return kept


def _message(entry: object, number: str, session_id: str, where: str) -> Message:
    demanded = [Field(name) for name in ("session_id", "role", "text", "uuid", "timestamp")]
    read = require(entry, [Field(number, INT), *demanded], where)
    if read["session_id"] != session_id:
        raise Unusable(f"{where}.session_id", "is another than the envelope's")
    if read["role"] not in ROLES:
        raise Unusable(f"{where}.role", f"is {shown(read['role'])}")
    if not is_time(read["timestamp"]):
        raise Unusable(f"{where}.timestamp", f"is {shown(read['timestamp'])}, no ISO time")
    return Message(read[number], read["uuid"], read["role"], read["text"], read["timestamp"])
