"""What is typed at a terminal: every command of the client at least once."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from typing import Final

from tests.patience import HANG_SECONDS
from tests.recorded.contents import SESSION
from tests.recorded.placeholders import ROOT
from tests.recorded.world import ENVIRONMENT, World

COLUMNS: Final = 80

Lines = Sequence[tuple[str, ...]]


class Typed:
    """One command that was typed: its words, what it showed, and its exit code."""

    def __init__(self, words: tuple[str, ...], shown: str, errors: str, code: int) -> None:
        self.words = words
        self.shown = shown
        self.errors = errors
        self.code = code


def environment(world: World) -> dict[str, str]:
    """Of the person who types."""
    return {
        **ENVIRONMENT,
        "HOME": str(world.home),
        "PODIUM_HOME": str(world.home),
        "PATH": str(world.home / "bin"),
        "PYTHONPATH": os.pathsep.join((str(ROOT / "client"), str(ROOT / "daemon"))),
        "PODIUM_RECORDER": str(world.home / "bin" / "recorder"),
        "NO_COLOR": "1",
        "TERM": "dumb",
    }


def into_pipes(world: World, words: tuple[str, ...], said: str = "") -> Typed:
    """Run a command as a script does, with ``said`` on its standard input."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "podium", *words],
        cwd=world.home / "shop",
        env=environment(world),
        input=said,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    return Typed(words, done.stdout, done.stderr, done.returncode)


