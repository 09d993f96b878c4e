"""Where a load is put on: a daemon with a few sessions, one of which is written on."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.session_daemon import Client, wait_for_index
from benchmarks.session_tree import Spec, make
from benchmarks.tail_work import MESSAGE_CHARACTERS, Pen
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import ROOT, Machine
from tests.fakes.model_server import ModelServer
from tests.load.crowd import Crowd, key_of, memory_bytes, port_of
from tests.load.thin_phone import ThinPhone
from tests.load.work import Work
from tests.patience import HANG_SECONDS

SESSIONS = Spec(seed=7, files=40, mb=1)


class ImpatientDaemon(PodiumDaemon):
    """One whose gateway gives up soon on a phone that takes nothing."""

    program = ("-m", "tests.load.impatient_gateway")


@dataclass
class Ground:
    """The daemon's gateway, who writes, who works. Phones live as long as the ``stack``."""

    daemon: PodiumDaemon
    port: int
    key: str
    pen: Pen
    work: Work
    stack: ExitStack

    @property
    def memory(self) -> int:
        """Bytes that the daemon has."""
        return memory_bytes(self.daemon.pid)

    def crowd(self, size: int) -> Crowd:
        """So many phones, of one device, that follow the session."""
        crowd = Crowd()
        self.stack.callback(crowd.close)
        for _ in range(size):  # one after the other: strangers have few places
            phone = self.stack.enter_context(ThinPhone(self.port)).log_in(self.key)
            phone.follow(self.pen.session_id)
            crowd.add(phone)
            crowd.turn(0)  # those before are asked meanwhile whether they are still there
        return crowd

    def tell(self, crowd: Crowd, size: int = MESSAGE_CHARACTERS) -> list[float]:
        """Append one message; returns the seconds until each phone had it."""
        began = self.pen.write(self.pen.line(size)) / 1e9
        return [at - began for at in crowd.hears(self.pen.written[-1], HANG_SECONDS)]

    @property
    def failures(self) -> list[str]:
        """What the daemon has logged as an error, or written beside its log."""
        lines = self.daemon.log_text().splitlines()
        good = ('"level": "debug"', '"level": "info"', '"level": "warning"')
        return [line for line in lines if not any(level in line for level in good)]

    @property
    def dropped(self) -> list[str]:
        """Why phones were dropped so far."""
        return [str(line["reason"]) for line in self.daemon.logged("Phone dropped")]


@asynccontextmanager
async def open_ground(daemon: type[PodiumDaemon] = PodiumDaemon) -> AsyncIterator[Ground]:
    """A daemon with everything of its own; it plays no turn, so no agent is needed."""
    with (
        tempfile.TemporaryDirectory(prefix="podium-load-") as directory,
        ModelServer({"default": {"text": "Done."}}) as model,
    ):
        root = Path(directory)
        tree = make(SESSIONS, root / "agent")
        machine = Machine(root=root, home=root / "home", claude=Path("claude"), model=model)
        machine.set_up()
        machine.configure()
        path = ":".join(str(ROOT / name) for name in ("daemon", "client", "."))
        async with daemon(machine, CLAUDE_CONFIG_DIR=str(tree.home), PYTHONPATH=path) as running:
            with ExitStack() as stack:
                client = stack.enter_context(Client(machine.socket))
                wait_for_index(client, SESSIONS.files)
                pen = Pen(tree, next(one for one in tree.manifest.sessions if not one.torn))
                work = Work(machine, client)
                yield Ground(running, port_of(client), key_of(client), pen, work, stack)


def percentiles(delays: Iterable[float]) -> str:
    """The middle and the end of delays in seconds, for people."""
    ordered = sorted(delays)
    p50, p99 = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {ordered[-1] * 1000:.1f} ms"


def told_once(crowd: Crowd, pen: Pen) -> bool:
    """Whether every phone was told each message that was written, once and in order."""
    return all(member.told == pen.written for member in crowd.members)
