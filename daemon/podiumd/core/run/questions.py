"""A question that the agent of a conversation asks: what it may look like, and its answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final

import msgspec

from podiumd.core.recipe.context import Unfit
from podiumd.core.run.state import Question

DESCRIPTION: Final = (
    "Ask the person one question, and end your turn: the answer comes as the next message. Give "
    "'options' to choose from, or 'columns' for rows to be filled in, or neither for a free answer."
)
PARAMETERS: Final = ("question", "options", "multi", "free_text", "columns")
COLUMN_TYPES: Final = ("text", "number", "enum", "date", "url")
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1},
        "options": {
            "type": "array",
            "minItems": 1,
            "items": {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string", "minLength": 1},
                            "label": {"type": "string", "minLength": 1},
                            "description": {"type": "string"},
                        },
                        "required": ["id", "label"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
        "multi": {"type": "boolean", "description": "Several options may be chosen"},
        "free_text": {"type": "boolean", "description": "Another answer in words is possible"},
        "columns": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "type": {"type": "string", "enum": list(COLUMN_TYPES)},
                    "required": {"type": "boolean"},
                    "options": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["question"],
    "additionalProperties": False,
}
MOST_OPTIONS: Final = 50
ID_CHARACTERS: Final = 80

_URL: Final = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)


def taken(args: Mapping[str, Any]) -> dict[str, Any]:
    """Read the parameters of ``ask``, and fill in those that may be left out.

    Raises:
        Unfit: they are no question; the text is for the agent.
    """
    question = args.get("question")
    if not isinstance(question, str) or not question.strip():
        raise Unfit("'question' has to be a text that is not empty")
    options = _options(_list(args, "options"))
    columns = _columns(_list(args, "columns"))
    if options and columns:
        raise Unfit("a question has 'options' or 'columns', not both")
    multi = _flag(args, "multi", default=False)
    if multi and not options:
        raise Unfit("'multi' is for questions with 'options'")
    return {
        "question": question,
        "options": options,
        "multi": multi,
        "free_text": _flag(args, "free_text", default=False) or not (options or columns),
        "columns": columns,
    }


def _list(args: Mapping[str, Any], name: str) -> list[Any]:
    value = args.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not value or len(value) > MOST_OPTIONS:
        raise Unfit(f"'{name}' has to be a list of 1 to {MOST_OPTIONS} members")
    return value


def _flag(args: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = args.get(name, default)
    if not isinstance(value, bool):
        raise Unfit(f"'{name}' has to be true or false")
    return value


def _options(given: Sequence[Any]) -> list[dict[str, str]]:
    options = [_option(option, number) for number, option in enumerate(given, 1)]
    if len({option["id"] for option in options}) < len(options):
        raise Unfit("two options have the same id")
    return options


def _option(option: Any, number: int) -> dict[str, str]:
    """Return an option with its id: a text is its own, unless in a list it would be ambiguous."""
    if isinstance(option, str) and option.strip():
        fits = len(option) <= ID_CHARACTERS and "," not in option and option == option.strip()
        return {"id": option if fits else str(number), "label": option}
    if not isinstance(option, dict) or not {*option} <= {"id", "label", "description"}:
        raise Unfit(f"option {number} has to be a text, or an object with 'id' and 'label'")
    for key in ("id", "label"):
        if not isinstance(option.get(key), str) or not option[key].strip():
            raise Unfit(f"option {number}: '{key}' has to be a text that is not empty")
    name = option["id"]
    if len(name) > ID_CHARACTERS or "," in name or name != name.strip():
        raise Unfit(f"option {number}: an id is short, without commas and outer spaces")
    if not isinstance(option.get("description", ""), str):
        raise Unfit(f"option {number}: 'description' has to be a text")
    return dict(option)


def _columns(given: Sequence[Any]) -> list[dict[str, Any]]:
    columns = [_column(column, number) for number, column in enumerate(given, 1)]
    if len({column["name"] for column in columns}) < len(columns):
        raise Unfit("two columns have the same name")
    return columns


def _column(column: Any, number: int) -> dict[str, Any]:
    if not isinstance(column, dict) or not {*column} <= {"name", "type", "required", "options"}:
        raise Unfit(f"column {number} has to be an object with 'name' and perhaps 'type'")
    name, type_ = column.get("name"), column.get("type", "text")
    if not isinstance(name, str) or not name.strip():
        raise Unfit(f"column {number}: 'name' has to be a text that is not empty")
    if type_ not in COLUMN_TYPES:
        raise Unfit(f"column '{name}': 'type' has to be one of {', '.join(COLUMN_TYPES)}")
    options = column.get("options") or []
    if not isinstance(options, list) or not all(isinstance(one, str) and one for one in options):
        raise Unfit(f"column '{name}': 'options' has to be a list of texts")
    if (type_ == "enum") != bool(options):
        raise Unfit(f"column '{name}': 'options' belong to the type enum, which needs them")
    required = _flag(column, "required", default=False)
    return {"name": name, "type": type_, "required": required, "options": options}


def details(options: Sequence[Mapping[str, str]]) -> str:
    """Return the options' descriptions beyond their labels, a line each."""
    return "\n".join(
        f"{option['label']}: {option['description']}"
        for option in options
        if option.get("description")
    )


