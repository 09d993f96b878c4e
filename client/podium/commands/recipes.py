"""Recipes: what there is, what one does, how a reply would be read, and the switch for all."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from podium import text
from podium.errors import ERROR, OK, USAGE, Failure, stopped
from podium.given import utf8_text
from podium.render import drawing
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podium import protocol


Json = dict[str, Any]


def list_recipes(cwd: str | None, json: bool) -> int:
    """``podium recipe list``."""
    answer: list[protocol.RecipeRow] = call("recipes.list", {"working_directory": directory(cwd)})
    if json:
        text.emit_json(answer)
    elif not answer:
        text.say("No recipes (if they are off: 'podium orchestration on').")
    else:
        headings = ("RECIPE", "LABEL", "SOURCE", "DESCRIPTION")
        text.emit(text.table(headings, map(_row, answer), text.columns()))
        _explain(answer, cwd)
    return OK


def _row(recipe: protocol.RecipeRow) -> tuple[str, ...]:
    marks = [str(recipe.get("source"))]
    marks += ["broken"] if _broken(recipe) else []
    marks += _trust(recipe)
    shadows = " and ".join(map(str, recipe.get("shadows") or []))
    marks += [f"shadows {shadows}"] if shadows else []
    return (
        str(recipe.get("id")),
        str(recipe.get("label")),
        ", ".join(marks),
        str(recipe.get("description") or _why_broken(recipe)),
    )


def _why_broken(recipe: protocol.RecipeRow) -> str:
    return f"'podium recipe check {recipe.get('id')}' says why" if _broken(recipe) else ""


def _trust(recipe: protocol.RecipeRow) -> list[str]:
    if recipe.get("trusted", True):
        return []
    return ["changed, untrusted" if recipe.get("changed") else "untrusted"]


def _broken(recipe: protocol.RecipeRow) -> bool:
    return not recipe.get("ok", True)


def _explain(answer: list[protocol.RecipeRow], cwd: str | None) -> None:
    """Explain the marks in the list to a person, on standard error."""
    broken = next((text.fold(one.get("id")) for one in answer if _broken(one)), None)
    if broken is not None:
        text.tell(f"A broken recipe does not run: 'podium recipe show {broken}' names its faults.")
    untrusted = [one for one in answer if not one.get("trusted", True)]
    if untrusted:
        text.tell(f"An untrusted recipe does not run. {_how_to_trust(cwd)}")
    for one in untrusted:
        if one.get("shadows"):
            name, below = text.fold(one.get("id")), text.fold(one["shadows"][0])
            text.tell(f"'podium run {below}.{name}' starts the {below} recipe that it shadows.")
            break


def _how_to_trust(cwd: str | None) -> str:
    where = "" if cwd is None else f" {shlex.quote(directory(cwd))}"
    return f"'podium recipe trust{where}' shows what it would do and lets it run."


def show(name: str, cwd: str | None, json: bool) -> int:
    """``podium recipe show``: drawn, a box for each step."""
    recipe: protocol.KnownRecipe = call(
        "recipes.get", {"id": name, "working_directory": directory(cwd)}
    )
    if json:
        text.emit_json(recipe)
        return OK
    text.emit(drawing.drawn(recipe, text.Style(sys.stdout), text.columns()))
    if not recipe.get("trusted", True):
        where = text.fold(recipe.get("path"))
        text.tell(f"It comes with the project ({where}) and is not trusted. {_how_to_trust(cwd)}")
    return OK


def outcome(name: str, step: str, file: str, cwd: str | None, json: bool) -> int:
    """``podium recipe outcome``: how a reply would be read; exit 1 where it would not."""
    params = {
        "id": name,
        "step": step,
        "text": read_text(file),
        "working_directory": directory(cwd),
    }
    answer: Json = call("recipes.outcome", params)
    if json:
        text.emit_json(answer)
    elif answer.get("ok"):
        described = f": {text.fold(answer['description'])}" if answer.get("description") else ""
        repaired = ", repaired" if answer.get("repaired") else ""
        source = f"{text.fold(answer.get('source'))}{repaired}"
        text.say(f"{text.fold(answer.get('outcome'))}{described} ({source})")
    else:
        message = stopped(text.fold(answer.get("message")))
        text.tell(f"podium: {text.fold(answer.get('error'))}: {message}")
        if answer.get("excerpt"):
            text.tell(text.clean(answer["excerpt"]))
    return OK if answer.get("ok") else ERROR


def read_text(file: str) -> str:
    """Read a file as text, or standard input for ``-``.

    Raises:
        Failure: it is not UTF-8.
    """
    if file == "-":
        return utf8_text("-")
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not valid UTF-8: convert it first.", USAGE) from error


def orchestration(state: str | None, json: bool) -> int:
    """``podium orchestration [on|off]``."""
    if state is None:
        return _switch(call("daemon.status").get("orchestration") or {}, json)
    answer: Json = call("daemon.configure", {"orchestration_enabled": state == "on"})
    if json:
        text.emit_json(answer)
    elif state == "on":
        text.say("Recipes are on.")
    else:
        text.say("Recipes are off; active runs finish their turn and end.")
    return OK


def _switch(found: Json, json: bool) -> int:
    if json:
        text.emit_json(found)
    elif found.get("enabled", True):
        text.say("Recipes are on ('podium orchestration off' switches them off).")
    else:
        text.say("Recipes are off ('podium orchestration on' switches them on).")
    return OK


def directory(cwd: str | None) -> str:
    """Return the absolute path of the project that is meant."""
    return os.path.abspath(cwd or os.getcwd())
