"""A recipe that calls recipes, as one machine without calls. Pure.

The called recipe's steps come into the caller under the name of the step that calls it:
``ship`` calling a recipe with the step ``review`` gives ``ship.review``. Its exits become the
call's outcomes and lead where the caller says; one that the caller says nothing about ends the
run as it would have ended the called recipe. So a run is stored, limited, drawn and simulated
like any other, and no edit of the called recipe's file reaches it. The limits are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podiumd.core.recipe.context import declared_key
from podiumd.core.recipe.model import (
    CHECKS_FAILED,
    COMPLETE,
    DECLINED,
    OTHER,
    RESTART,
    Edge,
    Recipe,
    Step,
)
from podiumd.core.recipe.params import ParamError, param_value
from podiumd.core.recipe.parts import PROMPTING
from podiumd.core.recipe.template import rewrite
from podiumd.core.structs import replace

#: How many recipes may be under way inside each other, the first one included.
MAX_CALL_DEPTH: Final = 8

#: How many steps calls may bring into a recipe, and how many characters of text in them: calls
#: in calls and variables in parameters multiply, and a recipe may come from a stranger.
MOST_CALLED_STEPS: Final = 1000
MOST_CALLED_TEXT: Final = 4 * 1024 * 1024

#: Finds a recipe by its id, as the caller sees it; ``None``: there is none that can be used.
LoadCalled = Callable[[str], Recipe | None]


# Reasons that end a called recipe without an edge of its own, by the outcome.
_UNSAID: Final = {
    OTHER: "user-provided-other",
    CHECKS_FAILED: "checks-failed",
    DECLINED: "gate-declined",
    COMPLETE: COMPLETE,
}


class CallError(ValueError):
    """A step that cannot call its recipe; ``step`` is its name, the text says why."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


def expand(recipe: Recipe, find: Callable[[str], Recipe]) -> Recipe:
    """Return the recipe with every call replaced by the steps of what it calls.

    ``find`` returns a recipe by its id; what it raises goes through.
    Raises ``CallError``.
    """
    return _expand(recipe, find, (recipe.id,))


class _Room:
    """Bound for what calls may still bring into one recipe. With it each level of calls is bounded
    too."""

    def __init__(self) -> None:
        self._steps = MOST_CALLED_STEPS
        self._text = MOST_CALLED_TEXT

    def take(self, call: str, *, steps: int = 0, text: int = 0) -> None:
        """Use some of it up. Raises ``CallError`` in the name of the step that calls."""
        self._steps -= steps
        self._text -= text
        if self._steps < 0:
            message = f"all that is called has more than {MOST_CALLED_STEPS} steps"
            raise CallError(call, message)
        if self._text < 0:
            message = f"all that is called has more than {MOST_CALLED_TEXT} characters of text"
            raise CallError(call, message)


def _expand(recipe: Recipe, find: Callable[[str], Recipe], chain: tuple[str, ...]) -> Recipe:
    if all(step.kind != "call" for step in recipe.steps.values()):
        return recipe
    steps: dict[str, Step] = {}
    entries: dict[str, str] = {}
    room = _Room()
    context = dict(recipe.context)
    for name, step in recipe.steps.items():
        if step.kind != "call":
            steps[name] = step
            continue
        called = _called(name, step, find, chain)
        context = _both(name, called, context)
        inside = _Inside(name, step, called, room)
        steps |= inside.steps()
        entry = f"{name}.{called.initial}"
        if step.gate is None:
            entries[name] = entry
        else:
            steps[name] = _gate(step, step.gate, entry)
    return replace(
        recipe,
        initial=entries.get(recipe.initial, recipe.initial),
        context=context,
        steps={name: _led_in(step, entries) for name, step in steps.items()},
    )


def _both(name: str, called: Recipe, context: dict[str, Any]) -> dict[str, Any]:
    """Merge both contexts: what is saved in one of them is there in the other."""
    for key, value in called.context.items():
        if key in context and declared_key(context[key]).type != declared_key(value).type:
            message = f"recipe '{called.id}' declares '{key}' in [context] with another type"
            raise CallError(name, message)
    return {**called.context, **context}


def _called(name: str, step: Step, find: Callable[[str], Recipe], chain: tuple[str, ...]) -> Recipe:
    assert step.recipe is not None
    if len(chain) >= MAX_CALL_DEPTH:
        way = " > ".join((*chain, step.recipe))
        raise CallError(name, f"recipes call each other more than {MAX_CALL_DEPTH} deep: {way}")
    called = _expand(find(step.recipe), find, (*chain, step.recipe))
    if any(edge.to == RESTART for inner in called.steps.values() for edge in inner.on.values()):
        message = f"recipe '{called.id}' begins again by @restart, so it cannot be called"
        raise CallError(name, message)
    return called


