"""Our side of the RPC benchmark: the daemon's whole RPC edge over a service with one run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

import trio

from podiumd.rpc.context import DaemonInfo
from podiumd.rpc.listener import listening
from podiumd.rpc.server import serve_rpc
from podiumd.runtime.service import Service

RUN = {
    "run_id": "0192f0c1-7d1e-7cc0-8a52-2f4b6f1f9a01",
    "status": "running",
    "step": "review",
}


class OneRun:
    """As much of the service as the benchmark asks for."""

    async def list_runs(
        self, active: bool | None, limit: int, before: str | None
    ) -> list[dict[str, Any]]:
        """The one run."""
        return [RUN]


async def main(path: Path) -> None:
    """Serve until ended from outside."""
    info = DaemonInfo(
        version="0",
        pid=os.getpid(),
        started_at="",
        socket=str(path),
        request_shutdown=lambda turns: None,
        gateway=cast(Any, None),
        settings=cast(Any, None),
        tools=cast(Any, None),
        agents=cast(Any, None),
    )
    with listening(path, os.getuid()) as listener:
        print("ready", flush=True)
        await serve_rpc(cast(Service, OneRun()), info, listener)


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]))
