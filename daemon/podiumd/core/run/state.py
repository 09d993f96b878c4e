"""A run's state: what its facts amount to, and what can be read off it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from podiumd.core.grown import Grown
from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import Limits, Recipe, Step
from podiumd.core.recipe.naming import run_name
from podiumd.core.reply.report import TokensUsed
from podiumd.core.run import facts as f
from podiumd.core.run.fact import MoveKind
from podiumd.core.run.native_loop_state import LoopState

Place = Literal[MoveKind, "in-turn", "waiting", "ended"]
"""Where a run is: at what it does next, in a turn of its agent, waiting for a person's word with
nothing to do next, or at its end."""

RunStatus = Literal["queued", "running", "waiting", "parked", "paused", "ended"]
"""The public word for where a run stands."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question and, once closed, its answer. ``spare``: its asker has gone without it; ``rule``:
    what the answer ``always-like`` allows from then on."""

    question_id: str
    kind: f.QuestionKind
    text: str
    opened_at: str
    choices: tuple[tuple[str, str], ...] = ()
    free_text: bool = False
    detail: str = ""
    about: str = ""
    turn_id: str | None = None
    request_id: str | None = None
    tool: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    step: str | None = None
    visit: int = 0
    answer: str | None = None
    note: str | None = None
    by: str | None = None
    closed: str | None = None
    delivered: bool = False
    spare: bool = False
    multi: bool = False
    columns: tuple[dict[str, Any], ...] = ()
    rule: str = ""

    @property
    def allowed(self) -> str:
        """Return what the answer allows for the rest of the run: a tool's name, or a rule; else
        empty."""
        if self.kind != "approval":
            return ""
        return {"always": self.tool or "", "always-like": self.rule}.get(self.answer or "", "")

    @property
    def undelivered(self) -> bool:
        """Return whether it has an answer that its asker may not have."""
        return self.closed == "answered" and not self.delivered

    @property
    def ends_turn(self) -> bool:
        """Return whether a conversation's agent asked it and has ended its turn since."""
        return self.kind == "ask" and self.turn_id is None


def _last(tool: str, *several: Iterable[f.ToolUsed]) -> f.ToolUsed | None:
    """Return the last successful use of a tool."""
    found = [used for calls in several for used in calls if used.tool == tool and used.success]
    return found[-1] if found else None


class ActiveTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The turn whose end has not been recorded. ``loop`` is how far a native one has come.

    ``calls`` are the uses of Podium's tools by their call ids, ``before`` those of the turn that
    this one goes on with, as far as they count at its end. ``words`` are the people's messages that
    its prompt carries.
    """

    intent: f.TurnIntended
    started: f.TurnStarted | None = None
    asked_seconds: float = 0.0
    asking_since: float | None = None
    loop: LoopState = LoopState()
    calls: dict[str, f.ToolUsed] = {}
    before: tuple[f.ToolUsed, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Return whether the next daemon enters it where this one leaves it, as a native turn."""
        return self.loop.settings is not None

    @property
    def transition(self) -> f.ToolUsed | None:
        """Return the transition that takes effect at the turn's end: the last valid one."""
        return _last("transition", self.before, self.calls.values())

    @property
    def asked(self) -> f.ToolUsed | None:
        """Return the question that is opened at the turn's end."""
        return _last("ask", self.before, self.calls.values())

    @property
    def reported(self) -> f.ToolUsed | None:
        """Return the outcome that the agent has reported in this turn."""
        return _last("report_outcome", self.calls.values())


class PendingSteer(msgspec.Struct, frozen=True, kw_only=True):
    """Words that no prompt and no turn has taken up yet. ``queued``: the agent has them.

    ``late``: they came while what runs was being stopped, so the run is to go on with them.
    """

    uuid: str
    text: str
    turn_id: str | None
    queued: bool = False
    late: bool = False


class Said(msgspec.Struct, frozen=True):
    """A person's message that nothing has carried to the agent yet."""

    uuid: str
    text: str


class Exchange(msgspec.Struct, frozen=True):
    """A turn of a conversation, shortened; ``said`` is empty where the agent spoke unasked."""

    said: str
    answered: str


