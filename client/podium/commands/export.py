"""``podium runs export``: a run as one HTML page or one JSON document."""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING

from podium import text, wire
from podium.commands.latest import run_meant
from podium.errors import UNKNOWN_METHOD, USAGE, Failure, Refusal
from podium.render.history import as_json, history
from podium.rpc.connection import Connection
from podium.rpc.follow import pages

if TYPE_CHECKING:
    from podium import protocol

STANDARD_OUTPUT = "-"


def export(
    run_id: str | None, format: str | None, output: str | None, open: bool, json: bool
) -> int:
    """``podium runs export``.

    Raises:
        Failure: the options contradict each other, or the file cannot be written.
    """
    if json and format == "html":
        raise Failure("'--json' and '--format html' exclude each other: leave one out.", USAGE)
    if open and output == STANDARD_OUTPUT:
        raise Failure("'--open' needs a file: leave '--output -' out.", USAGE)
    kind = "json" if json else format or "html"
    written = _written(run_meant(run_id), kind)
    if output is None and not open and not text.is_terminal(sys.stdout):
        output = STANDARD_OUTPUT
    if output == STANDARD_OUTPUT:
        # UTF-8 in any locale, as the page says of itself.
        sys.stdout.buffer.write(written[1].encode())
        sys.stdout.flush()
        return 0
    place = os.path.abspath(output) if output is not None else _own_place(written[0], kind)
    _write(place, written[1])
    text.tell(f"Written to {text.fold(place)}.")
    if open:
        _show(place)
    return 0


def _written(run_id: str, kind: str) -> tuple[str, str]:
    """Return the run's whole id, and the document about it."""
    with Connection() as connection:
        run: protocol.WholeRun = connection.call("runs.get", {"run_id": run_id})
        named = str(run.get("run_id"))
        told = history(connection, named)
        diff = _diff(connection, named)
        if kind == "json":
            events = [event for page in pages(connection, named) for event in page]
            changes = {"problem": diff} if isinstance(diff, str) else diff
            whole = {"run": run, "events": events, "steps": as_json(told), "changes": changes}
            return named, wire.encode(whole) + "\n"
        from podium.export.page import page
        from podium.render.tool_calls import add_calls

        add_calls(connection, told)
        return named, page(run, told, time.time(), diff)


def _diff(connection: Connection, run_id: str) -> protocol.Diff | str | None:
    """Get the run's changes, or why they are not known; ``None`` from a daemon without them."""
    try:
        found: protocol.Diff = connection.call("runs.diff", {"run_id": run_id})
    except Refusal as refusal:
        return None if refusal.code == UNKNOWN_METHOD else refusal.sentence
    return found


def _own_place(run_id: str, kind: str) -> str:
    """Return the default place of a page, where none was named.

    It is never in a project, whose next commit would take it along. It is the run's own, and takes
    the place of an earlier one.
    """
    from podium.paths import state_directory

    directory = os.path.join(state_directory(), "exports")
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
    except OSError as error:
        raise _cannot(directory, error) from error
    named = re.sub(r"[^0-9A-Za-z-]", "", text.short(run_id))
    return os.path.join(directory, f"run-{named}.{kind}")


def _write(name: str, written: str) -> None:
    from podium import atomic

    try:
        atomic.write(name, written.encode())
    except OSError as error:
        raise _cannot(name, error) from error


def _cannot(name: str, error: OSError) -> Failure:
    return Failure(
        f"'{text.fold(name)}' cannot be written: {error.strerror}. "
        "Name another place with '--output FILE'."
    )


def _show(place: str) -> None:
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(place).as_uri()):
        raise Failure("No browser was found: open the file with one yourself.")
