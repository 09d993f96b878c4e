"""What differs from one recording to the next becomes a name in angle brackets, and nothing else.

An id that the scenario has named is called that everywhere; others are numbered in a recording in
the order of their first appearance, so the same one has the same number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from podiumd import __version__

MEASURED: Final = frozenset(
    (
        *("pid", "proc_start", "group", "mono", "pos", "seconds", "seconds_left", "work_seconds"),
        *("waited_seconds", "duration_ms", "duration_s", "latency_ms", "bytes", "size", "unused"),
        *("vacuumed", "audio", "token", "qr", "png", "digest", "fingerprint", "version", "release"),
    )
)
"""Names of fields whose values are measured, made up, or those of this release."""

ROOT: Final = Path(__file__).resolve().parents[2]
_KINDS: Final = {
    "id": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])",
    "commit": r"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])|(?<=committed )[0-9a-f]{12}\b",
    "cut": r"(?<=_id=)[0-9a-f-]+…",
    "call": r"(?<=mcp-)[0-9a-f]{32}",
    "time": r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"
    r"|\b\d\d:\d\d:\d\d(?:\.\d+)?",
    "duration": r"(?<![\w.])\d+(?:\.\d+)? (?:(?:s|ms|min|h)(?: ago)?|days ago)\b"
    r"|(?<![\w:.])\d+:\d\d(?::\d\d)?(?![\w:])|(?<=seconds=)[\d.]+"
    r"|(?m:^now(?=  )|(?<=  )now(?=  |$| \())",
    "size": r"(?<![\w.])\d+(?:\.\d+)? [KMG]?B\b",
    "pid": r"(?<=pid )\d+",
    "key": r"(?<=untethered-)[0-9a-f]{32}",
    "invitation": r"(?<=/pair#)[\w-]{22}",
    "typed": r"(?<![\w-])[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}(?![\w-])",
}
_PLACES: Final = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _KINDS.items()))
FIXED_TIMES: Final = ("2026-01-02", "2099-01-01")
"""Days that the world itself has set."""


class Names:
    """The names of what the scenario knows, and of the temporary home."""

    def __init__(self, home: Path, port: int) -> None:
        self._given: dict[str, str] = {}
        cut = f"{home}"[: -len("xxxxxxxx")]
        self._places = {
            rf"{cut}\w{{0,7}}…": "<home>…",
            re.escape(f"{home}"): "<home>",
            rf"{re.escape(str(ROOT))}/[\w/]*(?=/recipes/)": "<package>",
            re.escape(str(ROOT)): "<checkout>",
            home.name: "<home>",
            rf"(?<!\w){port}(?!\w)": "<port>",
            r"(?<![\w.])" + re.escape(__version__) + r"(?![\w.])": "<version>",
        }

    def give(self, identifier: str, name: str) -> str:
        """Call an id so; returns the id."""
        assert self._given.setdefault(identifier, f"<{name}>") == f"<{name}>"
        return identifier

    def recording(self) -> Placeholders:
        """The placeholders of one recording."""
        return Placeholders(self._given, self._places)


class Placeholders:
    """The placeholders of one recording."""

    def __init__(self, given: Mapping[str, str], places: Mapping[str, str]) -> None:
        self._given = given
        self._numbered: dict[str, str] = {}
        self._places = places

    def value(self, value: Any, field: str = "") -> Any:
        """A JSON value with its placeholders."""
        if isinstance(value, dict):
            if {"terms", "complete"} <= value.keys():  # whether there was time for all
                value = {**value, "complete": "<complete>"}
            return {self.text(name): self.value(one, name) for name, one in value.items()}
        if isinstance(value, list):
            if field == "ways":  # their words name this machine
                return [{**one, "text": "<text>"} for one in value]
            return [self.value(one, field) for one in value]
        if field in MEASURED and isinstance(value, str | int | float):
            return value if isinstance(value, bool) or value == "" else f"<{field}>"
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        """A text with its placeholders."""
        for place, name in self._places.items():
            text = re.sub(place, name, text)
        return _PLACES.sub(self._placeholder, text)

    def shown(self, text: str) -> str:
        """What a person was shown, with its placeholders. How wide a column is depends on what
        stands in it, so nothing of that is kept."""
        return re.sub(r"(?<=\S) {2,}", "  ", self.text(text))

    def _placeholder(self, found: re.Match[str]) -> str:
        whole, kind = found[0], found.lastgroup
        if kind in ("id", "commit"):
            for identifier, name in self._given.items():
                if identifier.startswith(whole):
                    return name
            return whole if kind == "commit" else self._number(whole)
        if kind == "time" and whole.startswith(FIXED_TIMES):
            return whole
        return f"<{kind}>"

    def _number(self, identifier: str) -> str:
        for known, name in self._numbered.items():
            shown_short = len(identifier) != len(known)
            if identifier == known or (shown_short and identifier[:8] == known[:8]):
                return name
        return self._numbered.setdefault(identifier, f"<id {len(self._numbered) + 1}>")
