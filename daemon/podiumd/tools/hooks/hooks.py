"""Hooks: programs of a recipe that stand around an agent's tools and at the end of its turns.

A hook gets what happened as one line of JSON on its standard input. Exit status 2 is its no, and
what it wrote to its standard error is why. Any other failure of it decides nothing.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import trio

from podiumd.core.excerpt import MARK
from podiumd.tools.process.run_command import run_into

HOOK_SECONDS: Final = 60.0
"""How long a hook may take; it is ended then, with all that it started."""

REFUSES: Final = 2
"""The exit status that is a no."""

REASON_BYTES: Final = 8 * 1024
"""Bytes of a hook's reason for its no, or for its failure: the end of it."""


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a hook.

    ``exit_status`` is the program's, negative for the signal that ended it, and ``None`` when it
    could not be started or was ended at its time limit. ``reason`` is its standard error, else how
    it ended.
    """

    exit_status: int | None
    reason: str = ""
    seconds: float = 0.0

    @property
    def refused(self) -> bool:
        """Return whether the hook refuses."""
        return self.exit_status == REFUSES

    @property
    def failed(self) -> bool:
        """Return whether the hook itself failed: that decides nothing."""
        return self.exit_status not in (0, REFUSES)


async def run_hook(
    argv: Sequence[str],
    told: Mapping[str, Any],
    *,
    cwd: str | Path,
    environment: Mapping[str, str],
    limit_seconds: float = HOOK_SECONDS,
    pass_fds: Sequence[int] = (),
) -> HookResult:
    """Run a hook to its end, or to its limit; ``told`` is its input.

    Its process group is ended with it. The caller sweeps processes that moved to another session,
    by the marker in ``environment``. A hook that cannot be started is a result, not an exception.

    Raises ``OSError`` where the disk is too full for its input.
    """
    errors = _Errors()
    started = trio.current_time()
    with tempfile.TemporaryFile() as line:
        _write(line, told)
        ending = await run_into(
            errors,
            argv,
            cwd=cwd,
            environment=environment,
            limit_seconds=limit_seconds,
            stdin=line,
            stderr=subprocess.PIPE,
            pass_fds=pass_fds,
        )
    said = errors.text()
    status = ending.exit_status
    if status == REFUSES and not said:
        said = f"'{argv[0]}' refuses and does not say why"
    elif status is None:
        said = "\n".join(part for part in (ending.message, said) if part)
    elif status != 0 and not said:
        said = f"'{argv[0]}' ended with status {status}"
    return HookResult(exit_status=status, reason=said, seconds=trio.current_time() - started)


def _write(file: IO[bytes], told: Mapping[str, Any]) -> None:
    file.write(msgspec.json.encode(told) + b"\n")
    file.seek(0)


class _Errors:
    """The end of what a hook writes to its standard error; its output is read and dropped."""

    def __init__(self) -> None:
        self._tail = b""
        self._cut = False

    async def follow(self, process: trio.Process) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, process.stdout, False)
            nursery.start_soon(self._read, process.stderr, True)

    async def _read(self, stream: trio.abc.ReceiveStream | None, kept: bool) -> None:
        assert stream is not None
        async with stream:
            async for piece in stream:
                if kept:
                    self._tail += bytes(piece)
                    self._cut = self._cut or len(self._tail) > REASON_BYTES
                    self._tail = self._tail[-REASON_BYTES:]

    def text(self) -> str:
        # A character may have been cut at the front.
        words = self._tail.decode("utf-8", "replace").lstrip("\ufffd").strip()
        return f"{MARK}{words}" if self._cut else words
