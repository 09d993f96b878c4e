"""How much memory this process has."""

from __future__ import annotations

import os
import sys

if sys.platform == "linux":

    def resident_bytes() -> int:
        """Bytes in memory now (Linux's ``/proc/self/statm``, second field, in pages)."""
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

else:
    import psutil

    def resident_bytes() -> int:
        """Bytes in memory now."""
        return int(psutil.Process().memory_info().rss)
