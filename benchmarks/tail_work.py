"""Who writes and who listens when the following of sessions is measured; nobody is told to wait."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from benchmarks.measure import ROOT, CannotMeasure
from benchmarks.session_daemon import Client
from benchmarks.session_tree import Session, Tree, going_on

LOST_SECONDS = 2.0
"""What has not come after this time is lost."""

MESSAGE_CHARACTERS = 300
"""Words of a message whose line is then about 1 KB."""


class Pen:
    """Writes on in one session as the agent does: open for append, one write, close."""

    def __init__(self, tree: Tree, session: Session) -> None:
        self.session_id = session.session_id
        self.written: list[str] = []
        self._scribe = going_on(tree, session)
        self._path = tree.home / session.path

    def line(self, size: int = MESSAGE_CHARACTERS) -> bytes:
        """The next message, not yet written; ``size`` is that of its words in characters."""
        self._scribe.answer(size)
        self.written.append(self._scribe.tip or "")
        return self._scribe.lines.pop()

    def write(self, data: bytes) -> int:
        """Append; returns ``time.monotonic_ns()`` just before the write."""
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        now = time.monotonic_ns()
        os.write(file, data)
        os.close(file)
        return now


class Listener(Protocol):
    """One who hears of a session; ``lines`` are messages that nobody has taken yet."""

    lines: list[bytes]
    closed: bool

    def fileno(self) -> int: ...
    def receive(self, seconds: float) -> bool: ...


class Audience:
    """Subscribers of one session, each on a connection of its own."""

    def __init__(self, clients: Sequence[Listener]) -> None:
        self._clients = {client.fileno(): client for client in clients}
        self._poll = select.epoll()
        for client in clients:
            self._poll.register(client.fileno(), select.EPOLLIN)

    def __len__(self) -> int:
        return len(self._clients)

    def hear(self, pen: Pen, size: int = MESSAGE_CHARACTERS) -> list[float]:
        """Append one message; returns the seconds until each subscriber had it, lost ones not."""
        line = pen.line(size)
        mark = pen.written[-1].encode()
        began = pen.write(line)
        taken: list[float] = []
        until = time.monotonic() + LOST_SECONDS
        while len(taken) < len(self._clients) and (left := until - time.monotonic()) > 0:
            for descriptor, _ in self._poll.poll(left):
                client = self._clients[descriptor]
                client.receive(0)
                now = time.monotonic_ns()
                if any(mark in one for one in client.lines):
                    taken.append((now - began) / 1e9)
                if client.closed:
                    self._poll.unregister(descriptor)
                client.lines.clear()
        return taken

    def close(self) -> None:
        """Let go of the descriptor; the clients stay."""
        self._poll.close()


def subscriber(stack: ExitStack, socket: Path, *session_ids: str) -> Client:
    """Connect and subscribe to what is yet to come."""
    client = stack.enter_context(Client(socket))
    for session_id in session_ids:
        client.call("sessions.subscribe", session_id=session_id, limit=1)
    return client


def audience(stack: ExitStack, *clients: Listener) -> Audience:
    """All these subscribers, for as long as the stack lives."""
    made = Audience(clients)
    stack.callback(made.close)
    return made


def crowd(stack: ExitStack, socket: Path, pen: Pen, size: int) -> Audience:
    """So many subscribers of one session."""
    return audience(stack, *(subscriber(stack, socket, pen.session_id) for _ in range(size)))


class Received:
    """What has come of each session: uuids and numbers, in the order of coming."""

    def __init__(self) -> None:
        self.uuids: dict[str, list[str]] = defaultdict(list)
        self.seqs: dict[str, list[int]] = defaultdict(list)
        self.count = 0

    def take(self, client: Client) -> None:
        """Take all notifications that are here."""
        for line in client.lines:
            told = json.loads(line)
            if told.get("method") == "session.messages":
                self.take_messages(told["params"]["session_id"], told["params"]["messages"])
        client.lines.clear()

    def take_messages(self, session_id: str, messages: Sequence[dict[str, object]]) -> None:
        """Take messages of one session."""
        self.uuids[session_id] += [str(message["uuid"]) for message in messages]
        self.seqs[session_id] += [int(str(message["seq"])) for message in messages]
        self.count += len(messages)

    def lost(self, pen: Pen) -> int:
        """How many of the messages that were written are not here."""
        return len(set(pen.written) - set(self.uuids[pen.session_id]))

    def misplaced(self, pen: Pen) -> int:
        """How many are here twice, out of order or with a number that does not follow."""
        uuids, seqs = self.uuids[pen.session_id], self.seqs[pen.session_id]
        place = {uuid: number for number, uuid in enumerate(pen.written)}
        order = [place[uuid] for uuid in uuids if uuid in place]
        back = sum(1 for one, other in pairwise(order) if other <= one)
        return back + sum(1 for one, other in pairwise(seqs) if other != one + 1)


@contextmanager
def bare_inotify(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The peer process, ready to see ``path`` grow."""
    command: list[str | Path] = [
        sys.executable,
        "-S",
        ROOT / "benchmarks" / "inotify_peer.py",
        path,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as peer:
        assert peer.stdout is not None
        try:
            if peer.stdout.readline() != b"ready\n":
                raise CannotMeasure("inotify cannot be used")
            yield peer
        finally:
            peer.terminate()


def bare_delay(peer: subprocess.Popen[bytes], path: Path, data: bytes) -> float:
    """Append to the peer's file; returns the seconds until it had read that."""
    assert peer.stdout is not None
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    began = time.monotonic_ns()
    os.write(file, data)
    os.close(file)
    (at,) = struct.unpack("=q", peer.stdout.read(8))
    return float(at - began) / 1e9
