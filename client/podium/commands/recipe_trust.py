"""``podium recipe trust``: a person sees what a project's recipes would do, and agrees or not."""

from __future__ import annotations

import os
import shlex
import sys

from podium import text
from podium.errors import ERROR, OK, USAGE, Failure
from podium.given import at_terminal
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol


PREVIEW = 100
"""How many characters of a prompt are shown; its file has the rest."""


def trust(place: str | None, cwd: str | None, yes: bool, revoke: bool, json: bool) -> int:
    """Show the project's recipes that are new or changed, ask, and trust what was shown."""
    if place is not None and cwd is not None:
        raise Failure("The project is given twice: name it, or give --cwd.", USAGE)
    directory = os.path.abspath(place or cwd or os.getcwd())
    if revoke:
        return _agree(directory, {}, "No recipe of the project is trusted any more.", json)
    listed: list[protocol.RecipeRow] = call("recipes.list", {"working_directory": directory})
    if not listed:
        raise Failure("Recipes are off: 'podium orchestration on' switches them on.")
    own = [one for one in listed if one.get("source") == "project"]
    recipes = [_whole(one, directory) for one in own if one.get("ok", True)]
    new = [one for one in recipes if not one.get("trusted")]
    if not json:
        _tell_broken(own, directory)
        if not own:
            text.tell(f"{text.fold(directory)} has no recipes of its own: nothing to trust.")
        elif not new and recipes:
            text.tell("The project's recipes are trusted already.")
        text.emit("".join(f"{line}\n" for one in new for line in _review(one)))
    if new and not yes:
        _require_person(json)
        if not _confirmed(len(new)):
            text.tell("Nothing was trusted.")
            return ERROR
    digests = {str(one["id"]): str(one["digest"]) for one in recipes}
    words = f"Trusted: {', '.join(text.fold(one['id']) for one in new)}." if new else ""
    if not digests:
        if json:
            text.emit_json([])
        return ERROR if own else OK
    return _agree(directory, digests, words, json)


def _agree(directory: str, digests: dict[str, str], words: str, json: bool) -> int:
    """Have exactly these trusted: the daemon refuses what has changed since it was shown."""
    answer = call("recipes.trust", {"working_directory": directory, "digests": digests})
    if json:
        text.emit_json(answer)
    elif words:
        text.say(words)
    return OK


def _whole(listed: protocol.RecipeRow, directory: str) -> protocol.KnownRecipe:
    """Get the whole recipe, as the daemon read it for the digest that comes with it.

    The list alone has what it shadows: by its source and name it is meant whatever else there is.
    """
    name = f"project.{listed['id']}"
    recipe: protocol.KnownRecipe = call("recipes.get", {"id": name, "working_directory": directory})
    return {**recipe, "shadows": listed.get("shadows") or []}


def _tell_broken(own: list[protocol.RecipeRow], directory: str) -> None:
    for one in own:
        if not one.get("ok", True):
            name = text.fold(one.get("id"))
            command = shlex.join(["podium", "recipe", "show", name, "--cwd", directory])
            text.tell(f"{name} is broken and cannot be trusted: '{text.fold(command)}' says why.")


def _require_person(json: bool) -> None:
    if json:
        raise Failure("--json does not ask: add --yes to trust the recipes.", USAGE)
    if not at_terminal():
        raise Failure("No terminal to ask at: run it at one, or add --yes.", USAGE)


def _confirmed(count: int) -> bool:
    which = "this recipe" if count == 1 else f"these {count} recipes"
    text.emit(f"Trust {which}, with its commands and prompts as they are now? [y/N] ")
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _review(recipe: protocol.KnownRecipe) -> list[str]:
    """Describe what a recipe would do, with each command whole: nothing may hide at its end."""
    style = text.Style(sys.stdout)
    state = " (changed since it was trusted)" if recipe.get("changed") else ""
    name = style("bold", text.fold(recipe.get("id")))
    lines = [
        f"{name}: {text.fold(recipe.get('label'))}{style('yellow', state)}",
        f"  {text.fold(recipe.get('path'))}",
    ]
    if recipe.get("shadows"):
        hidden = " and ".join(map(text.fold, recipe["shadows"]))
        lines.append(style("yellow", f"  takes the place of the {hidden} recipe of that name"))
    for step, body in (recipe.get("steps") or {}).items():
        lines.append(f"  {text.fold(step)}")
        lines += [f"    {what}: {how}" for what, how in _acts(body)]
    return [*lines, ""]


def _acts(body: protocol.Step) -> list[tuple[str, str]]:
    """List what a step does: each act, and its whole command."""
    acts: list[tuple[str, str]] = []
    if body.get("run"):
        acts.append(("runs", _command(body["run"])))
    if shell := body.get("shell"):
        acts.append(("runs in a shell", _line(shell)))
    if body.get("recipe"):
        acts.append(("runs the recipe", text.fold(body["recipe"])))
    for key in ("prompt", "system", "opening"):
        if body.get(key):
            words = str(body[key])
            acts.append((f"{key} of {len(words)} characters", text.fold(words, PREVIEW)))
    if body.get("allow"):
        acts.append(("allows unasked", ", ".join(map(text.fold, body["allow"]))))
    if body.get("permission_mode"):
        acts.append(("permission mode", text.fold(body["permission_mode"])))
    acts += [("then checks", _command(check.get("run"))) for check in body.get("checks") or []]
    acts += [
        (f"hook {text.fold(hook.get('event'))}", _command(hook.get("run")))
        for hook in body.get("hooks") or []
    ]
    return acts


def _command(argv: list[str] | None) -> str:
    return _line(shlex.join(map(str, argv or [])))


def _line(words: str) -> str:
    return text.clean(words).replace("\n", "\\n").replace("\t", "\\t")
