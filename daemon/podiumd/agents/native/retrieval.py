"""Looks up the names in a request before the model is asked: a map of the tree, files mentioned.

The map honours ``.gitignore`` where git is there; without git common heaps are left out. No link is
followed, files are read through the workspace, and everything is bounded, with a note where it is.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import trio

from podiumd.observe.redaction import escape
from podiumd.tools.agent.edit import read_text
from podiumd.tools.agent.workspace import Refused, Workspace
from podiumd.tools.files.walk import walk
from podiumd.tools.git.queries import GitError, listed_files

_GIT_SECONDS: Final = 5.0
_MOST_FILES: Final = 20_000
_MAP_CHARACTERS: Final = 8_000
_MOST_SHOWN: Final = 5
_SHOWN_CHARACTERS: Final = 16_000  # of one file
_ALL_SHOWN_CHARACTERS: Final = 40_000
_LONGEST_REQUEST: Final = 20_000
_MENTION: Final = re.compile(r"[\w./@+-]+")
_HEAPS: Final = frozenset(
    ("node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__", "site-packages")
)


async def opening_for(workspace: Workspace, request: str, room: int | None = None) -> str:
    """Build the text to show a model along with a request; at most ``room`` characters.

    A note stands where that leaves something out. Empty for a directory without files.
    """
    files, complete = await _files(workspace)
    if not files:
        return ""
    room = _MAP_CHARACTERS + _ALL_SHOWN_CHARACTERS if room is None else room

    def opening() -> str:
        map_ = tree_map(files, min(room, _MAP_CHARACTERS), complete=complete)
        return "\n\n".join([map_, *_shown(workspace, mentioned(request, files), room - len(map_))])

    return await trio.to_thread.run_sync(opening)  # 20,000 files take some tens of milliseconds


async def _files(workspace: Workspace) -> tuple[list[str], bool]:
    """List the files below the root, and whether those are all."""
    try:
        with trio.fail_after(_GIT_SECONDS):
            found = await listed_files(workspace.root, _MOST_FILES)
    except (GitError, trio.TooSlowError):
        found = None
    if found is not None and found[0]:
        return found
    return await trio.to_thread.run_sync(_walked, str(workspace.root))


def _walked(root: str) -> tuple[list[str], bool]:
    """List the files as a walk finds them: no links, nothing hidden, no heaps of others' files."""
    found: list[str] = []
    for directory, names, files in walk(root):
        names[:] = sorted(name for name in names if name[0] != "." and name not in _HEAPS)
        below = os.path.relpath(directory, root)
        prefix = "" if below == "." else f"{below}/"
        found += [prefix + name for name in sorted(files) if name[0] != "."]
        if len(found) >= _MOST_FILES:
            return found[:_MOST_FILES], False
    return found, True


def tree_map(files: Iterable[str], room: int, *, complete: bool = True) -> str:
    """Build a map of the tree in about ``room`` characters: directories with their files' names.

    Where it is too long the deepest directories are only counted.
    """
    inside: dict[str, list[str]] = defaultdict(list)
    for path in sorted(files):
        directory, _, name = path.rpartition("/")
        inside[directory].append(name)
    depth = max(directory.count("/") + 1 for directory in inside)
    text = _drawn(inside, depth)
    while len(text) > room and depth > 0:
        depth -= 1
        text = _drawn(inside, depth)
    if len(text) > room:
        text = f"{text[:room]}\n[the map is cut here to save room]"
    more = "" if complete else f"\n[only the first {_MOST_FILES} files are looked at]"
    return f"The files here:\n{text}{more}"


def _drawn(inside: dict[str, list[str]], depth: int) -> str:
    lines = []
    below: dict[str, int] = defaultdict(int)
    for directory, names in inside.items():
        parts = directory.split("/") if directory else []
        if len(parts) > depth:
            below["/".join(parts[: depth + 1])] += len(names)
        else:
            lines.append((directory, f"{directory or '.'}/: {' '.join(names)}"))
    counted = [(path, f"{path}/: {count} files") for path, count in below.items()]
    return "\n".join(escape(line) for _, line in sorted([*lines, *counted]))


def mentioned(request: str, files: Sequence[str]) -> list[str]:
    """List the files that a request names, in its order: by path, or by a unique name."""
    known = set(files)
    named: dict[str, list[str]] = defaultdict(list)
    for path in files:
        named[path.rpartition("/")[2]].append(path)
    found: dict[str, None] = {}
    for match in _MENTION.finditer(request[:_LONGEST_REQUEST]):
        word = match[0].rstrip("./").removeprefix("@").removeprefix("./")
        if word in known:
            found[word] = None
        elif "." in word and len(named.get(word, ())) == 1:
            found[named[word][0]] = None
    return list(found)


def _shown(workspace: Workspace, paths: Sequence[str], room: int) -> list[str]:
    shown = []
    for path in paths[:_MOST_SHOWN]:
        try:
            text = read_text(workspace, path)
        except Refused as error:
            shown.append(f"[{path} is not shown: {error}]")
            continue
        if len(text) > min(_SHOWN_CHARACTERS, room):
            shown.append(f"[{path} is not shown, it is too long: read the lines that you need]")
            continue
        room -= len(text)
        shown.append(text)
    if paths[_MOST_SHOWN:]:
        shown.append(f"[also named, not shown: {' '.join(paths[_MOST_SHOWN:][:50])}]")
    return shown
