"""The body of a model's answer, read in bounds of silence and of size."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import trio

from podiumd.agents.native.model.base import ModelError

if TYPE_CHECKING:
    import httpx2

LARGEST_BODY: Final = 64 * 1024 * 1024  # bytes; a token of a reply takes up to 300
_CLOSE_SECONDS: Final = 2.0


class Body:
    """The bytes of a response as they come. An async context manager; leaving it ends the request.

    ``host`` stands in errors; ``idle_seconds`` is how long it may be silent.
    """

    def __init__(self, response: httpx2.Response, host: str, idle_seconds: float) -> None:
        self._response = response
        self._host = host
        self._idle_seconds = idle_seconds
        # aiter_raw is an async generator, despite its annotation.
        self._pieces: AsyncGenerator[bytes, None] = response.aiter_raw()
        self._size = 0
        self._over = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + _CLOSE_SECONDS):
            if not self._over:
                # Ending the read where it waits ends the generators that stand in each other;
                # closing only the outermost would leave the inner ones to the garbage collector.
                with trio.CancelScope() as ending, contextlib.suppress(Exception):
                    ending.cancel()
                    async for _ in self._pieces:
                        pass
            await self._pieces.aclose()
            await self._response.aclose()

    async def more(self, idle_seconds: float | None = None) -> bytes | None:
        """Read the next bytes; ``None`` at the end.

        Raises ``ModelError`` after the silence or at the size that is too much, and what httpx2
        raises.
        """
        seconds = self._idle_seconds if idle_seconds is None else idle_seconds
        try:
            with trio.fail_after(seconds):
                piece = await anext(self._pieces)
        except StopAsyncIteration:
            self._over = True
            return None
        except trio.TooSlowError:
            self._over = True
            raise silent(self._host, seconds) from None
        except BaseException:
            self._over = True
            raise
        self._size += len(piece)
        if self._size > LARGEST_BODY:
            raise ModelError(
                "bad-answer", f"{self._host} sent more than {LARGEST_BODY >> 20} MiB in one answer"
            )
        return piece

    async def up_to(self, limit: int) -> tuple[bytes, bool]:
        """Read the first ``limit`` bytes, and return whether that was all. Raises as ``more``."""
        found = bytearray()
        while (piece := await self.more()) is not None:
            found += piece
            if len(found) > limit:
                return bytes(found[:limit]), False
        return bytes(found), True


def silent(host: str, seconds: float) -> ModelError:
    """Build the error for a server that sends nothing."""
    return ModelError("network", f"{host} sent nothing for {seconds:g} s", again=True)
