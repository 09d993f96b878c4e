"""The messages for a model: their roles alternate, and they keep within a budget of tokens.

The person's prompt is pinned: it is never shortened. The oldest of all else gives way first, and
all that is shortened, summarised or left out is reported to the model and to the person.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import chain
from typing import Final

import msgspec

from podiumd.core.prompts.history import NOTHING, LastLines, said_after, shortened, words_of
from podiumd.core.prompts.kept_texts import A_MESSAGE, KeptTexts
from podiumd.core.reply.model_message import Message
from podiumd.core.run.native_loop_state import LoopState
from podiumd.core.sizes import size_of, sums
from podiumd.core.structs import replace

MOST_TOKENS: Final = 160_000
"""No prompt is larger, however much the model takes in: it would cost more than it is worth."""

_BYTES_A_TOKEN: Final = 3.2  # of code and English, on the careful side
_LEAST_BYTES, _MOST_BYTES = 1.0, 8.0  # a token; what a server counts beyond that is not believed
_TELLING: Final = 4_000  # bytes; in less than that a server's own additions weigh too much
_RECENT: Final = 3  # replies whose outputs are kept longer than earlier turns
_LEAST_OUTPUT: Final = 400  # characters
_LEAST_SUMMARY: Final = 2_000
_GAP: Final = 2  # bytes between the parts of a message
_SUMMARISED: Final = "Summarised to save room:"
_NO_OPENING: Final = "[what was looked up for you is left out to save room]"


class Gauge(msgspec.Struct, frozen=True):
    """Estimates tokens by bytes, and learns from what a server counts."""

    bytes_a_token: float = _BYTES_A_TOKEN

    def tokens(self, size: int) -> int:
        """About how many tokens so many bytes are."""
        return int(size / self.bytes_a_token) + 1

    def size(self, tokens: int) -> int:
        """About how many bytes so many tokens are."""
        return max(0, int(tokens * self.bytes_a_token))

    def learned(self, size: int, tokens: int) -> Gauge:
        """Return the gauge after a prompt of ``size`` bytes was counted as ``tokens``."""
        if size < _TELLING or tokens <= 0 or not _LEAST_BYTES <= size / tokens <= _MOST_BYTES:
            return self
        return Gauge((self.bytes_a_token + size / tokens) / 2)


class PastTurn(msgspec.Struct, frozen=True):
    """An earlier turn of the session; ``did`` are its actions, a line each."""

    prompt: str
    answer: str
    did: tuple[str, ...] = ()


class FileNow(msgspec.Struct, frozen=True):
    """A file as it is now, to be shown: ``text`` with its head and numbered lines."""

    path: str
    text: str


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a prompt is made of.

    ``goal`` is the person's prompt, ``opening`` what was looked up for it, ``past`` the turns
    before, ``loop`` the present one. ``digests`` and ``files`` are the working set as it is now:
    the digest of each file, and those files to show that the model knows in an older version, the
    latest last.
    """

    goal: str
    loop: LoopState
    opening: str = ""
    past: tuple[PastTurn, ...] = ()
    digests: Mapping[str, str | None] = {}
    files: tuple[FileNow, ...] = ()


class Composed(msgspec.Struct, frozen=True):
    """A prompt. ``size`` is in bytes; ``notices`` say what was shortened or left out.

    ``fits`` is false where it is too large although nothing more can be left out.
    """

    messages: tuple[Message, ...]
    size: int
    notices: tuple[str, ...]
    fits: bool


def least_tokens(size: int) -> int:
    """Return the least number of tokens that ``size`` bytes can be, in any text."""
    return int(size / _MOST_BYTES)


def prompt_tokens(window: int, reply_tokens: int) -> int:
    """Return how many tokens system text and messages may have together."""
    return max(0, min(int((window - reply_tokens) * 0.95), MOST_TOKENS))


