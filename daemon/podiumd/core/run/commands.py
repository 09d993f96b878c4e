"""The commands to a run, requests and reports alike: the only way in.

Each command carries its own time: ``at`` (RFC 3339 UTC, for people) and ``mono`` (the machine's
monotonic clock in seconds, for sums), so that the core needs no clock.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from podiumd.core.recipe.model import Limits, Recipe
from podiumd.core.reply.report import TurnReport
from podiumd.core.run.fact import RunImage, RunScript
from podiumd.core.run.facts import OnQuestion, TreeLook, TreeMark, Worktree
from podiumd.core.run.native_loop_commands import LoopCommand


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all commands. ``parting`` is the working tree, where the run ends by the command."""

    at: str
    mono: float = 0.0
    parting: TreeLook | None = None


class Start(Command, frozen=True):
    """Begin a run: of a recipe, or (``text``) of one plain prompt."""

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
    params: dict[str, str | int | bool] = {}
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


class Proceed(Command, frozen=True):
    """Do what is next. Carries what the runtime saw of the world just before.

    ``dirty``: paths with uncommitted changes; ``None`` also where there is no git repository.
    ``tree``: HEAD and digest, for a step that must not be repeated. ``foreign_rows``: rows that
    another writer put into the session since our last turn. ``problem``: why the agent cannot be
    run. ``locked``: who holds the session or the working tree instead of us. ``trouble``: why the
    working tree cannot be looked at. ``gone``: the session has had turns of ours, and its
    conversation is not there any more. ``look``: the working tree before the first step of a recipe
    that commits, and where a claim is to be looked at. ``agent_session_id`` is the agent's own id
    of the conversation that a turn goes on with or copies.
    """

    dirty: tuple[str, ...] | None = None
    tree: TreeMark | None = None
    foreign_rows: int = 0
    problem: str | None = None
    locked: str | None = None
    trouble: str | None = None
    gone: bool = False
    look: TreeLook | None = None
    agent_session_id: str | None = None


class ReportTurnStart(Command, frozen=True):
    """The agent's process exists."""

    turn_id: str
    pid: int
    proc_start: int
    group: int


class ReportSessionName(Command, frozen=True):
    """The agent of the turn has an id of its own for the session, it and all of its ``family``."""

    turn_id: str
    agent_session_id: str
    family: str = ""


class ReportTurnEnd(Command, frozen=True):
    """A turn came to its end; ``delivered`` are the steers it took up, ``tree`` is the working
    tree now (for a step that must not be repeated unseen, or that can come round again)."""

    turn_id: str
    report: TurnReport
    delivered: tuple[str, ...] = ()
    tree: TreeMark | None = None


class ReportCheckEnd(Command, frozen=True):
    """A check came to its end."""

    index: int
    passed: bool
    exit_status: int | None = None
    seconds: float = 0.0
    tail: str = ""
    log: str = ""


class ReportCommandEnd(Command, frozen=True):
    """The command of a step came to its end; ``tree`` is the working tree now (for a step that
    can come round again)."""

    passed: bool
    exit_status: int | None = None
    seconds: float = 0.0
    tail: str = ""
    log: str = ""
    tree: TreeMark | None = None


class ReportWorkStopped(Command, frozen=True):
    """The command or check that was to be stopped lives no more, and has not come to its end."""


class ReportEffectEnd(Command, frozen=True):
    """Report that an effect outside is done: ``answer:ID``, ``steer:UUID``, ``worktree``.

    A steer that was delivered may be ``lost``: the agent died before it had written it down.
    ``detail`` is its text then.
    """

    effect: str
    state: str
    detail: str = ""


class ReportApproval(Command, frozen=True):
    """The agent asks for leave to use a tool, or asks the person something itself."""

    turn_id: str
    request_id: str
    tool: str
    input: dict[str, Any]
    tool_use_id: str = ""
    description: str = ""
    asks_person: bool = False


class ReportApprovalGone(Command, frozen=True):
    """The agent waits for this answer no more."""

    request_id: str


class ReportToolCall(Command, frozen=True):
    """The agent calls one of Podium's own tools. ``refused`` is why a hook does not let it."""

    turn_id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    refused: str | None = None


class ReportHookEnd(Command, frozen=True):
    """Report the end of a hook after a conversation's turn; ``reason`` is the hook's own."""

    index: int
    exit_status: int | None = None
    reason: str = ""
    seconds: float = 0.0


class Say(Command, frozen=True):
    """A person says something in a conversation."""

    uuid: str
    text: str
    by: str = "person"


class ReportAskerGone(Command, frozen=True):
    """Report that the turn is entered once more: its asker before is gone, with its daemon."""

    turn_id: str


class LoopStep(Command, frozen=True):
    """Report a step within a turn of the native agent."""

    turn_id: str
    step: LoopCommand


class Answer(Command, frozen=True):
    """A person's answer to a question."""

    question_id: str
    answer: str
    note: str | None = None
    by: str = "person"


class Pause(Command, frozen=True):
    """Stand still at the end of the turn, command or check."""


class Resume(Command, frozen=True):
    """Go on."""


class Rename(Command, frozen=True):
    """Call the run by a title; an empty one: by its recipe and task again."""

    title: str


class ReportLimitReset(Command, frozen=True):
    """The agent's usage limit is over."""


class Interrupt(Command, frozen=True):
    """Stop the turn, command or check, and pause."""


class Cancel(Command, frozen=True):
    """Stop the turn and end the run."""

    reason: Literal["user-requested", "orchestration-disabled"] = "user-requested"


class Steer(Command, frozen=True):
    """Words for the running turn."""

    uuid: str
    text: str


class NoteAside(Command, frozen=True):
    """A person's prompt goes through this run's session while the run waits."""

    run_id: str
    session_id: str


class AskRecovery(Command, frozen=True):
    """Recovery cannot decide by itself: a person must. ``about`` names the matter."""

    about: str
    text: str
    detail: str = ""


class ReportFault(Command, frozen=True):
    """The daemon failed at this run; ``detail`` names the log entry."""

    detail: str


AnyCommand = (
    Start
    | Proceed
    | ReportTurnStart
    | ReportSessionName
    | ReportTurnEnd
    | ReportCheckEnd
    | ReportCommandEnd
    | ReportWorkStopped
    | ReportEffectEnd
    | ReportApproval
    | ReportApprovalGone
    | ReportToolCall
    | ReportHookEnd
    | Say
    | ReportAskerGone
    | LoopStep
    | Answer
    | Pause
    | Resume
    | Rename
    | ReportLimitReset
    | Interrupt
    | Cancel
    | Steer
    | NoteAside
    | AskRecovery
    | ReportFault
)


class RunOver(msgspec.Struct, frozen=True):
    """The run ``id`` has ended; ``by`` is the reason of its exit."""

    id: str
    by: str


class QuestionOver(msgspec.Struct, frozen=True):
    """The question ``id`` is closed; ``by`` names who answered it."""

    id: str
    by: str | None


class UnknownQuestion(msgspec.Struct, frozen=True):
    """The run has no question ``id``."""

    id: str


class WrongValue(msgspec.Struct, frozen=True):
    """The value of ``parameter`` is impossible."""

    parameter: str


class NoRoom(msgspec.Struct, frozen=True):
    """The command would have to wait, and too much does already."""


Why = RunOver | QuestionOver | UnknownQuestion | WrongValue | NoRoom


class CommandRefused(Exception):
    """The command does not fit the run as it is; nothing was decided.

    ``message`` is for people, ``why`` for programs.
    """

    def __init__(self, message: str, why: Why) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
