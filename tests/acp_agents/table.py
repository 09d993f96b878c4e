"""The table of the documentation that says which agent keeps which case, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[2] / "docs" / "agents-tried.md"
BEGINNING: Final = "<!-- agents and cases: held by 'make agents' -->"

Table = Mapping[str, Mapping[str, str]]


def words_of(test: str) -> str:
    """Return the case that a test function is, in words."""
    return test.removeprefix("test_").replace("_", " ")


def documented() -> Table:
    """Read the table: by case and agent ``yes``, ``no`` or ``refused``."""
    _, _, after = FILE.read_text(encoding="utf-8").partition(BEGINNING)
    lines = after.strip().partition("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def rendered(cells: Mapping[tuple[str, str], str], agents: Iterable[str]) -> list[str]:
    """Return what came out as the lines of such a table; ``""`` where a case was not played."""
    names = list(agents)
    cases = list(dict.fromkeys(case for case, _ in cells))
    rows = [[case, *(cells.get((case, one), "") for one in names)] for case in cases]
    return [
        f"| case | {' | '.join(names)} |",
        f"| --- |{' --- |' * len(names)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
