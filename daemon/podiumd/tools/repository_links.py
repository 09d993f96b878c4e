"""What stands in a git repository and is neither a file nor a directory.

Git writes through links: one in the place of a log or an index has it write wherever the link
leads, outside of the sandbox that the link was made in. From a pipe it would read for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from podiumd.tools.git_waits import would_wait
from podiumd.tools.owner_rights import entries_of, status_of

# Large, and written to by content alone: a link there leads nothing of meaning elsewhere.
_HEAPS = ("objects", "lfs", "annex")
_OBJECTS = "objects"
_TICK_NS = 2_000_000_000  # what clock and file system may differ by
_DEEPEST = 3  # info/commit-graphs
_ALONE = 2
"""Names of a directory that has none below it, where file systems count them so."""
_NAMES = ("refs", "logs")  # below these a directory of any name is part of a name


class Odd(NamedTuple):
    """``entries`` are links, pipes, sockets and devices, ``shut`` what cannot be looked into."""

    entries: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()


def odd_entries(repositories: Iterable[str], since: int | None = None) -> Odd:
    """What is odd in these directories. Blocks. Objects are looked at for what came to them after
    ``since``, the time of a clock in nanoseconds, alone: there are many."""
    found, shut = set[str](), set[str]()
    left = [(path, False) for path in repositories]
    while left:
        directory, named = left.pop()
        try:
            for entry in entries_of(directory):
                if entry.is_dir(follow_symlinks=False):
                    if since is not None and entry.name == _OBJECTS and not named:
                        found |= _among_objects(entry.path, since - _TICK_NS, shut)
                    elif named or entry.name not in _HEAPS:
                        left.append((entry.path, named or entry.name in _NAMES))
                elif not entry.is_file(follow_symlinks=False):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return Odd(frozenset(found), frozenset(shut))


def _among_objects(objects: str, since: int, shut: set[str]) -> set[str]:
    """What git would wait at among its objects, and the links that are newer than ``since``: two
    directories deep it reads by name. A directory in which nothing is new is not looked into; the
    time of a change is the kernel's, which nothing in a sandbox can set."""
    found = set[str]()
    left = [(objects, 0)]
    while left:
        directory, depth = left.pop()
        try:
            if depth and status_of(directory).st_ctime_ns < since and not _has_below(directory):
                continue
            for entry in entries_of(directory):
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST:
                        left.append((entry.path, depth + 1))
                elif not entry.is_file(follow_symlinks=False) and (
                    would_wait(entry.path) or status_of(entry.path).st_ctime_ns >= since
                ):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return found


def _has_below(directory: str) -> bool:
    """Whether there may be directories in it, which do not show in its own time."""
    return status_of(directory).st_nlink != _ALONE
