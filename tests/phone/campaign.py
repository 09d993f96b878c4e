"""The campaign of cuts: phones behind a bad network, a real daemon, transcripts that grow.

    python -m tests.phone.campaign [--messages N] [--cuts N] [--seed N]

Phones of both versions follow sessions through the cutting proxy while messages are appended to
the sessions' transcripts. In each round one phone loses its connection and a burst is written
while it comes back; the connection that it makes next has a fate of its own (cut, stalled, half
open; split byte by byte or at random). At the end every phone must have taken each message of
its sessions once, in the log's order, under the log's number, and nothing that its app would drop
or misread. A phone of 0.5.0 that missed more than one answer holds may lack what is older than the
newest that it keeps.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import Machine
from tests.fakes.model_server import ModelServer
from tests.phone.cutting_proxy import CuttingProxy, Fate, Schedule, cutting_proxy
from tests.phone.driver import AtOnce, Phone
from tests.phone.flow import Line, Transcript, made

PHONES: Final = 8
SESSIONS: Final = 8
BURST_SECONDS: Final = 0.25
"""How long a round waits for its burst to arrive; a phone that is cut off meanwhile may miss it."""
PIECE_SECONDS: Final = 0.012
"""At most between two pieces of a burst: a few of them while a phone connects."""
MOST_AWAY: Final = 3
PHONE_TEXT: Final = 18_000
"""Characters up to which a message reaches a phone whole."""
WINDOW: Final = 50
"""Messages that an answer has at least which leaves older ones out."""
WINDOW_TEXT: Final = 1_800
"""Characters up to which it has a message whole."""
PAGE: Final = 1000


class Wrong(Exception):
    """A phone does not have what the log has; the words say where they part."""


class Paced(Schedule):
    """Fates that are dealt out over the whole campaign: one more with each ``deal``."""

    def __init__(self, seed: int, count: int) -> None:
        super().__init__(seed, count, most_bytes=40_000, most_seconds=0.03)
        self._dealt = 0

    def deal(self) -> None:
        """Have one more connection meet its fate."""
        self._dealt += 1

    def next(self) -> Fate:
        if self._dealt == 0:
            return Fate()
        self._dealt -= 1
        return super().next()


class Campaign:
    """One campaign: its phones, its sessions, and what it counted."""

    def __init__(
        self, podium: PodiumDaemon, proxy: CuttingProxy, schedule: Paced, seed: int
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.sessions = made(podium.machine.projects, SESSIONS, seed)
        self.phones: list[Phone] = []
        self._away: dict[Phone, int] = {}
        self._podium = podium
        self._proxy = proxy
        self._schedule = schedule
        self._chance = random.Random(seed)

    def followed(self, phone: Phone) -> list[Transcript]:
        """The sessions that a phone follows: each is followed by one phone of each version."""
        at = self.phones.index(phone)
        return [self.sessions[at % SESSIONS], self.sessions[(at + 1) % SESSIONS]]

    @asynccontextmanager
    async def connected(self, key: str) -> AsyncIterator[None]:
        """All phones, having read the first message of their sessions."""
        async with AsyncExitStack() as stack:
            for at in range(PHONES):
                variant = ("ios", "ios-0.4")[at % 2]
                phone = Phone(self._proxy.url, key, variant, retries=AtOnce())
                self.phones.append(await stack.enter_async_context(phone))
                for session in self.followed(phone):
                    phone.model.sync.subscribe(session.session_id)
                phone.flush()
                await phone.until(_has_all(self.followed(phone)))
            yield

    async def play(self, messages: int, cuts: int) -> None:
        """Write so many messages in as many rounds as cuts."""
        for turn in range(cuts):
            burst = messages * (turn + 1) // cuts - messages * turn // cuts
            session = self._chance.choice(self.sessions)
            await self._come_and_go(turn)
            here = [each for each in self.phones if each not in self._away]
            watching = [each for each in here if session in self.followed(each)] or here
            self._schedule.deal()
            if self._chance.random() < 0.5:
                self._proxy.cut_one(self._chance)
            else:
                self._chance.choice(watching).cut()
                self.counts["phone: cut"] += 1
            one = self._chance.choice(watching)
            # While it subscribes again: what comes between its answer and the next push.
            for _ in session.append(burst):
                with trio.move_on_after(self._chance.random() * PIECE_SECONDS):
                    await one.until(_has_all(self.followed(one)))
            self.counts["messages appended"] += burst
            with trio.move_on_after(BURST_SECONDS):
                await one.until(_has_all(self.followed(one)))

    async def _come_and_go(self, turn: int) -> None:
        """Now and then a phone is put away for some rounds, and has much to catch up on."""
        for phone, until in tuple(self._away.items()):
            if until <= turn:
                del self._away[phone]
                phone.carrier.come_back()
        if self._chance.random() < 0.1 and len(self._away) < MOST_AWAY:
            phone = self._chance.choice(self.phones)
            if phone not in self._away:
                self._away[phone] = turn + self._chance.randrange(1, 60)
                self.counts["phone: put away"] += 1
                await phone.background()

    async def settle(self) -> None:
        """Wait until every phone has everything; the last connections meet no fate any more."""
        for phone in self._away:
            phone.carrier.come_back()
        self._proxy.cut_all()
        for phone in self.phones:
            await phone.until(_has_all(self.followed(phone)))
            await _answered(phone)

    async def check(self) -> None:
        """Raises ``Wrong``."""
        for session in self.sessions:
            log = await self._log(session)
            if log != [(line.uuid, line.role, line.text) for line in session.lines]:
                raise Wrong(f"the log of {session.session_id} is not what was written")
        for phone in self.phones:
            for session in self.followed(phone):
                self.counts["messages left out of answers"] += compare(phone, session)
                self.counts["messages taken by phones"] += len(phone.ledger[session.session_id])
            if phone.faults:
                raise Wrong(f"{phone.describe()}\n  {len(phone.faults)} faults in all")
            self.counts["connections"] += phone.connections
            self.counts["frames of history"] += phone.model.counts["session_history"]
        self.counts.update({f"network: {name}": n for name, n in self._proxy.done.items()})

    async def _log(self, session: Transcript) -> list[tuple[str, str, str]]:
        log: list[tuple[str, str, str]] = []
        while True:
            page = await self._podium.rpc(
                "sessions.messages", session_id=session.session_id, after_seq=len(log), limit=PAGE
            )
            for row in page["messages"]:
                if row["seq"] != len(log) + 1:
                    raise Wrong(f"the log of {session.session_id} has no {len(log) + 1}")
                log.append((row["uuid"], row["role"], row["text"]))
            if not page["messages"]:
                return log


async def _answered(phone: Phone) -> None:
    """Wait for a pong, and so for all that was on its way; on the next connection, if need be."""
    while True:
        await phone.until(lambda one: one.up)
        connection = phone.connections
        last = phone.model.counts["pong"] + phone.model.sync.pongs_due + 1
        phone.model.sync.ping()
        phone.flush()
        await phone.until(_ponged(connection, last))
        if _on(phone, connection):
            return


def _ponged(connection: int, last: int) -> Callable[[Phone], bool]:
    return lambda phone: not _on(phone, connection) or phone.model.counts["pong"] >= last


def _on(phone: Phone, connection: int) -> bool:
    return phone.up and phone.connections == connection


def _has_all(sessions: Sequence[Transcript]) -> Callable[[Phone], bool]:
    wanted = {each.session_id: len(each.lines) for each in sessions}

    def has_all(phone: Phone) -> bool:
        return all(_last(phone, one) >= count for one, count in wanted.items())

    return has_all


def _first(phone: Phone) -> int:
    """The number of a session's first message."""
    return 0 if phone.model.variant.announces == "0.5.0" else 1


