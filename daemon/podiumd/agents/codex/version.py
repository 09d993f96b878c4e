"""Codex of a version that Podium was not tried with: asked for its protocol, once a binary."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from podiumd.formats.codex import drift
from podiumd.tools.process.short_answer import AnsweredTooMuchError, short_answer

TRIED: Final = "0.169.0"
"""The version whose schema lies beside the comparison."""

_VERSION: Final = re.compile(r"\d+\.\d+\S*")

SCHEMA_SECONDS: Final = 10.0
_WRITTEN: Final = "codex_app_server_protocol.schemas.json"
_MOST_NAMED: Final = 3


def untried(said: str) -> str:
    """Mark another version than the tried one, of what ``codex --version`` says; else empty."""
    found = _VERSION.search(said)
    if found is None or found[0] == TRIED:
        return ""
    return f"untried {found[0]}"


class Versions:
    """The binaries that were looked at, by place, size and time."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], str | None] = {}

    def fault(
        self, program: str, environment: Mapping[str, str], seconds: float = SCHEMA_SECONDS
    ) -> str | None:
        """Return what a program lacks of the protocol, in a sentence; ``None`` where nothing.

        Blocks, 0.2 s the first time. A program that writes no schema is left to its turns.
        """
        try:
            seen = Path(program).resolve().stat()
        except OSError:
            return None
        key = (program, seen.st_size, seen.st_mtime_ns)
        if key not in self._known:
            self._known[key] = _fault(program, environment, seconds)
        return self._known[key]


def _fault(program: str, environment: Mapping[str, str], seconds: float) -> str | None:
    theirs = _schema(program, environment, seconds)
    if theirs is None:
        return None
    missing = drift.lacking(_used(), drift.definitions_of(theirs))
    if not missing:
        return None
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    names = ", ".join(missing[:_MOST_NAMED])
    return (
        f"{program} speaks another protocol than Codex {TRIED}: "
        f"missing or narrower there: {names}{more}"
    )


@cache
def _used() -> dict[str, dict[str, Any]]:
    text = Path(drift.__file__).with_name("used.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, Any]])


def _schema(program: str, environment: Mapping[str, str], seconds: float) -> dict[str, Any] | None:
    with tempfile.TemporaryDirectory(prefix="podium-codex-") as folder:
        try:
            wanted = ["app-server", "generate-json-schema", "--experimental", "--out", folder]
            short_answer([program, *wanted], environment, seconds).check_returncode()
            found = json.loads(Path(folder, _WRITTEN).read_bytes())
        except (OSError, ValueError, subprocess.SubprocessError, AnsweredTooMuchError):
            return None
    return found if isinstance(found, dict) else None
