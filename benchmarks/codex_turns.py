"""Five turns of one conversation with Codex, in three ways: what ``bench_agents`` compares.

``shell``: ``codex exec`` and then ``codex exec resume``, one program after the other, as a shell
loop does. ``podium``: one recipe in one session. ``bare``: five app-servers one after the other,
with no more lines than a turn needs: what no conductor of processes can do without.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import shutil
import signal
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Final

import trio

from benchmarks.measure import CACHE, CannotMeasure
from benchmarks.ping_pong import ping_pong
from tests.codex.machine import CodexMachine
from tests.e2e import install_codex
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo

Json = dict[str, Any]

TURNS: Final = 5
_TURN_SECONDS: Final = 60.0
_LAUNCHER: Final = (
    "KhzYlkKPxoNssR8CEm45IjqnFWn7UtlF4CiD3tOJPea51xBs7MaHy0UQG9GSbCqk6Lrjn5QdJDV0QD1/FgWlGw=="
)
"""The SHA-512 of the package of npm's launcher."""

_PROMPTS: Final = ("Ping.", "Pong.", "Ping.", "Pong.", "Ping.")


def launcher(native: Path) -> Path:
    """Return npm's launcher, the program that most people have: it starts that binary.

    Raises ``CannotMeasure``.
    """
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise CannotMeasure("npm's launcher of codex needs npm and Node: install both")
    root = CACHE / f"codex-launcher-{install_codex.VERSION}"
    program = root / "package" / "bin" / "codex.js"
    if not program.exists():
        root.mkdir(parents=True, exist_ok=True)
        wanted = f"{install_codex.PACKAGE}@{install_codex.VERSION}"
        fetch = [npm, "pack", wanted, "--pack-destination", str(root), "--ignore-scripts"]
        subprocess.run(fetch, check=True, capture_output=True)
        (brought,) = root.glob("*.tgz")
        if base64.b64encode(hashlib.sha512(brought.read_bytes()).digest()).decode() != _LAUNCHER:
            raise CannotMeasure(f"{wanted} is another than expected: {brought}")
        with tarfile.open(brought) as archive:
            archive.extractall(root, filter="data")
        brought.unlink()
    build = install_codex.build_for(platform.system(), platform.machine())
    vendored = root / "package" / "vendor" / build.folder
    vendored.parent.mkdir(exist_ok=True)
    if not vendored.exists():
        vendored.symlink_to(native.parents[1])
    return program


class Turns:
    """Five turns with one program, each time in a conversation of its own."""

    def __init__(self, daemon: PodiumDaemon, machine: CodexMachine, repo: GitRepo) -> None:
        self._daemon = daemon
        self._machine = machine
        self._repo = repo
        self._recipe = machine.recipe("ping-pong", ping_pong(TURNS))

    async def podium(self) -> None:
        """Play the recipe."""
        asked = {"recipe": self._recipe, "working_directory": str(self._repo.path)}
        started = await self._daemon.rpc("runs.start", **asked, agent="codex")
        async with self._daemon.follow(started["run_id"]) as feed:
            with trio.fail_after(TURNS * _TURN_SECONDS):
                done = await feed.end()
        if done["turns"] != TURNS:
            raise CannotMeasure(f"{done['turns']} turns were played, not {TURNS}: {done['exit']}")

    async def shell(self) -> None:
        """Run one program after the other."""
        for number, prompt in enumerate(_PROMPTS):
            resume = ("resume", "--last") if number else ()
            await self._run(["exec", *resume, prompt])

    async def _run(self, arguments: list[str]) -> None:
        with trio.fail_after(_TURN_SECONDS):
            await trio.run_process(
                [str(self._machine.claude), *arguments],
                cwd=self._repo.path,
                env=self._machine.environment(),
                stdin=subprocess.DEVNULL,
                capture_stdout=True,
                capture_stderr=True,
            )

    async def bare(self) -> None:
        """Play five turns with nothing but an app-server each."""
        await trio.to_thread.run_sync(self._bare)

    def _bare(self) -> None:
        thread = ""
        for prompt in _PROMPTS:
            with subprocess.Popen(
                [str(self._machine.claude), "app-server"],
                cwd=self._repo.path,
                env=self._machine.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            ) as process:
                thread = _converse(process, thread, prompt)
                process.send_signal(signal.SIGTERM)


def _converse(process: subprocess.Popen[bytes], thread: str, prompt: str) -> str:
    """Open a thread, or go on with it, and play one turn; return the thread's id."""
    assert process.stdin is not None and process.stdout is not None
    about = {"clientInfo": {"name": "bench", "title": "Bench", "version": "0"}}
    opening = ("thread/resume", {"threadId": thread}) if thread else ("thread/start", {})
    _write(
        process,
        {"id": 0, "method": "initialize", "params": about},
        {"method": "initialized"},
        {"id": 1, "method": opening[0], "params": opening[1]},
    )
    for line in process.stdout:
        said: Json = json.loads(line)
        if said.get("id") == 1:
            thread = str(said["result"]["thread"]["id"])
            words = [{"type": "text", "text": prompt}]
            turn = {"threadId": thread, "input": words}
            _write(process, {"id": 2, "method": "turn/start", "params": turn})
        elif said.get("method") == "turn/completed":
            if said["params"]["turn"]["status"] != "completed":
                raise CannotMeasure(f"a bare turn of codex failed: {line!r}")
            return thread
    raise CannotMeasure("codex ended in the middle of a bare turn")


def _write(process: subprocess.Popen[bytes], *lines: Json) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    process.stdin.flush()
