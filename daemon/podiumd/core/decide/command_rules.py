"""Rules that allow commands by how they begin: which one a person may be offered, what it covers.

A rule is written as agents write theirs, ``Bash(git diff:*)``, and whose tool it is matches it.
Where that is Podium, a command is taken apart first: as text ``git diff; rm -rf ~`` begins so too.
Programs have ever more options with which they run another one or write a file, so a person is only
offered a rule for programs that are known here, and such a rule covers the options that are known
to do neither. What is not known is not covered: it is asked about.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final

import msgspec

OWN_TOOL: Final = "run_command"
COMMAND_TOOLS: Final = frozenset({"Bash", OWN_TOOL})
MOST_CHARACTERS: Final = 80
"""Characters of the words that a rule is offered for: a person has to read them at a glance."""

_SHELL: Final = frozenset(";&|<>$`(){}\n\r\\!#")
"""Characters with which a command line may do more than the words it begins with say."""
_GLOB: Final = frozenset("*?[~")
_WORD: Final = re.compile(r"[a-z][a-z0-9_:-]*")
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_.+-]+")

# Options with which a program runs another one, or writes to a given place.
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
"""Programs that run anything that their arguments name: their name alone narrows nothing."""

_RUNNING: Final = frozenset({"bisect", "config", "filter-branch", "rebase", "submodule"})
"""Second words of git after which it runs what it is given."""


_ANY: Final = None
"""All options: the program has none with which it runs another one, or writes."""

_OF_DIFFS: Final = """
--cached --staged --stat --shortstat --numstat --summary --name-only --name-status --raw --patch
--no-patch --word-diff --color --no-color --diff-filter --minimal --histogram --patience --check
--exit-code --quiet --unified -p -u -s -w -b -R -z -M -C --
"""
_OF_LOGS: Final = """
--oneline --graph --decorate --all --since --until --after --before --author --grep -n --max-count
--format --pretty --follow --no-merges --merges --reverse --abbrev-commit --date -i --first-parent
"""
_READERS: Final = "basename cat cmp df dirname du grep head ls pwd realpath stat wc"
_OF_RUNNERS: Final = frozenset({"-q", "-v", "-vv", "-x", "--quiet", "--verbose", "--release"})

_DIFFS: Final = frozenset(_OF_DIFFS.split())
_READING: Final = frozenset(_READERS.split())
_KNOWN: Final[dict[str, frozenset[str] | None]] = {
    "git diff": _DIFFS,
    "git log": _DIFFS | frozenset(_OF_LOGS.split()),
    "git show": _DIFFS | frozenset(_OF_LOGS.split()),
    "git status": frozenset({"-s", "--short", "--porcelain", "-b", "--branch", "--ignored", "-z"}),
    "git blame": frozenset({"-L", "-w", "-M", "-C", "--date", "-s", "-e", "--"}),
    **dict.fromkeys(_READING, _ANY),
    **dict.fromkeys(
        (
            *("cargo build", "cargo check", "cargo test", "dotnet test", "go build", "go test"),
            *("go vet", "gradle test", "mvn test", "npm test", "pnpm test", "yarn test"),
        ),
        _OF_RUNNERS,
    ),
}
"""Commands that Podium's own agent may be allowed by how they begin, with the options that are
covered. The last of them run what the project defines, and nothing that is in their line."""
_NUMBER: Final = re.compile(r"-(?:[nU]?\d+)")


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
    begins = _known_beginning(words) if tool == OWN_TOOL else _beginning(words)
    if not begins or len(begins) > MOST_CHARACTERS or not covers(begins, command):
        return None
    return CommandRule(text=f"{tool}({begins}:*)", begins=begins)


def covers(begins: str, command: str) -> bool:
    """Return whether a rule's words cover a command.

    The command must be one simple command that begins with these words and does no more. After
    words that are known here only options pass that are known, too. After others, which the author
    of a recipe chose, all do but those that everywhere mean another program or a file to write.
    """
    wanted, words = simple_words(begins), simple_words(command)
    if not wanted or not words or words[: len(wanted)] != wanted:
        return False
    rest = words[len(wanted) :]
    if _known_beginning(wanted) != " ".join(wanted):
        return not any(map(_leads_elsewhere, rest))
    options = _options(wanted)
    return options is _ANY or all(_passes(word, options) for word in rest)


def only_reads(command: str) -> bool:
    """Return whether a command is one simple command of a program that is known to read alone."""
    words = simple_words(command)
    return bool(words) and words[0] in _READING


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


def _beginning(words: list[str]) -> str:
    """Return the words by which an agent with rules of its own may be allowed such a command."""
    if not words or words[0] in _ANYTHING or not _PROGRAM.fullmatch(words[0]):
        return ""
    size = 1
    if words[0] in _OF_SEVERAL:
        size = 3 if words[1:2] and words[1] in _NAMED else 2
        if len(words) < size or not all(map(_WORD.fullmatch, words[1:size])):
            return ""
        if words[0] == "git" and words[1] in _RUNNING:
            return ""
    return " ".join(words[:size])


def _known_beginning(words: list[str]) -> str:
    """Return the words by which Podium's agent may be allowed such a command; empty for others."""
    for size in (2, 1):
        begins = " ".join(words[:size])
        if len(words) >= size and begins in _KNOWN:
            return begins
    if len(words) > 1 and words[0] == "make" and _WORD.fullmatch(words[1]):
        return " ".join(words[:2])
    return words[0] if words and words[0] in ("pytest", "tox") else ""


def _options(begins: list[str]) -> frozenset[str] | None:
    return _KNOWN.get(" ".join(begins), _OF_RUNNERS)


def _passes(word: str, options: frozenset[str]) -> bool:
    if not word.startswith("-"):
        return options is not _OF_RUNNERS or "=" not in word  # make SHELL=...
    return word.partition("=")[0] in options or _NUMBER.fullmatch(word) is not None


def _leads_elsewhere(word: str) -> bool:
    if word.startswith("--"):
        # Programs take a long option's beginning for the whole of it.
        name = word.partition("=")[0]
        return len(name) > 2 and any(option.startswith(name) for option in _LONG)
    return word.startswith(_SHORT)
