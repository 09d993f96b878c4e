"""Default run where a person names none: the active one, else the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium import text
from podium.errors import Failure
from podium.render.words import run_name
from podium.rpc.connection import call

if TYPE_CHECKING:
    from podium import protocol


def run_meant(named: str | None) -> str:
    """Return the named run, else the latest active one, else the latest of all.

    A run that was not named is reported on standard error.

    Raises:
        Failure: there is no run yet.
    """
    if named is not None:
        return named
    found: list[protocol.Run] = call("runs.list", {"active": True, "limit": 1})
    how = "the latest active run"
    if not found:
        found = call("runs.list", {"limit": 1})
        how = "the latest run"
    if not found:
        raise Failure("There is no run yet: 'podium run RECIPE' starts one.")
    run_id = str(found[0]["run_id"])
    text.tell(f"podium: {how}, {text.short(run_id)}: {text.fold(run_name(found[0]), 60)}")
    return run_id
