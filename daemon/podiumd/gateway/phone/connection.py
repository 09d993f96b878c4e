"""One phone: it says who it is, then each of its messages is handled before the next is read.

The order matters to apps: a ``pong`` proves that everything asked before it is done. So whatever
takes long (summing a session up, a new working tree) goes on beside, and only its answer comes
later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import msgspec
import trio

from podiumd.gateway.devices import Device
from podiumd.gateway.phone import (
    budget,
    history,
    incoming,
    outgoing,
    outgoing_tools,
    requests,
    text,
    versions,
    words,
)
from podiumd.gateway.phone import outgoing_recipes as recipes
from podiumd.gateway.phone.channels import HIGH_WATER, Channel, Subscription, push_frames
from podiumd.gateway.phone.dispatch import handle
from podiumd.gateway.websocket import Closed, WebSocket, text_frame
from podiumd.logs import log
from podiumd.projects.commands import CommandOutput
from podiumd.projects.errors import ProjectError
from podiumd.runtime.api import Json
from podiumd.runtime.errors import NotFound, PodiumError
from podiumd.store.errors import StoreError

if TYPE_CHECKING:
    from podiumd.gateway.phone.hub import Hub

ASIDES = 16
"""What may go on beside one phone's messages at once."""

PROOF_SECONDS = 2.0
"""A phone that speaks so long after it was sent something has had it."""

PAGE = 256

UPLOAD_BYTES = 140 * 1024 * 1024
"""Of a message: a file of 100 MB in base64, and what is around it."""

QUICK_BYTES = 256 * 1024
"""Of a message that is read in the event loop itself."""

MOST_OUTPUT = 1024 * 1024
"""Bytes that a socket may have pending before lines of commands are left out."""

POLICY_VIOLATION = 1008


