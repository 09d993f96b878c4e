"""``podium phone``: the simulated phone under a person's hands, or driven by a script of lines.

The next line is taken when the gateway has handled the one before: a ping follows each line, and
its pong says so.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from collections import Counter, deque
from typing import TextIO

from podium import text
from podium.errors import ERROR, OK, Failure
from podium.phone import show
from podium.phone.fields import Json
from podium.phone.histories import Message
from podium.phone.lines import After, Person, Wait
from podium.phone.model import PhoneModel
from podium.phone.pump import CONNECT_SECONDS, Pump
from podium.phone.retry import Retry
from podium.phone.variants import Variant

KEEPALIVE_SECONDS = 30.0
HANDLED_SECONDS = 60.0


class Console:
    """One phone and the lines that drive it."""

    def __init__(
        self, url: str, key: str, variant: Variant, fingerprint: str | None, *, json: bool
    ) -> None:
        self.model = PhoneModel(key, variant)
        self.model.sync.told = self._told
        self._url = url
        self._fingerprint = fingerprint
        self._json = json
        self._person = Person(self.model)
        self._terminal = text.is_terminal(sys.stdin)
        self._retry = Retry(variant, random.random)
        self._pump: Pump | None = None
        self._lines: deque[str] = deque()
        self._typed = b""
        self._ended = False
        self._after: After | None = None
        self._wait: Wait | None = None
        self._counts_then: Counter[str] = Counter()
        self._pongs = 0
        self._deadline = 0.0
        self._next_ping = 0.0
        self._faults_told = 0

    def run(self) -> int:
        """Until the lines end, or the person leaves; returns the exit code.

        Raises:
            Failure: the gateway cannot be reached or refuses, or a line of a script is wrong.
        """
        self._connect()
        try:
            while not self._person.leaving:
                if not self._busy():
                    self._next_line()
                    continue
                self._turn()
        finally:
            if self._pump is not None:
                self._pump.close()
        return ERROR if self.model.faults else OK

    # Lines.

    def _busy(self) -> bool:
        """Whether something has to come before the next line is done; or no line is there yet."""
        if self._pump is None or not self.model.connected:
            return True
        if self.model.counts["pong"] < self._pongs:
            return True
        if self._wait is not None and self._still_waits(self._wait):
            return True
        self._wait = None
        after, self._after = self._after, None
        if after is not None:
            self._say(after())
        return not self._lines and not self._ended

    def _await_pong(self) -> None:
        """Nothing more is done until the gateway has handled all that was sent."""
        self.model.sync.ping()
        self._pongs = self.model.counts["pong"] + self.model.sync.pongs_due
        self._deadline = time.monotonic() + HANDLED_SECONDS
        self._flush()

    def _still_waits(self, wait: Wait) -> bool:
        """What came since the line before was begun counts: it may have come with its pong."""
        return self.model.counts[wait.kind] <= self._counts_then[wait.kind]

    def _next_line(self) -> None:
        if not self._lines:
            self._person.leaving = True
            return
        line = self._lines.popleft()
        if not line.strip() or line.lstrip().startswith("#"):
            return
        before = self.model.counts.copy()
        try:
            result = self._person.do(line)
        except Failure as failure:
            if not self._terminal:
                raise
            text.tell(f"podium: {text.fold(failure.sentence)}")
            return
        if self._person.reconnecting:
            self._person.reconnecting = False
            self._hang_up()
            self._connect()
            return
        if isinstance(result, Wait):
            self._wait = result
            self._deadline = time.monotonic() + result.seconds
            return
        self._after = result
        self._counts_then = before
        self._await_pong()

    def _read_lines(self) -> None:
        data = os.read(sys.stdin.fileno(), 65536)
        if not data:
            self._ended = True
            if self._typed:
                self._lines.append(self._typed.decode("utf-8", "replace"))
            return
        *lines, self._typed = (self._typed + data).split(b"\n")
        self._lines += [line.decode("utf-8", "replace") for line in lines]

    # The connection.

    def _connect(self) -> None:
        self._pump = Pump(self._url, self._fingerprint)
        self._deadline = time.monotonic() + CONNECT_SECONDS
        self._next_ping = time.monotonic() + KEEPALIVE_SECONDS

    def _hang_up(self) -> None:
        if self._pump is not None:
            self._pump.close()
        self._pump = None
        self.model.closed()
        self._pongs = 0

    def _turn(self) -> None:
        """Wait for the gateway, the person, or the time; and take what came."""
        if self._pump is None:
            self._try_again()
            return
        sources: list[Pump | TextIO] = [self._pump]
        if not self._ended:
            sources.append(sys.stdin)
        waited = 0.0 if self._pump.unread else self._patience()
        ready = select.select(sources, [], [], waited)[0]
        if self._pump.unread or self._pump in ready:
            self._receive(self._pump)
        if sys.stdin in ready:
            self._read_lines()
        self._check_time()

    def _patience(self) -> float:
        """Seconds until something is due."""
        due = self._next_ping
        if self._awaiting():
            due = min(due, self._deadline)
        return max(0.0, due - time.monotonic())

    def _awaiting(self) -> bool:
        return (
            not self.model.connected
            or self.model.counts["pong"] < self._pongs
            or self._wait is not None
        )

    def _check_time(self) -> None:
        now = time.monotonic()
        if self._awaiting() and now >= self._deadline:
            wanted = "connected" if not self.model.connected else "pong"
            wanted = self._wait.kind if self._wait is not None else wanted
            raise Failure(f"No '{wanted}' came from the gateway in time.")
        if self.model.connected and now >= self._next_ping:
            self._next_ping = now + KEEPALIVE_SECONDS
            if self.model.variant.socket_pings and self._pump is not None:
                self._pump.link.ping()
            self.model.sync.ping()
            self._flush()

    def _receive(self, pump: Pump) -> None:
        was_connected = self.model.connected
        messages = pump.read()
        for data in messages or ():
            frame = self.model.received(data)
            if frame is not None:
                self._show(frame)
        self._tell_faults()
        self._flush()
        if self.model.stopped:
            raise Failure(f"The gateway does not let this phone in: {self.model.stopped}.")
        if self.model.connected and not was_connected:
            self._retry.reset()
            self._await_pong()  # the lists that follow the welcome come before it
        if messages is None:
            self._lost(pump)

    def _lost(self, pump: Pump) -> None:
        why = pump.link.refusal or pump.link.close_reason or "the gateway hung up"
        self._hang_up()
        if not self._terminal:
            raise Failure(f"The connection is lost: {text.fold(why)}.")
        text.tell(f"podium: {text.fold(why)}")

    def _try_again(self) -> None:
        """As the app does: later and later, until it gives up."""
        delay = self._retry.next()
        if delay is None:
            raise Failure("The gateway did not come back: this phone gives up, as its app would.")
        text.tell(f"podium: trying again in {delay:.0f} s")
        time.sleep(delay)
        try:
            self._connect()
        except Failure as failure:
            text.tell(f"podium: {text.fold(failure.sentence)}")

    def _flush(self) -> None:
        if self._pump is None:
            return
        while self.model.out:
            self._pump.send(self.model.out.popleft())
        self._pump.flush()

    # What is shown.

    def _show(self, frame: Json) -> None:
        if self._json:
            text.emit_json(frame)
            return
        if frame["type"] == "question" and frame.get("question_id") in self.model.board.questions:
            self._say("\n".join(show.question(frame)))
        self._say(show.frame(frame))

    def _told(self, session_id: str, message: Message) -> None:
        if session_id == self.model.screen and not self._json:
            self._say(show.message(message))

    def _say(self, words: str) -> None:
        if words and not self._json:
            text.emit(f"{words}\n")

    def _tell_faults(self) -> None:
        for fault in self.model.faults[self._faults_told :]:
            text.tell(f"fault: {text.fold(fault)}")
        self._faults_told = len(self.model.faults)
