"""Bounds the memory of each git of ours: what it reads says how much it takes for it.

A few bytes of an index or of an object can stand for gigabytes. What is looked at before (see
``index_file``) can be exchanged until git reads it. So the kernel refuses a git more than a bound
that no honest repository comes near: the look at 100,000 files takes 32 MB, and the stacks of its
threads 200 MB that it never fills.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from typing import Final

from podiumd.tools.git.at_work import AT_WORK
from podiumd.tools.process.memory import bounded

MOST_BYTES: Final = 2 * 1024**3
OVER: Final = (
    "git {} in '{}' asked for more than {:g} GB of memory, which none of Podium's gets, and gave "
    "up: its index or an object there says that it is larger ('git fsck' tells), or the repository "
    "is too large for Podium"
)
_DIED: Final = re.compile(
    rb"^(?:fatal|error): .*(?:out of memory|cannot allocate memory"
    rb"|unable to create thread.*: resource temporarily unavailable)",
    re.MULTILINE | re.IGNORECASE,
)


def bounded_from_its_start(command: Sequence[str]) -> list[str]:
    """Return the line of a git that is bounded before it begins.

    So it is where a command is at work that could exchange what it reads in its first moments. Else
    its bound comes just after, which costs nothing.
    """
    return bounded(command, MOST_BYTES) if AT_WORK.anybody() else list(command)


def died_of_it(result: subprocess.CompletedProcess[bytes]) -> bool:
    """Return whether a git failed for want of memory."""
    return result.returncode != 0 and _DIED.search(result.stderr or b"") is not None
