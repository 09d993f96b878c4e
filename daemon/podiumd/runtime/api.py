"""The service API: what every edge (RPC, gateway) may ask of the running daemon.

Results are plain JSON-able values in the shapes of the public contract (``run``, ``event``,
``question``, ``turn``). Refusals are ``podiumd.runtime.errors.PodiumError``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from podiumd.core.spoken import Asked
from podiumd.runtime.bus import Burst

Json = dict[str, Any]

Told = tuple[list[Json], int, int]
"""A page of events with outputs in between, the next cursor, the number of the last output."""


class StartRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of ``runs.start``. ``new_session_id``: the id that a new session is to have.

    ``anyway``: a recipe that commits may do so in the whole home, or the whole disk.
    ``script``: the file of turns that the scripted agent plays in this run.
    """

    recipe: str
    working_directory: str
    session_id: str | None = None
    new_session_id: str | None = None
    params: dict[str, Any] = {}
    agent: str | None = None
    model: str | None = None
    script: str | None = None
    worktree: bool = False
    anyway: bool = False
    on_question: Literal["ask", "wait", "fail"] = "wait"
    client_token: str | None = None


class SendPrompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of ``sessions.prompt``, and what only a gateway asks for.

    ``new_session_id``: the id that a new session is to have. ``system_prompt`` is added to the
    agent's own. ``if_busy = "deliver"``: words for a recipe go into its turn or its next prompt,
    words for a session that a prompt holds wait in line. An agent that does
    not take words into its turn is waited for briefly: they are stored, and ``delivery`` is
    "next prompt". Words for a session whose run is in a conversation go to the agent of its
    phase, whatever ``if_busy`` says: ``delivery`` is "phase" or "steered", and ``uuid`` theirs.
    ``permission_mode`` is the agent's own word for how much a prompt of its own may
    do unasked; ``None``: as the agent is configured. ``script``: as in ``StartRun``, for a prompt
    of its own.
    """

    text: str
    session_id: str | None = None
    new_session_id: str | None = None
    working_directory: str | None = None
    agent: str | None = None
    model: str | None = None
    script: str | None = None
    system_prompt: str | None = None
    if_busy: Literal["refuse", "queue", "steer", "deliver"] = "refuse"
    fork: bool = False
    take_over: bool = False
    wait: bool = False
    permission_mode: str | None = None
    client_token: str | None = None


class OpenQuestion(msgspec.Struct, frozen=True):
    """A question that waits for a person. ``sessions``: the one that asks it, and the one where a
    person looks at its run."""

    asked: Asked
    sessions: tuple[str, ...]


class Subscription(Protocol):
    """A live feed. ``start`` is the cursor it begins after; iterate it for events. ``about``
    names the one thing it tells of, where a client can end the feed by that name, else is empty.

    The iteration ends by itself after ``run.ended`` (a run's feed) or when the daemon stops.
    Transient ``turn.output`` and ``snapshot`` events come in between, without ``seq`` and ``pos``.
    """

    start: int
    about: str

    def __aiter__(self) -> AsyncIterator[Json]: ...


@runtime_checkable
class Immediate(Protocol):
    """A feed that needs no task of its reader's to wake for what happens."""

    def hand_to(self, take: Callable[[Burst], bool]) -> None:
        """Call ``take``, from now on, with what happens while the iteration waits, at that moment;
        the iteration goes on behind it.

        What ``take`` does not take (it returns False) the iteration returns next. A fault of
        ``take`` is raised by the iteration.
        """
        ...


class SessionSubscription(Subscription, Protocol):
    """A live feed of one session's messages; ``answer`` is the page that it begins after."""

    answer: Json


class Changes(Protocol):
    """What changed since the last time; see ``Service.sessions_changed``."""

    async def changed(self) -> set[str]:
        """Wait until something has changed; the ids of those sessions."""
        ...


class GatewayControl(Protocol):
    """The gateway, as the other edges see it."""

    def status(self) -> Json:
        """``enabled``, ``url`` or null, ``clients``; ``problem`` (why it does not listen) and
        ``warning`` (why it is not safe) are sentences or null."""
        ...

    async def pair(self, name: str | None, png: bool) -> Json:
        """A new device: ``device``, ``url``, ``key`` (told here only), ``qr`` (half blocks of the
        key), ``ways`` [{way, text}], ``trust``, ``fingerprint``, ``warning`` (each or null); with
        ``png`` also that: a picture in base64."""
        ...

    def devices(self) -> list[Json]:
        """The paired devices: ``device``, ``name``, ``paired_at``, ``last_seen``, ``connected``."""
        ...

    async def revoke(self, device: str) -> None:
        """Take a device's key back and end its connections. Raises ``NotFound``."""
        ...


class Worktrees(Protocol):
    """The worktrees of runs, as the edges see them."""

    async def list(self) -> Sequence[Json]:
        """All of them, with what is in each."""
        ...

    async def merge(self, run_id: str) -> Json:
        """Merge the branch of one into what is checked out where it came from."""
        ...

    async def remove(self, run_id: str, *, force: bool) -> Json:
        """Remove one; without ``force`` only where no work would be lost."""
        ...


class StorageCare(Protocol):
    """What takes room in STATE, as the edges see it."""

    async def usage(self) -> Json:
        """``state``, ``parts`` and ``unused``: what each part takes, and what bounds it."""
        ...

    async def prune(
        self, what: Sequence[str] = (), *, dry_run: bool = False, vacuum: bool = False
    ) -> Json:
        """Remove what may go: ``dry_run``, ``parts``, ``vacuumed``."""
        ...


class Service(Protocol):
    """The running daemon, as its edges see it."""

    @property
    def worktrees(self) -> Worktrees: ...

    @property
    def storage(self) -> StorageCare: ...

    async def status(self) -> Json:
        """``sessions``, ``runs_active``, ``questions_open``, ``talks_waiting``, ``orchestration``,
        ``taken_up``."""
        ...

    async def configure(self, orchestration_enabled: bool | None) -> Json: ...

    async def recipes_list(self, working_directory: str | None) -> list[Json]: ...
    async def recipes_get(self, recipe_id: str, working_directory: str | None) -> Json: ...
    async def recipes_outcome(
        self, recipe_id: str, step: str, text: str, working_directory: str | None
    ) -> Json: ...
    async def recipes_check(
        self,
        path: str | None,
        text: str | None,
        recipe_id: str | None,
        working_directory: str | None,
    ) -> Json: ...
    async def recipes_simulate(
        self, recipe_id: str, outcomes: Sequence[str], working_directory: str | None
    ) -> Json: ...
    async def recipes_paths(self, recipe_id: str, working_directory: str | None) -> Json: ...
    async def recipes_graph(
        self, recipe_id: str, format: Literal["mermaid", "dot"], working_directory: str | None
    ) -> Json: ...
    async def recipes_rehearse(
        self, recipe_id: str, step: str, replies: Sequence[str], working_directory: str | None
    ) -> Json: ...
    async def recipes_trust(
        self, working_directory: str, digests: Mapping[str, str] | None
    ) -> list[Json]:
        """Trust the project's recipes that have these digests, by id, and no others.

        ``None``: all as they are now. Returns the id and digest of each that is trusted.
        """
        ...

    async def start_run(self, request: StartRun) -> Json: ...
    async def get_run(self, run_id: str, *, settled: bool = False, whole: bool = False) -> Json:
        """``settled``: with all that has been told of it, if the disk takes its time too.
        ``whole``: with what grows with its steps, its history and its sessions."""
        ...

    async def run_diff(self, run_id: str, patch: bool) -> Json:
        """What a run has changed since it began; with ``patch`` line by line."""
        ...

    async def list_runs(
        self, active: bool | None, limit: int, before: str | None = None
    ) -> list[Json]: ...
    async def run_events(self, run_id: str, after_seq: int, limit: int) -> tuple[list[Json], int]:
        """A page of stored events and the next ``after_seq``."""
        ...

    async def run_told(self, run_id: str, after_seq: int, limit: int) -> Told:
        """A page of a run's events, with the ``turn.output`` in between, as far as they are kept;
        the number of the last of them comes third."""
        ...

    def follow_run(
        self, run_id: str, after_seq: int, told: int | None = None
    ) -> AbstractAsyncContextManager[Subscription]:
        """Every event of a run after ``after_seq``, stored ones first, then live, without hole
        or repeat; ``turn.output`` after number ``told``, or from now on. Entering raises
        ``NotFound``."""
        ...

    async def run_gone(self, run_id: str) -> None:
        """Return once the run is over and holds nothing any more."""
        ...

    async def pause(self, run_id: str) -> Json: ...
    async def resume(self, run_id: str) -> Json: ...
    async def cancel(self, run_id: str) -> Json: ...
    async def interrupt(self, run_id: str) -> Json: ...
    async def steer(self, run_id: str, text: str, seconds: float | None = None) -> Json:
        """Hand words to a run; ``state``: "queued" or "too_late". Where the agent has not said
        so after ``seconds``, it is "queued" too: the words are stored."""
        ...

    async def questions(self) -> list[Json]: ...
    def open_questions(self) -> list[OpenQuestion]:
        """What is asked just now, with its risks; the oldest first."""
        ...

    async def answer(self, question_id: str, answer: str, note: str | None, by: str) -> Json: ...

    async def prompt(self, request: SendPrompt) -> Json: ...
    async def ended_turn(self, run_id: str, words: str | None = None) -> Json:
        """The turn of a plain prompt, once it is over; of a run with conversations the one that
        had these ``words`` (their uuid). Raises ``NotFound``."""
        ...

    async def interrupt_session(self, session_id: str) -> None: ...
    async def sessions_list(
        self, working_directory: str | None, limit: int, before: str | None
    ) -> Json: ...
    def sessions_changed(self) -> AbstractContextManager[Changes]:
        """Which sessions change from now on."""
        ...

    async def sessions_get(self, session_id: str) -> Json: ...
    async def sessions_messages(
        self, session_id: str, after_seq: int | None, limit: int
    ) -> Json: ...
    def follow_session(
        self, session_id: str, after_seq: int | None, limit: int
    ) -> AbstractAsyncContextManager[SessionSubscription]:
        """A page of messages, and every message after it. Entering raises ``NotFound``."""
        ...

    async def sessions_forget(self, session_id: str) -> None: ...
    async def sessions_compact(self, session_id: str) -> None: ...
    async def locks(self) -> list[Json]: ...

    def subscribe(
        self, types: frozenset[str] | None, after: int | None
    ) -> AbstractAsyncContextManager[Subscription]:
        """Every event of the daemon after global position ``after`` (``None``: from now)."""
        ...

    async def ended_recipes(self, after: int, until: int, limit: int) -> list[Json]:
        """The newest ``run.ended`` events of recipes with ``after < pos <= until``, the oldest of
        them first."""
        ...

    async def stop_turns(self) -> None:
        """Interrupt every running turn and wait until its agent is gone (``podium down``)."""
        ...
