"""``POST /upload``: a file from a phone's share sheet, in JSON as the apps send it."""

from __future__ import annotations

from typing import Final

import msgspec
import trio

from podiumd.gateway.http import Problem, Request, Response
from podiumd.projects.errors import (
    BadContent,
    BadName,
    BadPlace,
    ProjectError,
    StorageFailed,
    TooLarge,
)
from podiumd.projects.resources import Resources

BODY_BYTES = 140 * 1024 * 1024
"""A file of 100 MB in base64, and what is around it."""

STATUS: Final[dict[type[ProjectError], int]] = {
    BadName: 400,
    BadContent: 400,
    BadPlace: 404,
    TooLarge: 413,
    StorageFailed: 507,
}


class Upload(msgspec.Struct, frozen=True):
    """What is sent; more fields may be."""

    filename: str
    content: str
    storage_location: str


class UploadRoute:
    """The handler of ``POST /upload``."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._at_once = trio.Semaphore(2)

    async def __call__(self, request: Request, _device: str) -> Response:
        """Raises ``Problem``, with ``success`` and ``error`` as the apps read them."""
        async with self._at_once:  # each may take some hundred megabytes
            body = await request.body(BODY_BYTES)
            try:
                upload = await trio.to_thread.run_sync(_decoded, body)
                stored = await self._resources.put_base64(
                    upload.storage_location, upload.filename, upload.content
                )
            except msgspec.DecodeError as error:
                words = f"The body is not what is expected: {error}."
                raise Problem(400, "Bad request", words, success=False, error=words) from None
            except ProjectError as refusal:
                status, words = STATUS.get(type(refusal), 400), str(refusal)
                raise Problem(status, "", words, success=False, error=words) from refusal
        answer = {"success": True, **msgspec.to_builtins(stored)}
        return Response(200, msgspec.json.encode(answer))


def _decoded(body: bytes) -> Upload:
    return msgspec.json.decode(body, type=Upload)
