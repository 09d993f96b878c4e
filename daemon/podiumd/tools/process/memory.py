"""Memory of this process, of an agent with everything it started, and a program's bound of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

NOT_FOUND: Final = 127
"""The status of a ``bounded`` command whose program is not there: the shell's."""

if sys.platform == "linux":
    import resource

    def bound_data(pid: int, most: int) -> None:
        """Have a process, and what it starts from now on, get at most so many bytes each of memory
        of its own; what it maps of files to read does not count. Nothing where it has gone."""
        with suppress(OSError):  # gone, or of another user meanwhile
            _, hard = resource.prlimit(pid, resource.RLIMIT_DATA)
            resource.prlimit(pid, resource.RLIMIT_DATA, (_least(most), hard))

    def bounded(command: Sequence[str], most: int) -> list[str]:
        """Return a command line that has this bound before its program begins.

        It costs a third more than a short git, for a shell comes first.
        """
        script = f'ulimit -S -d {_least(most) // 1024} || :; exec "$@"'
        return ["/bin/sh", "-c", script, "sh", *command]

    def _least(most: int) -> int:
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        return most if soft == resource.RLIM_INFINITY else min(most, soft)

    def resident_bytes() -> int:
        """Bytes in memory now (Linux's ``/proc/self/statm``, second field, in pages)."""
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def tree_bytes(pid: int) -> int:
        """Return the bytes in memory of a process and all its descendants; 0 when it is gone.

        Shared memory is counted for each. A child whose parent has ended is not found.
        """
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:
                own = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            return own + sum(map(tree_bytes, _children(pid)))
        except (OSError, IndexError, ValueError):
            return 0  # gone meanwhile

    def _children(pid: int) -> list[int]:
        found: list[int] = []
        for task in Path(f"/proc/{pid}/task").iterdir():
            with open(task / "children", "rb") as file:
                found += map(int, file.read().split())
        return found

else:
    import psutil

    def bound_data(pid: int, most: int) -> None:
        """Do nothing: the system has no such bound."""

    def bounded(command: Sequence[str], most: int) -> list[str]:
        """Return the same command line: the system has no such bound."""
        return list(command)

    def resident_bytes() -> int:
        """Bytes in memory now."""
        return int(psutil.Process().memory_info().rss)

    def tree_bytes(pid: int) -> int:
        """Bytes in memory of a process and all its descendants; 0 when it is gone."""
        try:
            process = psutil.Process(pid)
            return sum(one.memory_info().rss for one in (process, *process.children(True)))
        except psutil.Error:
            return 0
