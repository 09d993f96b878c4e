"""Name runs, recipes, holders and places as lists and lines of a terminal show them."""

from __future__ import annotations

import os

from podium import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol

PENDING = {
    "pause": "will pause",
    "interrupt": "interrupting",
    "cancel": "cancelling",
    "end": "will end",
}
"""Change that was asked of a run and has not come yet, by its ``stop``."""


def status_words(run: protocol.Run) -> str:
    """Describe the state of a run, and a pending change: ``running, will pause``.

    ``waiting, paused``: after the answer it goes on only when it is resumed.
    """
    status, pending = str(run.get("status") or ""), PENDING.get(str(run.get("stop")))
    also = "paused" if run.get("paused") and status != "paused" else None
    return ", ".join(filter(None, (status, also, pending)))


def run_name(run: protocol.Run | protocol.ActivePrompt | protocol.Talk) -> str:
    """Return the name of a run: by recipe and task."""
    return str(run.get("name") or run.get("recipe") or run.get("kind") or "")


def end_sign(ended: protocol.Exit) -> str:
    """Return the sign of a run's end: well, badly, or so that a person should look."""
    if ended["class"] == "completed":
        return "✓"
    return "✗" if ended["category"] == "error" else "⚠"


def home_relative(directory: object) -> str:
    """Return a directory as people write it."""
    path, home = str(directory or ""), os.environ.get("HOME", "")
    return f"~{path[len(home) :]}" if home and (path + "/").startswith(home + "/") else path


def holder_words(holder: protocol.LockHolder) -> str:
    """Name the holder of something: ``run 1a2b3c4d``, ``foreign process 4711``."""
    if holder.get("kind") == "foreign":
        return f"foreign process {holder.get('pid', '?')}"
    return f"{holder.get('kind', '?')} {text.short(holder.get('id'))}"


def recipe_words(recipe: protocol.ActiveRecipe) -> str:
    """Describe where a recipe is: ``fix-it: review 4/12``."""
    most = recipe.get("max_total_steps")
    count = f"{recipe.get('step_count')}" + (f"/{most}" if most else "")
    return f"{recipe.get('recipe_id')}: {recipe.get('current_step') or '-'} {count}"
