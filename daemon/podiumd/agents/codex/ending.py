"""The report of a turn of Codex: words, tokens and limits, gathered while it goes on."""

from __future__ import annotations

import json
from typing import Any

from podiumd.agents.codex.verdict import End, end_of
from podiumd.core.reply.amounts import tokens
from podiumd.core.reply.report import EndKind, Tokens, TurnReport
from podiumd.drivers.dialect import Ending
from podiumd.drivers.words import Words
from podiumd.formats.codex.wire import RateLimitSnapshot, TokenUsageBreakdown, Turn


class Ends:
    """The turn as far as it has come."""

    def __init__(self) -> None:
        self.turn: Turn | None = None
        """The turn as it ended."""
        self.texts = Words()
        self.limits = RateLimitSnapshot()
        self.refused: End | None = None
        """Why going on makes no sense."""
        self.opened = False
        """The thread is open, and nothing more was wanted."""
        self.bad_lines = self.lost_lines = 0
        self._reason = ""
        self._tokens: Tokens | None = None

    def refuse(self, kind: EndKind, detail: str, reason: str = "") -> None:
        """Note why going on makes no sense; the first reason holds. ``reason``: the run's exit."""
        if self.refused is None:
            self.refused, self._reason = End(kind, detail), reason

    def use(self, last: TokenUsageBreakdown) -> None:
        """Count what a request to the model has used."""
        told = tokens(last.input_tokens, last.cached_input_tokens, last.output_tokens)
        if told is not None:
            so_far = self._tokens or Tokens()
            self._tokens = Tokens(
                so_far.read + told.read,
                so_far.cached + told.cached,
                so_far.written + told.written,
            )

    def report(
        self,
        ending: Ending,
        *,
        forced: tuple[EndKind, str] | None,
        structured: bool,
        prompt_recorded: bool,
        tool_begun: bool,
    ) -> TurnReport:
        """Build the report. ``forced``: an end that was decided from outside."""
        end = End(*forced) if forced is not None else self._end(ending, prompt_recorded)
        texts, answer = self.texts.all(), None
        if structured and texts and (answer := answer_in(texts[-1])) is not None:
            texts.pop()  # it is the answer's form, and no prose
        recorded = ending.aftermath.prompt_recorded
        return TurnReport(
            kind=end.kind,
            detail=end.detail,
            texts=tuple(texts),
            result_text=texts[-1] if texts else "",
            structured=answer,
            tokens=self._tokens,
            seconds=ending.seconds,
            exit_status=ending.exit_status,
            api_status=end.status,
            resets_at=end.resets_at,
            background_stopped=ending.background_stopped,
            prompt_recorded=prompt_recorded if recorded is None else recorded,
            tool_begun=tool_begun,
            bad_lines=self.bad_lines,
            mark=ending.aftermath.mark,
            reason=self._reason if end is self.refused else "",
        )

    def _end(self, ending: Ending, taken_up: bool) -> End:
        if self.refused is not None:
            return self.refused
        if self.opened:
            return End("done")
        if self.turn is not None:
            end = end_of(self.turn, self.limits)
            if end.kind != "done" or not self.lost_lines:
                return end
            return End("broken", f"{self.lost_lines} lines of Codex's output cannot be read")
        status = ending.exit_status
        how = "" if status is None else f" with status {status}"
        said = f": {ending.detail}" if ending.detail else ""
        # A program that gives up by itself at its start would do so again; one that had begun, was
        # killed, or whose status is unknown, was cut off.
        gave_up = status is not None and status >= 0 and not taken_up
        return End("failed" if gave_up else "broken", f"Codex ended{how} before its turn did{said}")


def answer_in(text: str) -> dict[str, Any] | None:
    """Return an answer that was asked for as JSON, without members that are null."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {key: value for key, value in found.items() if value is not None}
