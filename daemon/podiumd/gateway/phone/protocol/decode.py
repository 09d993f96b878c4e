"""Decoding of phone messages: a request, or a refusal with the frame of its reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import FieldInfo, fields

from podiumd.gateway.phone.protocol import outgoing, outgoing_tools, requests
from podiumd.gateway.phone.protocol.wire import Json
from podiumd.observe.redaction import escape
from podiumd.wording import convert, expected

TYPES: Final[dict[str, type[requests.Request]]] = {
    "ping": requests.Ping,
    "connect": requests.Connect,
    "refresh_sessions": requests.RefreshSessions,
    "subscribe": requests.Subscribe,
    "unsubscribe": requests.Unsubscribe,
    "session_deleted": requests.SessionDeleted,
    "compact_session": requests.CompactSession,
    "kill_session": requests.KillSession,
    "prompt": requests.Prompt,
    "set_max_message_size": requests.SetMaxMessageSize,
    "message_ack": requests.MessageAck,
    "message-ack": requests.MessageAck,
    "infer_session_name": requests.InferSessionName,
    "create_worktree_session": requests.CreateWorktreeSession,
    "execute_command": requests.ExecuteCommand,
    "get_command_history": requests.GetCommandHistory,
    "get_command_output": requests.GetCommandOutput,
    "upload_file": requests.UploadFile,
    "list_resources": requests.ListResources,
    "delete_resource": requests.DeleteResource,
    "get_available_recipes": requests.GetAvailableRecipes,
    "start_recipe": requests.StartRecipe,
    "execute_recipe": requests.StartRecipe,
    "exit_recipe": requests.ExitRecipe,
    "set_directory": requests.SetDirectory,
    "set_orchestration": requests.SetOrchestration,
    "pause_recipe": requests.PauseRecipe,
    "resume_recipe": requests.ResumeRecipe,
    "steer": requests.Steer,
    "answer_question": requests.AnswerQuestion,
    "voice_start": requests.VoiceStart,
    "voice_end": requests.VoiceEnd,
    "voice_cancel": requests.VoiceCancel,
}

_SUPERVISOR: Final = frozenset({"supervisor_message", "canvas_action"})
_LENIENT: Final = frozenset({requests.Connect, requests.RefreshSessions})
"""A field of these that is not what it has to be counts as absent."""
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_FIELDS: Final[dict[type, tuple[FieldInfo, ...]]] = {
    struct: fields(struct) for struct in TYPES.values()
}


class Refusal(Exception):
    """The message cannot be taken; ``frame`` is the answer to it."""

    def __init__(self, frame: bytes) -> None:
        super().__init__(frame.decode())
        self.frame = frame


def decode(data: str | bytes) -> requests.Request:
    """Make out one whole message: text is JSON, bytes are a piece of speech.

    Raises:
        Refusal: it is neither, or a field of it is not what it has to be.
    """
    if isinstance(data, bytes):
        return _voice_frame(data)
    message = _object(data)
    kind = message.get("type")
    if not isinstance(kind, str):
        raise Refusal(outgoing.error("A message needs a field 'type' that is a string."))
    if kind in _SUPERVISOR:
        words = "Podium has no supervisor; send a 'prompt' to the session that is meant."
        raise Refusal(outgoing.error(words))
    struct = TYPES.get(kind)
    if struct is None:
        raise Refusal(outgoing.error(f"Unknown message type: {escape(kind[:100])}"))
    try:
        return _typed(struct, message)
    except ValueError as error:
        raise Refusal(_refusal(kind, message, f"Invalid {kind}: {error}.")) from None


def _object(text: str) -> Json:
    try:
        message = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        raise Refusal(outgoing.error("The message is not valid JSON.")) from None
    except RecursionError:
        raise Refusal(outgoing.error("The message is nested too deeply.")) from None
    if not isinstance(message, dict):
        raise Refusal(outgoing.error("A message is a JSON object with a field 'type'."))
    return message


def _voice_frame(data: bytes) -> requests.VoiceFrame:
    if len(data) < 4:
        words = "A binary message begins with its frame number in 4 bytes."
        raise Refusal(outgoing_tools.voice_error(None, "invalid_frame", words))
    return requests.VoiceFrame(int.from_bytes(data[:4], "big"), data[4:])


def _typed(struct: type[requests.Request], message: Json) -> requests.Request:
    """Convert a message. Raises ``ValueError``: the field, what it has to be, what it was."""
    values: Json = {}
    for field in _FIELDS[struct]:
        value = message.get(field.name)
        if field.required:
            if field.name not in message:
                raise ValueError(f"{field.name} is missing: expected {expected(field.type)}")
        elif value is None or (value == "" and field.name not in getattr(struct, "ECHOED", ())):
            continue
        try:
            values[field.name] = convert(value, field.type)
        except ValueError as error:
            if struct not in _LENIENT:
                raise ValueError(f"{field.name}: {error}") from None
    for name in () if struct is requests.Connect else requests.SESSION_IDS:
        if _UUID.fullmatch(values.get(name) or ""):
            values[name] = values[name].lower()
    return struct(**values)


def _refusal(kind: str, message: Json, words: str) -> bytes:
    """Build the frame by which a request of this kind fails, as far as it names its session."""
    refuse = _REFUSALS.get(kind)
    refused = refuse(message, words) if refuse is not None else None
    if refused is not None:
        return refused
    code = "invalid_subscribe" if kind == "subscribe" else None
    named = (_text(message, name) for name in requests.SESSION_IDS)
    return outgoing.error(words, code=code, session_id=next(filter(None, named), None))


def _text(message: Json, name: str) -> str | None:
    value = message.get(name)
    if not isinstance(value, str):
        return None
    session = name in requests.SESSION_IDS and _UUID.fullmatch(value)
    return value.lower() if session else value[:128]


def _infer(message: Json, words: str) -> bytes:
    return outgoing.infer_name_error(_text(message, "session_id"), words)


def _worktree(_: Json, words: str) -> bytes:
    return outgoing.worktree_session_error(words, "invalid_request")


def _command(message: Json, words: str) -> bytes | None:
    command_id = _text(message, "command_id")
    return outgoing_tools.command_error(command_id, words) if command_id else None


def _compact(message: Json, words: str) -> bytes | None:
    session_id = _text(message, "session_id")
    return outgoing.compaction_error(session_id, words) if session_id else None


def _upload(_: Json, words: str) -> bytes:
    return outgoing_tools.upload_error(words)


def _voice(message: Json, words: str) -> bytes:
    return outgoing_tools.voice_error(_text(message, "utterance_id"), "invalid_request", words)


_REFUSALS: Final[dict[str, Callable[[Json, str], bytes | None]]] = {
    "infer_session_name": _infer,
    "create_worktree_session": _worktree,
    "execute_command": _command,
    "compact_session": _compact,
    "upload_file": _upload,
    "voice_start": _voice,
    "voice_end": _voice,
    "voice_cancel": _voice,
}
