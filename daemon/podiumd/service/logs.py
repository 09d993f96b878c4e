"""The source of the daemon's log: the journal under systemd, else the file in STATE."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from podiumd.service import units

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
        f"--user-unit={units.SERVICE}",
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
