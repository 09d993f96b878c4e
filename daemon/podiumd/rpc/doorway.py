"""The way of pages to the server: the gateway listens a moment before the server is there."""

from __future__ import annotations

from podiumd.rpc.adapter import error_line
from podiumd.rpc.page_connection import Messages
from podiumd.rpc.server import RpcServer
from podiumd.runtime.errors import Overloaded
from podiumd.wire.method import Scope


class Doorway:
    """Hands pages to the server once it is ``open``."""

    def __init__(self) -> None:
        self._server: RpcServer | None = None

    def open(self, server: RpcServer) -> RpcServer:
        """Let pages through to this server from here on; return it."""
        self._server = server
        return server

    async def serve_page(self, messages: Messages, first: str, caller: str, scope: Scope) -> None:
        """Serve a page, see ``RpcServer.serve_page``."""
        if self._server is None:
            early = Overloaded("The daemon is just starting: try again.")
            messages.send(error_line(early.code, early.message, early.told)[:-1])
            return
        await self._server.serve_page(messages, first, caller, scope)
