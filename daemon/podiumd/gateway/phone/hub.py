"""The phones: events of the daemon go to every one of them, an answer to the one that asks.

open_hub
├── events of runs → ``feed.run_events``
├── changes of sessions → lists for all
└── a phone each, see ``connection``
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress

import trio

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.devices import Devices
from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.feed.channels import Channels
from podiumd.gateway.phone.feed.lists import MOST_ROWS, SessionLists
from podiumd.gateway.phone.feed.run_events import RunEvents, guarded
from podiumd.gateway.phone.handlers.dispatch import handle
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.protocol import outgoing, outgoing_tools
from podiumd.gateway.phone.services import Services
from podiumd.gateway.phone.voice.interpret import Interpreter
from podiumd.gateway.phone.voice.spoken_replies import SpokenReplies
from podiumd.gateway.phone.voice.utterances import Utterances
from podiumd.gateway.phone.workshop import Workshop
from podiumd.gateway.websocket import WebSocket, text_frame
from podiumd.projects.commands import CommandComplete, CommandEvent, CommandOutput
from podiumd.runtime.errors import PodiumError
from podiumd.runtime.service import Service
from podiumd.runtime.voice.service import Voice
from podiumd.store.facts import Store
from podiumd.wire.sessions import Session

LIST_SECONDS = 1.0
"""Between two lists of sessions that are sent because something changed."""


class Hub:
    """Every connected phone, and what they share; ``nursery`` has the tasks of all of them."""

    def __init__(
        self,
        service: Service,
        devices: Devices,
        throttle: AuthThrottle,
        workshop: Workshop,
        voice: Voice,
        tokens: Store,
        nursery: trio.Nursery,
    ) -> None:
        replies = SpokenReplies()
        interpreter = Interpreter(service, workshop, tokens, replies, voice.control)
        self.services = Services(
            service=service,
            devices=devices,
            throttle=throttle,
            workshop=workshop,
            lists=SessionLists(service),
            channels=Channels(service, nursery, text_frame),
            news=RunEvents(service, self, nursery),
            replies=replies,
            utterances=Utterances(voice, nursery.start_soon, interpreter.understood),
            each=self.each,
            spawn_detached=nursery.start_soon,
        )
        self.phones: set[Phone] = set()
        self._connections: set[Phone] = set()  # strangers too
        self._turnout = trio.Event()
        devices.on_revoke(self._cut)
        devices.begin_at(lambda: self.services.news.told)

    def reached(self) -> None:
        """Note that phones were sent one event more."""
        for phone in self.phones:
            phone.was_told(self.services.news.told)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one phone until it has gone."""
        phone = Phone(self.services, socket, handle, self._welcome)
        self._connections.add(phone)
        try:
            await phone.run()
        finally:
            self._connections.discard(phone)
            self.phones.discard(phone)
            self._turnout.set()
            self.services.utterances.gone(phone)
            phone.leave()

    def _welcome(self, phone: Phone) -> None:
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
            self.services.commands_of.pop(record.command_session_id, None)

    def _of_command(self, command_session_id: str) -> list[Phone]:
        device = self.services.commands_of.get(command_session_id)
        return [] if device is None else self.to_device(device)

    def to_concerned(self, session_id: str, payload: bytes) -> None:
        """Send one message to the phones that look at a session or have spoken in it."""
        for phone in self.phones:
            if phone.subscriptions.hears_turns(session_id):
                phone.send(payload)

    @property
    def listens(self) -> bool:
        """Return whether a phone is here that speaks aloud what it is sent."""
        return any(self.services.replies.speaks_to(phone.device) for phone in self.phones)

    def say(self, session_id: str, text: str, *, everywhere: bool) -> None:
        """Have the phones that are spoken to say something of a session; not ``everywhere``: those
        that look at it or have spoken in it."""
        hearing = [
            phone
            for phone in self.phones
            if everywhere or phone.subscriptions.hears_turns(session_id)
        ]
        self.services.replies.tell(hearing, session_id, text)

    def to_device(self, name: str) -> list[Phone]:
        """Return the connections of a device."""
        return [phone for phone in self.phones if phone.device == name]

    def _cut(self, device: str) -> None:
        """End a device's connections at once, in the middle of any work, and its utterances."""
        self.services.utterances.revoked(device)
        self.services.replies.wants(device, wanted=False)
        for phone in tuple(self._connections):
            if phone.device == device:
                self.phones.discard(phone)
                phone.revoke()
                self.services.spawn_detached(phone.hang_up)

    # -- sessions ----------------------------------------------------------------------------

    async def follow_sessions(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Send lists when they change, at most one a second. What changed is kept only for who is
        here or about to be, whose lists may be older: a first index changes every session."""
        with self.services.service.sessions_changed() as changes:
            task_status.started()
            while True:
                changed = await changes.changed()
                while self._connections and not self.phones:
                    self._turnout = trio.Event()
                    await self._turnout.wait()
                if self.phones:
                    await guarded(self._tell_sessions(changed))
                    await trio.sleep(LIST_SECONDS)

    async def _tell_sessions(self, changed: set[str]) -> None:
        rows = (await self.services.service.sessions_list(None, MOST_ROWS, None)).sessions
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
            new = [session_id for session_id in by_id if session_id not in phone.known]
            for session_id in new:
                if session_id not in frames:
                    created = text_frame(outgoing.session_created(by_id[session_id]))
                    frames[session_id] = created, text_frame(outgoing.session_ready(session_id))
                for frame in frames[session_id]:
                    phone.send_frame(frame)
            phone.known.add(*new)
            for session_id in by_id.keys() & changed:
                phone.subscriptions.changed(session_id)

    async def _rows_of(self, session_ids: Iterable[str]) -> list[Session]:
        rows = []
        for session_id in session_ids:
            with suppress(PodiumError):  # it was forgotten just now
                rows.append(await self.services.service.sessions_get(session_id))
        return rows


@asynccontextmanager
async def open_hub(
    service: Service,
    devices: Devices,
    throttle: AuthThrottle,
    workshop: Workshop,
    voice: Voice,
    tokens: Store,
) -> AsyncIterator[Hub]:
    """Keep every phone in step until left; entered once phones may come."""
    async with trio.open_nursery() as nursery:
        hub = Hub(service, devices, throttle, workshop, voice, tokens, nursery)
        await hub.services.news.begin()
        nursery.start_soon(hub.services.news.follow)
        await nursery.start(hub.follow_sessions)
        nursery.start_soon(devices.keep)
        yield hub
        nursery.cancel_scope.cancel()
