"""Recipes: what there is, what one does, how a reply would be read, and the switch for all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from podium import text
from podium.commands_start import UNTRUSTED, given_text
from podium.connection import call
from podium.errors import ERROR, OK, USAGE, Failure, stopped

Json = dict[str, Any]


def list_recipes(cwd: str | None, json: bool) -> int:
    """``podium recipe list``."""
    answer: list[Json] = call("recipes.list", {"working_directory": _directory(cwd)})
    if json:
        text.emit_json(answer)
    elif not answer:
        text.emit("No recipes (if they are off: 'podium orchestration on').\n")
    else:
        headings = ("RECIPE", "LABEL", "SOURCE", "DESCRIPTION")
        text.emit(text.table(headings, map(_row, answer), text.columns()))
        _explain(answer)
    return OK


def _row(recipe: Json) -> tuple[str, ...]:
    marks = [str(recipe.get("source"))]
    marks += ["broken"] if _broken(recipe) else []
    marks += [] if recipe.get("trusted", True) else ["untrusted"]
    shadows = " and ".join(map(str, recipe.get("shadows") or []))
    marks += [f"shadows {shadows}"] if shadows else []
    return (
        str(recipe.get("id")),
        str(recipe.get("label")),
        ", ".join(marks),
        str(recipe.get("description") or ""),
    )


def _broken(recipe: Json) -> bool:
    return not recipe.get("ok", True)


def _explain(answer: list[Json]) -> None:
    """What the marks in the list mean for a person, on standard error."""
    broken = next((text.fold(one.get("id")) for one in answer if _broken(one)), None)
    if broken is not None:
        text.tell(f"A broken recipe does not run: 'podium recipe show {broken}' names its faults.")
    if not all(one.get("trusted", True) for one in answer):
        text.tell(f"An untrusted recipe does not run. {UNTRUSTED}")


def show(name: str, cwd: str | None, json: bool) -> int:
    """``podium recipe show``: steps and edges drawn as text."""
    recipe: Json = call("recipes.get", {"id": name, "working_directory": _directory(cwd)})
    if json:
        text.emit_json(recipe)
        return OK
    style = text.Style(sys.stdout)
    lines = [f"{style('bold', text.fold(recipe.get('label')))} ({text.fold(recipe.get('id'))})"]
    if recipe.get("description"):
        lines.append(text.fold(recipe["description"]))
    lines += _params(recipe) + _limits(recipe)
    for step, body in (recipe.get("steps") or {}).items():
        lines += ["", *_step(str(step), body, recipe, style)]
    text.emit("\n".join(lines) + "\n")
    return OK


def _params(recipe: Json) -> list[str]:
    lines = []
    for name, param in (recipe.get("params") or {}).items():
        default = param.get("default")
        need = "required" if default is None else f"default {text.fold(default) or 'empty'}"
        about = f"  {text.fold(param['description'])}" if param.get("description") else ""
        lines.append(f"  -p {text.fold(name)}=...  {text.fold(param.get('type'))}, {need}{about}")
    return ["", "Parameters", *lines] if lines else []


def _limits(recipe: Json) -> list[str]:
    limits = {
        name.removeprefix("max_").replace("_", " "): value
        for name, value in (recipe.get("limits") or {}).items()
        if name.startswith("max_") and value is not None
    }
    said = ", ".join(f"{text.fold(name)} {value}" for name, value in limits.items())
    return ["", f"At most: {said}"] if said else []


def _step(name: str, body: Json, recipe: Json, style: text.Style) -> list[str]:
    marks = [str(body.get("kind") or "turn")]
    marks += ["start"] if name == recipe.get("initial") else []
    if body.get("session") not in (None, "same"):
        marks.append(f"{body['session']} session")
    if body.get("agent"):
        marks.append(f"agent {body['agent']}")
    if isinstance(body.get("tools"), str) and body["tools"] != "all":
        marks.append(f"tools {body['tools']}")
    marks += [word for word in ("commits", "irreversible") if body.get(word)]
    lines = [f"{style('bold', text.fold(name))}  {style('dim', text.fold(', '.join(marks)))}"]
    for key, label in (("gate", "asks first"), ("ask", "asks"), ("prompt", "says")):
        if body.get(key):
            lines.append(f"  {label}: {text.fold(body[key], 100)}")
    command = " ".join(map(str, body.get("run") or [])) or body.get("shell")
    if command:
        lines.append(f"  runs: {text.fold(command)}")
    checks = [" ".join(map(str, check.get("run") or [])) for check in body.get("checks") or []]
    lines += [f"  checks: {text.fold(check)}" for check in checks]
    edges = body.get("on") or {}
    width = max((len(text.fold(outcome)) for outcome in edges), default=0)
    for outcome, edge in edges.items():
        lines.append(f"  {text.fold(outcome).ljust(width)} ─→ {_target(edge)}")
    return lines


def _target(edge: Json) -> str:
    if edge.get("to"):
        return text.fold(edge["to"])
    kind = f" ({text.fold(edge['class'])})" if edge.get("class") else ""
    return f"exit {text.fold(edge.get('exit'))}{kind}"


def outcome(name: str, step: str, file: str, cwd: str | None, json: bool) -> int:
    """``podium recipe outcome``: how a reply would be read; exit 1 where it would not."""
    params = {"id": name, "step": step, "text": _reply(file), "working_directory": _directory(cwd)}
    answer: Json = call("recipes.outcome", params)
    if json:
        text.emit_json(answer)
    elif answer.get("ok"):
        described = f": {text.fold(answer['description'])}" if answer.get("description") else ""
        repaired = ", repaired" if answer.get("repaired") else ""
        source = f"{text.fold(answer.get('source'))}{repaired}"
        text.emit(f"{text.fold(answer.get('outcome'))}{described} ({source})\n")
    else:
        message = stopped(text.fold(answer.get("message")))
        text.tell(f"podium: {text.fold(answer.get('error'))}: {message}")
        if answer.get("excerpt"):
            text.tell(text.clean(answer["excerpt"]))
    return OK if answer.get("ok") else ERROR


def _reply(file: str) -> str:
    if file == "-":
        return given_text("-")
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not valid UTF-8: convert it first.", USAGE) from error


def orchestration(state: str, json: bool) -> int:
    """``podium orchestration on|off``."""
    answer: Json = call("daemon.configure", {"orchestration_enabled": state == "on"})
    if json:
        text.emit_json(answer)
    elif state == "on":
        text.emit("Recipes are on.\n")
    else:
        text.emit("Recipes are off; active runs finish their turn and end.\n")
    return OK


def _directory(cwd: str | None) -> str:
    return os.path.abspath(cwd or os.getcwd())
