"""From what is stored of a native turn to the rows of its session's file. Pure.

The rows follow from the turn's facts alone, their uuids from the turn and the place in it. So they
can be made again at any time, and what the file lacks of them after a crash is added.
"""

from __future__ import annotations

from collections.abc import Iterator

from podiumd.agents.native.transcript import Row, RowAction, RowResult
from podiumd.core.ids import derive
from podiumd.core.reply.actions import parse_reply
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls

INTERRUPTED = "interrupted: the turn was stopped before this action came to its end"
_NOT_RUN = "Nothing of this reply was done: {}"
_HOOK = "The commit was refused by a hook of the repository: {}"


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
