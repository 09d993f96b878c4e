"""``podium sessions``: every conversation that the agents have kept, newest first."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from podium import text
from podium.errors import USAGE, Failure
from podium.nearest import common
from podium.render.words import holder_words, home_relative, recipe_words
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from podium import protocol

LISTED = 20
"""About a screen."""

MOST_LISTED = 100_000
"""Rows of a list: all are in memory before the first is shown."""

MOST_AT_ONCE = 1000
"""Rows that the daemon gives in one answer."""

ID_CHARACTERS = 8
STATE_CELLS = 40
NARROWEST_NAME = 12


def sessions(project: str | None, limit: str | None, forget: str | None, json: bool) -> int:
    """``podium sessions``."""
    if forget is not None:
        if project is not None or limit is not None:
            raise Failure("--forget goes without --project and --limit.", USAGE)
        return _forget(forget, json)
    wanted = whole_number("--limit", limit, LISTED, least=1, most=MOST_LISTED)
    # Agents write down the directory as the system names it, with no link in it.
    directory = None if project is None else os.path.realpath(project)
    rows, total = _listed(wanted, directory)
    if json:
        text.emit_json({"sessions": rows, "total": total})
    elif not rows:
        text.say(
            "No sessions yet."
            if directory is None
            else f"No sessions in {text.fold(home_relative(directory))}: "
            "'podium sessions' lists those of all directories."
        )
    else:
        text.emit(_table(rows, text.columns()) + _rest(len(rows), total, project))
    return 0


def whole_number(
    option: str, given: str | None, default: int, least: int, most: int = 999_999_999
) -> int:
    """Parse the value of an option that counts something.

    Raises:
        Failure: it is no whole number, or below ``least`` or above ``most``.
    """
    if given is None:
        return default
    number = int(given) if given.isascii() and given.isdecimal() and len(given) <= 9 else least - 1
    if not least <= number <= most:
        raise Failure(
            f"{option} takes a whole number from {least} to {most}, not '{text.fold(given, 40)}'.",
            USAGE,
        )
    return number


def _listed(limit: int, directory: str | None) -> tuple[list[protocol.Session], int]:
    """Return the newest ``limit`` rows, and how many there are in all."""
    rows: dict[str, protocol.Session] = {}
    params: protocol.ListSessions = {} if directory is None else {"working_directory": directory}
    while True:
        asked = min(limit - len(rows), MOST_AT_ONCE)
        answer = call("sessions.list", {**params, "limit": asked})
        new = {str(row["session_id"]): row for row in answer["sessions"]}
        fresh = new.keys() - rows.keys()
        rows |= new
        if len(rows) >= limit or len(new) < asked or not fresh:
            # A page is longer where more rows are as old as its last one.
            return list(rows.values())[:limit], int(answer["total"])
        params["before"] = answer["sessions"][-1]["last_modified"]


def _table(rows: list[protocol.Session], width: int) -> str:
    states = [text.fold(_state(row), STATE_CELLS) for row in rows]
    columns: list[list[str]] = [
        ["SESSION", *distinct(str(row["session_id"]) for row in rows)],
        ["UPDATED", *(text.ago(row.get("last_modified")) for row in rows)],
        ["MESSAGES", *(str(row.get("message_count", "")) for row in rows)],
        ["AGENT", *(text.fold(row.get("agent") or "", 16) for row in rows)],
    ]
    if any(states):
        columns.append(["STATE", *states])
    places = ["DIRECTORY", *(text.fold(home_relative(row["working_directory"])) for row in rows)]
    names = ["NAME", *(text.fold(row.get("name") or row.get("preview") or "-") for row in rows)]
    if width >= text.NARROW:
        room = width - sum(max(map(text.cells, column)) + 2 for column in columns) - 2
        most = max(NARROWEST_NAME, room // 2, room - max(map(text.cells, places)))
        names = [text.fold(name, most) for name in names]
    headings, *lines = zip(*columns, names, places, strict=True)
    return text.table(headings, lines, width)


def _state(row: protocol.Session) -> str:
    """Describe a session's state: its holder, the recipe in it, whether it is gone."""
    holder, recipe = row.get("holder"), row.get("active_recipe")
    told = ["gone"] if row.get("gone") else []
    if recipe:
        told.append(recipe_words(recipe))
    elif holder:
        told.append(holder_words(holder))
    return ", ".join(told)


def distinct(identifiers: Iterable[str]) -> list[str]:
    """Shorten ids, each to a beginning long enough to be distinct from the others."""
    given = list(identifiers)
    ordered = sorted(given)
    long: dict[str, int] = dict.fromkeys(ordered, ID_CHARACTERS)
    for one, other in pairwise(ordered):
        alike = common(one, other)
        long[one] = max(long[one], alike + 1)
        long[other] = max(long[other], alike + 1)
    return [one[: long[one]] for one in given]


def _rest(shown: int, total: int, project: str | None) -> str:
    if total <= shown:
        return ""
    more = f" --project {_quoted(project)}" if project is not None else ""
    most, which = min(total, MOST_LISTED), "all" if total <= MOST_LISTED else f"{MOST_LISTED}"
    line = f"… {total - shown} more: 'podium sessions{more} --limit {most}' lists {which}."
    return text.Style(sys.stdout)("dim", line) + "\n"


def _quoted(words: str) -> str:
    import shlex

    return text.fold(shlex.quote(words))


def _forget(beginning: str, json: bool) -> int:
    row: protocol.Session = call("sessions.get", {"session_id": beginning})
    session_id = row["session_id"]
    call("sessions.forget", {"session_id": session_id})
    name = f" ('{text.fold(row['name'], 60)}')" if row["name"] else ""
    said = f"Session {text.fold(session_id)}{name} is forgotten."
    return text.report({"forgotten": session_id}, said, json=json)
