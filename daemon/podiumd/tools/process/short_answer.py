"""Asks a program that is to answer in a few lines and be gone, as for its version. Blocks."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final

MOST_ANSWERED: Final = 64 * 1024
"""Bytes that it may print, to either stream: an answer has a few lines."""
_PIECE: Final = 16 * 1024


class AnsweredTooMuchError(Exception):
    """A program printed more than ``MOST_ANSWERED``; it was killed."""


def short_answer(
    command: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    *,
    cwd: str | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program without input to its end; return its status and all that it printed.

    It has a session of its own, and is killed with all of its group where it is not over in time.
    Raises ``OSError``, ``subprocess.TimeoutExpired``, ``AnsweredTooMuchError``.
    """
    until = time.monotonic() + seconds
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd=cwd,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    with process.stdout as out, process.stderr as err:
        try:
            printed = _read((out.fileno(), err.fileno()), until)
            if printed is None:
                raise subprocess.TimeoutExpired(command, seconds)
            status = process.wait(max(0.0, until - time.monotonic()))
        except BaseException:
            # It was not collected yet, so the number of its group is no other's.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    return subprocess.CompletedProcess(command, status, *printed)


def _read(pipes: tuple[int, int], until: float) -> tuple[bytes, bytes] | None:
    """Read both pipes to their ends; ``None`` where those do not come in time."""
    kept = {pipe: bytearray() for pipe in pipes}
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = until - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return None
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                kept[key.fd] += piece
                if len(kept[key.fd]) > MOST_ANSWERED:
                    raise AnsweredTooMuchError
                if not piece:
                    selector.unregister(key.fd)
    return bytes(kept[pipes[0]]), bytes(kept[pipes[1]])
