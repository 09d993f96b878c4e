"""Find JSON objects in prose, written the way models write them.

Accepted beyond strict JSON: comments, trailing commas, line breaks and odd escapes inside strings,
and, at the very end of the text, a missing quote or missing closing brackets.

The text is read from its end: when an object is parsed, everything that begins inside it has been
parsed already and is taken from a memo, so nothing is read twice, however deep it nests. What
can still be read again (comments that hide many beginnings) is bounded by a budget.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import Final, NamedTuple

_STRING: Final = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_LITERAL: Final = re.compile(
    r"(?:true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![\w.+-])"
)
_VISIBLE: Final = re.compile(r"\S")
# Only what can be followed by a member or an end begins an object or array.
_BEGINNING: Final = re.compile(r'\{(?=[\s"}/]|\Z)|\[(?=[\s"\[\]{/\w-]|\Z)')
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
# Characters after a cut-off object at the end of a text: white space, Markdown, punctuation.
_TRAIL: Final = " \t\r\n`*_.,;:!"
_DEEPEST: Final = 64
# Limits of the search, from the end: far more than any reply needs, few enough to be done soon.
_MOST_BEGINNINGS: Final = 20_000
_MOST_CHARACTERS: Final = 1_000_000

Value = str | None  # a string; anything else matters only by being there


class Found(NamedTuple):
    """An object in a text: its members (``None`` for what is no string) and where it stands."""

    start: int
    end: int
    members: dict[str, Value]


class _Parsed(NamedTuple):
    end: int
    depth: int
    members: dict[str, Value] | None  # None: an array


class _NotJson(Exception):
    """A text that begins no object or array."""


def scan(text: str, *, lists: bool = False) -> list[Found]:
    """Find the JSON objects of ``text`` that stand in no other, in order; the time is bounded.

    Those that stand in a list count only with ``lists``.
    """
    return _Scanner(text).scan(lists)


def is_strict(text: str) -> bool:
    """Say whether a strict JSON parser takes ``text``."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._end = len(text.rstrip(_TRAIL))
        self._memo: dict[int, _Parsed] = {}
        self._budget = min(4 * len(text) + 10_000, _MOST_CHARACTERS)

    def scan(self, lists: bool) -> list[Found]:
        starts = [match.start() for match in _BEGINNING.finditer(self._text)]
        for start in reversed(starts[-_MOST_BEGINNINGS:]):
            with contextlib.suppress(_NotJson):
                self._memo[start] = self._container(start)
        found: list[Found] = []
        end = 0
        for start, parsed in reversed(self._memo.items()):
            if start < end:
                continue
            if parsed.members is not None:
                found.append(Found(start, parsed.end, parsed.members))
            if parsed.members is not None or not lists:
                end = parsed.end
        return found

    def _container(self, start: int) -> _Parsed:
        """Parse the object or array that begins at ``start``; what it holds comes from the memo."""
        self._spend(1)
        is_object = self._text[start] == "{"
        close = "}" if is_object else "]"
        members: dict[str, Value] = {}
        at, depth, key = self._space(start + 1), 1, ""
        # A container that is cut off at the very end of the text counts as closed there.
        while not self._text.startswith(close, at) and at < self._end:
            if is_object:
                key, at = self._key(at)
            value, at, below = self._value(at)
            depth = max(depth, below + 1)
            if members.setdefault(key, value) != value and is_object:
                raise _NotJson  # one key with two values: the intended one is not known
            at = self._space(at)
            if self._text.startswith(",", at):
                at = self._space(at + 1)
            elif not self._text.startswith(close, at) and at < self._end:
                raise _NotJson
        closed = self._text.startswith(close, at)
        if depth > _DEEPEST or not (closed or members):
            raise _NotJson
        end = at + 1 if closed else len(self._text)
        return _Parsed(end, depth, members if is_object else None)

    def _key(self, at: int) -> tuple[str, int]:
        match = self._string(at)
        if match is None:
            raise _NotJson
        at = self._space(match.end())
        if not self._text.startswith(":", at):
            raise _NotJson
        return _unescape(match.group(1)), self._space(at + 1)

    def _string(self, at: int) -> re.Match[str] | None:
        match = _STRING.match(self._text, at)
        if self._text.startswith('"', at):
            self._spend((match.end() if match else len(self._text)) - at)
        return match

    def _value(self, at: int) -> tuple[Value, int, int]:
        """Return a member's value, where it ends, and how deep it nests."""
        known = self._memo.get(at)
        if known is not None:
            self._spend(1)
            return None, known.end, known.depth
        match = self._string(at)
        if match is not None:
            return _unescape(match.group(1)), match.end(), 0
        if self._text.startswith('"', at):
            return self._cut_off_string(at), len(self._text), 0
        match = _LITERAL.match(self._text, at)
        if match is None:
            raise _NotJson
        self._spend(match.end() - at)
        return None, match.end(), 0

    def _cut_off_string(self, at: int) -> str:
        """Read a string whose quote is missing at the very end: it must be the last line."""
        rest = self._text[at + 1 :].rstrip(_TRAIL + "}")
        if not rest or "\n" in rest:
            raise _NotJson
        return _unescape(rest)

    def _space(self, at: int) -> int:
        """Skip white space and comments."""
        begin = at
        while True:
            at = _after_space(self._text, at)
            opener = self._text[at : at + 2]
            if opener not in ("//", "/*"):
                break
            end = self._text.find("\n" if opener == "//" else "*/", at + 2)
            if end < 0:
                self._spend(len(self._text) - at)
                return len(self._text)
            at = end + (1 if opener == "//" else 2)
            self._spend(2)
        self._spend(1 + at - begin)
        return at

    def _spend(self, characters: int) -> None:
        self._budget -= characters
        if self._budget < 0:
            raise _NotJson


def _after_space(text: str, at: int) -> int:
    match = _VISIBLE.search(text, at)
    return match.start() if match else len(text)


def _unescape(raw: str) -> str:
    """Resolve a string's escapes; what is no escape stays as written, half a pair is replaced."""
    if "\\" not in raw:
        return raw

    def character(match: re.Match[str]) -> str:
        code, letter = match.groups()
        return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)

    return tidy(_ESCAPE.sub(character, raw))


def tidy(text: str) -> str:
    """Join surrogate pairs and replace half ones, so that UTF-8 can hold the text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
