"""How long ``podium status`` takes beside ``python -c pass`` of the same interpreter.

    make bench-client_start     python benchmarks/bench_client_start.py [--rounds N] [--json]

Both are started in turn, so that noise meets both alike. ``status`` is the installed console
script where there is one beside the interpreter, else the same three lines pip would write. The
daemon is a thread that answers at once: what is measured is the client alone. What the
environment's ``.pth`` files cost (editable installs, coverage) is in both and is told apart by a
third contender, ``python -I -S -c pass``. Of the modules that the client must not load at its
start the table names those that it did.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import ROOT, Figure, Result, arguments, interleaved, median_ratio, run

GOAL, AIM = 4.0, 2.5
HEAVY = {"trio", "msgspec", "asyncio", "json", "argparse", "socket", "re", "podiumd"}
BARE, PLAIN, STATUS = "python -I -S -c pass", "python -c pass", "podium status"

ANSWER = {
    "version": "0.1.0",
    "pid": 4711,
    "started_at": "2026-01-01T00:00:00.000Z",
    "socket": "/run/user/1000/podium/podium.sock",
    "gateway": {"enabled": True, "url": "ws://127.0.0.1:8080", "clients": 1},
    "sessions": 1200,
    "runs_active": 2,
    "questions_open": 1,
    "voice": {"state": "off", "model": None},
    "orchestration": {"enabled": True},
    "taken_up": 0,
}
LAUNCHER = "import sys\nfrom podium.__main__ import main\nsys.exit(main())\n"
LOADED = """
import sys
before = set(sys.modules)
from podium.__main__ import main
main(["status"])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def serve(listener: socket.socket) -> None:
    """Answer each connection's first request with the status, until the listener is closed."""
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": ANSWER}).encode() + b"\n"
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.recv(65536)
            client.sendall(answer)


@contextmanager
def served(path: Path) -> Iterator[None]:
    """Something on a socket that answers ``daemon.status``."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(16)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def contenders(scratch: Path) -> dict[str, list[str]]:
    """The command lines, by name."""
    script = Path(sys.executable).parent / "podium"
    if script.exists():
        status = [str(script), "status"]
    else:
        launcher = scratch / "launcher.py"
        launcher.write_text(LAUNCHER)
        status = [sys.executable, str(launcher), "status"]
    return {
        BARE: [sys.executable, "-I", "-S", "-c", "pass"],
        PLAIN: [sys.executable, "-c", "pass"],
        STATUS: status,
    }


def timed(command: list[str], env: dict[str, str]) -> Callable[[], float]:
    """A measurement of one command's wall time in milliseconds."""

    def once() -> float:
        began = time.perf_counter()
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        return (time.perf_counter() - began) * 1000

    return once


def measure(options: argparse.Namespace) -> Result:
    """Measure, and ask once what the client loads."""
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        path = Path(directory) / "podium.sock"
        env = {**os.environ, "PODIUM_SOCKET": str(path), "PYTHONPATH": str(ROOT / "client")}
        with served(path):
            commands = contenders(Path(directory))
            runs = {name: timed(command, env) for name, command in commands.items()}
            times = interleaved(runs, options.rounds)
            shown = subprocess.run(
                [sys.executable, "-c", LOADED], env=env, capture_output=True, check=True
            )
    modules = shown.stderr.decode().split()
    heavy = sorted(HEAVY & set(modules))
    return Result(
        figures=[
            Figure(STATUS, median_ratio(times[STATUS], times[PLAIN]), f"times {PLAIN}", GOAL, AIM),
            Figure("heavy modules it loads", len(heavy), ", ".join(heavy) or "(none)", 0),
        ],
        header=[f"{options.rounds} rounds", "median ms"],
        rows=[[name, statistics.median(taken)] for name, taken in times.items()],
        details={"ms": times, "modules": modules},
    )


if __name__ == "__main__":
    sys.exit(run("client_start", arguments(__doc__, 41).parse_args(), measure))
