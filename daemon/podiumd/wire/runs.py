"""Runs: starting, steering and reading them, what they have changed, and their worktrees."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Raw, UnsetType, field

from podiumd.core.decide.claims import Left
from podiumd.core.recipe.exits import Exit
from podiumd.core.recipe.model import Limits
from podiumd.core.reply.report import TokensUsed
from podiumd.core.run.facts import StopKind, Worktree
from podiumd.core.run.history import HistoryPlace, VisitFields, VisitStill
from podiumd.core.run.state import RunStatus
from podiumd.wire.fields import (
    AnyText,
    Directory,
    File,
    Id,
    Json,
    JsonObject,
    ModelName,
    Name,
    Nothing,
    PageSize,
    Params,
    Position,
    Result,
    Text,
    Token,
)
from podiumd.wire.method import Method
from podiumd.wire.questions import Question

RunKind = Literal["recipe", "prompt"]
RunParams = dict[str, str | int | bool]
Title = Annotated[
    str,
    Meta(
        pattern=r"\A[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]{0,80}\Z",
        description="a title: one line of at most 80 characters that are seen, or empty",
    ),
]
_DATA: Final = "#/components/schemas/"
EncodedEvent = Annotated[Raw, Meta(extra_json_schema={"$ref": _DATA + "Event"})]
"""An event as JSON: it is written once for all who follow."""
StartedData = Annotated[Json, Meta(extra_json_schema={"$ref": _DATA + "RunStartedData"})]
OpenedData = Annotated[Json, Meta(extra_json_schema={"$ref": _DATA + "QuestionOpenedData"})]
ClosedData = Annotated[Json, Meta(extra_json_schema={"$ref": _DATA + "QuestionClosedData"})]
"""The data of events (``wire.event.data_of``)."""

# -- parameters ------------------------------------------------------------------------------


class RunStart(Params, frozen=True, kw_only=True):
    """``runs.start``."""

    recipe: Name
    working_directory: Directory
    session_id: Id | None = None
    params: dict[Name, AnyText | int | float | bool] = field(default_factory=dict)
    agent: Name | None = None
    model: ModelName | None = None
    script: File | None = None
    worktree: bool = False
    anyway: bool = False
    on_question: Literal["ask", "wait", "fail"] = "wait"
    client_token: Token | None = None


class OneRun(Params, frozen=True, kw_only=True):
    """Methods that need only a run."""

    run_id: Id


class DiffRun(Params, frozen=True, kw_only=True):
    """``runs.diff``; with ``patch`` also line by line."""

    run_id: Id
    patch: bool = True


class ListRuns(Params, frozen=True, kw_only=True):
    """``runs.list``; ``before``: a run."""

    active: bool | None = None
    limit: PageSize = 100
    before: Id | None = None


class RunEvents(Params, frozen=True, kw_only=True):
    """``runs.events``."""

    run_id: Id
    after_seq: Position = 0
    follow: bool = False


class ReadHistory(Params, frozen=True, kw_only=True):
    """``runs.history``; ``after``: the ``next`` of the page before."""

    run_id: Id
    after: HistoryPlace | None = None


class Steer(Params, frozen=True, kw_only=True):
    """``runs.steer``."""

    run_id: Id
    text: Text


class RenameRun(Params, frozen=True, kw_only=True):
    """``runs.rename``; an empty title: by recipe and task again."""

    run_id: Id
    title: Title


class RemoveWorktree(Params, frozen=True, kw_only=True):
    """``worktrees.remove``; with ``force`` also what would be lost."""

    run_id: Id
    force: bool = False


# -- results ---------------------------------------------------------------------------------


class Run(Result, frozen=True, kw_only=True):
    """A run. ``ctx`` is what its conversations have saved; ``runs.list`` leaves it out. ``paused``
    is true beside the status ``waiting`` too. A run of an earlier release has no ``tokens``."""

    run_id: str
    kind: RunKind
    recipe: str | None
    name: str
    session_id: str
    main_session_id: str
    working_directory: str
    agent: str
    model: str | None
    params: RunParams
    limits: Limits | None
    status: RunStatus
    paused: bool
    stop: StopKind | None
    step: str | None
    step_count: int
    visits: dict[str, int]
    questions: tuple[Question, ...]
    ctx: JsonObject | UnsetType = UNSET
    turns: int
    cost_usd: float
    tokens: TokensUsed | UnsetType = UNSET
    seconds: float
    restarts: int
    base: str | None
    left: Left | None
    parked_until: str | None
    worktree: Worktree | None
    started_at: str
    ended_at: str | None
    exit: Exit | None


class Visit(Result, frozen=True, kw_only=True):
    """The end of a visit of a step: how it ended, and when."""

    step: str
    visit: int
    outcome: str
    source: str
    attempts: int
    at: str
    description: str | None


class WholeRun(Run, frozen=True, kw_only=True):
    """A run with what grows with its steps: the sessions it has had, and its history."""

    sessions: tuple[str, ...]
    history: tuple[Visit, ...]


class VisitQuestion(Result, frozen=True, kw_only=True):
    """A question that a visit waited for: the data of its event, and of the one that closed it."""

    opened_at: str
    closed_at: str | None
    opened: OpenedData
    closed: ClosedData | None


class VisitNote(Result, frozen=True, kw_only=True):
    """A fact that happened on the way: an event's type and its data."""

    at: str
    type: str
    data: Json


