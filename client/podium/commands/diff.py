"""``podium diff``: what a run has changed since it began."""

from __future__ import annotations

import sys

from podium import text
from podium.commands.latest import run_meant
from podium.render.run_words import counts, named, notes, parts_of
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol

COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def diff(run_id: str | None, stat: bool, json: bool) -> int:
    """``podium diff``."""
    run_id = run_meant(run_id)
    told: protocol.Diff = call("runs.diff", {"run_id": run_id, "patch": not stat})
    if json:
        text.emit_json(told)
    elif stat or text.is_terminal(sys.stdout):
        text.emit("".join(f"{line}\n" for line in _lines(told, stat)))
    else:
        # For a pipe, a file, 'git apply': the patch alone, as it is.
        parts = [part for part, _ in parts_of(told)]
        whole = "".join(part.get("patch") or "" for part in parts)
        sys.stdout.buffer.write(whole.encode("utf-8", "replace"))
        sys.stdout.flush()
        if any(part.get("cut") for part in parts):
            text.tell("podium: the patch is cut: it is too long.")
    return 0


def _lines(told: protocol.Diff, stat: bool) -> list[str]:
    style = text.Style(sys.stdout)
    lines = [
        f"{style('yellow', str(one.get('commit'))[:12])} {text.fold(one.get('subject'))}"
        for one in told.get("commits") or []
    ]
    if told.get("more_commits"):
        lines.append(style("dim", f"and {told['more_commits']} earlier"))
    lines += [style("yellow", f"⚠ {note}") for note in notes(told)]
    for part, heading in parts_of(told):
        if part.get("files"):
            lines += ["", style("bold", f"{heading}:"), *_files(part, style)]
    for part, _heading in parts_of(told) if not stat else ():
        lines += _patch(part, style)
    return lines or ["The run has changed nothing."]


def _files(part: protocol.DiffPart, style: text.Style) -> list[str]:
    rows = [(*counts(file), named(file)) for file in part["files"]]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"  {style('green', a.rjust(wide[0]))} {style('red', d.rjust(wide[1]))}  {path}"
        for a, d, path in rows
    ]
    more = int(part.get("more") or 0)
    return [*lines, *([f"  and {text.counted(more, 'more file')}"] if more else [])]


def _patch(part: protocol.DiffPart, style: text.Style) -> list[str]:
    patch = str(part.get("patch") or "")
    if not patch:
        return []
    lines = []
    for line in patch.rstrip("\n").split("\n"):
        colour = COLOURS.get(line[:1])
        said = text.clean(line)
        lines.append(style(colour, said) if colour else said)
    cut = [style("yellow", "⚠ the rest is cut: it is too long")] if part.get("cut") else []
    return ["", *lines, *cut]
