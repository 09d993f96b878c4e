"""JSON lines by the chunk: typed at full speed, line by line where one is out of shape. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from podiumd.formats.claude_json import read_object
from podiumd.formats.session import (
    PREVIEW_LIMIT,
    PROMPT_LIMIT,
    Summary,
    milliseconds,
    one_line,
)

Shape = TypeVar("Shape", bound=msgspec.Struct)
_OPEN, _CLOSE = b"{}"


class Lines:
    """The whole lines of a chunk, found without copying them.

    What follows the last newline is no line yet. ``bounds`` holds where each line begins, and at
    last where the next one would. ``tidy``: each begins with ``{`` and ends with ``}``.
    """

    def __init__(self, chunk: bytes) -> None:
        find = chunk.find  # quicker than ``split``, which looks at one byte after the other
        bounds, start, tidy = [0], 0, True
        while end := find(b"\n", start) + 1:
            if chunk[start] != _OPEN or chunk[end - 2] != _CLOSE:
                tidy = False
            bounds.append(end)
            start = end
        self.bounds = bounds
        self.tidy = tidy
        self.chunk = chunk if start == len(chunk) else chunk[:start]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, at: int) -> bytes:
        """Return a line, its newline left out."""
        return self.chunk[self.bounds[at] : self.bounds[at + 1] - 1]


class Reader(Generic[Shape]):
    """Reads what is wanted of JSON objects, and nothing else of them.

    Parameters:
        shape: its fields are what is wanted; all have defaults, which stand for what is not
            there or has another type.
    """

    def __init__(self, shape: type[Shape]) -> None:
        self._shape = shape
        self._decoder = msgspec.json.Decoder(shape)

    def read(self, line: bytes) -> Shape | None:
        """Return what is wanted of a line, ``None`` if it is no JSON object. Never raises."""
        try:
            return self._decoder.decode(line)
        except (ValueError, RecursionError):
            raw = read_object(line, errors="replace")
            return None if isinstance(raw, str) else self._lenient(raw)

    def read_all(self, lines: Lines) -> Sequence[Shape | None]:
        """Return the same as ``read`` for each line, quicker if all are in shape."""
        if lines.tidy:
            try:
                found = self._decoder.decode_lines(lines.chunk)
            except (ValueError, RecursionError):
                pass
            else:
                # No object holds a newline between a ``}`` and a ``{``. So each newline of tidy
                # lines ends an object, and with as many objects as lines, each line is one.
                if len(found) == len(lines):
                    return found
        return [self.read(lines[at]) for at in range(len(lines))]

    def _lenient(self, raw: dict[str, Any]) -> Shape:
        names = (field.encode_name for field in msgspec.structs.fields(self._shape))
        fitting = {name: raw[name] for name in names if name in raw and self._fits(name, raw[name])}
        return msgspec.convert(fitting, self._shape)

    def _fits(self, name: str, value: object) -> bool:
        try:
            msgspec.convert({name: value}, self._shape)
        except msgspec.ValidationError:
            return False
        return True


class Stamped(Protocol):
    """The field that is read of every record, of any agent."""

    timestamp: str


def fold_times(summary: Summary, heads: Sequence[Stamped | None]) -> None:
    """Note the first and the last valid time, in the order of the file."""
    summary.first_at = summary.first_at or _first_valid(heads)
    summary.last_at = _first_valid(reversed(heads)) or summary.last_at


def _first_valid(heads: Iterable[Stamped | None]) -> str:
    stamps = (head.timestamp for head in heads if head is not None)
    return next((stamp for stamp in stamps if milliseconds(stamp) is not None), "")


def fold_words(summary: Summary, asked: Iterable[str], said: Iterable[str]) -> None:
    """Note the first prompt and the last words of a chunk.

    ``asked`` are the prompts in order, ``said`` the words, the last first; nothing is read of
    either that is not needed.
    """
    summary.prompt = summary.prompt or _first_words(asked, PROMPT_LIMIT)
    summary.preview = _first_words(said, PREVIEW_LIMIT) or summary.preview


def _first_words(texts: Iterable[str], limit: int) -> str:
    """Return the first text that is not blank, on one line and cut to ``limit``."""
    found = (one_line(text, limit) for text in texts if text)  # most rows have no words at all
    return next(filter(None, found), "")
