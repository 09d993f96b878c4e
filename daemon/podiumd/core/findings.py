"""What is wrong with a recipe: findings with a code, a place and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from podiumd.core.toml_lines import Path, TomlLines


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One fault (``error``) or doubt (``warning``) at a line of ``file``; lines count from 1."""

    code: str
    level: Literal["error", "warning"] = "error"
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


class Notes:
    """Collects the findings of one recipe file and knows on which line each key stands."""

    def __init__(self, file: str, lines: TomlLines) -> None:
        self.file = file
        self.lines = lines
        self.findings: list[Finding] = []

    def add(
        self, code: str, path: Path, message: str, *, line: int | None = None, file: str = ""
    ) -> None:
        """Note an error at the key ``path``; ``line`` and ``file`` override its place."""
        step = str(path[1]) if len(path) > 1 and path[0] == "steps" else None
        place = self.lines.of(path) if line is None else line
        finding = Finding(code=code, step=step, line=place, message=message, file=file or self.file)
        if finding not in self.findings:
            self.findings.append(finding)


def dotted(path: Path) -> str:
    """Write a path as the TOML file would: ``steps.fix.on``, members of arrays as ``[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name is meant, or that there is none: ends a sentence of a finding."""
    match = difflib.get_close_matches(name[:100], list(known), n=1, cutoff=0.0)
    return f"the nearest known is '{match[0]}'" if match else "none is known here"
