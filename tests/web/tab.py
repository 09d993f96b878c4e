"""A page in a browser, as the tests use one of any engine."""

from __future__ import annotations

import json
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import trio


class Cookie(NamedTuple):
    """A cookie that the browser would send to the page."""

    name: str
    value: str
    http_only: bool
    same_site: str


class Tab(ABC):
    """A page. ``said`` is what its console was told, as far as the engine tells."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @abstractmethod
    async def go(self, url: str) -> None:
        """Load an address; what the page does then is waited for by ``shows``."""

    @abstractmethod
    async def run(self, script: str) -> Any:
        """The value of an expression, of a promise too."""

    @abstractmethod
    async def type(self, name: str, text: str) -> None:
        """Type into the field of this name."""

    @abstractmethod
    async def cookies(self) -> list[Cookie]:
        """The cookies of the page's address."""

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

    async def focus(self, name: str) -> None:
        """Put the keyboard into the field of this name, once it is there."""
        await self.until(
            f"((f) => f && (f.focus(), true))(document.querySelector('[name={name}]'))"
        )

    async def click(self, label: str) -> None:
        """Click the button with this label."""
        wanted = json.dumps(label)
        await self.until(
            f"((b) => b && (b.click(), true))([...document.querySelectorAll('button')]"
            f".find((b) => b.innerText === {wanted}))"
        )


class Browser(ABC):
    """A running browser."""

    @abstractmethod
    async def tab(self, person: str | None = None) -> Tab:
        """Open a page that shows nothing yet. ``person``, as ``another_person`` returned it, has
        cookies and a storage of his own."""

    @abstractmethod
    async def another_person(self) -> str:
        """Cookies and storage apart from those that are there."""


@asynccontextmanager
async def program(command: list[str], home: Path, **more: Any) -> AsyncIterator[trio.Process]:
    """A program with a home of its own, ended with all that it has started. ``more`` goes to
    ``open_process``; ``env`` is added to the environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    environment |= more.pop("env", {})
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = await trio.lowlevel.open_process(
        command, env=environment, start_new_session=True, **quiet | more
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        with trio.CancelScope(shield=True):
            await process.wait()


async def announced(stream: trio.abc.ReceiveStream, mark: bytes = b"") -> str:
    """What a program says behind a mark, to the end of the word; its line is read whole."""
    said = b""
    while mark not in said or not said.endswith(b"\n"):
        piece = await stream.receive_some()
        assert piece, said.decode(errors="replace")
        said += piece
    return said[said.index(mark) + len(mark) :].split()[0].decode()


async def drain(stream: trio.abc.ReceiveStream) -> None:
    """Read what nobody wants, so that who says it is not held up."""
    while await stream.receive_some():
        pass
