"""The settings and variables of every git of the daemon's own, and what it may not run. Pure.

A repository can name programs in its settings, and an agent may have written what they name: a
script in the tree, or a whole repository. So no hook runs, nothing is fetched, and of what the
repository's own settings name nothing is run. What the person's own settings name, global or of
the system, runs as ever. docs/security.md has the list of all through which git runs a program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from podiumd.tools.process.environment import plain_environment

SETTINGS: Final = (
    "safe.bareRepository=explicit",  # a directory that is laid out as a repository is none
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.ignoreStat=false",  # with it git marks what it writes as not to be looked at
    "core.untrackedCache=false",  # which is in the index, and repeats what another wrote there
    # With it a sparse checkout passes over the files that are there although it need not have them.
    "sparse.expectFilesOutsideOfPatterns=false",
    "core.quotePath=false",
    "i18n.commitEncoding=UTF-8",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
)
HOOKS_PATH: Final = "core.hooksPath=/dev/null"
SAFE_SINCE: Final = (2, 38)
"""The first git that knows ``safe.bareRepository``."""

_VARIABLES: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is shown as it is, whatever stands in for it
    "GIT_GRAFT_FILE": f"{os.devnull}/none",  # of one that is there git says that it is old
    "GIT_ALLOW_PROTOCOL": "",  # none: nothing of ours fetches
    "LC_ALL": "C",
}
# These run no program by any setting; all others are given what keeps them from it.
_RUN_NOTHING: Final = frozenset(
    ("check-attr", "check-ignore", "config", "for-each-ref", "ls-tree", "merge-base",
     "merge-file", "mktree", "rev-list", "rev-parse", "show-ref", "var")
)  # fmt: skip
# From 2.54 on git runs the hooks that settings name (hook.NAME.event) when refs or an index are
# written too. Those that write an index alone make nothing where worktrees share it.
_WRITE_INDEX: Final = frozenset(("read-tree", "update-index", "write-tree"))
_FILTER_NOTHING: Final = frozenset(("commit-tree", "read-tree", "update-ref", "write-tree"))
# These look and write nothing. A file that a filter would change back passes for another there.
_LOOK: Final = frozenset(("diff", "diff-files", "diff-index", "diff-tree", "ls-files", "status"))
_INTO_SUBMODULES: Final = frozenset(("diff", "diff-files", "diff-index", "status"))
_WITHIN: Final = "--ignore-submodules=dirty"
# A name may be empty: git takes [filter ""], and the attribute filter= asks for it.
_HOOK: Final = re.compile(r"(hook\..*)\.command", re.DOTALL)
_FILTER: Final = re.compile(r"(filter\..*)\.(clean|smudge|process)", re.DOTALL)
_PROGRAM: Final = re.compile(
    r"core\.(sshcommand|gitproxy|askpass|editor|pager|alternaterefscommand)"
    r"|sequence\.editor|pager\..*|interactive\.difffilter|diff\.external|diff\..*\.(command|textconv)"
    r"|(difftool|mergetool|man|browser)\..*\.(cmd|path)|merge\..*\.driver|credential\.(.*\.)?helper"
    r"|gpg\.(.*\.)?program|gpg\.ssh\.defaultkeycommand|trailer\..*\.(command|cmd)"
    r"|remote\..*\.(uploadpack|receivepack|vcs)|uploadpack\.packobjectshook|gc\.recentobjectshook"
    r"|hook\..*\.command|lfs\.(extension|customtransfer)\..*\.(clean|smudge|path)"
    r"|sendemail\..*cmd|tar\..*\.command|imap\.tunnel",
    re.DOTALL,
)
# As git says each name: section and variable in small letters.
_NAME: Final = re.compile(r"[a-z0-9-]+\.(.*\.)?[a-z][a-z0-9-]*", re.DOTALL)
_REFUSED: Final = (
    "echo 'Podium runs nothing outside of the sandbox that a repository names in its own settings "
    "({}); what your own settings name (git config --global) runs' >&2; exit 1"
)

_VERSION: Final = re.compile(r"git version (\d+)\.(\d+)")
TOO_OLD: Final = (
    "git {} takes any directory with HEAD, objects and refs for a repository, and runs what it "
    "names; from 2.38 on it can be told not to"
)

Confine = Callable[[str], str]
"""Makes of a filter's command one that runs it in a sandbox."""


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Build the variables of a git of ours, without the caller's ``GIT_*``."""
    return plain_environment(environ) | _VARIABLES


