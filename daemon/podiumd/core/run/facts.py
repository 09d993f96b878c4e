"""The facts of a run: everything that was decided, as frozen values, stored for good.

A fact's ``tag`` is its public name (the ``type`` of an event). Each kind has a version; a change
of shape raises it and adds an upcaster (``store.upcast``).

``next`` is the one thing the run wants to do next. Every fact that leaves something to be done
says so itself, so a run can go on from any fact after a crash.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import msgspec

from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import Limits, Recipe
from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.core.run.fact import (
    Fact,
    Move,
    PersonFact,
    Purpose,
    RunFact,
    RunImage,
    RunScript,
    StepFact,
    TurnFact,
)
from podiumd.core.run.native_loop_facts import AnyLoopFact, LoopFact

# With the facts themselves, ``facts`` is all.
__all__ = ["EndKind", "Fact", "LoopFact", "Move", "PersonFact", "Purpose", "RunFact", "StepFact"]
__all__ += ["TurnFact"]

OnQuestion = Literal["ask", "wait", "fail"]
QuestionKind = Literal["approval", "gate", "ask", "limit", "recover"]
StopKind = Literal["pause", "end", "interrupt", "cancel"]
EffectKind = Literal["answer", "steer", "worktree", "commit"]


class TreeMark(msgspec.Struct, frozen=True):
    """The working tree as it was: HEAD and a digest of everything that differs from it."""

    head: str | None
    digest: str


class TreeLook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The working tree as it was seen once.

    ``repository``: git knows the directory at all. ``commits`` counts those below ``head`` that
    were not there when the run began (none counted before). ``tips`` are those that other refs
    pointed to then, and ``head`` did not have: to check one out is no commit. ``uncommitted`` are
    the paths that differ from ``head``, from the tree's top, each with a digest of its content and,
    after a blank, one of its size and time (see ``claims.same_content``); ``more`` are those that
    were not looked at. ``ignored`` is what git passed over when the run began, a directory for all
    below it; ``None`` where that is not known. ``problem`` is the reason why no look was possible.
    """

    repository: bool = True
    head: str | None = None
    commits: int = 0
    tips: list[str] = []
    uncommitted: dict[str, str] = {}
    more: int = 0
    ignored: list[str] | None = None
    problem: str = ""


class TreeSeen(RunFact, frozen=True, kw_only=True, tag="tree.seen"):
    """The working tree was looked at: before the run's first step, because of a claim, or where
    the run ends."""

    why: Literal["start", "claim", "end"]
    look: TreeLook


class ClaimMade(StepFact, frozen=True, kw_only=True, tag="claim.made"):
    """A step ended with an outcome that says something of the working tree. It leads nowhere
    before that was looked at."""

    step: str
    visit: int
    claims: str
    outcome: str
    source: str
    description: str | None = None
    detail: str = ""


class Worktree(msgspec.Struct, frozen=True):
    """A checkout of its own for one run."""

    repository: str
    directory: str
    branch: str


class RunStarted(RunFact, frozen=True, kw_only=True, tag="run.started"):
    """A run exists. The recipe stands in it whole: later edits never reach a running run.

    ``agent`` takes the steps that name none; a person ``agent_given`` it, or it is the default.
    ``agent_override`` takes every step: so runs of earlier releases began. ``doubts`` are sentences
    for people about how it was started.
    """

    run_id: str
    kind: Literal["recipe", "prompt"]
    session_id: str
    working_directory: str
    agent: str
    recipe: Recipe | None = None
    source: str | None = None
    agent_override: str | None = None
    agent_given: str | None = None
    doubts: tuple[str, ...] = ()
    fork_from: str | None = None
    params: dict[str, str | int | bool] = msgspec.field(default_factory=dict)
    limits: Limits | None = None
    on_question: OnQuestion = "wait"
    text: str | None = None
    system_prompt: str | None = None
    worktree: Worktree | None = None
    aside_of: str | None = None
    permission_mode: str | None = None
    model: str | None = None
    script: RunScript | None = None
    images: tuple[RunImage, ...] = ()


class StepEntered(StepFact, frozen=True, kw_only=True, tag="step.entered"):
    """An entry into a step: visits and steps are counted here and nowhere else."""

    step: str
    visit: int
    step_count: int
    session_id: str
    fork_from: str | None = None


class TurnIntended(TurnFact, frozen=True, kw_only=True, tag="turn.intended"):
    """A prompt is about to be sent. Stored before the agent is started.

    ``system`` is the system text of a phase, ``served`` names the tools that Podium itself offers
    in this turn. ``anew``: the agent's conversation is gone, and begins again with a summary.
    ``agent_session_id`` is the agent's own id of the conversation that the turn goes on with, or
    copies (``fork_from``), where it names its sessions itself and there is one.
    """

    turn_id: str
    prompt_uuid: str
    purpose: Purpose
    session_id: str
    agent: str
    prompt: str
    attempt: int = 1
    step: str | None = None
    visit: int = 0
    fork_from: str | None = None
    model: str | None = None
    tools: str | tuple[str, ...] = "all"
    allow: tuple[str, ...] = ()
    permission_mode: str | None = None
    outcomes: tuple[str, ...] = ()
    budget_usd: float | None = None
    timeout_seconds: float | None = None
    seconds_left: float | None = None
    tree: TreeMark | None = None
    carried: tuple[str, ...] = ()
    system: str | None = None
    served: tuple[str, ...] = ()
    anew: bool = False
    agent_session_id: str | None = None


