"""A full disk, told from other faults: it is waited out, or said, and never a fault of ours."""

from __future__ import annotations

import errno


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no room, on the disk or in the user's share of it."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
