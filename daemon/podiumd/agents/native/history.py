"""The earlier turns of a session as the model gets them, from the rows of its file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from podiumd.agents.native.transcript import Row, RowAction
from podiumd.core.prompts.context_window import PastTurn
from podiumd.core.prompts.history import TELLING

_TELLING: Final = (*TELLING, "summary")
_LINE_CHARACTERS: Final = 160


def past_turns(rows: Iterable[Row], present: str) -> tuple[PastTurn, ...]:
    """List the turns before the one whose id is ``present``, oldest first."""
    turns: dict[str, list[Row]] = {}
    for row in rows:
        if row.turn != present:
            turns.setdefault(row.turn, []).append(row)
    return tuple(_turn(rows) for rows in turns.values())


def _turn(rows: Sequence[Row]) -> PastTurn:
    prompts = [row.text for row in rows if row.type == "prompt"]
    return PastTurn(prompt="\n\n".join(prompts), answer=_answer(rows), did=tuple(_did(rows)))


def _answer(rows: Sequence[Row]) -> str:
    """Return the last words of the turn, with the model's summary as it was done."""
    for row in reversed(rows):
        if row.type == "reply":
            sums = [str(one.args.get("summary", "")) for one in row.actions if one.name == "done"]
            parts = [part for part in (row.said, *sums) if part.strip()]
            if parts:
                return "\n\n".join(parts)
    return ""


def _did(rows: Sequence[Row]) -> Iterable[str]:
    """Yield each action of the turn in a line, with its result; then the fate of the changes."""
    actions = {one.id: one for row in rows for one in row.actions}
    for row in rows:
        for result in row.results:
            if result.action != "done":
                action = actions.get(result.id)
                went = "" if result.success else "failed: "
                yield f"{_what(result.action, action)}: {went}{_cut(result.message)}"
    yield from (_cut(row.text) for row in rows if row.type == "notice")


def _what(name: str, action: RowAction | None) -> str:
    args: dict[str, Any] = action.args if action is not None else {}
    found = next((args[key] for key in _TELLING if isinstance(args.get(key), str)), "")
    return f"{name} {_cut(found)}".strip()


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARACTERS else f"{line[: _LINE_CHARACTERS - 1]}…"