def too_old(version: str) -> str:
    """Return why this git is too old for what an agent may lay out; else empty.

    ``version`` is git's own output; empty also where that is not understood.
    """
    found = _VERSION.match(version)
    if found is None or (int(found[1]), int(found[2])) >= SAFE_SINCE:
        return ""
    return TOO_OLD.format(f"{found[1]}.{found[2]}")


def runs_nothing(arguments: Sequence[str]) -> bool:
    """Return whether a command of git runs no program under any settings."""
    name, *options = arguments
    if name == "cat-file":
        return not {"--filters", "--textconv"} & set(options)
    if name == "hash-object":
        return not any(option.startswith("--path") for option in options)
    if name == "diff-tree":
        return not {"-p", "-u", "--patch"} & set(options)
    if name == "ls-files":
        return "--modified" not in options
    if name == "worktree":
        return options[0] == "unlock"
    if name == "symbolic-ref":  # which only looks where it is given one name
        return len([option for option in options if not option.startswith("-")]) == 1
    return name in _RUN_NOTHING


def filters_nothing(arguments: Sequence[str]) -> bool:
    """Return whether a command of git starts no filter, though it may run other programs."""
    return arguments[0] in _FILTER_NOTHING


def writes(arguments: Sequence[str]) -> bool:
    """Return whether a command of git may write more than its index."""
    return arguments[0] not in _LOOK | _WRITE_INDEX


def keeps_place(arguments: Sequence[str]) -> bool:
    """Return whether a command of git records the place that worktrees share.

    It must get the true place, and gets its settings from there.
    """
    return list(arguments[:2]) == ["worktree", "add"]


def within(arguments: Sequence[str]) -> list[str]:
    """Keep a command of git from looking for changes in submodules.

    Git would look by a git of its own, which runs what their settings name.
    """
    name, *options = arguments
    told = any(option.startswith("--ignore-submodules") for option in options)
    return [name, *[_WITHIN] * (name in _INTO_SUBMODULES and not told), *options]


def named_programs(listing: bytes) -> dict[str, str]:
    """Parse a repository's settings that name a program, in the form of ``config -z --list``.

    A setting without a program in it names none.
    """
    found = {}
    for entry in listing.split(b"\0"):
        key, _, value = entry.decode("utf-8", "surrogateescape").partition("\n")
        if value.strip() and names_program(key):
            found[key] = value
    return found


def cut_short(listing: bytes) -> str | None:
    """Find the first name in such a listing that is cut short.

    Git ends it at a NUL byte, so the setting's real name is not known.
    """
    keys = (
        entry.decode("utf-8", "surrogateescape").partition("\n")[0]
        for entry in listing.split(b"\0")
    )
    return next((key for key in keys if key and not _NAME.fullmatch(key)), None)


def names_program(key: str) -> bool:
    """Return whether a setting of that name names a program."""
    return bool(_FILTER.fullmatch(key) or _PROGRAM.fullmatch(key))


def names_filter(named: Mapping[str, str]) -> bool:
    """Return whether a filter is among the programs that a repository names."""
    return any(_FILTER.fullmatch(key) for key in named)


def _only_looks(arguments: Sequence[str]) -> bool:
    """Return whether a command of git reads files only to compare them.

    So does one that enters given entries into an index, for files that may have changed in the same
    moment.
    """
    name, *options = arguments
    return name in _LOOK or (name == "update-index" and "--index-info" in options)


def kept_from(
    named: Mapping[str, str], arguments: Sequence[str], confine: Confine | None = None
) -> list[str]:
    """Build settings that keep a command of git from running what a repository has ``named``.

    With ``confine`` filters run as that returns them. Else a command that only looks sees files
    without them, and one that writes fails at a file that needs one: nothing goes by unfiltered.
    """
    settings = []
    for key, value in named.items():
        of_hook, of_filter = _HOOK.fullmatch(key), _FILTER.fullmatch(key)
        if of_hook is not None:  # one that is refused would end the command too
            settings.append(f"{of_hook[1]}.enabled=false")
            continue
        refusing = _REFUSED.format(re.sub(r"[^\w.-]", "?", key))
        if of_filter is None:
            settings.append(f"{key}={refusing}")
            continue
        looks = confine is None and _only_looks(arguments)
        settings.append(f"{of_filter[1]}.required={'false' if looks else 'true'}")
        instead = confine(value) if confine is not None else "" if looks else refusing
        settings.append(f"{key}={instead}")
    return settings
