"""Fields with which each of a phone's messages could be carried out."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import fields as fields_of

from podiumd.gateway.phone.protocol.decode import TYPES

SESSION = "5f1c8a52-0000-4000-8000-000000000001"


def fields(type: str, where: Path) -> dict[str, Any]:
    """What a message of this type needs, meant for a directory."""
    struct = TYPES.get(type)
    if struct is None:
        return {"text": "Hi", "callback_id": "x", "action": "confirm"}
    return {field.name: _value(field.name, where) for field in fields_of(struct) if field.required}


def _value(name: str, where: Path) -> Any:
    """A value for a required field."""
    return {
        "session_id": SESSION,
        "text": "Count this",
        "message_text": "Count this",
        "size_kb": 200,
        "session_name": "a session",
        "parent_directory": str(where),
        "command_id": "git.status",
        "command_session_id": "cmd-1",
        "filename": "a.txt",
        "content": base64.b64encode(b"hi").decode(),
        "storage_location": str(where),
        "recipe_id": "implement-and-review",
        "path": str(where),
        "enabled": False,
        "question_id": "q-1",
        "answer": "yes",
        "utterance_id": "u-1",
        "format": "wav",
    }[name]


def texts(type: str) -> list[str]:
    """The fields of a message that take text: identifiers, names, paths, words."""
    return [
        field.name
        for field in fields_of(TYPES[type])
        if "str" in _kinds(msgspec.inspect.type_info(field.type))
    ]


def _kinds(info: Any) -> set[str]:
    if isinstance(info, msgspec.inspect.Metadata):
        return _kinds(info.type)
    if isinstance(info, msgspec.inspect.UnionType):
        return set().union(*(_kinds(kind) for kind in info.types))
    is_text = isinstance(info, msgspec.inspect.StrType | msgspec.inspect.AnyType)
    return {"str" if is_text else "other"}
