"""Questions as interrupts of AG-UI, and what resumes them as answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from podiumd.runtime.errors import InvalidParameter
from podiumd.wire.questions import Column, Question
from podiumd.wording import shown

Json = dict[str, Any]

DECLINES: Final = ("deny", "no", "stop")
"""The choices that decline; a question has one of them at most."""

_CELLS: Final[dict[str, Json]] = {
    "number": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "url": {"type": "string", "format": "uri"},
}


def interrupt(question: Question) -> Json:
    """Build the interrupt of an open question. ``metadata.podium`` is the question as other clients
    have it."""
    return {
        "id": question.question_id,
        "reason": question.kind,
        "message": question.text,
        "responseSchema": response_schema(question),
        "metadata": {"podium": msgspec.to_builtins(question)},
    }


def response_schema(question: Question) -> Json:
    """Build the JSON Schema of a question's answer: an object, so that a form can be made of it."""
    properties = {"answer": _answer_schema(question), "note": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["answer"]}


def _answer_schema(question: Question) -> Json:
    if question.columns:
        return {"type": "array", "items": _row_schema(question.columns)}
    choice: Json = {"type": "string"}
    if question.choices and not question.free_text:
        choice["oneOf"] = [{"const": c.id, "title": c.label} for c in question.choices]
    elif question.choices:
        choice["examples"] = [c.id for c in question.choices]
    if question.multi:
        return {"type": "array", "items": choice, "minItems": 1, "uniqueItems": True}
    return choice


def _row_schema(columns: Sequence[Column]) -> Json:
    required = [column["name"] for column in columns if column.get("required")]
    cells = {column["name"]: _cell_schema(column) for column in columns}
    return {"type": "object", "properties": cells, "required": required}


def _cell_schema(column: Json) -> Json:
    if column.get("options"):
        return {"type": "string", "enum": list(column["options"])}
    return _CELLS.get(column.get("type", "text"), {"type": "string"})


class Reply(msgspec.Struct, frozen=True):
    """An answer as a question takes it."""

    answer: str
    note: str | None = None


def reply_to(question: Question, status: str, payload: object, where: str) -> Reply:
    """Return the answer that an entry of ``resume`` gives; ``where`` names the entry.

    ``payload`` is a text, ``{answer, note?}``, or what a question with several answers or columns
    takes: a list, or an object. Raises ``InvalidParameter``.
    """
    if status == "cancelled":
        return _declined(question, where)
    note = None
    if isinstance(payload, dict) and "answer" in payload:
        note, payload = payload.get("note"), payload["answer"]
        where = f"{where}.answer"
        if note is not None and not isinstance(note, str):
            words = f"'{where.removesuffix('answer')}note': expected a string, got {shown(note)}."
            raise InvalidParameter(f"{where.removesuffix('answer')}note", words)
    if isinstance(payload, str):
        return Reply(payload, note)
    if isinstance(payload, list | dict):
        return Reply(msgspec.json.encode(payload).decode(), note)
    words = f"'{where}': expected a string, a list or an object, got {shown(payload)}."
    raise InvalidParameter(where, words)


def _declined(question: Question, where: str) -> Reply:
    named = {choice.id for choice in question.choices}
    for choice in DECLINES:
        if choice in named:
            return Reply(choice)
    words = f"'{where}': this question has no answer that declines it: answer it, or say something."
    raise InvalidParameter(where, words)
