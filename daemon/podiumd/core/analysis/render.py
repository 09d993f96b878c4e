"""A recipe's picture in the languages of Mermaid (a flowchart) and Graphviz (dot): nodes and arrows
first, which are the same in both.

Names of nodes are made up (``s0``, ``x1``), because a step's name may be a word of the language
(``end``). Text that people wrote stands only in labels.
"""

from __future__ import annotations

import re
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


Format = Literal["mermaid", "dot"]

# Fill and border: calm for steps; for exits what a person knows from traffic lights.
_STEP: Final = ("#eef3fb", "#5b7db1")
_GATE: Final = ("#fdf3d8", "#b8860b")
_OUTSIDE: Final = ("#f1f1f4", "#77778a")
_OF_SHAPE: Final[dict[Shape, tuple[str, str]]] = {
    "start": ("#333333", "#333333"),
    "gate": _GATE,
    "turn": _STEP,
    "talk": _STEP,
    "command": _OUTSIDE,
    "call": _OUTSIDE,
}
_GREEN: Final = ("#e3f5e6", "#2e8540")
_YELLOW: Final = ("#fff4cc", "#b8860b")
_RED: Final = ("#fbe3e3", "#b3261e")
_OF_CLASS: Final[dict[ExitClass, tuple[str, str]]] = {
    "completed": _GREEN,
    "needs-user": _YELLOW,
    "blocked": ("#ffe6cf", "#c05c00"),
    "checks-failed": _RED,
    "error": _RED,
}

_LINE_COLOURS: Final[dict[Line, str]] = {
    "plain": "#44546a",
    "quiet": "#9aa3ad",
    "failed": "#b3261e",
    "restart": "#6f42c1",
}


def graph(recipe: Recipe, format: Format) -> str:
    """Render the recipe's machine as text for Mermaid or Graphviz."""
    picture = draw(recipe)
    return mermaid(picture) if format == "mermaid" else dot(picture)


def _colours(node: Node) -> tuple[str, str]:
    return _OF_SHAPE[node.shape] if node.class_ is None else _OF_CLASS[node.class_]


# -- Mermaid ----------------------------------------------------------------------------------

_FRAMES: Final[dict[Shape, tuple[str, str]]] = {
    "start": ("((", "))"),
    "gate": ("{{", "}}"),
    "turn": ("(", ")"),
    "talk": ("[/", "/]"),
    "command": ("[", "]"),
    "call": ("[[", "]]"),
    "exit": ("([", "])"),
}
_MERMAID_HARMLESS: Final = re.compile(r"\A-|[^A-Za-z0-9 ,:?!()/_\-\u0080-\U0010ffff]")

_NOT_IN_COMMENTS: Final = re.compile(r"[\"%{}\[\]|<>\x00-\x1f\x7f]")


def mermaid(picture: Picture) -> str:
    """Render a flowchart: steps as boxes, gates as hexagons, exits coloured by their class."""
    lines = ["flowchart TD", f"    %% {_mermaid_comment(picture.title)}"]
    lines += [f"    {_mermaid_node(node)}" for node in picture.nodes]
    lines += [f"    {_mermaid_arrow(arrow)}" for arrow in picture.arrows]
    if picture.limits:
        lines.append(f'    limits["at most {_mermaid_text(picture.limits)}"]')
        lines.append("    style limits fill:none,stroke:none,color:#667085")
    lines += [
        f"    style {node.id} fill:{fill},stroke:{border},color:#1b1f24"
        for node in picture.nodes
        for fill, border in [_colours(node)]
    ]
    lines += [
        f"    linkStyle {number} stroke:{_LINE_COLOURS[arrow.line]}"
        for number, arrow in enumerate(picture.arrows)
        if arrow.line != "plain"
    ]
    return "\n".join(lines) + "\n"


def _mermaid_node(node: Node) -> str:
    before, after = _FRAMES[node.shape]
    said = [*node.lines, *([node.class_] if node.class_ is not None else [])]
    label = "<br/>".join(map(_mermaid_text, said)) or " "
    return f'{node.id}{before}"{label}"{after}'


