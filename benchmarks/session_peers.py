"""What the index of sessions is measured against, each reading the same tree with a warm cache."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.measure import CACHE, ROOT, CannotMeasure
from benchmarks.session_tree import Tree

CCUSAGE = "ccusage@20.0.24"
"""Pinned: one that comes with its native program, which is what is run."""

PATH = "/usr/local/bin:/usr/bin:/bin"

_MACHINES = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}


class Line(msgspec.Struct, gc=False):
    """What a reader of a transcript has to know of a line; its content stays as bytes."""

    type: str = ""
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 (the agent's name for it)
    timestamp: str = ""
    isSidechain: bool = False  # noqa: N815
    isMeta: bool = False  # noqa: N815
    message: msgspec.Raw = msgspec.Raw()


TYPED = msgspec.json.Decoder(Line)
UNTYPED = msgspec.json.Decoder()


class Ran(NamedTuple):
    """One process: its whole time from outside, and what it said of itself."""

    wall: float
    said: dict[str, Any]

    @property
    def seconds(self) -> float:
        """What it took by its own clock, without its start."""
        return float(self.said["seconds"])


def spent(command: Sequence[str | Path], **more: Any) -> tuple[float, bytes]:
    """Run a program; returns its whole time in seconds and what it printed.

    Raises ``CannotMeasure`` with its last words where it fails.
    """
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False, timeout=600, **more)
    wall = time.perf_counter() - began
    if done.returncode:
        said = done.stderr.decode(errors="replace")[-1000:]
        raise CannotMeasure(f"{command[0]} ended with {done.returncode}: {said}")
    return wall, done.stdout


def python(script: str, *arguments: str | Path) -> Ran:
    """Run one of the scripts beside this one, which print one JSON object."""
    environment = {"PATH": PATH, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT / "daemon")}
    command = [sys.executable, ROOT / "benchmarks" / script, *arguments]
    wall, printed = spent(command, env=environment)
    return Ran(wall, json.loads(printed))


def wc(tree: Tree) -> float:
    """Count the lines of all transcripts with one ``wc -l``; returns seconds, whole process."""
    paths = [session.path for session in tree.manifest.sessions]
    wall, printed = spent(["wc", "-l", *paths], cwd=tree.home, env={"PATH": PATH, "LC_ALL": "C"})
    total = int(printed.splitlines()[-1].split()[0])
    if total != sum(session.lines for session in tree.manifest.sessions):
        raise CannotMeasure(f"wc counts {total} lines, the manifest has another number")
    return wall


def install_ccusage() -> Path:
    """Install the pinned ``ccusage`` from the package registry; returns its native program."""
    if shutil.which("npm") is None:
        raise CannotMeasure("npm is not on PATH: install Node.js")
    home = CACHE / CCUSAGE
    system = f"{platform.system().lower()}-{_MACHINES.get(platform.machine(), 'unknown')}"
    program = home / "node_modules" / "@ccusage" / f"ccusage-{system}" / "bin" / "ccusage"
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund"]
        subprocess.run(["npm", "install", *quiet, "--prefix", str(home), CCUSAGE], check=True)
    if not program.exists():
        raise CannotMeasure(f"{CCUSAGE} came without its native program for {system}")
    program.chmod(0o755)  # its JavaScript launcher does the same at its first start
    return program


def ccusage(program: Path, tree: Tree, home: Path) -> float:
    """Let it report the tree by day; returns seconds, whole process.

    Parameters: ``home`` is an empty directory that it takes for the person's.
    """
    environment = {"PATH": PATH, "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(home)}
    environment["CLAUDE_CONFIG_DIR"] = str(tree.home)
    wall, printed = spent([program, "daily", "--json", "--offline"], env=environment, cwd=home)
    if not json.loads(printed)["totals"]["totalTokens"]:
        raise CannotMeasure(f"{CCUSAGE} found no sessions in {tree.home}")
    return wall


def read_and_decode(path: Path, decoder: msgspec.json.Decoder[Any]) -> float:
    """Read one transcript's bytes and decode every line; returns seconds."""
    began = time.perf_counter()
    descriptor = os.open(path, os.O_RDONLY)
    data = os.read(descriptor, os.fstat(descriptor).st_size)
    lines = decoder.decode_lines(data)
    seconds = time.perf_counter() - began
    os.close(descriptor)
    if not lines:
        raise CannotMeasure(f"{path} is empty")
    return seconds
