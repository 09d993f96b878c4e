"""The phones: events of the daemon go to every one of them, an answer to the one that asks.

attend   events of runs → ``feed.run_events``; changes of sessions → lists for all serve    one
phone, see ``connection``
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import trio

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import Devices
from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.feed.channels import Channels
from podiumd.gateway.phone.feed.lists import MOST_ROWS, SessionLists
from podiumd.gateway.phone.feed.recipe_board import RecipeBoard
from podiumd.gateway.phone.feed.run_events import RunEvents, guarded
from podiumd.gateway.phone.ports import PhoneLink
from podiumd.gateway.phone.protocol import outgoing, outgoing_tools
from podiumd.gateway.phone.voice.interpret import Interpreter
from podiumd.gateway.phone.voice.spoken_replies import SpokenReplies
from podiumd.gateway.phone.voice.utterances import Utterances
from podiumd.gateway.phone.workshop import Workshop
from podiumd.gateway.tokens import Tokens
from podiumd.gateway.websocket import WebSocket, text_frame
from podiumd.projects.commands import CommandComplete, CommandEvent, CommandOutput
from podiumd.runtime.errors import PodiumError
from podiumd.runtime.service import Service
from podiumd.runtime.voice.service import Voice
from podiumd.wire.sessions import Session

LIST_SECONDS = 1.0
"""Between two lists of sessions that are sent because something changed."""


class Hub:
    """Every connected phone, and what they share."""

    def __init__(
        self,
        service: Service,
        devices: Devices,
        guard: AuthThrottle,
        workshop: Workshop,
        voice: Voice,
        tokens: Tokens,
    ) -> None:
        self.service = service
        self.aloud = SpokenReplies()
        interpreter = Interpreter(service, workshop, tokens, self.aloud, voice.control)
        self.utterances = Utterances(voice, self.spawn_detached, interpreter.understood)
        self.devices = devices
        self.guard = guard
        self.workshop = workshop
        self.lists = SessionLists(service)
        self.phones: set[Phone] = set()
        self._connections: set[Phone] = set()  # strangers too
        self.commands_of: dict[str, str] = {}
        """Which device started each command that runs."""
        self._nursery: trio.Nursery | None = None
        self._channels: Channels | None = None
        self._news: RunEvents | None = None
        self._turnout = trio.Event()
        devices.on_revoke(self._cut)
        devices.begin_at(lambda: 0 if self._news is None else self._news.told)

    @property
    def channels(self) -> Channels:
        """Return the live sessions; there are none before ``attend``."""
        assert self._channels is not None
        return self._channels

    @property
    def news(self) -> RunEvents:
        """Return the news of runs; there is none before ``attend``."""
        assert self._news is not None
        return self._news

    @property
    def board(self) -> RecipeBoard:
        """Return the recipes that run."""
        return self.news.board

    async def attend(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep every phone in step until cancelled; started once phones may come."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._channels = Channels(self.service, nursery, text_frame)
            self._news = RunEvents(self.service, self, nursery)
            await self._news.begin()
            nursery.start_soon(self._follow_sessions)
            nursery.start_soon(self.devices.keep)
            task_status.started()
            await self._news.follow()
            nursery.cancel_scope.cancel()

    def spawn_detached(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do what is to be done whether or not the phone that asked for it stays; it must not
        raise."""
        assert self._nursery is not None
        self._nursery.start_soon(work)

    def reached(self) -> None:
        """Note that phones were sent one event more."""
        for phone in self.phones:
            phone.was_told(self.news.told)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one phone until it has gone."""
        phone = Phone(self, socket)
        self._connections.add(phone)
        try:
            await phone.run()
        finally:
            self._connections.discard(phone)
            self.phones.discard(phone)
            self._turnout.set()
            self.utterances.gone(phone)
            phone.leave()

    def welcome(self, phone: Phone) -> None:
        """Take a phone that has shown its key: from here on it gets everything."""
        if not phone.revoked:
            self.phones.add(phone)
            self._turnout.set()

    def broadcast(self, payload: bytes) -> None:
        """Send one message to every phone."""
        if self.phones:
            frame = text_frame(payload)
            for phone in self.phones:
                phone.send_frame(frame)

    def each(self, make: Callable[[PhoneLink], bytes]) -> None:
        """Send every phone a message of its own."""
        for phone in self.phones:
            phone.send(make(phone))

    def command_event(self, event: CommandEvent) -> None:
        """Send a command's output and end to the device that started it; that it started is the
        answer to the request."""
        if isinstance(event, CommandOutput):
            for phone in self._of_command(event.command_session_id):
                phone.command_output(event)
        elif isinstance(event, CommandComplete):
            record = event.record
            for phone in self._of_command(record.command_session_id):
                phone.send(
                    outgoing_tools.command_complete(
                        record.command_session_id, record.exit_code or 0, record.duration_ms or 0
                    )
                )
            self.commands_of.pop(record.command_session_id, None)

    def _of_command(self, command_session_id: str) -> list[Phone]:
        device = self.commands_of.get(command_session_id)
        return [] if device is None else self.to_device(device)

    def to_concerned(self, session_id: str, payload: bytes) -> None:
        """Send one message to the phones that look at a session or have spoken in it."""
        for phone in self.phones:
            if phone.following.hears_turns(session_id):
                phone.send(payload)

    @property
    def listens(self) -> bool:
        """Return whether a phone is here that speaks aloud what it is sent."""
        return any(self.aloud.speaks_to(phone.device) for phone in self.phones)

    def say(self, session_id: str, text: str, *, everywhere: bool) -> None:
        """Have the phones that are spoken to say something of a session; not ``everywhere``: those
        that look at it or have spoken in it."""
        hearing = [
            phone for phone in self.phones if everywhere or phone.following.hears_turns(session_id)
        ]
        self.aloud.tell(hearing, session_id, text)

    def to_device(self, name: str) -> list[Phone]:
        """Return the connections of a device."""
        return [phone for phone in self.phones if phone.device == name]

    def _cut(self, device: str) -> None:
        """End a device's connections at once, in the middle of any work, and its utterances."""
        self.utterances.revoked(device)
        self.aloud.wants(device, wanted=False)
        for phone in tuple(self._connections):
            if phone.device == device:
                self.phones.discard(phone)
                phone.revoke()
                self.spawn_detached(phone.hang_up)

    # -- sessions ----------------------------------------------------------------------------

    async def _follow_sessions(self) -> None:
        """Send lists when they change, at most one a second. What changed is kept only for who is
        here or about to be, whose lists may be older: a first index changes every session."""
        with self.service.sessions_changed() as changes:
            while True:
                changed = await changes.changed()
                while self._connections and not self.phones:
                    self._turnout = trio.Event()
                    await self._turnout.wait()
                if self.phones:
                    await guarded(self._tell_sessions(changed))
                    await trio.sleep(LIST_SECONDS)

    async def _tell_sessions(self, changed: set[str]) -> None:
        rows = (await self.service.sessions_list(None, MOST_ROWS, None)).sessions
        shown = outgoing.recent(rows, MOST_ROWS)
        self._show(shown, changed)
        frames: dict[tuple[int, int], bytes] = {}  # once a second to all: each is made once
        for phone in self.phones:
            kind = (phone.recents, phone.budget)
            if kind not in frames:
                frames[kind] = text_frame(outgoing.recent_sessions(rows, *kind))
            phone.send_frame(frames[kind])
        # One that was brought from elsewhere may be new here and yet older than those.
        others = changed.difference(row.session_id for row in rows)
        if len(others) <= MOST_ROWS:
            self._show(outgoing.recent(await self._rows_of(others), MOST_ROWS), changed)

    def _show(self, rows: list[Session], changed: set[str]) -> None:
        """Send each phone the sessions that it does not know, the oldest first.

        Phones that wait for a change of theirs get it. ``rows`` are newest first.
        """
        by_id = {row.session_id: row for row in reversed(rows)}
        frames: dict[str, tuple[bytes, bytes]] = {}
        for phone in self.phones:
            new = phone.told.unknown(tuple(by_id))
            for session_id in new:
                if session_id not in frames:
                    created = text_frame(outgoing.session_created(by_id[session_id]))
                    frames[session_id] = created, text_frame(outgoing.session_ready(session_id))
                for frame in frames[session_id]:
                    phone.send_frame(frame)
            phone.told.add(new)
            for session_id in by_id.keys() & changed:
                phone.following.changed(session_id)

    async def _rows_of(self, session_ids: Iterable[str]) -> list[Session]:
        rows = []
        for session_id in session_ids:
            with suppress(PodiumError):  # it was forgotten just now
                rows.append(await self.service.sessions_get(session_id))
        return rows
