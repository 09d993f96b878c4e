"""A phone's messages about speech: see ``utterances`` for what becomes of them."""

from __future__ import annotations

from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.protocol import requests
from podiumd.gateway.phone.services import Services


async def voice_start(phone: Phone, services: Services, message: requests.VoiceStart) -> None:
    services.replies.wants(phone.device, wanted=True)
    await services.utterances.start(phone, message)


async def voice_frame(phone: Phone, services: Services, message: requests.VoiceFrame) -> None:
    await services.utterances.frame(phone, message)


async def voice_end(phone: Phone, services: Services, message: requests.VoiceEnd) -> None:
    services.utterances.end(phone, message.utterance_id)


async def voice_cancel(phone: Phone, services: Services, message: requests.VoiceCancel) -> None:
    services.utterances.cancel(phone, message.utterance_id)
