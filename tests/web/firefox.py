"""A headless Firefox that a test drives over WebDriver BiDi, with a profile of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from tests.needs import need
from tests.patience import HANG_SECONDS
from tests.web.tab import Browser, Cookie, Tab, announced, drain, program

PREFERENCES = 'user_pref("network.proxy.type", 0);\n'
"""Those of the profile: no proxy, whatever the system has."""

_LISTENING = b"WebDriver BiDi listening on "


class FirefoxTab(Tab):
    def __init__(self, browser: Firefox, context: str) -> None:
        super().__init__()
        self._browser = browser
        self._context = context

    async def go(self, url: str) -> None:
        send = self._browser.send
        await send("browsingContext.navigate", context=self._context, url=url, wait="complete")

    async def run(self, script: str) -> Any:
        answer = await self._browser.send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify([await ({script})]))()",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])[0]

    async def type(self, name: str, text: str) -> None:
        await self.focus(name)
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        hands = [{"type": "key", "id": "keyboard", "actions": keys}]
        await self._browser.send("input.performActions", context=self._context, actions=hands)

    async def cookies(self) -> list[Cookie]:
        of_page = {"type": "context", "context": self._context}
        answer = await self._browser.send("storage.getCookies", partition=of_page)
        return [
            Cookie(one["name"], one["value"]["value"], one["httpOnly"], one["sameSite"].lower())
            for one in answer["cookies"]
        ]


class Firefox(Browser):
    def __init__(self, socket: WebSocketConnection) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, trio.MemorySendChannel[Any]] = {}
        self._tabs: dict[str, FirefoxTab] = {}

    async def send(self, method: str, **params: Any) -> Any:
        self._number += 1
        tell, hear = trio.open_memory_channel[Any](1)
        self._waiting[self._number] = tell
        message = {"id": self._number, "method": method, "params": params}
        await self._socket.send_message(json.dumps(message))
        answer = await hear.receive()
        assert answer["type"] == "success", (method, answer)
        return answer["result"]

    async def tab(self, person: str | None = None) -> Tab:
        whose = {} if person is None else {"userContext": person}
        made = await self.send("browsingContext.create", type="tab", **whose)
        tab = self._tabs[made["context"]] = FirefoxTab(self, made["context"])
        return tab

    async def another_person(self) -> str:
        return str((await self.send("browser.createUserContext"))["userContext"])

    async def listen(self) -> None:
        """Hand on what the browser says."""
        while True:
            message = json.loads(await self._socket.get_message())
            if "id" in message:
                self._waiting.pop(message["id"]).send_nowait(message)
            elif message["method"] == "log.entryAdded":
                entry = message["params"]
                tab = self._tabs.get(entry["source"].get("context", ""))
                if tab is not None and entry["level"] == "error":
                    tab.said.append(str(entry["text"]))


@asynccontextmanager
async def browsing(profile: Path) -> AsyncIterator[Firefox]:
    need("firefox-esr")
    profile.mkdir()
    (profile / "user.js").write_text(PREFERENCES)
    command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(profile)]
    command += ["--remote-debugging-port=0", "about:blank"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with trio.fail_after(HANG_SECONDS):
        async with program(command, profile, **pipes) as process, trio.open_nursery() as nursery:
            assert process.stdout is not None
            url = await announced(process.stdout, _LISTENING)
            nursery.start_soon(drain, process.stdout)
            async with open_websocket_url(f"{url}/session") as socket:
                browser = Firefox(socket)
                nursery.start_soon(browser.listen)
                await browser.send("session.new", capabilities={})
                await browser.send("session.subscribe", events=["log.entryAdded"])
                yield browser
                nursery.cancel_scope.cancel()