class WholeVisit(VisitFields, kw_only=True):
    """A visit of a step: what happened in it and before it, and what that came to.

    ``number`` counts the visits of the run, ``restart`` its restarts. ``waited_seconds`` is how
    long a person was waited for, ``still_seconds`` how long the run was paused or parked.
    """

    questions: tuple[VisitQuestion, ...]
    stills: list[VisitStill]
    notes: tuple[VisitNote, ...]
    work_seconds: float
    waited_seconds: float
    still_seconds: float
    cost_usd: float
    tokens: TokensUsed


class RunHistory(Result, frozen=True, kw_only=True):
    """Visits of a run, in their order, told up to ``until``: its end, or now.

    ``started`` is the data of its first event, on the first page. ``complete``: there are no more
    for now; what comes after the last visit that is over comes after ``next``.
    """

    started: StartedData | None
    visits: tuple[WholeVisit, ...]
    undelivered: tuple[str, ...]
    until: str
    next: HistoryPlace
    complete: bool


class Talk(Result, frozen=True, kw_only=True):
    """A conversation that goes on when its person says something."""

    run_id: str
    name: str
    session_id: str


class ActivePrompt(Result, frozen=True, kw_only=True):
    """A prompt that has not ended: a run as well, which can be followed and cancelled as one.

    ``paused`` is true beside the status ``waiting`` too."""

    run_id: str
    name: str
    session_id: str
    status: RunStatus
    paused: bool
    started_at: str


class TurnFile(Result, frozen=True, kw_only=True):
    """A file that a turn has changed."""

    path: str
    change: str


class Turn(Result, frozen=True, kw_only=True):
    """A turn: the words of its agent, and what came of it."""

    turn_id: str | None
    run_id: str
    session_id: str | None
    status: Literal["queued", "running", "ended"]
    text: str
    outcome: str | None
    exit: Exit | None
    files: tuple[TurnFile, ...]
    commit: str | None
    cost_usd: float
    tokens: TokensUsed
    started_at: str | None
    ended_at: str | None


class EventsPage(Result, frozen=True, kw_only=True):
    """Events of a run, and the cursor for what follows."""

    events: tuple[EncodedEvent, ...]
    next_seq: int


class Steered(Result, frozen=True, kw_only=True):
    """The fate of a person's words: the turn has them, or its next prompt will."""

    state: Literal["queued", "too_late"]


class DiffFile(Result, frozen=True, kw_only=True):
    """A file that differs. ``before`` is its name where it was another one, ``mode`` its mode
    where that was. ``changed_before``: it was not as committed when the run began."""

    path: str
    change: str
    before: str | None
    mode: str | None
    added: int | None
    deleted: int | None
    changed_before: bool


class DiffPart(Result, frozen=True, kw_only=True):
    """Files that differ, and how. ``more`` counts those without room; ``cut``: the patch is not
    whole."""

    files: tuple[DiffFile, ...]
    more: int
    patch: str
    cut: bool


