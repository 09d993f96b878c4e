"""Structured logs: one event a line, secrets out before any sink, never the daemon's death.

``log("Transition", run_id=..., outcome=...)`` is the whole interface. Records of libraries pass
through the same formatters.
"""

from __future__ import annotations

import contextlib
import json
import logging
import logging.handlers
import math
import os
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal

from podiumd.observe.redaction import HIDDEN, escape, is_secret_name, redact

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["text", "json"]

CONTEXT: Final = ("run_id", "session_id", "recipe_id", "step")
_LEVELS: Final[dict[str, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_LONGEST_VALUE: Final = 8192
_LOOKED_THROUGH: Final = 64 * 1024  # for secrets, before a text is cut: half of one is none
_FILE_BYTES: Final = 10 * 1024 * 1024
_OLD_FILES: Final = 3
_JSON: Final = json.JSONEncoder(default=str)
_logger = logging.getLogger("podium")


def log(
    event: str, level: Level = "info", *, exception: BaseException | None = None, **fields: Any
) -> None:
    """Write one event.

    ``fields`` are JSON-able values; ``run_id``, ``session_id``, ``recipe_id`` and ``step`` stand
    first in every line. ``exception`` adds its traceback. Never raises.
    """
    number = _LEVELS[level]
    if _logger.isEnabledFor(number):
        _logger.log(number, "%s", event, exc_info=exception, extra={"podium": fields})


def set_up(
    format: Format, *, file: Path | None = None, stream: IO[str] | None = None
) -> logging.Handler:
    """Send all records to ``file`` (0600, turned over at 10 MiB, three old ones kept), else to
    ``stream`` (default: standard error). Replaces what was set up before; returns the handler.

    Raises OSError when the file cannot be opened.
    """
    handler = LogFile(file) if file else LogStream(stream or sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old, (LogFile, LogStream)):
            root.removeHandler(old)
            old.close()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    _logger.setLevel(logging.INFO)
    return handler


def _fields(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """Return the event and its fields, clean; a library's record is an event named by its text."""
    given: Mapping[str, Any] | None = getattr(record, "podium", None)
    fields = {name: _clean(name, value) for name, value in (given or {}).items()}
    if given is None:
        fields["logger"] = record.name
    if record.exc_info and record.exc_info[1] is not None:
        lines = "".join(traceback.format_exception(record.exc_info[1], limit=-20))
        fields["exception"] = redact(lines[-_LOOKED_THROUGH:])[-_LONGEST_VALUE:]
    return _cut(record.getMessage()), fields


def _cut(text: str) -> str:
    return redact(text[:_LOOKED_THROUGH])[:_LONGEST_VALUE]


def _clean(name: str, value: Any) -> Any:
    if is_secret_name(name) and not isinstance(value, (int, float, type(None))):
        return HIDDEN
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, Mapping):
        return {_cut(str(key)): _clean(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str):
        return [_cut(value[0]), _clean(value[0], value[1])]  # it may be a header
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean("", item) for item in value]
    if isinstance(value, (bool, int, type(None))):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _cut(str(value))


def _timestamp(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.created * 1000) % 1000:03d}Z"


class JsonLines(logging.Formatter):
    """Formatter of one JSON object a line, ASCII only: no character of a value can end the line."""

    def format(self, record: logging.LogRecord) -> str:
        event, fields = _fields(record)
        line: dict[str, Any] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "event": event,
        }
        for name in CONTEXT:
            line[name] = fields.pop(name, None)
        return _JSON.encode(line | fields)


class TextLines(logging.Formatter):
    """``TIME LEVEL EVENT name=value ...``: for people, escaped so that a line cannot be forged."""

    def format(self, record: logging.LogRecord) -> str:
        event, fields = _fields(record)
        parts = [_timestamp(record), record.levelname, escape(event)]
        names = (*CONTEXT, *(name for name in fields if name not in CONTEXT))
        given = (name for name in names if fields.get(name) is not None)
        parts.extend(f"{name}={text_value(fields[name])}" for name in given)
        return " ".join(parts)


def text_value(value: Any) -> str:
    """Format a value of a field as a line for people has it."""
    if isinstance(value, str) and value and not any(mark in value for mark in ' "=\t\n'):
        return escape(value)
    return escape(json.dumps(value, ensure_ascii=False, default=str))


class _Lossy(logging.Handler):
    """A sink that cannot write loses the line and says so later, instead of failing its caller."""

    lost = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name logging calls
        self.lost += 1

    def emit(self, record: logging.LogRecord) -> None:
        before = self.lost
        super().emit(record)
        if before and self.lost == before:
            self.lost = 0
            notice = {"msg": "Log lines lost", "levelname": "WARNING", "podium": {"count": before}}
            super().emit(logging.makeLogRecord(notice))


class LogStream(_Lossy, logging.StreamHandler[IO[str]]):
    """Lines to a stream that stays open when this handler is closed."""


class LogFile(_Lossy, logging.handlers.RotatingFileHandler):
    """Lines to a private file of bounded size."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=_FILE_BYTES, backupCount=_OLD_FILES, encoding="utf-8")

        self._formatted: tuple[logging.LogRecord | None, str] = None, ""

    def format(self, record: logging.LogRecord) -> str:
        """Format the line of a record, once: the base class asks for its length first."""
        if record is not self._formatted[0]:
            self._formatted = record, super().format(record)
        return self._formatted[1]

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - its name there
        """Return whether the line would make the file too long.

        The base class looks first at what is there by its name, at each line; here only where it
        would.
        """
        if self.stream is not None:
            size = os.fstat(self.stream.fileno()).st_size
            if size + len(self.format(record)) + 1 < self.maxBytes:
                return False
        return bool(super().shouldRollover(record))

    def _open(self) -> Any:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.baseFilename, flags, 0o600)
        os.fchmod(descriptor, 0o600)
        _end_last_line(descriptor)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")


def _end_last_line(descriptor: int) -> None:
    """End a last line that a full disk cut: the next one must not run into it.

    Its process ended before it could.
    """
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        with contextlib.suppress(OSError):  # it is full still: so is the next line's place
            os.write(descriptor, b"\n")