class TurnStarted(TurnFact, frozen=True, kw_only=True, tag="turn.started"):
    """The agent's process exists. ``mono`` is the machine's monotonic clock in seconds."""

    turn_id: str
    pid: int
    proc_start: int
    group: int
    mono: float


class SessionNamed(TurnFact, frozen=True, kw_only=True, tag="session.named"):
    """The agent of a turn has an id of its own for the session: ``agent_session_id``.

    ``session_id`` is the session's name for everybody else, for ever. ``family`` are the agents
    that mean this session by that id.
    """

    turn_id: str
    session_id: str
    agent_session_id: str
    family: str = ""


class TurnEnded(TurnFact, frozen=True, kw_only=True, tag="turn.ended"):
    """The agent is gone. ``seconds`` is active time: what questions took is not in it.

    ``tree`` is the working tree that it left, in a step that the run can come back to.
    """

    turn_id: str
    report: TurnReport
    text: str
    seconds: float
    cost_usd: float
    tree: TreeMark | None = None


class OutcomeParsed(StepFact, frozen=True, kw_only=True, tag="outcome.parsed"):
    """The agent's word for how the step went; checks may still overrule it."""

    step: str
    outcome: str
    source: str
    description: str | None = None
    repaired: bool = False
    detail: str = ""
    attempt: int = 1


class OutcomeInvalid(StepFact, frozen=True, kw_only=True, tag="outcome.invalid"):
    """A reply without a usable outcome."""

    step: str
    error: str
    message: str
    attempt: int
    excerpt: str = ""
    returned: str | None = None
    expected: tuple[str, ...] = ()


class CheckEnded(StepFact, frozen=True, kw_only=True, tag="check.ended"):
    """A command that the daemon ran itself; its word counts more than the agent's."""

    step: str
    index: int
    run: tuple[str, ...]
    passed: bool
    exit_status: int | None = None
    seconds: float = 0.0
    tail: str = ""
    log: str = ""


class CommandIntended(StepFact, frozen=True, kw_only=True, tag="command.intended"):
    """The command of a step is about to be run. Stored before its process exists."""

    step: str
    visit: int
    run: tuple[str, ...]
    timeout_seconds: float


class CommandEnded(StepFact, frozen=True, kw_only=True, tag="command.ended"):
    """The command of a step is over; ``exit_status`` is ``None`` if it did not end by itself.

    ``tree`` is the working tree that it left, in a step that the run can come back to.
    """

    step: str
    visit: int
    run: tuple[str, ...]
    passed: bool
    exit_status: int | None = None
    seconds: float = 0.0
    tail: str = ""
    log: str = ""
    tree: TreeMark | None = None


class QuestionOpened(PersonFact, frozen=True, kw_only=True, tag="question.opened"):
    """A person is needed."""

    question_id: str
    kind: QuestionKind
    text: str
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
    mono: float = 0.0
    multi: bool = False
    columns: tuple[dict[str, Any], ...] = ()
    rule: str = ""


class QuestionClosed(PersonFact, frozen=True, kw_only=True, tag="question.closed"):
    """A question is no longer open. ``declines`` takes the step's edge for a gate refused."""

    question_id: str
    closed: Literal["answered", "superseded", "expired"]
    answer: str | None = None
    note: str | None = None
    by: str | None = None
    mono: float = 0.0


class SteerIntended(PersonFact, frozen=True, kw_only=True, tag="steer.intended"):
    """A person's words for the running turn. Without ``turn_id`` they wait for the next prompt."""

    uuid: str
    text: str
    turn_id: str | None = None


class AsideNoted(PersonFact, frozen=True, kw_only=True, tag="aside.noted"):
    """A person's own prompt went through the session while this run waited."""

    run_id: str
    session_id: str


class LimitHit(RunFact, frozen=True, kw_only=True, tag="limit.hit"):
    """A guardrail refused to go on. ``limit`` is the exit reason, ``count`` the limit itself."""

    limit: str
    count: int | float


class EdgeTaken(StepFact, frozen=True, kw_only=True, tag="edge.taken"):
    """A step is over: its outcome and where that leads (``to`` or ``exit``).

    ``returns`` are the steps that called a recipe which is over with this.
    """

    step: str
    visit: int
    outcome: str
    source: str
    attempts: int
    description: str | None = None
    detail: str = ""
    to: str | None = None
    exit: str | None = None
    session_id: str | None = None
    returns: tuple[str, ...] = ()


class ProgressStalled(StepFact, frozen=True, kw_only=True, tag="progress.stalled"):
    """A visit of a step ended as visit ``since`` did: same outcome, same findings, same tree.

    A notice; the run goes on. It follows the ``edge.taken`` of that visit.
    """

    step: str
    visit: int
    since: int
    outcome: str
    tree: TreeMark


