"""A nursery for the inside of a context manager."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def helpers() -> AsyncIterator[trio.Nursery]:
    """Open a nursery for helper tasks that end with the body.

    An error of the body comes out as it was raised, not wrapped in a group as a bare nursery
    would: that a driver has helper tasks is no business of the code around its turn.
    """
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        except Exception as error:  # noqa: BLE001 - only carried past the nursery
            failure = error
        finally:
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
