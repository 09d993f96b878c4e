"""Risks of leave for a call: one spoken word is enough, or it must be read back and confirmed.

Nothing here forbids anything. A call that cannot be taken back, reaches out of the project or
cannot be read through takes two words instead of one, so where the words of a call leave a doubt,
the answer is that there is a risk.

A shell command is cut into its simple commands, and each looked at: which program, which of its
commands, which paths. A part that cannot be seen through (substitutions, shells, code given inline,
variables) is a danger of its own.

Whether a path leads out of the working tree is said by its text alone. Links are not followed:
nothing here looks at a disk.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Final, Literal

_HARMLESS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_KEPT: Final = (".git", ".podium")
"""Directories at a tree's top that are not the project's own files."""


def outside(word: str, tree: str) -> bool:
    """Return whether a word names a place outside of the ``tree`` (an absolute path).

    Git's own or Podium's own files in it count as outside. A word that is no path names nothing
    outside.
    """
    word = word.strip()
    if word in _HARMLESS:
        return False
    if word.startswith("~") or word.casefold().startswith("file:"):
        return True
    inner = inside(word, tree)
    return inner is None or inner[:1] in [(name,) for name in _KEPT]


def inside(path: str, tree: str) -> tuple[str, ...] | None:
    """Return a path's segments below the tree; ``None``: it is not in there."""
    top = _segments(tree)
    base: list[str] = [] if path.startswith("/") else list(top)
    for segment in path.split("/"):
        if segment == "..":
            base = base[:-1]
        elif segment not in ("", "."):
            base.append(segment)
    return tuple(base[len(top) :]) if tuple(base[: len(top)]) == top else None


def _segments(path: str) -> tuple[str, ...]:
    return tuple(segment for segment in path.split("/") if segment not in ("", "."))


Danger = Literal["destructive", "outside", "opaque"]

