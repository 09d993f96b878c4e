"""Finds what a command left in a repository that leads git elsewhere, or has it run things.

Git writes through links: one in the place of a log or an index has it write wherever the link
leads, outside of the sandbox that the link was made in. From a pipe it would read for ever. And in
a directory there it goes by what is laid out as a repository around it, as anywhere.

Settings and hooks of a repository can name programs, which git then runs. One that ``git init`` and
commits make has none of that.

In the record of a worktree that a command has made, ``commondir`` names where all worktrees keep
their settings and hooks, and ``config.worktree`` holds settings for it alone. Earlier records it
cannot write.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from podiumd.tools.files.bare_layout import is_layout
from podiumd.tools.files.owner_rights import entries_of, held, is_removed, status_of
from podiumd.tools.files.plain_file import named_in, read_plain
from podiumd.tools.files.private_file import new_file
from podiumd.tools.git.waits import would_wait

_HEAPS = frozenset(("lfs", "annex"))
"""Directories of a repository itself, large and written to by content alone: a link there leads
nothing of meaning elsewhere. There are as many directories as files, so what is new there alone is
looked at, as among objects."""
_TURNS = ("config", "hooks", "branches", "remotes")
"""Entries that turn a harmless repository into another, beside what its directory itself shows."""
_OBJECTS = "objects"
_TICK_NS = 2_000_000_000  # what clock and file system may differ by
_DEEPEST = 3  # info/commit-graphs
_ALONE = 2
"""Names of a directory that has none below it, where file systems count them so."""
_NAMES = ("refs", "logs")  # below these a directory of any name is part of a name
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
_HOME: Final = b"../..\n"


class Odd(NamedTuple):
    """``entries`` are links, pipes, sockets and devices, ``shut`` what cannot be looked into.
    ``inner`` are repositories in it: what is called ``.git``, and directories that are laid out as
    one, those of submodules and worktrees too."""

    entries: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()


def odd_entries(
    repositories: Iterable[str], since: int | None = None, heaps: Collection[str] = _HEAPS
) -> Odd:
    """List what is odd in these directories. Blocks.

    Objects are looked at for what came to them after ``since``, the time of a clock in nanoseconds,
    alone: there are many. So are ``heaps`` where they lie in a repository itself, for repositories;
    by that name anything may lie deeper.
    """
    found, shut, inner = set[str](), set[str](), set[str]()
    own = frozenset(repositories)
    left = [(path, False) for path in own]
    while left:
        directory, named = left.pop()
        try:
            entries = entries_of(directory)
            inner |= _inner({one.name for one in entries}, directory, own)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    heap = directory in own and entry.name in heaps
                    if heap or (entry.name == _OBJECTS and not named):
                        if since is not None:
                            new = _among_objects(entry.path, since - _TICK_NS, shut, inner)
                            found |= set() if heap else new
                    else:
                        left.append((entry.path, named or entry.name in _NAMES))
                elif not entry.is_file(follow_symlinks=False):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return Odd(frozenset(found), frozenset(shut), frozenset(inner))


def all_within(repository: str) -> Odd:
    """Find the odd entries anywhere in a new repository: among its objects and heaps too. Blocks.

    Its records of its own worktrees are not odd, nor what a link leads to.
    """
    if os.path.islink(repository):  # noqa: PTH114 - one that cannot be looked at is none
        return Odd()
    odd = odd_entries([repository], since=0, heaps=())
    trees = [one for one in odd.inner if Path(one).parent == Path(repository, "worktrees")]
    return odd._replace(inner=odd.inner.difference(one for one in trees if leads_home(one)))


def _inner(names: set[str], directory: str, own: Collection[str] = ()) -> set[str]:
    """Return the repositories that a directory with these names has and is."""
    found = {f"{directory}/.git"} if ".git" in names else set[str]()
    if is_layout(names) and directory not in own and not directory.endswith("/.git"):
        found.add(directory)
    return found


def _among_objects(objects: str, since: int, shut: set[str], inner: set[str]) -> set[str]:
    """Find what git would wait at among its objects, and the links newer than ``since``.

    Git reads two directories deep by name. Repositories that are as new, at any depth, are added to
    ``inner``. A directory in which nothing is new is not looked into; the time of a change is the
    kernel's, which nothing in a sandbox can set.
    """
    found = set[str]()
    left = [(objects, 0)]
    while left:
        directory, depth = left.pop()
        try:
            if depth and status_of(directory).st_ctime_ns < since and not _has_below(directory):
                continue
            entries = entries_of(directory)
            for one in _inner({entry.name for entry in entries}, directory):
                if _is_new(one, since):
                    inner.add(one)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append((entry.path, depth + 1))
                elif (
                    depth <= _DEEPEST
                    and not entry.is_file(follow_symlinks=False)
                    and (would_wait(entry.path) or status_of(entry.path).st_ctime_ns >= since)
                ):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return found


def _is_new(repository: str, since: int) -> bool:
    """Return whether a repository is newer than ``since``, or what it runs may be."""
    mark = repository if repository.endswith("/.git") else f"{repository}/HEAD"
    places = (f"{repository}/{name}" for name in _TURNS)
    there = [path for path in places if os.path.lexists(path)]
    # A hook that is written over, or made executable, shows in its own time alone.
    if f"{repository}/hooks" in there:
        with suppress(NotADirectoryError):
            there += [entry.path for entry in entries_of(f"{repository}/hooks")]
    return any(status_of(path).st_ctime_ns >= since for path in (mark, *there))


def _has_below(directory: str) -> bool:
    """Return whether there may be directories in it, which do not show in its own time."""
    return status_of(directory).st_nlink != _ALONE


def leads_home(tree: str) -> bool:
    """Return whether a worktree's record belongs to the repository that it lies in. Blocks."""
    try:
        home = Path(tree, named_in(f"{tree}/commondir", links=False))
        return Path(os.path.realpath(home)) == Path(tree).parents[1]
    except (OSError, ValueError):
        return False


# -- a repository that is new ---------------------------------------------------------------------


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


# -- records of new worktrees ----------------------------------------------------------------------


def kept_trees(repositories: Iterable[str]) -> Iterator[str]:
    """Yield the directories where repositories keep their records of worktrees. Blocks."""
    for repository in repositories:
        with suppress(OSError):
            for entry in entries_of(f"{repository}/worktrees"):
                if entry.is_dir(follow_symlinks=False):
                    yield entry.path


def set_right(trees: Iterable[str]) -> dict[str, bool]:
    """Have these belong to the repository that they lie in, with no settings of their own but
    harmless ones. Blocks. Returns what was changed or removed, and whether that is so now."""
    done = dict[str, bool]()
    for tree in trees:
        if not leads_home(tree) and os.path.lexists(f"{tree}/HEAD"):
            done[f"{tree}/commondir"] = _is_led_home(f"{tree}/commondir")
        own = f"{tree}/config.worktree"
        if os.path.lexists(own) and not is_harmless_file(Path(own)):
            done[own] = is_removed(own)
    return done


def _is_led_home(path: str) -> bool:
    with suppress(OSError), held(path) as there:
        if is_removed(path):
            with new_file(there, 0o644) as file:
                file.write(_HOME)
            return True
    return False
