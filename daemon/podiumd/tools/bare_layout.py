"""Whether a directory is laid out as a git repository itself, without a ``.git``.

Git takes such a directory for a repository, and what it names would run.
"""

from __future__ import annotations

import os
from pathlib import Path


def is_laid_out(directory: str | Path) -> bool:
    """Whether git would take the directory itself for a repository. Blocks for some names.

    Objects and refs may lie where ``commondir`` says.
    """
    there = Path(directory)
    if not os.path.lexists(there / "HEAD"):
        return False
    if os.path.lexists(there / "commondir"):
        return True
    return os.path.lexists(there / "objects") and os.path.lexists(there / "refs")
