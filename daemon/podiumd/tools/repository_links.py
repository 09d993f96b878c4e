"""What stands in a git repository and is neither a file nor a directory.

Git writes through links: one in the place of a log or an index has it write wherever the link
leads, outside of the sandbox that the link was made in. From a pipe it would read for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from podiumd.tools.owner_rights import entries_of

# Large, and written to by content alone: a link there leads nothing of meaning elsewhere.
_HEAPS = ("objects", "lfs", "annex")
_NAMES = ("refs", "logs")  # below these a directory of any name is part of a name


class Odd(NamedTuple):
    """``entries`` are links, pipes, sockets and devices, ``shut`` what cannot be looked into."""

    entries: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()


def odd_entries(repositories: Iterable[str]) -> Odd:
    """What is odd in these directories. Blocks."""
    found, shut = set[str](), set[str]()
    left = [(path, False) for path in repositories]
    while left:
        directory, named = left.pop()
        try:
            for entry in entries_of(directory):
                if entry.is_dir(follow_symlinks=False):
                    if named or entry.name not in _HEAPS:
                        left.append((entry.path, named or entry.name in _NAMES))
                elif not entry.is_file(follow_symlinks=False):
                    found.add(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone meanwhile
        except OSError:
            shut.add(directory)
    return Odd(frozenset(found), frozenset(shut))
