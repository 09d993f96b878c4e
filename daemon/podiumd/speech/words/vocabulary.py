"""The words of a session's project that its next sentence may hold, gathered while it is spoken.

Looking is bounded in time and bytes, waits for no silent disk, runs no program of the project and
follows no link out of it. What cannot be had in time is done without.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Final

import trio

from podiumd.speech.words.terms import (
    MANIFESTS,
    MOST_TERMS,
    choose,
    dependencies,
    identifiers,
    of_branch,
    of_files,
)
from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git.process import GitCall, GitError
from podiumd.wire.voice import Terms
from podiumd.wire.voice import TermSource as Source

SECONDS: Final = 1.0
"""For all of the looking: people speak longer than that."""

MOST_GIT_BYTES: Final = 512 * 1024
MOST_MANIFEST_BYTES: Final = 256 * 1024
MOST_ENTRIES: Final = 2000
"""Directory entries looked at where there is no git."""
MOST_FILES: Final = 60
COMMITS: Final = 20

_NO_LOCKS: Final = {"GIT_OPTIONAL_LOCKS": "0"}
_PATCH: Final = (
    "--unified=0",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--ignore-submodules=all",
)


class Vocabulary(Terms, frozen=True, kw_only=True):
    """The terms to expect, and how a recogniser takes them."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return the terms alone, as a recogniser takes them."""
        return tuple(one.term for one in self.terms)


class _Found:
    """Words that the lookers have found so far."""

    def __init__(self) -> None:
        self.words: dict[Source, list[str]] = {}
        self.diff = ""


async def vocabulary(
    working_directory: str,
    recipes: Sequence[tuple[str, Sequence[str]]] = (),
    *,
    most: int = MOST_TERMS,
    seconds: float = SECONDS,
) -> Vocabulary:
    """Gather the terms of a working directory.

    Args:
        working_directory: an absolute path; one that is not there has no words of its own.
        recipes: id and step names of each recipe, the one that runs first.
        most: how many terms.
        seconds: how long the looking may take.

    Raises nothing but what cancels it.
    """
    found = _Found()
    found.words["recipe"] = [recipe for recipe, _steps in recipes]
    found.words["step"] = [step for _recipe, steps in recipes for step in steps]
    with trio.move_on_after(seconds) as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_dependencies, found, working_directory)
            nursery.start_soon(_git, found, working_directory)
    terms = choose(found.words, found.diff, most)
    return Vocabulary(
        working_directory=working_directory, terms=terms, complete=not scope.cancelled_caught
    )


async def _dependencies(found: _Found, directory: str) -> None:
    found.words["dependency"] = await trio.to_thread.run_sync(
        _read_dependencies, directory, abandon_on_cancel=True
    )


def _read_dependencies(directory: str) -> list[str]:
    texts = ((name, _plain_file(f"{directory}/{name}")) for name in MANIFESTS)
    return [word for name, text in texts if text for word in dependencies(name, text)]


def _plain_file(path: str) -> str:
    """Read the text of a file that is no link and not too big; empty for anything else."""
    try:
        return read_plain(path, MOST_MANIFEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


async def _git(found: _Found, directory: str) -> None:
    """Branch, files and names from git; where there is none, the files by their times."""
    run = partial(_git_output, directory)
    branch = await run("symbolic-ref", "--quiet", "--short", "HEAD")
    changed = await run("diff", "--name-only", "--relative", "-z", "HEAD", "--")
    new = await run("ls-files", "--others", "--exclude-standard", "-z")
    logged = await run("log", f"-{COMMITS}", "--name-only", "-z", "--format=", "--no-renames")
    touched, committed = _names(f"{changed}\0{new}"), _names(logged)
    if branch or touched or committed:
        newest = await trio.to_thread.run_sync(_by_time, directory, touched, abandon_on_cancel=True)
        files = [*newest, *committed]
        found.words["branch"] = of_branch(branch)
        found.words["file"] = of_files(files[:MOST_FILES])
        found.diff = await run("diff", *_PATCH, "HEAD", "--")
        if not found.diff:
            found.diff = await run("log", "-1", "--patch", "--format=", *_PATCH)
        found.words["identifier"] = identifiers(found.diff)
    else:
        found.words["file"] = of_files(
            await trio.to_thread.run_sync(_newest, directory, abandon_on_cancel=True)
        )


def _names(listed: str) -> list[str]:
    return [name for name in listed.split("\0") if name.strip()]


async def _git_output(directory: str, *arguments: str) -> str:
    """Return git's output, at most ``MOST_GIT_BYTES``; empty where it fails or there is none."""
    try:
        said, _ = await GitCall(directory, _NO_LOCKS).beginning(MOST_GIT_BYTES, *arguments)
    except GitError:
        return ""
    return said.decode("utf-8", "replace")


def _by_time(directory: str, names: list[str]) -> list[str]:
    """Return the files of a listing that changed last, the newest first."""

    def changed(name: str) -> float:
        try:
            return os.lstat(f"{directory}/{name}").st_mtime
        except (OSError, ValueError):
            return 0.0

    return sorted(names[:MOST_ENTRIES], key=changed, reverse=True)[:MOST_FILES]


def _newest(directory: str) -> list[str]:
    """Return the names of the last changed files, in the directory and those right below it."""
    files, below = _entries(directory, MOST_ENTRIES)
    for place in below:
        if len(files) >= MOST_ENTRIES:
            break
        files += _entries(place, MOST_ENTRIES - len(files))[0]
    files.sort(key=lambda one: -one[0])
    return [name for _time, name in files[:MOST_FILES]]


def _entries(place: str, most: int) -> tuple[list[tuple[float, str]], list[str]]:
    """List the plain files of a directory with their times, and its directories; no links, nothing
    hidden."""
    files: list[tuple[float, str]] = []
    below: list[str] = []
    try:
        with os.scandir(place) as entries:
            for entry in islice(entries, most):
                if entry.name.startswith("."):
                    continue
                if entry.is_file(follow_symlinks=False):
                    files.append((entry.stat(follow_symlinks=False).st_mtime, entry.name))
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
    except OSError:
        pass  # it went away, or may not be read: it has no words then
    return files, below
