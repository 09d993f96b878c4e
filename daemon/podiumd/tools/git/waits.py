"""The places where no git of ours is run, and the files at which one waits for ever.

Git reads some files in a tree by itself, and those that settings include, for every request: at a
pipe in their place, which any command can make, it does not end. So these files are found without
opening any that it would wait at. All functions block.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from podiumd.tools.files.bare_layout import is_laid_out
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.files.walk import upwards, walk
from podiumd.tools.git.pinned_settings import Repository, repository_at

READ_BY_GIT: Final = frozenset((".gitattributes", ".gitignore", ".gitmodules", ".mailmap"))
_READ_ORDERED: Final = sorted(READ_BY_GIT)
MOST_DIRECTORIES: Final = 100_000
"""Directories that are looked into for what a git waits at that does not end."""
MOST_PLACES: Final = 100
"""Where the objects of one repository are, and those that it has of others, that are looked at: of
those that there are."""
MOST_NAMED: Final = 10_000
"""Names given as such a place, whether it is there or not."""
_READ_THERE: Final = re.compile(r"objects|[0-9a-f]{2}|pack|info|commit-graphs|multi-pack-index\.d")
"""Directories in which git reads objects, or finds those; a link of another name leads it nowhere,
and be it to the root of all."""
_DEPTHS: Final = {"objects": 2, "info": 1}
"""The levels below such directories in which git reads; of all others it reads files alone."""
_ANY_DEPTH: Final = sys.maxsize
_MOST_LISTED_BYTES: Final = 1024 * 1024
_QUOTED: Final = re.compile(rb'"([^"\\]*(?:\\(?:[0-3][0-7]{2}|[abfnrtv"\\])[^"\\]*)*)"', re.DOTALL)
_ESCAPED: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS: Final = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
                   b"v": b"\v"}  # fmt: skip
WAITS: Final = "git would wait for ever at '{}', which is no file but a pipe or the like: remove it"

_READ_NO_TREE: Final = frozenset(
    ("commit-tree", "config", "for-each-ref", "ls-tree", "merge-base", "mktree", "rev-list",
     "rev-parse", "show-ref", "symbolic-ref", "update-ref", "var")
)  # fmt: skip
MOST_INCLUDED: Final = 100
"""Files of settings of one repository that are looked at."""
_MOST_SETTINGS_BYTES: Final = 1024 * 1024
_TOKEN: Final = re.compile(
    rb"""[ \t\r\n]+ | [#;][^\n]*
    | \[ [ \t]* (?P<section>[A-Za-z0-9.-]+) (?: [ \t]+ "(?:\\.|[^"\\])*" )? [ \t]* \]
    | (?P<key>[A-Za-z][A-Za-z0-9-]*) [ \t]*
      (?: = (?P<value> (?: \\(?:.|\n|\r\n) | "(?:\\(?:.|\n)|[^"\\\n])*" | [^"\\\n#;] )* ) )?""",
    re.VERBOSE,
)
_PIECE: Final = re.compile(rb"\\(\r?\n|.)|\"|[^\\\"]+", re.DOTALL)
_SETTING_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"b": b"\b"}
BARE: Final = "cannot use bare repository"
"""Git's words, and ours, where a directory is itself laid out as a repository."""


def fault_at(path: str, command: str, repository: Repository | None) -> str:
    """Return why git may not be run there, in the ``repository`` around it; else nothing."""
    bare = bare_above(path)
    if bare is not None:
        return f"{BARE} '{bare}': it holds HEAD, objects and refs without a '.git'"
    waiting = waiting_above(path) if reads_tree(command) else None
    if waiting is None and repository is not None:
        waiting = waiting_settings(repository)
    return WAITS.format(waiting) if waiting else ""


def waits_at(path: str, command: str) -> str | None:
    """Find the file at which a git that does not end waits."""
    found = waiting_below(path) if reads_tree(command) else None
    repository = None if found else repository_at(path)
    if repository is None:
        return found
    return waiting_settings(repository) or waiting_within((repository.directory, repository.common))


def bare_above(path: str) -> str | None:
    """Find the directory that git would take for a repository itself, going up from ``path``.

    Git from 2.38 on refuses it by ``safe.bareRepository``; older ones do not know that.
    """
    for directory in upwards(path):
        if os.path.lexists(f"{directory}/.git"):
            return None
        if is_laid_out(directory):
            return None if directory.endswith("/.git") else directory
    return None


def reads_tree(command: str) -> bool:
    """Return whether a command of git looks at what it reads in a tree by itself."""
    return command not in _READ_NO_TREE


