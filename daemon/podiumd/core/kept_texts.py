"""Keeps how the replies of a native turn are told: between its requests a reply does not change.

What comes back after a reply changes only with a file that it has shown. Each text is made where
it is first asked for; sizes stay, and of long texts those that are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from typing import Protocol

from podiumd.core.loop_state import LoopState, Round
from podiumd.core.retelling import (
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
from podiumd.core.sizes import size_of


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
    """One reply and what comes back after it, each in the ways that it can be told."""

    def __init__(self, round_: Round, render: Render) -> None:
        self.round = round_
        self.known = known_after(round_)
        self._readings = readings(round_)
        self._render = render
        self._said: tuple[str, ...] = ()
        self._old: dict[int, str] = {}

    def look(self, said: tuple[str, ...], digests: Mapping[str, str | None]) -> None:
        """Forget what is no longer true: a person has said more, or a file is another by now."""
        old = stale(self._readings, digests)
        if (said, old) != (self._said, self._old):
            self._said, self._old = said, old
            for name in ("full", "full_size", "brief", "brief_size", "summary", "summary_size"):
                self.__dict__.pop(name, None)

    @cached_property
    def reply(self) -> str:
        return reply_text(self.round)

    @cached_property
    def reply_size(self) -> int:
        return size_of(self.reply)

    @cached_property
    def full(self) -> str:
        return self._render(self.round, self._said, old=self._old)

    @cached_property
    def full_size(self) -> int:
        return size_of(self.full)

    @cached_property
    def brief(self) -> str:
        """Without long outputs."""
        return self._render(self.round, self._said, old=self._old, outputs=False)

    @cached_property
    def brief_size(self) -> int:
        return size_of(self.brief)

    @cached_property
    def summary(self) -> list[str]:
        return summary_of(self.round, self._said)

    @cached_property
    def summary_size(self) -> int:
        """With an end of line after each."""
        return sum(size_of(line) + 1 for line in self.summary)

    def cut(self, room: int) -> str:
        """With each output cut to so many characters."""
        return self._render(self.round, self._said, old=self._old, room=room)

    def drop(self) -> None:
        """Let go of the full text, which is not sent any more; its size stays known."""
        self.__dict__.pop("full", None)


class KeptTexts:
    """The texts of one turn; ``render`` makes those that are not known yet."""

    def __init__(self, render: Render = feedback) -> None:
        self._render = render
        self._tellings: list[Telling] = []

    def working_set(self, loop: LoopState) -> dict[str, Seen]:
        """The files that the turn has read or written, the latest last, as the model knows them."""
        self._take(loop)
        return working_set(chain.from_iterable(one.known for one in self._tellings))

    def of(self, loop: LoopState, digests: Mapping[str, str | None]) -> list[Telling]:
        """How each reply is told, while the files are as ``digests`` say."""
        self._take(loop)
        said = said_after(loop)
        for one in self._tellings:
            one.look(said.get(one.round.number, ()), digests)
        return self._tellings

    def _take(self, loop: LoopState) -> None:
        del self._tellings[len(loop.rounds) :]
        for index, round_ in enumerate(loop.rounds):
            if index == len(self._tellings):
                self._tellings.append(Telling(round_, self._render))
            elif self._tellings[index].round is not round_:
                self._tellings[index] = Telling(round_, self._render)
