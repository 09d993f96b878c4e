"""The daemon's notifications to the service manager that started it: systemd's protocol.

One datagram a message to the socket that ``NOTIFY_SOCKET`` names (sd_notify(3)). Without such a
manager nothing is sent. Nothing here may cost the daemon its life: a message that cannot be sent is
logged.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Final

from podiumd.observe.logs import log

_NOTIFY: Final = "NOTIFY_SOCKET"
_WATCHDOG: Final = "WATCHDOG_USEC"
_WATCHDOG_PID: Final = "WATCHDOG_PID"


class Notifier:
    """Speaks to one service manager, or to none.

    ``address`` is a path, or ``@`` and an abstract name; ``watchdog_seconds`` is how long the
    manager waits for ``alive`` before it ends us, ``None`` where it does not wait for it.
    """

    def __init__(self, address: str | None = None, watchdog_seconds: float | None = None) -> None:
        self._address = address
        self._failed = False
        self.watchdog_seconds = watchdog_seconds if address else None

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str], pid: int) -> Notifier:
        """Take the manager's variables out of ``environ``: they are for this process alone.

        A watchdog that is meant for another process (``WATCHDOG_PID``) is not ours.
        """
        address = environ.pop(_NOTIFY, "")
        microseconds = environ.pop(_WATCHDOG, "")
        wanted_pid = environ.pop(_WATCHDOG_PID, "")
        ours = wanted_pid in ("", str(pid))
        seconds = int(microseconds) / 1e6 if ours and microseconds.isdecimal() else 0.0
        known = address.startswith(("/", "@"))
        return cls(address if known else None, seconds or None)

    def ready(self, words: str) -> None:
        """Notify the manager that every listener answers from now on."""
        self._send(f"READY=1\nSTATUS={words}")

    def lifting(self, seconds: int) -> None:
        """Before it answers the daemon lifts a database, for so many seconds at most."""
        microseconds = seconds * 1_000_000
        self._send(
            f"EXTEND_TIMEOUT_USEC={microseconds}\nSTATUS=Lifting facts.db to this release's schema"
        )

    def stopping(self, words: str) -> None:
        """Notify the manager that the daemon is on its way out."""
        self._send(f"STOPPING=1\nSTATUS={words}")

    def alive(self) -> None:
        """Feed the watchdog."""
        self._send("WATCHDOG=1")

    def _send(self, message: str) -> None:
        if self._address is None:
            return
        name = self._address
        where = "\0" + name[1:] if name.startswith("@") else name
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.setblocking(False)  # a manager that does not read must not hold us up
                sock.sendto(message.encode(), os.fsencode(where))
        except OSError as error:
            if not self._failed:
                log("Service manager is not told", "warning", reason=error.strerror or str(error))
            self._failed = True
        else:
            self._failed = False
