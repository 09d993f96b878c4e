"""The check that a repository which a command has made runs nothing when git is used in it.

Settings and hooks of a repository can name programs, which git then runs: outside of the sandbox
that the command was in; links in it have git write elsewhere. One that ``git init`` and commits
make has none of that.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from podiumd.tools.files.owner_rights import status_of
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git.repository_links import all_within

_LARGEST_CONFIG = 16 * 1024
_SECTION = re.compile(r'\[(?P<name>[a-z]+)(?: "[\w./-]+")?\]', re.ASCII)
_SETTING = re.compile(r"(?P<key>[a-z]+)(?: = (?P<value>[\w@. :/+-]*))?", re.ASCII)
# Each says what git is to do itself; none names a program or another file.
_HARMLESS = {
    "core": {"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase",
             "precomposeunicode", "symlinks", "autocrlf"},
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "branch": {"remote", "merge"},  # the remote "." alone: any other word may be a path
    "extensions": {"objectformat"},
}  # fmt: skip


def is_plain(git: Path) -> bool:
    """Return whether ``git`` is a repository without hooks, links or harmful settings. Blocks.

    The settings must be written as git writes them.
    """
    try:
        if not stat.S_ISDIR(status_of(f"{git}").st_mode):
            return False
        if any(all_within(f"{git}")):  # first: it gives rights back that the rest needs
            return False
        hooks = git / "hooks"
        named = [path.name for path in hooks.iterdir()] if os.path.lexists(hooks) else []
        if hooks.is_symlink() or any(not name.endswith(".sample") for name in named):
            return False
        if any(os.path.lexists(git / name) for name in ("commondir", "config.worktree", "modules")):
            return False
        # Remotes as git wrote them long ago: their addresses may be paths.
        if any(_holds_files(git / name) for name in ("branches", "remotes")):
            return False
        return is_harmless_file(git / "config")
    except OSError:
        return False


def is_harmless_file(config: Path) -> bool:
    """Return whether a file of settings names no program and no other file. Blocks."""
    try:
        return _harmless(read_plain(config, _LARGEST_CONFIG).decode())
    except (OSError, UnicodeDecodeError):
        return False


def _harmless(config: str) -> bool:
    section = ""
    for line in config.splitlines():
        text = line.strip().lower()
        header, setting = _SECTION.fullmatch(text), _SETTING.fullmatch(text)
        if header:
            section = header["name"]
        elif text and not (setting and setting["key"] in _HARMLESS.get(section, ())):
            return False
        if setting and setting["key"] == "remote" and setting["value"] != ".":
            return False
    return True


def _holds_files(directory: Path) -> bool:
    return os.path.lexists(directory) and (directory.is_symlink() or any(directory.iterdir()))
