"""The findings of a conversation, as documents for programs (JSON) and for people (Markdown).

Pure: a phase and its context become text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from podiumd.core.recipe.context import is_set

WRITTEN_BY: Final = "<!-- Written by Podium"
"""How a Markdown document begins that Podium wrote, and may write again."""

_NOTHING_YET: Final = "*Nothing yet.*"
_DEEPEST: Final = 8
"""Levels of a value that become nested lists; what is below stands there as JSON."""


def as_json(phase: str, context: Mapping[str, Any]) -> bytes:
    """Render the phase and every key, in the order of ``context``, indented, as UTF-8."""
    text = json.dumps({"phase": phase, **context}, ensure_ascii=False, indent=2)
    return f"{text}\n".encode("utf-8", "replace")


def as_markdown(title: str, phase: str, context: Mapping[str, Any]) -> bytes:
    """Render it for people: a heading a key, lists and objects as nested lists and tables."""
    parts = [f"{WRITTEN_BY} in phase {phase}; it is written again as the talk goes on. -->"]
    parts.append(f"# {heading(title)}")
    for key, value in context.items():
        parts += [f"## {heading(key)}", _block(value)]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def is_json_of(data: bytes, context: Mapping[str, Any]) -> bool:
    """Return whether ``as_json`` can have made this, from these keys."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and set(found) == {"phase", *context}


def is_markdown(data: bytes) -> bool:
    """Return whether ``as_markdown`` can have made this."""
    return data.startswith(WRITTEN_BY.encode())


def heading(name: str) -> str:
    """Format a name for people: ``goal_summary`` is "Goal summary"."""
    words = " ".join(name.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def _block(value: object) -> str:
    """Format a value below its heading."""
    if not is_set(value):
        return _NOTHING_YET
    if isinstance(value, list) and (table := _table(value)) is not None:
        return table
    if isinstance(value, list | dict):
        return "\n".join(_items(value, 0))
    return _scalar(value)


def _items(value: list[Any] | dict[str, Any], depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(value, dict):
        named = [(f"{pad}- **{heading(str(key))}:**", one) for key, one in value.items()]
    else:
        named = [(f"{pad}-", one) for one in value]
    lines = []
    for begin, one in named:
        if isinstance(one, list | dict) and is_set(one):
            lines += _nested(begin, one, depth)
        else:
            text = _scalar(one) if is_set(one) else _NOTHING_YET
            # A text of several lines stays in its item.
            lines.append(f"{begin} " + text.replace("\n", f"\n{pad}  "))
    return lines


def _nested(begin: str, value: list[Any] | dict[str, Any], depth: int) -> list[str]:
    if depth + 1 == _DEEPEST:
        return [f"{begin} `{json.dumps(value, ensure_ascii=False)}`"]
    below = _items(value, depth + 1)
    if begin.endswith("-"):  # an item without a name begins with what is in it
        return [f"{begin} {below[0].lstrip()}", *below[1:]]
    return [begin, *below]


def _table(rows: list[Any]) -> str | None:
    """Rows of the same names and short values as a table; ``None``: they are none."""
    names = list(rows[0]) if isinstance(rows[0], dict) else []
    if not names or len(rows) < 2:
        return None
    for row in rows:
        if not isinstance(row, dict) or list(row) != names:
            return None
        if any(isinstance(one, list | dict) or "\n" in str(one) for one in row.values()):
            return None
    lines = [_row([heading(str(name)) for name in names]), _row(["---"] * len(names))]
    lines += [_row([_scalar(one) for one in row.values()]) for row in rows]
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value)
