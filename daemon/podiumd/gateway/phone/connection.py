"""A phone: it authenticates, then each of its messages is handled before the next is read.

The order matters to apps: a ``pong`` proves that everything asked before it is done. So work that
takes long (summing a session up, a new working tree) goes on beside, and only its answer comes
later.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial

import msgspec
import trio

from podiumd.gateway.access.devices import Device
from podiumd.gateway.phone.feed.delivery_tracking import DeliveryTracking
from podiumd.gateway.phone.feed.recipe_board import started
from podiumd.gateway.phone.feed.subscriptions import Subscriptions
from podiumd.gateway.phone.feed.text import made
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.protocol import (
    decode,
    outgoing,
    outgoing_tools,
    requests,
    versions,
)
from podiumd.gateway.phone.protocol import outgoing_recipes as recipes
from podiumd.gateway.phone.services import Services
from podiumd.gateway.websocket import Closed, WebSocket
from podiumd.observe.logs import log
from podiumd.projects.commands import CommandOutput
from podiumd.projects.errors import ProjectError
from podiumd.runtime.errors import Busy, NotFound, PodiumError
from podiumd.store.errors import StoreError

ASIDES = 16
"""Tasks that may go on beside one phone's messages at once; those that stop something do not
count."""

UPLOAD_BYTES = 140 * 1024 * 1024
"""Bytes of a message: a file of 100 MB in base64, and what is around it."""

MOST_OUTPUT = 1024 * 1024
"""Bytes that a socket may have pending before lines of commands are left out."""

POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013


class Phone(PhoneLink):
    """A connection of a phone. ``handle`` does what a message of it asks for, ``welcome`` takes it
    among those that get everything, once it has shown its key."""

    def __init__(
        self,
        services: Services,
        socket: WebSocket,
        handle: Callable[[Phone, Services, requests.Request], Awaitable[None]],
        welcome: Callable[[Phone], None],
    ) -> None:
        super().__init__(socket)
        self.subscriptions = Subscriptions(self, services.service, services.channels, self.commands)
        self._services = services
        self._handle = handle
        self._welcome = welcome
        self._scope = trio.CancelScope()
        self._asides = trio.CapacityLimiter(ASIDES)
        self._stopping: set[str] = set()
        self._nursery: trio.Nursery | None = None
        self._receipt = DeliveryTracking(socket.delivered, self._note)
        self._missing: set[str] = set()

    # -- what others see ---------------------------------------------------------------------

    def command_output(self, event: CommandOutput) -> None:
        """Send a line of a command; a phone that does not keep up misses lines, and gets a note."""
        run_id, line = event.command_session_id, event.text
        if self.pending > MOST_OUTPUT:
            if run_id in self._missing:
                return
            self._missing.add(run_id)
            line = "[Lines are left out here; the command's full output has them.]"
        else:
            self._missing.discard(run_id)
        self.send(outgoing_tools.command_output(run_id, event.stream, line, self.budget))

    def was_told(self, position: int) -> None:
        """Note that the phone was sent everything up to an event."""
        self._receipt.sent(position)

    async def _note(self, position: int) -> None:
        await self._services.devices.told(self.device, position)

    def revoke(self) -> None:
        """Cut the phone off: its key is no longer good.

        It is sent nothing more, and what it asked for is ended.
        """
        log("Device cut off", device=self.device, peer=self.peer)
        self.revoked = True
        self.subscriptions.end()
        self._scope.cancel()

    async def hang_up(self) -> None:
        """Close its connection, though something that it asked for cannot be ended at once."""
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._socket.close(POLICY_VIOLATION, "This device is no longer paired.")

    def leave(self) -> None:
        """Stop following for a phone that has gone: nothing is to be sent to it any more."""
        self.subscriptions.end()

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
            if self.revoked:
                await self.hang_up()

    async def _admit(self, stack: ExitStack) -> bool:
        """Wait for its key; whether it was let in."""
        while True:
            data = await self._socket.receive()
            message = None
            with suppress(decode.Refusal):  # a stranger hears nothing of what was wrong
                message = decode.decode(data)
            if isinstance(message, requests.Ping):
                self.send(outgoing.pong())
            elif isinstance(message, requests.Connect):
                return await self._connect(message, stack)
            elif self._shut_out():
                return await self._put_off()
            else:
                return await self._turn_away(outgoing.auth_error())

    async def _connect(self, message: requests.Connect, stack: ExitStack) -> bool:
        negotiated = versions.negotiate(message.protocol_version)
        if negotiated is None:
            return await self._turn_away(outgoing.version_error(str(message.protocol_version)))
        if self._shut_out():
            return await self._put_off()
        device = self._device_of(message.api_key)
        if device is None:
            return await self._turn_away(outgoing.auth_error())
        try:
            stack.enter_context(self._services.devices.connected(device.name))
        except NotFound:  # revoked just now
            return await self._turn_away(outgoing.auth_error())
        self.device, self.version = device.name, negotiated
        self.legacy = message.protocol_version is None
        self.recents = message.recent
        self._socket.authenticated()
        self._socket.allow(UPLOAD_BYTES)
        if message.speak is not None:
            self._services.replies.wants(self.device, message.speak)
        log("Device connected", device=self.device, peer=self.peer, version=negotiated)
        await self._greet(message.echo, device)
        return True

    def _device_of(self, key: object) -> Device | None:
        throttle, device = self._services.throttle, self._services.devices.check(key)
        if device is None:
            throttle.wrong(self.peer)
        else:
            throttle.right(self.peer)
        return device

    def _shut_out(self) -> bool:
        """Return whether no key of its address is looked at just now."""
        return self._services.throttle.delay(self.peer) > 0

    async def _put_off(self) -> bool:
        """Have it come again: an ``auth_error`` would say that its key is wrong, and may be none
        of those that were."""
        self._services.throttle.put_off(self.peer)
        await self._socket.close(TRY_AGAIN_LATER, "Too many wrong keys came from this address.")
        return False

    async def _turn_away(self, payload: bytes) -> bool:
        self.send(payload)
        await self._socket.close(POLICY_VIOLATION)
        return False

    async def _greet(self, session_id: str | None, device: Device) -> None:
        """Send everything that a phone must know to be in step. A failed part costs that part
        alone."""
        self.send(outgoing.connected(session_id, self.version))
        await self.guarded(self.send_lists())
        await self.guarded(self.send_commands(None))
        # From here on it hears of what happens; what is already there follows.
        self._welcome(self)
        await self.guarded(self._send_news(device))
        await self.guarded(self._send_ready())

    async def _send_news(self, device: Device) -> None:
        """Send what runs, what is asked, and the ends of recipes that it has not received."""
        news = self._services.news
        told = news.told
        for shown in news.board.shown:
            self.send(started(shown))
        for question in await self._services.service.questions():
            self.send(recipes.question(msgspec.to_builtins(question), self.budget))
        for payload in await news.endings(device.told_pos, device.paired_at):
            self.send(payload)
        self.was_told(told)

    async def send_commands(self, directory: str | None) -> None:
        """Send what may be run in a directory, and anywhere."""
        self.send(await self.commands(directory))

    async def commands(self, directory: str | None) -> bytes:
        """Build the message that lists what may be run in a directory, and anywhere."""
        offered = await self._services.workshop.offer(directory)
        return outgoing_tools.available_commands(
            directory, offered.project, offered.general, self.budget
        )

    async def send_lists(self) -> None:
        """Send the list of sessions and the recent ones."""
        lists = await self._services.lists.frames(self.recents, self.budget)
        self.send_frame(lists.session_list)
        self.send_frame(lists.recent_sessions)
        self.known.add(*lists.session_ids)

    async def _send_ready(self) -> None:
        """Report the recent sessions as ready.

        A session on the phone's screen may have got its first words while it was away, or since the
        lists were made.
        """
        if not self.legacy:
            listing = await self._services.service.sessions_list(None, self.recents, None)
            for row in outgoing.recent(listing.sessions, self.recents):
                if row.session_id not in self.known:
                    self.known.add(row.session_id)
                    self.send(outgoing.session_created(row))
                self.send(outgoing.session_ready(row.session_id))

    async def _serve(self) -> None:
        with self._scope:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self.subscriptions.read_on)
                self._nursery.start_soon(self._receipt.keep)
                with suppress(Closed):
                    await self._listen()
                self._nursery.cancel_scope.cancel()

    async def _listen(self) -> None:
        """Handle each message before the next is read. Raises ``Closed``."""
        while True:
            await self.room()  # who does not read its answers is not listened to
            data = await self._socket.receive()
            try:
                message = await _decoded(data)
            except decode.Refusal as refusal:
                self.send(refusal.frame)
            else:
                await self.guarded(self._handle(self, self._services, message), message.about)

    async def guarded(self, work: Awaitable[None], session_id: str | None = None) -> None:
        """Do ``work``: send the phone a refusal, log a fault, and let the phone stay.
        ``session_id``: the session that it is about."""
        holder = None
        try:
            await work
            return
        except PodiumError as refusal:
            said = refusal.message
            holder = refusal.holder if isinstance(refusal, Busy) else None
            session_id = refusal.data.session_id or session_id
        except ProjectError as refusal:
            said = str(refusal)
        except StoreError as error:
            log("Phone's message failed", "error", exception=error)
            said = outgoing.NOT_STORED
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 - one message's fault is not the connection's
            number = uuid.uuid4().hex[:8]
            log("Phone's message failed", "error", exception=error, id=number)
            said = f"The daemon failed at this; its log tells more under the id {number}."
        self.send(outgoing.error(said, session_id=session_id, holder=holder))

    def spawn(self, work: Callable[[], Awaitable[None]], *, lasting: bool = False) -> None:
        """Do something that takes long beside the phone's messages; ``lasting``: also when the
        phone has gone."""
        assert self._nursery is not None
        if self._asides.available_tokens == 0:
            self.send(outgoing.error("Too much is going on for this phone at once; try again."))
            return
        self._asides.acquire_on_behalf_of_nowait(work)
        task = partial(self._beside, work)
        if lasting:
            self._services.spawn_detached(task)
        else:
            self._nursery.start_soon(task)

    async def _beside(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            with suppress(Closed):
                await self.guarded(work())
        finally:
            self._asides.release_on_behalf_of(work)

    def stop(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Stop something beside the phone's messages, however much else goes on; asked for twice
        it is done once."""
        assert self._nursery is not None
        if what not in self._stopping:
            self._stopping.add(what)
            self._nursery.start_soon(self._stop, what, work)

    async def _stop(self, what: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await self.guarded(work())
        finally:
            self._stopping.discard(what)


async def _decoded(data: str | bytes) -> requests.Request:
    """Make out a message, a large one aside. Raises ``Refusal``."""
    return await made(len(data), lambda: decode.decode(data))
