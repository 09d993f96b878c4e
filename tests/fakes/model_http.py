"""The HTTP side of the scripted model server: one handler a connection, on a thread."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.model_gemini import PATH, gemini_chunks, gemini_error, gemini_object
from tests.fakes.model_openai import completion_chunks, completion_object
from tests.fakes.model_responses import (
    response_events,
    response_items,
    response_object,
    wants_schema,
)
from tests.fakes.model_script import Asked, ScriptError, Turn, blocks_of
from tests.fakes.model_stream import message_events, message_object
from tests.patience import HANG_SECONDS

if TYPE_CHECKING:
    from tests.fakes.model_server import ModelServer

CHAT = "/chat/completions"
RESPONSES = "/responses"
BODY_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Request(Asked):
    """One model request as it came; ``matched`` says which part of the script answered it."""

    number: int = 0
    path: str = ""
    stream: bool = False
    tool_choice: Any = None
    matched: str = ""
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_chat(self) -> bool:
        """Whether it came as OpenAI's chat completions, not as Anthropic's messages."""
        return self.path.endswith(CHAT)

    @property
    def is_responses(self) -> bool:
        """Whether it came as OpenAI's Responses."""
        return self.path.endswith(RESPONSES)

    @property
    def is_gemini(self) -> bool:
        """Whether it came as Google's generateContent."""
        return PATH.search(self.path) is not None

    def record(self) -> dict[str, Any]:
        """Return the request as a line of the log: no bodies, no keys."""
        left_out = {"body", "headers", "anywhere", "system"}
        return {key: value for key, value in asdict(self).items() if key not in left_out}


class Closed(Exception):
    """The server is going down, or the script says to drop this connection."""


