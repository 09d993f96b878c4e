"""Hold the services that all phones share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import Devices
from podiumd.gateway.phone.feed.channels import Channels
from podiumd.gateway.phone.feed.lists import SessionLists
from podiumd.gateway.phone.feed.run_events import RunEvents
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.voice.spoken_replies import SpokenReplies
from podiumd.gateway.phone.voice.utterances import Utterances
from podiumd.gateway.phone.workshop import Workshop
from podiumd.runtime.service import Service


@dataclass(frozen=True, kw_only=True)
class Services:
    """The services that all phones share.

    ``each`` sends every phone a message of its own. ``spawn_detached`` does something whether or
    not the phone that asked for it stays; it must not raise. ``commands_of``: which device started
    each command that runs.
    """

    service: Service
    devices: Devices
    throttle: AuthThrottle
    workshop: Workshop
    lists: SessionLists
    channels: Channels
    news: RunEvents
    replies: SpokenReplies
    utterances: Utterances
    each: Callable[[Callable[[PhoneLink], bytes]], None]
    spawn_detached: Callable[[Callable[[], Awaitable[None]]], None]
    commands_of: dict[str, str] = field(default_factory=dict)