def compose(material: Material, room: int, texts: KeptTexts | None = None) -> Composed:
    """Compose the messages of the next request, in at most ``room`` bytes if that can be.

    ``texts`` are those of the turn's earlier requests.
    """
    telling = _Telling(material, texts or KeptTexts())
    order = _order(material)

    def after(steps: int) -> _Cut:
        taken: Counter[str] = Counter()
        for name, count in order:
            taken[name] += min(count, steps)
            steps -= min(count, steps)
        return _Cut(**taken)

    def fits(cut: _Cut) -> bool:
        return telling.size(cut) <= room

    # Each step makes the prompt smaller, so the least number of steps is found by halving.
    cut = _Cut()
    if not fits(cut):
        steps = range(sum(count for _, count in order))
        cut = after(bisect_left(steps, True, key=lambda number: fits(after(number))))
    if not fits(cut):
        most = max((len(output) for output in _last_outputs(material)), default=0)
        cut = _widest(cut, "output_room", _LEAST_OUTPUT, most, fits)
    if not fits(cut):
        most = sum(len(line) + 1 for line in telling.summary(cut))
        cut = _widest(cut, "summary_room", _LEAST_SUMMARY, most, fits)
    return Composed(telling.messages(cut), telling.size(cut), _notices(cut), fits(cut))


class _Cut(msgspec.Struct, frozen=True):
    """The parts not sent in full: counts from the oldest, and characters where parts are cut."""

    past: int = 0
    outputs: int = 0
    rounds: int = 0
    opening: int = 0
    files: int = 0
    output_room: int | None = None
    summary_room: int | None = None


def _order(material: Material) -> list[tuple[str, int]]:
    """List what gives way, one after the other; the last reply and its results stay."""
    older = max(0, len(material.loop.rounds) - 1)
    recent = min(older, _RECENT)
    return [
        ("outputs", older - recent),
        ("past", len(material.past)),
        ("outputs", recent),
        ("rounds", older),
        ("opening", int(bool(material.opening))),
        ("files", len(material.files)),
    ]


def _widest(cut: _Cut, name: str, least: int, most: int, fits: Callable[[_Cut], bool]) -> _Cut:
    """Find the cut with the largest ``name`` (characters) that fits, at the least ``least``."""
    rooms = range(most, least, -1)
    found = bisect_left(rooms, True, key=lambda room: fits(replace(cut, **{name: room})))
    return replace(cut, **{name: max(least, most - found)})


