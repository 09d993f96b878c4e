"""The RPC server: accepts this user's connections and supervises each by itself."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, Literal, get_args

import trio

from podiumd.host.accept import accept
from podiumd.observe.logs import log
from podiumd.rpc.adapter import Adapter, error_line
from podiumd.rpc.connection import Connection
from podiumd.rpc.context import DaemonInfo, RequestContext
from podiumd.rpc.limits import RpcLimits
from podiumd.rpc.listener import peer_uid
from podiumd.rpc.methods import METHODS
from podiumd.rpc.outbox import Sender
from podiumd.rpc.page_connection import Messages, PageConnection
from podiumd.rpc.scopes import opened
from podiumd.rpc.socket_connection import SocketConnection
from podiumd.runtime.errors import Overloaded, Refused
from podiumd.runtime.service import Service
from podiumd.wire.events import Stopping
from podiumd.wire.method import Scope

_PAUSE_SECONDS: Final = 0.1
"""After accepting failed for want of descriptors or memory."""


class RpcServer:
    """The server that runs behind ``serve_rpc``; the task that started it calls ``stop``."""

    def __init__(
        self,
        service: Service,
        info: DaemonInfo,
        listener: socket.socket,
        limits: RpcLimits,
        own_uid: int,
    ) -> None:
        self.service = service
        self.info = info
        self.limits = limits
        self._listener = listener
        self._own_uid = own_uid
        self._adapter = _adapter("all", limits)
        self._pages = {scope: _adapter(scope, limits) for scope in get_args(Scope)}
        self._sender = Sender()
        self._connections: set[Connection] = set()
        self._accepting = trio.CancelScope()
        self._over = trio.Event()
        self._turns: Literal["leave", "interrupt"] = "leave"

    @property
    def connections(self) -> int:
        """Return how many clients are connected."""
        return len(self._connections)

    def stop(self, turns: Literal["leave", "interrupt"] = "leave") -> None:
        """Close the listener and send clients ``daemon.stopping``.

        Requests in hand finish, and feeds, which the service ends, send everything, both within the
        drain time. ``serve_rpc`` returns when that is done.

        ``turns`` is for the clients: what becomes of turns that run.
        """
        self._turns = turns
        self._accepting.cancel()

    async def wait_closed(self) -> None:
        """Wait until the last connection has ended after ``stop``."""
        await self._over.wait()

    async def run(self) -> None:
        """Serve until stopped."""
        async with trio.open_nursery() as sending:
            sending.start_soon(self._sender.run)
            await self._serve()
            sending.cancel_scope.cancel()
        self._over.set()

    async def _serve(self) -> None:
        async with trio.open_nursery() as nursery:
            with self._accepting:
                await accept(self._listener, partial(self._take, nursery), _PAUSE_SECONDS)
            self._listener.close()  # a client that comes now is not kept waiting for an answer
            for connection in tuple(self._connections):
                connection.drain(Stopping(turns=self._turns))
            nursery.cancel_scope.deadline = trio.current_time() + self.limits.drain_seconds

    def _take(self, nursery: trio.Nursery, sock: socket.socket) -> None:
        if self._admit(sock):
            connection = SocketConnection(sock, self, self._adapter, self._sender)
            self._connections.add(connection)
            nursery.start_soon(self._supervise, connection, sock)

    async def serve_page(self, messages: Messages, first: str, caller: str, scope: Scope) -> None:
        """Serve a page whose device is known, ``first`` its message that was read already.

        Return once the connection is to be closed.
        """
        if not self._has_room():
            refusal = Overloaded("The daemon has too many connections; try again.")
            messages.send(error_line(refusal.code, refusal.message, refusal.told)[:-1])
            return
        page = PageConnection(messages, first, self, self._pages[scope], caller, scope)
        self._connections.add(page)
        try:
            await page.run()
        finally:
            self._connections.discard(page)

    def followers(self) -> int:
        """Return how many connections have feeds."""
        return sum(connection.follows for connection in self._connections)

    def _admit(self, sock: socket.socket) -> bool:
        """Let this user in while there is room; others get one sentence and a closed door."""
        try:
            uid = peer_uid(sock)
        except OSError:
            uid = -1
        refusal: Refused | Overloaded | None = None
        if uid != self._own_uid:
            log("Connection refused", "warning", uid=uid)
            refusal = Refused("This socket serves only the user who runs the daemon.")
        elif not self._has_room():
            refusal = Overloaded("The daemon has too many connections; try again.")
        if refusal is None:
            return True
        try:
            sock.send(error_line(refusal.code, refusal.message, refusal.told))
        except OSError:
            pass  # it did not wait for the answer
        sock.close()
        return False

    def _has_room(self) -> bool:
        """Return whether one more client may come, and make room for it.

        A client that has gone, and whose request still waits for an agent or a person, takes no
        room from those who are there, and the one that has been idle for longest makes room: the
        socket has no keys that would show which client matters.
        """
        most = self.limits.connections
        if len(self._connections) < most:
            return True
        there = [each for each in self._connections if not each.end_if_gone()]
        if len(there) < most:
            return True
        idle = [each for each in there if each.idle]
        if not idle:
            return False
        min(idle, key=lambda each: each.heard_at).give_way()
        return True

    async def _supervise(self, connection: Connection, sock: socket.socket) -> None:
        try:
            await connection.run()
        except Exception as error:  # noqa: BLE001 - one client's fault is not the server's
            log("Connection failed", "error", exception=error)
        finally:
            self._connections.discard(connection)
            sock.close()


def _adapter(scope: Scope, limits: RpcLimits) -> Adapter[RequestContext]:
    return Adapter(opened(METHODS, scope), limits.batch_entries, limits.batch_bytes)


async def serve_rpc(
    service: Service,
    info: DaemonInfo,
    listener: socket.socket,
    limits: RpcLimits | None = None,
    own_uid: Callable[[], int] = os.getuid,
    *,
    task_status: trio.TaskStatus[RpcServer] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the service on a bound, listening Unix socket (made here or handed in).

    Ready when started, with the ``RpcServer`` as its value; returns after its ``stop``, or is
    cancelled, which ends connections at once. ``stop`` closes ``listener``.
    """
    server = RpcServer(service, info, listener, limits or RpcLimits(), own_uid())
    task_status.started(server)  # early connections wait in the queue for the first accept
    await server.run()
