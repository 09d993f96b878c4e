"""Conditions that an index of a database and the queries which it serves have in common."""

from __future__ import annotations

from typing import Final

CALLED_OTHERWISE: Final = "gone = 0 AND lower(substr(path, -42, 36)) <> session_id"
"""Sessions whose file is not called as they, as most are."""

NAMED_OTHERWISE: Final = "own_id <> ''"
"""Sessions of which the agent's own id is another than the one that clients know."""
