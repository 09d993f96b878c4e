"""``podiumd`` that cuts a subscriber loose after half a second in place of ten.

Its last words wait longer for one who begins to read then.
"""

from __future__ import annotations

import functools
import sys
from unittest import mock

from podiumd.__main__ import main
from podiumd.rpc import server
from podiumd.rpc.limits import RpcLimits

if __name__ == "__main__":
    impatient = functools.partial(RpcLimits, slow_seconds=0.5, flush_seconds=10.0)
    with mock.patch.object(server, "RpcLimits", impatient):
        sys.exit(main())
