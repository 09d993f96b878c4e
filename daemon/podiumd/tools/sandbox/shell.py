"""Runs the command lines of a model: bounded in time, output and resources, leaving nothing behind.

A command line is text of the model's own and goes to ``sh -c`` as one argument; nothing else is
ever put into it. It runs in a session and process group of its own, without input, in an
environment that holds no key, and in the sandbox where there is one. Processes that it started and
left, in any session, are ended with it: all of them carry the turn's marker.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Self

import msgspec
import trio

from podiumd.tools.confine.admission import admitted
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process.processes import MARKER, sweep
from podiumd.tools.process.run_command import Ending, run_into
from podiumd.tools.sandbox.boundary import Tidied
from podiumd.tools.sandbox.sandbox import Enclosure

HEAD_BYTES, TAIL_BYTES = 8 * 1024, 16 * 1024
"""Bytes kept of the output of a command; the middle of a longer one is counted and dropped."""
STILL_WRITTEN: Final = "not begun within {:g} s: git still writes in its repository; try again"
MOST_OPEN_FILES, MOST_PROCESSES = 8192, 8192

_SECRET_PREFIXES = ("ANTHROPIC_", "OPENAI_", "PODIUM_")
# "-p" is the number of processes to dash and busybox, "-u" to bash; where neither can be set the
# command runs all the same. "-c": a crash leaves no copy of its memory in the tree.
_LIMITED = (
    "ulimit -c 0; "
    f"ulimit -n {MOST_OPEN_FILES} || :; "
    f"ulimit -u {MOST_PROCESSES} || ulimit -p {MOST_PROCESSES} || :; "
)
_PRELUDE = f'{{ {_LIMITED}}} 2>/dev/null; exec "$@"'


class ShellResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command.

    ``exit_status`` is ``None`` where it was not started (``message`` gives the reason) or was ended
    at its time limit (``timed_out``); negative is the signal that ended it. ``output`` holds its
    head and tail with a notice between them of how many bytes were left out (``dropped``).
    ``stopped`` are the command lines of what it had left running, ``tidied`` what was put right
    after it.
    """

    exit_status: int | None
    output: str = ""
    dropped: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    message: str = ""
    stopped: tuple[str, ...] = ()
    tidied: Tidied = Tidied()


def command_environment(
    base: Mapping[str, str], turn_id: str, hidden: Iterable[str] = ()
) -> dict[str, str]:
    """Build the environment that a model's command may see: no key of a model, nothing of Podium's.

    ``hidden`` are the names of further variables that hold keys. The marker of the turn is set.
    """
    hidden = frozenset(hidden)
    kept = {
        name: value
        for name, value in base.items()
        if name not in hidden and not name.startswith(_SECRET_PREFIXES)
    }
    return kept | {MARKER: turn_id}


async def run_arguments(
    argv: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    turn_id: str,
    enclosure: Enclosure | None = None,
    limit_seconds: float | None = None,
    pass_fds: Sequence[int] = (),
    on_output: Callable[[str], None] | None = None,
) -> ShellResult:
    """Run ``argv`` to its end and end all that it left.

    ``environment`` is the whole environment but for the marker (see ``command_environment``);
    ``enclosure`` is the sandbox, ``None`` for none. ``on_output`` is given the output as it comes,
    in pieces, up to what is kept of its head. A command that cannot be run is a result, not an
    exception; when the caller cancels, it and its children are ended first. Raises ``OSError``
    where there is no room to prepare the sandbox. ``limit_seconds`` bounds the command, and before
    it the wait for a git of ours that writes where it will be able to.
    """
    whole = ["/bin/sh", "-c", _PRELUDE, "sh", *argv]
    variables = {**environment, MARKER: turn_id}
    if enclosure is not None:
        variables = enclosure.environment(variables)
    output = _HeadAndTail(on_output)
    started = trio.current_time()
    stopped: list[str] = []
    tidied = Tidied()
    if enclosure is not None:
        await trio.to_thread.run_sync(enclosure.prepare)
        failpoint("sandbox.after-prepare")
    try:
        ending = None if enclosure is None else await _alone(enclosure, limit_seconds)
        if ending is None:
            with _Start(output, whole, enclosure) as start:
                ending = await run_into(
                    start,
                    start.argv,
                    cwd=cwd,
                    environment=variables,
                    limit_seconds=limit_seconds,
                    pass_fds=(*pass_fds, *start.descriptors),
                )
            if start.fault:
                ending, output = Ending(None, message=start.fault), _HeadAndTail(None)
    finally:
        with trio.CancelScope(shield=True):  # bounded: a sweep gives up after some seconds
            stopped = await sweep(turn_id)
            if enclosure is not None:  # of a command that was cancelled as well
                failpoint("sandbox.before-tidy")
                tidied = await trio.to_thread.run_sync(enclosure.tidy)
    return ShellResult(
        exit_status=ending.exit_status,
        output=output.text(),
        dropped=output.dropped,
        seconds=trio.current_time() - started,
        timed_out=ending.timed_out,
        message=ending.message,
        stopped=tuple(stopped),
        tidied=tidied,
    )


async def _alone(enclosure: Enclosure, limit_seconds: float | None) -> Ending | None:
    """Wait for a git of ours that writes where the command will be able to; at the limit that is
    how it ends."""
    limit = math.inf if limit_seconds is None else limit_seconds
    with trio.move_on_after(limit):
        await enclosure.let_end()
        return None
    return Ending(None, True, STILL_WRITTEN.format(limit))


class _Start:
    """Begins a command, through the gate of its sandbox where that has one."""

    def __init__(
        self, output: _HeadAndTail, argv: Sequence[str], enclosure: Enclosure | None
    ) -> None:
        self._output = output
        self._gate = None if enclosure is None else enclosure.gate()
        self.argv = argv if enclosure is None else enclosure.command(argv, self._gate)
        self.descriptors = () if self._gate is None else self._gate.descriptors
        self.fault = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._gate is not None:
            self._gate.close()

    async def follow(self, process: trio.Process) -> None:
        if self._gate is not None:
            self.fault = await admitted(self._gate)
        await self._output.follow(process)


class _HeadAndTail:
    """Keeps the beginning and the end of an output, however long it is, in bounded memory."""

    def __init__(self, on_output: Callable[[str], None] | None) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.dropped = 0

    async def follow(self, process: trio.Process) -> None:
        assert process.stdout is not None
        async with process.stdout as stream:
            async for piece in stream:
                self._take(bytes(piece))

    def text(self) -> str:
        head = bytes(self._head).decode("utf-8", "replace")
        tail = bytes(self._tail).decode("utf-8", "replace")
        if not self.dropped:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        return f"{head}\n[... {self.dropped} bytes of output left out ...]\n{tail}"

    def _take(self, piece: bytes) -> None:
        first = piece[: HEAD_BYTES - len(self._head)]
        self._head += first
        if first and self._on_output is not None:
            self._on_output(self._decoder.decode(first))
        rest = piece[len(first) :]
        over = len(self._tail) + len(rest) - TAIL_BYTES
        if over > 0:
            self.dropped += over
            del self._tail[:over]
            rest = rest[-TAIL_BYTES:]
        self._tail += rest
