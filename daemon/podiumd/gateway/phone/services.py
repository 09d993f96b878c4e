"""Services for the handlers of a phone's messages: the phone that asks, and what phones share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from podiumd.gateway.phone.feed.recipe_board import RecipeBoard
from podiumd.gateway.phone.feed.run_events import RunEvents
from podiumd.gateway.phone.feed.subscriptions import Feeds, Subscriptions
from podiumd.gateway.phone.feed.told import Told
from podiumd.gateway.phone.ports import PhoneLink
from podiumd.gateway.phone.voice.spoken_replies import SpokenReplies
from podiumd.gateway.phone.voice.utterances import Utterances
from podiumd.gateway.phone.workshop import Workshop


class Services(Feeds, Protocol):
    """The services that all phones share. ``commands_of``: which device started each command that
    runs."""

    workshop: Workshop
    aloud: SpokenReplies
    utterances: Utterances
    commands_of: dict[str, str]

    @property
    def news(self) -> RunEvents:
        """Return the news of runs."""
        ...

    @property
    def board(self) -> RecipeBoard:
        """Return the recipes that run."""
        ...

    def each(self, make: Callable[[PhoneLink], bytes]) -> None:
        """Send every phone a message of its own."""
        ...


class ServedPhone(PhoneLink, Protocol):
    """The phone that asks. ``recents``: how many sessions its list of recent ones has."""

    recents: int
    following: Subscriptions
    told: Told

    @property
    def hub(self) -> Services:
        """Return what it shares with all phones."""
        ...

    async def send_lists(self) -> None:
        """Send the list of sessions and the recent ones."""
        ...

    async def send_commands(self, directory: str | None) -> None:
        """Send what may be run in a directory, and anywhere."""
        ...

    def spawn(self, work: Callable[[], Awaitable[None]], *, lasting: bool = False) -> None:
        """Do something that takes long beside the phone's messages; ``lasting``: also when the
        phone has gone."""
        ...

    def stop(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Stop something beside the phone's messages; asked for twice it is done once."""
        ...
