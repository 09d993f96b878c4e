"""Autobahn's fuzzing client against the gateway: every case but those of compression.

    python -m tests.gateway.autobahn [WSTEST]

WSTEST is the program ``wstest``; without it ``$WSTEST``, then the one on PATH. It needs
CPython 2.7: ``virtualenv -p python2.7 DIR && DIR/bin/pip install autobahntestsuite==25.10.1``.
Ends with 0 when no case failed, 1 when one did, 2 when there is no ``wstest``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import trio

from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.server import Gateway, GatewayOptions, serve_gateway
from podiumd.gateway.websocket import WebSocket, text_frame

MINUTES = 10
AGENT = "podium"
COMPRESSION = ["12.*", "13.*"]
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}


class Echo:
    """Sends every message back; to HTTP there is nothing here; nobody is shut out."""

    async def serve(self, socket: WebSocket) -> None:
        socket.authenticated()
        while True:
            message = await socket.receive()
            if isinstance(message, str):
                socket.send(message.encode())
            else:
                socket.send_frame(b"\x82" + text_frame(message)[1:])

    async def handle(self, request: Request) -> Response:
        raise Problem(404)

    def knows(self, address: str) -> bool:
        return False

    def delay(self, address: str) -> float:
        return 0.0


async def fuzz(wstest: str, directory: Path) -> dict[str, Any]:
    """Run all cases; what ``wstest`` says of each, by case."""
    echo = Echo()
    async with trio.open_nursery() as nursery:
        gateway: Gateway = await nursery.start(
            serve_gateway, GatewayOptions(port=0), echo.serve, echo.handle, echo
        )
        settings = {
            "outdir": str(directory),
            "servers": [{"agent": AGENT, "url": gateway.url}],
            "cases": ["*"],
            "exclude-cases": COMPRESSION,
            "exclude-agent-cases": {},
        }
        (directory / "cases.json").write_text(json.dumps(settings), encoding="utf-8")
        command = [wstest, "-m", "fuzzingclient", "-s", str(directory / "cases.json")]
        with trio.fail_after(MINUTES * 60):
            await trio.run_process(command, stdout=sys.stderr.fileno())
        gateway.stop()
    results: dict[str, Any] = json.loads((directory / "index.json").read_text(encoding="utf-8"))
    return dict(results[AGENT])


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("WSTEST", "wstest")
    wstest = shutil.which(wanted)
    if wstest is None:
        print(f"There is no {wanted}.\n{__doc__}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as directory:
        results = trio.run(fuzz, wstest, Path(directory))
    for kind in ("behavior", "behaviorClose"):
        print(f"{kind}: {dict(Counter(result[kind] for result in results.values()))}")
    bad = {
        case: f"{result['behavior']}, closing {result['behaviorClose']}"
        for case, result in results.items()
        if result["behavior"] not in GOOD or result["behaviorClose"] not in GOOD
    }
    for case, verdict in sorted(bad.items()):
        print(f"case {case}: {verdict}")
    print(f"{len(results)} cases, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
