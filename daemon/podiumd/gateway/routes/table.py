"""The table of routes, and how refusals of the daemon become problems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from podiumd.gateway.http import Problem, Request, Response
from podiumd.gateway.routes.door import Door
from podiumd.logs import log
from podiumd.runtime.errors import (
    AgentUnavailable,
    AlreadyEnded,
    Busy,
    InvalidParameter,
    NotFound,
    OrchestrationDisabled,
    Overloaded,
    PodiumError,
    RecipeRefused,
    Refused,
)
from podiumd.store.errors import StoreError

Handler = Callable[[Request, str], Awaitable[Response]]
"""Answers a request of a device, whose name is given."""

STATUS: Final[dict[type[PodiumError], int]] = {
    InvalidParameter: 422,
    Busy: 409,
    NotFound: 404,
    RecipeRefused: 422,
    AlreadyEnded: 409,
    AgentUnavailable: 503,
    Refused: 403,
    OrchestrationDisabled: 409,
    Overloaded: 503,
}


class Routes:
    """The gateway's ``HttpApp``."""

    def __init__(self, door: Door, routes: dict[tuple[str, str], Handler]) -> None:
        self._door = door
        self._routes = routes

    async def handle(self, request: Request) -> Response:
        """Answer one request. Raises ``Problem``."""
        if request.path == "/healthz":
            return _health(request)
        method = "GET" if request.method == "HEAD" else request.method
        with self._door.opened(request) as device:
            handler = self._routes.get((method, request.path))
            if handler is None:
                raise self._unknown(request)
            try:
                return await handler(request, device.name)
            except PodiumError as refusal:
                raise problem_of(refusal) from refusal
            except StoreError as error:
                log("Request failed", "error", path=request.path, exception=error)
                words = "The daemon cannot store anything just now; try again."
                raise Problem(503, "Cannot store", words) from error
        raise AssertionError("the door raises when it closes")

    def _unknown(self, request: Request) -> Problem:
        methods = sorted(method for method, path in self._routes if path == request.path)
        if methods:
            words = f"{request.path} takes {' and '.join(methods)}."
            allow = (("Allow", ", ".join(methods)),)
            return Problem(405, "Method not allowed", words, headers=allow)
        known = ", ".join(sorted({path for _, path in self._routes}))
        return Problem(404, "Not found", f"There is no {request.path}. There are {known}.")


def _health(request: Request) -> Response:
    if request.method not in ("GET", "HEAD"):
        allow = (("Allow", "GET"),)
        raise Problem(405, "Method not allowed", "/healthz takes GET.", headers=allow)
    return Response(200, b"ok\n", content_type="text/plain; charset=utf-8")


def problem_of(refusal: PodiumError) -> Problem:
    """A refusal of the daemon as a problem; its data are members of it."""
    status = STATUS.get(type(refusal), 500)
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(refusal, Overloaded):
        headers = (("Retry-After", str(max(1, refusal.data["retry_after_ms"] // 1000))),)
    title = type(refusal).__name__
    return Problem(status, _words(title), refusal.message, headers=headers, **refusal.data)


def _words(name: str) -> str:
    """``AgentUnavailable`` as a title: "Agent unavailable"."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return spaced.strip().capitalize()


def json_response(status: int, value: object) -> Response:
    """An answer in JSON."""
    return Response(status, msgspec.json.encode(value))
