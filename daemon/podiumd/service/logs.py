"""The daemon's log as people want to see it: of a level, since a time.

It is read from the journal under systemd, else from the file in STATE.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from podiumd.observe.logs import text_value
from podiumd.observe.redaction import escape
from podiumd.service.arguments import LEVELS
from podiumd.service.systemd import SERVICE
from podiumd.tools.files.plain_file import is_file

_TEXT: Final = re.compile(r"(?P<ts>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<level>[A-Z]+) ")
_AGO: Final = re.compile(r"(?P<number>\d{1,9})\s*(?P<unit>s|m|h|d|w)(?:in|ec)?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

MOST_LINES: Final = 1000
"""Shown of a log without ``--since``."""

_STOP_SECONDS: Final = 5.0


class NoLog(Exception):
    """There is no log yet; the text says where one would be."""


def journal(after: datetime | None, *, follow: bool) -> tuple[str, ...]:
    """Build the command that prints the service's lines from the journal."""
    span = ["--lines", str(MOST_LINES)] if after is None else [f"--since=@{int(after.timestamp())}"]
    return (
        "journalctl",
        "--user",
        f"--user-unit={SERVICE}",
        "--output=cat",
        "--no-pager",
        "--quiet",
        *span,
        *(["--follow"] if follow else []),
    )


def tail(file: Path, after: datetime | None, *, follow: bool) -> tuple[str, ...]:
    """Build the command that prints the lines of a file. Raises ``NoLog``."""
    if not file.exists():
        raise NoLog(f"There is no log at {file}: no daemon has run here yet.")
    if not is_file(file):  # tail would wait for ever for the writer of a pipe
        raise NoLog(f"What is at {file} is no regular file: move it away.")
    lines = str(MOST_LINES) if after is None else "+1"
    # -F goes on with the next file when this one is turned over.
    return ("tail", "-n", lines, *(["-F"] if follow else []), str(file))


@contextmanager
def lines_of(argv: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[Iterator[str]]:
    """Yield the lines that a program prints; it is ended when the context is left."""
    process = subprocess.Popen(
        argv,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if argv[0] == "tail" else sys.stderr,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    try:
        yield iter(process.stdout)
    finally:
        process.stdout.close()
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Line(NamedTuple):
    """A line: time, severity, and the text for people, in which nothing can change a terminal.

    ``ts`` and ``level`` are empty where it is no line of the log: output of the interpreter before
    there was one.
    """

    ts: str
    level: str
    text: str


def parse(line: str) -> Line:
    """Read a line of either format, JSON or text."""
    stripped = line.rstrip("\n")
    if stripped.startswith("{"):
        try:
            record = json.loads(stripped)
            return Line(str(record["ts"]), str(record["level"]), _as_text(record))
        except (ValueError, KeyError, TypeError, RecursionError):
            return Line("", "", _plain(stripped))
    match = _TEXT.match(stripped)
    if match is None:
        return Line("", "", _plain(stripped))
    return Line(match["ts"], match["level"].lower(), _plain(stripped))


def _plain(text: str) -> str:
    """Escape what could change a terminal; a tab, as tracebacks have it, is left."""
    return "\t".join(escape(part) for part in text.split("\t"))


def _as_text(record: dict[str, object]) -> str:
    fixed = ("ts", "level", "event")
    given = [f"{k}={text_value(v)}" for k, v in record.items() if k not in fixed and v is not None]
    head = f"{record['ts']} {str(record['level']).upper()} {record.get('event', '')}"
    return " ".join([escape(head), *given])


def since(words: str, now: datetime) -> datetime:
    """Read ``10m``, ``2h``, ``1d``, or an RFC 3339 time. ``now`` is in UTC.

    Raises ``ValueError`` with a sentence for people.
    """
    match = _AGO.fullmatch(words.strip())
    try:
        if match is not None:
            ago = int(match["number"]) * _SECONDS[match["unit"]]
            return now - timedelta(seconds=ago)
        return datetime.fromisoformat(words.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"--since is {words!r}: give an age like 10m, 2h or 1d, or a time like "
            "2026-01-31T18:00:00Z."
        ) from None


def chosen(lines: Iterable[str], level: str, after: datetime | None) -> Iterator[Line]:
    """Yield the lines that are at least as grave as ``level`` and not older than ``after``.

    A line that is not of the log belongs to the one before it; at the beginning it is shown.
    """
    least = LEVELS.index(level)
    bound = "" if after is None else after.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    showing = True
    for raw in lines:
        line = parse(raw)
        if line.ts:
            grave = LEVELS.index(line.level) if line.level in LEVELS else len(LEVELS)
            showing = grave >= least and line.ts >= bound
        if showing:
            yield line
