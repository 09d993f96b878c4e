"""A full disk, as apart from other faults: waited out, or reported, and never our fault."""

from __future__ import annotations

import errno


def is_full(error: BaseException) -> bool:
    """Return whether an error means no room, on the disk or in the user's quota."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