def _gate(step: Step, ask: str, entry: str) -> Step:
    """Build the gate step that stands for the question before a call."""
    declined = step.edge(DECLINED)
    assert declined is not None
    return Step(
        kind="gate",
        ask=ask,
        choices=("yes", "no"),
        outcomes=("yes", "no"),
        on={"yes": Edge(to=entry), "no": declined},
    )


def _led_in(step: Step, entries: dict[str, str]) -> Step:
    """Lead a step's edges to a call to the first step of what is called."""
    on = {
        outcome: replace(edge, to=entries[edge.to]) if edge.to in entries else edge
        for outcome, edge in step.on.items()
    }
    return replace(step, on=on)


class _Inside:
    """The steps of a called recipe, as they stand in the caller."""

    def __init__(self, name: str, call: Step, called: Recipe, room: _Room) -> None:
        """Take in a called recipe.

        Raises ``CallError`` for parameters that do not fit, and where there is no room.
        """
        room.take(name, steps=len(called.steps))
        self._room = room
        self._name = name
        self._call = call
        self._called = called
        self._values = self._params()

    def steps(self) -> dict[str, Step]:
        """Return the steps by their new names."""
        return {f"{self._name}.{name}": self._step(s) for name, s in self._called.steps.items()}

    def _params(self) -> dict[str, str]:
        """Return each parameter's value as text for templates; the caller's own variables stay in
        it."""
        given = self._call.params
        unknown = [name for name in given if name not in self._called.params]
        if unknown:
            message = f"recipe '{self._called.id}' has no parameter '{unknown[0]}'"
            raise CallError(self._name, message)
        values: dict[str, str] = {}
        for name, param in self._called.params.items():
            value = given.get(name, param.default)
            if value is None:
                message = f"recipe '{self._called.id}' needs the parameter '{name}'"
                raise CallError(self._name, message)
            if not (isinstance(value, str) and "{{" in value):
                try:
                    value = param_value(name, param, value)
                except ParamError as error:
                    raise CallError(self._name, error.message) from error
            values[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return values

    def _text(self, text: str) -> str:
        self._room.take(self._name, text=len(text))

        def put(variable: str) -> str | None:
            if variable in self._values:
                # Counted before it is put in: the text could be too much for the memory.
                self._room.take(self._name, text=len(self._values[variable]))
                return self._values[variable]
            if variable.startswith("last."):
                return f"{{{{last.{self._name}.{variable.removeprefix('last.')}}}}}"
            return None

        return rewrite(text, put)

    def _texts(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._text(text) for text in texts)

    def _step(self, step: Step) -> Step:
        on = {outcome: self._edge(edge) for outcome, edge in step.on.items()}
        for outcome in _unsaid(step):
            if _UNSAID[outcome] in self._call.on and outcome not in on:
                on[outcome] = self._edge(Edge(exit=_UNSAID[outcome]))
        return replace(
            step,
            on=on,
            prompt=self._text(step.prompt),
            agent=None if step.agent is None else self._text(step.agent).strip() or None,
            needs=tuple(dict.fromkeys((*step.needs, *self._needs(step)))),
            gate=None if step.gate is None else self._text(step.gate),
            ask=None if step.ask is None else self._text(step.ask),
            system=None if step.system is None else self._text(step.system),
            opening=None if step.opening is None else self._text(step.opening),
            run=self._texts(step.run),
            checks=tuple(replace(check, run=self._texts(check.run)) for check in step.checks),
            commits=step.commits or self._call.commits,
            irreversible=step.irreversible or self._call.irreversible,
        )

    def _needs(self, step: Step) -> tuple[str, ...]:
        return self._called.needs if step.kind in PROMPTING else ()

    def _edge(self, edge: Edge) -> Edge:
        """Map an edge: one inside stays inside; an exit leads to where the caller sends it, if it
        does."""
        inner = tuple(f"{self._name}.{one}" for one in edge.returns)
        if edge.to is not None:
            return replace(edge, to=f"{self._name}.{edge.to}", returns=inner)
        outer = self._call.on.get(edge.exit or "")
        # The called recipe's claim at its end is to be true wherever that leads.
        return replace(outer or edge, claims=edge.claims, returns=(*inner, self._name))


def _unsaid(step: Step) -> list[str]:
    """List the outcomes that the step can end with, whether or not it says where they lead."""
    possible = {
        OTHER: step.kind == "turn",
        CHECKS_FAILED: bool(step.checks) or step.proved,
        DECLINED: step.gate is not None or (step.kind == "gate" and "no" in step.choices),
        COMPLETE: step.final,
    }
    return [outcome for outcome, can in possible.items() if can]