class _Telling:
    """The messages that a material gives with a cut, and their size.

    A size is a difference of sums, so that a cut is tried without putting its texts together.
    """

    def __init__(self, material: Material, texts: KeptTexts) -> None:
        self._material = material
        texts.look(material.loop, material.digests)
        self._texts = texts
        said = said_after(material.loop).get(0, ())
        goal = material.goal if material.goal.strip() else NOTHING
        self._goal = "\n\n".join([goal, *map(words_of, said)])
        self._goal_size = size_of(self._goal)
        self._lines: LastLines | None = None
        self._past_lines = [_past_summary(turn) for turn in material.past]

    @cached_property
    def _past(self) -> list[int]:
        return sums(
            size_of(_asked(turn)) + size_of(_answer(turn)) + 2 * A_MESSAGE
            for turn in self._material.past
        )

    @cached_property
    def _past_summaries(self) -> list[int]:
        return sums(sum(size_of(line) + 1 for line in lines) for lines in self._past_lines)

    def size(self, cut: _Cut) -> int:
        """Return the size of the messages in bytes."""
        size = self._past[-1] - self._past[cut.past] + self._goal_size + A_MESSAGE
        summary = self._summary_size(cut)
        if summary:
            size += _GAP + size_of(_SUMMARISED) + summary
        if self._material.opening:
            size += _GAP + size_of(self._opening(cut))
        size += self._texts.full_size(_full_from(cut))
        size += self._texts.brief_size(cut.rounds, _full_from(cut))
        if cut.output_room is not None and self._texts.last is not None:
            last = self._texts.last
            size += size_of(last.cut(cut.output_room)) - last.full_size
        if self._material.files:
            size += _GAP + size_of(_files_now(self._material, cut))
        return size

    def messages(self, cut: _Cut) -> tuple[Message, ...]:
        """Build the messages, and keep in full only the texts that are sent so."""
        told: list[Message] = []
        for turn in self._material.past[cut.past :]:
            told += [Message("user", _asked(turn)), Message("assistant", _answer(turn))]
        told.append(Message("user", self._first(cut)))
        told += self._texts.messages(cut.rounds, _full_from(cut))
        if cut.output_room is not None and self._texts.last is not None:
            told[-1] = Message("user", self._texts.last.cut(cut.output_room))
        if self._material.files:
            shown = _files_now(self._material, cut)
            told[-1] = Message("user", f"{told[-1].text}\n\n{shown}")
        return tuple(told)

    def summary(self, cut: _Cut) -> list[str]:
        """Return all lines of what is only summarised."""
        past, rounds = self._past_lines[: cut.past], self._texts.summaries(cut.rounds)
        return list(chain.from_iterable(chain(past, rounds)))

    def _summary_size(self, cut: _Cut) -> int:
        """Return the bytes of the summary with an end of line before each of its lines."""
        if not (cut.past or cut.rounds):
            return 0
        if cut.summary_room is not None:
            return self._last_lines(cut).size(cut.summary_room)
        return self._past_summaries[cut.past] + self._texts.summary_size(cut.rounds)

    def _last_lines(self, cut: _Cut) -> LastLines:
        """Return the lines to cut: which they are is settled by the time that they are cut."""
        if self._lines is None:
            self._lines = LastLines(self.summary(cut))
        return self._lines

    def _first(self, cut: _Cut) -> str:
        """Build the first message: the prompt, with the words that came at once after it, what is
        only summarised, and the opening."""
        parts = [self._goal]
        room = cut.summary_room
        lines = self.summary(cut) if room is None else self._last_lines(cut).within(room)
        if lines:
            parts.append("\n".join([_SUMMARISED, *lines]))
        if self._material.opening:
            parts.append(self._opening(cut))
        return "\n\n".join(parts)

    def _opening(self, cut: _Cut) -> str:
        return _NO_OPENING if cut.opening else self._material.opening


def _full_from(cut: _Cut) -> int:
    """Return the first reply from which all are sent in full."""
    return max(cut.outputs, cut.rounds)


def _asked(turn: PastTurn) -> str:
    return turn.prompt if turn.prompt.strip() else NOTHING


def _past_summary(turn: PastTurn) -> list[str]:
    return [
        f"- earlier the person asked: {shortened(turn.prompt)}",
        *(f"  - {line}" for line in turn.did),
        f"  - you answered: {shortened(turn.answer)}",
    ]


def _files_now(material: Material, cut: _Cut) -> str:
    parts = [
        f"[{file.path} has changed since you saw it; read it again before you patch it]"
        for file in material.files[: cut.files]
    ]
    rest = material.files[cut.files :]
    if rest:
        parts.append("Files that have changed since you saw them, as they are now:")
    return "\n\n".join([*parts, *(file.text for file in rest)])


def _answer(turn: PastTurn) -> str:
    did = ["\n".join(["What I did:", *(f"- {line}" for line in turn.did)])] if turn.did else []
    answer = [turn.answer] if turn.answer.strip() else []
    return "\n\n".join([*did, *answer]) or NOTHING


def _last_outputs(material: Material) -> list[str]:
    last = material.loop.present
    return [done.result.output for done in last.actions if done.result] if last else []


def _notices(cut: _Cut) -> tuple[str, ...]:
    """List for a person what is not sent in full."""
    counted = (
        (cut.past, "earlier turns are summarised"),
        (cut.rounds, "earlier replies of this turn are summarised"),
        (cut.outputs - cut.rounds, "older replies go without their outputs"),
        (cut.files, "changed files are not shown"),
    )
    found = [f"{count} {what} to save room" for count, what in counted if count > 0]
    plain = (
        (cut.opening, "what was looked up for the prompt is left out"),
        (cut.output_room, "the last outputs are shortened"),
        (cut.summary_room, "the summary is shortened"),
    )
    return (*found, *(f"{what} to save room" for number, what in plain if number))
