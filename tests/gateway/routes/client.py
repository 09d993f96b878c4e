"""An HTTP client over h11, which shares no code with the gateway."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import h11
import trio

from tests.patience import HANG_SECONDS


class HungUp(Exception):
    """The gateway ended the connection before its answer was whole."""


@dataclass(frozen=True)
class Answer:
    """What came back; ``headers`` have lower-case names."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which has to be JSON."""
        assert self.headers["content-type"] in {"application/json", "application/problem+json"}
        return json.loads(self.body)

    def problem(self, status: int) -> dict[str, Any]:
        """The body, which has to be this problem as RFC 9457 has it."""
        assert self.status == status, self
        assert self.headers["content-type"] == "application/problem+json"
        found: dict[str, Any] = json.loads(self.body)
        assert found["status"] == status and found["title"] and found["type"] == "about:blank"
        assert re.match(r"[A-Z'/\[](.* .*[.!?]|.*Run: .+|un: .+)\Z", found["detail"]), (
            "no sentence for a person"
        )
        assert "Invalid params" not in found["detail"]
        return found


class Client:
    """One caller of a gateway, at a port of this machine; a connection for each request."""

    def __init__(self, port: int, key: str | None = None) -> None:
        self.port = port
        self.key = key

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        authorization: str | None = None,
        host: str = "localhost",
        **headers: str,
    ) -> Answer:
        """Send a request; names of headers with ``_`` for ``-``. Raises ``HungUp``."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if authorization is not None:
            given["authorization"] = authorization
        elif self.key is not None:
            given["authorization"] = f"Bearer {self.key}"
        if body is not None and "transfer-encoding" not in given:
            given.setdefault("content-length", str(len(body)))
        request = h11.Request(method=method, target=path, headers=[("Host", host), *given.items()])
        with trio.fail_after(HANG_SECONDS):
            async with await trio.open_tcp_stream("127.0.0.1", self.port) as stream:
                return await _exchange(stream, request, body)

    async def post(self, path: str, value: object, **headers: str) -> Answer:
        """Send a request with a body in JSON."""
        headers.setdefault("content_type", "application/json")
        return await self.ask("POST", path, json.dumps(value).encode(), **headers)

    async def form(self, path: str, file: tuple[str, bytes] | None = None, **fields: str) -> Answer:
        """Send a form; ``file`` is a name and what is in it, and headers begin with ``h_``."""
        headers = {n.removeprefix("h_"): fields.pop(n) for n in list(fields) if n.startswith("h_")}
        parts = [
            f'form-data; name="{name}"\r\n\r\n{text}'.encode() for name, text in fields.items()
        ]
        if file is not None:
            head = f'form-data; name="file"; filename="{file[0]}"\r\n\r\n'
            parts.append(head.encode() + file[1])
        body = b"".join(b"--x\r\nContent-Disposition: %b\r\n" % part for part in parts)
        headers.setdefault("content_type", "multipart/form-data; boundary=x")
        return await self.ask("POST", path, body + b"--x--\r\n", **headers)

    async def get(self, path: str, **headers: str) -> Answer:
        """Send a request without a body."""
        return await self.ask("GET", path, None, **headers)


class Asking:
    """A prompt that is under way."""

    def __init__(self, nursery: trio.Nursery, caller: Client, body: object, **headers: str) -> None:
        self._answer: Answer | None = None
        self._over = trio.Event()
        nursery.start_soon(self._ask, caller, body, headers)

    async def _ask(self, caller: Client, body: object, headers: dict[str, str]) -> None:
        self._answer = await caller.post("/v1/prompt", body, **headers)
        self._over.set()

    @property
    def waits(self) -> bool:
        return self._answer is None

    async def answer(self) -> Answer:
        await self._over.wait()
        assert self._answer is not None
        return self._answer


async def _received(stream: trio.SocketStream) -> bytes:
    try:
        data = bytes(await stream.receive_some(65_536))
    except trio.BrokenResourceError:
        raise HungUp from None
    if not data:
        raise HungUp
    return data


async def _exchange(stream: trio.SocketStream, request: h11.Request, body: bytes | None) -> Answer:
    protocol = h11.Connection(h11.CLIENT)
    data = protocol.send(request) or b""
    if body is not None:
        data += protocol.send(h11.Data(data=body)) or b""
    data += protocol.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
    response, received = None, bytearray()
    while True:
        event = protocol.next_event()
        if event is h11.NEED_DATA:
            protocol.receive_data(await _received(stream))
        elif isinstance(event, h11.Response):
            response = event
        elif isinstance(event, h11.Data):
            received += event.data
        elif isinstance(event, h11.EndOfMessage):
            break
        else:
            assert isinstance(event, h11.InformationalResponse), event
    assert response is not None
    headers = {name.decode(): value.decode("latin-1") for name, value in response.headers}
    return Answer(response.status_code, headers, bytes(received))