class EffectEnded(PersonFact, frozen=True, kw_only=True, tag="effect.ended"):
    """An outside effect of the daemon is done: ``effect`` is ``answer:ID``, ``steer:UUID``,
    ``worktree`` or ``commit``; ``state`` says how it went. ``commit`` is the one that was made."""

    effect: str
    state: str
    detail: str = ""
    commit: str | None = None


class StopIntended(RunFact, frozen=True, kw_only=True, tag="stop.intended"):
    """The stop that is to come after the running turn, command or check. Stored before it is sent.

    ``pause`` and ``end`` let it come to its own end, then pause the run or end it; ``interrupt``
    and ``cancel`` stop it first, and do the same.
    """

    how: StopKind
    reason: str = "user-requested"
    detail: str = ""


class RunPaused(RunFact, frozen=True, kw_only=True, tag="run.paused"):
    """The run stands still until it is resumed."""

    why: str = "requested"


class RunResumed(RunFact, frozen=True, kw_only=True, tag="run.resumed"):
    """The run goes on."""

    why: str = "requested"


class RunRenamed(RunFact, frozen=True, kw_only=True, tag="run.renamed"):
    """The run has a title, by which it is called; without one, by its recipe and task."""

    title: str


class RunParked(RunFact, frozen=True, kw_only=True, tag="run.parked"):
    """The agent's usage limit is reached; the run goes on by itself at ``until``."""

    until: str
    detail: str = ""


class RunEnded(RunFact, frozen=True, kw_only=True, tag="run.ended"):
    """The run is over. ``undelivered`` are texts of steers that no prompt carried any more."""

    exit: Exit
    undelivered: tuple[str, ...] = ()


class MessageReceived(PersonFact, frozen=True, kw_only=True, tag="message.received"):
    """A person's words in a conversation: the next prompt of its phase. ``by`` names who spoke.

    The answer to a question of the conversation is such words too, under the question's id.
    """

    uuid: str
    text: str
    by: str = "person"


class ToolUsed(TurnFact, frozen=True, kw_only=True, tag="tool.used"):
    """The agent has called one of Podium's own tools. ``message`` is the answer that it got.

    ``call_id`` names the call within its turn: the same call is never recorded twice. ``args`` are
    as they were taken, so a text that stood for a number is the number.
    """

    turn_id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    success: bool
    message: str


class HookEnded(StepFact, frozen=True, kw_only=True, tag="hook.ended"):
    """A hook at the end of a conversation's turn has been run.

    ``refused``: its word is no, for ``reason``. Any other failure of it decides nothing.
    """

    step: str
    visit: int
    index: int
    run: tuple[str, ...]
    exit_status: int | None = None
    refused: bool = False
    reason: str = ""
    seconds: float = 0.0


AnyTurnFact = TurnIntended | TurnStarted | SessionNamed | TurnEnded | ToolUsed
AnyStepFact = (
    StepEntered
    | OutcomeParsed
    | OutcomeInvalid
    | EdgeTaken
    | CheckEnded
    | CommandIntended
    | CommandEnded
    | HookEnded
    | ClaimMade
    | ProgressStalled
)
AnyPersonFact = (
    QuestionOpened | QuestionClosed | EffectEnded | SteerIntended | MessageReceived | AsideNoted
)
AnyRunFact = (
    RunStarted
    | StopIntended
    | RunPaused
    | RunResumed
    | RunRenamed
    | RunParked
    | RunEnded
    | LimitHit
    | TreeSeen
)
AnyFact = AnyTurnFact | AnyStepFact | AnyPersonFact | AnyRunFact | AnyLoopFact

QuietFact = (
    TurnStarted | SessionNamed | ClaimMade | TreeSeen | EffectEnded | StopIntended | RunRenamed
)
"""The facts that no projection shows anything of: each of them names these first, then those that
it alone passes over. A new fact that nobody is shown is added here, and nowhere else."""

VERSION = 1
"""The version of every fact kind written by this release; per kind once they differ."""

_EFFECTS: Final[dict[str, EffectKind]] = {kind: kind for kind in get_args(EffectKind)}
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyFact] = msgspec.json.Decoder(AnyFact)


def type_of(fact: Fact) -> str:
    """Return the public name of a fact's kind."""
    return tag_of(type(fact))


def tag_of(kind: type[Fact]) -> str:
    """Return the public name of a kind of facts."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def effect_of(effect: str) -> tuple[EffectKind, str]:
    """Return an effect's kind and the id in it, where it has one. Raises ``KeyError``."""
    kind, _, name = effect.partition(":")
    return _EFFECTS[kind], name


def encode(fact: Fact) -> bytes:
    """Encode a fact as JSON, its kind included as ``type``."""
    return _encoder.encode(fact)


def decode(data: bytes) -> AnyFact:
    """Decode a fact from its JSON.

    Raises:
        msgspec.ValidationError: not a fact of a known kind and shape.
    """
    return _decoder.decode(data)
