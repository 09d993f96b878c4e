"""A person's home with service managers that note how they are called, and the client in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from podiumd.service.daemon_link import DaemonLink
from tests.client.processes import Piped
from tests.patience import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[2]

NOTE = """#!{python}
import json, os, sys
with open(os.path.join(os.environ["HOME"], ".stand-in", "calls"), "a") as calls:
    calls.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
{more}
"""


class Person:
    """One home: ``HOME``, a runtime directory, programs of its own in front on PATH."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.programs = root / "bin"
        self.runtime = root / "run"
        for path in (self.home / ".stand-in", self.programs, self.runtime):
            path.mkdir(parents=True, mode=0o700)
        systemctl = self.programs / "systemctl"
        systemctl.symlink_to(Path(__file__).with_name("stand_in_systemctl.py"))
        self.program("systemctl", f'#!/bin/sh\nexec {sys.executable} {systemctl.resolve()} "$@"\n')
        self.noting("loginctl", 'print("no")')
        self.configure("[gateway]\nport = 0\n")

    def program(self, name: str, text: str) -> None:
        """Put a program on PATH."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def noting(self, name: str, more: str) -> None:
        """Put a program on PATH that notes how it is called, and then runs ``more``."""
        self.program(name, NOTE.format(python=sys.executable, more=more))

    def configure(self, text: str) -> None:
        path = self.home / ".config" / "podium" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def socket(self) -> Path:
        return self.runtime / "podium" / "podium.sock"

    @property
    def units(self) -> Path:
        return self.home / ".config" / "systemd" / "user"

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.runtime),
            "LANG": "C.UTF-8",
            "USER": "person",
        } | more

    def podium(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the client."""
        with Piped(words, self.environment(**more), directory=self.home) as client:
            out, err = client.communicate()
        return subprocess.CompletedProcess(words, client.wait(), out, err)

    @property
    def calls(self) -> list[list[str]]:
        """How the service managers were called, less what only asks."""
        path = self.home / ".stand-in" / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        made: list[list[str]] = [json.loads(line) for line in lines]
        asking = ("show", "print")
        return [
            call
            for call in made
            if call[0] != "loginctl" and not any(one in call for one in asking)
        ]

    def forget_calls(self) -> None:
        (self.home / ".stand-in" / "calls").write_text("")

    def files(self) -> dict[str, str]:
        """Every file of the home but what the daemon itself keeps, with its text and mode."""
        ours = (".stand-in", ".local/state")
        return {
            name: f"{path.stat().st_mode & 0o777:03o} {path.read_text()}"
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not (name := str(path.relative_to(self.home))).startswith(ours)
        }

    def status(self) -> dict[str, Any]:
        """What the daemon says of itself."""
        with DaemonLink(self.socket, HANG_SECONDS) as link:
            answer: dict[str, Any] = link.call("daemon.status")
            return answer

    def living(self) -> list[str]:
        """The command lines of all processes of this home."""
        entry = f"HOME={self.home}".encode()
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and entry in (process / "environ").read_bytes().split(
                    b"\0"
                ):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # gone meanwhile
        return found

    def log(self) -> str:
        path = self.home / ".stand-in" / "daemon.log"
        return path.read_text() if path.exists() else ""


@contextmanager
def person(root: Path) -> Iterator[Person]:
    """A home whose daemon is gone at the end, and with it every process."""
    made = Person(root)
    yield made
    made.podium("down")
    left = made.living()
    if left:
        os.write(2, made.log().encode())
    assert left == []
