"""Runs a program as a task of trio's, and holds no more of its output than a bound.

It is for one that must be given descriptors or heard of as it starts; see ``in_thread`` for others.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import partial
from typing import Any

import trio

from podiumd.tools.process.in_thread import Printed, PrintedTooMuchError, Said

Result = subprocess.CompletedProcess[bytes]


async def run_bounded(
    command: Sequence[str],
    *,
    task_status: trio.TaskStatus[trio.Process] = trio.TASK_STATUS_IGNORED,
    **options: Any,
) -> Result:
    """Run it to its end, with ``options`` of ``trio.run_process``, whose failures are its own.

    ``deliver_cancel`` ends it where it prints too much. Raises ``PrintedTooMuchError`` then, and
    ``OSError`` where it cannot be started.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    run = partial(trio.run_process, command, check=False, **pipes, **options)
    printed, said = Printed(), Said()
    process: trio.Process | None = None
    missing: OSError | None = None
    async with trio.open_nursery() as nursery:
        try:
            process = await nursery.start(run)
        except OSError as error:
            missing = error  # raised in here, it would come out as one of a group
        else:
            task_status.started(process)
            assert process is not None  # as ``nursery.start`` cannot tell
            assert process.stdout is not None and process.stderr is not None
            nursery.start_soon(_read, process.stderr, said)
            async with process.stdout as stdout:
                async for piece in stdout:
                    printed.add(piece)
                    if printed.too_much:
                        nursery.cancel_scope.cancel()
    if missing is not None:
        raise missing
    if printed.too_much:
        raise PrintedTooMuchError
    assert process is not None and process.returncode is not None
    return Result(list(command), process.returncode, printed.all(), said.all())


async def _read(pipe: trio.abc.ReceiveStream, said: Said) -> None:
    async with pipe:
        async for piece in pipe:
            said.add(piece)
