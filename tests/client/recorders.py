"""Programs that stand in for recorders: they play a clip, and go on with silence."""

from __future__ import annotations

import math
import stat
import struct
import sys
from pathlib import Path

SECOND = 32_000
"""Bytes of a second of sound."""

RECORDER = """\
#!{python}
import signal, sys, time
out = sys.stdout.buffer
signal.signal(signal.SIGINT, lambda *_: sys.exit({code}))
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv) + "\\n")
sys.stderr.write({complaint!r})
with open({clip!r}, "rb") as clip:
    out.write(clip.read())
    out.flush()
if {ends!r}:
    sys.exit({code})
signal.pause()
"""


def tone(seconds: float, hertz: float = 440.0) -> bytes:
    """A sound."""
    count = round(seconds * 16_000)
    samples = (round(9000 * math.sin(2 * math.pi * hertz * n / 16_000)) for n in range(count))
    return struct.pack(f"<{count}h", *samples)


class Recorders:
    """A directory with fake recorders, to stand first and alone on PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "started"

    def add(
        self, name: str, clip: bytes, *, ends: bool = False, complaint: str = "", code: int = 0
    ) -> Path:
        """A recorder that plays this, and then listens to silence or ends."""
        sound = self.directory / f"{name}.sound"
        sound.write_bytes(clip)
        program = self.directory / name
        program.write_text(
            RECORDER.format(
                python=sys.executable,
                log=str(self.log),
                clip=str(sound),
                complaint=complaint,
                ends=ends,
                code=code,
            )
        )
        program.chmod(stat.S_IRWXU)
        return program

    @property
    def started(self) -> list[str]:
        """The programs that were started, in order, by name."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [Path(line.split()[0]).name for line in lines]

    @property
    def environment(self) -> dict[str, str]:
        """Where only these recorders are found."""
        return {"PATH": str(self.directory)}
