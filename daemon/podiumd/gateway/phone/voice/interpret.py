"""Interpretation of an utterance: a command, the answer to a question, or a prompt."""

from __future__ import annotations

import hashlib
import uuid

from podiumd.core.voice.grammar import Asked
from podiumd.gateway.fields import check_size
from podiumd.gateway.phone.feed.known_sessions import known_or_held
from podiumd.gateway.phone.protocol import outgoing, outgoing_tools
from podiumd.gateway.phone.voice.spoken_replies import SpokenReplies
from podiumd.gateway.phone.voice.utterances import Outcome, PhoneUtterance, transcript_of
from podiumd.gateway.phone.workshop import Workshop
from podiumd.runtime.api import SendPrompt
from podiumd.runtime.errors import Busy, PodiumError
from podiumd.runtime.service import Service
from podiumd.runtime.voice.spoken_control import Said, SpokenControl
from podiumd.store.facts import Store
from podiumd.wire.sessions import Delivery
from podiumd.wire.voice import SpokenCommand as Command
from podiumd.wire.voice import Transcribed


class Interpreter:
    """Does what phones say; ``understood`` is for ``Utterances``."""

    def __init__(
        self,
        service: Service,
        workshop: Workshop,
        tokens: Store,
        replies: SpokenReplies,
        control: SpokenControl,
    ) -> None:
        self._service = service
        self._workshop = workshop
        self._tokens = tokens
        self._replies = replies
        self._control = control

    async def understood(self, said: PhoneUtterance, transcript: Transcribed) -> Outcome:
        """Do what an utterance asks; return the messages for the phone."""
        if transcript.no_speech:
            return [transcript_of(said, transcript)]
        words = Said(
            device=said.device,
            utterance_id=said.id,
            session_id=said.message.session_id,
            text=transcript.text,
            language=transcript.language,
            began=said.began,
            open_questions=said.open_questions,
        )
        asked = self._control.asked(words)
        command = await self._control.obey(words, self._replies.last(said.device))
        if command is not None:
            return [_command(said, command)]
        if said.message.deliver == "text":
            return [transcript_of(said, transcript)]
        if asked is not None and asked.kind == "ask" and asked.free_text:
            return await self._answer(said, transcript, asked)
        return await self._prompt(said, transcript)

    async def _answer(self, said: PhoneUtterance, transcript: Transcribed, asked: Asked) -> Outcome:
        """Answer a question of the agent's own that takes any text."""
        try:
            row = await self._service.answer(asked.question_id, transcript.text, None, said.device)
        except PodiumError as refusal:
            return [transcript_of(said, transcript), outgoing.error(refusal.message)]
        return [transcript_of(said, transcript, delivered=row.session_id)]

    async def _prompt(self, said: PhoneUtterance, transcript: Transcribed) -> Outcome:
        """Send words to an agent, once however often the phone repeats them."""
        named, token = said.message.session_id, _token(said)
        session_id = named or str(uuid.uuid5(uuid.NAMESPACE_OID, token))
        if await self._tokens.token("sessions.prompt", token) is not None:
            return [transcript_of(said, transcript, delivered=session_id)]
        said.phone.prompted.add(session_id)
        try:
            check_size(transcript.text)
            went = await self._send(said, transcript.text, session_id, token)
        except PodiumError as refusal:
            holder = refusal.holder if isinstance(refusal, Busy) else None
            refused = outgoing.error(refusal.message, session_id=named, holder=holder)
            return [transcript_of(said, transcript), refused]
        return [
            transcript_of(said, transcript, delivered=session_id),
            outgoing.ack(outgoing.TAKEN[went]),
        ]

    async def _send(self, said: PhoneUtterance, text: str, session_id: str, token: str) -> Delivery:
        """Send a prompt; returns where it went. Raises ``PodiumError``."""
        phone = said.phone
        new = not await known_or_held(self._service, session_id)
        directory = None
        if new and phone.directory is not None:
            directory = self._workshop.at_home(phone.directory)
        went = await self._service.prompt(
            SendPrompt(
                text=text,
                session_id=None if new else session_id,
                new_session_id=session_id if new else None,
                working_directory=directory,
                if_busy="deliver",
                client_token=token,
            )
        )
        return went.delivery


def _command(said: PhoneUtterance, command: Command) -> bytes:
    return outgoing_tools.voice_command(
        said.id,
        command.command,
        command.state,
        command.read_back,
        question_id=command.question_id,
        choice=command.choice,
    )


def _token(said: PhoneUtterance) -> str:
    """Return the client token of an utterance."""
    return hashlib.sha256(f"voice\0{said.device}\0{said.id}".encode()).hexdigest()
