"""A history: what happens to the transcripts, the service and its subscribers, step by step."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.histories.actions import ACTIONS, session_id
from tests.histories.books import Books
from tests.histories.checker import Wrong
from tests.histories.child import POINTS
from tests.histories.disk import Disk
from tests.histories.lines import Maker
from tests.histories.service import Died, Service

Json = dict[str, Any]

SERVICE_ACTIONS: Final = {
    "check": 9,
    "kill": 4,
    "kill-at-point": 5,
    "restart": 3,
    "stop": 2,
    "lose-index": 3,
    "subscribe": 8,
    "disconnect": 4,
    "resume": 12,
    "listen": 16,
    "look": 6,
    "read": 7,
}
"""By name: how often it comes, beside what happens to the transcripts."""

LONGEST_MOMENT: Final = 0.004
"""Seconds before a kill at a random moment: as long as a look at a small tree takes."""

ATTEMPTS: Final = 6


class Step(msgspec.Struct, frozen=True):
    """What is done, and the seed of how: the same whatever comes before it."""

    name: str
    seed: int


def draw(seed: int) -> list[Step]:
    """The history of a seed."""
    chance = random.Random(seed)
    weights = {name: weight for name, (_, weight) in ACTIONS.items()} | SERVICE_ACTIONS
    names = chance.choices([*weights], [*weights.values()], k=chance.randrange(12, 44))
    steps = [Step(name, chance.getrandbits(48)) for name in names]
    return [Step("create", chance.getrandbits(48)), *steps, Step("check", 0)]


class History:
    """Plays one history and checks it; raises ``Wrong`` where it goes wrong."""

    def __init__(self, place: Path) -> None:
        self.counts: Counter[str] = Counter()
        self._disk = Disk(place / "projects", place / "attic", Maker())
        self._state = place / "state"
        self._state.mkdir(mode=0o700)
        self._books = Books(self._disk, self.counts)
        self._service = Service(place, self._books.heard)

    def play(self, steps: Sequence[Step]) -> None:
        try:
            for step in steps:
                if self._take(step):
                    self.counts[step.name] += 1
            if self._service.up:
                self._service.stop()
            self._service.errors()
        finally:
            self._service.close()

    def _take(self, step: Step) -> bool:
        chance = random.Random(step.seed)
        if step.name in ACTIONS:
            return self._act(step.name, chance)
        try:
            return self._do(step.name, chance)
        except Died:
            self._died()
            return True

    def _do(self, name: str, chance: random.Random) -> bool:
        match name:
            case "check":
                self._check(chance)
            case "kill":
                return self._kill(chance)
            case "kill-at-point":
                self._up()
                self._service.may_die()
                at, count = chance.choice(POINTS), chance.choice((1, 1, 1, 2, 3))
                self._service.send("die", at=at, count=count)
            case "restart" | "stop":
                self._stop()
                if name == "restart":
                    self._up()
            case "lose-index":
                self._stop()
                for path in self._state.glob("index.db*"):
                    path.unlink()
                self._books.index_lost()
            case "subscribe":
                self._up()
                session = chance.choice([*self._disk.sessions, session_id(0)])
                name = self._books.new_subscriber(session)
                self._connect(name, chance.choice((None, 0, 0, chance.randrange(8))), chance)
            case "disconnect":
                return self._disconnect(chance)
            case "resume":
                return self._resume(chance)
            case "look":
                self._up()
                self._service.ask("settle")
            case "listen":
                self._up()
                self._service.listen_for(chance.random() * LONGEST_MOMENT)
            case _:
                self._up()
                self._read(chance)
        return True

    # -- the service -------------------------------------------------------------------------

    def _up(self) -> None:
        if not self._service.up:
            self._service.start()

    def _stop(self) -> None:
        if self._service.up:
            self._service.stop()
        self._books.cut_off()

    def _died(self) -> None:
        self.counts["died at point"] += 1
        self._books.cut_off()

    def _kill(self, chance: random.Random) -> bool:
        """At once, in a look at the tree, while pages are read, or after something was told."""
        self._up()
        kind = chance.choice(("now", "in a look", "while it reads", "when told"))
        if kind == "in a look":
            self._service.send("settle")
        elif kind == "while it reads":
            for session in self._disk.sessions:
                self._service.send("messages", session=session, after=0, limit=1000)
        elif kind == "when told":
            if not self._books.connected() or not self._act("append", chance):
                return False
            told = self.counts["notifications"]
            self._service.listen_until(
                lambda: self.counts["notifications"] > told, LONGEST_MOMENT * 10
            )
        if kind != "now":
            self._service.listen_for(chance.random() * LONGEST_MOMENT)
        self._service.kill()
        self._books.cut_off()
        self.counts[f"killed {kind}"] += 1
        return True

    def _act(self, name: str, chance: random.Random) -> bool:
        done = ACTIONS[name][0](self._disk, chance)
        self._books.changed()
        return done

    # -- clients -----------------------------------------------------------------------------

    def _connect(self, name: str, after: int | None, chance: random.Random) -> None:
        limit = chance.choice((1, 3, 100))
        session = self._books.asked(name, after, limit)
        self._service.ask("subscribe", name=name, session=session, after=after, limit=limit)

    def _disconnect(self, chance: random.Random) -> bool:
        connected = self._books.connected()
        if not connected:
            return False
        name = chance.choice(connected)
        self._service.ask("unsubscribe", name=name)
        self._books.disconnected(name)
        return True

    def _resume(self, chance: random.Random) -> bool:
        waiting = self._books.waiting()
        if not waiting:
            return False
        self._up()
        for name, after in waiting[-3:]:
            self._connect(name, after, chance)
        return True

    def _read(self, chance: random.Random) -> None:
        """A tail and a range, while transcripts change."""
        for session in self._disk.sessions:
            for after in (None, chance.randrange(30)):
                limit = chance.choice((1, 2, 5, 50))
                answer = self._service.ask("messages", session=session, after=after, limit=limit)
                self._books.page(session, answer, after, limit)

    # -- a check -----------------------------------------------------------------------------

    def _check(self, chance: random.Random) -> None:
        """Let the service come to rest, and compare all it says with what is there."""
        for _ in range(ATTEMPTS):
            try:
                self._up()
                self._check_all(chance)
            except Died:  # where it was told to
                self._died()
            else:
                return
        raise Wrong(f"the service died in {ATTEMPTS} checks")

    def _check_all(self, chance: random.Random) -> None:
        used = self._service.ask("settle")
        rows = self._service.ask("rows")["result"]["rows"]
        for session in self._disk.sessions:
            if session not in rows and self._books.never_known(session):
                continue
            log, generation = self._whole_log(session, chance.choice((1, 7, 50, 1000)))
            self._books.settled(session, rows, log, generation)
        for name, after in self._books.waiting():
            self._connect(name, after, chance)
        # It is at rest, so what a subscriber has not got by now was told, or never will be.
        self._service.listen(lambda: not self._books.behind(), "the last messages")
        self._books.all_have_all()
        self.counts.update(used["result"])

    def _whole_log(self, session: str, limit: int) -> tuple[list[Json], int]:
        log: list[Json] = []
        while True:
            after = len(log)
            answer = self._service.ask("messages", session=session, after=after, limit=limit)
            if "error" in answer:
                raise Wrong(f"{session}: at rest, the answer is {answer['error']}")
            page = answer["result"]
            self._books.page(session, answer, after, limit)
            log += page["messages"]
            if page["complete"]:
                return log, page["generation"]


def play(steps: Sequence[Step]) -> Counter[str]:
    """Play a history in a directory of its own; returns what happened in it.

    Raises ``Wrong``.
    """
    place = Path(tempfile.mkdtemp(prefix="history-", dir=quick_directory()))
    history = History(place)
    try:
        history.play(steps)
    finally:
        shutil.rmtree(place)
    return history.counts


def quick_directory() -> str | None:
    """Where syncs cost nothing: processes are killed here, not machines."""
    shared = Path("/dev/shm")
    return str(shared) if os.access(shared, os.W_OK) else None
