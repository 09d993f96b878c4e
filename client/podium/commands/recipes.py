"""Recipes: what there is and what one does, its faults and its picture, where outcomes lead."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from podium import text
from podium.errors import ERROR, OK, USAGE, Failure, stopped
from podium.given import utf8_text
from podium.plain_file import open_plain
from podium.render import drawing
from podium.render.drawing import amount, mark
from podium.render.rehearsal import read_from
from podium.rpc.connection import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from podium import protocol


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
        return text.emit_json(recipe)
    text.emit(drawing.drawn(recipe, text.Style(sys.stdout), text.columns()))
    if not recipe.get("trusted", True):
        where = text.fold(recipe.get("path"))
        text.tell(f"It comes with the project ({where}) and is not trusted. {_how_to_trust(cwd)}")
    return OK


def outcome(name: str, step: str, file: str, cwd: str | None, json: bool) -> int:
    """``podium recipe outcome``: how a reply would be read; exit 1 where it would not."""
    params: protocol.ParseOutcome = {
        "id": name,
        "step": step,
        "text": read_text(file),
        "working_directory": directory(cwd),
    }
    answer: protocol.Accepted | protocol.Rejected = call("recipes.outcome", params)
    if json:
        text.emit_json(answer)
    elif answer["ok"]:
        text.say(f"{text.fold(answer['outcome'])}{read_from(answer)}")
    else:
        message = stopped(text.fold(answer["message"]))
        text.tell(f"podium: {text.fold(answer['error'])}: {message}")
        if answer["excerpt"]:
            text.tell(text.clean(answer["excerpt"]))
    return OK if answer["ok"] else ERROR


def read_text(file: str) -> str:
    """Read a file as text, or standard input for ``-``.

    Raises:
        Failure: it is not UTF-8.
    """
    if file == "-":
        return utf8_text("-")
    try:
        with open_plain(file) as found:
            return found.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"{file} is not valid UTF-8: convert it first.", USAGE) from error


def orchestration(state: str | None, json: bool) -> int:
    """``podium orchestration [on|off]``."""
    if state is None:
        found: protocol.Orchestration = call("daemon.status")["orchestration"]
        words = (
            "Recipes are on ('podium orchestration off' switches them off)."
            if found["enabled"]
            else "Recipes are off ('podium orchestration on' switches them on)."
        )
        return text.report(found, words, json=json)
    answer: protocol.Configured = call("daemon.configure", {"orchestration_enabled": state == "on"})
    off = "Recipes are off; active runs finish their turn and end."
    return text.report(answer, "Recipes are on." if state == "on" else off, json=json)


def directory(cwd: str | None) -> str:
    """Return the absolute path of the project that is meant."""
    return os.path.abspath(cwd or os.getcwd())


DRAWN_BY_DOT = (".svg", ".png", ".pdf")
DOT_SECONDS = 60.0
"""How long Graphviz may take for a picture; a large machine takes it less than a second."""

REPLY_END = "---"
"""A line that stands between two replies of a script."""


def check(file: str, cwd: str | None, json: bool) -> int:
    """``podium recipe check``: every finding with its place; exit 1 where one is an error."""
    answer: protocol.CheckReport = call("recipes.check", _what_to_check(file, cwd))
    findings: list[protocol.Finding] = answer.get("findings") or []
    if json:
        text.emit_json(answer)
    else:
        style = text.Style(sys.stdout)
        for finding in findings:
            text.emit(_finding(finding, file, style) + "\n")
        text.emit(_verdict(answer, findings, style) + "\n")
    return OK if answer.get("ok") else ERROR


def _what_to_check(file: str, cwd: str | None) -> protocol.CheckRecipe:
    """Choose what to check: a file, standard input, or (without such a file) a recipe by name."""
    if file == "-":
        return {"text": read_text("-")}
    if os.path.isfile(file) or os.sep in file or file.endswith(".toml") or file in (".", ".."):
        return {"path": os.path.abspath(file)}
    return {"id": file, "working_directory": directory(cwd)}


def _finding(finding: protocol.Finding, file: str, style: text.Style) -> str:
    level = str(finding.get("level") or "error")
    where = f"{text.fold(finding.get('file') or file)}:{finding.get('line') or 1}"
    step = f" ({text.fold(finding['step'])})" if finding.get("step") else ""
    coloured = style("yellow" if level == "warning" else "red", text.fold(level))
    said = text.fold(finding.get("message"))
    return f"{where}: {coloured} {text.fold(finding.get('code'))}: {said}{step}"


def _verdict(
    answer: protocol.CheckReport, findings: list[protocol.Finding], style: text.Style
) -> str:
    """Summarise the check in one line: findings, and the worst-case cost of a valid recipe."""
    warnings = sum(finding.get("level") == "warning" for finding in findings)
    errors = len(findings) - warnings
    counts = [text.counted(errors, "error")] if errors else []
    counts += [text.counted(warnings, "warning")] if warnings else []
    if not answer.get("ok"):
        return style("red", f"✗ {', '.join(counts) or 'not accepted'}")
    worst: Mapping[str, Any] = answer.get("worst_case") or {}
    costs = [
        f"no bound on {noun}s" if worst.get(key) is None else amount(worst[key], noun)
        for key, noun in (("turns", "turn"), ("minutes", "minute"))
        if key in worst
    ]
    at_worst = f"; at worst {', '.join(costs)}" if costs else ""
    return style("green", f"✓ {', '.join(counts) or 'no faults'}") + at_worst


def graph(name: str, format: str | None, output: str | None, cwd: str | None, json: bool) -> int:
    """``podium recipe graph``: the picture's text, or drawn into a file by Graphviz."""
    picture = output is not None and output.lower().endswith(DRAWN_BY_DOT)
    if picture and format == "mermaid":
        raise Failure(
            f"{output} is drawn by Graphviz, which reads dot: leave '--format mermaid' away.",
            USAGE,
        )
    params: protocol.DrawRecipe = {
        "id": name,
        "format": "dot" if format == "dot" or (picture and format is None) else "mermaid",
        "working_directory": directory(cwd),
    }
    answer: protocol.Drawing = call("recipes.graph", params)
    said = str(answer["text"])
    if output is None and json:
        text.emit_json(answer)
    elif output is None:
        text.emit(text.clean(said))
    elif picture:
        _draw(said, output)
    else:
        _save(said, output)
    return OK