@dataclass(frozen=True)
class Answer:
    request: Request
    turn: Turn


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def setup(self) -> None:
        self.server.model.track(self.request, gone=False)
        super().setup()

    def finish(self) -> None:
        self.server.model.track(self.request, gone=True)
        super().finish()

    def log_message(self, *args: Any) -> None:
        """Keep stderr for what matters."""

    def do_HEAD(self) -> None:
        self._send_head(200, {"Content-Length": "0"})

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/api/hello":
            self._send_json(200, {"message": "hello"})
        elif url.path in ("/v1/models", "/models"):
            listed = self.server.model.models
            self._send_json(200, {"object": "list", "data": listed, "has_more": False})
        elif url.path == "/_control/requests":
            self._send_json(200, [request.record() for request in self.server.model.requests])
        elif url.path.startswith("/_control/holding/"):
            seconds = float(parse_qs(url.query).get("seconds", [HANG_SECONDS])[0])
            try:
                self.server.model.wait_holding(url.path.rpartition("/")[2], seconds)
            except TimeoutError as error:
                self._send_error(504, "timeout_error", str(error))
            else:
                self._send_json(200, {})
        else:
            self._send_error(404, "not_found_error", f"nothing at {url.path}")

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        try:
            body = self._body()
        except ValueError as error:
            self._send_error(400, "invalid_request_error", f"the body is no JSON object: {error}")
            return
        if path in ("/v1/messages", f"/v1{CHAT}", CHAT, f"/v1{RESPONSES}", RESPONSES):
            self._answer(self.server.model.take(body, path, dict(self.headers.items())))
        elif path == "/v1/messages/count_tokens":
            self._send_json(200, {"input_tokens": max(1, len(json.dumps(body)) // 4)})
        elif (asked := PATH.fullmatch(path)) is not None:
            self._gemini(asked["verb"], body, path)
        elif path.startswith("/_control/release/"):
            self.server.model.release(path.rpartition("/")[2])
            self._send_json(200, {})
        elif path == "/_control/script":
            self._load(body)
        else:
            self._send_error(404, "not_found_error", f"nothing at {path}")

    def _gemini(self, verb: str, body: dict[str, Any], path: str) -> None:
        if verb == "countTokens":
            self._send_json(200, {"totalTokens": max(1, len(json.dumps(body)) // 4)})
            return
        streamed = {**body, "stream": verb == "streamGenerateContent"}
        self._answer(self.server.model.take(streamed, path, dict(self.headers.items())))

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length", "0"))
        if length > BODY_LIMIT:
            raise ValueError(f"{length} bytes are over the limit of {BODY_LIMIT}")
        body = json.loads(self.rfile.read(length) or b"{}")
        if not isinstance(body, dict):
            raise json.JSONDecodeError(f"it is a {type(body).__name__}", "", 0)
        return body

    def _load(self, body: dict[str, Any]) -> None:
        try:
            self.server.model.load(body)
        except ScriptError as error:
            self._send_error(400, "invalid_request_error", str(error))
        else:
            self._send_json(200, {})

    def _answer(self, answer: Answer) -> None:
        turn, model = answer.turn, self.server.model
        try:
            if turn.get("never"):
                model.pause(None)
            if "delay" in turn:
                model.pause(turn["delay"])
            if "error" in turn:
                error = turn["error"]
                self._send_error(
                    error.get("status", 500),
                    error.get("type", "api_error"),
                    error.get("message", "scripted error"),
                    {**turn.get("headers", {}), **error.get("headers", {})},
                )
            elif answer.request.stream:
                self._stream(answer)
            else:
                self._whole(answer)
        except Closed:
            self.close_connection = True

    def _halfway(self, turn: Turn) -> None:
        if "hold" in turn:
            self.server.model.stand_at(turn["hold"])
        if turn.get("cut"):
            raise Closed

    def _whole(self, answer: Answer) -> None:
        request, turn = answer.request, answer.turn
        self._halfway(turn)
        about = (turn, _blocks(answer), request.model, request.number)
        message: dict[str, Any]
        if request.is_gemini:
            message = gemini_object(*about)
        elif request.is_responses:
            message = response_object(*about)
        elif request.is_chat:
            message = completion_object(*about)
        else:
            message = message_object(*about)
        self._send_json(200, message, turn.get("headers"))

    def _stream(self, answer: Answer) -> None:
        request, turn = answer.request, answer.turn
        blocks = _blocks(answer)
        head = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        self._send_head(200, {**head, **turn.get("headers", {})})
        if request.is_gemini:
            events = gemini_chunks(turn, blocks, request.model, request.number)
        elif request.is_chat:
            options = request.body.get("stream_options") or {}
            usage = bool(options.get("include_usage"))
            events = completion_chunks(turn, blocks, request.model, request.number, usage=usage)
        elif request.is_responses:
            events = response_events(turn, blocks, request.model, request.number)
        else:
            events = message_events(turn, blocks, request.model, request.number)
        for index, event in enumerate(events):
            if index == len(events) // 2:
                self._halfway(turn)
            name = f"event: {event['type']}\n" if "type" in event else ""
            self._chunk(f"{name}data: {json.dumps(event)}\n\n".encode())
        if request.is_chat:
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_json(self, status: int, what: Any, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(what).encode()
        own = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        self._send_head(status, {**own, **(headers or {})})
        self.wfile.write(data)

    def _send_error(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        what = {"type": "error", "error": {"type": kind, "message": message}}
        if PATH.search(self.path):
            what = gemini_error(status, message)
        self._send_json(status, what, headers)


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    """The message's parts, in the words of the API that asks."""
    request, turn = answer.request, answer.turn
    if request.is_responses:
        return response_items(turn, request.number, schema=wants_schema(request.body))
    return blocks_of(turn, request.number, request.tools)


class Listener(ThreadingHTTPServer):
    daemon_threads = False  # joined on close: nothing outlives the server
    request_queue_size = 128

    def __init__(self, model: ModelServer, port: int) -> None:
        self.model = model
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that went away: killing them is what tests do."""
        if not isinstance(sys.exc_info()[1], (OSError, Closed)):
            super().handle_error(request, client_address)
