"""Many phones in one process: they read together, and what each was told is kept."""

from __future__ import annotations

import os
import re
import resource
import selectors
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from tests.load.thin_phone import ThinPhone

UUID = re.compile(rb'"uuid":"([^"]+)"')


class Caller(Protocol):
    """Who can call a method of the daemon's socket."""

    def call(self, method: str, **params: Any) -> Any: ...


def room_for_sockets(wanted: int) -> None:
    """Let this process, and those it starts, have so many descriptors.

    Raises ``OSError`` or ``ValueError`` where the system does not grant it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))


def port_of(client: Caller) -> int:
    """Where the daemon's gateway listens."""
    return int(client.call("daemon.status")["gateway"]["url"].rpartition(":")[2])


def key_of(client: Caller) -> str:
    """Pair one more device, and return its key."""
    return str(client.call("gateway.pair")["key"])


if sys.platform == "linux":

    def memory_bytes(pid: int) -> int:
        """Bytes of a process that are in memory now."""
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

else:
    import psutil

    def memory_bytes(pid: int) -> int:
        """Bytes of a process that are in memory now."""
        return int(psutil.Process(pid).memory_info().rss)


class Member:
    """One phone, and the ids of the messages that it was told, in their order."""

    def __init__(self, phone: ThinPhone) -> None:
        self.phone = phone
        self.told: list[str] = []

    def take(self) -> None:
        """Take what has come."""
        for line in self.phone.lines:
            if line.startswith(b'{"type":"session_history"'):
                self.told += [found.decode() for found in UUID.findall(line)]
        self.phone.lines.clear()


class Crowd:
    """Phones that read whatever comes."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self._selector = selectors.DefaultSelector()

    def add(self, phone: ThinPhone) -> None:
        """Have one more read with the others."""
        member = Member(phone)
        self.members.append(member)
        self._selector.register(phone, selectors.EVENT_READ, member)

    def close(self) -> None:
        """Let go of the selector; the phones stay open."""
        self._selector.close()

    def hang_up(self) -> None:
        """End all connections without a word."""
        for member in self.members:
            if not member.phone.closed:
                self._selector.unregister(member.phone)
            member.phone.socket.close()

    def turn(self, seconds: float) -> None:
        """Read what there is, once; waits so long at most if there is nothing."""
        for key, _ in self._selector.select(seconds):
            member: Member = key.data
            member.phone.receive(0)
            member.take()
            if member.phone.closed:
                self._selector.unregister(member.phone)

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Take turns until the condition holds; says whether it did in time."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.turn(0.05)
        return True

    def hears(self, mark: str, seconds: float) -> list[float]:
        """Take turns until every member's last message is this one; returns when each had it.

        Times are those of ``time.monotonic()``; members that did not hear of it in time are
        left out.
        """
        waiting = {id(member): member for member in self.members}
        heard: list[float] = []

        def all_heard() -> bool:
            now = time.monotonic()
            there = [key for key, one in waiting.items() if one.told and one.told[-1] == mark]
            for key in there:
                del waiting[key]
                heard.append(now)
            return not waiting

        self.until(all_heard, seconds)
        return heard
