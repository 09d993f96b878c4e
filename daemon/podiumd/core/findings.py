"""Faults of a recipe: findings with a code, a place and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, Literal

import msgspec

from podiumd.core.toml_lines import Path, TomlLines

#: Most findings reported of one recipe. A file may come from a stranger, and one that is wrong in
#: thousands of places shall not cost more than this.
MOST_FINDINGS: Final = 100
#: Among how many known names the nearest is looked for: each comparison has its price.
_MOST_COMPARED: Final = 200
_ALIKE: Final = 0.6  # of 1; a nearest name below it is a guess that helps no person
_MOST_LISTED: Final = 8

Level = Literal["error", "warning"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault (``error``) or doubt (``warning``) at a line of ``file``; lines count from 1."""

    code: str
    level: Level = "error"
    step: str | None = None
    line: int | None = None
    message: str
    file: str


class RecipeInvalid(ValueError):
    """A recipe cannot be used. ``findings`` are all its faults, ``id`` its id where it has one."""

    def __init__(self, findings: Sequence[Finding], id: str | None = None) -> None:
        super().__init__("; ".join(f"{f.file}:{f.line}: {f.code}: {f.message}" for f in findings))
        self.findings = tuple(findings)
        self.id = id


class TooManyFindings(Exception):
    """Signal that there are MOST_FINDINGS already: no person reads more."""


class Notes:
    """Collects the findings of one recipe file and knows on which line each key stands."""

    def __init__(self, file: str, lines: TomlLines) -> None:
        self.file = file
        self.lines = lines
        self.findings: list[Finding] = []

    def add(
        self,
        code: str,
        path: Path,
        message: str,
        *,
        line: int | None = None,
        file: str = "",
        level: Level = "error",
    ) -> None:
        """Note a fault at the key ``path``; ``line`` and ``file`` override its place.

        Raises TooManyFindings.
        """
        step = str(path[1]) if len(path) > 1 and path[0] == "steps" else None
        finding = Finding(
            code=code,
            level=level,
            step=step,
            line=self.lines.of(path) if line is None else line,
            message=message,
            file=file or self.file,
        )
        if finding in self.findings:
            return
        if len(self.findings) == MOST_FINDINGS:
            raise TooManyFindings
        self.findings.append(finding)

    def warn(self, code: str, path: Path, message: str) -> None:
        """Note a doubt at the key ``path``."""
        self.add(code, path, message, level="warning")

    def sorted(self) -> list[Finding]:
        """List the findings in the order of the file."""
        return sorted(self.findings, key=lambda finding: finding.line or 0)


def dotted(path: Path) -> str:
    """Write a path as the TOML file would: ``steps.fix.on``, members of arrays as ``[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def closest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is meant; ``None`` where none is like it."""
    match = difflib.get_close_matches(name[:100], known, n=1, cutoff=_ALIKE)
    return match[0] if match else None


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name is meant, or which are known: ends a sentence of a finding."""
    some = [one[:100] for one in islice(known, _MOST_COMPARED)]
    match = closest(name, some)
    if match is not None:
        return f"the nearest known is '{match}'"
    if len(some) > _MOST_LISTED:
        return "none of those known here is like it"
    listed = ", ".join(f"'{one}'" for one in some)
    return f"known here: {listed}" if listed else "none is known here"
