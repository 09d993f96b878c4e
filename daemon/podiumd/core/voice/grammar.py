"""Recognise spoken control: approve, deny, stop, next, repeat, the open question's choices. Pure.

A command is recognised from the words alone, before any model or agent sees them. The whole
utterance must be the command: in the language that was spoken, with fillers from a closed list,
and nothing else. Everything that is not certain is ordinary text. Leave for what is risky takes
two utterances of the same device: the command, and a confirmation of what was read back.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from podiumd.core.structs import replace
from podiumd.core.voice.choices import meant, named, own_words
from podiumd.core.voice.language import Kind, Language, Utterance, kinds, without_fillers
from podiumd.core.voice.language import utterance as plain_words
from podiumd.core.voice.question import (
    Asked,
    answers,
    asked_of,
    denies,
    label_of,
    question_words,
    reasons,
    say,
    what,
)

__all__ = [
    "CONFIRM_SECONDS",
    "Asked",
    "Command",
    "Heard",
    "Pending",
    "Spoken",
    "asked_of",
    "hear",
    "question_words",
    "recognise",
]

Command = Literal["approve", "deny", "choose", "confirm", "stop", "next", "repeat"]
State = Literal["applied", "confirm", "refused"]
Doubt = Literal["place", "short"]

CONFIRM_SECONDS: Final = 30.0
"""How long a confirmation is waited for."""

MISHEARD: Final = "allow"
"""Alone it is what transcribers write for "hello", "a loud", "below" as well."""

MOST_REPEATS: Final = 3
"""People say "yes, yes"; a transcriber in a loop says it many times."""

_ANSWERS: Final[frozenset[Kind]] = frozenset({"always", "more", "retry", "go_on"})
_YIELDING: Final[dict[Kind, frozenset[Kind]]] = {
    "yes": frozenset({"approve", "always", "confirm", "stop", "next", "repeat"}),
    "no": frozenset({"deny", "stop", "next", "repeat"}),
    "deny": frozenset({"stop"}),
    "approve": frozenset({"always"}),
    "confirm": frozenset({"approve"}),
}
"""Which kinds of phrase a kind may accompany without meaning anything of its own."""

_CONTROLS: Final = ("stop", "next", "repeat")
"""Commands that answer nothing."""


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A command as it was spoken.

    ``choice`` is the answer it gives to the question; ``None`` for a command that answers
    nothing, or that does not fit the question. ``doubt``: leave is given in a way that may be
    another word misheard: a number or letter (``place``), or one short word (``short``).
    """

    command: Command
    choice: str | None = None
    question_id: str | None = None
    doubt: Doubt | None = None


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was read back and waits to be confirmed: of one question, from one device.

    ``utterance_id`` asked for it. Times are seconds of one monotonic clock.
    """

    question_id: str
    choice: str
    device: str
    utterance_id: str
    asked_at: float
    expires_at: float
    read_back: str


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of an utterance. Without a ``command`` it is ordinary text.

    ``state``: ``applied`` (``choice`` is the answer to ``question_id``, or the command is to be
    carried out), ``confirm`` (nothing is answered yet) or ``refused`` (nothing is answered).
    ``read_back`` is to be spoken; ``pending`` goes with the device's next utterance.
    """

    command: Command | None = None
    state: State | None = None
    question_id: str | None = None
    choice: str | None = None
    read_back: str = ""
    pending: Pending | None = None


class _Moment(msgspec.Struct, frozen=True):
    """The speaker, time and language of an utterance; ``now`` is when it is taken up."""

    language: Language
    device: str
    utterance_id: str
    began: float
    now: float


def recognise(text: str, language: Language, asked: Asked | None = None) -> Spoken | None:
    """Recognise the command that an utterance is; ``None`` for ordinary words.

    Args:
        text: what was transcribed.
        language: the one it was spoken in.
        asked: the open question. Without one, "yes" and "no" are ordinary words.
    """
    heard = plain_words(text)
    if heard is None:
        return None
    chosen = _chosen(heard, language, asked)
    found = kinds(heard.tokens, language)
    kind = _one_kind(found)
    if kind == "stop" and (chosen is None or denies(chosen.choice or "")):
        choice = chosen.choice if chosen is not None else _answer("stop", asked)
        return Spoken(command="stop", choice=choice, question_id=_id(choice, asked))
    if chosen is not None:
        return chosen
    if kind is None or (heard.asks and kind != "repeat"):
        return None
    spoken = _command(kind, asked)
    if spoken is not None and asked is not None and asked.kind == "approval":
        core = set(without_fillers(heard.tokens, language.fillers))
        if (kind == "yes" and len(core) == 1) or core == {MISHEARD}:
            return replace(spoken, doubt="short")
    return spoken


