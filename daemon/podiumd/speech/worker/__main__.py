"""Hear for the daemon: ``python -m podiumd.speech.worker``; see ``podiumd.speech.engines.wire``.

It ends when its standard input does, so with the daemon, however that ends.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from podiumd.speech.engines import wire

_ROOM: Final = 3 * 1024**3
"""Address space beside the model's: libraries, threads' stacks, windows, audio."""

_MODEL_TIMES: Final = 4


def main() -> None:
    """Load the model and serve. Ends the process."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print must not get between the lines
    send = _sender(answers)
    frames = os.fdopen(0, "rb", buffering=1_048_576, closefd=False)
    setup = _setup(frames)
    if setup is None:
        return
    _limit(Path(setup.model))
    try:
        serve(setup, frames, send)
    except BrokenPipeError:
        os._exit(0)
    except Exception as error:  # noqa: BLE001 - the last words of this process
        send(wire.Broken(f"The model cannot be used: {type(error).__name__}: {error}"))
        os._exit(1)


def serve(setup: wire.Setup, frames: BinaryIO, send: Callable[[wire.Line], None]) -> None:
    """Serve all that follows the setup."""
    check = _Check(setup)
    check.start()
    # Heavy, and only now: meanwhile the hashes are compared.
    from podiumd.speech.worker.jobs import Jobs
    from podiumd.speech.worker.whisper import Whisper

    jobs = Jobs(setup, send)
    threading.Thread(target=jobs.take_frames, args=(frames,), name="frames", daemon=True).start()
    check.join()
    if check.fault:
        send(wire.Broken(check.fault))
        os._exit(1)
    whisper = Whisper(setup.model, setup.threads)
    _give_way(setup.niceness)  # from here on: a person waits for the model already
    send(wire.Ready(whisper.multilingual))
    jobs.serve(whisper)


class _Check(threading.Thread):
    """Compares the hashes of the model's files with those that are expected."""

    def __init__(self, setup: wire.Setup) -> None:
        super().__init__(name="hashes")
        self._setup = setup
        self.fault = ""

    def run(self) -> None:
        from podiumd.speech.install import sha256

        for name, expected in self._setup.hashes.items():
            path = Path(self._setup.model, name)
            try:
                same = sha256(path) == expected
            except OSError as error:
                self.fault = f"The model's file {path} cannot be read: {error.strerror}."
                return
            if not same:
                self.fault = (
                    f"The model's file {path} is not what it was: its hash differs. Delete the "
                    "directory and run: podium voice install NAME"
                )
                return


def _setup(frames: BinaryIO) -> wire.Setup | None:
    head = frames.read(wire.HEAD_BYTES)
    body = frames.read(int.from_bytes(head, "big"))
    if len(body) < 5:
        return None
    _, _, content = wire.take_apart(body)
    return msgspec.json.decode(content, type=wire.Setup)


def _sender(descriptor: int) -> Callable[[wire.Line], None]:
    lock = threading.Lock()

    def send(line: wire.Line) -> None:
        data = wire.encode_line(line) + b"\n"
        with lock:
            while data:
                data = data[os.write(descriptor, data) :]

    return send


def _give_way(niceness: int) -> None:
    """Let others have the processors first. Linux knows a priority of each thread, and threads that
    are made later have that of their maker."""
    value = os.nice(niceness)
    tasks = Path("/proc/self/task")
    for task in tasks.iterdir() if tasks.is_dir() else ():
        os.setpriority(os.PRIO_PROCESS, int(task.name), value)


def _limit(model: Path) -> None:
    """Bound the address space: the machine survives any demand of a decoder on a recording."""
    size = sum(path.stat().st_size for path in model.glob("*") if path.is_file())
    limit = _ROOM + _MODEL_TIMES * size
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > limit:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        except (OSError, ValueError):
            return  # not on this system
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
