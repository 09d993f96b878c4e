"""A recipe as a picture: its nodes and arrows, independent of the output language.

Names of nodes are made up (``s0``, ``x1``), because a step's name may be a word of the language
(``end``). Text that people wrote stands only in labels.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from podiumd.core.recipe.exits import ExitClass
from podiumd.core.recipe.model import CHECKS_FAILED, DECLINED, OTHER, RESTART, Kind, Recipe, Step
from podiumd.core.recipe.paths import Way, ways_out

Shape = Literal["start", "gate", "turn", "talk", "command", "call", "exit"]
Line = Literal["plain", "quiet", "failed", "restart"]

_LONGEST: Final = 48
_SHAPES: Final[dict[Kind, Shape]] = {
    "turn": "turn",
    "talk": "talk",
    "command": "command",
    "gate": "gate",
    "call": "call",
}


class Node(NamedTuple):
    """``lines`` are its label, the first one the name."""

    id: str
    shape: Shape
    lines: tuple[str, ...]
    class_: ExitClass | None = None


class Arrow(NamedTuple):
    """From node to node, by their ids."""

    source: str
    target: str
    label: str
    line: Line


class Picture(NamedTuple):
    """A recipe's nodes and arrows; ``title`` and ``limits`` are for the caption."""

    title: str
    limits: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


def draw(recipe: Recipe) -> Picture:
    """Steps in the file's order, then the exits, in the order in which they are named."""
    ids = {name: f"s{number}" for number, name in enumerate(recipe.steps)}
    # An edge to a step with a gate leads to the gate.
    doors = {
        name: f"g{ids[name][1:]}" if step.gate is not None else ids[name]
        for name, step in recipe.steps.items()
    }
    nodes = [Node("start", "start", ())]
    arrows = [Arrow("start", doors[recipe.initial], "", "plain")]
    exits: dict[tuple[str | None, ExitClass | None], Node] = {}
    for name, step in recipe.steps.items():
        if step.gate is not None:
            nodes.append(Node(doors[name], "gate", (_short(step.gate),)))
            arrows.append(Arrow(doors[name], ids[name], "yes", "plain"))
        nodes.append(Node(ids[name], _SHAPES[step.kind], _lines(name, step)))
        for way in ways_out(step):
            source = doors[name] if way.outcome == DECLINED else ids[name]
            if way.to == RESTART:
                arrows.append(Arrow(source, "start", f"{way.outcome} ({RESTART})", "restart"))
                continue
            if way.to is not None:
                target = doors[way.to]
            else:
                end = Node(f"x{len(exits)}", "exit", (way.exit or "",), way.class_)
                target = exits.setdefault((way.exit, way.class_), end).id
            arrows.append(Arrow(source, target, way.outcome, _line(way)))
    return Picture(_short(recipe.label), _limits(recipe), (*nodes, *exits.values()), tuple(arrows))


def _line(way: Way) -> Line:
    """Choose the line of a way: plain for the recipe's own, quiet for those of every step."""
    if way.implied or (way.outcome in (OTHER, DECLINED) and way.to is None):
        return "quiet"
    return "failed" if way.outcome == CHECKS_FAILED else "plain"


def _lines(name: str, step: Step) -> tuple[str, ...]:
    """Return a step's name and the lines about what is special in it."""
    lines = [name]
    if step.ask is not None:
        lines.append(step.ask)
    if step.run or step.shell is not None:
        lines.append(" ".join(step.run) or step.shell or "")
    if step.recipe is not None:
        lines.append(f"recipe {step.recipe}")
    if step.session != "same":
        lines.append(f"{step.session} session")
    if step.agent is not None:
        lines.append(f"agent {step.agent}")
    lines += [f"check: {' '.join(check.run)}" for check in step.checks]
    marks = [word for word in ("auto", "commits", "irreversible") if getattr(step, word)]
    lines += [", ".join(marks)] if marks else []
    return tuple(_short(line) for line in lines)


def _short(text: str) -> str:
    """Shorten a text to one line of a label that fits a box."""
    folded = " ".join(text.split())
    line = "".join(char if char.isprintable() else "\ufffd" for char in folded)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _limits(recipe: Recipe) -> str:
    limits = recipe.limits
    said = [
        (limits.max_step_visits, "visits a step"),
        (limits.max_total_steps, "steps"),
        (limits.max_minutes, "minutes"),
        (limits.max_cost_usd, "US dollars"),
    ]
    if any(edge.to == RESTART for step in recipe.steps.values() for edge in step.on.values()):
        said.append((limits.max_restarts, "restarts"))
    return ", ".join(f"{value:g} {unit}" for value, unit in said if value is not None)
