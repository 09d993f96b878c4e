"""A scripted stand-in for a model's API on 127.0.0.1, for tests without a network.

It speaks Anthropic's Messages, OpenAI's chat completions and its Responses, and Google's
generateContent, streamed or not.

In a test::

    with ModelServer({"rules": [{"when": {"prompt": "^hi"}, "text": "Hello."}]}) as server:
        environment["ANTHROPIC_BASE_URL"] = server.url      # no /v1 at the end
        environment["OPENAI_BASE_URL"] = server.url         # or with /v1, as you like
        ...
        assert server.requests[0].prompt == "hi"

As a process: ``python tests/fakes/model_server.py --port 0 --script FILE --log FILE`` prints its
port on the first line, appends a JSON line a request to the log, and ends on SIGTERM or SIGINT.
There ``POST /_control/release/NAME`` opens a gate, ``POST /_control/script`` loads another
script, ``GET /_control/requests`` returns the log and ``GET /_control/holding/NAME?seconds=5``
waits for a request to stand at a gate. The script's format is in ``model_script``.

Gates: a turn with ``hold`` sends half of its message and waits. ``wait_holding`` returns when a
request stands there, so a test knows that the agent is in mid-answer; ``release`` lets it and
all later ones through. Leaving the server aborts whatever is still held.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Self

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.model_gemini import PATH, read_gemini
from tests.fakes.model_http import CHAT, RESPONSES, Answer, Closed, Listener, Request
from tests.fakes.model_responses import read_responses
from tests.fakes.model_script import Script, Turn, read_request
from tests.patience import HANG_SECONDS

SESSION_HEADER = "x-claude-code-session-id"
THREAD_HEADER = "session-id"
NO_ENTRY: Turn = {
    "error": {"status": 401, "type": "authentication_error", "message": "invalid key"}
}
AGENT_HEADER = "x-claude-code-agent-id"


class ModelServer:
    """The server; a context manager that listens when entered.

    Parameters:
        script: see ``model_script``; raises ScriptError when it cannot be meant.
        port: 0 takes any free port.
        log: a file that gets one JSON line a request.
    """

    def __init__(
        self, script: Mapping[str, Any] | None = None, *, port: int = 0, log: Path | None = None
    ) -> None:
        self._script = Script(script or {})
        self._wanted_port = port
        self._log_path = log
        self._log: IO[str] | None = None
        self._state = threading.Condition()
        self._closing = False
        self._released: set[str] = set()
        self._arrived: Counter[str] = Counter()
        self._connections: set[socket.socket] = set()
        self._requests: list[Request] = []

    def __enter__(self) -> Self:
        self._listener = Listener(self, self._wanted_port)
        if self._log_path is not None:
            self._log = self._log_path.open("a", encoding="utf-8")
        serve = self._listener.serve_forever
        self._thread = threading.Thread(target=serve, args=(0.05,), name="model-server")
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._state:
            self._closing = True
            self._state.notify_all()
        self._listener.shutdown()
        self._thread.join()
        with self._state:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # the other side may have been faster
                    connection.shutdown(socket.SHUT_RDWR)
        self._listener.server_close()
        if self._log is not None:
            self._log.close()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.server_address[1])

    @property
    def url(self) -> str:
        """The base URL, as ANTHROPIC_BASE_URL wants it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Request]:
        """Every model request so far, in order of arrival."""
        with self._state:
            return list(self._requests)

    @property
    def models(self) -> list[dict[str, Any]]:
        """The models that the script lists."""
        with self._state:
            return list(self._script.models)

    def load(self, script: Mapping[str, Any]) -> None:
        """Go on with another script, from its start. Raises ScriptError."""
        fresh = Script(script)
        with self._state:
            self._script = fresh

    def release(self, gate: str) -> None:
        """Open a gate for those who stand at it and for all who come later."""
        with self._state:
            self._released.add(gate)
            self._state.notify_all()

    def wait_holding(self, gate: str, timeout: float = HANG_SECONDS, arrivals: int = 1) -> None:
        """Block until ``arrivals`` requests in all have come to the gate.

        Raises TimeoutError (after ``timeout`` seconds), naming the gate.
        """
        self._wait(lambda: self._arrived[gate] >= arrivals, timeout, f"nobody came to gate {gate}")

    def wait_requests(self, count: int, timeout: float = HANG_SECONDS) -> list[Request]:
        """Block until ``count`` model requests have come and return them. Raises TimeoutError."""
        self._wait(lambda: len(self._requests) >= count, timeout, f"no {count} requests came")
        return self.requests

    def _wait(self, condition: Callable[[], bool], timeout: float, complaint: str) -> None:
        with self._state:
            if not self._state.wait_for(condition, timeout):
                seen = [(request.prompt[:60], request.matched) for request in self._requests]
                raise TimeoutError(f"{complaint} within {timeout} s; requests so far: {seen}")

    # What the handler's threads use.

    def take(self, body: Mapping[str, Any], path: str, headers: Mapping[str, str]) -> Answer:
        """Choose the answer to a model request and note the request."""
        low = {name.lower(): value for name, value in headers.items()}
        session = low.get(SESSION_HEADER) or low.get(THREAD_HEADER, "")
        agent = low.get(AGENT_HEADER, "")
        if (place := PATH.search(path)) is not None:
            asked = read_gemini(body, place["model"])
        elif path.endswith(RESPONSES):
            asked = read_responses(body, session, agent)
        else:
            asked = read_request(body, session, agent, chat=path.endswith(CHAT))
        given = low.get("x-api-key", low.get("authorization", "").removeprefix("Bearer "))
        with self._state:
            if self._script.key and given != self._script.key:
                matched, turn = "key", NO_ENTRY
            else:
                matched, turn = self._script.answer(asked)
            request = Request(
                **vars(asked),
                number=len(self._requests) + 1,
                path=path,
                stream=bool(body.get("stream")),
                tool_choice=body.get("tool_choice"),
                matched=matched,
                body=body,
                headers=low,
            )
            self._requests.append(request)
            if self._log is not None:
                self._log.write(json.dumps(request.record(), ensure_ascii=False) + "\n")
                self._log.flush()
            self._state.notify_all()
        return Answer(request, turn)

    def stand_at(self, gate: str) -> None:
        """Wait at a gate; raises Closed when the server goes down first."""
        with self._state:
            self._arrived[gate] += 1
            self._state.notify_all()
            self._state.wait_for(lambda: self._closing or gate in self._released)
            if self._closing:
                raise Closed

    def pause(self, seconds: float | None) -> None:
        """Wait so long (None: for ever); raises Closed when the server goes down first."""
        with self._state:
            if self._state.wait_for(lambda: self._closing, seconds):
                raise Closed

    def track(self, connection: socket.socket, *, gone: bool) -> None:
        """Know the connections that are open, to abort them at the end."""
        with self._state:
            if self._closing and not gone:
                raise Closed
            (self._connections.discard if gone else self._connections.add)(connection)


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM or SIGINT; return the exit status."""
    parser = argparse.ArgumentParser(description="a scripted model on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 (the default): any free port")
    parser.add_argument("--script", type=Path, help="a JSON file, see model_script.py")
    parser.add_argument("--log", type=Path, help="gets one JSON line a request")
    given = parser.parse_args(arguments)
    try:
        script = json.loads(given.script.read_text("utf-8")) if given.script else {}
        server = ModelServer(script, port=given.port, log=given.log)
    except (OSError, ValueError) as error:
        print(f"model_server: {given.script}: {error}", file=sys.stderr)
        return 2
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    with server:
        print(server.port, flush=True)
        done.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
