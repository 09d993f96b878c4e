"""Following a run, event by event, without hole or repeat, over a restart of the daemon."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from podium import text, wire
from podium.connection import Connection
from podium.errors import (
    ERROR,
    GUARDRAIL,
    INTERRUPTED,
    NEEDS_PERSON,
    NOT_RUNNING,
    OK,
    ConnectionLost,
    DaemonDown,
    Failure,
)

Json = dict[str, Any]

GONE_SECONDS = 30.0
"""How long a restarting daemon is waited for."""

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 0.05, 1.0

FRUITLESS_RECONNECTS = 5
"""Connections in a row that may be lost before one brings a new event."""

EXIT_CODES = {
    "completed": OK,
    "guardrail": GUARDRAIL,
    "needs-user": NEEDS_PERSON,
    "blocked": NEEDS_PERSON,
    "cancelled": INTERRUPTED,
}


class View(Protocol):
    """Who tells the events to a person or a program."""

    def event(self, event: Json) -> None: ...
    def tick(self) -> None: ...
    def rejoined(self) -> None: ...
    def finish(self) -> None: ...


class Input(Protocol):
    """A person's answers, typed while events go on."""

    @property
    def waiting(self) -> bool: ...
    def event(self, connection: Connection, event: Json) -> None: ...
    def typed(self, connection: Connection) -> None: ...
    def fileno(self) -> int: ...


def exit_code(run: Json) -> int:
    """The exit code for how a run ended, by its exit's class."""
    return EXIT_CODES.get(str((run.get("exit") or {}).get("class")), ERROR)


def wait_for_daemon(path: str) -> Connection:
    """Connect to a daemon that is restarting; there is nothing to wait on but its socket.

    Raises:
        Failure: it did not come back within ``GONE_SECONDS``.
    """
    text.tell(f"podium: the daemon went away; waiting up to {GONE_SECONDS:g} s for it ...")
    deadline, pause = time.monotonic() + GONE_SECONDS, FIRST_RETRY_SECONDS
    while True:
        try:
            connection = Connection(path)
        except DaemonDown as error:
            if time.monotonic() + pause > deadline:
                raise Failure(
                    f"The daemon has been gone for {GONE_SECONDS:g} s. Nothing is lost: "
                    "'podium up' starts it and it takes the run up again.",
                    NOT_RUNNING,
                ) from error
            time.sleep(pause)
            pause = min(LONGEST_RETRY_SECONDS, pause * 1.5)
        else:
            text.tell("podium: the daemon is back.")
            return connection


def start(method: str, params: Json) -> tuple[Connection, Json]:
    """Start something once and for all: asked again under the same token if the answer is lost."""
    params = {**params, "client_token": os.urandom(16).hex()}
    connection = Connection()
    try:
        answer: Json = connection.call(method, params)
    except ConnectionLost:
        connection = wait_for_daemon(connection.path)
        answer = connection.call(method, params)
    return connection, answer


