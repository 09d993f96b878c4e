"""Rules that allow commands by how they begin: which one a person may be offered, what it covers.

A rule is written as agents write theirs, ``Bash(git diff:*)``. Compared as text it would cover
``git diff; rm -rf ~`` too, so a command is taken apart first, and one that may do more than its
first words say is not covered. What is not understood is not covered either: it is asked about.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final

import msgspec

COMMAND_TOOLS: Final = frozenset({"Bash", "run_command"})
MOST_CHARACTERS: Final = 80
"""Of the words that a rule is offered for: a person has to read them at a glance."""

_SHELL: Final = frozenset(";&|<>$`(){}\n\r\\!#")
"""Characters with which a command line may do more than the words it begins with say."""
_GLOB: Final = frozenset("*?[~")
_WORD: Final = re.compile(r"[a-z][a-z0-9_:-]*")
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_.+-]+")

# Options with which a program runs another one, or writes where it is told.
_SHORT: Final = ("-c", "-o", "-exec", "-ok")
_LONG: Final = ("--output", "--ext-diff", "--exec", "--config", "--upload-pack", "--receive-pack")

_PROGRAMS: Final = """
apt aws brew bundle bun cargo composer conda deno docker dotnet flutter gh git go gradle helm hg jj
just kubectl make mix mvn npm pip pip3 pipx pnpm podium podman poetry rails rake rustup sbt svn
swift systemctl task terraform tox uv yarn
"""
_OF_SEVERAL: Final = frozenset(_PROGRAMS.split())
"""Programs whose second word says what they do."""

_NAMED: Final = frozenset({"compose", "exec", "pr", "run", "run-script", "stash", "worktree"})
"""Second words that say it together with a third."""

_WRAPPERS: Final = """
ash at awk bash busybox bunx chroot crontab csh dash doas ed emacs env eval exec expect find fish
gawk gdb ksh less lua man nice node nohup npx osascript parallel perl php powershell pwsh pypy3
python python3 rsync ruby screen script sed setsid sh source ssh stdbuf strace su sudo tar tclsh
time timeout tmux vi vim watch wish xargs zsh
"""
_ANYTHING: Final = frozenset(_WRAPPERS.split())
"""Programs that run whatever their arguments say: their name alone narrows nothing."""

_RUNNING: Final = frozenset({"bisect", "config", "filter-branch", "rebase", "submodule"})
"""Second words of git after which it runs what it is told."""


class CommandRule(msgspec.Struct, frozen=True):
    """A rule for the commands that begin with some words. ``text`` is the rule as agents read it,
    ``begins`` the words as people do."""

    text: str
    begins: str


def offered(tool: str, given: dict[str, Any]) -> CommandRule | None:
    """Propose the rule for commands like the one that a tool is called with.

    ``None`` where it is no command, where it is more than one, and where its beginning would say
    too little about what may follow.
    """
    command = given.get("command")
    if tool not in COMMAND_TOOLS or not isinstance(command, str):
        return None
    words = simple_words(command)
    if not words or words[0] in _ANYTHING or not _PROGRAM.fullmatch(words[0]):
        return None
    if any(map(_leads_elsewhere, words[1:])):
        return None
    size = 1
    if words[0] in _OF_SEVERAL:
        size = 3 if words[1:2] and words[1] in _NAMED else 2
        if len(words) < size or not all(map(_WORD.fullmatch, words[1:size])):
            return None
        if words[0] == "git" and words[1] in _RUNNING:
            return None
    begins = " ".join(words[:size])
    if len(begins) > MOST_CHARACTERS:
        return None
    return CommandRule(text=f"{tool}({begins}:*)", begins=begins)


def covers(begins: str, command: str) -> bool:
    """Whether a command is one simple command that begins with these words, and has no option
    after them by which it would run another program or write elsewhere."""
    wanted, words = simple_words(begins), simple_words(command)
    if not wanted or not words or words[: len(wanted)] != wanted:
        return False
    return not any(map(_leads_elsewhere, words[len(wanted) :]))


def simple_words(command: str) -> list[str]:
    """Take one simple command apart; empty where it is none, or needs a shell to be read."""
    if _SHELL & set(command):
        return []
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    if not words or "=" in words[0] or _GLOB & set(words[0]):
        return []
    return words


def _leads_elsewhere(word: str) -> bool:
    if word.startswith("--"):
        # Programs take a long option's beginning for the whole of it.
        name = word.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in _LONG)
    return word.startswith(_SHORT)