class Standing(msgspec.Struct, frozen=True):
    """The state in which a visit of a step left the work. ``findings`` is a digest of its outcome
    and of what it found (``core.run.progress``)."""

    step: str
    findings: str
    tree: f.TreeMark


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted outcome while the checks, or the look at the tree, run that may overrule it."""

    outcome: str
    source: str
    description: str | None = None
    detail: str = ""


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run: all that decisions about it need.

    ``begun``: the run has had its turn to go on; until then it is queued. ``sends`` counts the
    prompts of the present visit, ``breaks`` those of them that were cut off, ``attempts`` the
    replies that were judged. ``granted`` are the limits that a person extended. ``tree`` is the
    working tree that the last turn or command left; ``base`` how it was before the first step, or
    before that of the last restart, ``found`` before the very first, ``parted`` at the end of the
    run; ``standings`` has, for where visits of steps left the work since the last restart, the
    first visit that left it so.

    ``asked`` are those of the ``questions`` that still count: what is open, what the running turn
    has asked, and what has an answer that its asker may not have. ``edges`` counts the visits that
    have ended, ``outcome`` is how the last of them did.

    ``heard`` are the uuids of all that people wrote, to a turn or in a conversation. In
    conversations ``ctx`` is what has been saved and ``exchanges`` are the last turns; ``prompt`` is
    what the last turn was about, and so is each that goes on with it; ``left`` are those of its
    tool calls that count when it is over.

    ``sessions`` are all that the run has had, in their order; ``agent_sessions`` the ids that
    their agents have for them, of agents that name their sessions themselves.

    ``gaps`` counts the facts that could not be read, or did not follow; no fact says so.
    """

    start: f.RunStarted
    started_at: str
    begun: bool = False
    next: f.Move | None = None
    step: str | None = None
    visits: dict[str, int] = {}
    step_count: int = 0
    restart: int = 0
    main_session: str = ""
    session_id: str = ""
    sessions: Grown[str, None] = Grown()
    agent_sessions: Grown[str, str] = Grown()
    fork_from: str | None = None
    attempts: int = 0
    breaks: int = 0
    sends: int = 0
    turns: int = 0
    turn: ActiveTurn | None = None
    last_turn: f.TurnEnded | None = None
    claim: Claim | None = None
    stop: f.StopIntended | None = None
    paused: bool = False
    parked_until: str | None = None
    parks: int = 0
    questions: Grown[str, Question] = Grown()
    asked: tuple[str, ...] = ()
    always: frozenset[str] = frozenset()
    steers: tuple[PendingSteer, ...] = ()
    granted: frozenset[str] = frozenset()
    accepted_dirty: bool = False
    accepted_foreign: bool = False
    details: dict[str, str] = {}
    title: str = ""
    tree: f.TreeMark | None = None
    base: f.TreeLook | None = None
    found: f.TreeLook | None = None
    parted: f.TreeLook | None = None
    standings: Grown[Standing, int] = Grown()
    ctx: dict[str, Any] = {}
    heard: Grown[str, None] = Grown()
    exchanges: tuple[Exchange, ...] = ()
    prompt: str = ""
    left: tuple[f.ToolUsed, ...] = ()
    edges: int = 0
    outcome: str | None = None
    gaps: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0
    tokens: TokensUsed = TokensUsed()
    exit: Exit | None = None
    ended_at: str | None = None

    @property
    def place(self) -> Place:
        """Return where the run is, which decides what a command does
        (``core.decide.workflow.MACHINE``)."""
        if self.exit is not None:
            return "ended"
        if self.turn is not None:
            return "in-turn"
        return self.next.kind if self.next is not None else "waiting"

    @property
    def recipe(self) -> Recipe | None:
        return self.start.recipe

    @property
    def name(self) -> str:
        """Return what the run is called everywhere."""
        start = self.start
        return self.title or run_name(start.recipe, start.params, start.text)

    @property
    def origin(self) -> str:
        """Return the value that the identifiers of the run's parts are derived from.

        The names that a lost fact gave are not known: after a gap nothing gets a name that
        something before it may have.
        """
        run_id = self.start.run_id
        return run_id if not self.gaps else f"{run_id} without {self.gaps}"

    @property
    def limits(self) -> Limits:
        return self.start.limits or Limits()

    @property
    def current(self) -> Step | None:
        """Return the step that the run is in."""
        if self.start.recipe is None or self.step is None:
            return None
        return self.start.recipe.steps[self.step]

    @property
    def messages(self) -> tuple[Said, ...]:
        """Return people's messages that wait for the next prompt, in the order they came."""
        return tuple(Said(s.uuid, s.text) for s in self.steers if s.turn_id is None)

    @property
    def in_conversation(self) -> bool:
        """Return whether the run is in a conversation: messages are for its phase's agent."""
        return self.exit is None and self.current is not None and self.current.kind == "talk"

    @property
    def entering(self) -> str | None:
        """Return the step that the run enters as soon as it may go on."""
        if self.recipe is None or self.next is None or self.next.kind not in ("worktree", "enter"):
            return None
        return self.next.step or self.recipe.initial

    @property
    def hears(self) -> bool:
        """Return whether people's messages are for the agent of a phase: of that which the run is
        in, or is about to enter once others make room for it."""
        if self.in_conversation or self.recipe is None or self.entering is None:
            return self.in_conversation
        return self.recipe.steps[self.entering].kind == "talk" and self.ready

    @property
    def waits_for_words(self) -> bool:
        """Return whether nothing is to be done before a person writes (status ``waiting``)."""
        return (
            self.in_conversation
            and self.turn is None
            and self.next is None
            and not self.paused
            and not self.open_questions
        )

    @property
    def asking(self) -> tuple[Question, ...]:
        """Return the questions that still count, in the order they were opened."""
        return tuple(self.questions[name] for name in self.asked)

    @property
    def open_questions(self) -> tuple[Question, ...]:
        return tuple(q for q in self.asking if q.closed is None)

    @property
    def undelivered_answers(self) -> tuple[Question, ...]:
        """Answers to the running turn's questions which the agent may not have yet."""
        if self.turn is None:
            return ()
        turn_id = self.turn.intent.turn_id
        return tuple(
            q for q in self.asking if q.undelivered and not q.spare and q.turn_id == turn_id
        )

    @property
    def status(self) -> RunStatus:
        """Return the public word for where the run stands."""
        if self.exit is not None:
            return "ended"
        if self.open_questions:
            return "waiting"
        if self.paused:
            return "paused"
        if self.parked_until is not None:
            return "parked"
        if self.waits_for_words:
            return "waiting"
        return "running" if self.begun else "queued"

    @property
    def stopping(self) -> bool:
        """Return whether the running turn, command or check is to be stopped before its end."""
        return self.stop is not None and self.stop.how in ("interrupt", "cancel")

    @property
    def at_work(self) -> bool:
        """Return whether a command, check or hook of the run may be going on now."""
        return self.ready and self.next is not None and self.next.kind in ("check", "run", "hook")

    @property
    def ready(self) -> bool:
        """Return whether ``next`` may be done now."""
        return (
            self.next is not None
            and self.exit is None
            and self.turn is None
            and not self.paused
            and self.parked_until is None
            and not self.open_questions
        )
