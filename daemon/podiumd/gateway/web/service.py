"""Answers of HTTP for the page: its files, its screens, pairing."""

from __future__ import annotations

from pathlib import Path

import trio

from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.web.files import Files, load
from podiumd.gateway.web.pairing import LEAVE, PAIR, Pairing


class Web:
    """Answers what needs no device. The files are read at the first request for one."""

    def __init__(self, directory: Path, pairing: Pairing) -> None:
        self._directory = directory
        self._pairing = pairing
        self._files: Files | None = None
        self._reading = trio.Lock()

    async def answer(self, request: Request) -> Response | None:
        """Answer for the page; ``None``: this is not for it. Raises ``Problem``."""
        post = {PAIR: self._pairing.pair, LEAVE: self._pairing.leave}.get(request.path)
        if post is not None:
            if request.method != "POST":
                words = f"{request.path} takes POST."
                raise Problem(405, detail=words, headers=(("Allow", "POST"),))
            return await post(request)
        if request.method not in ("GET", "HEAD"):
            return None
        found = (await self.files()).answer(request)
        if found is not None:
            request.visits()
        return found

    async def files(self) -> Files:
        """Return the files."""
        async with self._reading:
            if self._files is None:
                self._files = await trio.to_thread.run_sync(load, self._directory)
            return self._files

    async def release(self) -> str:
        """Return the release of the page as it is served now."""
        return (await self.files()).release
