"""A headless Chromium that a test drives over the DevTools protocol, with a profile of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from tests.browser.chromium import find
from tests.patience import HANG_SECONDS

_LISTENING = b"DevTools listening on "
_MOST_BYTES = 64 * 1024 * 1024


class Tab:
    """A page of the browser. ``requests`` are the addresses that it asked for, ``said`` what its
    console was told, ``violations`` what its policy forbade."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.said: list[str] = []
        self.sizes: dict[str, int] = {}
        self._changed = trio.lowlevel.ParkingLot()

    async def send(self, method: str, **params: Any) -> Any:
        return await self._browser.send(method, self._session, **params)

    async def go(self, url: str) -> None:
        """Load an address; what the page does then is waited for by ``shows``."""
        answer = await self.send("Page.navigate", url=url)
        assert "errorText" not in answer, answer

    async def run(self, script: str) -> Any:
        """The value of an expression, of a promise too."""
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

    async def until(self, expression: str) -> Any:
        """Wait until an expression of the page is true; its value. The page itself looks again
        whenever something in it has changed."""
        script = f"""new Promise((done) => {{
          const look = () => {{
            let found;
            try {{ found = {expression}; }} catch {{ found = null; }}
            if (found) {{ watch.disconnect(); done(found); }}
          }};
          const watch = new MutationObserver(look);
          const whole = {{childList: true, attributes: true, characterData: true}};
          watch.observe(document, {{subtree: true, ...whole}});
          look();
        }})"""
        return await self.run(script)

    async def shows(self, text: str) -> None:
        """Wait until the page shows a text."""
        await self.until(f"document.body?.innerText.includes({json.dumps(text)})")

    async def click(self, label: str) -> None:
        """Click the button with this label."""
        wanted = json.dumps(label)
        await self.until(
            f"((b) => b && (b.click(), true))([...document.querySelectorAll('button')]"
            f".find((b) => b.innerText === {wanted}))"
        )

    async def type(self, name: str, text: str) -> None:
        """Type into the field of this name."""
        await self.until(
            f"((f) => f && (f.focus(), true))(document.querySelector('[name={name}]'))"
        )
        await self.send("Input.insertText", text=text)

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


class Browser:
    """A running browser."""

    def __init__(self, socket: WebSocketConnection) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, trio.MemorySendChannel[Any]] = {}
        self._tabs: dict[str, Tab] = {}

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

    async def tab(self, person: str | None = None) -> Tab:
        """Open a page that shows nothing yet. ``person``, as ``another_person`` returned it, has
        cookies and a storage of his own."""
        context = {} if person is None else {"browserContextId": person}
        target = await self.send("Target.createTarget", url="about:blank", **context)
        attached = await self.send(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        tab = self._tabs[attached["sessionId"]] = Tab(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            await tab.send(f"{domain}.enable")
        return tab

    async def another_person(self) -> str:
        """Cookies and storage apart from those that are there."""
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
async def browsing(profile: Path, rules: str = "") -> AsyncIterator[Browser]:
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
        "about:blank",
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(profile), "LANG": "C.UTF-8"}
    process = await trio.lowlevel.open_process(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        with trio.fail_after(HANG_SECONDS):
            url = await _address(process)
            async with (
                trio.open_nursery() as nursery,
                open_websocket_url(url, max_message_size=_MOST_BYTES) as socket,
            ):
                browser = Browser(socket)
                nursery.start_soon(browser.listen)
                nursery.start_soon(_drain, process)
                yield browser
                nursery.cancel_scope.cancel()
    finally:
        os.killpg(process.pid, 9)
        with trio.CancelScope(shield=True):
            await process.wait()


async def _address(process: trio.Process) -> str:
    assert process.stderr is not None
    said = b""
    while _LISTENING not in said or not said.endswith(b"\n"):
        piece = await process.stderr.receive_some()
        assert piece, said.decode(errors="replace")
        said += piece
    return said.partition(_LISTENING)[2].split()[0].decode()


async def _drain(process: trio.Process) -> None:
    assert process.stderr is not None
    while await process.stderr.receive_some():
        pass
