"""``podium runs export``: a run as one HTML page or one JSON document."""

from __future__ import annotations

import os
import re
import sys
import time

from podium import text, wire
from podium.errors import USAGE, Failure
from podium.fetch import fetched
from podium.history import as_json, told

STANDARD_OUTPUT = "-"


def export(run_id: str, format: str | None, output: str | None, json: bool) -> int:
    """``podium runs export``.

    Raises:
        Failure: the formats contradict each other, or the file cannot be written.
    """
    if json and format == "html":
        raise Failure("'--json' and '--format html' exclude each other: leave one out.", USAGE)
    kind = "json" if json else format or "html"
    run, events = fetched(run_id)
    history, now = told(events), time.time()
    if kind == "json":
        whole = {"run": run, "events": events, "steps": as_json(history, now)}
        written = wire.encode(whole) + "\n"
    else:
        from podium.export_page import page

        written = page(run, history, now)
    if output is None and not text.is_terminal(sys.stdout):
        output = STANDARD_OUTPUT
    if output == STANDARD_OUTPUT:
        # UTF-8 in any locale, as the page says of itself.
        sys.stdout.buffer.write(written.encode())
        sys.stdout.flush()
        return 0
    if output is not None:
        _write(output, written)
    else:
        # What is in the way of a name that nobody chose is not for us to replace.
        named = re.sub(r"[^0-9A-Za-z-]", "", text.short(run.get("run_id")))
        output = f"run-{named}.{kind}"
        _write(output, written, replace=False)
    text.tell(f"Written to {text.fold(os.path.abspath(output))}.")
    return 0


def _write(name: str, written: str, *, replace: bool = True) -> None:
    from podium import atomic

    try:
        atomic.write(name, written.encode(), replace=replace)
    except FileExistsError as error:
        raise Failure(
            f"There is a file '{text.fold(name)}' already: '--output {text.fold(name)}' "
            "replaces it, another name keeps it."
        ) from error
    except OSError as error:
        raise Failure(
            f"'{text.fold(name)}' cannot be written: {error.strerror}. "
            "Name another place with '--output FILE'."
        ) from error
