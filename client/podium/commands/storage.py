"""Disk use: ``podium status --storage``, ``podium prune``."""

from __future__ import annotations

from podium import text
from podium.commands.worktree import size
from podium.render.words import home_relative
from podium.rpc.connection import Connection, call

TYPE_CHECKING = False
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
        text.emit_json(told)
        return 0
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
    asked = {"dry_run": dry_run, "vacuum": vacuum, "what": what or []}
    connection = Connection()
    told: protocol.Pruned = connection.call("storage.prune", asked, seconds=None)
    connection.close()
    worktrees: list[protocol.WorktreeRow] = call("worktrees.list")
    if json:
        text.emit_json({**told, "worktrees": worktrees})
        return 0
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
