"""How much memory this process has, and an agent with everything it started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "linux":

    def resident_bytes() -> int:
        """Bytes in memory now (Linux's ``/proc/self/statm``, second field, in pages)."""
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def tree_bytes(pid: int) -> int:
        """Bytes in memory of a process and all its descendants; 0 when it is gone.

        What they share is counted for each. A child whose parent has ended is not found.
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