def _chosen(heard: Utterance, language: Language, asked: Asked | None) -> Spoken | None:
    """Find the choice that is named by label, number, ordinal or letter."""
    if asked is None or heard.asks:
        return None
    choice = named(heard.tokens, asked.kind, asked.choices, language)
    if choice is None:
        return None
    doubt: Doubt | None = None if own_words(asked.kind, asked.choices) else "place"
    return Spoken(command="choose", choice=choice, question_id=asked.question_id, doubt=doubt)


def _one_kind(found: dict[Kind, int]) -> Kind | None:
    """Return the kind of phrase that an utterance is, when its phrases agree."""
    if sum(found.values()) > MOST_REPEATS:
        return None
    left = [
        kind
        for kind in found
        if not (found.keys() - {kind} and _yields(kind, found.keys() - {kind}))
    ]
    return left[0] if len(left) == 1 else None


def _yields(kind: Kind, others: set[Kind]) -> bool:
    return others <= _YIELDING.get(kind, frozenset())


def _command(kind: Kind, asked: Asked | None) -> Spoken | None:
    choice = _answer(kind, asked)
    if kind in ("next", "repeat"):
        return Spoken(command="next" if kind == "next" else "repeat")
    if kind == "confirm":
        return Spoken(command="confirm")
    if kind in _ANSWERS or kind in ("yes", "no"):
        if choice is None:
            return None
        command: Command = "deny" if kind == "no" else "approve" if kind == "yes" else "choose"
    else:
        command = "approve" if kind == "approve" else "deny"
    return Spoken(command=command, choice=choice, question_id=_id(choice, asked))


def _answer(kind: Kind, asked: Asked | None) -> str | None:
    return None if asked is None else meant(kind, asked.kind, asked.choices)


def _id(choice: str | None, asked: Asked | None) -> str | None:
    return None if choice is None or asked is None else asked.question_id


def hear(
    text: str,
    *,
    language: Language,
    asked: Asked | None,
    pending: Pending | None,
    device: str,
    utterance_id: str,
    began: float,
    now: float,
) -> Heard:
    """Decide what an utterance does, by what was asked and what waits to be confirmed.

    Args:
        text: what was transcribed; empty (silence, noise) changes nothing.
        language: the one it was spoken in.
        asked: the open question, if any.
        pending: what ``Heard.pending`` of the device's last utterance was.
        device: the device that speaks.
        utterance_id: the utterance; the one that asked cannot confirm itself.
        began: when it began, in seconds of a monotonic clock: words that were spoken before the
            read-back confirm nothing.
        now: the time on that clock.
    """
    if not text.strip():
        return Heard(pending=pending)
    spoken = recognise(text, language, asked)
    moment = _Moment(language, device, utterance_id, began, now)
    if asked is not None and pending is not None and _waits(pending, asked, moment):
        return _beside_a_read_back(_reply(text, language), spoken, asked, pending, moment)
    return _afresh(spoken, asked, moment, late=pending is not None)


def _beside_a_read_back(
    reply: str | None, spoken: Spoken | None, asked: Asked, waiting: Pending, moment: _Moment
) -> Heard:
    """Hear an utterance while an answer waits to be confirmed."""
    language = moment.language
    if reply == "yes":
        return _confirm("confirm", asked, waiting, moment)
    if reply == "no" and (spoken is None or spoken.choice is None):
        return Heard(command="deny", state="refused", read_back=_kept(asked, language))
    if spoken is None:
        return Heard()
    if spoken.command in _CONTROLS:
        return _control(spoken, asked, waiting, moment)
    again = spoken.command == "approve" and spoken.choice == waiting.choice
    if spoken.command == "confirm" or again:
        return _confirm(spoken.command, asked, waiting, moment)
    return _answered(spoken, asked, moment)


def _afresh(spoken: Spoken | None, asked: Asked | None, moment: _Moment, *, late: bool) -> Heard:
    """Hear an utterance while nothing waits to be confirmed; ``late``: something did before."""
    if spoken is None:
        return Heard()
    if spoken.command in _CONTROLS:
        return _control(spoken, asked, None, moment)
    if spoken.command == "confirm":
        said = say(moment.language, "too-late" if late else "nothing-to-confirm")
        there_is = answers(asked, moment.language) if asked is not None else ""
        return _refused(spoken, f"{said} {there_is}".strip())
    if asked is None:
        return _refused(spoken, say(moment.language, "nothing-open"))
    return _answered(spoken, asked, moment)


