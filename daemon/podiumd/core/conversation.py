"""What a model is sent: messages whose roles alternate, within a budget of tokens.

The person's prompt is pinned: it is never shortened. Of all else the oldest gives way first, and
whatever is shortened, summarised or left out is said, to the model and to the person.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from podiumd.core.loop_state import LoopState
from podiumd.core.retelling import (
    NOTHING,
    feedback,
    lines_within,
    reply_text,
    said_before,
    shortened,
    summary_of,
)

MOST_TOKENS: Final = 160_000
"""No prompt is larger, however much the model takes in: it would cost more than it tells."""

_BYTES_A_TOKEN: Final = 3.2  # of code and English, on the careful side
_LEAST_BYTES, _MOST_BYTES = 1.0, 8.0  # a token; what a server counts beyond that is not believed
_TELLING: Final = 4_000  # bytes; in less than that a server's own additions weigh too much
_A_MESSAGE: Final = 16  # bytes for what stands around its text
_RECENT: Final = 3  # replies whose outputs are kept longer than earlier turns
_LEAST_OUTPUT: Final = 400  # characters
_LEAST_SUMMARY: Final = 2_000


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


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
        """The gauge after a prompt of ``size`` bytes was counted as ``tokens``."""
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
    """All that a prompt is made of.

    ``goal`` is the person's prompt, ``opening`` what was looked up for it, ``past`` the turns
    before, ``loop`` the present one. ``digests`` and ``files`` are the working set as it is now:
    the digest of each file, and those files to show that the model knows in an older version,
    the latest last.
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
    """So many tokens at least are so many bytes, whatever they say."""
    return int(size / _MOST_BYTES)


def prompt_tokens(window: int, reply_tokens: int) -> int:
    """How many tokens system text and messages may have together."""
    return max(0, min(int((window - reply_tokens) * 0.95), MOST_TOKENS))


def size_of(text: str) -> int:
    """The bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def compose(material: Material, room: int) -> Composed:
    """The messages of the next request, in at most ``room`` bytes if that can be."""
    order = _order(material)

    def after(steps: int) -> _Cut:
        taken = Counter(order[:steps])
        return _Cut(**taken)

    def fits(cut: _Cut) -> bool:
        return _size(_messages(material, cut)) <= room

    # Each step makes the prompt smaller, so the least number of steps is found by halving.
    cut = _Cut()
    if not fits(cut):
        cut = after(bisect_left(range(len(order)), True, key=lambda steps: fits(after(steps))))
    if not fits(cut):
        most = max((len(output) for output in _last_outputs(material)), default=0)
        cut = _widest(cut, "output_room", _LEAST_OUTPUT, most, fits)
    if not fits(cut):
        most = sum(len(line) + 1 for line in _summary(material, cut))
        cut = _widest(cut, "summary_room", _LEAST_SUMMARY, most, fits)
    messages = _messages(material, cut)
    return Composed(messages, _size(messages), _notices(cut), fits(cut))


class _Cut(msgspec.Struct, frozen=True):
    """How much is not told in full: counts from the oldest, and characters where parts are cut."""

    past: int = 0
    outputs: int = 0
    rounds: int = 0
    opening: int = 0
    files: int = 0
    output_room: int | None = None
    summary_room: int | None = None


def _order(material: Material) -> list[str]:
    """What gives way, one after the other; the last reply and its results stay."""
    older = max(0, len(material.loop.rounds) - 1)
    recent = min(older, _RECENT)
    return [
        *["outputs"] * (older - recent),
        *["past"] * len(material.past),
        *["outputs"] * recent,
        *["rounds"] * older,
        *["opening"] * bool(material.opening),
        *["files"] * len(material.files),
    ]


def _widest(cut: _Cut, name: str, least: int, most: int, fits: Callable[[_Cut], bool]) -> _Cut:
    """The cut with the largest room (characters) of that name that fits, at the least ``least``."""
    rooms = range(most, least, -1)
    found = bisect_left(rooms, True, key=lambda room: fits(replace(cut, **{name: room})))
    return replace(cut, **{name: max(least, most - found)})


def _size(messages: Sequence[Message]) -> int:
    return sum(size_of(message.text) + _A_MESSAGE for message in messages)


def _messages(material: Material, cut: _Cut) -> tuple[Message, ...]:
    told = []
    for turn in material.past[cut.past :]:
        told.append(Message("user", turn.prompt if turn.prompt.strip() else NOTHING))
        told.append(Message("assistant", _answer(turn)))
    told.append(Message("user", _first(material, cut)))
    rounds = material.loop.rounds
    for index in range(cut.rounds, len(rounds)):
        told.append(Message("assistant", reply_text(rounds[index])))
        back = feedback(
            rounds[index],
            material.loop,
            digests=material.digests,
            outputs=index >= cut.outputs,
            room=cut.output_room if index == len(rounds) - 1 else None,
        )
        told.append(Message("user", back))
    if material.files:
        told[-1] = Message("user", f"{told[-1].text}\n\n{_files_now(material, cut)}")
    return tuple(told)


def _first(material: Material, cut: _Cut) -> str:
    """The prompt, with what was said at once after it, what is only summarised, and the opening."""
    parts = [material.goal if material.goal.strip() else NOTHING, *said_before(material.loop)]
    summary = _summary(material, cut)
    if summary:
        parts.append("\n".join(["Summarised to save room:", *summary]))
    if material.opening:
        gone = "[what was looked up for you is left out to save room]"
        parts.append(gone if cut.opening else material.opening)
    return "\n\n".join(parts)


def _summary(material: Material, cut: _Cut) -> list[str]:
    lines = []
    for turn in material.past[: cut.past]:
        lines.append(f"- earlier the person asked: {shortened(turn.prompt)}")
        lines += [f"  - {line}" for line in turn.did]
        lines.append(f"  - you answered: {shortened(turn.answer)}")
    for round_ in material.loop.rounds[: cut.rounds]:
        lines += summary_of(round_, material.loop)
    return lines if cut.summary_room is None else lines_within(lines, cut.summary_room)


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
    """What is not told in full, for a person."""
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
