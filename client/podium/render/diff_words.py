"""Words about a run's changes, on a terminal and on a page alike."""

from __future__ import annotations

import os

from podium import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from podium import protocol

    Json = dict[str, Any]

NAMED = 5
"""Files that a line names; of the others it has the number."""

_CHANGES = {"added": "new", "deleted": "deleted", "type": "another kind", "conflict": "conflict"}


def named(file: protocol.DiffFile) -> str:
    """Name a file, with what was done to it where that is more than changing it."""
    path, change = text.fold(file.get("path")), str(file.get("change"))
    if file.get("before"):
        path = f"{text.fold(file['before'])} → {path}"
    said = [_CHANGES.get(change, "")]
    said += [f"mode {text.fold(file['mode'])}"] if file.get("mode") else []
    said += ["changed before the run too"] if file.get("changed_before") else []
    more = ", ".join(one for one in said if one)
    return f"{path} ({more})" if more else path


def counts(file: protocol.DiffFile) -> tuple[str, str]:
    """Return how many lines were added and deleted; a file that is no text has none."""
    if file.get("added") is None:
        return "binary", ""
    return f"+{file['added']}", f"-{file['deleted']}"


def notes(diff: Mapping[str, Any]) -> list[str]:
    """List what a reader of a run's changes has to know of them."""
    said = []
    if diff.get("rewritten"):
        said.append(
            "Its branch was rewritten since (a rebase, for example): what came from elsewhere "
            "with that is among the changes."
        )
    if diff.get("gone"):
        said.append("Its worktree is gone: only what it committed is told.")
    return said


def left_words(run: Json) -> str:
    """Describe in a line what a run left uncommitted at its end; empty where that is nothing."""
    left = run.get("left") or {}
    if left.get("problem"):
        return f"What it left uncommitted is not known: {text.fold(left['problem'])}"
    if not (left.get("paths") or left.get("more")):
        return ""
    return f"Left uncommitted: {some(left)} (podium diff {text.short(run.get('run_id'))})"


def some(left: Mapping[str, Any]) -> str:
    """Name the first files of a list, and how many there are beside them."""
    paths = [text.fold(path) for path in left.get("paths") or []]
    more = len(paths[NAMED:]) + int(left.get("more") or 0)
    names = ", ".join(paths[:NAMED])
    return f"{names} and {more} more" if more else names


def end_notes(run: Json) -> list[str]:
    """List the notes at a run's end about the work that it leaves."""
    left = left_words(run)
    return [*([f"{left[:1].lower()}{left[1:]}"] if left else []), *worktree_notes(run)]


def worktree_notes(run: Json) -> list[str]:
    """Describe where a run's worktree is, how to take its work out, and how to remove it."""
    tree, named = run.get("worktree"), text.short(run.get("run_id"))
    if not tree:
        return []
    where, branch = text.fold(tree.get("directory")), text.fold(tree.get("branch"))
    if not os.path.isdir(str(tree.get("directory"))):
        return [f"its worktree is gone from {where}; its branch was {branch}"]
    stays = f"its worktree stays: {where}, branch {branch}"
    head = (run.get("left") or {}).get("head")
    if head and head == run.get("base"):
        return [stays, f"it has no commit of its own: podium worktree remove {named}"]
    take = f"take its work: podium worktree merge {named}; podium worktree remove {named}"
    return [stays, take]
