"""Runs of commands on disk: a record and a log file each, in a directory of their own.

A record is written whole beside its place and renamed into it, so one run's damage is its own.
All functions block: for a thread.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from podiumd.store.connection import make_private
from podiumd.tools.files.durable_file import store_file

PREVIEW_CHARACTERS = 200
_ID = re.compile(r"cmd-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

log = logging.getLogger(__name__)


class CommandRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a command, in the phone protocol's names.

    ``timestamp``: when it was started, RFC 3339 in UTC. ``exit_code`` is ``None`` while it runs,
    128 and the signal's number for one that a signal ended, 127 for one that could not be started
    and -1 where its end was not seen. ``duration_ms`` is ``None`` while it runs.
    """

    command_session_id: str
    command_id: str
    shell_command: str
    working_directory: str
    timestamp: str
    exit_code: int | None = None
    duration_ms: int | None = None
    output_preview: str = ""


def instant(timestamp: str) -> datetime:
    """Parse the moment that a record names. Raises ``ValueError`` where it names none."""
    moment = datetime.fromisoformat(timestamp)
    if moment.tzinfo is None:
        raise ValueError(f"{timestamp!r} does not name its zone")
    return moment


class Shelf:
    """The directory that holds the records and logs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self) -> list[CommandRecord]:
        """Make the directory, clear it of half-made files, and read the records, oldest first.

        Raises ``OSError``.
        """
        make_private(self._directory)
        records = list(self._read())
        known = {one.command_session_id for one in records}
        for path in self._directory.iterdir():
            half_made = path.suffix in (".draft", ".new")  # the second of an earlier release
            if (half_made or (path.suffix == ".log" and path.stem not in known)) and _ID.match(
                path.name
            ):
                path.unlink(missing_ok=True)
        return sorted(records, key=lambda one: (one.timestamp, one.command_session_id))

    def begin(self, record: CommandRecord) -> int:
        """Store a run that is to start; returns the descriptor of its empty log file.

        Durable when it returns. Raises ``OSError``, and then nothing is left of the run.
        """
        path = self.log_path(record.command_session_id)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            self.put(record)
        except BaseException:
            os.close(fd)
            self.remove(record.command_session_id)
            raise
        return fd

    def put(self, record: CommandRecord) -> None:
        """Store the record in place of an earlier one, durably. Raises ``OSError``."""
        store_file(self._record_path(record.command_session_id), msgspec.json.encode(record))

    def remove(self, command_session_id: str) -> None:
        """Delete a run. What cannot be deleted stays, and is tried again another day."""
        for path in (self._record_path(command_session_id), self.log_path(command_session_id)):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                log.warning("%s could not be deleted: %s", path, error.strerror)

    def output(self, command_session_id: str) -> str:
        """Read all that is kept of the run's output; empty where its file is gone."""
        return self._bytes(command_session_id, -1).decode("utf-8", "replace")

    def preview(self, command_session_id: str) -> str:
        """Read the beginning of the run's output, at most 200 characters."""
        start = self._bytes(command_session_id, 4 * PREVIEW_CHARACTERS)
        return start.decode("utf-8", "replace")[:PREVIEW_CHARACTERS]

    def last_sign(self, command_session_id: str) -> float | None:
        """Return when the run wrote its last output, in seconds since the epoch."""
        try:
            return self.log_path(command_session_id).stat().st_mtime
        except OSError:
            return None

    def log_path(self, command_session_id: str) -> Path:
        return self._directory / f"{command_session_id}.log"

    def _record_path(self, command_session_id: str) -> Path:
        return self._directory / f"{command_session_id}.json"

    def _bytes(self, command_session_id: str, most: int) -> bytes:
        try:
            with open(self.log_path(command_session_id), "rb") as file:
                return file.read(most)
        except FileNotFoundError:
            return b""

    def _read(self) -> Iterator[CommandRecord]:
        for path in self._directory.glob("cmd-*.json"):
            try:
                record = msgspec.json.decode(path.read_bytes(), type=CommandRecord)
                instant(record.timestamp)
            except (OSError, ValueError) as error:
                log.warning("%s is left out of the history: %s", path, error)
                continue
            if _ID.fullmatch(path.stem) and record.command_session_id == path.stem:
                yield record
