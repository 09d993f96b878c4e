"""Types of what the daemon takes and sends. Made from ``podiumd.wire`` by ``make wire``; do not
edit.

For the type checker alone: nothing imports it when the client runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, Protocol, TypedDict, overload


class Accepted(TypedDict):
    ok: Literal[True]
    outcome: str
    description: str | None
    source: str
    repaired: bool


class ActionEndedData(TypedDict):
    turn_id: str
    reply: int
    index: int
    result: Result
    changes: list[FileChange]
    refused: bool


class ActionIntendedData(TypedDict):
    turn_id: str
    reply: int
    index: int
    action: str
    changes: list[FileChange]


class ActivePrompt(TypedDict):
    run_id: str
    name: str
    session_id: str
    status: Literal["ended", "parked", "paused", "queued", "running", "waiting"]
    paused: bool
    started_at: str


class ActiveRecipe(TypedDict):
    run_id: str
    recipe_id: str
    current_step: str | None
    step_count: int
    max_total_steps: int | None


class Agent(TypedDict):
    name: str
    kind: str
    label: str
    state: Literal["missing", "ready", "unready"]
    program: str | None
    version: str | None
    mark: str | None
    found: str
    fix: str
    session_format: str | None
    capabilities: Capabilities


class Answer(TypedDict):
    question_id: str
    answer: str
    note: NotRequired[str | None]


class AsideNotedData(TypedDict):
    run_id: str
    session_id: str


class Audio(TypedDict):
    utterance_id: str
    audio: str
    frame: NotRequired[int | None]


class Capabilities(TypedDict):
    structured_output: bool
    approvals: bool
    interrupt: bool
    steer: bool
    resume: bool
    fork: bool
    read_only_tools: bool
    tool_lists: bool
    deny_words: bool
    survives_daemon: bool
    hooks: bool
    system_text: bool
    compacts: bool
    names_sessions: bool
    permission_modes: list[str]
    unasked: list[str]
    exactly_once: Literal["agent", "facts", "mark", "weak"]
    own_tools: Literal["dialect", "inside", "mcp", "none"]
    usage: Literal["cost", "none", "tokens"]
    images: Literal["inline", "none", "path"]


class Check(TypedDict):
    run: list[str]
    timeout_seconds: float


class CheckEndedData(TypedDict):
    step: str
    index: int
    run: list[str]
    passed: bool
    exit_status: int | None
    seconds: float
    tail: str
    log: str


class CheckRecipe(TypedDict):
    path: NotRequired[str | None]
    text: NotRequired[str | None]
    id: NotRequired[str | None]
    working_directory: NotRequired[str | None]


class CheckReport(TypedDict):
    ok: bool
    findings: list[Finding]
    worst_case: WorstCase | None


class Choice(TypedDict):
    id: str
    label: str


class ClaimMadeData(TypedDict):
    step: str
    visit: int
    claims: str
    outcome: str
    source: str
    description: str | None
    detail: str


class CommandEndedData(TypedDict):
    step: str
    visit: int
    run: list[str]
    passed: bool
    exit_status: int | None
    seconds: float
    tail: str
    log: str
    tree: TreeMark | None


class CommandIntendedData(TypedDict):
    step: str
    visit: int
    run: list[str]
    timeout_seconds: float


class Configuration(TypedDict):
    path: str | None
    problem: str | None
    pending: list[PendingSetting]
    restart: str
    warnings: list[str]
    values: list[Setting]


class ConfigurationStatus(TypedDict):
    path: str | None
    problem: str | None
    pending: list[PendingSetting]
    restart: str
    warnings: list[str]


class Configure(TypedDict):
    orchestration_enabled: NotRequired[bool | None]


class Configured(TypedDict):
    orchestration: Orchestration


class DaemonStatus(TypedDict):
    version: str
    pid: int
    started_at: str
    socket: str
    service: str | None
    gateway: GatewayStatus
    voice: SpeechStatus
    configuration: ConfigurationStatus
    limits: LimitsInForce
    retention: RetentionInForce
    sessions: int
    runs_active: int
    runs_paused: int
    prompts_active: int
    prompts_waiting: int
    prompts: list[ActivePrompt]
    questions_open: int
    talks_waiting: list[Talk]
    orchestration: Orchestration
    taken_up: int


class Denial(TypedDict):
    tool: str
    tool_use_id: str


class Device(TypedDict):
    device: str
    name: str
    paired_at: str
    last_seen: str | None
    connected: bool
    kind: Literal["phone", "web"]
    scope: Literal["all", "answer", "look", "work"]


class Diff(TypedDict):
    run_id: str
    directory: str
    ended: bool
    gone: bool
    base: str | None
    head: str | None
    rewritten: bool
    commits: list[DiffCommit]
    more_commits: int
    committed: DiffPart
    uncommitted: DiffPart


class DiffCommit(TypedDict):
    commit: str
    at: str
    subject: str


class DiffFile(TypedDict):
    path: str
    change: str
    before: str | None
    mode: str | None
    added: int | None
    deleted: int | None
    changed_before: bool


class DiffPart(TypedDict):
    files: list[DiffFile]
    more: int
    patch: str
    cut: bool


class DiffRun(TypedDict):
    run_id: str
    patch: NotRequired[bool]


class Done(TypedDict):
    pass


class DrawRecipe(TypedDict):
    id: str
    format: NotRequired[Literal["dot", "mermaid"]]
    working_directory: NotRequired[str | None]


class Drawing(TypedDict):
    text: str


Edge = TypedDict(
    "Edge",
    {
        "to": str | None,
        "exit": str | None,
        "class": Literal["blocked", "cancelled", "checks-failed", "completed", "error", "guardrail", "needs-user"] | None,
        "message": str | None,
        "requires": list[str],
        "claims": Literal["clean", "commit", "none"] | None,
        "returns": list[str],
    },
)


class EdgeTakenData(TypedDict):
    step: str
    visit: int
    outcome: str
    source: str
    attempts: int
    description: str | None
    detail: str
    to: str | None
    exit: str | None
    session_id: str | None
    returns: list[str]


class EffectEndedData(TypedDict):
    effect: str
    state: str
    detail: str
    commit: str | None


class Event(TypedDict):
    seq: NotRequired[int]
    pos: NotRequired[int]
    type: str
    at: str
    run_id: str
    session_id: str | None
    data: Any


class EventsPage(TypedDict):
    events: list[Event]
    next_seq: int


Exit = TypedDict(
    "Exit",
    {
        "reason": str,
        "category": Literal["completed", "error", "guardrail"],
        "class": Literal["blocked", "cancelled", "checks-failed", "completed", "error", "guardrail", "needs-user"],
        "message": str,
        "detail": str | None,
    },
)


class FeedClosed(TypedDict):
    feed: str
    reason: str


class FileChange(TypedDict):
    path: str
    before: NotRequired[str | None]
    after: NotRequired[str | None]
    mode: NotRequired[str | None]


class FindTerms(TypedDict):
    session_id: NotRequired[str | None]
    working_directory: NotRequired[str | None]


class Finding(TypedDict):
    code: str
    level: Literal["error", "warning"]
    step: str | None
    line: int | None
    message: str
    file: str


class GatewayStatus(TypedDict):
    enabled: bool
    url: str | None
    clients: int
    problem: str | None
    warning: str | None


class GetRecipe(TypedDict):
    id: str
    working_directory: NotRequired[str | None]


class Greeting(TypedDict):
    device: str
    scope: Literal["all", "answer", "look", "work"]
    version: str
    release: str
    now: str


class Heard(TypedDict):
    text: str
    language: str
    duration_ms: int
    latency_ms: int
    segments: list[Segment]
    no_speech: bool
    terms_used: list[str]
    engine: str
    model: str | None
    duration_s: float
    utterance_id: str
    command: NotRequired[SpokenCommand]


class Hello(TypedDict):
    secret: NotRequired[str]
    release: NotRequired[str]
    languages: NotRequired[Sequence[str]]


class HistoryPlace(TypedDict):
    seq: int
    number: int
    restart: int
    steps: list[str]
    visit: NotRequired[VisitHead]


class Hook(TypedDict):
    event: Literal["after-tool", "before-tool", "turn-end"]
    run: list[str]
    match: str | None


class HookEndedData(TypedDict):
    step: str
    visit: int
    index: int
    run: list[str]
    exit_status: int | None
    refused: bool
    reason: str
    seconds: float


class Hop(TypedDict):
    step: str
    outcome: str
    to: str | None


class Image(TypedDict):
    kind: Literal["image"]
    media_type: str
    size: int


class InDirectory(TypedDict):
    working_directory: NotRequired[str | None]


class InstallModel(TypedDict):
    name: str


class Invitation(TypedDict):
    url: str
    code: str
    scope: Literal["all", "answer", "look", "work"]
    url_minutes: int
    code_minutes: int
    qr: str
    ways: list[WayIn]
    trust: str | None
    fingerprint: str | None
    warning: str | None
    png: NotRequired[str]


class KnownRecipe(TypedDict):
    id: str
    label: str
    description: str
    initial: str
    params: dict[str, Param]
    limits: Limits
    context: dict[str, Any]
    steps: dict[str, Step]
    digest: str
    format: int
    needs: list[str]
    source: Literal["builtin", "project", "user"]
    path: str
    shadows: list[str]
    trusted: bool
    changed: bool
    ways: dict[str, list[Way]]
    worst_case: WorstCase | None


class Left(TypedDict):
    head: str | None
    paths: list[str]
    more: int
    problem: str | None


class LeftPaths(TypedDict):
    paths: list[str]
    more: int


class LimitHitData(TypedDict):
    limit: str
    count: int | float


class Limits(TypedDict):
    max_step_visits: int | None
    max_total_steps: int | None
    max_minutes: float | None
    max_cost_usd: float | None
    max_retries: int
    max_restarts: int
    on_limit: Literal["ask", "exit"]


class LimitsInForce(TypedDict):
    max_agents: int
    max_queued: int
    agent_memory_megabytes: int
    spool_megabytes: int
    run_spool_megabytes: int
    output_megabytes: int
    turn_timeout_seconds: float
    idle_timeout_seconds: float


class ListRuns(TypedDict):
    active: NotRequired[bool | None]
    limit: NotRequired[int]
    before: NotRequired[str | None]


class ListSessions(TypedDict):
    working_directory: NotRequired[str | None]
    limit: NotRequired[int]
    before: NotRequired[str | None]


class Lock(TypedDict):
    session_id: NotRequired[str | None]
    working_directory: NotRequired[str | None]
    holder: LockHolder


class LockHolder(TypedDict):
    kind: Literal["foreign", "prompt", "run"]
    id: NotRequired[str | None]
    pid: NotRequired[int | None]
    since: NotRequired[str | None]


class Look(TypedDict):
    repository: NotRequired[bool]
    head: NotRequired[str | None]
    commits: NotRequired[int]
    uncommitted: list[str]
    more: NotRequired[int]
    problem: NotRequired[str]


class LoopEndedData(TypedDict):
    turn_id: str
    kind: Literal["api_error", "broken", "budget", "done", "failed", "interrupted", "stopped", "timeout", "usage_limit"]
    reason: str
    detail: str
    limit: int | None
    api_status: int | None
    resets_at: str | None
    cost_usd: float


class LoopSettings(TypedDict):
    max_iterations: int
    tools: list[str]
    commit: NotRequired[bool]
    budget_usd: NotRequired[float | None]
    served: NotRequired[list[str]]
    since: NotRequired[str | None]


class LoopStartedData(TypedDict):
    turn_id: str
    settings: LoopSettings


class Merged(TypedDict):
    branch: str
    into: str
    repository: str
    commit: str
    merged: bool
    left: NotRequired[LeftPaths]


class Message(TypedDict):
    seq: int
    uuid: str
    role: Literal["assistant", "user"]
    text: str
    timestamp: str
    blocks: list[Text | Thinking | ToolUse | ToolResult | Image | Other]
    forks_from: NotRequired[int | None]
    gone: NotRequired[bool]


class MessageReceivedData(TypedDict):
    uuid: str
    text: str
    by: str


class MessagesPage(TypedDict):
    messages: list[Message]
    first_seq: int
    first_uuid: str | None
    last_seq: int
    next_seq: int
    complete: bool
    generation: int
    gone: int


class Microphone(TypedDict):
    utterance_id: str
    next_frame: int
    state: Literal["loading", "ready"]


class NewMessages(TypedDict):
    session_id: str
    messages: list[Message]
    first_uuid: str | None
    last_seq: int
    next_seq: int
    generation: int
    gone: int


class Nothing(TypedDict):
    pass


class OneRun(TypedDict):
    run_id: str


class OneSession(TypedDict):
    session_id: str


class OneUtterance(TypedDict):
    utterance_id: str


class OpenMicrophone(TypedDict):
    utterance_id: NotRequired[str | None]
    format: NotRequired[Literal["caf", "flac", "m4a", "mp3", "mp4", "ogg", "pcm16", "wav", "webm"]]
    sample_rate: NotRequired[int]
    language: NotRequired[str | None]
    session_id: NotRequired[str | None]
    partials: NotRequired[bool]


class Orchestration(TypedDict):
    enabled: bool


class Other(TypedDict):
    kind: Literal["other"]
    type: str


class OutcomeInvalidData(TypedDict):
    step: str
    error: str
    message: str
    attempt: int
    excerpt: str
    returned: str | None
    expected: list[str]


class OutcomeParsedData(TypedDict):
    step: str
    outcome: str
    source: str
    description: str | None
    repaired: bool
    detail: str
    attempt: int


class Pair(TypedDict):
    name: NotRequired[str | None]
    png: NotRequired[bool]
    kind: NotRequired[Literal["phone", "web"]]
    scope: NotRequired[Literal["all", "answer", "look", "work"]]


class Pairing(TypedDict):
    device: str
    url: str
    key: str
    qr: str
    ways: list[WayIn]
    trust: str | None
    fingerprint: str | None
    warning: str | None
    png: NotRequired[str]


class Param(TypedDict):
    type: Literal["agent", "boolean", "choice", "integer", "path", "string"]
    default: str | int | bool | None
    choices: list[str]
    description: str
    needed: Literal["new-session"] | None


class ParseOutcome(TypedDict):
    id: str
    step: str
    text: str
    working_directory: NotRequired[str | None]


class Partial(TypedDict):
    utterance_id: str
    text: str


class Paths(TypedDict):
    paths: list[SimplePath]
    complete: bool


class PendingSetting(TypedDict):
    key: str
    running: Any
    file: Any


class PhasePlay(TypedDict):
    replies: list[PhaseReply]
    outcome: str | None
    to: str | None
    exit: Exit | None
    unused: int
    waits: bool


class PhaseReply(TypedDict):
    ok: bool
    prompt: str
    text: str
    fault: str | None
    tools: list[ToolPlayed]
    ctx: dict[str, Any]
    transition: str | None
    question: str | None


class Pong(TypedDict):
    pong: bool


class Progress(TypedDict):
    name: str
    phase: Literal["done", "hub", "package", "verify"]
    message: str
    bytes: NotRequired[int]
    total: NotRequired[int]


class ProgressStalledData(TypedDict):
    step: str
    visit: int
    since: int
    outcome: str
    tree: TreeMark


class Prompt(TypedDict):
    text: str
    session_id: NotRequired[str | None]
    working_directory: NotRequired[str | None]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]
    script: NotRequired[str | None]
    files: NotRequired[Sequence[str] | None]
    if_busy: NotRequired[Literal["queue", "refuse", "steer"]]
    fork: NotRequired[bool]
    take_over: NotRequired[bool]
    wait: NotRequired[bool]
    permission_mode: NotRequired[str | None]
    client_token: NotRequired[str | None]


class Prune(TypedDict):
    what: NotRequired[Sequence[str]]
    dry_run: NotRequired[bool]
    vacuum: NotRequired[bool]


class Pruned(TypedDict):
    dry_run: bool
    parts: list[PrunedPart]
    vacuumed: int | None


class PrunedPart(TypedDict):
    part: str
    count: int
    bytes: int


class Question(TypedDict):
    question_id: str
    run_id: str
    run_name: str
    session_id: str
    kind: Literal["approval", "ask", "gate", "limit", "recover"]
    text: str
    choices: list[Choice]
    free_text: bool
    multi: bool
    columns: list[dict[str, Any]]
    detail: str
    tool: str | None
    input: dict[str, Any] | None
    opened_at: str
    answer: str | None
    note: str | None
    by: str | None
    closed: str | None
    paused: bool


class QuestionClosedData(TypedDict):
    question_id: str
    closed: Literal["answered", "expired", "superseded"]
    answer: str | None
    note: str | None
    by: str | None


class QuestionOpenedData(TypedDict):
    question_id: str
    kind: Literal["approval", "ask", "gate", "limit", "recover"]
    text: str
    choices: list[Choice]
    free_text: bool
    detail: str
    turn_id: str | None
    request_id: str | None
    tool: str | None
    input: dict[str, Any] | None
    tool_use_id: str | None
    step: str | None
    visit: int
    multi: bool
    columns: list[dict[str, Any]]
    rule: str


class ReadHistory(TypedDict):
    run_id: str
    after: NotRequired[HistoryPlace | None]


class RecipeRow(TypedDict):
    id: str
    label: str
    description: str
    first_prompt: str
    source: Literal["builtin", "project", "user"]
    path: str
    shadows: list[str]
    trusted: bool
    changed: bool
    ok: bool


class Rehearse(TypedDict):
    id: str
    step: str
    replies: Sequence[str]
    working_directory: NotRequired[str | None]


class Rejected(TypedDict):
    ok: Literal[False]
    error: str
    message: str
    excerpt: str


class Reloaded(TypedDict):
    changed: list[str]
    pending: list[PendingSetting]
    restart: str


class RemoveWorktree(TypedDict):
    run_id: str
    force: NotRequired[bool]


class Removed(TypedDict):
    directory: str
    branch: str
    commit: str | None
    branch_kept: bool
    lost: str | None
    lost_commits: int | None


class RenameRun(TypedDict):
    run_id: str
    title: str


class ReplyReceivedData(TypedDict):
    turn_id: str
    number: int
    text: str
    stop: Literal["end", "length", "other"]
    actions: list[str]
    fault: str | None
    model: str
    usage: Usage
    cost_usd: float
    said: str


class Rescope(TypedDict):
    device: str
    scope: Literal["all", "answer", "look", "work"]


class Result(TypedDict):
    action: str
    success: bool
    message: str
    output: NotRequired[str]
    critical: NotRequired[bool]


class RetentionInForce(TypedDict):
    runs_days: int
    failed_turns: int
    failed_checks: int
    failed_megabytes: int
    commands: int
    commands_days: int
    transcripts_days: int
    gone_days: int
    copies_days: int


class Revoke(TypedDict):
    device: str


class Run(TypedDict):
    run_id: str
    kind: Literal["prompt", "recipe"]
    recipe: str | None
    name: str
    session_id: str
    main_session_id: str
    working_directory: str
    agent: str
    model: str | None
    params: dict[str, str | int | bool]
    limits: Limits | None
    status: Literal["ended", "parked", "paused", "queued", "running", "waiting"]
    paused: bool
    stop: Literal["cancel", "end", "interrupt", "pause"] | None
    step: str | None
    step_count: int
    visits: dict[str, int]
    questions: list[Question]
    ctx: NotRequired[dict[str, Any]]
    turns: int
    cost_usd: float
    tokens: NotRequired[TokensUsed]
    seconds: float
    restarts: int
    base: str | None
    left: Left | None
    parked_until: str | None
    worktree: Worktree | None
    started_at: str
    ended_at: str | None
    exit: Exit | None


class RunEndedData(TypedDict):
    exit: Exit
    undelivered: list[str]
    run: Run | None


class RunEvents(TypedDict):
    run_id: str
    after_seq: NotRequired[int]
    follow: NotRequired[bool]


class RunHistory(TypedDict):
    started: RunStartedData | None
    visits: list[WholeVisit]
    undelivered: list[str]
    until: str
    next: HistoryPlace
    complete: bool


class RunImage(TypedDict):
    file: str
    name: str
    media_type: str
    size: int


class RunParkedData(TypedDict):
    until: str
    detail: str


class RunPausedData(TypedDict):
    why: str


class RunRenamedData(TypedDict):
    title: str


class RunResumedData(TypedDict):
    why: str


class RunStart(TypedDict):
    recipe: str
    working_directory: str
    session_id: NotRequired[str | None]
    params: NotRequired[Mapping[str, str | int | float | bool]]
    agent: NotRequired[str | None]
    model: NotRequired[str | None]
    script: NotRequired[str | None]
    worktree: NotRequired[bool]
    anyway: NotRequired[bool]
    on_question: NotRequired[Literal["ask", "fail", "wait"]]
    client_token: NotRequired[str | None]


class RunStartedData(TypedDict):
    run_id: str
    kind: Literal["prompt", "recipe"]
    session_id: str
    working_directory: str
    agent: str
    recipe: str | None
    source: str | None
    agent_override: str | None
    agent_given: str | None
    doubts: list[str]
    fork_from: str | None
    params: dict[str, str | int | bool]
    limits: Limits | None
    on_question: Literal["ask", "fail", "wait"]
    text: str | None
    system_prompt: str | None
    worktree: Worktree | None
    aside_of: str | None
    permission_mode: str | None
    model: str | None
    script: str | None
    images: list[RunImage]
    name: str
    label: str | None
    first_prompt: str | None


class Say(TypedDict):
    text: str
    full: NotRequired[bool]


class Segment(TypedDict):
    start: float
    end: float
    text: str


class Session(TypedDict):
    session_id: str
    agent: str
    name: str
    working_directory: str | None
    created: str | None
    last_modified: str
    message_count: int
    preview: str
    holder: LockHolder | None
    active_recipe: ActiveRecipe | None
    gone: bool
    size: int
    subagents: int
    tool_results: int


class SessionMessages(TypedDict):
    session_id: str
    after_seq: NotRequired[int | None]
    limit: NotRequired[int]


class SessionNamedData(TypedDict):
    turn_id: str
    session_id: str
    agent_session_id: str
    family: str


class SessionsPage(TypedDict):
    sessions: list[Session]
    total: int


class Setting(TypedDict):
    key: str
    value: Any
    source: str


class Shutdown(TypedDict):
    turns: NotRequired[Literal["interrupt", "leave"]]


class SimplePath(TypedDict):
    trace: list[Hop]
    exit: Exit | None


class Simulate(TypedDict):
    id: str
    outcomes: Sequence[str]
    working_directory: NotRequired[str | None]


class Snapshot(TypedDict):
    run_id: str
    session_id: str
    phase: str | None
    ctx: dict[str, Any]
    question: Question | None
    run: Run


class SpeechModel(TypedDict):
    name: str
    installed: bool
    path: str | None
    megabytes: int | None
    multilingual: bool | None
    source: Literal["directory", "hub", "package"]
    configured: bool


class SpeechStatus(TypedDict):
    state: Literal["failed", "idle", "loading", "no-model", "not-installed", "off", "ready"]
    model: str | None
    engine: str | None
    problem: str | None


class Spoken(TypedDict):
    spoken: str


class SpokenCommand(TypedDict):
    command: str
    state: Literal["applied", "confirm", "refused"]
    question_id: str | None
    choice: str | None
    read_back: str


class Steer(TypedDict):
    run_id: str
    text: str


class SteerIntendedData(TypedDict):
    uuid: str
    text: str
    turn_id: str | None


class Steered(TypedDict):
    state: Literal["queued", "too_late"]


class Step(TypedDict):
    kind: Literal["call", "command", "gate", "talk", "turn"]
    prompt: str
    session: Literal["fork", "fresh", "same"]
    agent: str | None
    needs: list[str]
    model: str | None
    tools: str | list[str]
    allow: list[str]
    permission_mode: str | None
    timeout_minutes: float | None
    outcomes: list[str]
    on: dict[str, Edge]
    checks: list[Check]
    gate: str | None
    commits: bool
    irreversible: bool
    run: list[str]
    shell: str | None
    ask: str | None
    choices: list[str]
    recipe: str | None
    params: dict[str, str | int | bool]
    system: str | None
    opening: str | None
    auto: bool
    hooks: list[Hook]


class StepEnteredData(TypedDict):
    step: str
    visit: int
    step_count: int
    session_id: str
    fork_from: str | None


class StepPlay(TypedDict):
    replies: list[Accepted | Rejected]
    outcome: str | None
    to: str | None
    exit: Exit | None
    unused: int


class StopIntendedData(TypedDict):
    how: Literal["cancel", "end", "interrupt", "pause"]
    reason: str
    detail: str


class Stopping(TypedDict):
    turns: Literal["interrupt", "leave"]


class StoragePart(TypedDict):
    part: str
    bytes: int | None
    bound: str


class StorageUsage(TypedDict):
    state: str
    parts: list[StoragePart]
    unused: int


class Subscribe(TypedDict):
    types: NotRequired[Sequence[str] | None]
    after: NotRequired[int | None]


class Subscribed(TypedDict):
    pos: int


class Taken(TypedDict):
    next_frame: int


class Talk(TypedDict):
    run_id: str
    name: str
    session_id: str


class Term(TypedDict):
    term: str
    source: Literal["branch", "dependency", "file", "identifier", "recipe", "step"]


class Terms(TypedDict):
    working_directory: str
    terms: list[Term]
    complete: bool


class Text(TypedDict):
    kind: Literal["text"]
    text: str


class Thinking(TypedDict):
    kind: Literal["thinking"]
    text: str


class Tokens(TypedDict):
    read: int
    cached: int
    written: int


class TokensUsed(TypedDict):
    read: int
    cached: int
    written: int
    untold: int


class ToolMessage(TypedDict):
    token: str
    message: str
    delivery: NotRequired[str | None]


class ToolPlayed(TypedDict):
    tool: str
    args: dict[str, Any]
    success: bool
    message: str


class ToolReply(TypedDict):
    reply: Any


class ToolResult(TypedDict):
    kind: Literal["tool_result"]
    tool_use_id: str
    text: str
    is_error: bool
    left_out: int


class ToolUse(TypedDict):
    kind: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]


class ToolUsedData(TypedDict):
    turn_id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    success: bool
    message: str


class Trace(TypedDict):
    trace: list[Hop]
    exit: Exit | None
    unused: NotRequired[list[str]]


class Transcribe(TypedDict):
    path: NotRequired[str | None]
    audio: NotRequired[str | None]
    format: NotRequired[Literal["caf", "flac", "m4a", "mp3", "mp4", "ogg", "pcm16", "wav", "webm"] | None]
    sample_rate: NotRequired[int]
    language: NotRequired[str | None]
    session_id: NotRequired[str | None]


class Transcribed(TypedDict):
    text: str
    language: str
    duration_ms: int
    latency_ms: int
    segments: list[Segment]
    no_speech: bool
    terms_used: list[str]
    engine: str
    model: str | None
    duration_s: float


class TreeMark(TypedDict):
    head: str | None
    digest: str


class TreeSeenData(TypedDict):
    why: Literal["claim", "end", "start"]
    look: Look


class TrustRecipes(TypedDict):
    working_directory: str
    digests: NotRequired[Mapping[str, str] | None]


class TrustedRecipe(TypedDict):
    id: str
    digest: str


class Turn(TypedDict):
    turn_id: str | None
    run_id: str
    session_id: str | None
    status: Literal["ended", "queued", "running"]
    text: str
    outcome: str | None
    exit: Exit | None
    files: list[TurnFile]
    commit: str | None
    cost_usd: float
    tokens: TokensUsed
    started_at: str | None
    ended_at: str | None


class TurnEndedData(TypedDict):
    turn_id: str
    report: TurnReport
    text: str
    seconds: float
    cost_usd: float
    tree: TreeMark | None


class TurnFile(TypedDict):
    path: str
    change: str


class TurnIntendedData(TypedDict):
    turn_id: str
    prompt_uuid: str
    purpose: Literal["again", "go-on", "interrupted", "opening", "prompt", "retry", "say", "step"]
    session_id: str
    agent: str
    prompt: str
    attempt: int
    step: str | None
    visit: int
    fork_from: str | None
    model: str | None
    tools: str | list[str]
    allow: list[str]
    permission_mode: str | None
    outcomes: list[str]
    budget_usd: float | None
    timeout_seconds: float | None
    seconds_left: float | None
    tree: TreeMark | None
    carried: list[str]
    system: str | None
    served: list[str]
    anew: bool
    agent_session_id: str | None


class TurnOutput(TypedDict):
    turn_id: str
    uuid: str
    kind: str
    delta: str
    part: str
    at: int


class TurnReport(TypedDict):
    kind: Literal["api_error", "broken", "budget", "done", "failed", "interrupted", "stopped", "timeout", "usage_limit"]
    detail: str
    texts: list[str]
    result_text: str
    structured: dict[str, Any] | None
    tool_outcome: dict[str, Any] | None
    denials: list[Denial]
    cost_usd: float
    tokens: Tokens | None
    seconds: float
    exit_status: int | None
    api_status: int | None
    resets_at: str | None
    background_stopped: list[str]
    prompt_recorded: bool
    tool_begun: bool
    bad_lines: int
    undelivered: list[str]
    mark: dict[str, Any] | None
    files: list[list[str]]
    commit: str | None
    reason: str
    limit: int | None


class TurnStartedData(TypedDict):
    turn_id: str
    pid: int
    proc_start: int
    group: int


class Usage(TypedDict):
    input: NotRequired[int]
    output: NotRequired[int]
    cached: NotRequired[int]


class Visit(TypedDict):
    step: str
    visit: int
    outcome: str
    source: str
    attempts: int
    at: str
    description: str | None


class VisitCall(TypedDict):
    tool: str
    message: str


class VisitCommand(TypedDict):
    kind: Literal["check", "command"]
    run: list[str]
    began_at: str
    ended_at: str | None
    passed: bool | None
    exit_status: int | None
    seconds: float
    tail: str
    log: str


class VisitFault(TypedDict):
    error: str
    message: str
    excerpt: str


class VisitHead(TypedDict):
    number: int
    restart: int
    step: str
    visit: int
    session_id: str
    began_at: str
    ended_at: str | None
    outcome: str | None
    source: str | None
    repaired: bool
    attempts: int
    description: str | None
    to: str | None
    exit: str | None
    returned: bool


class VisitNote(TypedDict):
    at: str
    type: str
    data: Any


class VisitQuestion(TypedDict):
    opened_at: str
    closed_at: str | None
    opened: QuestionOpenedData
    closed: QuestionClosedData | None


class VisitStill(TypedDict):
    kind: Literal["parked", "paused"]
    why: str
    began_at: str
    ended_at: str | None


class VisitTurn(TypedDict):
    turn_id: str
    purpose: str
    attempt: int
    agent: str
    model: str | None
    prompt: str
    began_at: str
    ended_at: str | None
    seconds: float
    cost_usd: float
    tokens: Tokens | None
    end: str | None
    detail: str
    text: str
    fault: VisitFault | None
    read: str | None
    calls: list[VisitCall]
    more_calls: int


Way = TypedDict(
    "Way",
    {
        "outcome": str,
        "to": str | None,
        "exit": str | None,
        "class": Literal["blocked", "cancelled", "checks-failed", "completed", "error", "guardrail", "needs-user"] | None,
        "implied": bool,
    },
)


class WayIn(TypedDict):
    way: Literal["network", "ssh", "tailscale"]
    text: str


class Went(TypedDict):
    session_id: str | None
    turn_id: str | None
    run_id: str
    delivery: Literal["next prompt", "phase", "queued", "sent", "steered"]
    uuid: NotRequired[str]


class WholeRun(TypedDict):
    run_id: str
    kind: Literal["prompt", "recipe"]
    recipe: str | None
    name: str
    session_id: str
    main_session_id: str
    working_directory: str
    agent: str
    model: str | None
    params: dict[str, str | int | bool]
    limits: Limits | None
    status: Literal["ended", "parked", "paused", "queued", "running", "waiting"]
    paused: bool
    stop: Literal["cancel", "end", "interrupt", "pause"] | None
    step: str | None
    step_count: int
    visits: dict[str, int]
    questions: list[Question]
    ctx: NotRequired[dict[str, Any]]
    turns: int
    cost_usd: float
    tokens: NotRequired[TokensUsed]
    seconds: float
    restarts: int
    base: str | None
    left: Left | None
    parked_until: str | None
    worktree: Worktree | None
    started_at: str
    ended_at: str | None
    exit: Exit | None
    sessions: list[str]
    history: list[Visit]


class WholeVisit(TypedDict):
    number: int
    restart: int
    step: str
    visit: int
    session_id: str
    began_at: str
    ended_at: str | None
    outcome: str | None
    source: str | None
    repaired: bool
    attempts: int
    description: str | None
    to: str | None
    exit: str | None
    returned: bool
    turns: list[VisitTurn]
    commands: list[VisitCommand]
    questions: list[VisitQuestion]
    stills: list[VisitStill]
    notes: list[VisitNote]
    work_seconds: float
    waited_seconds: float
    still_seconds: float
    cost_usd: float
    tokens: TokensUsed


class Words(TypedDict):
    uuid: str
    text: str


class WordsAddedData(TypedDict):
    turn_id: str
    words: list[Words]


class Worktree(TypedDict):
    repository: str
    directory: str
    branch: str


class WorktreeRow(TypedDict):
    directory: str
    bytes: int | None
    run_id: str | None
    recipe: NotRequired[str | None]
    params: NotRequired[dict[str, str | int | bool] | None]
    status: NotRequired[str]
    started_at: NotRequired[str]
    repository: NotRequired[str]
    branch: NotRequired[str]
    head: NotRequired[str | None]
    uncommitted: NotRequired[list[str]]
    more: NotRequired[int]
    commits: NotRequired[int]
    merged: NotRequired[bool]
    merging: NotRequired[bool]
    problem: str | None


class WorstCase(TypedDict):
    turns: int | None
    minutes: float | None


Heed = Callable[[dict[str, Any]], object]


class Call(Protocol):
    """Calls a method: its name, its parameters, how many seconds to wait, and what takes the
    notifications that come meanwhile."""

    @overload
    def __call__(
        self, method: Literal["agents.list"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[Agent]: ...

    @overload
    def __call__(
        self, method: Literal["client.hello"], params: Hello | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Greeting: ...

    @overload
    def __call__(
        self, method: Literal["daemon.configuration"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Configuration: ...

    @overload
    def __call__(
        self, method: Literal["daemon.configure"], params: Configure | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Configured: ...

    @overload
    def __call__(
        self, method: Literal["daemon.ping"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Pong: ...

    @overload
    def __call__(
        self, method: Literal["daemon.reload"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Reloaded: ...

    @overload
    def __call__(
        self, method: Literal["daemon.shutdown"], params: Shutdown | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["daemon.status"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> DaemonStatus: ...

    @overload
    def __call__(
        self, method: Literal["events.subscribe"], params: Subscribe | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Subscribed: ...

    @overload
    def __call__(
        self, method: Literal["gateway.devices"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[Device]: ...

    @overload
    def __call__(
        self, method: Literal["gateway.pair"], params: Pair | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Pairing | Invitation: ...

    @overload
    def __call__(
        self, method: Literal["gateway.revoke"], params: Revoke,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["gateway.scope"], params: Rescope,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["mcp.message"], params: ToolMessage,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> ToolReply: ...

    @overload
    def __call__(
        self, method: Literal["questions.answer"], params: Answer,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Question: ...

    @overload
    def __call__(
        self, method: Literal["questions.list"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[Question]: ...

    @overload
    def __call__(
        self, method: Literal["recipes.check"], params: CheckRecipe | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> CheckReport: ...

    @overload
    def __call__(
        self, method: Literal["recipes.get"], params: GetRecipe,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> KnownRecipe: ...

    @overload
    def __call__(
        self, method: Literal["recipes.graph"], params: DrawRecipe,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Drawing: ...

    @overload
    def __call__(
        self, method: Literal["recipes.list"], params: InDirectory | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[RecipeRow]: ...

    @overload
    def __call__(
        self, method: Literal["recipes.outcome"], params: ParseOutcome,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Accepted | Rejected: ...

    @overload
    def __call__(
        self, method: Literal["recipes.paths"], params: GetRecipe,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Paths: ...

    @overload
    def __call__(
        self, method: Literal["recipes.rehearse"], params: Rehearse,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> StepPlay | PhasePlay: ...

    @overload
    def __call__(
        self, method: Literal["recipes.simulate"], params: Simulate,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Trace: ...

    @overload
    def __call__(
        self, method: Literal["recipes.trust"], params: TrustRecipes,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[TrustedRecipe]: ...

    @overload
    def __call__(
        self, method: Literal["rpc.discover"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> dict[str, Any]: ...

    @overload
    def __call__(
        self, method: Literal["runs.cancel"], params: OneRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Run: ...

    @overload
    def __call__(
        self, method: Literal["runs.diff"], params: DiffRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Diff: ...

    @overload
    def __call__(
        self, method: Literal["runs.events"], params: RunEvents,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> EventsPage: ...

    @overload
    def __call__(
        self, method: Literal["runs.get"], params: OneRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> WholeRun: ...

    @overload
    def __call__(
        self, method: Literal["runs.history"], params: ReadHistory,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> RunHistory: ...

    @overload
    def __call__(
        self, method: Literal["runs.interrupt"], params: OneRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Run: ...

    @overload
    def __call__(
        self, method: Literal["runs.list"], params: ListRuns | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[Run]: ...

    @overload
    def __call__(
        self, method: Literal["runs.pause"], params: OneRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Run: ...

    @overload
    def __call__(
        self, method: Literal["runs.rename"], params: RenameRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Run: ...

    @overload
    def __call__(
        self, method: Literal["runs.resume"], params: OneRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Run: ...

    @overload
    def __call__(
        self, method: Literal["runs.start"], params: RunStart,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Run: ...

    @overload
    def __call__(
        self, method: Literal["runs.steer"], params: Steer,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Steered: ...

    @overload
    def __call__(
        self, method: Literal["sessions.compact"], params: OneSession,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["sessions.forget"], params: OneSession,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["sessions.get"], params: OneSession,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Session: ...

    @overload
    def __call__(
        self, method: Literal["sessions.interrupt"], params: OneSession,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["sessions.list"], params: ListSessions | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> SessionsPage: ...

    @overload
    def __call__(
        self, method: Literal["sessions.locks"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[Lock]: ...

    @overload
    def __call__(
        self, method: Literal["sessions.messages"], params: SessionMessages,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> MessagesPage: ...

    @overload
    def __call__(
        self, method: Literal["sessions.prompt"], params: Prompt,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Went | Turn: ...

    @overload
    def __call__(
        self, method: Literal["sessions.subscribe"], params: SessionMessages,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> MessagesPage: ...

    @overload
    def __call__(
        self, method: Literal["sessions.unsubscribe"], params: OneSession,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["storage.prune"], params: Prune | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Pruned: ...

    @overload
    def __call__(
        self, method: Literal["storage.usage"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> StorageUsage: ...

    @overload
    def __call__(
        self, method: Literal["voice.audio"], params: Audio,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Taken: ...

    @overload
    def __call__(
        self, method: Literal["voice.cancel"], params: OneUtterance,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["voice.end"], params: OneUtterance,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Heard: ...

    @overload
    def __call__(
        self, method: Literal["voice.hush"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Done: ...

    @overload
    def __call__(
        self, method: Literal["voice.install"], params: InstallModel,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> SpeechModel: ...

    @overload
    def __call__(
        self, method: Literal["voice.models"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[SpeechModel]: ...

    @overload
    def __call__(
        self, method: Literal["voice.say"], params: Say,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Spoken: ...

    @overload
    def __call__(
        self, method: Literal["voice.start"], params: OpenMicrophone | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Microphone: ...

    @overload
    def __call__(
        self, method: Literal["voice.status"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> SpeechStatus: ...

    @overload
    def __call__(
        self, method: Literal["voice.transcribe"], params: Transcribe | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Transcribed: ...

    @overload
    def __call__(
        self, method: Literal["voice.vocabulary"], params: FindTerms | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Terms: ...

    @overload
    def __call__(
        self, method: Literal["worktrees.list"], params: Nothing | None = None,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> list[WorktreeRow]: ...

    @overload
    def __call__(
        self, method: Literal["worktrees.merge"], params: OneRun,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Merged: ...

    @overload
    def __call__(
        self, method: Literal["worktrees.remove"], params: RemoveWorktree,
        seconds: float | None = ..., meanwhile: Heed | None = ...,
    ) -> Removed: ...
