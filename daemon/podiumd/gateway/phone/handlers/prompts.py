"""A phone's words to agents, and its answers to their questions."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Final

import trio
from msgspec import UNSET

from podiumd.gateway.fields import check_size
from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.feed import text
from podiumd.gateway.phone.feed.known_sessions import known_or_held
from podiumd.gateway.phone.protocol import outgoing, requests
from podiumd.gateway.phone.services import Services
from podiumd.runtime.api import SendPrompt
from podiumd.runtime.errors import Busy, NotFound, PodiumError
from podiumd.runtime.service import Service
from podiumd.wire.sessions import Went

FOUND_SECONDS: Final = 1.0
"""How long a transcript that an agent has written may be unknown; some agents write none."""


async def prompt(phone: Phone, services: Services, message: requests.Prompt) -> None:
    """Send words to a session that is there, or begin a new one with them."""
    check_size(message.text)
    service = services.service
    named = message.new_session_id or message.resume_session_id or message.session_id
    new = not message.resume_session_id and not await known_or_held(service, named)
    session_id = named or str(uuid.uuid4())
    phone.prompted.add(session_id)  # its turn may be over before it is known to be begun
    wanted = SendPrompt(
        text=message.text,
        session_id=None if new else session_id,
        new_session_id=session_id if new else None,
        working_directory=_directory(phone, services, message) if new else None,
        agent=message.provider if new else None,
        system_prompt=(message.system_prompt or "").strip() or None,
        if_busy="deliver",
    )
    try:
        went = await service.prompt(wanted)
    except PodiumError as refusal:
        _refused(phone, message, refusal, named)
        return
    phone.send(outgoing.ack(outgoing.TAKEN[went.delivery]))
    await phone.send_commands(await _place_of(phone, services, message, wanted))
    if _wants_response(phone, message):
        phone.spawn(lambda: _respond(phone, services.service, message, went))


def _directory(phone: Phone, services: Services, message: requests.Prompt) -> str | None:
    chosen = message.working_directory or phone.directory
    return None if chosen is None else services.workshop.at_home(chosen)


async def _place_of(
    phone: Phone, services: Services, message: requests.Prompt, wanted: SendPrompt
) -> str | None:
    """Return the directory of the prompted session; its agent may not have written a word."""
    if wanted.session_id is not None:
        with suppress(NotFound):
            row = await services.service.sessions_get(wanted.session_id)
            return row.working_directory or None
    return wanted.working_directory or _directory(phone, services, message)


def _refused(
    phone: Phone, message: requests.Prompt, refusal: PodiumError, session_id: str | None
) -> None:
    holder = refusal.holder if isinstance(refusal, Busy) else None
    phone.send(outgoing.error(refusal.message, session_id=session_id, holder=holder))
    if _wants_response(phone, message):
        phone.send(
            outgoing.response_error(
                refusal.message, session_id=session_id, ios_session_id=message.ios_session_id
            )
        )


def _wants_response(phone: Phone, message: requests.Prompt) -> bool:
    """Quick prompts, and apps that learn an answer in no other way."""
    return message.ios_session_id is not None or phone.legacy


async def _respond(phone: Phone, service: Service, message: requests.Prompt, went: Went) -> None:
    """Send the whole answer once the turn is over."""
    session_id, ios = went.session_id or "", message.ios_session_id
    heard = None if went.uuid is UNSET else went.uuid
    # The answer to words in a conversation goes to their sender.
    if heard is None and went.delivery in ("steered", "next prompt"):
        return  # the answer is the recipe's own
    turn = await service.ended_turn(went.run_id, heard)
    if turn.exit is not None and turn.exit.category == "error":
        words = turn.exit.detail or turn.exit.message
        phone.send(outgoing.response_error(words, session_id=session_id, ios_session_id=ios))
        return
    phone.send(
        outgoing.response(
            turn.text,
            session_id=session_id,
            message_id=await _last_answer(service, session_id) or turn.turn_id or "",
            ios_session_id=ios,
            frame_bytes=phone.budget,
        )
    )


async def _last_answer(service: Service, session_id: str) -> str | None:
    """Return the uuid of the agent's last message: the history has the same.

    The transcript of a new session may not have been found yet: that is waited for.
    """
    with service.sessions_changed() as news, trio.move_on_after(FOUND_SECONDS):
        while True:
            with suppress(PodiumError):
                page = await service.sessions_messages(session_id, None, 10)
                messages = [text.of_json(each) for each in page.messages]
                return next((m.uuid for m in reversed(messages) if m.role == "assistant"), None)
            await news.changed()
    return None


async def answer_question(
    phone: Phone, services: Services, message: requests.AnswerQuestion
) -> None:
    """Answer a question: the first valid answer counts, and all phones see the question close."""
    await services.service.answer(message.question_id, message.answer, message.note, phone.device)
