"""Read a session file of Codex ("rollout") for a turn of ours. Pure. Measured with 0.169.0.

A prompt stands in it twice: as the row that the model is given, and right after as an item that
has our id (``client_id``). Both are there before the model is asked. Codex that dies between the
two leaves a row without an id, which is the prompt all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import msgspec

from podiumd.formats.codex_session import is_persons
from podiumd.formats.json_fields import mapping, read_object, string
from podiumd.formats.json_lines import Reader

_TURN_BEGINS: Final = "task_started"
_ITEM: Final = "item_completed"
_PROMPT: Final = "UserMessage"


class Trace(msgspec.Struct, frozen=True):
    """The trace of a prompt. ``delivered``: which of the messages sent after it are there too."""

    recorded: bool = False
    delivered: tuple[str, ...] = ()


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    client_id: str | None = None


class _Payload(msgspec.Struct, gc=False):
    type: str = ""
    item: _Item | None = None


class _Record(msgspec.Struct, gc=False):
    type: str = ""
    payload: _Payload | None = None


_RECORDS: Final = Reader(_Record)


def trace(lines: Iterable[bytes], uuid: str, later: Collection[str] = ()) -> Trace:
    """Look for a prompt, and for messages that were sent after it, by the ids that we gave them.

    Args:
        lines: what was written since the turn began, or all of a thread that it began.
        uuid: that of the prompt.
        later: those of the other messages.
    """
    found: dict[str, None] = {}
    nameless = 0
    for line in lines:
        record = _RECORDS.read(line)
        if record is None or record.payload is None:
            continue
        item = record.payload.item
        if record.payload.type == _TURN_BEGINS:
            nameless = 0
        elif record.payload.type == _ITEM and item is not None and item.type == _PROMPT:
            nameless -= 1
            found[item.client_id or ""] = None
        elif is_persons(line):
            nameless += 1
    recorded = uuid in found or nameless > 0
    return Trace(recorded, tuple(one for one in found if one in later))


def arguments_of(lines: Sequence[bytes], call_id: str) -> dict[str, Any] | None:
    """Return what the model gave a call, by the call's id; ``None`` where it does not stand there.

    Codex writes a call down before it asks for leave. The last one of that id counts.
    """
    wanted = call_id.encode()
    for line in reversed(lines):
        raw = read_object(line, errors="replace") if wanted in line else ""
        payload = {} if isinstance(raw, str) else mapping(raw, "payload")
        if payload.get("type") == "function_call" and payload.get("call_id") == call_id:
            found = read_object(string(payload, "arguments").encode())
            return None if isinstance(found, str) else found
    return None
