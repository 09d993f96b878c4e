"""Texts of the replies of a native turn: between its requests a reply does not change.

The text after a reply changes only with a file that it has shown. Each text is made where it is
first asked for; sizes stay, and of long texts those that are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from operator import attrgetter
from typing import Final, Protocol

from podiumd.core.prompts.history import (
    Seen,
    feedback,
    known_after,
    readings,
    reply_text,
    said_after,
    stale,
    summary_of,
    working_set,
)
from podiumd.core.reply.model_message import Message
from podiumd.core.run.native_loop_state import LoopState, Round
from podiumd.core.sizes import size_of

A_MESSAGE: Final = 16
"""Bytes for what stands around the text of a message."""

_SENT: Final = attrgetter("sent")
_MADE: Final = (
    *("full", "full_size", "sent"),
    *("brief", "brief_size", "briefly_sent"),
    *("summary", "summary_size"),
)


class Render(Protocol):
    """Makes the text that goes back after a reply; see ``retelling.feedback``."""

    def __call__(
        self,
        round_: Round,
        said: tuple[str, ...],
        *,
        old: Mapping[int, str],
        outputs: bool = True,
        room: int | None = None,
    ) -> str: ...


class Telling:
    """A reply and what comes back after it, in each form that it can be sent in."""

    def __init__(self, round_: Round, render: Render) -> None:
        self.round = round_
        self.known = known_after(round_)
        self._readings = readings(round_)
        self._render = render
        self._said: tuple[str, ...] = ()
        self._old: dict[int, str] = {}

    @property
    def paths(self) -> set[str]:
        """Return the paths of the files that are shown."""
        return {reading.path for reading in self._readings}

    def look(self, said: tuple[str, ...], digests: Mapping[str, str | None]) -> bool:
        """Forget what is no longer true: a person has written more, or a file is another by now."""
        old = stale(self._readings, digests)
        if (said, old) == (self._said, self._old):
            return False
        self._said, self._old = said, old
        for name in _MADE:
            self.__dict__.pop(name, None)
        return True

    @cached_property
    def reply(self) -> str:
        return reply_text(self.round)

    @cached_property
    def reply_size(self) -> int:
        return size_of(self.reply) + 2 * A_MESSAGE

    @cached_property
    def full(self) -> str:
        return self._render(self.round, self._said, old=self._old)

    @cached_property
    def full_size(self) -> int:
        return size_of(self.full)

    @cached_property
    def sent(self) -> tuple[Message, Message]:
        return Message("assistant", self.reply), Message("user", self.full)

    @cached_property
    def brief(self) -> str:
        """Without long outputs."""
        return self._render(self.round, self._said, old=self._old, outputs=False)

    @cached_property
    def brief_size(self) -> int:
        return size_of(self.brief)

    @cached_property
    def briefly_sent(self) -> tuple[Message, Message]:
        return Message("assistant", self.reply), Message("user", self.brief)

    @cached_property
    def summary(self) -> list[str]:
        return summary_of(self.round, self._said)

    @cached_property
    def summary_size(self) -> int:
        """Return the bytes of the summary with an end of line after each line."""
        return sum(size_of(line) + 1 for line in self.summary)

    def cut(self, room: int) -> str:
        """Render the message with each output cut to ``room`` characters."""
        return self._render(self.round, self._said, old=self._old, room=room)

    def drop(self) -> None:
        """Let go of the full text, which is not sent any more; its size stays known."""
        self.__dict__.pop("full", None)
        self.__dict__.pop("sent", None)


class _Sums:
    """Running sums of the sizes of the first replies."""

    def __init__(self, size: Callable[[Telling], int]) -> None:
        self._size = size
        self._sums = [0]

    def of(self, tellings: Sequence[Telling], count: int) -> int:
        """Return the sum of the first ``count``; those already summed are not looked at."""
        known = len(self._sums) - 1
        if count > known:
            more = map(self._size, tellings[known:count])
            self._sums[known:] = accumulate(more, initial=self._sums[known])
        return self._sums[count]

    def forget(self, index: int) -> None:
        """Forget the sums that include the reply ``index``, which has changed."""
        del self._sums[index + 1 :]


class KeptTexts:
    """The texts of one turn; ``render`` makes those that are not known yet.

    A request looks at what is new since the one before: replies, words of a person, files.
    """

    def __init__(self, render: Render = feedback) -> None:
        self._render = render
        self._rounds: tuple[Round, ...] = ()
        self._tellings: list[Telling] = []
        self._settled: dict[str, Seen] = {}  # the working set before the last reply
        self._settled_count = 0
        self._showing: dict[str, set[int]] = {}  # which replies show a file
        self._new = 0  # from here on they have not been looked at
        self._said: dict[int, tuple[str, ...]] = {}
        self._digests: dict[str, str | None] = {}
        self._kept_from = 0  # what is before goes without its full text
        self._full = _Sums(lambda one: one.reply_size + one.full_size)
        self._brief = _Sums(lambda one: one.reply_size + one.brief_size)
        self._summary = _Sums(lambda one: one.summary_size)

    @property
    def last(self) -> Telling | None:
        return self._tellings[-1] if self._tellings else None

    def working_set(self, loop: LoopState) -> dict[str, Seen]:
        """Return the working set of the turn, the latest file last, as the model knows it."""
        self._take(loop.rounds)
        return working_set(self.last.known if self.last else (), self._settled)

    def look(self, loop: LoopState, digests: Mapping[str, str | None]) -> None:
        """Take up the turn as it is now, and its files as ``digests`` say."""
        self._take(loop.rounds)
        said = said_after(loop)
        words = {number - 1 for number, _ in said.items() ^ self._said.items()}
        files = {path for path, _ in digests.items() ^ self._digests.items()}
        shown = chain.from_iterable(self._showing.get(path, ()) for path in files)
        count = len(self._tellings)
        for index in {*range(self._new, count), *words, *shown}:
            if 0 <= index < count and self._tellings[index].look(
                said.get(self._tellings[index].round.number, ()), digests
            ):
                self._forget(index)
        self._new, self._said, self._digests = count, said, dict(digests)

    def full_size(self, start: int) -> int:
        """Return the bytes of the replies from ``start`` on, in full."""
        full, count = self._full, len(self._tellings)
        return full.of(self._tellings, count) - full.of(self._tellings, start)

    def brief_size(self, start: int, end: int) -> int:
        """Return the bytes of the replies ``start`` to ``end`` without long outputs."""
        brief = self._brief
        return brief.of(self._tellings, end) - brief.of(self._tellings, start)

    def summary_size(self, count: int) -> int:
        """Return the bytes of the first summaries, with an end of line for each line."""
        return self._summary.of(self._tellings, count)

    def summaries(self, count: int) -> list[list[str]]:
        """Return the lines of the first replies' summaries."""
        return [one.summary for one in self._tellings[:count]]

    def messages(self, start: int, full: int) -> list[Message]:
        """Build the replies from ``start`` on, from ``full`` on in full: only those are kept so."""
        for one in self._tellings[self._kept_from : full]:
            one.drop()
        self._kept_from = full
        brief = (one.briefly_sent for one in self._tellings[start:full])
        return list(chain.from_iterable(chain(brief, map(_SENT, self._tellings[full:]))))

    def _take(self, rounds: tuple[Round, ...]) -> None:
        """Take up the turn's replies; only the last one changes, when more has come of it."""
        before, self._rounds = self._rounds, rounds
        same = len(before)
        if rounds[:same] != before:
            same -= 1
            if len(rounds) <= same or rounds[:same] != before[:same]:  # another turn
                same, self._settled, self._settled_count, self._showing = 0, {}, 0, {}
        new = [Telling(round_, self._render) for round_ in rounds[same:]]
        for index, one in enumerate(new, same):
            for path in one.paths:
                self._showing.setdefault(path, set()).add(index)
        self._tellings[same:] = new
        older = max(0, len(rounds) - 1)
        settled = (one.known for one in self._tellings[self._settled_count : older])
        self._settled = working_set(chain.from_iterable(settled), self._settled)
        self._settled_count = older
        if new:
            self._forget(same)
            self._new = min(self._new, same)

    def _forget(self, index: int) -> None:
        """Forget the sizes of a reply whose text changes from now on, and of those after it."""
        self._kept_from = min(self._kept_from, index)
        for kept in (self._full, self._brief, self._summary):
            kept.forget(index)
