"""Confines a git of ours that writes beside a command which could lead it elsewhere.

Git follows links, and what a command can write it can exchange for one while that git is at work: a
log, a branch, a directory of objects. So the kernel keeps such a git from writing anywhere but in
its repository, and there from all that a command may not write either.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import trio

from podiumd.tools.confine.mount_gate import Gate, gated
from podiumd.tools.confine.seatbelt import writing_profile
from podiumd.tools.files.owner_rights import held
from podiumd.tools.files.walk import children
from podiumd.tools.git.at_work import AT_WORK, Reach
from podiumd.tools.git.pinned_settings import repository_at
from podiumd.tools.git.settings import runs_nothing

BASE: Final = ("--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev")
ELSEWHERE: Final = (
    "'{}' leads to a repository that is not the one which was there before another command began, "
    "which still works there: nothing is written to it; try again when that is over"
)
INDEX_PLACE: Final = "podium-index-"
"""How the names of temporary directories begin that hold an index of ours."""
_KEPT: Final = ("config", "config.worktree", "commondir", "hooks", "remotes", "branches")
_POINTERS: Final = ("commondir", "gitdir", "config.worktree")
_MOST_POINTERS: Final = 400
_FATAL: Final = 128
"""The status of a git that has done nothing."""
_LOOK: Final = frozenset(
    ("cat-file", "check-attr", "check-ignore", "config", "diff", "diff-files", "diff-index",
     "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree", "merge-base", "merge-file",
     "rev-list", "rev-parse", "show-ref", "status", "symbolic-ref", "var")
)  # fmt: skip
_INDEX_ALONE: Final = frozenset(("read-tree", "update-index"))
_INTO_TREE: Final = frozenset(("merge", "reset"))


class Places(NamedTuple):
    """The places that a git writes which is started in ``start``: the ``common`` directory of a
    repository, and perhaps a ``tree``.

    ``directory`` is the repository's own record of the worktree that the git was started in,
    ``link`` leads there; ``removes`` and ``adds``: the git removes or adds the ``tree``.
    """

    start: str
    common: str
    directory: str
    link: str
    tree: str | None = None
    removes: bool = False
    adds: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Return all of these paths."""
        tree = () if self.tree is None else (self.tree,)
        return (self.start, self.common, self.directory, self.link, *tree)


