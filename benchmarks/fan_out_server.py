"""Our side of the fan-out: the gateway's listener and its WebSockets, with nothing behind them.

    python benchmarks/fan_out_server.py     prints its port

Each line of standard input is what to do and how often: ``frame N`` sends ``fan_out_text`` to
every client, as the hub does; ``message N`` has a session's channel make and send it. The
processor seconds that this took are printed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.fan_out_text import SESSION, fan_out_messages, fan_out_text
from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.phone.feed.channels import Channel, Subscription
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.server import Gateway, GatewayOptions, serve_gateway
from podiumd.gateway.websocket import Closed, WebSocket, text_frame


class Clients:
    """Everyone who is connected: the gateway's phone app, and its HTTP app."""

    def __init__(self) -> None:
        self.connected: set[PhoneLink] = set()
        self.channel = Channel(SESSION.session_id)

    async def serve(self, socket: WebSocket) -> None:
        """One client until it has gone."""
        client = PhoneLink(socket)
        client.budget = 100_000
        socket.authenticated()
        self.connected.add(client)
        subscription = Subscription(client, SESSION.session_id, _nothing, _nothing)
        subscription.live = True
        self.channel.subscriptions.add(subscription)
        try:
            while True:
                await socket.receive()
        except Closed:
            self.connected.discard(client)
            self.channel.subscriptions.discard(subscription)

    async def handle(self, request: Request) -> Response:
        """There is nothing else here."""
        raise Problem(404, detail=request.path)

    def send_frame(self) -> None:
        """A ready-made message to all."""
        frame = text_frame(fan_out_text_once)
        for client in self.connected:
            client.send_frame(frame)

    def send_message(self) -> None:
        """A message of the session to all that follow it."""
        messages = fan_out_messages()
        for each in self.channel.subscriptions:
            each.at, each.behind = messages[0].seq - 1, False
        self.channel.deliver(messages, text_frame)


def _nothing(*_: object) -> None:
    """Nobody falls behind here, and the feed is never lost."""


fan_out_text_once = fan_out_text()


async def main() -> None:
    """Serve until standard input ends."""
    clients = Clients()
    send = {"frame": clients.send_frame, "message": clients.send_message}
    async with trio.open_nursery() as nursery:
        gateway: Gateway = await nursery.start(
            serve_gateway,
            GatewayOptions(port=0),
            clients.serve,
            clients.handle,
            AuthThrottle(trio.current_time),
        )
        print(gateway.port, flush=True)
        while order := await trio.to_thread.run_sync(sys.stdin.readline):
            what, count = order.split()
            began = time.process_time()
            for _ in range(int(count)):
                send[what]()
                await trio.lowlevel.checkpoint()
            print(time.process_time() - began, flush=True)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
