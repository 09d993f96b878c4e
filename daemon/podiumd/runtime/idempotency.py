"""Client tokens: the same request sent twice is done once."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import trio

from podiumd.runtime.context import Context
from podiumd.runtime.errors import InvalidParameter
from podiumd.runtime.maintenance.housekeeping import forget_old_tokens, kept_since

Token = tuple[str, str, str]
"""A method, the client's token, a digest of the parameters."""


def words_uuid(run_id: str, token: Token | None) -> str:
    """Derive the uuid of words that go into a run: a client token's are the same each time."""
    if token is None:
        return str(uuid.uuid4())
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\n".join((run_id, *token))))


def _digest(request: msgspec.Struct) -> str:
    """Compute the digest of a request's given parameters: the next release may know more."""
    given = {
        key: value for key, value in msgspec.structs.asdict(request).items() if value is not None
    }
    return hashlib.sha256(msgspec.json.encode(given, order="sorted")).hexdigest()


class Used(msgspec.Struct, frozen=True):
    """``token`` is to be stored with the run that the request starts, or with what it sends into
    one; ``run_id`` is the run that the same request has started, or gone into, before."""

    token: Token | None = None
    run_id: str | None = None


class Tokens:
    """The client tokens in use. A client that repeats its request before it got the first's
    response waits until that one has started its run, and gets the same."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._locks: dict[tuple[str, str], trio.Lock] = {}

    @asynccontextmanager
    async def using(
        self, method: str, token: str | None, request: msgspec.Struct
    ) -> AsyncIterator[Used]:
        """Hold a token while its request starts a run.

        Raises:
            InvalidParameter: it came with other parameters before.
        """
        if token is None:
            yield Used()
            return
        key = (method, token)
        lock = self._locks.setdefault(key, trio.Lock())
        try:
            async with lock:
                yield await self._look_up(method, token, request)
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._locks.pop(key, None)

    async def _look_up(self, method: str, token: str, request: msgspec.Struct) -> Used:
        digest = _digest(request)
        row = await self._context.store.token(method, token)
        if row is not None and row.at < kept_since(self._context):
            await forget_old_tokens(self._context)
            row = None
        if row is None:
            return Used((method, token, digest))
        if row.params_digest != digest:
            raise InvalidParameter(
                "client_token", "This client token was used with other parameters."
            )
        return Used((method, token, digest), row.run_id)
