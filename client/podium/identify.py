"""The id that a person means by its beginning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from podium import text
from podium.connection import Connection
from podium.errors import Failure

Json = dict[str, Any]

ID_LENGTH = 36
"""A whole id (a UUID as text) needs no looking up."""

LOOKED_THROUGH = 1000


def run(connection: Connection, beginning: str) -> str:
    """The id of the run that begins so: a recipe's, or a plain prompt's that holds something.

    Raises:
        Failure: more than one does.
    """
    if len(beginning) >= ID_LENGTH:
        return beginning
    runs = connection.call("runs.list", {"limit": LOOKED_THROUGH})
    ids = [str(one.get("run_id")) for one in runs]
    if not any(one.startswith(beginning) for one in ids):
        held = connection.call("sessions.locks")
        ids += [str((lock.get("holder") or {}).get("id", "")) for lock in held]
    return _only(beginning, ids, "run")


def question(connection: Connection, beginning: str) -> str:
    """The id of the open question that begins so; raises as ``run``."""
    if len(beginning) >= ID_LENGTH:
        return beginning
    ids = [str(one.get("question_id")) for one in connection.call("questions.list")]
    return _only(beginning, ids, "open question")


def missing_question(beginning: str) -> NoReturn:
    """Say that no open question has this id.

    Raises:
        Failure: always.
    """
    shown = text.fold(beginning)
    raise Failure(f"There is no open question '{shown}': 'podium questions' lists them.")


def _only(beginning: str, ids: Iterable[str], noun: str) -> str:
    found = sorted({one for one in ids if one.startswith(beginning)})
    if len(found) > 1:
        some = ", ".join(one[: len(beginning) + 6] for one in found[:5])
        raise Failure(f"More than one {noun} begins so ({some}): give more of the id.")
    # One that is not in the lists may still be known to the daemon, or it says that it is not.
    return found[0] if found else beginning