def may_write(arguments: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Return whether a git may write in a repository, or in its tree.

    The answer is no for a git that works on an index of ours alone, which lies in a directory of
    its own.
    """
    name = arguments[0]
    if name == "hash-object":
        return "-w" in arguments
    if name in _INDEX_ALONE and "GIT_INDEX_FILE" in variables:
        place = Path(variables["GIT_INDEX_FILE"]).parent
        named = place.name.startswith(INDEX_PLACE)
        return not (named and place.parent == Path(tempfile.gettempdir()))
    return name not in _LOOK


def places_of(path: str, arguments: Sequence[str]) -> Places:
    """Find where a git that is started in ``path`` writes. Blocks for some names."""
    start = os.path.abspath(path)  # noqa: PTH100 - no look
    found = repository_at(os.path.realpath(path))
    if found is None:  # git reports that itself, unless it was just removed
        return Places(start, start, start, start)
    tree = found.top if arguments[0] in _INTO_TREE else None
    if arguments[0] == "worktree" and "--" in arguments:
        tree = os.path.abspath(arguments[arguments.index("--") + 1])  # noqa: PTH100 - no look
    directory, common = map(os.path.normpath, (found.directory, found.common))
    removes, adds = (list(arguments[:2]) == ["worktree", name] for name in ("remove", "add"))
    return Places(start, common, directory, f"{found.top}/.git", tree, removes, adds)


def elsewhere(places: Places, reaches: Iterable[Reach]) -> bool:
    """Return whether a command may have led git to this repository. Blocks for some names.

    A file that it can write must not decide where another git writes.
    """
    common, directory = places.common, Path(places.directory)
    named = [common, places.directory, *filter(None, (places.tree,))]
    if any(Path(places.start).is_relative_to(one.root) for one in reaches):
        named.append(places.start)
    if any(os.path.realpath(one) != one for one in named):
        return True
    if places.directory != common and f"{directory.parent}" != f"{common}/worktrees":
        return True
    within = [one for one in reaches if Path(places.link).is_relative_to(one.root)]
    planned = [path for one in reaches for path in (*one.repositories, *one.kept)]
    return bool(within) and not any(Path(common).is_relative_to(one) for one in planned)


def _kept(places: Places, reaches: Iterable[Reach]) -> Iterator[str]:
    """Yield the existing paths in the repository that no command may write. Blocks."""
    trees = Path(places.common, "worktrees")
    own = (Path(places.common, name) for name in _KEPT)
    pointers = islice((one / name for one in children(trees) for name in _POINTERS), _MOST_POINTERS)
    for path in (*own, *pointers, *(Path(path) for one in reaches for path in one.kept)):
        goes = places.removes and path.is_relative_to(trees)
        if path.is_relative_to(places.common) and not goes and os.path.lexists(path):
            yield f"{path}"


class Confined(NamedTuple):
    """The confinement of a git: ``prefix`` stands before it, up to its own words."""

    prefix: tuple[str, ...]

    def gate(self) -> Gate | None:
        """Build the gate that it is to go through (see ``mount_gate``)."""
        return Gate(self.prefix[1:-1]) if self.prefix[-1] == "--" else None

    def command(self, command: Sequence[str], gate: Gate | None) -> list[str]:
        """Build the whole command line."""
        return [*(self.prefix if gate is None else gated(self.prefix, gate)), *command]


Result = subprocess.CompletedProcess[bytes]
Run = Callable[[Sequence[str], Mapping[str, str], bytes, Confined | None], Awaitable[Result]]
"""Runs a command with variables and input to its end, confined where that is given."""


@contextmanager
def confined(
    places: Places,
    reaches: Sequence[Reach],
    variables: Mapping[str, str],
    platform: str = sys.platform,
) -> Iterator[Confined]:
    """Have ready what confines a git to ``places``. Blocks. Raises ``OSError``.

    Beside the repository it may write what its ``variables`` name of ours: its index, and what
    stands in for what worktrees share.
    """
    if elsewhere(places, reaches):
        raise OSError(ELSEWHERE.format(places.link))
    own = [variables.get("GIT_COMMON_DIR"), variables.get("GIT_INDEX_FILE", "").rpartition("/")[0]]
    trees = [one for one in (places.tree,) if one is not None and os.path.lexists(one)]
    writable = [*trees, places.common, *(one for one in own if one and not _is_in(one, places))]
    kept = set(_kept(places, reaches))
    placed = [
        (one.placeholders, [path for path in one.placed if _is_in(path, places)]) for one in reaches
    ]
    put = []
    try:
        for placeholders, paths in placed:
            if placeholders is not None:
                placeholders.put(paths)
                put.append((placeholders, paths))
        kept.update(path for _, paths in put for path in paths)
        yield _confined(reaches[0].program, writable, sorted(kept), platform)
    finally:
        for placeholders, paths in put:
            placeholders.take_away(paths)


async def run_beside(
    run: Run,
    path: str,
    arguments: Sequence[str],
    command: Sequence[str],
    variables: Mapping[str, str],
    stdin: bytes,
    own: Reach | None = None,
) -> Result:
    """Run a git, confined where a command that is at work could lead it elsewhere.

    ``command`` is its whole line and ends with its ``arguments``. What it starts that is the
    person's (who signs, filters) is not confined: it gives us an object, which another git stores.
    ``own`` is the reach of a filter in the sandbox that it starts. Raises ``OSError`` where it
    cannot be confined.
    """
    if not may_write(arguments, variables):
        return await run(command, variables, stdin, None)
    call = _Call(run, path, arguments, command, variables, stdin)
    if arguments[0] == "commit-tree" and "-S" in arguments:
        # It may wait for a passphrase: no caller waits for that.
        return await _stored(call)
    places = await trio.to_thread.run_sync(places_of, path, arguments)
    # Any other writes by a lock that it took before it started the filter.
    apart = None if arguments[0] == "hash-object" else own
    with AT_WORK.writing(places.paths, apart) as reaches:
        if not reaches:
            return await run(command, variables, stdin, None)
    if arguments[0] != "hash-object" or runs_nothing(arguments):
        return await _run_confined(call, places, reaches)
    return await _stored(call)


class _Call(NamedTuple):
    """A git, as ``run_beside`` is given it."""

    run: Run
    path: str
    arguments: Sequence[str]
    command: Sequence[str]
    variables: Mapping[str, str]
    stdin: bytes


async def _stored(call: _Call) -> Result:
    """Have an object made in a directory of ours, and store it in the repository."""
    run, path, arguments, command, variables, stdin = call
    kind = "commit" if arguments[0] == "commit-tree" else "blob"
    git = command[: len(command) - len(arguments)]
    common = (await trio.to_thread.run_sync(places_of, path, arguments)).common
    with tempfile.TemporaryDirectory(prefix="podium-objects-") as objects:
        apart = {
            **variables,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(f"{common}/objects"),
        }
        made = await run(command, apart, stdin, None)
        if made.returncode != 0:
            return made
        read = await run([*git, "cat-file", kind, made.stdout.decode().strip()], apart, b"", None)
        if read.returncode != 0:
            return read
    store = ["hash-object", "-w", "-t", kind, "--no-filters", "--stdin"]
    stored = await run_beside(run, path, store, [*git, *store], variables, read.stdout)
    return made if stored.returncode == 0 else stored


def _quoted(path: str) -> str:
    """Quote a path as git does in a list of several."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


async def _run_confined(call: _Call, places: Places, reaches: Sequence[Reach]) -> Result:
    if places.adds and places.tree is not None:
        await trio.to_thread.run_sync(make_place, places.tree)
    box = confined(places, reaches, call.variables)
    how = await trio.to_thread.run_sync(box.__enter__)
    try:
        done = await call.run(call.command, call.variables, call.stdin, how)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(box.__exit__, None, None, None)
    if places.removes and places.tree is not None:
        gone = await trio.to_thread.run_sync(is_emptied, places.tree)
        if gone and done.returncode not in (0, _FATAL):  # all but that it has done itself
            done.returncode = 0
    return done


def _is_in(path: str, places: Places) -> bool:
    return Path(path).is_relative_to(places.common)


def _confined(
    program: str, writable: Sequence[str], kept: Sequence[str], platform: str
) -> Confined:
    if platform == "darwin":
        return Confined((program, "-p", writing_profile(writable, kept)))
    binds = [word for path in writable for word in ("--bind", path, path)]
    binds += [word for path in kept for word in ("--ro-bind", path, path)]
    return Confined((program, *BASE, *binds, "--"))


def make_place(path: str) -> None:
    """Make the directory of a worktree, and those above it, none of them through a link. Blocks.
    Raises ``OSError``."""
    for one in (*reversed(Path(path).parents), Path(path)):
        if not os.path.lexists(one):
            with held(f"{one}") as there:
                Path(there).mkdir()


def is_emptied(path: str) -> bool:
    """Remove the directory of a worktree of which all else is gone: it was in use as a mount.
    Returns whether it is gone. Blocks."""
    with suppress(OSError), held(path) as there:
        Path(there).rmdir()
    return not os.path.lexists(path)
