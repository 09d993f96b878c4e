"""A recipe as a graph: which steps a run can reach, its cycles, and from where it can end.

Only what the recipe plans for counts. An agent may say ``other`` at any time, a check may fail, a
person may say no: where the recipe has no edge for it the run ends, but no author would call that
the way out. The "no" of an ``ask`` step is one of its choices, so it counts. A call that was not
replaced by the steps of what it calls may always be the end of a run: reasons that the caller says
nothing about go through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from podiumd.core.recipe.exits import classify
from podiumd.core.recipe.model import RESTART, Edge, Recipe, Step
from podiumd.core.recipe.paths import Way, ways_out


class RecipeGraph:
    """The graph of a recipe that has loaded. Names of steps come in the order of the file.

    ``ways`` are the planned ways out of each step, ``reachable`` the steps that a run can enter,
    ``next`` the steps that follow each of these, ``@restart`` left out. ``restarts``: some
    reachable step begins the recipe again; ``calls`` are the reachable calls.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.ways: Final = {name: _planned(step) for name, step in recipe.steps.items()}
        follow = {
            name: tuple(dict.fromkeys(way.to for way in ways if way.to and way.to != RESTART))
            for name, ways in self.ways.items()
        }
        met = _walk([recipe.initial], follow)
        self.reachable: Final = tuple(name for name in recipe.steps if name in met)
        self.next: Final = {name: follow[name] for name in self.reachable}
        self._restarting: Final = frozenset(
            name for name in self.reachable if any(way.to == RESTART for way in self.ways[name])
        )
        self.restarts: Final = bool(self._restarting)
        self.calls: Final = frozenset(
            name for name in self.reachable if recipe.steps[name].kind == "call"
        )
        self._initial: Final = recipe.initial

    def cycles(self, *, restarts: bool = False) -> list[tuple[str, ...]]:
        """List the sets of steps that lead to each other (or one to itself).

        With ``restarts`` the way back to the beginning counts as well.
        """
        graph = self._with_restarts() if restarts else self.next
        place = {name: number for number, name in enumerate(self.reachable)}
        return [
            tuple(sorted(group, key=place.__getitem__))
            for group in _components(graph)
            if len(group) > 1 or any(name in graph[name] for name in group)
        ]

    def ending(self) -> set[str]:
        """Return the reachable steps from which some exit can be reached."""
        exits = [name for name in self.reachable if any(way.exit for way in self.ways[name])]
        return _walk((*exits, *self.calls), reverse(self._with_restarts()))

    def leaves(self, cycle: Iterable[str]) -> bool:
        """Say whether some edge leads out of ``cycle``: to an exit or to another step."""
        inside = {*cycle}
        return not inside.isdisjoint(self.calls) or any(
            way.exit is not None or self._target(way) not in inside
            for name in inside
            for way in self.ways[name]
        )

    def upstream_first(self) -> list[str]:
        """List the reachable steps, each after all that lead to it where there is no cycle."""
        return _postorder(self.next)[::-1]

    def _target(self, way: Way) -> str | None:
        return self._initial if way.to == RESTART else way.to

    def _with_restarts(self) -> dict[str, tuple[str, ...]]:
        return {
            name: (*follow, self._initial) if name in self._restarting else follow
            for name, follow in self.next.items()
        }


def reverse(graph: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the graph with each edge turned round."""
    back: dict[str, list[str]] = {name: [] for name in graph}
    for name, follow in graph.items():
        for target in follow:
            back[target].append(name)
    return back


def _planned(step: Step) -> tuple[Way, ...]:
    if step.kind == "call":
        return tuple(_handled(outcome, edge) for outcome, edge in step.on.items())
    return tuple(way for way in ways_out(step) if not way.implied or step.kind == "gate")


def _handled(outcome: str, edge: Edge) -> Way:
    class_ = None if edge.exit is None else classify(edge.exit, edge.class_).class_
    return Way(outcome=outcome, to=edge.to, exit=edge.exit, class_=class_, implied=False)


def _walk(
    begin: Iterable[str],
    graph: Mapping[str, Sequence[str]],
    without: Set[str] = frozenset(),
) -> set[str]:
    """Return all that can be reached from ``begin``, itself included, not through ``without``."""
    met = set(begin)
    todo = list(met)
    while todo:
        new = [name for name in graph[todo.pop()] if name not in met and name not in without]
        met.update(new)
        todo += new
    return met


def _postorder(graph: Mapping[str, Sequence[str]]) -> list[str]:
    """List each node after what can be reached from it alone: no recursion, files may be long."""
    order: list[str] = []
    met: set[str] = set()
    for root in graph:
        stack = [] if root in met else [(root, iter(graph[root]))]
        met.add(root)
        while stack:
            node, rest = stack[-1]
            target = next((name for name in rest if name not in met), None)
            if target is None:
                order.append(node)
                stack.pop()
            else:
                met.add(target)
                stack.append((target, iter(graph[target])))
    return order


def _components(graph: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """Return the strongly connected components (Kosaraju)."""
    back = reverse(graph)
    placed: set[str] = set()
    groups = []
    for root in reversed(_postorder(graph)):
        if root in placed:
            continue
        group = _walk([root], back, placed)
        placed |= group
        groups.append(group)
    return groups
