"""Reports of runs to phones: from the events of the daemon to their messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, get_args

import trio

from podiumd.core.ids import derive
from podiumd.core.run import facts as f
from podiumd.core.voice.summary import summary
from podiumd.gateway.phone.feed.recipe_board import RecipeBoard, Reported, Shown, ended
from podiumd.gateway.phone.feed.session_ordering import SessionOrdering
from podiumd.gateway.phone.phone_link import PhoneLink
from podiumd.gateway.phone.protocol import outgoing
from podiumd.gateway.phone.protocol import outgoing_recipes as recipes
from podiumd.gateway.phone.protocol.wire import Json
from podiumd.observe.logs import log
from podiumd.runtime.errors import PodiumError
from podiumd.runtime.service import Service
from podiumd.store.errors import StoreError
from podiumd.wire.event import Event
from podiumd.wire.events import Snapshot, TurnOutput
from podiumd.wire.runs import Run

AGAIN_SECONDS = 1.0
"""Until events are read again after the store refused."""

EVENTS: Final = frozenset(str(kind.__struct_config__.tag) for kind in get_args(Reported))

Unreported = (
    f.QuietFact
    | TurnOutput
    | Snapshot
    | f.TurnIntended
    | f.ToolUsed
    | f.OutcomeParsed
    | f.CheckEnded
    | f.CommandIntended
    | f.CommandEnded
    | f.HookEnded
    | f.ProgressStalled
    | f.SteerIntended
    | f.MessageReceived
    | f.AsideNoted
    | f.LimitHit
    | f.LoopFact
)
"""Facts that are not reported to phones here."""

MOST_ENDINGS = 100
"""Recipes that ended while a phone was away and are reported to it; the newest."""


class Audience(Protocol):
    """The phones. ``reached``: one event more was sent to them."""

    def broadcast(self, payload: bytes) -> None: ...
    def each(self, make: Callable[[PhoneLink], bytes]) -> None: ...
    def to_concerned(self, session_id: str, payload: bytes) -> None: ...
    def reached(self) -> None: ...
    @property
    def listens(self) -> bool:
        """Return whether one of them speaks aloud what it is sent."""
        ...

    def say(self, session_id: str, text: str, *, everywhere: bool) -> None: ...


async def guarded(work: Awaitable[None]) -> None:
    """Do work for phones; a fault in it is logged and must not end the gateway."""
    try:
        await work
    except Exception as error:  # noqa: BLE001 - logged; later reports are sent still
        log("Phones were not told", "error", exception=error)


class RunEvents:
    """The recipes that run, and the telling of what becomes of them; its tasks are the
    nursery's."""

    def __init__(self, service: Service, audience: Audience, nursery: trio.Nursery) -> None:
        self.board = RecipeBoard()
        self._service = service
        self._audience = audience
        self._order = SessionOrdering(nursery, audience.reached)
        self._position = 0
        self._answers: dict[str, str] = {}
        """The last words of the agents of prompts."""

    @property
    def told(self) -> int:
        """Return up to which event everything has been reported to phones."""
        return self._order.before(self._position)

    def waits(self, session_id: str) -> bool:
        """Return whether the end of a recipe is yet to be reported in a session."""
        return self._order.waits(session_id)

    async def begin(self) -> None:
        """Take over what runs already. What of it cannot be read is left out."""
        async with self._service.subscribe(EVENTS, None) as feed:
            self._position = feed.start
        await guarded(self._restore())

    async def _restore(self) -> None:
        for run in await self._service.list_runs(active=True, limit=1000):
            await guarded(self._restore_run(run))

    async def _restore_run(self, run: Run) -> None:
        begun, _ = await self._service.run_events(run.run_id, 0, 1)
        started = begun[0].fact if begun else None
        if isinstance(started, f.RunStarted):
            self.board.restore(run, started)
        else:
            log("Recipe not shown: its beginning is damaged", "error", run_id=run.run_id)

    async def follow(self) -> None:
        """Send phones every event until the daemon stops; what fails costs that event alone."""
        while True:
            try:
                async with self._service.subscribe(EVENTS, self._position) as feed:
                    async for event in feed:
                        await guarded(self._take(event))
                        self._position = max(self._position, event.pos)
                        self._audience.reached()
                return
            except (PodiumError, StoreError) as error:
                log("Events cannot be read for phones", "error", exception=error)
                await trio.sleep(AGAIN_SECONDS)

    async def _take(self, event: Event) -> None:
        """Send an event to phones; never wait for a run."""
        fact = event.fact
        if isinstance(fact, Unreported):
            return
        run_id, before_it = event.run_id, self.board.of_run(event.run_id)
        for session_id, payloads in self.board.take(event.run_id, fact):
            tell = partial(_all, self._audience.broadcast, payloads)
            if isinstance(fact, f.RunEnded):
                gone = partial(self._service.run_gone, run_id)  # the next prompt is plain chat then
                self._order.tell_end(session_id, run_id, event.pos, gone, tell)
            else:
                self._order.tell(session_id, tell)
        self._tell(event, fact)
        self._speak(event, fact, before_it)

    def _speak(self, event: Event, fact: Reported, shown: Shown | None) -> None:
        """Have phones say what a person wants to hear of an event."""
        if isinstance(fact, f.TurnEnded) and shown is None:
            self._answers[event.run_id] = fact.text
        over = isinstance(fact, f.RunEnded)
        answer = self._answers.pop(event.run_id, "") if over else ""
        text = summary(fact, event.run, answer) if self._audience.listens else ""
        if text:
            session_id = str(event.session_id) if shown is None else shown.session_id
            everywhere = shown is not None or not over  # the end of a prompt is for who sent it
            say = partial(self._audience.say, session_id, text, everywhere=everywhere)
            self._order.tell(session_id, say)

    def _tell(self, event: Event, fact: Reported) -> None:
        """Report an event beside what it means for a recipe."""
        session_id, audience = str(event.session_id), self._audience
        shown = self.board.of_run(event.run_id)
        seen_in = session_id if shown is None else shown.session_id
        if isinstance(fact, f.QuestionOpened):
            asked = _question(fact, event, seen_in)
            tell = partial(audience.each, lambda phone: recipes.question(asked, phone.budget))
        elif isinstance(fact, f.QuestionClosed):
            tell = partial(audience.each, lambda phone: recipes.question_closed(fact, phone.budget))
        elif isinstance(fact, f.TurnEnded):
            over = outgoing.turn_complete(session_id, aborted=fact.report.kind == "interrupted")
            tell = partial(audience.to_concerned, session_id, over)
        else:
            return
        self._order.tell(seen_in, tell)

    async def endings(self, after: int, since: str) -> list[bytes]:
        """Build the reports for a phone of recipes that ended after a position of events.

        None is older than the time ``since``, or of a run whose end goes to all in a moment.
        """
        found: list[bytes] = []
        until, untold = self._position, self._order.untold
        for event in await self._service.ended_recipes(after, until, MOST_ENDINGS):
            run, fact = event.run, event.fact
            if run is None or event.at < since or event.run_id in untold:
                continue
            assert isinstance(fact, f.RunEnded)
            found += ended(await self._ended_in(run), fact.exit)
        return found

    async def _ended_in(self, run: Run) -> str:
        """Return the session in which a recipe was shown last: a restart that a limit refused has
        given the run a session that no person has seen."""
        if run.exit is None or run.exit.reason != "max-restarts":
            return run.main_session_id
        if run.restarts > 1:
            return derive(run.run_id, run.restarts - 1, "session")
        begun, _ = await self._service.run_events(run.run_id, 0, 1)
        return str(begun[0].session_id)


def _all(tell: Callable[[bytes], None], payloads: list[bytes]) -> None:
    for payload in payloads:
        tell(payload)


def _question(fact: f.QuestionOpened, event: Event, session_id: str) -> Json:
    """Build the public question that an event opened, as phones get it."""
    return {
        "question_id": fact.question_id,
        "run_id": event.run_id,
        "session_id": session_id,
        "kind": fact.kind,
        "text": fact.text,
        "choices": [{"id": choice, "label": label} for choice, label in fact.choices],
        "free_text": fact.free_text,
        "detail": fact.detail,
        "tool": fact.tool,
        "input": fact.input,
        "opened_at": event.at,
        "answer": None,
        "note": None,
        "by": None,
        "closed": None,
    }
