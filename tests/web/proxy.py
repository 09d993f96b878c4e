"""A proxy of the person's own that speaks HTTPS and hands on to the gateway."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import trio

from podiumd.config.settings import GatewaySettings
from podiumd.gateway.tls.certificate import make_tls

ENDS = (trio.BrokenResourceError, trio.ClosedResourceError)


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate that no browser trusts by itself."""
    tls = make_tls(GatewaySettings(tls="auto"), folder, (), (), datetime.now(UTC))
    assert tls is not None
    return tls.context


class Proxy:
    """Listens on ``port`` and hands on to ``to``, byte for byte: so with the ``Host`` that it was
    called by."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.port = 0
        self.to = 0
        self._context = context

    async def handle(self, stream: trio.SocketStream) -> None:
        outer = trio.SSLStream(stream, self._context, server_side=True, https_compatible=True)
        async with (
            outer,
            await trio.open_tcp_stream("127.0.0.1", self.to) as inner,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(self._hand_on, outer, inner, nursery.cancel_scope)
            await self._hand_on(inner, outer, nursery.cancel_scope)

    async def _hand_on(
        self, source: trio.abc.Stream, target: trio.abc.Stream, both: trio.CancelScope
    ) -> None:
        try:
            while data := await source.receive_some(65_536):
                await target.send_all(data)
        except ENDS:
            pass  # one of both has gone, and so does the other
        both.cancel()


@asynccontextmanager
async def open_proxy(folder: Path) -> AsyncIterator[Proxy]:
    proxy = Proxy(certificate(folder))
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        proxy.port = listeners[0].socket.getsockname()[1]
        await nursery.start(trio.serve_listeners, proxy.handle, listeners)
        yield proxy
        nursery.cancel_scope.cancel()