def _answered(spoken: Spoken, asked: Asked, moment: _Moment) -> Heard:
    """Take an answer to the open question, as far as it is one."""
    language = moment.language
    if spoken.choice is None:
        return _refused(spoken, say(language, "no-fit", choices=answers(asked, language)).strip())
    if denies(spoken.choice):
        return _applied(spoken.command, spoken.choice, asked, language)
    return _ask(spoken, spoken.choice, asked, moment)


def _waits(pending: Pending, asked: Asked, moment: _Moment) -> bool:
    return (
        pending.question_id == asked.question_id
        and pending.device == moment.device
        and moment.now <= pending.expires_at
    )


def _reply(text: str, language: Language) -> str | None:
    """Read ``yes`` or ``no`` to a read-back, independent of the question's own choices."""
    heard = plain_words(text)
    if heard is None or heard.asks:
        return None
    kind = _one_kind(kinds(heard.tokens, language))
    return {"yes": "yes", "no": "no", "deny": "no"}.get(kind) if kind is not None else None


def _kept(asked: Asked, language: Language) -> str:
    return say(language, "kept", choices=answers(asked, language)).strip()


def _control(
    spoken: Spoken, asked: Asked | None, waiting: Pending | None, moment: _Moment
) -> Heard:
    language = moment.language
    if spoken.command == "stop":
        return Heard(
            command="stop",
            state="applied",
            question_id=spoken.question_id,
            choice=spoken.choice,
            read_back=say(language, "stopped"),
        )
    if spoken.command == "next":
        return Heard(command="next", state="applied", read_back=say(language, "next"))
    if waiting is not None:
        longer = replace(waiting, expires_at=moment.now + CONFIRM_SECONDS)
        return Heard(
            command="repeat",
            state="applied",
            question_id=waiting.question_id,
            read_back=waiting.read_back,
            pending=longer,
        )
    return Heard(
        command="repeat",
        state="applied",
        question_id=asked.question_id if asked is not None else None,
        read_back=question_words(asked, language) if asked is not None else "",
    )


def _confirm(command: Command, asked: Asked, waiting: Pending, moment: _Moment) -> Heard:
    """Confirm by words that were spoken after the read-back, and are not the same."""
    if moment.utterance_id != waiting.utterance_id and moment.began >= waiting.asked_at:
        return _applied(command, waiting.choice, asked, moment.language)
    return Heard(
        command=command,
        state="confirm",
        question_id=asked.question_id,
        choice=waiting.choice,
        read_back=say(moment.language, "too-soon", again=waiting.read_back),
        pending=waiting,
    )


def _ask(spoken: Spoken, choice: str, asked: Asked, moment: _Moment) -> Heard:
    """Give leave, or read back what is risky."""
    language = moment.language
    why = (
        *asked.risks,
        *(("always",) if choice.startswith("always") and asked.kind == "approval" else ()),
        *((spoken.doubt,) if spoken.doubt is not None else ()),
    )
    if not why:
        return _applied(spoken.command, choice, asked, language)
    name = "confirm" if spoken.command == "approve" else "confirm-choice"
    read_back = say(
        language,
        name,
        label=label_of(choice, asked, language),
        what=what(asked, language),
        why=reasons(why, language),
    )
    return Heard(
        command=spoken.command,
        state="confirm",
        question_id=asked.question_id,
        choice=choice,
        read_back=read_back,
        pending=Pending(
            question_id=asked.question_id,
            choice=choice,
            device=moment.device,
            utterance_id=moment.utterance_id,
            asked_at=moment.now,
            expires_at=moment.now + CONFIRM_SECONDS,
            read_back=read_back,
        ),
    )


def _applied(command: Command, choice: str, asked: Asked, language: Language) -> Heard:
    if own_words(asked.kind, asked.choices) or asked.kind in ("limit", "recover"):
        read_back = say(language, "chosen", label=label_of(choice, asked, language))
    else:
        name = "denied" if denies(choice) else "approved"
        read_back = say(language, name, what=what(asked, language))
    return Heard(
        command=command,
        state="applied",
        question_id=asked.question_id,
        choice=choice,
        read_back=read_back,
    )


def _refused(spoken: Spoken, read_back: str) -> Heard:
    return Heard(command=spoken.command, state="refused", read_back=read_back)