class Feed:
    """The events of one run, stored ones first, then live.

    ``connection`` is the present one; a lost one is replaced and the feed goes on after the last
    event it has handed out. ``rejoined`` counts how often.
    """

    def __init__(self, connection: Connection, run_id: str, after_seq: int = 0) -> None:
        self.connection = connection
        self.run_id = run_id
        self.rejoined = 0
        self._seq = after_seq
        self._fruitless = 0
        self._hole = -1
        self._ready: list[Json] = []
        try:
            self._ready = self._subscribe()
        except ConnectionLost:
            self._reconnect()

    def take(self) -> list[Json]:
        """The events that are there now; an empty list: none yet.

        Raises:
            Failure: the daemon is gone for good, or refuses.
        """
        ready, self._ready = self._ready, []
        try:
            ready += [
                _event_of(message)
                for message in self.connection.notifications()
                if message.get("method") == "run.event"
            ]
            return self._in_order(ready)
        except ConnectionLost:
            taken = self._in_order(ready, whole=False)
            if not (taken and taken[-1].get("type") == "run.ended"):
                self._reconnect()
            return taken

    def wait(self, seconds: float | None, other: Input | None) -> bool:
        """Wait for events or input; true if ``other`` has input to be read."""
        if self._ready or self.connection.unread:
            return False
        watched: list[Any] = [self.connection]
        if other is not None:
            watched.append(other)
        return other in select.select(watched, [], [], seconds)[0]

    def _subscribe(self) -> list[Json]:
        answer = self.connection.call(
            "runs.events", {"run_id": self.run_id, "after_seq": self._seq, "follow": True}
        )
        return list(answer.get("events") or [])

    def _in_order(self, events: list[Json], whole: bool = True) -> list[Json]:
        """Drop repeats. A hole ends what can be used: the rest is asked for again."""
        taken = []
        for event in events:
            seq = event.get("seq")
            if isinstance(seq, int):
                if seq <= self._seq:
                    continue
                if seq > self._seq + 1 and self._hole != self._seq:
                    self._hole = self._seq  # still there when asked again: stored facts are lost
                    if whole:
                        self._ask_again()
                    break
                self._seq = seq
                self._fruitless = 0
            taken.append(event)
        return taken

    def _ask_again(self) -> None:
        self.connection.close()
        try:
            self.connection = Connection(self.connection.path)
            self._ready = self._subscribe()
        except (DaemonDown, ConnectionLost):
            self._reconnect()

    def _reconnect(self) -> None:
        self.connection.close()
        while True:
            self._fruitless += 1
            if self._fruitless > FRUITLESS_RECONNECTS:
                raise Failure(
                    "The daemon keeps closing the connection: see 'podium status' and its log."
                )
            self.connection = wait_for_daemon(self.connection.path)
            try:
                self._ready = self._subscribe()
                self.rejoined += 1
                return
            except ConnectionLost:
                self.connection.close()


def _event_of(message: Json) -> Json:
    params = message.get("params") or {}
    event: Json = params.get("event") or params
    return event


def follow(
    feed: Feed,
    view: View,
    answers: Input | None = None,
    until: Callable[[Json], bool] = lambda event: False,
) -> Json | None:
    """Tell a run to its end and return it, or ``None`` when ``until`` said it is enough."""
    tick = 1.0 if text.Style(sys.stdout).smart else None
    known = feed.rejoined
    try:
        while True:
            events = feed.take()
            for event in events:
                view.event(event)
                if event.get("type") == "run.ended":
                    return _ended_run(feed, event)
                if until(event):
                    return None
                if answers is not None:
                    answers.event(feed.connection, event)
            if feed.rejoined != known:
                known = feed.rejoined
                view.rejoined()
            if not events:
                view.tick()
                listening = answers if answers is not None and answers.waiting else None
                if feed.wait(tick, listening) and answers is not None:
                    answers.typed(feed.connection)
    finally:
        view.finish()


def _ended_run(feed: Feed, event: Json) -> Json:
    run: Json | None = (event.get("data") or {}).get("run")
    return run if run is not None else feed.connection.call("runs.get", {"run_id": feed.run_id})


def guarded(run_id: str, following: Callable[[], int]) -> int:
    """Run a following command; Ctrl-C or a closed pipe ends the following, never the run."""
    try:
        return following()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    text.tell(
        f"podium: following ended, the run goes on: 'podium attach {run_id}' follows it again, "
        f"'podium cancel {run_id}' stops it."
    )
    return INTERRUPTED


class JsonView:
    """An event a line."""

    def event(self, event: Json) -> None:
        """Print the event."""
        text.emit(wire.encode(event) + "\n")

    def tick(self) -> None:
        """Nothing to show between events."""

    def rejoined(self) -> None:
        """Programs get what the daemon tells, also twice: a ``uuid`` says what is the same."""

    def finish(self) -> None:
        """Nothing to put away."""