def checked(question: Question, answer: str) -> str | None:
    """Return the answer as it is kept, where it fits the question; ``None``: it does not.

    Several ids come as a list in JSON, or joined by commas; rows as a list of objects in JSON.
    """
    allowed = [choice for choice, _label in question.choices]
    if question.columns:
        rows = _rows(question.columns, answer)
        if rows is not None:
            return rows
    elif question.multi:
        ids = chosen_of(answer)
        if ids and all(one in allowed for one in ids):
            return json.dumps([one for one in allowed if one in ids], ensure_ascii=False)
    elif answer in allowed:
        return answer
    return answer if question.free_text and answer.strip() else None


def expected(question: Question) -> list[str]:
    """List what an answer may be, for a sentence."""
    allowed = [choice for choice, _label in question.choices]
    if question.columns:
        names = ", ".join(column["name"] for column in question.columns)
        allowed = [f"a JSON list of objects with {names}"]
    return [*allowed, "a text"] if question.free_text else allowed


def chosen_of(answer: str) -> list[str]:
    """Take the choices apart that an answer names: a list in JSON, or joined by commas."""
    ids = _json(answer) if answer.lstrip().startswith("[") else None
    if isinstance(ids, list):
        return ids if all(isinstance(one, str) for one in ids) else []
    return [one.strip() for one in answer.split(",") if one.strip()]


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None


def _rows(columns: Sequence[Mapping[str, Any]], answer: str) -> str | None:
    rows = _json(answer)
    if not isinstance(rows, list) or not rows:
        return None
    if not all(isinstance(row, dict) and _row_fits(columns, row) for row in rows):
        return None
    return json.dumps(rows, ensure_ascii=False)


def _row_fits(columns: Sequence[Mapping[str, Any]], row: Mapping[str, Any]) -> bool:
    if not {*row} <= {column["name"] for column in columns}:
        return False
    for column in columns:
        value = row.get(column["name"])
        if value is None or value == "":
            if column["required"]:
                return False
        elif not _CELLS[column["type"]](value) or (
            column["type"] == "enum" and value not in column["options"]
        ):
            return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_CELLS: Final[dict[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "enum": lambda value: isinstance(value, str),
    "number": _is_number,
    "date": _is_date,
    "url": lambda value: isinstance(value, str) and _URL.fullmatch(value) is not None,
}


def told(question: Question, answer: str, note: str | None) -> str:
    """Build the message that gives the agent the answer to its question."""
    labels = dict(question.choices)
    ids = chosen_of(answer) if question.multi else [answer]
    if ids and all(one in labels for one in ids):
        chosen = [one if labels[one] == one else f"{labels[one]} [{one}]" for one in ids]
        answer = ", ".join(chosen)
    lines = [f"You asked: {question.text}", f"The answer: {answer}"]
    return "\n".join([*lines, f"Note: {note}"] if note else lines)
