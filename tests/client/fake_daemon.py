"""A daemon of canned answers on a real Unix socket, and the real client against it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from tests.client import whole
from tests.client.histories import page_of
from tests.client.processes import USUAL, Piped, is_usual
from tests.patience import HANG_SECONDS

RUN_ID = "1a2b3c4d-0000-4000-8000-000000000001"
SESSION_ID = "5e5510aa-0000-4000-8000-000000000002"
QUESTION_ID = "9ue5710a-0000-4000-8000-000000000003"

Json = Any
Handler = Callable[[Json], Any]


class Refused(Exception):
    """Raised by a handler: becomes a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class HangUp(Exception):
    """Raised by a handler: these bytes are sent, then the connection is closed."""

    def __init__(self, last_words: bytes = b"") -> None:
        super().__init__()
        self.last_words = last_words


class Answers(UserDict[str, Any]):
    """The canned answers by method, each with all fields that the daemon sends."""

    def __setitem__(self, method: str, given: Any) -> None:
        super().__setitem__(method, given if callable(given) else whole.answer(method, given))

    def __ior__(self, given: Any) -> Self:  # type: ignore[override, misc]
        self.update(given)
        return self


class FakeDaemon:
    """Answers calls from ``answers`` (values or handlers); serves one run's ``events`` and one
    session's ``messages``, at most ``most`` in an answer. ``greeting`` is told to who begins to
    follow the run, before anything else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers = Answers({"questions.list": [], "sessions.locks": []})
        self.calls: list[tuple[str, Json]] = []
        self._events: list[Json] = []
        self.stored_first = 0
        self.greeting: Callable[[], Json] | None = None
        self.messages: list[Json] = []
        self.most = 1000
        self.generation = 1
        self._changed = threading.Condition(threading.RLock())
        self._followers: list[socket.socket] = []
        self._readers: list[socket.socket] = []
        self._clients: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None

    @property
    def events(self) -> list[Json]:
        """The events that are stored, each with all fields of its type."""
        return self._events

    @events.setter
    def events(self, events: list[Json]) -> None:
        self._events = [*map(whole.event, events)]

    def listen(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(16)
        self._spawn(self._accept, self._listener)

    def stop(self) -> None:
        """Close the socket and every connection, as a daemon that ends."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            self.path.unlink()
        self.drop()

    def leave(self, turns: str) -> None:
        """Tell the followers that the daemon stops, and end."""
        with self._changed:
            for follower in (*self._followers, *self._readers):
                self.notify(follower, {"turns": turns}, "daemon.stopping")
            self.stop()

    def drop(self) -> None:
        """Close every connection."""
        with self._changed:
            for client in self._clients:
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            self._followers.clear()
            self._readers.clear()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(HANG_SECONDS)
            assert not thread.is_alive()

    def publish(self, *events: Json) -> None:
        """Store events and tell the followers."""
        with self._changed:
            for event in map(whole.event, events):
                self.events.append(event)
                for follower in self._followers:
                    self.notify(follower, event)

    def say(self, *messages: Json) -> None:
        """Store messages and tell those who follow the session."""
        with self._changed:
            said = whole.answer("sessions.messages", {"messages": [*messages]})["messages"]
            self.messages += said
            self.tell(*said)

    def tell(self, *messages: Json) -> None:
        """Tell those who follow the session, whatever is stored."""
        with self._changed:
            for reader in self._readers:
                self.notify(reader, self._page(list(messages)), "session.messages")

    def cut_loose(self) -> None:
        """Send every follower away, as a daemon does with who reads too slowly."""
        with self._changed:
            for reader in self._readers:
                self.notify(reader, {"feed": SESSION_ID, "reason": "slow"}, "feed.closed")
            self.drop()

    def notify(self, client: socket.socket, params: Json, method: str = "run.event") -> None:
        told = whole.notification(method, params)
        line = {"jsonrpc": "2.0", "method": method, "params": told}
        with contextlib.suppress(OSError):
            client.sendall(json.dumps(line).encode() + b"\n")

    def wait_for(self, method: str, count: int = 1) -> Json:
        """Wait until ``method`` was called ``count`` times; the parameters of the last call."""

        def called() -> list[Json]:
            return [params for name, params in self.calls if name == method]

        with self._changed:
            assert self._changed.wait_for(lambda: len(called()) >= count, HANG_SECONDS)
            return called()[-1]

    def params_of(self, method: str) -> list[Json]:
        with self._changed:
            return [params for name, params in self.calls if name == method]

    def _spawn(self, target: Callable[[socket.socket], None], sock: socket.socket) -> None:
        thread = threading.Thread(target=target, args=(sock,))
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with self._changed:
                self._clients.append(client)
            self._spawn(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as lines:
            try:
                for line in lines:
                    self._answer(client, json.loads(line))
            except HangUp as end:
                with contextlib.suppress(OSError):  # we may have been stopped over it
                    client.sendall(end.last_words)
            except OSError:
                pass  # the client has gone
            with self._changed:
                self._clients.remove(client)
                for watching in (self._followers, self._readers):
                    if client in watching:
                        watching.remove(client)

    def _answer(self, client: socket.socket, request: Json) -> None:
        method, params = request["method"], request.get("params", {})
        with self._changed:
            self.calls.append((method, params))
            answer: Json = {"jsonrpc": "2.0", "id": request["id"]}
            try:
                answer["result"] = self._result(client, method, params)
            except Refused as refused:
                answer["error"] = refused.error
            client.sendall(json.dumps(answer).encode() + b"\n")
            if method == "runs.events" and params.get("follow") and "result" in answer:
                if self.greeting is not None:
                    self.notify(client, self.greeting())
                for event in self._after(answer["result"]["next_seq"]):
                    self.notify(client, event)
                self._followers.append(client)
            if method == "sessions.subscribe" and "result" in answer:
                rest = self._messages_after(answer["result"]["next_seq"])
                if rest:
                    self.notify(client, self._page(rest), "session.messages")
                self._readers.append(client)
            self._changed.notify_all()

    def _result(self, client: socket.socket, method: str, params: Json) -> Any:
        canned = self.answers.get(method)
        if callable(canned):
            return whole.answer(method, canned(params))
        if canned is None and method == "runs.events":
            page = self._after(params.get("after_seq", 0))
            if params.get("follow"):
                page = page[: self.stored_first]
            last = page[-1]["seq"] if page else params.get("after_seq", 0)
            return {"events": page, "next_seq": last}
        if canned is None and method == "runs.history":
            after = params.get("after")
            return page_of(self._after(after["seq"] if after else 0), after=after)
        if canned is None and method in ("sessions.messages", "sessions.subscribe"):
            after, limit = params.get("after_seq"), min(params["limit"], self.most)
            if after is None:
                return self._page(self.messages[-limit:])
            return self._page(self._messages_after(after)[:limit], after)
        if canned is None:
            raise Refused(-32601, f"There is no method '{method}'.")
        return canned

    def _messages_after(self, seq: int) -> list[Json]:
        return [message for message in self.messages if message["seq"] > seq]

    def _page(self, messages: list[Json], after: int = 0) -> Json:
        last = self.messages[-1]["seq"] if self.messages else 0
        following = messages[-1]["seq"] if messages else after or last
        page = {
            "session_id": SESSION_ID,
            "messages": messages,
            "first_seq": self.messages[0]["seq"] if self.messages else 0,
            "last_seq": last,
            "next_seq": following,
            "complete": following >= last,
            "generation": self.generation,
        }
        return whole.answer("sessions.messages", page)

    def _after(self, seq: int) -> list[Json]:
        return [event for event in self.events if event.get("seq", 0) > seq]


@contextlib.contextmanager
def fake_daemon() -> Iterator[FakeDaemon]:
    """A listening fake on a short path of its own."""
    with tempfile.TemporaryDirectory(prefix="podium-") as directory:
        daemon = FakeDaemon(Path(directory) / "podium.sock")
        daemon.listen()
        try:
            yield daemon
        finally:
            daemon.stop()
            daemon.join()


def environment(socket_path: Path | str, **more: str) -> dict[str, str]:
    return {**USUAL, "PODIUM_SOCKET": str(socket_path), **more}


def podium(
    daemon: FakeDaemon | Path,
    *arguments: str,
    stdin: bytes = b"",
    cwd: Path | None = None,
    settings: dict[str, str] | None = None,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run the real client to its end; its output is text. ``settings`` and ``more`` go into its
    environment."""
    path = daemon.path if isinstance(daemon, FakeDaemon) else daemon
    variables = environment(path) | (settings or {}) | more
    if is_usual(variables):
        client = Piped(arguments, variables, stdin, cwd)
        out, err = finish(client)
        done = subprocess.CompletedProcess(arguments, client.wait(), out, err)
    else:
        done = _podium_anew(arguments, variables, stdin, cwd)
    assert "Traceback" not in done.stderr
    assert "fault of the client" not in done.stderr, done.stderr
    return done


def _podium_anew(
    arguments: tuple[str, ...], variables: dict[str, str], stdin: bytes, cwd: Path | None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        input=stdin,
        capture_output=True,
        env=variables,
        cwd=cwd,
        timeout=HANG_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def start(daemon: FakeDaemon, *arguments: str, **more: str) -> Piped:
    """Start the real client without a terminal, in the background."""
    return Piped(arguments, environment(daemon.path, **more))


def finish(client: Piped) -> tuple[str, str]:
    """Wait for the client's end; what it said on its two streams."""
    try:
        out, err = client.communicate()
    except subprocess.TimeoutExpired:
        client.kill()
        client.communicate()
        raise
    assert "Traceback" not in err
    return out, err