def _last(phone: Phone, session_id: str) -> int:
    """How many messages a session has, as far as the phone knows."""
    ledger = phone.ledger[session_id]
    return ledger[-1].number + 1 - _first(phone) if ledger else 0


def compare(phone: Phone, session: Transcript) -> int:
    """Return how many messages an answer has left out.

    Raises ``Wrong`` where a phone's ledger and what was written part."""
    first, left_out, at, whole = _first(phone), 0, 0, WINDOW
    who = f"{phone.model.variant.name} phone, session {session.session_id}"
    for one in phone.ledger[session.session_id]:
        if one.number > at + first and first == 0 and whole >= WINDOW:
            left_out, at, whole = left_out + one.number - at, one.number, 0
        line = session.lines[at] if at < len(session.lines) else None
        known = None if line is None else (at + first, line.uuid, line.role)
        same = (one.number, one.uuid, one.role) == known
        if line is None or not same or not _same_text(one.text, line, first == 0):
            raise Wrong(f"{who}: message {at + 1} is {one}, where {line} was written")
        at, whole = at + 1, whole + 1
    if at != len(session.lines) or whole < WINDOW:
        raise Wrong(f"{who}: {at} messages of {len(session.lines)}\n{phone.describe()}")
    return left_out


def _same_text(text: str, line: Line, windowed: bool) -> bool:
    whole = WINDOW_TEXT if windowed else PHONE_TEXT
    if line.role == "user" or len(line.text) <= whole:
        return text == line.text
    ends = whole // 4
    return text[:ends] == line.text[:ends] and text[-ends:] == line.text[-ends:]


