"""What stands in a git repository and is neither a file nor a directory.

Git writes through links: one in the place of a log or an index has it write wherever the link
leads, outside of the sandbox that the link was made in. From a pipe it would read for ever.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

# Large, and written to by content alone: a link there leads nothing of meaning elsewhere.
_HEAPS = ("objects", "lfs", "annex")
_NAMES = ("refs", "logs")  # below these a directory of any name is part of a name


def odd_entries(repositories: Iterable[str]) -> frozenset[str]:
    """The links, pipes, sockets and devices in these directories. Blocks.

    What cannot be looked into is passed over.
    """
    found: set[str] = set()
    left = [(path, False) for path in repositories]
    while left:
        directory, named = left.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if named or entry.name not in _HEAPS:
                            left.append((entry.path, named or entry.name in _NAMES))
                    elif not entry.is_file(follow_symlinks=False):
                        found.add(entry.path)
        except OSError:
            continue
    return frozenset(found)
