"""``podiumd`` whose gateway gives a phone that takes nothing three seconds in place of thirty."""

from __future__ import annotations

import functools
import sys
from unittest import mock

from podiumd.__main__ import main
from podiumd.gateway import server
from podiumd.gateway.limits import GatewayLimits

STALL_SECONDS = 3.0

if __name__ == "__main__":
    options = server.GatewayOptions
    impatient = functools.partial(options, limits=GatewayLimits(stall_seconds=STALL_SECONDS))
    with mock.patch("podiumd.gateway.service.GatewayOptions", impatient):
        sys.exit(main())
