"""How long ``podium status`` takes beside ``python -c pass`` of the same interpreter.

    python benchmarks/client_start.py [--rounds N] [--json]

Both are started in turn, so that noise meets both alike; medians are compared. ``status`` is the
installed console script where there is one beside the interpreter, else the same three lines pip
would write. The daemon is a thread that answers at once: what is measured is the client alone.
What the environment's ``.pth`` files cost (editable installs, coverage) is in both and is told
apart by a third contender, ``python -I -S -c pass``. Exits 1 over the bound.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOUND = 4.0
FORBIDDEN = {"trio", "msgspec", "asyncio", "json", "argparse", "socket", "re", "podiumd"}

STATUS = {
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
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": STATUS}).encode() + b"\n"
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.recv(65536)
            client.sendall(answer)


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
        "python -I -S -c pass": [sys.executable, "-I", "-S", "-c", "pass"],
        "python -c pass": [sys.executable, "-c", "pass"],
        "podium status": status,
    }


def measure(commands: dict[str, list[str]], env: dict[str, str], rounds: int) -> dict[str, float]:
    """Median wall time of each command in milliseconds, started in turn; two rounds warm up."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 2):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
            if number >= 2:
                times[name].append((time.perf_counter() - began) * 1000)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podium-bench-") as directory:
        path = Path(directory) / "podium.sock"
        env = {**os.environ, "PODIUM_SOCKET": str(path), "PYTHONPATH": str(ROOT / "client")}
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(16)
            thread = threading.Thread(target=serve, args=(listener,))
            thread.start()
            try:
                medians = measure(contenders(Path(directory)), env, options.rounds)
                shown = subprocess.run(
                    [sys.executable, "-c", LOADED], env=env, capture_output=True, check=True
                )
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()
    modules = shown.stderr.decode().split()
    ratio = medians["podium status"] / medians["python -c pass"]
    heavy = sorted(FORBIDDEN & set(modules))
    if options.json:
        print(json.dumps({"ms": medians, "ratio": ratio, "modules": modules}))
    else:
        for name, median in medians.items():
            print(f"{name:<22} {median:7.2f} ms")
        print(f"ratio {ratio:.2f} (at most {BOUND:g}); loads {len(modules)} modules")
    if heavy:
        print(f"podium status loads {', '.join(heavy)}", file=sys.stderr)
    return 1 if heavy or ratio > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
