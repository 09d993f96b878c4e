"""Podium's queries to git, as functions over the ``git`` program.

Git is run with argument lists and an environment of its own: none of the caller's ``GIT_*`` leaks
in (a daemon started from a hook would otherwise look at the hook's repository), no prompt can come
up, and looking never takes the index lock from an agent that commits at that moment. It runs no
hook, and no program that a repository names (see ``tools.git.settings``). Paths are bytes to git
and may hold anything but NUL; here they are ``str`` as ``os.fsdecode`` makes them. The caller
decides how long to wait; a cancelled git is ended with what it has started.

Every function raises ``GitError`` when git is missing or fails in a way not named in its text.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import trio

from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.plain_file import named_in
from podiumd.tools.git import content_digest
from podiumd.tools.git.honest_index import ELSEWHERE, Seen, honest_look, seen_at
from podiumd.tools.git.honest_index import links as links_of
from podiumd.tools.git.known_tops import Kept, Tops, kept_at
from podiumd.tools.git.passed_over import IGNORED, LISTED, bounded, path_passed_over
from podiumd.tools.git.process import GitCall, GitError, Result, asked_of, said_by
from podiumd.tools.git.waits import BARE, bare_above
from podiumd.tools.git.worktree_remains import BEING_MADE, is_being_made
from podiumd.tools.process.processes import MARKER

__all__ = [
    "GitError", "add_worktree", "branch_exists", "commits_since", "dirty", "entries", "head",
    "is_worktree", "listed_files", "look", "other_tips", "remove_worktree", "top_level",
    "tree_digest", "tree_mark", "uncommitted", "worktree_exists",
]  # fmt: skip

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_NESTING = 3
_UNDOING_SECONDS = 20.0
_NO_LOCKS = {"GIT_OPTIONAL_LOCKS": "0"}
MOST_TIPS = 200
"""Commits beside its own that a run remembers as there when it began: 8 kB of names."""
MOST_UNCOMMITTED = 1000
"""Paths that a run remembers one by one as not committed."""
_NAME_BYTES = 256
"""As much of a listing is read for each path that is asked for; most paths are far shorter."""
_LISTING = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_OID = b"# branch.oid "
_TOPS: Final = Tops()
_STATUS = ("status", "-z", "--no-renames", "--ignore-submodules=dirty")


async def top_level(path: str | os.PathLike[str]) -> str | None:
    """Return the real path of the working tree that ``path`` lies in; ``None`` outside of any.

    Git is asked once, for as long as all is as it was then (see ``known_tops``). Raises
    ``GitError``, also where the settings name one which ``path`` does not lie in.
    """
    return (await _top_and_seen(path))[0]


class _Recalled(NamedTuple):
    """Knowledge of the place ``real``: whether it is ``bare``, else what was ``kept`` of it.

    ``is_top``: git has reported that as a ``top``. ``seen`` is what a look at the tree goes by.
    """

    real: str
    bare: bool
    kept: Kept | None = None
    is_top: bool = False
    seen: Seen | None = None


def _recalled(path: str | os.PathLike[str]) -> _Recalled:
    real = _real(path)
    if bare_above(real) is not None:
        return _Recalled(real, bare=True)
    kept = kept_at(real)
    is_top = _TOPS.is_top(real, kept)
    seen = seen_at(GitCall(real, _NO_LOCKS)) if is_top else None
    return _Recalled(real, False, kept, is_top, seen)


async def _top_and_seen(path: str | os.PathLike[str]) -> tuple[str | None, Seen | None]:
    """Return what ``top_level`` does, and what a look at that tree goes by if known."""
    recalled = await _in_thread(_recalled, path)
    real = recalled.real
    if recalled.bare or recalled.is_top:
        return None if recalled.bare else real, recalled.seen
    top = await _asked_top(real)
    if top == real:
        _TOPS.keep(real, recalled.kept)
    return top, None


async def _asked_top(path: str) -> str | None:
    result = await _git(path, "rev-parse", "--show-toplevel")
    if result.returncode == 0:
        top = _real(os.fsdecode(_line(result.stdout)))
        if not Path(path).is_relative_to(top):
            raise GitError(ELSEWHERE.format(path, top))
        return top
    none = ("not a git repository", "must be run in a work tree", BARE)
    if any(words.encode() in result.stderr for words in none):
        return None
    raise _failed(result)


async def head(path: str | os.PathLike[str]) -> str | None:
    """Return the commit that is checked out; ``None`` on a branch without one."""
    result = await _git(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if result.returncode == 1:
        return None
    return _line(_checked(result).stdout).decode()


async def dirty(path: str | os.PathLike[str]) -> list[str]:
    """List the paths that differ from ``HEAD``, from the tree's top.

    These are changed, staged, conflicted and untracked ones (an untracked directory as one, with
    ``/`` at its end), but not ignored ones. A submodule counts as changed where its own files are.
    """
    top, seen = await _top_and_seen(path)
    # An entry is two letters, a blank, the path. Without renames each has one path.
    told = ("--porcelain=v1", "--untracked-files=normal")
    listing, links = await _status(top or path, *told, seen=seen)
    names = [os.fsdecode(entry[3:]) for entry in entries(listing)]
    inside = [] if top is None else await _dirty_submodules(top, links, _MAX_NESTING)
    return [*names, *(name for name in map(os.fsdecode, inside) if name not in names)]


async def uncommitted(path: str | os.PathLike[str]) -> tuple[dict[str, str], int]:
    """Digest the content of each path that differs from ``HEAD``, by path from the tree's top.

    Returns with it how many more there are than ``MOST_UNCOMMITTED``. A submodule counts where its
    files do.
    """
    found = await look(path)
    return ({}, 0) if found is None else (found.uncommitted, found.more)


class Look(NamedTuple):
    """A working tree: its ``top``, the commit that is checked out, and its ``uncommitted`` files.

    ``passed_over`` is what git passes over there (see the module of that name), where that was
    asked for.
    """

    top: str
    head: str | None
    uncommitted: dict[str, str]
    more: int
    passed_over: tuple[str, ...] = ()


async def look(path: str | os.PathLike[str], *, passed_over: bool = False) -> Look | None:
    """Look at the working tree that ``path`` lies in; ``None`` outside of any."""
    top, seen = await _top_and_seen(path)
    if top is None:
        return None
    commit, listing, links = await _head_and_status(top, seen, *[LISTED] * passed_over)
    told = entries(listing)
    over = bounded(os.fsdecode(one) for one in map(path_passed_over, told) if one and passed_over)
    found = {_path_in_v2(one) for one in told if not one.startswith(IGNORED)}
    names = sorted(found.union(await _dirty_submodules(top, links, _MAX_NESTING)))
    kept = names[:MOST_UNCOMMITTED]
    digests = {}
    if kept:
        digests = await _in_thread(
            content_digest.digests, top, kept, trio.from_thread.check_cancelled
        )
    uncommitted = {os.fsdecode(name): digests[name] for name in kept}
    return Look(top, commit, uncommitted, len(names) - len(kept), tuple(over))


async def commits_since(
    path: str | os.PathLike[str], now: str, before: str | None, tips: Sequence[str] = ()
) -> int:
    """Count the commits of ``now`` that neither ``before`` nor the ``tips`` had.

    Where one of them is missing the count is at most 1, and 0 if ``now`` is ``before``.
    """
    if before == now:
        return 0
    known = [f"^{_commit(one)}" for one in (*([before] if before else []), *tips)]
    counted = await _git(path, "rev-list", "--count", _commit(now), *known)
    if counted.returncode != 0:  # one is gone; the others still say what is not new
        told = ("rev-list", "--count", "--ignore-missing", _commit(now), *known)
        counted = await _git(path, *told)
        return min(int(counted.stdout), 1) if counted.returncode == 0 else 1
    return int(counted.stdout)


async def other_tips(path: str | os.PathLike[str], head: str | None) -> list[str]:
    """List the newest commits of branches, tags and other refs that ``head`` does not have.

    The list is empty where git refuses to answer, as for a ref to a missing object.
    """
    beyond = [f"--no-merged={_commit(head)}"] if head is not None else []
    told = ("for-each-ref", f"--count={MOST_TIPS}", "--sort=-creatordate", *beyond)
    listed = await _git(path, *told, "--format=%(objectname)")
    return list(dict.fromkeys(listed.stdout.decode().split())) if listed.returncode == 0 else []


async def tree_digest(path: str | os.PathLike[str]) -> str:
    """Return the digest of ``tree_mark``; empty outside git."""
    mark = await tree_mark(path)
    return "" if mark is None else mark[1]


async def tree_mark(path: str | os.PathLike[str]) -> tuple[str | None, str] | None:
    """Return the commit that is checked out, and a digest of the tree; ``None`` outside git.

    The digest covers the commit, the index and the files that differ from it, untracked ones too.
    Equal digests mean an unchanged tree: times do not count, ignored files do not, and contents do,
    in nested repositories as well. To stay cheap, contents count up to a total (see
    ``content_digest``); for larger or later files size and time stand in. It takes one git, another
    where the top of the tree is not known yet, and one where the index has changed; some more,
    once, where files are in the index that have changed since the first look (see
    ``honest_index``).
    """
    top, seen = await _top_and_seen(path)
    return None if top is None else await _mark(top, seen, _MAX_NESTING)


async def _mark(top: str, seen: Seen | None, depth: int) -> tuple[str | None, str]:
    commit, status, links = await _head_and_status(top, seen)
    names = dict.fromkeys(_path_in_v2(entry) for entry in entries(status))
    names |= dict.fromkeys(await _dirty_submodules(top, links, depth))
    known = f"{commit}\n".encode() + status
    if not names:
        return commit, content_digest.digest(top, known, ())[0]
    go_on = trio.from_thread.check_cancelled
    digest, directories = await _in_thread(content_digest.digest, top, known, names, go_on)
    if depth == 0:
        return commit, digest
    for directory in directories:  # a nested repository or submodule: all else is listed as files
        there, seen = await _top_and_seen(directory)
        if there == _real(directory):
            digest = content_digest.combine(digest, (await _mark(directory, seen, depth - 1))[1])
    return commit, digest


async def _dirty_submodules(top: str, links: Sequence[bytes], depth: int) -> list[bytes]:
    """List the submodules in the index at ``top`` that have changes of their own.

    Git itself does not look into them for us: it would run what their settings name.
    """
    if depth == 0:
        return []
    found = []
    for name, directory in await _checked_out(top, links):
        told, inside = await _status(directory, "--porcelain=v1")
        if told or await _dirty_submodules(directory, inside, depth - 1):
            found.append(name)
    return found


async def submodules(top: str) -> list[tuple[bytes, str]]:
    """List the submodules that are checked out in a working tree, by name and directory.

    Only the first few hundred are looked at. Raises ``GitError``.
    """
    return await _checked_out(top, await links_of(GitCall(_real(top), _NO_LOCKS)))


async def _checked_out(top: str, links: Sequence[bytes]) -> list[tuple[bytes, str]]:
    found = []
    for name in links:
        directory = _real(Path(top, os.fsdecode(name)))
        if not await trio.Path(directory, ".git").exists():
            continue
        if await top_level(directory) == directory:
            found.append((name, directory))
    return found


async def listed_files(path: str | os.PathLike[str], most: int) -> tuple[list[str], bool] | None:
    """List the files below ``path`` that are tracked, or neither tracked nor ignored, from there.

    At most ``most`` of them, and whether those are all; ``None`` outside git. Links are listed
    under their own names.
    """
    if await top_level(path) is None:
        return None
    call = GitCall(_real(path), _NO_LOCKS)
    told, whole = await call.beginning((most + 1) * _NAME_BYTES, *_LISTING)
    told = told[: told.rfind(b"\0") + 1]  # the last may have been cut
    found = list(dict.fromkeys(map(os.fsdecode, entries(told))))
    return found[:most], whole and len(found) <= most


async def worktree_exists(repo: str, directory: str, branch: str) -> bool:
    """Return whether ``directory`` is a complete worktree of ``repo`` on ``branch``."""
    if not await is_worktree(repo, directory):
        return False
    result = await _git(directory, "symbolic-ref", "--quiet", "HEAD")
    return result.returncode == 0 and _line(result.stdout) == os.fsencode(f"refs/heads/{branch}")


async def is_worktree(repo: str, directory: str) -> bool:
    """Return whether ``directory`` is a complete worktree of ``repo``, on any branch or commit."""
    if _state(directory) != "complete":
        return False
    if await top_level(directory) != _real(directory):
        return False
    own = os.fsdecode(_line(_checked(await _git(directory, "rev-parse", "--git-dir")).stdout))
    try:
        # Only a worktree's has it.
        leads_to = _real(named_in(Path(directory, own, "gitdir")))
    except (OSError, ValueError):
        return False
    if leads_to != _real(Path(directory, ".git")):
        return False
    return await _common_directory(directory) == await _common_directory(repo)


async def add_worktree(repo: str, directory: str, branch: str, *, marker: str = "") -> None:
    """Make a worktree of ``repo`` in ``directory`` on the new ``branch``, from ``HEAD``.

    The git that makes it, and what that starts, carry the ``marker``: should this process be
    killed, they can be found.

    Doing it again is harmless: a complete worktree is left as it is, one that a crash left half
    made is made anew, and a branch that is there already is used with the commits it has. A
    ``directory`` that is anything else is not touched: ``GitError``.
    """
    if await worktree_exists(repo, directory, branch):
        return
    target = _real(directory)
    if _state(target) in ("missing", "half-made"):
        # Forget what an earlier attempt left; says so and does nothing where there was none.
        await _git(repo, "worktree", "remove", "--force", "--force", "--", target)
    if await head(repo) is None:
        raise GitError(f"'{repo}' has no commit yet that a worktree could start from; commit first")
    if await branch_exists(repo, branch):
        arguments = ["--", target, branch]
    else:
        arguments = ["--no-track", "-b", branch, "--", target, "HEAD"]
    # Git's checkout is not the one of 'worktree add': settings may hold in the new worktree alone,
    # or on its branch (includeIf), and are looked at there. Git's own mark of one half made, the
    # lock, stands until the files do.
    add = ("worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", BEING_MADE)
    _checked(await _git(repo, *add, *arguments, marker=marker))
    failpoint("worktree.half-made")
    done = None
    try:
        done = await _git(target, "reset", "--quiet", "--hard", marker=marker)
    finally:
        # A failed command cleans up after itself, as git does; a killed one leaves it to the next
        # look.
        if done is None or done.returncode > 0:
            with (
                trio.CancelScope(shield=True, deadline=trio.current_time() + _UNDOING_SECONDS),
                suppress(GitError),  # a second failure must not hide the first
            ):
                await _git(repo, "worktree", "remove", "--force", "--force", "--", target)
    _checked(done)
    _checked(await _git(repo, "worktree", "unlock", "--", target))


async def branch_exists(repo: str, branch: str) -> bool:
    """Return whether ``repo`` has the local ``branch``."""
    found = await _git(repo, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
    return found.returncode == 0


async def remove_worktree(
    repo: str, directory: str, branch: str, commit: str, *, force: bool
) -> None:
    """Remove what ``add_worktree`` made or left half made, and the branch if it is at ``commit``.

    A directory that is anything else stays as it is. Without ``force`` so does, with ``GitError``,
    a worktree that holds work which is not committed.
    """
    target = _real(directory)
    if _state(target) in ("missing", "half-made"):
        await _git(repo, "worktree", "remove", "--force", "--force", "--", target)
    elif await worktree_exists(repo, target, branch):
        if not force:  # git would look by a git of its own, in submodules too
            await _require_committed(target)
        _checked(await _git(repo, "worktree", "remove", "--force", "--", target))
    else:
        return
    # Deletes it only while it has that value: a commit made in between is not lost.
    await _git(repo, "update-ref", "-d", f"refs/heads/{branch}", _commit(commit))


async def _require_committed(worktree: str) -> None:
    """Refuse a worktree that holds work which would be lost with it. Raises ``GitError``."""
    if await submodules(worktree):
        raise GitError(f"'{worktree}' contains submodules that are checked out, and is kept")
    if await dirty(worktree):
        raise GitError(f"'{worktree}' contains modified or untracked files, and is kept")


# A look is given up when its time is over, also while a file system does not answer. The thread
# reads what it has begun to the end of the piece.
_in_thread = functools.partial(trio.to_thread.run_sync, abandon_on_cancel=True)


async def _git(path: str | os.PathLike[str], *arguments: str, marker: str = "") -> Result:
    variables = _NO_LOCKS | ({MARKER: marker} if marker else {})
    return await GitCall(_real(path), variables).run(*arguments)


async def _status(
    top: str | os.PathLike[str], *arguments: str, seen: Seen | None = None
) -> tuple[bytes, list[bytes]]:
    """Return the ``status`` of a tree, and the names of the submodules in its index.

    It goes by what was ``seen`` there just now.
    """
    call = GitCall(_real(top) if seen is None else os.fspath(top), _NO_LOCKS)
    if seen is None:
        seen = await _in_thread(seen_at, call)
    async with honest_look(call, seen) as (git, found):
        return _checked(await git.run(*_STATUS, *arguments)).stdout, found.links


async def _head_and_status(
    top: str, seen: Seen | None, *more: str
) -> tuple[str | None, bytes, list[bytes]]:
    """Return the commit, ``status --porcelain=v2`` entries, and the submodules in the index."""
    told = ("--porcelain=v2", "--untracked-files=all", "--branch", "--no-ahead-behind", *more)
    output, links = await _status(top, *told, seen=seen)
    commit, begin = None, 0
    while output.startswith(b"# ", begin):  # lines about all: the entries follow
        line, _, _ = output[begin : begin + _NAME_BYTES].partition(b"\0")
        if line.startswith(_OID) and line != _OID + b"(initial)":
            commit = line.removeprefix(_OID).decode()
        begin = output.index(b"\0", begin) + 1
    return commit, output[begin:], links


def _checked(result: Result) -> Result:
    if result.returncode != 0:
        raise _failed(result)
    return result


def _failed(result: Result) -> GitError:
    where = f"in '{result.args[2]}' with status {result.returncode}"
    return GitError(f"git {asked_of(result.args)} failed {where}: {said_by(result)}")


def _line(output: bytes) -> bytes:
    """Return one line of output without its end; a path may itself end with a newline."""
    return output.removesuffix(b"\n")


def entries(output: bytes) -> list[bytes]:
    """Split output at NUL bytes, where git was asked for them (``-z``)."""
    return [entry for entry in output.split(b"\0") if entry]


def _path_in_v2(entry: bytes) -> bytes:
    """Parse the path in an entry of ``status --porcelain=v2`` (the format is in git-status(1))."""
    fields_before = {b"1": 8, b"u": 10, b"?": 1}[entry[:1]]
    return entry.split(b" ", fields_before)[fields_before]


def _commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise ValueError(f"{text!r} is no full commit id")
    return text


async def _common_directory(path: str) -> str:
    result = _checked(await _git(path, "rev-parse", "--git-common-dir"))
    return _real(Path(path, os.fsdecode(_line(result.stdout))))


def _real(path: str | os.PathLike[str]) -> str:
    # A few lstat calls on names that git looks at next anyway: not worth a thread.
    return os.path.realpath(path)


def _state(directory: str) -> Literal["missing", "half-made", "complete", "other"]:
    """Return the state of a worktree's place.

    While git makes a worktree it is locked, with the reason ``initializing``; a git that was killed
    at it leaves that lock.
    """
    if not os.path.lexists(directory):
        return "missing"
    try:
        record = named_in(Path(directory, ".git"))
    except (OSError, ValueError):
        return "other"
    return "half-made" if is_being_made(record) else "complete"