def would_wait(path: str | os.PathLike[str]) -> bool:
    """Return whether reading this does not end, or need not: a pipe, a device, a link to one.

    The null device ends at once: a link to it is the usual way to keep a file empty.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - often
        mode = status.st_mode
        if stat.S_ISCHR(mode):
            return status.st_rdev != os.stat(os.devnull).st_rdev  # noqa: PTH116
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def waiting_above(path: str) -> str | None:
    """Find what git would wait at from ``path`` up to the top of its working tree.

    A file that a command leaves deeper is found after the command, all others where a git does not
    end: see ``waiting_below``.
    """
    for directory in upwards(path):
        for name in _READ_ORDERED:
            if would_wait(f"{directory}/{name}"):
                return f"{Path(directory, name)}"
        if _has_git(directory):
            return None
    return None


def waiting_below(path: str) -> str | None:
    """Find what a git in ``path`` waits at, anywhere in its working tree.

    Blocks; changes no rights.
    """
    top = next((one for one in (Path(path), *Path(path).parents) if _has_git(one)), Path(path))
    for looked, (directory, below, names) in enumerate(walk(top)):
        if looked == MOST_DIRECTORIES:
            return None
        if ".git" in below:
            below.remove(".git")
        for name in sorted(READ_BY_GIT.intersection(names)):
            if would_wait(Path(directory, name)):
                return f"{Path(directory, name)}"
    return None


def waiting_within(repositories: Iterable[str]) -> str | None:
    """Find what a git waits at in directories of repositories. Blocks; changes no rights.

    These are objects above all, where no other check looks, also those that are elsewhere.
    """
    own = list(repositories)
    looked, named, seen = 0, 0, set[tuple[tuple[int, int], int]]()
    left = deque((path, _ANY_DEPTH) for path in own)
    while left and len(seen) < MOST_PLACES:
        place, deep = left.popleft()
        this = _directory(place)
        if this is None or (this, deep) in seen:
            continue
        seen.add((this, deep))
        for directory, below, names in walk(place):
            looked += 1
            if looked > MOST_DIRECTORIES:
                return None
            if len(Path(directory).parts) - len(Path(place).parts) >= deep:
                below.clear()
            for name in sorted(names):
                path = f"{directory}/{name}"
                if would_wait(path):
                    return path
                if place not in own or "/objects" in path:
                    further = list(islice(_objects_elsewhere(path), MOST_NAMED - named))
                    named += len(further)
                    left.extend(further)
    return None


def _directory(path: str) -> tuple[int, int] | None:
    """Return the identity of a directory under any name; ``None`` where there is none or it is
    shut."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _objects_elsewhere(path: str) -> Iterator[tuple[str, int]]:
    """Yield the directories to which git is led from among objects, and how many levels it reads.

    It is led by a link, or by a list of alternates: one that stands for some of the objects may
    lead to the root of all.
    """
    if path.endswith("/info/alternates"):
        try:
            listed = read_plain(path, _MOST_LISTED_BYTES, links=True)
        except OSError:
            return
        base = path.removesuffix("/info/alternates")
        places = (f"{Path(base, os.fsdecode(name))}" for name in _named(listed) if name)
        yield from ((place, _DEPTHS["objects"]) for place in places)
    elif _READ_THERE.fullmatch(name := path.rpartition("/")[2]) and _directory(path) is not None:
        yield path, _DEPTHS.get(name, 0)


def _named(listed: bytes) -> Iterator[bytes]:
    """Yield the paths of a list as git reads it: up to a NUL, one a line.

    In quotes, if nothing in these is wrong, letters may stand for others, and the next path begins
    one byte behind them.
    """
    listed = listed.partition(b"\0")[0]
    place = 0
    while place < len(listed):
        quoted = _QUOTED.match(listed, place)
        if quoted:
            place = quoted.end() + 1
            yield _ESCAPED.sub(_meant, quoted[1]).partition(b"\0")[0]
            continue
        end = listed.find(b"\n", place)
        line = listed[place:end] if end >= 0 else listed[place:]
        place += len(line) + 1
        if not line.startswith(b"#"):
            yield line


def _meant(escaped: re.Match[bytes]) -> bytes:
    said = escaped[1]
    return bytes([int(said, 8)]) if len(said) > 1 else _LETTERS.get(said, said)


def _has_git(directory: str | Path) -> bool:
    return os.path.lexists(f"{directory}/.git")


def included_in(settings: bytes) -> list[bytes]:
    """List the files that a settings file includes under any condition, as it spells them. Pure."""
    if b"include" not in settings.lower():  # most have none
        return []
    found, section, place = list[bytes](), b"", 3 * settings.startswith(b"\xef\xbb\xbf")
    while token := _TOKEN.match(settings, place):
        place = token.end()
        section = (token["section"] or section).lower()
        if (token["key"] or b"").lower() == b"path" and section in (b"include", b"includeif"):
            found.append(_unquoted((token["value"] or b"").strip(b" \t\r")))
    return found


def _unquoted(value: bytes) -> bytes:
    pieces = list[bytes]()
    for piece in _PIECE.finditer(value):
        escaped = piece[1]
        if escaped is None:
            pieces.append(piece[0].replace(b'"', b""))
        elif not escaped.endswith(b"\n"):
            pieces.append(_SETTING_ESCAPES.get(escaped, escaped))
    return b"".join(pieces)


def waiting_settings(repository: Repository) -> str | None:
    """Find a file at which git would wait in a repository's settings and their includes.

    They are looked at as they are now. Blocks for these files.
    """
    left = [f"{repository.common}/config", f"{repository.directory}/config.worktree"]
    seen = set[str]()
    while left and len(seen) < MOST_INCLUDED:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        if would_wait(path):
            return path
        try:
            included = included_in(read_plain(path, _MOST_SETTINGS_BYTES, links=True))
        except OSError:  # nothing is there, or git itself says what is wrong with it
            continue
        left += [_led_to(path, name) for name in included if name and b"\0" not in name]
    return None


def _led_to(path: str, name: bytes) -> str:
    # From git 2.52 on a path may say of itself that it need not be there.
    named = os.fsdecode(name).removeprefix(":(optional)")
    return f"{Path(path).parent / Path(named).expanduser()}"