@asynccontextmanager
async def campaign(root: Path, cuts: int, seed: int) -> AsyncIterator[Campaign]:
    """A campaign's daemon, network and phones."""
    with ModelServer() as model:
        machine = Machine(root, root / "home", Path("/bin/false"), model)
        machine.set_up()
        machine.configure()
        async with PodiumDaemon(machine) as podium:
            paired = await podium.rpc("gateway.pair")
            port = urlsplit(paired["url"]).port
            schedule = Paced(seed, cuts)
            async with cutting_proxy("127.0.0.1", port or 0, schedule, seed) as proxy:
                made = Campaign(podium, proxy, schedule, seed)
                async with made.connected(paired["key"]):
                    yield made


async def play(root: Path, messages: int, cuts: int, seed: int) -> Counter[str]:
    """Play a whole campaign below ``root``; returns what was counted. Raises ``Wrong``."""
    async with campaign(root, cuts, seed) as one:
        await one.play(messages, cuts)
        await one.settle()
        await one.check()
        return one.counts


def table(counts: Counter[str], seconds: float) -> str:
    """What was counted, a line each."""
    lines = [f"{name:<28} {counts[name]:>9,}" for name in sorted(counts)]
    return "\n".join([*lines, f"{'seconds':<28} {seconds:>9.1f}"])


def troubles(counts: Counter[str]) -> int:
    """How often the network did what networks do."""
    kinds = ("cut", "stall", "half-open", "split byte by byte", "split at random")
    return counts["phone: cut"] + sum(counts[f"network: {kind}"] for kind in kinds)


def main(arguments: Sequence[str]) -> int:
    """Play a campaign and print its table; 1 when a phone does not have what the log has."""
    parser = argparse.ArgumentParser(prog="tests.phone.campaign")
    parser.add_argument("--messages", type=int, default=50_000, help="written to transcripts")
    parser.add_argument("--cuts", type=int, default=1000, help="rounds, in each of which one falls")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args(arguments)
    print(f"{given.messages:,} messages, {given.cuts:,} cuts, seed {given.seed}", flush=True)
    began = time.monotonic()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="podium-cuts-") as root:
        try:
            counts = trio.run(play, Path(root), given.messages, given.cuts, given.seed)
        except* (Wrong, AssertionError) as group:
            wrong = _said(group)
    if wrong:
        print("\n".join(wrong))
        return 1
    print(table(counts, time.monotonic() - began))
    print(f"{troubles(counts):,} troubles of the network; nothing lost, nothing doubled")
    return 0


def _said(error: BaseException) -> list[str]:
    """What went wrong, and behind it the end of the daemon's log, which the daemon has noted."""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    said = [line for each in inner for line in _said(each)] or [f"FAILED: {error}"]
    return [*said, *getattr(error, "__notes__", ())]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
