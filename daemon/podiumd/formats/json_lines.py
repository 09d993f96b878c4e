"""JSON lines by the chunk: typed at full speed, line by line where one is out of shape. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from podiumd.formats.json_fields import read_object
from podiumd.formats.message import Block, Message, Role, text_of
from podiumd.formats.session import (
    PREVIEW_LIMIT,
    PROMPT_LIMIT,
    Cursor,
    Entry,
    Summary,
    identity_of,
    identity_of_line,
    milliseconds,
    one_line,
    uuid_of,
)


class Stamped(Protocol):
    """The field that is read of every record, of any agent."""

    timestamp: str


class StampedRecord(msgspec.Struct, gc=False):
    """A record of which its time is read."""

    timestamp: str = ""


Shape = TypeVar("Shape", bound=msgspec.Struct)
Record = TypeVar("Record", bound=StampedRecord)
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


class Conversation(ABC, Generic[Record]):
    """A ``SessionFormat`` of files without a tree: one conversation, in the order of the file.

    So nothing forks but after words that were taken back, and nothing else is remembered from chunk
    to chunk.
    """

    def __init__(self, records: Reader[Record]) -> None:
        self._records = records

    @abstractmethod
    def role(self, record: Record, line: bytes) -> Role | None:
        """Return whose message a record is, ``None`` if it is none: the one place that decides."""

    @abstractmethod
    def note(self, summary: Summary, record: Record) -> None:
        """Note what a record says of its session: the first directory that is named, a title."""

    @abstractmethod
    def asked(self, record: Record, line: bytes) -> str:
        """Return a person's words to the agent in a message of role user, if it has any."""

    @abstractmethod
    def words(self, record: Record, line: bytes) -> str:
        """Return the words of a message for people."""

    @abstractmethod
    def blocks(self, record: Record, line: bytes) -> tuple[Block, ...]:
        """Return all that a message holds."""

    def describe(self, summary: Summary, data: bytes) -> None:
        """Note what a file beside it says of the session."""

    def uuid(self, record: Record) -> str:
        """Return the record's own uuid, if it has one."""
        return ""

    def rewinds(self, record: Record) -> bool:
        """Return whether messages are taken back here: the next prompt follows an earlier one."""
        return False

    def fold(self, summary: Summary, chunk: bytes) -> None:
        """Bring a summary forward."""
        lines = Lines(chunk)
        records = self._records.read_all(lines)
        fold_times(summary, records)
        messages: list[tuple[Record, int, Role]] = []
        for at, record in enumerate(records):
            if record is None:
                summary.bad_lines += bool(lines[at].strip())
                continue
            self.note(summary, record)
            if (role := self.role(record, lines[at])) is not None:
                messages.append((record, at, role))
        summary.lines += len(lines)
        summary.messages += len(messages)
        asked = (self.asked(one, lines[at]) for one, at, role in messages if role == "user")
        fold_words(summary, asked, (self.words(one, lines[at]) for one, at, _ in messages[::-1]))

    def entries(self, cursor: Cursor, chunk: bytes, base: int = 0) -> list[Entry]:
        """Return the messages' places."""
        lines = Lines(chunk)
        found: list[Entry] = []
        for at, record in enumerate(self._records.read_all(lines)):
            if record is None:
                continue
            line = lines[at]
            if self.rewinds(record):
                cursor.rewind()
            role = self.role(record, line)
            if role is not None:
                uuid = self.uuid(record)
                identity = identity_of(uuid) if uuid else identity_of_line(line)
                asks = role == "user" and bool(cursor.tips) and bool(self.asked(record, line))
                parent = cursor.resume() if asks else None
                found.append(Entry(base + lines.bounds[at], len(line), identity, role, parent))
        return found

    def message(self, line: bytes) -> Message | None:
        """Return a line's message."""
        record = self._records.read(line)
        role = None if record is None else self.role(record, line)
        if record is None or role is None:
            return None
        blocks = self.blocks(record, line)
        return Message(
            uuid=self.uuid(record) or uuid_of(identity_of_line(line)),
            role=role,
            text=text_of(blocks),
            timestamp=record.timestamp,
            blocks=blocks,
        )
