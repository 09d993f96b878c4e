"""A phone's messages about speech: see ``utterances`` for what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podiumd.gateway.phone.protocol import requests

if TYPE_CHECKING:
    from podiumd.gateway.phone.services import ServedPhone


async def voice_start(phone: ServedPhone, message: requests.VoiceStart) -> None:
    phone.hub.aloud.wants(phone.device, wanted=True)
    await phone.hub.utterances.start(phone, message)


async def voice_frame(phone: ServedPhone, message: requests.VoiceFrame) -> None:
    await phone.hub.utterances.frame(phone, message)


async def voice_end(phone: ServedPhone, message: requests.VoiceEnd) -> None:
    phone.hub.utterances.end(phone, message.utterance_id)


async def voice_cancel(phone: ServedPhone, message: requests.VoiceCancel) -> None:
    phone.hub.utterances.cancel(phone, message.utterance_id)
