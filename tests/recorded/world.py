"""A world with fixed contents: an empty home, projects under git, agents that play scripts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests.real_daemon import RealDaemon, real_daemon
from tests.recorded import contents
from tests.recorded.connection import Connection, Json
from tests.recorded.placeholders import Names

PROGRAMS: Final = ("cat", "env", "false", "git", "ls", "python3", "sh", "test", "true")
"""What is on PATH: the same on every machine."""

PROJECTS: Final = (
    *("calc", "error", "gate", "held", "outside", "parked", "probe", "shop", "talk", "tree"),
)
FIXED: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "A Person"),
        ("EMAIL", "a@example.org"),
        ("DATE", contents.DAY),
    )
}
ENVIRONMENT: Final[dict[str, Any]] = {"TZ": "UTC", "LC_ALL": "C.UTF-8", **FIXED}


class World:
    """The daemon, what it is told and what it tells.

    ``names`` says what each id is, ``events`` are all that were told so far, ``answers`` the
    recorded calls of each method with their answers.
    """

    def __init__(self, home: Path, daemon: RealDaemon, follower: Connection) -> None:
        self.home = home
        self.daemon = daemon
        self.names = Names(home, daemon.port)
        self.named(contents.SESSION, "session of shop")
        self.socket = home / "podium.sock"
        self.main = Connection(self.socket)
        self.events: list[Json] = []
        self.notices: list[Json] = []
        self.answers: dict[str, list[Json]] = {}
        self._follower = follower

    def project(self, name: str) -> str:
        """The path of a project."""
        return str(self.home / name)

    def named(self, identifier: str, name: str) -> str:
        """Give an id the name that stands for it in recordings."""
        return self.names.give(identifier, name)

    def record(self, method: str, connection: Connection | None = None, **params: Any) -> Any:
        """Call a method and keep the answer; returns the result, or the error."""
        answer = (connection or self.main).call(method, **params)
        if method == "sessions.locks":  # in no order
            answer["result"].sort(key=lambda row: self.names.recording().text(json.dumps(row)))
        self.keep(method, params, answer)
        return answer.get("result", answer.get("error"))

    def keep(self, method: str, params: Json, answer: Json) -> None:
        """Keep an answer that was had otherwise."""
        self.answers.setdefault(method, []).append({"params": params, **answer})

    def until(
        self, run_id: str, kind: str, fits: Callable[[Json], bool] = lambda data: True
    ) -> Json:
        """Wait until an event of a run has been told, also if it was already; returns its data."""
        at = 0
        while True:
            for event in self.events[at:]:
                if (event["run_id"], event["type"]) == (run_id, kind) and fits(event["data"]):
                    data: Json = event["data"]
                    return data
            at = len(self.events)
            self.listen()

    def listen(self) -> None:
        """Wait for the next event."""
        told = self._follower.next_told()
        assert told["method"] == "event", told
        self.events.append(told["params"])

    def until_stopping(self) -> None:
        """Take what the follower is told to the end."""
        while (told := self._follower.next_told())["method"] == "event":
            self.events.append(told["params"])
        self.notices.append(told)

    def held(self, project: str) -> int:
        """Wait until the agent of a project waits for us; returns what lets it go when closed."""
        return os.open(self.home / project / "held", os.O_WRONLY)


@contextmanager
def world() -> Iterator[World]:
    """The world with its daemon, and nothing done in it yet."""
    # Of one length everywhere: what is shown at 80 columns is folded by it.
    home = Path(tempfile.mkdtemp(prefix="podium-recorded-", dir="/tmp"))
    try:
        furnish(home)
        with lived_in(home) as made:
            yield made
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def lived_in(home: Path) -> Iterator[World]:
    """A home with its daemon."""
    with ExitStack() as stack:
        daemon = stack.enter_context(
            real_daemon(
                home,
                config=contents.SETTINGS.replace("HOME", str(home)),
                PATH=str(home / "bin"),
                **ENVIRONMENT,
            )
        )
        follower = stack.enter_context(Connection(home / "podium.sock"))
        follower.call("events.subscribe", after=0)
        made = World(home, daemon, follower)
        stack.enter_context(made.main)
        stack.callback(_interrupt, made)
        yield made


def _interrupt(made: World) -> None:
    """No agent outlives its world, whatever has failed in it."""
    with suppress(OSError, AssertionError):  # the daemon may be gone
        made.main.call("daemon.shutdown", turns="interrupt")


def put_programs(home: Path) -> None:
    """Make the folder that is on PATH: the same programs on every machine, and stand-ins."""
    programs = home / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None, f"{name} is not on PATH"
        (programs / name).symlink_to(found)
    agent = Path(__file__).with_name("agent.py").read_text()
    recorder = f"#!/bin/sh\ncat {home}/sound.pcm\nexec cat {home}/shop/held\n"
    for name, text in (("claude", f"#!{sys.executable}\n{agent}"), ("recorder", recorder)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)


def furnish(home: Path) -> None:
    """Put the contents into an empty home."""
    put_programs(home)
    (home / "recipes").mkdir()
    for name, text in contents.RECIPES.items():
        (home / "recipes" / f"{name}.toml").write_text(text)
    (home / ".gitconfig").write_text("[user]\nname = A Person\nemail = a@example.org\n")
    (home / "turns.json").write_text(json.dumps({"turns": contents.TURNS}))
    (home / "replies.json").write_text(json.dumps({"replies": contents.REPLIES}))
    (home / "heard.txt").write_text(contents.HEARD)
    (home / "sound.pcm").write_bytes(bytes(32_000))
    for name in PROJECTS:
        _project(home / name)
    (home / "bare").mkdir()
    (home / "broken.toml").write_text(contents.BROKEN_RECIPE)
    recipes = home / "shop" / ".podium" / "recipes"
    recipes.mkdir(parents=True)
    (recipes / "ship.toml").write_text(contents.PROJECT_RECIPE)
    (home / "calc" / "calc.py").write_text(contents.CALC)
    for name in ("calc", "shop"):
        _commit(home / name, "Fill it")
    folder = home / ".claude" / "projects" / str(home / "shop").replace("/", "-")
    folder.mkdir(parents=True)
    text = contents.TRANSCRIPT.replace("HOME", str(home))
    (folder / f"{contents.SESSION}.jsonl").write_text(text)


def _project(path: Path) -> None:
    path.mkdir()
    _git(path, "init", "--quiet", "--initial-branch=main", "--template=")
    (path / "README.md").write_text(f"# {path.name}\n")
    _commit(path, "Begin")
    os.mkfifo(path / "held")


def _commit(path: Path, message: str) -> None:
    _git(path, "add", "--all")
    _git(path, "commit", "--quiet", "--message", message)


def _git(path: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(path.parent), **FIXED}
    subprocess.run(["git", "-C", str(path), *arguments], check=True, env=environment)
