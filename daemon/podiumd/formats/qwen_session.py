"""Qwen Code's session files as summaries and messages. Pure.

Measured with ``qwen`` 0.24.4: a tree, each record with a ``uuid`` and a ``parentUuid``. Messages
are of the types user, assistant and tool_result; what the program notes for itself is of type
system, titles (``/rename``) among it, and takes its place in the tree. A sub-agent has a file of
its own, and what it came to is put to the model as a notification, which is no message of a person.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import msgspec

from podiumd.formats.genai_parts import blocks_of_parts
from podiumd.formats.json_fields import mapping, read_object
from podiumd.formats.json_lines import Conversation, Lines, Reader, StampedRecord
from podiumd.formats.message import Block, Role, text_of
from podiumd.formats.session import NAMED_BY_A_PERSON, Cursor, Entry, Summary, identity_of_line
from podiumd.formats.session import identity_of as identity_of_uuid

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "tool_result": "user",
}
_NOTIFICATION: Final = "notification"
_OWN_TITLE: Final = "auto"
_OWN_RANK: Final = 2


class _Payload(msgspec.Struct, gc=False, rename="camel"):
    custom_title: str = ""
    title_source: str = ""
    display_text: str = ""


class _Record(StampedRecord, gc=False, rename="camel"):
    type: str = ""
    subtype: str = ""
    uuid: str = ""
    parent_uuid: str | msgspec.UnsetType | None = msgspec.UNSET
    is_sidechain: bool = False
    cwd: str = ""
    system_payload: _Payload | None = None


_RECORDS: Final = Reader(_Record)


class QwenSession(Conversation[_Record]):
    """Qwen Code's format, as a ``SessionFormat``."""

    agent: Final = "qwen"
    layout: Final = "chats"
    beside: Final = ""

    def __init__(self) -> None:
        super().__init__(_RECORDS)

    def role(self, record: _Record, line: bytes) -> Role | None:
        """Return whose message a record is."""
        if record.is_sidechain or record.subtype == _NOTIFICATION:
            return None
        return _ROLES.get(record.type)

    def note(self, summary: Summary, record: _Record) -> None:
        """Note the directory that is named first, and titles."""
        summary.cwd = summary.cwd or record.cwd
        payload = record.system_payload
        if payload is not None and payload.custom_title and record.type == "system":
            own = payload.title_source == _OWN_TITLE
            summary.entitle(payload.custom_title, _OWN_RANK if own else NAMED_BY_A_PERSON)

    def uuid(self, record: _Record) -> str:
        """Return the record's uuid."""
        return record.uuid

    def asked(self, record: _Record, line: bytes) -> str:
        """Return a person's words, as typed where the model was given more."""
        if record.type != "user":
            return ""
        typed = "" if record.system_payload is None else record.system_payload.display_text
        return typed or self.words(record, line)

    def words(self, record: _Record, line: bytes) -> str:
        """Return the words of a message."""
        return text_of(self.blocks(record, line))

    def blocks(self, record: _Record, line: bytes) -> tuple[Block, ...]:
        """Return all that a message holds."""
        return blocks_of_parts(mapping(_object(line), "message").get("parts"))

    def entries(self, cursor: Cursor, chunk: bytes, base: int = 0) -> list[Entry]:
        """Return the messages' places; a prompt that does not follow the tip names its parent."""
        lines = Lines(chunk)
        found: list[Entry] = []
        records = self._records.read_all(lines)
        for record, (start, end) in zip(records, pairwise(lines.bounds), strict=True):
            if record is None:
                continue
            line = lines.chunk[start : end - 1]
            follows = _parent(record)
            role = self.role(record, line)
            if role is None:
                if record.uuid:
                    if follows is not None:
                        cursor.link(record.uuid, follows)
                    cursor.extend(record.uuid, follows)
                continue
            away = bool(cursor.tips) and follows is not None and follows not in cursor.tips
            parent = follows if away and record.type == "user" else None
            identity = identity_of_uuid(record.uuid) if record.uuid else identity_of_line(line)
            found.append(Entry(base + start, len(line), identity, role, parent))
            cursor.reach(record.uuid)
        return found


def _parent(record: _Record) -> str | None:
    """Return what a record follows: ``""`` if nothing, ``None`` if it does not say."""
    parent = record.parent_uuid
    return None if parent is msgspec.UNSET else parent or ""


def _object(line: bytes) -> dict[str, Any]:
    raw = read_object(line, errors="replace")
    return raw if isinstance(raw, dict) else {}
