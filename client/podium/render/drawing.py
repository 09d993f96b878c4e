"""A recipe drawn in the terminal: a box for each step, below it where each outcome leads."""

from __future__ import annotations

from typing import Any

from podium import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from podium import protocol


WIDEST = 84
NARROWEST = 20

_LIMITS = (
    ("max_step_visits", "visit", "of each step"),
    ("max_total_steps", "step", "in all"),
    ("max_minutes", "minute", "of work"),
)
_MARKS = {"completed": ("✓", "green"), "error": ("✗", "red"), "checks-failed": ("✗", "red")}


def drawn(recipe: protocol.KnownRecipe, style: text.Style, columns: int = 0) -> str:
    """Draw a whole recipe. ``columns`` is the terminal's width, 0 where there is none."""
    width = max(NARROWEST, min(columns or WIDEST, WIDEST))
    lines = [f"{style('bold', text.fold(recipe.get('label')))} ({text.fold(recipe.get('id'))})"]
    if recipe.get("description"):
        lines.append(text.fold(recipe["description"]))
    lines += [*_params(recipe), *_context(recipe)]
    bounds = _bounds(recipe)
    lines += ["", *bounds] if bounds else []
    steps: dict[str, protocol.Step] = recipe.get("steps") or {}
    for name, step in steps.items():
        lines += ["", *_box(name, step, recipe, style, width)]
        needed = {
            outcome: edge.get("requires") or [] for outcome, edge in (step.get("on") or {}).items()
        }
        lines += _ways(name, ways_of(recipe, name), list(steps), needed, style, width)
    return "".join(f"{part}\n" for line in lines for part in text.flowed(line, columns))


def ways_of(recipe: protocol.KnownRecipe, name: str) -> list[Any]:
    """Return where the outcomes of a step lead; an older daemon sends only the file's own edges."""
    told = (recipe.get("ways") or {}).get(name)
    if told is not None:
        return list(told)
    edges = recipe["steps"][name].get("on") or {}
    return [{"outcome": outcome, **edge} for outcome, edge in edges.items()]


def mark(class_: object) -> tuple[str, str]:
    """Return the sign of an exit and its colour, the same as at the end of a run."""
    return _MARKS.get(str(class_), ("⚠", "yellow")) if class_ else ("■", "bold")


def amount(number: float, noun: str) -> str:
    """``1 step``, ``2.5 minutes``."""
    whole = int(number) if number == int(number) else number
    return f"{whole} {noun}" if number == 1 else f"{whole} {noun}s"


def _params(recipe: protocol.KnownRecipe) -> list[str]:
    lines = []
    for name, param in (recipe.get("params") or {}).items():
        default = param.get("default")
        need = "required" if default is None else f"default {text.fold(default) or 'empty'}"
        about = f"  {text.fold(param['description'])}" if param.get("description") else ""
        lines.append(f"  -p {text.fold(name)}=...  {text.fold(param.get('type'))}, {need}{about}")
    return ["", "Parameters", *lines] if lines else []


def _context(recipe: protocol.KnownRecipe) -> list[str]:
    """List what conversations save, with its description."""
    lines = []
    for key, declared in (recipe.get("context") or {}).items():
        about = declared.get("description") if isinstance(declared, dict) else None
        more = f": {text.fold(about)}" if about else ""
        lines.append("  " + text.fold(f"{key}{more}", WIDEST))
    return ["", "Saved on the way", *lines] if lines else []


def _bounds(recipe: protocol.KnownRecipe) -> list[str]:
    """List the limits, and the cost that they allow."""
    limits: Mapping[str, Any] = recipe.get("limits") or {}
    said = [
        f"{amount(limits[key], noun)} {more}"
        for key, noun, more in _LIMITS
        if limits.get(key) is not None
    ]
    if limits.get("max_cost_usd") is not None:
        said.append(text.money(limits["max_cost_usd"]))
    retries = limits.get("max_retries")
    if retries is not None:
        said.append("1 retry of a reply" if retries == 1 else f"{retries} retries of a reply")
    steps = recipe.get("steps") or {}
    if any(way.get("to") == "@restart" for name in steps for way in ways_of(recipe, name)):
        said.append(amount(limits.get("max_restarts") or 0, "restart"))
    lines = [f"At most: {', '.join(said)}"] if said else []
    if limits.get("on_limit") == "ask":
        lines.append("At a limit a person is asked for more, once")
    worst: Mapping[str, Any] = recipe.get("worst_case") or {}
    costs = [
        amount(worst[key], noun)
        for key, noun in (("turns", "turn"), ("minutes", "minute"))
        if worst.get(key) is not None
    ]
    return lines + ([f"At worst: {', '.join(costs)}"] if costs else [])


