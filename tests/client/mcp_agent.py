"""An agent that has started ``podium mcp``, and a daemon that echoes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.client.fake_daemon import FakeDaemon, Json, environment
from tests.patience import HANG_SECONDS

TOKEN = "0123456789abcdef" * 4


class Agent:
    """An agent that has started ``podium mcp``."""

    def __init__(self, daemon: FakeDaemon) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "podium", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(daemon.path, PODIUM_TOOLS_TOKEN=TOKEN),
        )

    def say(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, bytes]:
        """Close its input; its status, and what it said that nobody has heard yet."""
        out, err = self.process.communicate(timeout=HANG_SECONDS)
        assert err == b""
        return self.process.returncode, out


@contextmanager
def agent(daemon: FakeDaemon) -> Iterator[Agent]:
    started = Agent(daemon)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


def request(id: Any, method: str = "ping") -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": method}


def echo(params: Json) -> Json:
    """A daemon that answers each request with its id, and nothing else with nothing."""
    message = json.loads(params["message"])
    if "id" not in message:
        return {"reply": None}
    return {"reply": {"jsonrpc": "2.0", "id": message["id"], "result": {}}}


def reply(id: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


def deliveries(daemon: FakeDaemon) -> list[str]:
    return [params["delivery"] for params in daemon.params_of("mcp.message")]
