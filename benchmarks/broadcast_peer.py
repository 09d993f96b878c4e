"""The peer of the fan-out: the ``websockets`` library's broadcast on asyncio.

    python benchmarks/broadcast_peer.py     prints its port

Each line of standard input is a number of messages; ``fan_out_text`` is then sent so often to
every client, and the processor seconds that this took are printed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from websockets.asyncio.server import ServerConnection, broadcast, serve

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.fan_out_text import fan_out_text


async def main() -> None:
    """Serve until standard input ends."""
    text = fan_out_text().decode()

    async def client(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with serve(client, "127.0.0.1", 0, compression=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        orders = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
        )
        while order := await orders.readline():
            began = time.process_time()
            for _ in range(int(order)):
                broadcast(server.connections, text)
                await asyncio.sleep(0)  # a turn of the loop, in which it writes
            print(time.process_time() - began, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
