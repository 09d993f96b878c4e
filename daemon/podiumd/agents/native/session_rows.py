"""The rows of a session's file: from what is stored of a native turn, and back to earlier turns.

Pure. The rows follow from the turn's facts alone, their uuids from the turn and the place in it. So
they can be made again at any time, and what the file lacks of them after a crash is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from podiumd.agents.native.transcript import Row, RowAction, RowResult
from podiumd.core.ids import derive
from podiumd.core.prompts.context_window import PastTurn
from podiumd.core.prompts.history import TELLING
from podiumd.core.reply.actions import parse_reply
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls

INTERRUPTED = "interrupted: the turn was stopped before this action came to its end"
_NOT_RUN = "Nothing of this reply was done: {}"
_HOOK = "The commit was refused by a hook of the repository: {}"
_TELLING: Final = (*TELLING, "summary")
_LINE_CHARACTERS: Final = 160


class TurnRows:
    """Makes the rows of one turn.

    Parameters: ``prompt`` and ``prompt_uuid`` are what the turn was asked; ``cwd`` is its working
    directory.
    """

    def __init__(self, turn_id: str, prompt: str, prompt_uuid: str, cwd: str) -> None:
        self._turn = turn_id
        self._prompt = prompt
        self._prompt_uuid = prompt_uuid
        self._cwd = cwd

    def of(self, loop: ls.LoopState, at: str, *, since: int = 0, over: bool = False) -> list[Row]:
        """Build the rows that the turn has come to, in order; ``at`` is the present (RFC 3339).

        ``since``: so many replies, with their results, are written already. ``over``: the turn ends
        here, actions that were not done are reported as interrupted.
        """
        rows = [] if since else [self._said(self._prompt_uuid, self._prompt, at)]
        rows += self._words(loop, since, at)
        for one in loop.rounds[since:]:
            rows.append(self._reply(one, at))
            if over or one.due is None:
                rows += self._results(one, at)
            rows += self._words(loop, one.number, at)
        return rows

    def notice(self, text: str, at: str) -> Row:
        """Build the row of the daemon's own words at the end of the turn."""
        return Row(
            type="notice",
            uuid=derive(self._turn, "notice"),
            turn=self._turn,
            timestamp=at,
            text=text,
        )

    def _said(self, uuid: str, text: str, at: str) -> Row:
        return Row(
            type="prompt", uuid=uuid, turn=self._turn, timestamp=at, cwd=self._cwd, text=text
        )

    def _words(self, loop: ls.LoopState, after: int, at: str) -> Iterator[Row]:
        for words in loop.words:
            if words.after == after:
                yield self._said(words.uuid, words.text, at)

    def _reply(self, one: ls.Round, at: str) -> Row:
        actions = (
            RowAction(self._id(one, index), state.action.name, state.action.args)
            for index, state in enumerate(one.actions)
        )
        return Row(
            type="reply",
            uuid=derive(self._turn, "reply", one.number),
            turn=self._turn,
            timestamp=at,
            number=one.number,
            text=one.text,
            said=said(one),
            actions=tuple(actions),
        )

    def _results(self, one: ls.Round, at: str) -> Iterator[Row]:
        """Yield the results of a reply; none for one that was only words."""
        results = tuple(
            self._result(one, index, state.result or _unknown(state))
            for index, state in enumerate(one.actions)
        )
        notes = [_NOT_RUN.format(one.fault)] if one.fault is not None else []
        if one.commit is not None:
            notes.append(_HOOK.format(one.commit.detail))
        if results or notes:
            yield Row(
                type="results",
                # A hook's refusal comes after results that are written already.
                uuid=derive(self._turn, "results", one.number, int(one.commit is not None)),
                turn=self._turn,
                timestamp=at,
                number=one.number,
                text="\n".join(notes),
                results=results,
            )

    def _result(self, one: ls.Round, index: int, result: lf.Result) -> RowResult:
        return RowResult(
            self._id(one, index),
            result.action,
            result.success,
            result.message,
            result.output,
            result.critical,
        )

    def _id(self, one: ls.Round, index: int) -> str:
        return f"{self._turn}/{one.number}/{index}"


def said(one: ls.Round) -> str:
    """Return the words of a reply, without its actions."""
    return parse_reply(one.text, cut=one.stop == "length").prose


def _unknown(state: ls.ActionState) -> lf.Result:
    return lf.Result(action=state.action.name, success=False, message=INTERRUPTED)


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
