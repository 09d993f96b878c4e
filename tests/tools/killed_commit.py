"""Makes the commit of a turn, for crash tests: ``python killed_commit.py ORDER.json ORIGINALS``.

``PODIUM_FAILPOINT`` says where it kills itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import trio

from podiumd.tools.commit.commit import commit_changes
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.result import CommitOrder

ORDER = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=CommitOrder)

trio.run(commit_changes, ORDER, Originals(Path(sys.argv[2])))
