"""Claude Code's session files, one JSON record a line, read and never written. Pure.

Measured with ``claude`` 2.1.328. Records of type user, assistant, attachment and system form the
conversation's tree (``uuid``, ``parentUuid``); every other type is opaque. Order is the order in
the file: timestamps go back now and then. A line that is no JSON object (a process was killed in
mid-write) stays in the file for good: readers skip it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from podiumd.formats.claude_content import blocks_of, blocks_of_record
from podiumd.formats.claude_events import SYNTHETIC_MODEL
from podiumd.formats.json_fields import integer, mapping, optional, read_object, string
from podiumd.formats.message import Block, Image, Message, Role, Text, ToolResult, text_of

NAME_LIMIT: Final = 200
INTERRUPTED: Final = "[Request interrupted by user"
"""How the row begins that the CLI itself writes, as user, after an interrupt."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a session file.

    ``message`` is there for user and assistant rows and for a message that was queued while the
    agent worked. ``synthetic``: the CLI's own row, not the model's and not a person's.
    ``source_uuid``: the uuid under which a queued message was sent. ``merged_uuids``: those of
    other messages whose words stand in this row too: a prompt and what was sent while its process
    started are now and then joined, under the uuid of the last.
    """

    type: str
    uuid: str | None
    parent_uuid: str | None
    timestamp: str
    cwd: str | None
    session_id: str | None
    sidechain: bool
    synthetic: bool
    source_uuid: str | None
    merged_uuids: tuple[str, ...]
    message: Message | None

    @property
    def sent_uuids(self) -> tuple[str | None, ...]:
        """Return the uuids under which the words of this row may have been sent."""
        return (self.uuid, self.source_uuid, *self.merged_uuids)


class PromptTrace(msgspec.Struct, frozen=True):
    """The trace of a prompt in a transcript.

    ``followed``: something of the agent's comes after it, so sending it again would not be
    harmless.
    """

    recorded: bool
    followed: bool


class LiveSession(msgspec.Struct, frozen=True, kw_only=True):
    """The file ``~/.claude/sessions/PID.json`` that a running ``claude`` writes about itself.

    The file is left behind by SIGKILL: ``proc_start`` (the start time in clock ticks of
    /proc/PID/stat on Linux) distinguishes a living process from a later one with the same pid.
    """

    pid: int
    proc_start: int | None
    session_id: str
    status: str
    cwd: str


def decode_record(line: bytes) -> Record | None:
    """Return a line's record, or ``None`` for a line that is no JSON object. Never raises."""
    raw = read_object(line, errors="replace")
    if isinstance(raw, str):
        return None
    kind = string(raw, "type")
    attachment = mapping(raw, "attachment") if kind == "attachment" else {}
    queued = attachment.get("type") == "queued_command"
    return Record(
        type=kind,
        uuid=optional(raw, "uuid"),
        parent_uuid=optional(raw, "parentUuid"),
        timestamp=string(raw, "timestamp"),
        cwd=optional(raw, "cwd"),
        session_id=optional(raw, "sessionId"),
        sidechain=raw.get("isSidechain") is True,
        synthetic=_synthetic(kind, raw, attachment),
        source_uuid=optional(attachment, "source_uuid") if queued else None,
        merged_uuids=_merged(raw) if kind == "user" else (),
        message=_message(kind, raw, attachment if queued else None),
    )


def _merged(raw: dict[str, Any]) -> tuple[str, ...]:
    uuids = raw.get("mergedSendUuids")
    if not isinstance(uuids, list):
        return ()
    return tuple(uuid for uuid in uuids if isinstance(uuid, str))


def _synthetic(kind: str, raw: dict[str, Any], attachment: dict[str, Any]) -> bool:
    if kind == "assistant":
        return string(mapping(raw, "message"), "model") == SYNTHETIC_MODEL
    if kind == "attachment":
        return string(attachment, "commandMode", "prompt") != "prompt"
    return (
        raw.get("isMeta") is True
        or raw.get("isCompactSummary") is True
        or raw.get("promptSource") == "system"
        or text_of(blocks_of(mapping(raw, "message").get("content"))).startswith(INTERRUPTED)
    )


