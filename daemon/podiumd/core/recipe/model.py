"""A recipe as data: the state machine that a run follows.

Prompt files are inlined when a recipe is loaded, so a recipe is complete in itself: it is stored
whole in the run's first fact and a run never changes under an edit of the file.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from podiumd.core.recipe.exits import Claims, ExitClass

Kind = Literal["turn", "talk", "command", "gate", "call"]
ParamType = Literal["string", "integer", "boolean", "choice", "path", "agent"]
Session = Literal["same", "fresh", "fork"]
Source = Literal["project", "user", "builtin"]

#: The target that begins the recipe again in a fresh session.
RESTART: Final = "@restart"
#: The outcome that an agent may always give; it needs a description.
OTHER: Final = "other"
#: Outcome of a step in place of its own when a check fails after it.
CHECKS_FAILED: Final = "checks-failed"
#: Outcome of a step when its gate is answered "no".
DECLINED: Final = "declined"
#: Outcome of the last phase of a conversation, and of the run with it.
COMPLETE: Final = "conversation-complete"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a run; ``None`` is no bound. Minutes are of work, not of waiting."""

    max_step_visits: int | None = None
    max_total_steps: int | None = None
    max_minutes: float | None = None
    max_cost_usd: float | None = None
    max_retries: int = 3
    max_restarts: int = 20
    on_limit: Literal["exit", "ask"] = "exit"


class Param(msgspec.Struct, frozen=True, kw_only=True):
    """A value given at the start; without a default it must be given.

    ``needed``: where it must be given all the same. In a new session there is no conversation yet
    that could stand for it.
    """

    type: ParamType
    default: str | int | bool | None = None
    choices: tuple[str, ...] = ()
    description: str = ""
    needed: Literal["new-session"] | None = None


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A command that must exit 0 after a valid outcome."""

    run: tuple[str, ...]
    timeout_seconds: float = 600.0


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A command run around a conversation's tools; exit status 2 refuses."""

    event: Literal["before-tool", "after-tool", "turn-end"]
    run: tuple[str, ...]
    match: str | None = None


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """The target of an outcome: ``to`` a step (or ``@restart``), or ``exit`` with a reason.

    ``class_`` and ``message`` belong to an exit. ``requires`` names the context keys that a
    conversation must have saved before it may go along this edge. ``claims`` is what going along it
    says of the working tree, which is looked at first (``core.decide.claims``). ``returns`` are the
    calls that are over with it (``core.recipe.expand``; no recipe's file says it).
    """

    to: str | None = None
    exit: str | None = None
    class_: ExitClass | None = msgspec.field(name="class", default=None)
    message: str | None = None
    requires: tuple[str, ...] = ()
    claims: Claims | None = None
    returns: tuple[str, ...] = ()


_BUILT_IN_EDGES: Final[dict[str, Edge]] = {
    OTHER: Edge(exit="user-provided-other", class_="needs-user"),
    CHECKS_FAILED: Edge(exit="checks-failed"),
    DECLINED: Edge(exit="gate-declined"),
    COMPLETE: Edge(exit=COMPLETE),
}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the machine. ``kind`` decides which fields mean something.

    ``outcomes`` are the declared ones in order; ``tools`` is ``all``, ``read-only``, ``none`` or
    the names that exist in the step; ``gate`` is a question asked before the step starts.
    ``agent`` is an agent's name, or ``{{NAME}}`` of a parameter that names one
    (``core.recipe.parts``); ``needs`` are what the agent has to be able to do, beside what the step
    shows by itself.
    """

    kind: Kind
    prompt: str = ""
    session: Session = "same"
    agent: str | None = None
    needs: tuple[str, ...] = ()
    model: str | None = None
    tools: str | tuple[str, ...] = "all"
    allow: tuple[str, ...] = ()
    permission_mode: str | None = None
    timeout_minutes: float | None = None
    outcomes: tuple[str, ...] = ()
    on: dict[str, Edge] = {}
    checks: tuple[Check, ...] = ()
    gate: str | None = None
    commits: bool = False
    irreversible: bool = False
    run: tuple[str, ...] = ()
    shell: str | None = None
    ask: str | None = None
    choices: tuple[str, ...] = ()
    recipe: str | None = None
    params: dict[str, str | int | bool] = {}
    system: str | None = None
    opening: str | None = None
    auto: bool = False
    hooks: tuple[Hook, ...] = ()

    @property
    def final(self) -> bool:
        """Return whether it is the last phase of a conversation: no way leads on from it."""
        return self.kind == "talk" and not self.outcomes

    @property
    def allowed_outcomes(self) -> tuple[str, ...]:
        """Return the outcomes that the step may end with; an agent's turn may always end as
        ``other``."""
        if self.final:
            return (COMPLETE,)
        if self.kind != "turn":
            return self.outcomes
        return (*(name for name in self.outcomes if name != OTHER), OTHER)

    @property
    def proved(self) -> bool:
        """Return whether some outcome is believed only after a look at the working tree."""
        return any(edge.claims not in (None, "none") for edge in self.on.values())

    def edge(self, outcome: str) -> Edge | None:
        """Return where ``outcome`` leads, the built-in edges included; ``None``: nowhere.

        The answer "no" of a gate step leads where ``declined`` does when it has no edge.
        """
        if outcome not in self.on and self.kind == "gate" and outcome == "no":
            return self.edge(DECLINED)
        return self.on.get(outcome) or _BUILT_IN_EDGES.get(outcome)


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """A state machine with its parameters and limits; ``steps`` are in the file's order.

    ``needs`` are those of each step that prompts an agent. ``digest`` is the SHA-256 (hex) of the
    file's text and of the prompt files' texts.
    """

    id: str
    label: str
    description: str
    initial: str
    params: dict[str, Param]
    limits: Limits
    context: dict[str, Any]
    steps: dict[str, Step]
    digest: str
    format: int = 1
    needs: tuple[str, ...] = ()

    def union_outcomes(self) -> tuple[str, ...]:
        """List the outcomes that some turn of the recipe may give: file order, other last."""
        names = [
            name
            for step in self.steps.values()
            if step.kind == "turn"
            for name in step.outcomes
            if name != OTHER
        ]
        return (*dict.fromkeys(names), OTHER)

    @property
    def detailed(self) -> set[str]:
        """Return the names for ``{{last.NAME.detail}}``: steps, and calls that were expanded."""
        edges = (edge for step in self.steps.values() for edge in step.on.values())
        return {*self.steps, *(name for edge in edges for name in edge.returns)}

    @property
    def commits(self) -> bool:
        """Return whether a run of it means to leave commits, so that it needs a repository."""
        return any(step.commits or step.proved for step in self.steps.values())

    @property
    def first_prompt(self) -> str:
        """Return the text that the run begins with; empty where the first step has none."""
        step = self.steps[self.initial]
        return step.prompt or step.opening or step.ask or ""