class DiffCommit(Result, frozen=True, kw_only=True):
    """A commit: its id, when it was made, the first line of its message."""

    commit: str
    at: str
    subject: str


class Diff(Result, frozen=True, kw_only=True):
    """The changes of a run. ``gone``: its worktree is not there any more; ``rewritten``: ``head``
    does not go on from ``base``."""

    run_id: str
    directory: str
    ended: bool
    gone: bool
    base: str | None
    head: str | None
    rewritten: bool
    commits: tuple[DiffCommit, ...]
    more_commits: int
    committed: DiffPart
    uncommitted: DiffPart


class WorktreeRow(Result, frozen=True, kw_only=True):
    """A worktree of a run, and what is in it. ``problem``: why that cannot be found out; a field
    that is not known is unset then."""

    directory: str
    bytes: int | None
    run_id: str | None
    recipe: str | UnsetType | None = UNSET
    params: RunParams | UnsetType | None = UNSET
    status: str | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    repository: str | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    head: str | UnsetType | None = UNSET
    uncommitted: tuple[str, ...] | UnsetType = UNSET
    more: int | UnsetType = UNSET
    commits: int | UnsetType = UNSET
    merged: bool | UnsetType = UNSET
    merging: bool | UnsetType = UNSET
    problem: str | None


class LeftPaths(Result, frozen=True, kw_only=True):
    """Paths that are not committed; ``more`` counts those that are not named."""

    paths: tuple[str, ...]
    more: int


class Merged(Result, frozen=True, kw_only=True):
    """The result of a merge. ``merged`` is false where the branch had it all already."""

    branch: str
    into: str
    repository: str
    commit: str
    merged: bool
    left: LeftPaths | UnsetType = UNSET


class Removed(Result, frozen=True, kw_only=True):
    """A worktree that was removed; ``lost`` is what was, in words. ``lost_commits``: commits that
    no other branch has; ``None`` where git did not say how many."""

    directory: str
    branch: str
    commit: str | None
    branch_kept: bool
    lost: str | None
    lost_commits: int | None


# -- methods ---------------------------------------------------------------------------------

CANCEL = Method[OneRun, Run](
    "runs.cancel", "End a run and its agent.", pace="waiting", needs="work"
)
DIFF = Method[DiffRun, Diff](
    "runs.diff", "What a run has changed.", pace="waiting", reads=True, needs="look"
)
EVENTS = Method[RunEvents, EventsPage](
    "runs.events", "Events of a run, and follow them.", needs="look"
)
GET = Method[OneRun, WholeRun]("runs.get", "One run.", reads=True, needs="look")
HISTORY = Method[ReadHistory, RunHistory](
    "runs.history", "What a run did.", reads=True, needs="look"
)
INTERRUPT = Method[OneRun, Run](
    "runs.interrupt", "Stop the turn and pause.", pace="waiting", needs="work"
)
LIST = Method[ListRuns, list[Run]](
    "runs.list", "Runs of recipes, newest first.", reads=True, needs="look"
)
PAUSE = Method[OneRun, Run]("runs.pause", "Pause at the end of the turn.", needs="work")
RENAME = Method[RenameRun, Run]("runs.rename", "Call a run by a title.", needs="work")
RESUME = Method[OneRun, Run]("runs.resume", "Go on after a pause.", needs="work")
START = Method[RunStart, Run]("runs.start", "Start a recipe.", needs="work")
STEER = Method[Steer, Steered](
    "runs.steer", "Tell the running turn something.", pace="waiting", needs="work"
)
WORKTREES = Method[Nothing, list[WorktreeRow]](
    "worktrees.list", "The worktrees of runs.", pace="waiting", reads=True, needs="look"
)
MERGE_WORKTREE = Method[OneRun, Merged](
    "worktrees.merge", "Merge a run's worktree.", pace="waiting", needs="work"
)
REMOVE_WORKTREE = Method[RemoveWorktree, Removed](
    "worktrees.remove", "Remove a run's worktree.", pace="waiting"
)
