"""Detection of actions in a wrong form, as distinct from prose and from examples.

Models fall back to the forms that they were trained on: calls as markup, objects without a fence,
fences in lists. Nothing of that is done, and none of it may pass for a last answer either: the
model is shown the form. An example is what a reply quotes: within a line of other words, in a
quotation, in a block of another language, indented as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from podiumd.core.reply.fences import Fenced, pieces
from podiumd.core.reply.lenient_json import scan

ANY: Final = "NAME"
"""Stands for the name of an action where the reply does not hold one."""

_JSON: Final = frozenset({"json", "json5", "jsonc", "jsonl", "ndjson"})
_CALLS: Final = frozenset(
    f"{word}{end}"
    for word in ("action", "call", "function", "function_call", "invoke", "tool", "tool_call")
    for end in ("", "s")
) | {"tool_code", "tool_use"}
_DATA: Final = frozenset({"yaml", "yml", "xml"})

# Names for the parameters and the tool in other ways to call one, and for what stands around.
_FILLED: Final = frozenset({"args", "arguments", "input", "parameters", "params"})
_NAMED: Final = ("action", "name", "tool", "tool_name", "function")
_AROUND: Final = ("action", "actions", "function", "function_call", "tool_call", "tool_calls")
_DEEPEST: Final = 3

_QUOTED: Final = re.compile(r" {0,3}>")
_ITEM: Final = re.compile(r"(?P<before> *(?:[-*+]|\d{1,9}[.)]) {1,4})(?=\S)")
_ONE_LINE: Final = re.compile(r"(`{3,})(\w*+)([^`]*+)(`+)")
_KEY: Final = re.compile(
    r"^[^\w\n`]{0,12}action[^\w\n`]{1,6}(?P<name>\w+)[^\w\n`]{0,4}$", re.MULTILINE | re.IGNORECASE
)
_PARAMETER: Final = re.compile(
    r"^[^\w\n`]{0,12}(?:path|file|content|operations|query|command|action input|arguments|input"
    r"|parameters)[^\w\n`]",
    re.MULTILINE | re.IGNORECASE,
)
_LITERAL: Final = re.compile(
    r"^ {0,3}\[?[ \t]*\{[ \t]*'action'[ \t]*:[ \t]*'(?P<name>\w+)'", re.MULTILINE
)
_MARK: Final = re.compile(
    r"^ {0,3}(?:<(?P<tag>(?P<call>(?:\w+:)?(?:tool|function|invoke)\w*)|[a-z]+_[a-z]+)\b[^>\n]*>"
    r"|\[TOOL_CALLS?\]|<[|\uff5c][^>\n]{0,40}(?:tool|function|python)[^>\n]{0,40}>)",
    re.MULTILINE | re.IGNORECASE,
)
_NEAR: Final = 1000  # characters after a mark, or a key, in which the rest of a call is looked for
_A_LINE: Final = 200  # characters beside an object that are looked at


class Meant:
    """Finds the action that a text means but does not write as one.

    ``names`` are the actions of the contract, ``served`` Podium's own tools, by all that they are
    called: their names are plain words that any example may hold, so only what is clearly a call
    of one counts.
    """

    def __init__(self, names: Iterable[str], served: Mapping[str, str]) -> None:
        self._names = frozenset(names)
        self._calls = {**{name: name for name in names}, **served}
        # An answer without an action is the end that "done" means.
        words = "|".join(sorted(map(re.escape, self._names - {"done"}))) or "(?!)"
        self._word = re.compile(rf"(?<![^\W_])({words})\b")

    def in_piece(self, piece: Fenced) -> str | None:
        """Return the name of the action that is meant; ``None`` for prose and examples."""
        if piece.info is None:
            return self._in_prose(piece.text)
        return self._in_block(piece)

    def _in_block(self, piece: Fenced) -> str | None:
        info, text = piece.info or "", piece.text
        if info in self._names and "_" in info:
            return info
        if info in _CALLS:
            return self._named(text) or ANY
        if info == "" or info in _JSON:
            return self._in_value(text, loose=info in ("", "json")) or self._in_lines(text)
        return self._in_lines(text) if info in _DATA else None

    def _in_prose(self, text: str) -> str | None:
        if text.lstrip().startswith(("{", "[")) and (found := self._in_value(text, loose=True)):
            return found
        for piece in pieces(_unfolded(text)):
            if piece.info is None:
                found = self._object(piece.text) or self._in_lines(piece.text)
            elif piece.info in ("json", "action"):  # one that only its place has kept from counting
                found = self._in_value(piece.text, loose=False)
            else:
                found = self._in_block(piece)
            if found:
                return found
        return None

    def _in_value(self, text: str, *, loose: bool) -> str | None:
        """Return what a text means that is one JSON value, or close to it."""
        try:
            value = msgspec.json.decode(text.encode())
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return self._object(text)
        if loose:
            for item in value if isinstance(value, list) else [value]:
                for name in _said(item):
                    if name in self._names:
                        return name
        return self._called(value)

    def _object(self, text: str, *, alone: bool = True) -> str | None:
        """Return what an object in a text means; ``alone``: one that has its lines for itself."""
        if not any(f'"{key}"' in text for key in (*_NAMED, *_AROUND)):
            return None
        for found in scan(text, lists=True):
            before = text[max(0, found.start - _A_LINE) : found.start].rpartition("\n")[2]
            after = text[found.end : found.end + _A_LINE].partition("\n")[0]
            if alone and (before.strip("[, \t") or after.strip("], \t\r;")):
                continue
            try:
                value = msgspec.json.decode(text[found.start : found.end].encode())
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                value = found.members
            if name := self._called(value):
                return name
        return None

    def _called(self, value: Any, depth: int = 0) -> str | None:
        """Return the action that a value calls: ``{"action": "patch"}``, ``{"name": "patch",
        "arguments": {...}}``, ``{"patch": {...}}``, or one of these within what other APIs put
        around it."""
        if isinstance(value, list):
            return next(filter(None, (self._called(one, depth) for one in value)), None)
        if not isinstance(value, Mapping) or "outcome" in value or depth > _DEEPEST:
            return None
        action = value.get("action")
        if isinstance(action, str) and action in self._names:
            return action
        named: Iterable[Any] = ()
        if _FILLED.intersection(value):
            named = (value.get(key) for key in _NAMED)
        elif len(value) == 1:
            named = (key for key, inner in value.items() if isinstance(inner, dict))
        for name in named:
            if isinstance(name, str) and name in self._calls:
                return self._calls[name]
        inner = (self._called(value[key], depth + 1) for key in _AROUND if key in value)
        return next(filter(None, inner), None)

    def _in_lines(self, text: str) -> str | None:
        """Return what markup, lines of keys, or a literal of a language mean."""
        for found in _LITERAL.finditer(text):
            if found["name"] in self._names:
                return found["name"]
        for found in _KEY.finditer(text):
            name = found["name"]
            end = found.end()
            told = name == "run_tests" or _PARAMETER.search(text, end, end + _NEAR)
            if name in self._names and name != "done" and told:
                return name
        return next(filter(None, map(self._marked, _marks(text))), None)

    def _marked(self, mark: tuple[str, str]) -> str | None:
        tag, said = mark
        if "_" in tag and tag in self._names:
            return tag
        found = self._named(said) or self._object(said, alone=False)
        return found or (ANY if tag.lower() in _CALLS and "{" in said else None)

    def _named(self, text: str) -> str | None:
        found = self._word.search(text)
        return found[1] if found else None


def _said(item: Any) -> list[str]:
    """List an object's keys and its values that are texts; a step's outcome may be any word."""
    if not isinstance(item, dict) or "outcome" in item:
        return []
    return [*item, *(value for value in item.values() if isinstance(value, str))]


def _marks(text: str) -> Iterator[tuple[str, str]]:
    """Find marks that begin as other models' calls do, with lines for themselves: yield the tag,
    and the contents of one that is for calls."""
    at = 0
    while (found := _MARK.search(text, at)) is not None:
        tag = found["tag"] or ""
        closing = f"</{tag}>"
        end = text.find(closing, found.end()) if tag else -1
        at = len(text) if end < 0 else end + len(closing)
        rest = text[at : at + _A_LINE].partition("\n")[0].strip()
        if not rest or rest.startswith("<"):
            said = text[found.start() : at][:_NEAR]
            yield tag, said if found["call"] or not tag else ""


def _unfolded(text: str) -> str:
    """Return a text without quotations, with its lists and one-line fences unfolded.

    The contents of a list stand as if they stood in none, and a fence of one line as one of three.
    """
    lines: list[str] = []
    inside = 0  # where the contents of the list's item begin; 0: this is no list
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        item = _ITEM.match(line)
        if item is not None and (indent < 4 or inside):
            inside = len(item["before"])
            lines += _opened(line[inside:])
        elif not line.strip():
            lines.append("")
        elif inside and indent >= min(inside, 4):
            lines += _opened(line[min(indent, max(inside, 4)) :])
        elif indent >= 4 or _QUOTED.match(line):
            lines.append("")
        else:
            inside = 0
            lines += _opened(line)
    return "\n".join(lines)


def _opened(line: str) -> list[str]:
    """Return a line, or the lines of a fence that opens and closes in it."""
    found = _ONE_LINE.fullmatch(line.strip())
    if found is None or found[1] != found[4]:
        return [line]
    return [f"{found[1]}{found[2]}", found[3], found[1]]
