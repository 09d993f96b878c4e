"""Disk use, and the worktrees of runs: listed, merged and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium import text
from podium.render.run_words import some
from podium.render.words import home_relative
from podium.rpc.connection import call

if TYPE_CHECKING:
    from podium import protocol

WORDS = {
    "runs": "old runs",
    "turns": "spools of failed runs",
    "checks": "output of checks of failed runs",
    "transcripts": "old conversations with Podium's own agent",
    "gone": "sessions whose transcript is gone",
    "marks": "marks of sessions that no run has",
    "copies": "copies of facts.db of earlier releases",
    "locks": "lock files that were long not taken",
}


def storage(json: bool) -> int:
    """``podium status --storage``."""
    told: protocol.StorageUsage = call("storage.usage")
    if json:
        return text.emit_json(told)
    rows = [
        (str(one["part"]), size(one["bytes"]) if one["bytes"] is not None else "many", one["bound"])
        for one in told["parts"]
        if one["bytes"] != 0
    ]
    place = text.fold(home_relative(told["state"]))
    text.emit(f"{place}\n" + text.table(("PART", "SIZE", "BOUNDED BY"), rows, text.columns()))
    if told["unused"]:
        text.say(f"{size(told['unused'])} of facts.db are not in use: 'podium prune --vacuum'.")
    return 0


def prune(dry_run: bool, vacuum: bool, what: list[str] | None, json: bool) -> int:
    """``podium prune``."""
    asked: protocol.Prune = {"dry_run": dry_run, "vacuum": vacuum, "what": what or []}
    told = call("storage.prune", asked, seconds=None)
    worktrees: list[protocol.WorktreeRow] = call("worktrees.list")
    if json:
        return text.emit_json({**told, "worktrees": worktrees})
    done = "would go" if dry_run else "removed"
    for one in told["parts"]:
        room = f", {size(one['bytes'])}" if one["bytes"] else ""
        text.say(f"{one['count']} {WORDS.get(one['part'], one['part'])} {done}{room}")
    if told["vacuumed"] is not None:
        given = "could be given back" if dry_run else "given back"
        text.say(f"{size(told['vacuumed'])} of facts.db {given}")
    if not told["parts"] and not told["vacuumed"]:
        text.say("Nothing to remove: all that is there is kept or in use.")
    if worktrees:
        _tell_worktrees(worktrees)
    return 0


def _tell_worktrees(worktrees: list[protocol.WorktreeRow]) -> None:
    """Show the worktrees: they are people's work, and only their own command removes them."""
    text.say("\nWorktrees stay until you say so ('podium worktree remove RUN'):")
    rows = [
        (
            text.short(one.get("run_id")) if one.get("run_id") else "-",
            size(one.get("bytes")),
            text.ago(one.get("started_at")),
            text.fold(one.get("branch") or home_relative(one.get("directory"))),
        )
        for one in worktrees
    ]
    text.emit(text.table(("RUN", "SIZE", "AGE", "BRANCH"), rows, text.columns()))


HEADINGS = ("RUN", "RECIPE", "STATUS", "AGE", "SIZE", "UNCOMMITTED", "BRANCH")
UNITS = ("B", "KB", "MB", "GB", "TB")


def listing(json: bool) -> int:
    """``podium worktree list``."""
    rows: list[protocol.WorktreeRow] = call("worktrees.list")
    if json:
        return text.emit_json(rows)
    if not rows:
        text.say("No worktrees: 'podium run RECIPE --worktree' makes one.")
        return 0
    known = [row for row in rows if row.get("run_id")]
    if known:
        text.emit(text.table(HEADINGS, [_row(row) for row in known], text.columns()))
    for row in rows:
        if row.get("problem"):
            place = text.fold(home_relative(row.get("directory")))
            text.say(f"⚠ {place}: {text.fold(row['problem'])}")
        if row.get("merging"):
            place = text.fold(home_relative(row.get("repository")))
            branch = text.fold(row.get("branch"))
            text.say(f"⚠ {place}: unfinished merge of {branch}")
    return 0


def _row(row: protocol.WorktreeRow) -> tuple[str, ...]:
    return (
        text.short(row.get("run_id")),
        text.fold(row.get("recipe")),
        _state(row),
        text.ago(row.get("started_at")),
        size(row.get("bytes")),
        _files(row),
        text.fold(row.get("branch")),
    )


def _state(row: protocol.WorktreeRow) -> str:
    """Describe a worktree: its run still going on, its work merged, or its work to merge."""
    if row.get("status") != "ended":
        return text.fold(row.get("status"))
    if row.get("problem"):
        return "?"
    if row.get("merged"):
        return "nothing to merge"  # it is merged, or there never was a commit
    commits = int(row.get("commits") or 0)
    return f"{text.counted(commits, 'commit')} to merge" if commits else "ended"


def _files(row: protocol.WorktreeRow) -> str:
    if row.get("problem"):
        return "?"
    files = len(row.get("uncommitted") or []) + int(row.get("more") or 0)
    return text.counted(files, "file") if files else "-"


def size(count: object) -> str:
    """Format a number of bytes as people say it."""
    if not isinstance(count, int):
        return "?"
    value, unit = float(count), 0
    while value >= 1000 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if value >= 10 or not unit else f"{value:.1f} {UNITS[unit]}"


def merge(run_id: str, json: bool) -> int:
    """``podium worktree merge``."""
    told: protocol.Merged = call("worktrees.merge", {"run_id": run_id})
    if json:
        return text.emit_json(told)
    branch, into = text.fold(told.get("branch")), text.fold(told.get("into"))
    if not told.get("merged"):
        text.say(f"Nothing to do: {into} has all of {branch} already.")
    else:
        commit = text.fold(told.get("commit"))[:12]
        place = text.fold(home_relative(told.get("repository")))
        text.say(f"Merged {branch} into {into} of {place}: {commit}.")
    left = told.get("left")
    if left and left.get("paths"):
        text.say(f"Not committed, and so not merged: {some(left)}.")
    text.say(f"The worktree stays: 'podium worktree remove {text.fold(run_id)}' removes it.")
    return 0


def remove(run_id: str, force: bool, json: bool) -> int:
    """``podium worktree remove``."""
    told: protocol.Removed = call("worktrees.remove", {"run_id": run_id, "force": force})
    if json:
        return text.emit_json(told)
    branch = text.fold(told.get("branch"))
    text.say(f"Removed {text.fold(home_relative(told.get('directory')))}.")
    if told.get("branch_kept"):
        text.say(f"The branch {branch} stays: it is checked out elsewhere, or has moved.")
    if lost := told["lost"]:
        commit = text.fold(told.get("commit"))
        back = f" While git keeps its commits, 'git branch {branch} {commit}' restores them."
        # What was not committed is in no commit: the branch may be where it began.
        text.say(f"Lost: {text.fold(lost)}.{back if told.get('lost_commits') else ''}")
    return 0
