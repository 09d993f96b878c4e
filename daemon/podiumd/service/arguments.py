"""The command line of ``podiumd service``: apart, because every start of the daemon reads it."""

from __future__ import annotations

import argparse
from typing import Final

ACTIONS: Final = ("install", "uninstall", "start", "stop", "restart", "status", "logs")
LEVELS: Final = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    parser.add_argument(
        "--gateway-socket", action="store_true", help="the service manager holds the gateway's port"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--follow", action="store_true", help="logs: go on with new lines")
    parser.add_argument("--since", metavar="T", help="logs: 10m, 2h, 1d, or a time")
    parser.add_argument("--level", choices=LEVELS, default="debug", help="logs: and what is graver")
