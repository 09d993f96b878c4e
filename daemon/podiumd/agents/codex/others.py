"""Turns beside ours: of a thread's queued messages, and of sub-agents. Decides, without I/O.

A message of ``codex queue`` begins a turn by itself: when its thread is gone on with, and when a
turn of the thread ends (0.169.0). A prompt that arrives then joins that turn, and has its leave
instead of its own. So a thread that is gone on with has its queue begun by us, message by message
until it is empty, and each such turn is stopped. One that comes while our turn works begins when
that is over, and ends with the process.

Neither is done before the message stands in the thread, where the model will see it: it has left
the queue, and would be lost. It is shown to people, and named in the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podiumd.drivers.base import Output
from podiumd.formats.codex import calls, wire
from podiumd.formats.jsonrpc_lines import Answer

_BEGUN_ALREADY: Final = "already has an active"
_SHOWN: Final = 80


class Others:
    """The other turns of one process, as far as they have come."""

    def __init__(self) -> None:
        self._turns: dict[str, str] = {}
        """Other turns of our thread, by id: the message that each began with, once it is there."""
        self._working: dict[str, str] = {}
        """Names of the sub-agents that work, by their threads."""
        self._begun = 0
        self.drained = True
        """Whether the queue is empty, as far as it had to be."""
        self.quiet = True
        """Whether no message is on its way from the queue into the thread, after our turn."""
        self._ours_ended = self._leaves = False

    def begin(self) -> str:
        """Return the name of the step that begins with the next message of the queue."""
        self.drained = False
        self._begun += 1
        return f"{calls.QUEUE}{self._begun}"

    def asked(self, answer: Answer) -> None:
        """Take the answer to such a step: a refusal says that the queue is empty, but for one turn
        that has begun by itself."""
        self.drained = answer.error is not None and _BEGUN_ALREADY not in answer.error.message

    def ended(self) -> None:
        """Note that our turn has ended: whether a message leaves the queue now is asked."""
        self._ours_ended, self.quiet = True, False

    def changed(self) -> None:
        """Note that the queue has changed: after our turn, that a message has left it."""
        self._leaves = self._ours_ended

    def listed(self) -> None:
        """Take the answer to that question: what had left the queue was said before it."""
        self.quiet = not self._leaves

    def started(self, turn_id: str) -> None:
        """Note a turn of our thread that is not ours."""
        self._turns[turn_id] = ""
        if self._ours_ended:
            self._leaves, self.quiet = True, False

    def over(self) -> None:
        """Note that such a turn has ended, or that its message stands in the thread."""
        if self._leaves:
            self._leaves, self.quiet = False, True

    def is_other(self, turn_id: str) -> bool:
        """Return whether a turn of our thread is not ours."""
        return turn_id in self._turns

    def message(self, turn_id: str, item: wire.ThreadItem) -> Output:
        """Note the message of such a turn; show it."""
        words = " ".join(" ".join(part.text for part in item.content).split())
        self._turns[turn_id] = words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"
        return Output(item.id, "status", f"{self._named(turn_id)}: stopped, it is no part of this")

    def works(self, thread_id: str, name: str) -> None:
        """Note that a sub-agent works."""
        self._working[thread_id] = name

    def rests(self, thread_id: str) -> None:
        """Note that it does not any more."""
        self._working.pop(thread_id, None)

    def cut_off(self) -> Iterator[str]:
        """Name what ended with the process, or was stopped."""
        yield from (f"sub-agent {name}".rstrip() for name in self._working.values())
        yield from (self._named(turn_id) for turn_id in self._turns)

    def _named(self, turn_id: str) -> str:
        words = self._turns[turn_id]
        return f"a message queued in Codex ({words})" if words else "a message queued in Codex"
