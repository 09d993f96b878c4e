"""Phones that are a nuisance, in a process of their own: some never read, some flood as well.

    python -m tests.load.offenders PORT KEY SESSION SILENT LOUD

Prints ``ready`` when all are in and follow the session. On a line of standard input those that
flood begin to write as fast as they can, until they are cut off; nobody ever reads. Ends with
standard input.
"""

from __future__ import annotations

import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.load.thin_phone import ThinPhone, message

FLOOD = (message("ping") * 7 + message("refresh_sessions")) * 16
"""What is said again and again: small questions, and now and then one with a long answer."""

RECEIVE_BUFFER = 4096


@contextmanager
def offenders(
    port: int, key: str, session_id: str, silent: int, loud: int
) -> Iterator[subprocess.Popen[bytes]]:
    """So many of them; a line to the process has the loud ones begin."""
    command = [sys.executable, "-m", "tests.load.offenders", str(port), key, session_id]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(
        [*command, str(silent), str(loud)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env=environment,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n", "the offenders could not connect"
            yield process
        finally:
            process.terminate()


def _flood(phones: Sequence[ThinPhone]) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        for phone in phones:
            phone.socket.setblocking(False)
            selector.register(phone, selectors.EVENT_WRITE, phone.socket)
        while len(selector.get_map()) > 1:
            for key, _ in selector.select():
                if key.data is None:
                    return
                try:
                    key.data.send(FLOOD)
                except BlockingIOError:
                    continue
                except OSError:  # it was cut off
                    selector.unregister(key.fileobj)


def main(port: int, key: str, session_id: str, silent: int, loud: int) -> None:
    """See above."""
    with ExitStack() as stack:
        phones = []
        for _ in range(silent + loud):
            phone = stack.enter_context(ThinPhone(port, RECEIVE_BUFFER)).log_in(key)
            phone.follow(session_id)
            phones.append(phone)
        print("ready", flush=True)
        if sys.stdin.readline():
            _flood(phones[silent:])
        sys.stdin.read()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]), given[1], given[2], int(given[3]), int(given[4]))
