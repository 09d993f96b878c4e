"""``POST /upload``: a file from a phone's share sheet, in JSON as the apps send it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Final

import msgspec
import trio

from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.routes.body import decoded
from podiumd.gateway.routes.table import json_response
from podiumd.projects.errors import (
    BadContent,
    BadName,
    BadPlace,
    ProjectError,
    StorageFailed,
    TooLarge,
)
from podiumd.projects.resources import Resources
from podiumd.runtime.errors import InvalidParameter
from podiumd.wording import sentence

BODY_BYTES: Final = 140 * 1024 * 1024
"""A file of 100 MB in base64, and what is around it."""

SMALL_BYTES: Final = 4 * 1024 * 1024
LARGE_AT_ONCE: Final = 2
"""Bodies over ``SMALL_BYTES`` in memory: each takes several times its size."""

STATUS: Final[dict[type[ProjectError], int]] = {
    BadName: 400,
    BadContent: 400,
    BadPlace: 404,
    TooLarge: 413,
    StorageFailed: 507,
}


class Upload(msgspec.Struct, frozen=True):
    """An uploaded file; more fields may be."""

    filename: str
    content: str
    storage_location: str


class UploadRoute:
    """The handler of ``POST /upload``."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._large = trio.Semaphore(LARGE_AT_ONCE)

    async def __call__(self, request: Request, _device: str) -> Response:
        """Store an upload. Raises ``Problem``, with ``success`` and ``error`` as the apps read
        them."""
        try:
            return await self._store(request)
        except InvalidParameter as refusal:
            raise _failed(400, refusal.message, refusal) from None
        except ProjectError as refusal:
            raise _failed(STATUS.get(type(refusal), 400), str(refusal), refusal) from None
        except Problem as problem:
            raise _failed(problem.status, problem.detail, problem) from None

    async def _store(self, request: Request) -> Response:
        async with AsyncExitStack() as stack:
            if _may_be_large(request):
                await stack.enter_async_context(self._large)
            body = await request.body(BODY_BYTES)
            upload = await trio.to_thread.run_sync(_decoded, body)
            del body
            stored = await self._resources.put_base64(
                upload.storage_location, upload.filename, upload.content
            )
        return json_response(200, {"success": True, **msgspec.to_builtins(stored)})


def _may_be_large(request: Request) -> bool:
    """Return whether a body may be large; one without a declared length may become anything."""
    length = request.headers.get("content-length")
    return length is None or int(length) > SMALL_BYTES


def _decoded(body: bytes) -> Upload:
    return decoded(body, Upload, tolerant=True)


def _failed(status: int, words: str, cause: Exception) -> Problem:
    headers = cause.headers if isinstance(cause, Problem) else ()
    return Problem(status, detail=words, headers=headers, success=False, error=sentence(words))
