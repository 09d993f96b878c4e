"""Following a run, event by event, without hole or repeat, over a restart of the daemon."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from podium import text, wire
from podium.errors import (
    ERROR,
    GUARDRAIL,
    INTERRUPTED,
    NEEDS_PERSON,
    OK,
    ConnectionLost,
    DaemonDown,
    Failure,
)
from podium.paths import socket_path
from podium.rpc import feed
from podium.rpc.connection import Connection, ask, call
from podium.rpc.conversation_state import ConversationState

if TYPE_CHECKING:
    from podium import protocol


def pages(connection: Connection, run_id: str) -> Iterator[list[protocol.Event]]:
    """Yield the stored events of a run, as many at a time as the daemon gives."""
    after = 0
    while True:
        page = connection.call("runs.events", {"run_id": run_id, "after_seq": after})
        if page["events"]:
            yield page["events"]
        if not page["events"] or page["next_seq"] <= after:
            return
        after = page["next_seq"]


RUN_HOPE = "and it takes the run up again"

EXIT_CODES = {
    "completed": OK,
    "guardrail": GUARDRAIL,
    "needs-user": NEEDS_PERSON,
    "blocked": NEEDS_PERSON,
    "cancelled": INTERRUPTED,
}


class View(Protocol):
    """View of the events, for a person or a program."""

    def event(self, event: protocol.Event) -> None: ...
    def tick(self) -> None: ...
    def waits(self, run: protocol.Run) -> None: ...
    def finish(self) -> None: ...


class Input(Protocol):
    """A person's answers and words, typed while events go on."""

    @property
    def waiting(self) -> bool: ...
    def event(self, connection: Connection, event: protocol.Event) -> None: ...
    def waits(self, run: protocol.Run) -> None: ...
    def typed(self, connection: Connection) -> None: ...
    def fileno(self) -> int: ...


def exit_code(run: protocol.Run | None) -> int:
    """Return the exit code for how a run ended, by its exit's class."""
    ended = run and run.get("exit")
    return EXIT_CODES.get(ended["class"], ERROR) if ended else ERROR


def start_run(params: protocol.RunStart) -> tuple[Connection, protocol.Run]:
    """Start a run once and for all; returns the connection that it was started over."""
    return _once("runs.start", params)


def start_prompt(params: protocol.Prompt) -> tuple[Connection, protocol.Went]:
    """Send a prompt once and for all, as ``start_run``."""
    return _once("sessions.prompt", params)


def _once(method: str, params: Mapping[str, object]) -> tuple[Connection, Any]:
    """Make a call that is made again under the same token where its answer is lost."""
    params = {**params, "client_token": os.urandom(16).hex()}
    connection = Connection()
    try:
        answer = connection.ask(method, params)
    except ConnectionLost:
        connection = feed.wait_for_daemon(connection.path, RUN_HOPE)
        answer = connection.ask(method, params)
    return connection, answer


def _certain(method: str, params: Mapping[str, object] | None = None) -> Any:
    """Make a call that may be made twice, on its own connection, also while a daemon restarts.

    Raises:
        Failure: it was refused, or the daemon did not come back.
    """
    try:
        return ask(method, params)
    except (ConnectionLost, DaemonDown):
        with feed.wait_for_daemon(socket_path(), RUN_HOPE) as connection:
            return connection.ask(method, params)


if TYPE_CHECKING:
    certain: protocol.Call
else:
    certain = _certain


class RunFeed(feed.Feed["protocol.Event"]):
    """The events of one run; ``run.ended`` is the last."""

    hope = RUN_HOPE

    def __init__(self, connection: Connection, run_id: str, after_seq: int = 0) -> None:
        self.run_id = run_id
        self.again = f"'podium attach {text.short(run_id)}'"
        super().__init__(connection, after_seq)

    @property
    def later(self) -> str:
        """Describe how to go on; a recipe that was at work is paused then, and following alone
        would wait for ever."""
        resume = f"'podium resume {text.short(self.run_id)}'"
        return f"{resume} lets a recipe go on that was at work, and {self.again} follows it"

    def _subscribe(self) -> list[protocol.Event]:
        answer = self.connection.call(
            "runs.events", {"run_id": self.run_id, "after_seq": self._seq, "follow": True}
        )
        return list(answer.get("events") or [])

    def _items(self, message: dict[str, Any]) -> list[protocol.Event]:
        if message.get("method") != "run.event":
            return []
        return [message["params"]]

    def _over(self, taken: list[protocol.Event]) -> bool:
        return any(event.get("type") == "run.ended" for event in taken)

    def caught_up(self) -> bool:
        """Return whether every stored event of the run was handed out: a snapshot may be ahead."""
        asked: protocol.RunEvents = {"run_id": self.run_id, "after_seq": self._seq}
        try:
            page = self.connection.call("runs.events", asked)
        except ConnectionLost:
            return False  # the next look at the feed finds that out
        return not page.get("events")


def follow(
    events: RunFeed,
    view: View,
    answers: Input | None = None,
    until: Callable[[protocol.Event], bool] = lambda event: False,
    *,
    phase: ConversationState | None = None,
    stop_at_person: Callable[[], bool] = lambda: False,
) -> protocol.Run | None:
    """Follow a run to its end and return it, or ``None`` when ``until`` returns true.

    ``phase`` is kept up to date, for the caller. ``stop_at_person`` is asked when the run waits for
    its person, whether that is enough.
    """
    tick = 1.0 if text.Style(sys.stdout).smart else None
    known, phase = events.rejoined, phase or ConversationState()
    try:
        while True:
            taken = events.take()
            for event in taken:
                phase.event(event)
                view.event(event)
                if event.get("type") == "run.ended":
                    return ended_run(events, event)
                if until(event):
                    return None
                if answers is not None:
                    answers.event(events.connection, event)
            if events.rejoined != known:
                known = events.rejoined
                phase.again()
            if not taken:
                stands = phase.stands(events.connection, events.run_id) and events.caught_up()
                if stands and phase.run is not None:
                    view.waits(phase.run)
                    if stop_at_person():
                        return None
                    if answers is not None:
                        answers.waits(phase.run)
                view.tick()
                listening = answers if answers is not None and answers.waiting else None
                if events.wait(tick, listening) and answers is not None:
                    answers.typed(events.connection)
    finally:
        view.finish()


def ended_run(events: RunFeed, event: protocol.Event) -> protocol.Run:
    run: protocol.Run | None = event["data"].get("run")
    if run is None:
        run = events.connection.call("runs.get", {"run_id": events.run_id})
    return run


def guarded(run_id: str, following: Callable[[], int]) -> int:
    """Run a following command; Ctrl-C or a closed pipe ends the following, never the run."""
    name = text.short(run_id)
    return feed.guarded(
        following,
        f", the run goes on: 'podium attach {name}' follows it again, "
        f"'podium cancel {name}' stops it.",
        lambda: _has_ended(run_id),
    )


def _has_ended(run_id: str) -> bool:
    try:
        run: protocol.Run = call("runs.get", {"run_id": run_id})
    except Failure:
        return False
    return run["status"] == "ended"


class JsonView:
    """An event a line."""

    def event(self, event: protocol.Event) -> None:
        """Print the event."""
        text.emit(wire.encode(event) + "\n")

    def tick(self) -> None:
        """Do nothing: there is nothing to show between events."""

    def waits(self, run: protocol.Run) -> None:
        """Programs get snapshots, which say so."""

    def finish(self) -> None:
        """Do nothing: there is nothing to put away."""
