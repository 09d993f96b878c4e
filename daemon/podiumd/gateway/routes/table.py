"""The table of routes, and how refusals of the daemon become problems."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from podiumd.gateway.http.exchange import Answer, Problem, Request, Response
from podiumd.gateway.routes.device_access import DeviceAccess
from podiumd.observe.logs import log
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
    UnknownAgent,
)
from podiumd.store.errors import StoreError
from podiumd.wording import quoted

HEALTH: Final = "/healthz"

Handler = Callable[[Request, str], Awaitable[Answer]]
"""Answers a request of a device, whose name is given."""

Open = Callable[[Request], Awaitable[Answer | None]]
"""Answers a request that needs no device; ``None``: it is none of those."""


async def _nothing_open(request: Request) -> Answer | None:
    return None


STATUS: Final[dict[type[PodiumError], int]] = {
    InvalidParameter: 422,
    Busy: 409,
    NotFound: 404,
    RecipeRefused: 422,
    AlreadyEnded: 409,
    AgentUnavailable: 503,
    UnknownAgent: 422,
    Refused: 403,
    OrchestrationDisabled: 409,
    Overloaded: 503,
}


_OVER_HTTP: Final = (
    (re.compile(r", or with --anyway if you mean that"), ""),
    (re.compile(r"--cwd DIR"), "'working_directory'"),
    (re.compile(r"'--agent ([\w.-]*\w)'|--agent ([\w.-]*\w)"), r'"agent": "\1\2"'),
    (re.compile(r"--script FILE"), "'podium run --script FILE'"),
)
"""Advice for the command line, whole with its quotes, and what takes its place here."""


class Routes:
    """Answers everything that is no WebSocket."""

    def __init__(
        self,
        access: DeviceAccess,
        routes: Mapping[tuple[str, str], Handler],
        web: Open = _nothing_open,
    ) -> None:
        """Take the routes of devices; ``web`` answers for the page and its files."""
        self._access = access
        self._routes = routes
        self._web = web

    async def handle(self, request: Request) -> Answer:
        """Answer one request. Raises ``Problem``; reveal nothing of the daemon without a key."""
        if request.path == HEALTH:
            return _health(request)
        with _refusals_answered(request):
            answer = await self._web(request)
        if answer is not None:
            return answer
        with self._access.require_device(request) as device, _refusals_answered(request):
            return await self._handler(request)(request, device.name)
        raise AssertionError("the access raises when it is taken back")

    def _handler(self, request: Request) -> Handler:
        method = "GET" if request.method == "HEAD" else request.method
        handler = self._routes.get((method, request.path))
        if handler is not None:
            return handler
        methods = [method for method, path in self._routes if path == request.path]
        if methods:
            raise _wrong_method(request.path, *methods)
        known = ", ".join(sorted({path for _, path in self._routes} | {HEALTH}))
        words = f"There is no {quoted(request.path)}. There are {known}."
        raise Problem(404, detail=words)


@contextmanager
def _refusals_answered(request: Request) -> Iterator[None]:
    """Raise refusals of the daemon as problems. Raises ``Problem``."""
    try:
        yield
    except PodiumError as refusal:
        raise problem_of(refusal) from refusal
    except StoreError as error:
        log("Request failed", "error", path=request.path, exception=error)
        words = "The daemon cannot store anything just now; try again."
        raise Problem(503, "Cannot store", words) from error


def _health(request: Request) -> Response:
    if request.method not in ("GET", "HEAD"):
        raise _wrong_method(HEALTH, "GET")
    return Response(200, b"ok\n", content_type="text/plain; charset=utf-8")


def _wrong_method(path: str, *methods: str) -> Problem:
    taken = sorted({*methods, *(("HEAD",) if "GET" in methods else ())})
    words = f"{path} takes {' and '.join(taken)}."
    return Problem(405, detail=words, headers=(("Allow", ", ".join(taken)),))


def problem_of(refusal: PodiumError) -> Problem:
    """Return a refusal of the daemon as a problem; its data are members of it."""
    status = STATUS.get(type(refusal), 500)
    headers: tuple[tuple[str, str], ...] = ()
    if isinstance(refusal, Overloaded):
        headers = (("Retry-After", str(max(1, int(refusal.data.retry_after_ms or 0) // 1000))),)
    title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(refusal).__name__).capitalize()
    data = msgspec.to_builtins(refusal.data)
    if "fix" in data:
        data["fix"] = _over_http(data["fix"])
    return Problem(status, title, _over_http(refusal.message), headers=headers, **data)


def _over_http(words: str) -> str:
    """Name fields of requests in place of flags of the command line."""
    for flag, field in _OVER_HTTP:
        words = flag.sub(field, words)
    return words


def json_response(status: int, value: object) -> Response:
    """Return an answer in JSON."""
    return Response(status, msgspec.json.encode(value))
