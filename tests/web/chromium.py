"""A headless Chromium that a test drives over the DevTools protocol, with a profile of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from tests.browser.chromium import find
from tests.patience import HANG_SECONDS
from tests.web.tab import Browser, Cookie, Tab, announced, drain, program

_LISTENING = b"DevTools listening on "
_MOST_BYTES = 64 * 1024 * 1024


class ChromiumTab(Tab):
    """A page of the browser. ``requests`` are the addresses that it asked for."""

    def __init__(self, browser: Chromium, session: str) -> None:
        super().__init__()
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.sizes: dict[str, int] = {}

    async def send(self, method: str, **params: Any) -> Any:
        return await self._browser.send(method, self._session, **params)

    async def go(self, url: str) -> None:
        answer = await self.send("Page.navigate", url=url)
        assert "errorText" not in answer, answer

    async def run(self, script: str) -> Any:
        answer = await self.send(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            allowUnsafeEvalBlockedByCSP=True,
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    async def type(self, name: str, text: str) -> None:
        await self.focus(name)
        await self.send("Input.insertText", text=text)

    async def cookies(self) -> list[Cookie]:
        return [
            Cookie(one["name"], one["value"], one["httpOnly"], one["sameSite"].lower())
            for one in (await self.send("Network.getCookies"))["cookies"]
        ]

    async def picture(self, width: int, height: int, *, dark: bool = False) -> bytes:
        """A picture of the page in a window of this size."""
        import base64

        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.send("Emulation.setEmulatedMedia", features=[scheme])
        shot = await self.send("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])

    def take(self, method: str, params: Any) -> None:
        """Note an event of the page."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.said.append(json.dumps(params["exceptionDetails"]))
        elif method == "Network.loadingFinished":
            self.sizes[params["requestId"]] = int(params["encodedDataLength"])


class Chromium(Browser):
    def __init__(self, socket: WebSocketConnection) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, trio.MemorySendChannel[Any]] = {}
        self._tabs: dict[str, ChromiumTab] = {}

    async def send(self, method: str, session: str | None = None, **params: Any) -> Any:
        self._number += 1
        number = self._number
        tell, hear = trio.open_memory_channel[Any](1)
        self._waiting[number] = tell
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        await self._socket.send_message(json.dumps(message))
        answer = await hear.receive()
        assert "error" not in answer, (method, answer)
        return answer["result"]

    async def tab(self, person: str | None = None) -> ChromiumTab:
        context = {} if person is None else {"browserContextId": person}
        target = await self.send("Target.createTarget", url="about:blank", **context)
        attached = await self.send(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        tab = self._tabs[attached["sessionId"]] = ChromiumTab(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            await tab.send(f"{domain}.enable")
        return tab

    async def another_person(self) -> str:
        made = await self.send("Target.createBrowserContext")
        return str(made["browserContextId"])

    async def listen(self) -> None:
        """Hand on what the browser says."""
        while True:
            message = json.loads(await self._socket.get_message())
            if "id" in message:
                self._waiting.pop(message["id"]).send_nowait(message)
            elif (tab := self._tabs.get(message.get("sessionId", ""))) is not None:
                tab.take(message["method"], message["params"])


@asynccontextmanager
async def browsing(profile: Path, rules: str = "", *options: str) -> AsyncIterator[Chromium]:
    """A browser, names resolved by ``rules`` (as --host-resolver-rules has them)."""
    profile.mkdir(exist_ok=True)
    command = [
        find(),
        "--headless=new",
        "--no-sandbox",  # a container's root has no other way
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        "--no-proxy-server",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        f"--host-resolver-rules={rules}",
        *options,
        "about:blank",
    ]
    with trio.fail_after(HANG_SECONDS):
        async with (
            program(command, profile, stderr=subprocess.PIPE) as process,
            trio.open_nursery() as nursery,
        ):
            assert process.stderr is not None
            url = await announced(process.stderr, _LISTENING)
            nursery.start_soon(drain, process.stderr)
            async with open_websocket_url(url, max_message_size=_MOST_BYTES) as socket:
                browser = Chromium(socket)
                nursery.start_soon(browser.listen)
                yield browser
                nursery.cancel_scope.cancel()
