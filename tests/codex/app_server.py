"""A real ``codex app-server`` over plain pipes: as little as possible between test and program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

Line = dict[str, Any]

# Codex puts directories into what its sandbox lets be written: not into /tmp, which is everyone's.
CONFIG = """\
model = "scripted"
model_provider = "loopback"
check_for_update_on_startup = false

[sandbox_workspace_write]
exclude_slash_tmp = true

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


class Home:
    """A throwaway home with a Codex of its own, set to ask the scripted model, and a project."""

    def __init__(self, root: Path, binary: Path, server: ModelServer) -> None:
        self.binary = binary
        self.path = root / "home"
        self.codex = self.path / ".codex"
        self.project = root / "project"
        for one in (self.codex, self.path / "tmp", self.project):
            one.mkdir(parents=True, exist_ok=True)
        (self.codex / "config.toml").write_text(CONFIG.format(url=server.url))

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of its Codex."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self.path),
            "TMPDIR": str(self.path / "tmp"),
        }

    def rollout(self, thread: str) -> bytes:
        """The session file of a thread."""
        (found,) = self.codex.glob(f"sessions/*/*/*/rollout-*-{thread}.jsonl")
        return found.read_bytes()


class AppServer:
    """One process. ``said`` is every line of it so far, ``sent`` every line of ours beside it."""

    def __init__(self, process: trio.Process, project: Path) -> None:
        self.exchange: list[Line] = []
        self.process = process
        self._project = project
        self._rest = b""
        self._waiting: list[Line] = []
        self._count = 0

    async def send(self, *lines: Line) -> None:
        """Write lines in one go."""
        assert self.process.stdin is not None
        self.exchange += [{"from": "podium", "line": line} for line in lines]
        await self.process.stdin.send_all(
            b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        )

    async def line(self) -> Line:
        """Return its next line; fails when its output ends."""
        assert self.process.stdout is not None
        while not self._waiting:
            chunk = await self.process.stdout.receive_some(65_536)
            assert chunk, f"the output ended after {self.exchange[-3:]}"
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            self._waiting = [json.loads(line) for line in whole]
            self.exchange += [{"from": "agent", "line": line} for line in self._waiting]
        return self._waiting.pop(0)

    async def until(self, method: str, **params: Any) -> Line:
        """Return the parameters of its next message of that method with these parameters."""
        while True:
            line = await self.line()
            given = line.get("params", {})
            if line.get("method") == method and given | params == given:
                return {**given, "id": line.get("id")}

    async def call(self, method: str, **params: Any) -> Line:
        """Send a request and return its result, or its error under ``error``."""
        self._count += 1
        name = f"{method}-{self._count}"
        await self.send({"id": name, "method": method, "params": params})
        while True:
            line = await self.line()
            if line.get("id") == name and "method" not in line:
                return dict(line["result"]) if "result" in line else {"error": line["error"]}

    async def thread(self, **params: Any) -> str:
        """Begin a thread and return its id."""
        usual = {"cwd": str(self._project), "sandbox": "workspace-write"}
        opened = await self.call(
            "thread/start", **{**usual, "approvalPolicy": "on-request", **params}
        )
        return str(opened["thread"]["id"])

    async def prompt(self, thread: str, text: str, identity: str, **params: Any) -> str:
        """Begin a turn and return its id."""
        words = [{"type": "text", "text": text}]
        begun = await self.call(
            "turn/start", threadId=thread, clientUserMessageId=identity, input=words, **params
        )
        return str(begun["turn"]["id"])


@asynccontextmanager
async def app_server(home: Home, *options: str) -> AsyncIterator[AppServer]:
    """Run one that has been greeted; it is ended at the end."""
    process = await trio.lowlevel.open_process(
        [str(home.binary), *options, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home.project,
        env=home.environment,
    )
    with trio.fail_after(HANG_SECONDS):
        try:
            server = AppServer(process, home.project)
            about = {"name": "podium", "title": "Podium", "version": "0"}
            capabilities = {"experimentalApi": True}
            await server.call("initialize", clientInfo=about, capabilities=capabilities)
            await server.send({"method": "initialized"})
            yield server
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
