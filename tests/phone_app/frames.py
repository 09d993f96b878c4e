"""From the bytes of a frame to what an app of some family keeps of it."""

from __future__ import annotations

import json

from tests.phone_app import legacy, swift
from tests.phone_app.fields import (
    BOOL,
    FRAME_DROPPED,
    INT,
    LIST,
    MISREAD,
    Fault,
    Field,
    Json,
    Unusable,
    optional,
    require,
    shown,
)
from tests.phone_app.variants import Variant

LARGEST_BYTES = 256 * 1024
"""The limit of a frame that the apps' authors count on."""

SPEECH: dict[str, tuple[Field, ...]] = {
    "voice_ready": (
        Field("utterance_id"),
        Field("next_frame", INT),
        Field("state"),
        optional("message"),
    ),
    "voice_partial": (Field("utterance_id"), Field("text")),
    "voice_transcript": (
        Field("utterance_id"),
        Field("text"),
        Field("language"),
        Field("duration_ms", INT),
        Field("latency_ms", INT),
        Field("delivered", BOOL),
        optional("session_id"),
    ),
    "voice_command": (
        Field("utterance_id"),
        Field("command"),
        Field("state"),
        Field("read_back"),
        optional("question_id"),
        optional("choice"),
    ),
    "voice_error": (optional("utterance_id"), Field("code"), Field("message")),
    "speak": (Field("session_id"), Field("text")),
}
"""What an app that sends speech has to find."""

OURS: dict[str, tuple[Field, ...]] = {
    **SPEECH,
    "recipe_error": (Field("error"), optional("session_id")),
    "recipe_paused": (Field("session_id"),),
    "recipe_resumed": (Field("session_id"),),
    "steer_result": (Field("session_id"), Field("state")),
    "question": (
        Field("question_id"),
        Field("kind"),
        Field("text"),
        Field("choices", LIST),
        optional("session_id"),
        optional("detail"),
        optional("multi", BOOL),
        optional("free_text", BOOL),
        optional("columns", LIST),
    ),
    "question_closed": (Field("question_id"), optional("answer"), optional("by")),
}
"""Podium's additions: no app knows them yet, whoever answers questions needs them."""


def parse(data: str | bytes, variant: Variant, faults: list[Fault]) -> Json | None:
    """A frame as JSON, or ``None`` where no app could make anything of it."""
    size = len(data) if isinstance(data, bytes) else len(data.encode("utf-8", "surrogatepass"))
    if size > LARGEST_BYTES:
        reason = f"has {size} bytes, apps take {LARGEST_BYTES} at most"
        faults.append(Fault("frame", "size", reason, FRAME_DROPPED))
    try:
        frame = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        faults.append(Fault("frame", "text", f"is no JSON: {error}", FRAME_DROPPED))
        return None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        reason = f"is {shown(frame)}, no object with a type"
        faults.append(Fault("frame", "type", reason, FRAME_DROPPED))
        return None
    asked = (variant.size_kb or LARGEST_BYTES // 1024) * 1024
    if frame["type"] == "session_history" and asked < size <= LARGEST_BYTES:
        reason = f"has {size} bytes, the app asked for {asked} at most"
        faults.append(Fault("session_history", "size", reason, "over the budget"))
    return frame


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def known(variant: Variant, kind: str) -> bool:
    """Whether this app, or a tool of Podium, does anything with the type."""
    return kind in _table(variant) or kind in OURS


def decode(variant: Variant, frame: Json, faults: list[Fault]) -> Json | None:
    """What the app keeps of a frame of a known type; ``None``: it drops it."""
    kind = frame["type"]
    _require_lowercase(frame, faults)
    if kind in _table(variant):
        if variant.family == "swift":
            return swift.decode(frame, faults)
        return legacy.decode(_table(variant), frame, faults)
    try:
        return require(frame, OURS[kind])
    except Unusable as bad:
        faults.append(Fault(kind, bad.field, bad.reason, FRAME_DROPPED))
        return None


def _table(variant: Variant) -> dict[str, tuple[Field, ...]]:
    return {"swift": swift.FRAMES, "kotlin": legacy.KOTLIN, "react": legacy.REACT}[variant.family]


def _require_lowercase(frame: Json, faults: list[Fault]) -> None:
    """Ids are compared as they are written: apps write them in lower case."""
    rows = frame.get("sessions")
    for holder in (frame, *(rows if isinstance(rows, list) else ())):
        session_id = holder.get("session_id") if isinstance(holder, dict) else None
        if isinstance(session_id, str) and session_id != session_id.lower():
            reason = f"is {shown(session_id)}, apps compare with lower case"
            faults.append(Fault(frame["type"], "session_id", reason, MISREAD))