def at_a_terminal(world: World, words: tuple[str, ...]) -> Typed:
    """Run a command at a terminal of 80 columns where nobody types anything."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, COLUMNS))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "podium", *words],
        cwd=world.home / "shop",
        env=environment(world),
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while piece := _read(master):
        shown += piece
    os.close(master)
    return Typed(words, shown.decode().replace("\r\n", "\n"), "", process.wait(HANG_SECONDS))


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # Linux says so when the last other end is closed
        return b""


def looking(runs: Mapping[str, str], question: str) -> Lines:
    """Commands that change nothing and show no age, which would push other words out: at a
    terminal."""
    return (
        *(("runs", "show", runs[name]) for name in ("finished", "failed", "limited", "talk")),
        ("runs", "log", runs["finished"]),
        ("diff", runs["finished"]),
        ("diff", runs["finished"], "--stat"),
        ("answer", question),
        ("recipe", "list"),
        ("recipe", "show", "note"),
        ("recipe", "show", "name-it"),
        ("recipe", "check", "../broken.toml"),
        ("recipe", "check", "note"),
        ("recipe", "graph", "note"),
        ("recipe", "sim", "note", "--outcomes", "complete,committed"),
        ("recipe", "sim", "note", "--paths"),
        ("recipe", "sim", "note", "--outcomes", "nonsense"),
        ("recipe", "outcome", "note", "write", "README.md"),
        ("orchestration",),
        ("agents",),
        ("agent",),
        ("agent", "try", "scripted"),
        ("agent", "try", "absent"),
        ("devices",),
        ("voice", "status"),
        ("voice", "models"),
        ("config", "path"),
        ("config", "show", "--running"),
        ("service", "status"),
        ("schema", "--typescript"),
        ("completion", "bash"),
        ("completion", "zsh"),
        ("completion", "fish"),
        ("help",),
        ("help", "--all"),
        ("help", "runs", "show"),
        ("nonsense",),
        ("runs", "show", "--nonsense"),
        *((*words, "--help") for words in (("recipe",), ("voice",), ("service",), ("worktree",))),
    )


def aged(runs: Mapping[str, str], question: str) -> Lines:
    """Commands that change nothing: into pipes."""
    return (
        ("status",),
        ("status", "--storage"),
        ("runs",),
        ("runs", "--all"),
        ("questions",),
        ("locks",),
        ("worktree", "list"),
        ("sessions",),
        ("show", SESSION),
        ("prune", "--dry-run"),
        ("attach", runs["finished"]),
        *((*line, "--json") for line in _as_json(runs, question)),
    )


def _as_json(runs: Mapping[str, str], question: str) -> Lines:
    return (
        *(("status",), ("runs",), ("questions",), ("locks",), ("worktree", "list"), ("sessions",)),
        *(("show", SESSION), ("prune", "--dry-run"), ("attach", runs["limited"])),
        *(("runs", "show", runs["finished"]), ("runs", "log", runs["failed"])),
        *(("diff", runs["finished"]), ("answer", question), ("recipe", "list")),
        *(("recipe", "show", "note"), ("recipe", "check", "../broken.toml")),
        *(("recipe", "graph", "note"), ("recipe", "sim", "note", "--paths")),
        *(("recipe", "outcome", "note", "write", "README.md"), ("orchestration",), ("devices",)),
        ("agents",),
        *(("voice", "status"), ("voice", "models"), ("voice", "vocabulary", "--cwd", "../bare")),
        *(("config", "path"), ("config", "show"), ("service", "status"), ("absent",)),
    )


def changing(runs: Mapping[str, str], question: str) -> Lines:
    """Commands that change something, in their order: into pipes."""
    return (
        ("runs", "export", runs["limited"], "--format", "json", "--output", "page.json"),
        ("runs", "export", runs["limited"], "--output", "page.html"),
        ("pause", runs["held"]),
        ("resume", runs["parked"]),
        ("steer", runs["gate"], "Hurry up."),
        ("answer", question, "yes"),
        ("attach", runs["gate"]),
        ("interrupt", runs["talk"]),
        ("cancel", runs["talk"]),
        ("cancel", runs["talk"]),
        ("runs", "rename", runs["talk"], "A title"),
        ("worktree", "merge", runs["tree"]),
        ("worktree", "remove", runs["tree"]),
        ("run",),
        ("run", "absent"),
        ("run", "probe", "--cwd", "../probe"),
        ("run", "note", "--agent", "scripted", "--cwd", "../error", "-p", "task=an error"),
        ("prompt", "Hello", "--agent", "scripted"),
        ("prompt", "Hello", "--agent", "scripted", "--json"),
        ("chat", "--agent", "scripted"),
        ("recipe", "new", "own", "--user"),
        ("recipe", "trust", "--yes"),
        ("orchestration", "off"),
        ("orchestration", "on"),
        ("pair", "--name", "A phone", "--json"),
        ("devices",),
        ("devices", "scope", "A phone", "look"),
        ("devices", "revoke", "A phone"),
        ("pair", "--web", "--scope", "answer", "--json"),
        ("web", "--print"),
        ("web", "setup", "--way", "lan", "--dry-run"),
        ("transcribe", "../sound.pcm", "--format", "pcm16"),
        ("transcribe", "../absent.wav"),
        ("listen", "--seconds", "1"),
        ("voice", "test", "../sound.pcm"),
        ("voice", "install", "absent"),
        ("prune",),
        ("config", "reload"),
        ("rpc", "daemon.ping"),
        ("rpc", "absent"),
        ("mcp",),
        ("service", "install", "--dry-run"),
        ("service", "uninstall", "--dry-run"),
        ("service", "restart"),
        ("service", "logs", "--level", "error"),
        ("up",),
        ("down",),
        ("down",),
        ("status",),
    )


SAID: Final = {"chat": "Hello\nexit\n"}
"""What is said on standard input to a command."""

NOT_TYPED: Final = {"doctor": "it tells of the machine that it runs on"}


def type_all(world: World, runs: Mapping[str, str]) -> list[Typed]:
    """Type every command; returns what they showed."""
    [question] = world.main.call("questions.list")["result"]
    given = runs, question["question_id"]
    others = (*aged(*given), *changing(*given))
    return [
        *(at_a_terminal(world, words) for words in looking(*given)),
        *(into_pipes(world, words, SAID.get(words[0], "")) for words in others),
    ]
