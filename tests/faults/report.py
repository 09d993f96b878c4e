"""The campaign as a table: one line for each point and kind of kill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from tests.faults.trial import Result
from tests.faults.trials import Trial

_COLUMNS = ("ended", "prompts", "effects", "whole", "children")
_HEAD = (
    *("point", "kill", "trials", "ended as", "prompts", "effects", "log and", "children"),
    "verdict",
)
_HEAD_2 = ("", "", "", "promised", "once", "once", "stream", "left", "")


def _row(name: str, kind: str, results: Sequence[Result]) -> tuple[str, ...]:
    cells = []
    for column in _COLUMNS:
        bad = sum(bool(result.findings.wrong[column]) for result in results)
        cells.append(str(bad if column == "children" else len(results) - bad))
    verdict = "ok" if all(result.findings.good for result in results) else "FAILED"
    return (name, kind, str(len(results)), *cells, verdict)


def table(results: Iterable[Result]) -> str:
    """Return the table of all trials, with a line for their total."""

    def key(result: Result) -> tuple[str, str]:
        return result.trial.point, result.trial.kind

    ordered = sorted(results, key=key)
    rows: list[tuple[str, ...]] = [_HEAD, _HEAD_2]
    rows += [_row(*names, list(group)) for names, group in groupby(ordered, key=key)]
    rows.append(_row("total", "", ordered))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if 2 <= at < 8 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "-" * max(map(len, lines))
    return "\n".join([*lines[:2], rule, *lines[2:-1], rule, lines[-1]])


def again(trial: Trial, seed: int) -> str:
    """Return the command that runs one trial again."""
    return f"python -m tests.faults.campaign --seed {seed} --only {trial.name}"


def failure(result: Result, seed: int) -> str:
    """Return what was wrong in a trial, where its state is, and how to run it again."""
    lines = [f"FAILED {result.trial.name}: its state is kept in {result.directory}"]
    lines += [f"  {line}" for one in result.findings.lines() for line in one.splitlines()]
    return "\n".join([*lines, f"  again: {again(result.trial, seed)}"])


def control(results: Sequence[Result], planned: int) -> str:
    """Say whether the trials of the control have doubled prompts, as they must."""
    if not planned:
        return ""
    doubled = sum(
        any(" stands 2 times" in line for line in one.findings.lines()) for one in results
    )
    words = f"without marks {doubled} of {planned} prompts that were not read yet came twice"
    if doubled == planned:
        return f"The control: {words}."
    return f"FAILED the control: {words}, so this campaign proves nothing of marks"
