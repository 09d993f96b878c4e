"""A table that a person fills in at a terminal: cell by cell, or pasted as JSON."""

from __future__ import annotations

import json
from typing import Any

from podium import text

Column = dict[str, Any]
"""A column of a question, and a row: JSON that the agent has made."""

NOTHING = "-"
"""Leaves a cell empty."""


class TableEntry:
    """The rows of one question, as far as they are typed. ``answer``: all of it, once it is done.

    ``columns`` are those of the question: {name, type: text, number, enum, date or url, required,
    options}.
    """

    def __init__(self, columns: list[Column]) -> None:
        self.answer: str | None = None
        self._columns = columns
        self._rows: list[Column] = []
        self._row: Column = {}
        self._at = 0
        self._pasted = ""

    @property
    def prompt(self) -> str:
        """Return the prompt for the next input."""
        if self._pasted:
            return "... "
        column = self._columns[self._at]
        return f"row {len(self._rows) + 1}, {text.fold(column.get('name'))}{_kind(column)}> "

    def take(self, line: str) -> str:
        """Take a typed line; returns what is wrong with it, else nothing."""
        line = line.strip()
        if self._pasted or (line.startswith("[") and not (self._row or self._rows)):
            return self._paste(line)
        if not line and not self._at:
            return self._end()
        column = self._columns[self._at]
        if line in ("", NOTHING):
            if column.get("required"):
                return f"{text.fold(column.get('name'))} is needed in every row"
        else:
            value, wrong = _cell(column, line)
            if wrong:
                return wrong
            self._row[str(column.get("name"))] = value
        self._at += 1
        if self._at == len(self._columns):
            self._rows.append(self._row)
            self._row, self._at = {}, 0
        return ""

    def _end(self) -> str:
        if not self._rows:
            return "one row at least"
        self.answer = json.dumps(self._rows, ensure_ascii=False)
        return ""

    def _paste(self, line: str) -> str:
        """JSON goes on over as many lines as it takes; an empty one gives it up."""
        self._pasted = f"{self._pasted}\n{line}"
        try:
            rows = json.loads(self._pasted)
        except ValueError as error:
            if line:
                return ""
            self._pasted = ""
            return f"that is no JSON: {error}"
        self._pasted = ""
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            return 'the rows are a JSON list of objects: [{"' + self._first() + '": ...}]'
        self.answer = json.dumps(rows, ensure_ascii=False)
        return ""

    def _first(self) -> str:
        return text.fold(self._columns[0].get("name"))


def described(columns: list[Column]) -> str:
    """Describe the columns of a table in a line."""
    return ", ".join(f"{text.fold(one.get('name'))}{_kind(one)}" for one in columns)


def _kind(column: Column) -> str:
    """Describe what goes into a column; empty for text that may be left out."""
    options = "|".join(text.fold(one) for one in column.get("options") or [])
    kind = str(column.get("type") or "text")
    said = [options or ("" if kind == "text" else text.fold(kind))]
    said += ["needed"] if column.get("required") else []
    inside = ", ".join(filter(None, said))
    return f" ({inside})" if inside else ""


def _cell(column: Column, words: str) -> tuple[object, str]:
    """Parse the words into a cell's value; return it and what is wrong with the words."""
    kind, name = column.get("type"), text.fold(column.get("name"))
    if kind == "number":
        return _number(words, name)
    if kind == "enum":
        options = [str(one) for one in column.get("options") or []]
        if words.isdecimal() and words not in options and 1 <= int(words) <= len(options):
            return options[int(words) - 1], ""
        near = [one for one in options if one.casefold() == words.casefold()]
        return (near[0], "") if near else (None, f"{name} is one of: {', '.join(options)}")
    if kind == "date":
        from datetime import date

        try:
            known = date.fromisoformat(words).isoformat() == words
        except ValueError:
            known = False
        if not known:
            return None, f"{name} is a date such as 2026-05-01"
    if kind == "url" and not _is_url(words):
        return None, f"{name} is an address such as https://example.org"
    return words, ""


def _is_url(words: str) -> bool:
    scheme, found, rest = words.partition("://")
    return scheme.lower() in ("http", "https") and bool(found) and rest[:1] not in ("", "/")


def _number(words: str, name: str) -> tuple[object, str]:
    for read in (int, float):
        try:
            value = read(words)
        except ValueError:
            continue
        if value - value == 0:  # neither endless nor no number at all
            return value, ""
    return None, f"{name} is a number"
