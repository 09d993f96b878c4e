"""The report of a turn: the agent's words and its end, gathered while it goes on."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from podiumd.core.reply.amounts import tokens
from podiumd.core.reply.report import EndKind, Tokens, TurnReport
from podiumd.drivers.dialect import Ending
from podiumd.drivers.words import Words
from podiumd.formats.acp.wire import AUTH_REQUIRED, PromptResponse
from podiumd.formats.jsonrpc_lines import Failure

_STATUS: Final = re.compile(r"(?:HTTP|status:?|error:?)\s*\(?(4\d\d|5\d\d)\b", re.IGNORECASE)
_ERROR: Final = re.compile(r"\s*(?:Error: |exceeded retry limit|unexpected status )")
_RETRIED: Final = re.compile(r"\s*(?:Info: Request failed [^\n]*?Retrying\.\.\.\s*)+")
_REASONS: Final = {
    "max_tokens": "the answer was longer than the model may write",
    "max_turn_requests": "the agent asked its model as often as it may in a turn",
    "refusal": "the model refused to go on",
}


class End(msgspec.Struct, frozen=True):
    """An end: ``status`` is the provider's answer."""

    kind: EndKind
    detail: str = ""
    status: int | None = None


class Ends:
    """The turn as far as it has come. ``errors_as_text``: a failure may come as the answer."""

    def __init__(self, *, errors_as_text: bool) -> None:
        self._errors_as_text = errors_as_text
        self.texts = Words()
        self.end: End | None = None
        """The turn as it ended."""
        self.refused: End | None = None
        """Why going on makes no sense."""
        self.bad_lines = self.lost_lines = 0
        self.tokens: Tokens | None = None
        self._cost = self._cost_before = 0.0

    def costs(self, told: float | None, *, before: bool) -> None:
        """Note what the session costs so far; ``before``: without this turn."""
        if told is not None and before:
            self._cost_before = told
        self._cost = self._cost if told is None else max(self._cost, told)

    def refuse(self, detail: str) -> None:
        """Note why going on makes no sense; the first reason holds."""
        if self.refused is None:
            self.refused = End("failed", detail)

    def opened(self) -> None:
        """Note that the session is open, and nothing more was wanted."""
        self.end = End("done")

    def failed(self, error: Failure) -> None:
        """Note an end that is an error."""
        words = error.message.rstrip(".")
        status = error.code if 400 <= error.code < 600 else _status_in(words)
        if error.code == AUTH_REQUIRED:
            status = 401
        self.end = End("api_error", words, status)

    def over(self, done: PromptResponse, *, tool_begun: bool) -> None:
        """Note the agent's own end of the turn. That it ended says not that it succeeded."""
        if (usage := done.usage) is not None:
            cached = usage.cached_read_tokens
            whole = usage.input_tokens
            self.tokens = tokens(
                whole if whole >= cached else whole + cached, cached, usage.output_tokens
            )
        reason = done.stop_reason
        if reason == "cancelled":
            self.end = End("interrupted", "the turn was stopped")
        elif reason in _REASONS:
            self.end = End("failed", _REASONS[reason])
        elif self._is_error(tool_begun=tool_begun):
            words = "".join(self.texts.all()).strip()
            said = _RETRIED.sub("", words, count=1) or words
            self.end = End("api_error", said, _status_in(said))
        else:
            self.end = End("done")

    def _is_error(self, *, tool_begun: bool) -> bool:
        words = "".join(self.texts.all())
        if not self._errors_as_text or tool_begun or not words:
            return False
        wrote = self.tokens is not None and self.tokens.written > 0
        said = _RETRIED.sub("", words, count=1)
        return not wrote and (not said or _ERROR.match(said) is not None)

    def report(self, ending: Ending, *, prompt_recorded: bool, tool_begun: bool) -> TurnReport:
        """Build the report."""
        end = self._judged(ending)
        texts = tuple(self.texts.all())
        return TurnReport(
            kind=end.kind,
            detail=end.detail,
            texts=texts,
            result_text=texts[-1] if texts else "",
            cost_usd=max(0.0, self._cost - self._cost_before),
            tokens=self.tokens,
            seconds=ending.seconds,
            exit_status=ending.exit_status,
            api_status=end.status,
            background_stopped=ending.background_stopped,
            prompt_recorded=prompt_recorded,
            tool_begun=tool_begun,
            bad_lines=self.bad_lines,
        )

    def _judged(self, ending: Ending) -> End:
        if ending.kind is not None:
            return End(ending.kind, ending.detail)
        found = self.refused or self.end
        if found is not None:
            if found.kind != "done" or not self.lost_lines:
                return found
            return End("broken", f"{self.lost_lines} lines of the agent's output cannot be read")
        status = ending.exit_status
        how = "" if status is None else f" with status {status}"
        said = f": {ending.detail}" if ending.detail else ""
        # A program that gives up by itself at its start would do so again; one that was killed, or
        # whose status is unknown, was cut off.
        gave_up = status is not None and status >= 0 and not self.texts
        kind: EndKind = "failed" if gave_up else "broken"
        return End(kind, f"the agent ended{how} before its turn did{said}")


def _status_in(words: str) -> int | None:
    found = _STATUS.search(words)
    return None if found is None else int(found[1])