_SEPARATORS: Final = "();<>|&\n"
_HIDDEN = re.compile(
    r"[`${\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
"""Substitutions, variables and braces that expand, and what a screen does not show."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"[0-9.]+[smhd]?")
_INLINE = re.compile(r"-[A-Za-z]*[ceEpr][A-Za-z]*|-|--(eval|print|execute)\b.*|eval")
_PARTS = re.compile(r"[:_\-./]")

_PROGRAM_PLACES: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
_WRAPPERS: Final = frozenset(
    {"time", "nohup", "command", "exec", "builtin", "env", "nice", "ionice", "timeout", "stdbuf"}
    | {"setsid", "caffeinate", "then", "do", "else", "elif", "if", "while", "until", "!"}
)
_OPAQUE: Final = frozenset(
    {"sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "eval", "source", ".", "xargs"}
    | {"parallel", "watch", "script", "expect", "osascript", "psql", "mysql", "sqlite3", "mongo"}
    | {"mongosh", "redis-cli", "tmux", "screen", "at", "batch", "trap", "alias", "export", "set"}
)
_INTERPRETERS: Final = frozenset(
    {"python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "awk"}
)
_ELSEWHERE: Final = frozenset(
    {"ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet", "ftp", "socat"}
)
_DESTRUCTIVE: Final = frozenset(
    {"rm", "rmdir", "unlink", "shred", "dd", "fdisk", "parted", "wipefs", "truncate", "chown"}
    | {"chmod", "chgrp", "kill", "killall", "pkill", "shutdown", "reboot", "halt", "poweroff"}
    | {"sudo", "doas", "su", "crontab", "systemctl", "launchctl", "service", "iptables", "mount"}
    | {"umount", "dropdb", "dropuser", "diskutil", "defaults", "passwd", "useradd", "userdel"}
)
_READERS: Final = frozenset(
    {"grep", "rg", "egrep", "fgrep", "cat", "head", "tail", "less", "wc", "ls", "tree", "echo"}
    | {"printf", "diff", "sort", "uniq", "cut", "file", "stat", "du", "pwd", "which", "true"}
    | {"[", "[[", "test", "sed"}
)
_WORDS: Final = frozenset(
    {"deploy", "publish", "unpublish", "release", "destroy", "delete", "drop", "purge", "prune"}
    | {"wipe", "reset", "uninstall", "remove", "rm", "rollback", "push", "upload", "apply", "yank"}
    | {"erase", "truncate", "revoke", "terminate", "kill", "merge", "migrate", "flush", "clean"}
    | {"--force", "-f", "--hard", "--delete", "-delete", "--prune", "--no-verify", "-exec"}
    | {"-execdir", "-ok", "-okdir", "--overwrite", "--yes", "-y", "--privileged", "--purge"}
)
_SENDING: Final = frozenset(
    {"-X", "--request", "-d", "--data", "--data-raw", "--data-binary", "--json", "-F", "--form"}
    | {"-T", "--upload-file", "--post-data", "--post-file", "--method"}
)
_GIT_HARMLESS: Final = frozenset(
    {"status", "diff", "log", "show", "add", "commit", "fetch", "branch", "ls-files", "blame"}
    | {"grep", "rev-parse", "describe", "shortlog", "ls-tree", "cat-file", "switch", "init"}
)
_GIT_CHANGING: Final = {
    "commit": frozenset({"--amend"}),
    "branch": frozenset({"-d", "-D", "-m", "-M", "--delete", "--move"}),
    "switch": frozenset({"-C", "--discard-changes"}),
}
_READ_ONLY: Final = frozenset(
    {"get", "describe", "logs", "list", "ls", "show", "status", "plan", "view", "diff", "version"}
    | {"ps", "images", "inspect", "info", "search", "build", "help", "--help", "--version"}
)
_REMOTE: Final = frozenset(
    {"docker", "podman", "kubectl", "helm", "terraform", "tofu", "aws", "gcloud", "az", "gh"}
    | {"glab", "heroku", "vercel", "fly", "flyctl", "netlify", "ansible", "ansible-playbook"}
    | {"pulumi", "wrangler", "firebase", "doctl", "twine"}
)


def dangers(command: str, tree: str) -> set[Danger]:
    """Return the dangers that a command's words show.

    ``tree`` is where it runs, an absolute path.
    """
    found: set[Danger] = set()
    if _HIDDEN.search(command):
        found.add("opaque")
    try:
        words = _words(command)
    except ValueError:  # a quote that is never closed
        return {"opaque"}
    for simple in _simple_commands(words):
        found |= _of_one(simple, tree)
    return found


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _simple_commands(words: list[str]) -> list[list[str]]:
    """Split the words into simple commands at the separators. A redirection becomes a command ``>``
    of its own, whose first word is the file; what a shell would read from elsewhere becomes an
    ``eval``."""
    found: list[list[str]] = [[]]
    for word in words:
        if not set(word) <= set(_SEPARATORS):
            found[-1].append(word)
        elif "<<" in word or word in ("<(", ">("):
            found.append(["eval"])
        else:
            found.append([">"] if {"<", ">"} & set(word) else [])
    return [one for one in found if one]


def _of_one(words: list[str], tree: str) -> set[Danger]:
    found: set[Danger] = set()
    while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
        found |= _paths(words[:1], tree)
        words = words[2:] if _DURATION.fullmatch("".join(words[1:2])) else words[1:]
    if not words:
        return found
    program, rest = words[0], words[1:]
    if program.startswith("-") or {"*", "?", "["} & set(program.removeprefix("[")):
        found.add("opaque")  # a wrapper's own option, or a program that only a shell can name
    if "/" in program and not program.startswith(_PROGRAM_PLACES):
        found |= _paths([program], tree)
    return found | _of_program(program.rpartition("/")[2], rest) | _paths(rest, tree)


def _of_program(program: str, rest: list[str]) -> set[Danger]:
    found: set[Danger] = set()
    if program in _OPAQUE or _is_inline(program, rest):
        found.add("opaque")
    if program in _ELSEWHERE:
        found.add("outside")
    if _is_destructive(program, rest):
        found.add("destructive")
    return found


def _is_inline(program: str, rest: list[str]) -> bool:
    """Return whether an interpreter gets its program in the command, from elsewhere or on its
    input."""
    if program.rstrip("0123456789.") not in _INTERPRETERS:
        return False
    for word in rest:
        if word == "-m":
            return False
        if _INLINE.fullmatch(word) or "://" in word:
            return True
        if not word.startswith("-"):
            return program == "awk"
    return True


def _is_destructive(program: str, rest: list[str]) -> bool:
    if program in _DESTRUCTIVE or program.startswith("mkfs"):
        return True
    if program == "git":
        return _is_destructive_git(rest)
    if program in _REMOTE:
        asked = rest[1:2] if program in ("gh", "aws") else rest[:1]
        return not set(asked) & _READ_ONLY
    if program in ("curl", "wget"):
        return any(word.partition("=")[0] in _SENDING for word in rest)
    return program not in _READERS and any(_dangerous(word) for word in [program, *rest])


def _dangerous(word: str) -> bool:
    """Return whether a word, or a part of one like ``db:drop``, means what cannot be taken back."""
    return word in _WORDS or not _WORDS.isdisjoint(_PARTS.split(word.casefold()))


def _is_destructive_git(rest: list[str]) -> bool:
    command, options = next(iter(rest), ""), set(rest[1:])
    if command not in _GIT_HARMLESS:
        return True
    forced = any(option == "-f" or option.startswith("--force") for option in options)
    return forced or bool(options & _GIT_CHANGING.get(command, frozenset()))


def _paths(words: list[str], tree: str) -> set[Danger]:
    """``outside`` if one of the words, or a value in one, leads out of the tree."""
    for word in words:
        parts = [word, word.partition("=")[2]]
        if word.startswith("-") and "/" in word:
            parts.append(word[word.index("/") :])
        if "://" in word and "file:" not in word.casefold():
            continue
        if any(outside(part, tree) for part in parts):
            return {"outside"}
    return set()


Risk = Literal["irreversible", "outside", "destructive", "opaque", "unknown", "long"]

READ_CHARACTERS: Final = 160
"""Characters of a command that is read aloud whole."""

_COMMAND_TOOLS: Final = frozenset({"Bash", "run_command"})
_FILE_TOOLS: Final = frozenset(
    {"Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"}
    | {"read_file", "write_file", "patch", "search"}
)
_OTHER_TOOLS: Final = frozenset(
    {"WebSearch", "TodoWrite", "Task", "Agent", "BashOutput", "AskUserQuestion", "ExitPlanMode"}
    | {"run_tests", "done"}
)
_PATHS: Final = ("file_path", "notebook_path", "path", "file", "pattern", "glob")


def call_risks(tool: str, given: dict[str, Any], tree: str) -> tuple[Risk, ...]:
    """Return the risks of one call of a tool; ``tree`` is the absolute path of the working tree."""
    if tool in _COMMAND_TOOLS:
        return _command_risks(given.get("command"), tree)
    if tool in _FILE_TOOLS:
        named = [given[name] for name in _PATHS if isinstance(given.get(name), str)]
        return ("outside",) if any(outside(path, tree) for path in named) else ()
    return () if tool in _OTHER_TOOLS else ("unknown",)


def _command_risks(command: object, tree: str) -> tuple[Risk, ...]:
    if isinstance(command, list):
        command = " ".join(map(str, command))
    if not isinstance(command, str) or not command.strip():
        return ("opaque",)
    found: set[Danger] = dangers(command, tree)
    risks: list[Risk] = [risk for risk in ("destructive", "outside", "opaque") if risk in found]
    if len(command) > READ_CHARACTERS or "\n" in command.strip():
        risks.append("long")
    return tuple(risks)