class Phone:
    """One connection of a phone."""

    def __init__(self, hub: Hub, socket: WebSocket) -> None:
        self.hub = hub
        self.device = ""
        self.version = versions.FLOOR
        self.legacy = False
        """Whether it speaks none of the numbered versions."""
        self.budget = budget.DEFAULT_BYTES
        self.recents = requests.RECENT
        self.subscriptions: dict[str, Subscription] = {}
        self.wanted: set[str] = set()
        """Sessions that it asked for before they existed."""
        self.muted: set[str] = set()
        """Sessions that its person has deleted there."""
        self.directory: str | None = None
        """Where an older app means what it sends without a directory."""
        self.announced: set[str] = set()
        """New sessions of its own that it waits for."""
        self._socket = socket
        self._scope = trio.CancelScope()
        self._behind = trio.Event()
        self._asides = trio.CapacityLimiter(ASIDES)
        self._nursery: trio.Nursery | None = None
        self._told = (0, 0.0)
        self._missing: set[str] = set()

    # -- what others see ---------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """Bytes that its socket has not taken yet."""
        return self._socket.pending

    @property
    def peer(self) -> str:
        """Its address."""
        return self._socket.peer

    def send(self, payload: bytes) -> None:
        """Send one message; never waits."""
        self._socket.send(payload)

    def send_frame(self, frame: bytes) -> None:
        """Send a ready-made frame."""
        self._socket.send_frame(frame)

    def command_output(self, event: CommandOutput) -> None:
        """Send a line of a command; a phone that does not keep up misses lines, and is told."""
        run_id, line = event.command_session_id, event.text
        if self.pending > MOST_OUTPUT:
            if run_id in self._missing:
                return
            self._missing.add(run_id)
            line = "[Lines are left out here; the command's full output has them.]"
        else:
            self._missing.discard(run_id)
        self.send(outgoing_tools.command_output(run_id, event.stream, line, self.budget))

    def fell_behind(self) -> None:
        """A subscription has to read on from its cursor."""
        self._behind.set()

    def watches(self, session_id: str) -> bool:
        """Whether it looks at a session."""
        return session_id in self.subscriptions or session_id in self.wanted

    def was_told(self, position: int) -> None:
        """It was sent everything up to an event."""
        self._told = (position, trio.current_time())

    def revoke(self) -> None:
        """Its key is no longer good."""
        log("Device cut off", device=self.device, peer=self.peer)
        self._scope.cancel()

    def leave(self) -> None:
        """It has gone: nothing is to be sent to it any more."""
        for subscription in self.subscriptions.values():
            self.hub.channels.leave(subscription)
        self.subscriptions.clear()

    # -- its life ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve it until it has gone, or may not stay."""
        with ExitStack() as stack:
            try:
                self.send(outgoing.hello())
                if await self._admit(stack):
                    await self._serve()
            except Closed:
                return
            if self._scope.cancelled_caught:
                await self._socket.close(POLICY_VIOLATION, "This device is no longer paired.")

    async def _admit(self, stack: ExitStack) -> bool:
        """Wait for its key; whether it was let in."""
        while True:
            try:
                message = incoming.decode(await self._socket.receive())
            except incoming.Refusal:
                message = None  # a stranger hears nothing of what was wrong
            if isinstance(message, requests.Ping):
                self.send(outgoing.pong())
            elif isinstance(message, requests.Connect):
                return await self._connect(message, stack)
            else:
                return await self._turn_away(outgoing.auth_error())

    async def _connect(self, message: requests.Connect, stack: ExitStack) -> bool:
        negotiated = versions.negotiate(message.protocol_version)
        if negotiated is None:
            return await self._turn_away(outgoing.version_error(str(message.protocol_version)))
        device = self._device_of(message.api_key)
        if device is None:
            return await self._turn_away(outgoing.auth_error())
        try:
            stack.enter_context(self.hub.devices.connected(device.name))
        except NotFound:  # revoked just now
            return await self._turn_away(outgoing.auth_error())
        self.device, self.version = device.name, negotiated
        self.legacy = message.protocol_version is None
        self.recents = message.recent
        self._socket.authenticated()
        self._socket.allow(UPLOAD_BYTES)
        log("Device connected", device=self.device, peer=self.peer, version=negotiated)
        await self._greet(message.echo, device)
        return True

    def _device_of(self, key: object) -> Device | None:
        guard = self.hub.guard
        if guard.delay(self.peer) > 0:
            log("Key not looked at", "warning", peer=self.peer, reason="too many wrong keys")
            return None
        device = self.hub.devices.check(key)
        if device is None:
            guard.wrong(self.peer)
            log("Wrong key", "warning", peer=self.peer)
        else:
            guard.right(self.peer)
        return device

    async def _turn_away(self, payload: bytes) -> bool:
        self.send(payload)
        await self._socket.close(POLICY_VIOLATION)
        return False

    async def _greet(self, session_id: str | None, device: Device) -> None:
        """Everything that a phone must know to be in step."""
        hub = self.hub
        self.send(outgoing.connected(session_id, self.version))
        await self.send_lists()
        await self.send_commands(None)
        # From here on it hears of what happens; what is already there follows.
        hub.welcome(self)
        now = hub.position
        for shown in hub.board.shown:
            self.send(words.started(shown))
        for question in await hub.service.questions():
            self.send(recipes.question(question, self.budget))
        for payload in await hub.endings(device.told_pos, now, device.paired_at):
            self.send(payload)
        self.was_told(now)

    async def send_commands(self, directory: str | None) -> None:
        """Send what may be run in a directory, and anywhere."""
        offered = await self.hub.workshop.offer(directory)
        project, general = msgspec.to_builtins((offered.project, offered.general))
        self.send(outgoing_tools.available_commands(directory, project, general, self.budget))

    async def send_lists(self) -> None:
        """Send the list of sessions and the recent ones."""
        listing = await self.hub.service.sessions_list(None, 50, None)
        rows = listing["sessions"]
        self.send(outgoing.session_list(rows, listing["total"], self.budget))
        self.send(outgoing.recent_sessions(rows, self.recents, self.budget))

    async def _serve(self) -> None:
        with self._scope:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._read_on)
                with suppress(Closed):
                    await self._listen()
                self._nursery.cancel_scope.cancel()

    async def _listen(self) -> None:
        """Handle each message before the next is read. Raises ``Closed``."""
        while True:
            data = await self._socket.receive()
            await self._confirm()
            try:
                message = await _decoded(data)
            except incoming.Refusal as refusal:
                self.send(refusal.frame)
            else:
                await self._guarded(handle(self, message))

    async def _guarded(self, work: Awaitable[None]) -> None:
        """What is refused is said; what goes wrong is logged, and the phone stays."""
        try:
            await work
        except PodiumError as refusal:
            data = refusal.data
            self.send(
                outgoing.error(
                    refusal.message, session_id=data.get("session_id"), holder=data.get("holder")
                )
            )
        except ProjectError as refusal:
            self.send(outgoing.error(str(refusal)))
        except StoreError as error:
            log("Phone's message failed", "error", exception=error)
            self.send(outgoing.error("The daemon cannot store anything just now; try again."))

    def aside(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that takes long beside the phone's messages."""
        assert self._nursery is not None
        if self._asides.available_tokens == 0:
            self.send(outgoing.error("Too much is going on for this phone at once; try again."))
            return
        self._asides.acquire_on_behalf_of_nowait(work)
        self._nursery.start_soon(self._beside, work)

    async def _beside(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self._guarded(work())
        finally:
            self._asides.release_on_behalf_of(work)

    async def _confirm(self) -> None:
        """It speaks: what it was sent some time ago has reached it."""
        position, since = self._told
        if position and trio.current_time() - since >= PROOF_SECONDS:
            self._told = (0, 0.0)
            try:
                await self.hub.devices.told(self.device, position)
            except StoreError as error:
                log("Devices not stored", "warning", error=str(error))

    # -- sessions ----------------------------------------------------------------------------

    async def subscribe(self, request: requests.Subscribe) -> None:
        """Answer with what it lacks of a session, and tell it of what follows."""
        session_id = request.session_id
        self.unsubscribe(session_id)
        subscription = Subscription(self, session_id, 0)
        try:
            channel = await self.hub.channels.join(subscription)
        except NotFound:
            self.wanted.add(session_id)
            raise NotFound("session", session_id, f"Session not found: {session_id}") from None
        self.subscriptions[session_id] = subscription
        await self.send_commands(channel.directory)
        reply = await self._reply(request, channel)
        self.send(reply.frame)
        subscription.at, subscription.live = reply.reached, reply.complete
        if subscription.live and subscription.at < channel.last:
            subscription.lag()

    async def _reply(self, request: requests.Subscribe, channel: Channel) -> history.Reply:
        """What a subscription is answered with."""
        service, session_id = self.hub.service, channel.session_id
        newest = await service.sessions_messages(session_id, None, history.WINDOW)
        messages = [text.of_json(each) for each in newest["messages"]]
        hint = next((m.seq for m in messages if m.uuid == request.last_message_id), None)
        session = channel.session(newest["last_seq"])
        plan = history.plan(request, self.version, session, hint)
        match plan.kind:
            case "replaced":
                return history.replaced(session)
            case "window":
                return history.window(session, messages, self.budget, plan.gap)
            case "delta":
                page = await service.sessions_messages(session_id, plan.after, PAGE)
                return history.delta(
                    channel.session(page["last_seq"]),
                    [text.of_json(each) for each in page["messages"]],
                    plan.after,
                    self.budget,
                )

    def unsubscribe(self, session_id: str) -> None:
        """Tell it nothing more of a session."""
        self.wanted.discard(session_id)
        subscription = self.subscriptions.pop(session_id, None)
        if subscription is not None:
            self.hub.channels.leave(subscription)

    async def session_changed(self, row: Json) -> None:
        """A session is new, or has grown; it may be one that this phone waits for."""
        session_id = row["session_id"]
        if session_id in self.announced:
            self.announced.discard(session_id)
            self.send(outgoing.session_created(row))
            self.send(outgoing.session_ready(session_id))
        if session_id in self.wanted:
            await self._guarded(self.subscribe(requests.Subscribe(session_id=session_id)))

    async def _read_on(self) -> None:
        """Bring subscriptions that are behind to the end of their logs, as the socket takes it."""
        with suppress(Closed):
            while True:
                await self._behind.wait()
                self._behind = trio.Event()
                for subscription in tuple(self.subscriptions.values()):
                    while subscription.behind and not subscription.over:
                        await self._read_page(subscription)

    async def _read_page(self, subscription: Subscription) -> None:
        session_id = subscription.session_id
        if self.pending > HIGH_WATER:
            await self._socket.room()
        try:
            page = await self.hub.service.sessions_messages(session_id, subscription.at, PAGE)
            channel = self.hub.channels.get(session_id)
        except PodiumError as refusal:
            log("Session cannot be read on", "warning", session_id=session_id, why=refusal.message)
            self.unsubscribe(session_id)
            self.wanted.add(session_id)  # it is sent again when it changes
            return
        if subscription.over or channel is None:
            return
        if page["messages"]:
            messages = [text.of_json(each) for each in page["messages"]]
            for frame, reached in push_frames(
                channel, messages, self.budget, self.legacy, text_frame
            ):
                self.send_frame(frame)
                subscription.at = reached
        # The feed may have brought more while the page was read.
        subscription.behind = subscription.at < max(page["last_seq"], channel.last)


async def _decoded(data: str | bytes) -> requests.Request:
    """Make out a message, a large one aside. Raises ``Refusal``."""
    if len(data) <= QUICK_BYTES:
        return incoming.decode(data)
    return await trio.to_thread.run_sync(incoming.decode, data)