def _message(kind: str, raw: dict[str, Any], queued: dict[str, Any] | None) -> Message | None:
    role: Role
    blocks: tuple[Block, ...]
    if kind == "assistant":
        role, blocks = "assistant", blocks_of_record(raw)
    elif kind == "user":
        role, blocks = "user", blocks_of_record(raw)
    elif queued is not None:
        role, blocks = "user", blocks_of(queued.get("prompt"))
    else:
        return None
    return Message(
        uuid=string(raw, "uuid"),
        role=role,
        text=text_of(blocks),
        timestamp=string(raw, "timestamp"),
        blocks=blocks,
    )


def _records(lines: Iterable[bytes]) -> Iterable[Record]:
    return (record for line in lines if (record := decode_record(line)) is not None)


def _holds(record: Record, uuid: str) -> bool:
    return uuid in record.sent_uuids and (record.type == "user" or record.source_uuid == uuid)


def find_prompt(lines: Iterable[bytes], uuid: str) -> PromptTrace:
    """Say whether a prompt stands in the transcript and whether the agent went on after it."""
    recorded = False
    for record in _records(lines):
        if recorded and _agent_went_on(record):
            return PromptTrace(recorded=True, followed=True)
        recorded = recorded or _holds(record, uuid)
    return PromptTrace(recorded, followed=False)


def _agent_went_on(record: Record) -> bool:
    if record.synthetic or record.message is None:
        return False
    results = any(isinstance(block, ToolResult) for block in record.message.blocks)
    return record.message.role == "assistant" or results


def has_steer(lines: Iterable[bytes], uuid: str) -> bool:
    """Say whether a message sent in mid-turn reached the conversation, in either form."""
    return any(_holds(record, uuid) for record in _records(lines))


def last_record_uuid(lines: Iterable[bytes]) -> str | None:
    """Return the uuid of the last record that has one."""
    last = None
    for record in _records(lines):
        last = record.uuid or last
    return last


def foreign_user_rows(lines: Iterable[bytes], known_uuids: Collection[str]) -> list[Record]:
    """Return another writer's words: prompts among ``lines`` whose uuids are not known.

    Tool results, the CLI's own rows and those of sub-agents are no person's words.
    """
    return [
        record
        for record in _records(lines)
        if is_prompt(record) and not any(uuid in known_uuids for uuid in record.sent_uuids)
    ]


def is_prompt(record: Record) -> bool:
    """Return whether it is a person's words: no tool's result, no row of the CLI's or of a
    sub-agent."""
    message = record.message
    if message is None or message.role != "user" or record.synthetic or record.sidechain:
        return False
    if any(isinstance(block, ToolResult) for block in message.blocks):
        return False
    return any(isinstance(block, (Text, Image)) for block in message.blocks)


def project_directory_name(real_path: str) -> str:
    """Return the name under ``projects/`` for a working directory (its real path).

    Every UTF-16 unit outside A-Z, a-z and 0-9 becomes ``-``. A name over 200 units is cut there
    and gets ``-`` and a hash of the whole path, so two directories can share a short name, and
    the path cannot be had back: read ``cwd`` from the records.
    """
    wide = real_path.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(wide[at : at + 2], "little") for at in range(0, len(wide), 2)]
    name = "".join(_safe(unit) for unit in units)
    if len(name) <= NAME_LIMIT:
        return name
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return f"{name[:NAME_LIMIT]}-{_base36(abs(signed))}"


def _safe(unit: int) -> str:
    letter = chr(unit)
    return letter if re.fullmatch("[A-Za-z0-9]", letter) else "-"


def _base36(value: int) -> str:
    digits = ""
    while True:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if value == 0:
            return digits


def live_session_record(data: bytes) -> LiveSession | None:
    """Return what a live-session file says, or ``None`` (half written, or of another kind)."""
    raw = read_object(data)
    if isinstance(raw, str):
        return None
    pid, session_id = integer(raw, "pid"), optional(raw, "sessionId")
    if pid is None or pid <= 0 or session_id is None:
        return None
    start = raw.get("procStart")
    if isinstance(start, str) and start.isascii() and start.isdigit() and len(start) < 20:
        proc_start: int | None = int(start)
    else:
        proc_start = integer(raw, "procStart")
    return LiveSession(
        pid=pid,
        proc_start=proc_start,
        session_id=session_id,
        status=string(raw, "status"),
        cwd=string(raw, "cwd"),
    )
