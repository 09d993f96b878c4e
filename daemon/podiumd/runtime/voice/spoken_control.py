"""Spoken commands carried out: a question is answered, a run is stopped.

A command is recognised from the words alone, before anything else sees them. It speaks of a
question that was open when the person began to speak, and of no other. Speakers are distinguished
by ``device``: a read-back to one is confirmed by no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from podiumd.core.voice.grammar import Asked, Heard, Pending, hear, question_words
from podiumd.observe.logs import log
from podiumd.runtime.errors import NotFound, PodiumError
from podiumd.runtime.service import Service
from podiumd.speech.words.languages import languages_read, spoken_language
from podiumd.wire.voice import SpokenCommand as Command

LONGEST_COMMAND: Final = 200
"""Characters of an utterance that may be a command: a dictated page is none."""

NOTHING_RUNS: Final = "Nothing runs here."
NOTHING_ASKED: Final = "Nothing else is asked."
NOTHING_SAID: Final = "Nothing to repeat."


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """An utterance as text. ``began`` is when the person began to speak, in seconds of a monotonic
    clock, and ``open_questions`` are those that were open then."""

    device: str
    utterance_id: str
    session_id: str | None
    text: str
    language: str
    began: float
    open_questions: frozenset[str]


class SpokenControl:
    """The commands of all that speak to one daemon. ``clock`` is that of ``Said.began``."""

    def __init__(self, service: Service, clock: Callable[[], float]) -> None:
        self._service = service
        self._clock = clock
        self._pending: dict[str, Pending] = {}
        """Command read back to each device and not confirmed yet."""
        self._read: dict[str, tuple[str | None, str]] = {}
        """The question that a device was read at ``next``, and the session it spoke in then."""

    def open_questions(self) -> frozenset[str]:
        """Return the ids of the questions that are open just now."""
        return frozenset(each.asked.question_id for each in self._service.open_questions())

    def asked(self, said: Said) -> Asked | None:
        """Find the open question that an utterance may be about.

        It is what its device is to confirm or was read last, else what is asked in its session,
        else the only one there is.
        """
        known = [
            each
            for each in self._service.open_questions()
            if each.asked.question_id in said.open_questions
        ]
        by_id = {each.asked.question_id: each.asked for each in known}
        pending = self._pending.get(said.device)
        where, read = self._read.get(said.device, (None, ""))
        for question_id in (
            pending.question_id if pending is not None else "",
            read if where == said.session_id else "",
        ):
            if question_id in by_id:
                return by_id[question_id]
        named = said.session_id
        found = [each.asked for each in known if named is None or named in each.sessions]
        return found[0] if found and (named is not None or len(found) == 1) else None

    async def obey(self, said: Said, last_spoken: str = "") -> Command | None:
        """Carry an utterance out if it is a command; ``None``: these are ordinary words.

        ``last_spoken`` is what was last spoken to its device.
        """
        await languages_read()
        heard = self._hear(said)
        if heard.command is None:
            return None
        state, read_back = heard.state or "refused", heard.read_back
        if state == "applied":
            try:
                read_back = await self._apply(said, heard) or read_back or last_spoken
            except PodiumError as refusal:
                state, read_back = "refused", refusal.message
        log(
            "Spoken command",
            device=said.device,
            command=heard.command,
            state=state,
            question_id=heard.question_id,
        )
        return Command(
            command=heard.command,
            state=state,
            question_id=heard.question_id,
            choice=heard.choice,
            read_back=read_back or NOTHING_SAID,
        )

    def _hear(self, said: Said) -> Heard:
        asked = self.asked(said)
        pending = self._pending.pop(said.device, None)
        language = spoken_language(said.language)
        if language is None or len(said.text) > LONGEST_COMMAND:
            return Heard()
        heard = hear(
            said.text,
            language=language,
            asked=asked,
            pending=pending,
            device=said.device,
            utterance_id=said.utterance_id,
            began=said.began,
            now=self._clock(),
        )
        if heard.pending is not None:
            self._pending[said.device] = heard.pending
        return heard

    async def _apply(self, said: Said, heard: Heard) -> str:
        """Carry a command out; return what to speak in place of its own words, if anything.

        Raises ``PodiumError``.
        """
        if heard.choice is not None and heard.question_id is not None:
            await self._service.answer(heard.question_id, heard.choice, None, said.device)
        elif heard.command == "stop":
            await self._stop(said.session_id)
        elif heard.command == "next":
            return self._next(said)
        return ""

    async def _stop(self, session_id: str | None) -> None:
        """Interrupt what the session runs, or the only thing that runs where none is named."""
        held = {
            lock.session_id
            for lock in await self._service.locks()
            if lock.session_id is not None and lock.holder.kind != "foreign"
        }
        if session_id is None and len(held) == 1:
            session_id = held.pop()
        elif session_id not in held:
            raise NotFound("turn", session_id or "", NOTHING_RUNS)
        assert session_id is not None
        await self._service.interrupt_session(session_id)

    def _next(self, said: Said) -> str:
        """Read the question after the one that is left open."""
        questions = [each.asked for each in self._service.open_questions()]
        here = self.asked(said)
        ids = [asked.question_id for asked in questions]
        at = ids.index(here.question_id) + 1 if here is not None else 0
        following = [*questions[at:], *questions[: max(0, at - 1)]]
        if not following:
            return NOTHING_ASKED
        self._read[said.device] = said.session_id, following[0].question_id
        language = spoken_language(said.language)
        assert language is not None  # it has the word for "next"
        return question_words(following[0], language)