def _mermaid_arrow(arrow: Arrow) -> str:
    line = "-.->" if arrow.line == "quiet" else "-->"
    label = f'|"{_mermaid_text(arrow.label)}"|' if arrow.label else ""
    return f"{arrow.source} {line}{label} {arrow.target}"


def _mermaid_comment(text: str) -> str:
    """Return a text as it may stand in a comment, where an entity would be read as it is written.

    A directive is found wherever ``%%{`` stands, in a comment too; brackets and quotes are left out
    with it.
    """
    return " ".join(_NOT_IN_COMMENTS.sub(" ", text).split())


def _mermaid_text(text: str) -> str:
    """Escape a text inside double quotes: write each special character by its number."""
    return _MERMAID_HARMLESS.sub(lambda found: f"#{ord(found.group())};", text)


# -- Graphviz ---------------------------------------------------------------------------------

_DOT_HEAD: Final = """\
digraph recipe {
    rankdir=TB; nodesep=0.45; ranksep=0.55; pad=0.3; bgcolor="white";
    fontname="Helvetica,Arial,sans-serif"; fontcolor="#667085"; fontsize=12; labelloc=t;
    node [fontname="Helvetica,Arial,sans-serif", fontsize=12, fontcolor="#1b1f24", penwidth=1.3,
          margin="0.18,0.09"];
    edge [fontname="Helvetica,Arial,sans-serif", fontsize=10, arrowsize=0.75];
"""
_DOT_SHAPES: Final[dict[Shape, str]] = {
    "start": "shape=circle, width=0.2, fixedsize=true, style=filled",
    "gate": 'shape=hexagon, style=filled, margin="0.02,0.02"',
    "turn": 'shape=box, style="rounded,filled"',
    "talk": "shape=ellipse, style=filled",
    "command": "shape=box, style=filled",
    "call": "shape=box, style=filled, peripheries=2",
    "exit": 'shape=box, style="rounded,filled", margin="0.22,0.07"',
}


def dot(picture: Picture) -> str:
    """Render a digraph with HTML-like labels: a step's name in bold, what is special below."""
    title = f'<font point-size="15" color="#1b1f24"><b>{_html(picture.title)}</b></font>'
    limits = f"<br/>at most {_html(picture.limits)}" if picture.limits else ""
    lines = [f"    label=<{title}{limits}<br/>&#160;>;"]
    lines += [f"    {_dot_node(node)}" for node in picture.nodes]
    lines += [f"    {_dot_arrow(arrow)}" for arrow in picture.arrows]
    return _DOT_HEAD + "\n".join(lines) + "\n}\n"


def _dot_node(node: Node) -> str:
    fill, border = _colours(node)
    label = '""'
    if node.lines:
        name, *more = node.lines
        more += [node.class_] if node.class_ is not None else []
        small = "".join(f'<br/><font point-size="10">{_html(line)}</font>' for line in more)
        label = f"<<b>{_html(name)}</b>{small}>"
    return (
        f'{node.id} [label={label}, {_DOT_SHAPES[node.shape]}, fillcolor="{fill}", '
        f'color="{border}"];'
    )


def _dot_arrow(arrow: Arrow) -> str:
    colour = _LINE_COLOURS[arrow.line]
    # A restart leads back to the beginning; it must not turn the picture upside down.
    more = {"quiet": ", style=dashed", "restart": ", constraint=false, penwidth=1.6"}
    label = f"<&#160;{_html(arrow.label)}&#160;>" if arrow.label else '""'
    return (
        f'{arrow.source} -> {arrow.target} [label={label}, color="{colour}", '
        f'fontcolor="{colour}"{more.get(arrow.line, "")}];'
    )


def _html(text: str) -> str:
    """Escape a text for an HTML-like label."""
    for char, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot")):
        text = text.replace(char, f"&{name};")
    return text