def _box(
    name: str, step: protocol.Step, recipe: protocol.KnownRecipe, style: text.Style, width: int
) -> list[str]:
    inside = width - 4
    title = text.fold(name, inside // 2)
    about = text.fold(", ".join(_about(name, step, recipe)), inside - text.cells(title) - 4)
    rule = "─" * (inside - text.cells(title) - text.cells(about) - 3)
    lines = [f"╭─ {style('bold', title)} {rule} {style('dim', about)} ╮"]
    for sign, words in _content(step):
        shown = text.padded(text.fold(words, inside - 2), inside - 2)
        lines.append(f"│ {style('dim', sign)} {shown} │")
    return [*lines, f"╰┬{'─' * (width - 3)}╯"]


def _about(name: str, step: protocol.Step, recipe: protocol.KnownRecipe) -> list[str]:
    """Describe the kind of a step, and what is not as usual."""
    marks = ["start"] if name == recipe.get("initial") else []
    marks.append(str(step.get("kind") or "turn"))
    if step.get("session") not in (None, "same"):
        marks.append(f"{step['session']} session")
    if step.get("agent"):
        marks.append(f"agent {step['agent']}")
    if step.get("model"):
        marks.append(f"model {step['model']}")
    tools = step.get("tools")
    if isinstance(tools, str) and tools != "all":
        marks.append(f"tools {tools}")
    return marks + [word for word in ("auto", "commits", "irreversible") if step.get(word)]


def _content(step: protocol.Step) -> list[tuple[str, str]]:
    """List what happens in a step, in order: a sign and words."""
    command = " ".join(map(str, step.get("run") or [])) or step.get("shell")
    called = f"recipe {step['recipe']}" if step.get("recipe") else ""
    checks = [" ".join(map(str, check.get("run") or [])) for check in step.get("checks") or []]
    content = [
        ("?", step.get("gate")),
        ("?", step.get("ask")),
        ("»", step.get("prompt") or step.get("opening")),
        ("$", command),
        ("»", called),
        *(("✓", check) for check in checks),
        *(("✓", hook) for hook in map(_hook, step.get("hooks") or [])),
    ]
    return [(sign, str(words)) for sign, words in content if words]


def _hook(hook: protocol.Hook) -> str:
    match = f" {hook['match']}" if hook.get("match") else ""
    return f"{hook.get('event')}{match}: {' '.join(map(str, hook.get('run') or []))}"


def _ways(
    name: str,
    ways: list[protocol.Way],
    steps: list[str],
    needed: Mapping[str, list[str]],
    style: text.Style,
    width: int,
) -> list[str]:
    outcomes = [text.fold(way.get("outcome"), width // 2) for way in ways]
    longest = max(map(text.cells, outcomes), default=0)
    lines = []
    for number, (way, outcome) in enumerate(zip(ways, outcomes, strict=True)):
        fork = "└" if number == len(ways) - 1 else "├"
        line, colour = ("╌", "dim") if way.get("implied") else ("─", "")
        label = text.padded(outcome, longest)
        keys = ", ".join(map(text.fold, needed.get(str(way.get("outcome"))) or []))
        lines.append(
            f" {fork}{line} {style(colour, label) if colour else label} {line}"
            f"{_target(name, way, steps, style)}"
            f"{style('dim', f' (needs {keys})') if keys else ''}"
        )
    return lines


def _target(name: str, way: protocol.Way, steps: list[str], style: text.Style) -> str:
    to = way.get("to")
    if to == "@restart":
        return style("cyan", "⟲ begins again (@restart)")
    if to is None:
        sign, colour = mark(way.get("class"))
        class_ = way.get("class")
        more = f" ({text.fold(class_)})" if class_ not in (None, "completed") else ""
        reason = f"{sign} {text.fold(way.get('exit'))}"
        return f"{style(colour, reason)}{style('dim', more)}"
    if to == name:
        return f"↺ {text.fold(to)}"
    back = to in steps and steps.index(to) < steps.index(name)
    return f"{'↑' if back else '→'} {text.fold(to)}"