def _save(said: str, output: str) -> None:
    from podium import atomic

    try:
        atomic.write(output, said.encode())
    except OSError as error:
        raise Failure(
            f"'{text.fold(output)}' cannot be written: {error.strerror}. Name another place with "
            "'--output FILE'."
        ) from error


def _draw(said: str, output: str) -> None:
    """Have Graphviz draw a picture.

    Raises:
        Failure: it is not there, or it cannot.
    """
    kind = output.rpartition(".")[2].lower()
    try:
        done = subprocess.run(
            ["dot", f"-T{kind}", "-o", os.path.abspath(output)],
            input=said.encode(),
            capture_output=True,
            timeout=DOT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise Failure(
            "Graphviz is not installed, there is no program 'dot': install the package "
            f"'graphviz', or draw the output of '--format dot' elsewhere. {output} was not "
            "written."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise Failure(
            f"Graphviz ('dot') has not drawn {output} within {DOT_SECONDS:.0f} seconds."
        ) from error
    if done.returncode:
        why = text.fold(done.stderr.decode(errors="replace"), 200)
        raise Failure(f"Graphviz ('dot') could not draw {output}: {why}")


def sim(
    name: str,
    outcomes: str | None,
    paths: bool,
    step: str | None,
    script: str | None,
    cwd: str | None,
    json: bool,
) -> int:
    """``podium recipe sim``: outcomes walked through, all paths, or one step with replies."""
    ways = [outcomes is not None, paths, step is not None or script is not None]
    if sum(ways) != 1 or (step is None) != (script is None):
        raise Failure(
            "Say what to simulate: either '--outcomes complete,no-issues', or '--paths', or "
            "'--step STEP --script FILE'.",
            USAGE,
        )
    place: protocol.GetRecipe = {"id": name, "working_directory": directory(cwd)}
    style = text.Style(sys.stdout)
    if outcomes is not None:
        listed = [word.strip() for word in outcomes.split(",") if word.strip()]
        return _walk(call("recipes.simulate", {**place, "outcomes": listed}), style, json)
    if paths:
        return _paths(call("recipes.paths", place), style, json)
    replies = _replies(read_text(script or ""))
    played = call("recipes.rehearse", {**place, "step": step or "", "replies": replies})
    return _rehearse(played, style, json)


def _walk(answer: protocol.Trace, style: text.Style, json: bool) -> int:
    if json:
        return text.emit_json(answer)
    trace: list[protocol.Hop] = answer["trace"]
    rows = [[text.fold(hop.get("step")), text.fold(hop.get("outcome"))] for hop in trace]
    widths = [max((text.cells(row[column]) for row in rows), default=0) for column in (0, 1)]
    for row, hop in zip(rows, trace, strict=True):
        step, outcome = map(text.padded, row, widths)
        target = f" → {text.fold(hop['to'])}" if hop.get("to") else ""
        text.emit(f"{step}  {outcome}{target}".rstrip() + "\n")
    if end := answer.get("exit"):
        text.emit(_end(end, style) + "\n")
    else:
        text.emit("… the outcomes end here, the recipe does not\n")
    if answer.get("unused"):
        text.tell(f"Not used: {', '.join(map(text.fold, answer['unused']))}.")
    return OK


def _end(end: protocol.Exit, style: text.Style) -> str:
    sign, colour = mark(end.get("class"))
    return style(colour, f"{sign} {text.fold(end.get('message'))} ({text.fold(end.get('reason'))})")


def _paths(answer: protocol.Paths, style: text.Style, json: bool) -> int:
    if json:
        return text.emit_json(answer)
    by_end: dict[str, list[protocol.SimplePath]] = {}
    for path in answer["paths"]:
        end = path.get("exit")
        title = "⟲ begins again (@restart)"
        if end:
            sign, colour = mark(end.get("class"))
            named = f"{text.fold(end.get('reason'))} ({text.fold(end.get('class'))})"
            title = style(colour, f"{sign} {named}")
        by_end.setdefault(title, []).append(path)
    blocks = [
        "\n".join([title, *(f"  {_path(path['trace'])}" for path in paths)])
        for title, paths in by_end.items()
    ]
    text.emit("\n\n".join(blocks) + "\n")
    if not answer.get("complete", True):
        text.tell(f"There are more: only {text.counted(len(answer['paths']), 'path')} shown.")
    return OK


def _path(trace: list[protocol.Hop]) -> str:
    hops = [f"{text.fold(hop.get('step'))} ─{text.fold(hop.get('outcome'))}→" for hop in trace]
    return " ".join(hops).removesuffix("→") + "→"


def _replies(script: str) -> list[str]:
    """Split a script into its replies, at lines ``---``."""
    replies: list[list[str]] = [[]]
    for line in script.splitlines():
        if line.rstrip() == REPLY_END:
            replies.append([])
        else:
            replies[-1].append(line)
    return ["\n".join(lines).strip("\n") for lines in replies]


def _rehearse(answer: protocol.StepPlay | protocol.PhasePlay, style: text.Style, json: bool) -> int:
    """Show how each reply was read; exit 1 where the replies lead nowhere."""
    from podium.render import rehearsal

    if json:
        text.emit_json(answer)
        return rehearsal.exit_code(answer)
    end = _end(answer["exit"], style) if answer["exit"] else ""
    text.emit("".join(f"{line}\n" for line in rehearsal.lines(answer, style, end)))
    if answer["unused"]:
        text.tell(f"Replies not used, the step was over before: {answer['unused']}.")
    return rehearsal.exit_code(answer)
