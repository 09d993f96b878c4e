"""WebKitGTK's MiniBrowser on a screen that nobody sees, driven over WebDriver."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from tests.gateway.routes.client import Client
from tests.needs import need
from tests.patience import HANG_SECONDS
from tests.web.tab import Browser, Cookie, Tab, announced, program

_ASYNC = """
const done = arguments[arguments.length - 1];
(async () => SCRIPT)().then((value) => done([value]), (error) => done(String(error)));
"""
_BETWEEN_TRIES = 0.05  # the driver does not tell when it listens


class WebKitTab(Tab):
    """A page, which is all that its driver has. Its console is not told."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._session = ""

    async def send(self, method: str, command: str, **params: Any) -> Any:
        body = json.dumps(params).encode() if method == "POST" else None
        path = f"/session{self._session}{command}"
        answer = await self._client.ask(method, path, body, content_type="application/json")
        found = json.loads(answer.body)
        assert answer.status == 200, (command, found)
        return found["value"]

    async def begin(self) -> None:
        begun = await self.send("POST", "", capabilities={"alwaysMatch": {}})
        self._session = f"/{begun['sessionId']}"
        await self.send("POST", "/timeouts", script=int(HANG_SECONDS * 1000))

    async def go(self, url: str) -> None:
        await self.send("POST", "/url", url=url)

    async def run(self, script: str) -> Any:
        words = _ASYNC.replace("SCRIPT", f"await ({script})")
        found = await self.send("POST", "/execute/async", script=words, args=[])
        assert isinstance(found, list), found
        return found[0] if found else None

    async def type(self, name: str, text: str) -> None:
        await self.focus(name)
        by = {"using": "css selector", "value": f"[name={name}]"}
        (field,) = (await self.send("POST", "/element", **by)).values()
        await self.send("POST", f"/element/{field}/value", text=text)

    async def cookies(self) -> list[Cookie]:
        return [
            Cookie(one["name"], one["value"], one["httpOnly"], one["sameSite"].lower())
            for one in await self.send("GET", "/cookie")
        ]


class WebKit(Browser):
    """A driver, so a browser, a page: one serves one session, which has cookies of its own."""

    def __init__(self, stack: AsyncExitStack, home: Path, display: str) -> None:
        self._stack = stack
        self._home = home
        self._display = display

    async def tab(self, person: str | None = None) -> Tab:
        port = _free_port()
        environment = {
            "DISPLAY": self._display,
            "XDG_RUNTIME_DIR": str(self._home),
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",  # a container has no namespaces
        }
        command = ["WebKitWebDriver", f"--port={port}"]
        await self._stack.enter_async_context(program(command, self._home, env=environment))
        await _listens(port)
        tab = WebKitTab(Client(port))
        await tab.begin()
        return tab

    async def another_person(self) -> str:
        return "another"


def _free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


async def _listens(port: int) -> None:
    while True:
        try:
            await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
        except OSError:
            await trio.sleep(_BETWEEN_TRIES)
        else:
            return


@asynccontextmanager
async def browsing(profile: Path) -> AsyncIterator[WebKit]:
    need("WebKitWebDriver", "Xvfb")
    profile.mkdir(mode=0o700)
    reading, writing = os.pipe()
    screen = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24"]
    screen += ["-nolisten", "tcp", "-noreset"]
    with trio.fail_after(HANG_SECONDS):
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(program(screen, profile, pass_fds=(writing,)))
            os.close(writing)
            async with trio.lowlevel.FdStream(reading) as told:
                display = f":{await announced(told)}"
            yield WebKit(stack, profile, display)
