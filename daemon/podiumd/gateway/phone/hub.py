"""All phones: what happens in the daemon goes to every one of them, what one asks for to it.

run      events of runs → frames for all; changes of sessions → lists for all
serve    one phone, see ``connection``
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from podiumd.core.ids import derive
from podiumd.gateway.devices import Devices
from podiumd.gateway.guard import Guard
from podiumd.gateway.phone import outgoing, outgoing_tools, words
from podiumd.gateway.phone import outgoing_recipes as recipes
from podiumd.gateway.phone.board import Board, Ended, Moved, Retried, Started
from podiumd.gateway.phone.channels import Channels
from podiumd.gateway.phone.connection import Phone
from podiumd.gateway.phone.workshop import Workshop
from podiumd.gateway.websocket import WebSocket, text_frame
from podiumd.logs import log
from podiumd.projects.commands import CommandComplete, CommandEvent, CommandOutput
from podiumd.runtime.api import Json, Service
from podiumd.runtime.errors import NotFound, PodiumError
from podiumd.store.errors import StoreError

AGAIN_SECONDS = 1.0
"""Until events are read again after the store refused."""

LIST_SECONDS = 1.0
"""Between two lists of sessions that are sent because something changed."""

EVENTS = frozenset(
    {
        "run.started",
        "step.entered",
        "edge.taken",
        "outcome.invalid",
        "question.opened",
        "question.closed",
        "run.paused",
        "run.resumed",
        "turn.ended",
        "run.ended",
    }
)

ENDINGS = frozenset({"run.ended"})
MOST_ANNOUNCED = 1000
"""Sessions that were begun and have no words yet."""

MOST_ENDINGS = 100
"""Messages about recipes that ended while a phone was away; the newest."""


class Hub:
    """Every connected phone, and what they share."""

    def __init__(
        self,
        service: Service,
        devices: Devices,
        guard: Guard,
        workshop: Workshop,
    ) -> None:
        self.service = service
        self.devices = devices
        self.guard = guard
        self.workshop = workshop
        self.board = Board()
        self.phones: set[Phone] = set()
        self._connections: set[Phone] = set()  # strangers too
        self.position = 0
        """Up to which event phones have been told of what happened."""
        self.commands_of: dict[str, str] = {}
        """Which device started each command that runs."""
        self._channels: Channels | None = None
        self._someone = trio.Event()
        self._announced: set[str] = set()
        devices.on_revoke(self._cut)

    @property
    def channels(self) -> Channels:
        """The live sessions; there are none before ``attend``."""
        assert self._channels is not None
        return self._channels

    async def attend(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Keep every phone in step until cancelled; started once phones may come."""
        async with trio.open_nursery() as nursery:
            self._channels = Channels(self.service, nursery, text_frame)
            async with self.service.subscribe(EVENTS, None) as feed:
                self.position = feed.start
            for run in await self.service.list_runs(active=True, limit=1000):
                begun, _ = await self.service.run_events(run["run_id"], 0, 1)
                self.board.restore(run, begun[0])
            for held in await self.service.locks():
                if "session_id" in held:
                    await self._announce_unrecorded(held["session_id"])
            nursery.start_soon(self._follow_sessions)
            nursery.start_soon(self.devices.keep)
            task_status.started()
            await self._follow_events()
            nursery.cancel_scope.cancel()

    async def _follow_events(self) -> None:
        """Tell phones of every event until the daemon stops; what fails costs that event alone."""
        while True:
            try:
                async with self.service.subscribe(EVENTS, self.position) as feed:
                    async for event in feed:
                        await self._guarded(self._take(event))
                        self._reached(event["pos"])
                return
            except (PodiumError, StoreError) as error:
                log("Events cannot be read for phones", "error", exception=error)
                await trio.sleep(AGAIN_SECONDS)

    async def _guarded(self, work: Awaitable[None]) -> None:
        """A fault in what is told to phones must not end the gateway."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - logged, and the next event is told again
            log("Phones were not told", "error", exception=error)

    def _reached(self, position: int) -> None:
        self.position = max(self.position, position)
        for phone in self.phones:
            phone.was_told(self.position)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one phone until it has gone."""
        phone = Phone(self, socket)
        self._connections.add(phone)
        try:
            await phone.run()
        finally:
            self._connections.discard(phone)
            self.phones.discard(phone)
            phone.leave()

    def welcome(self, phone: Phone) -> None:
        """A phone has shown its key: from here on it hears of everything."""
        self.phones.add(phone)
        self._someone.set()

    def broadcast(self, payload: bytes) -> None:
        """Send one message to every phone."""
        if self.phones:
            frame = text_frame(payload)
            for phone in self.phones:
                phone.send_frame(frame)

    def each(self, make: Callable[[Phone], bytes]) -> None:
        """Send every phone a message of its own."""
        for phone in self.phones:
            phone.send(make(phone))

    def command_event(self, event: CommandEvent) -> None:
        """Tell the device that started a command of its output and its end; its start it is told
        in answer to its request."""
        if isinstance(event, CommandOutput):
            for phone in self._of_command(event.command_session_id):
                phone.command_output(event)
        elif isinstance(event, CommandComplete):
            record = event.record
            for phone in self._of_command(record.command_session_id):
                phone.send(
                    outgoing_tools.command_complete(
                        record.command_session_id, record.exit_code or 0, record.duration_ms or 0
                    )
                )
            self.commands_of.pop(record.command_session_id, None)

    def _of_command(self, command_session_id: str) -> list[Phone]:
        device = self.commands_of.get(command_session_id)
        return [] if device is None else self.to_device(device)

    def to_concerned(self, session_id: str, payload: bytes) -> None:
        """Send one message to the phones that look at a session or have spoken in it."""
        for phone in self.phones:
            if phone.following.hears_turns(session_id):
                phone.send(payload)

    def to_device(self, name: str) -> list[Phone]:
        """The connections of a device."""
        return [phone for phone in self.phones if phone.device == name]

    def _cut(self, device: str) -> None:
        for phone in self._connections:
            if phone.device == device:
                phone.revoke()

    # -- runs --------------------------------------------------------------------------------

    async def _take(self, event: Json) -> None:
        if event["type"] == "run.ended":
            await self.service.run_gone(event["run_id"])  # the next prompt is plain chat
        for change in self.board.take(event):
            match change:
                case Started(shown=shown):
                    self.broadcast(words.started(shown))
                    self.broadcast(
                        recipes.recipe_step_started(shown.session_id, shown.step, shown.step_count)
                    )
                case Moved(shown=shown, before=before, after=after):
                    self.broadcast(recipes.recipe_step_transition(shown.session_id, before, after))
                case Retried(shown=shown, step=step, error=error):
                    self.broadcast(recipes.orchestration_retry(shown.session_id, step, error))
                    self.broadcast(recipes.recipe_error(shown.session_id, recipes.INVALID_JSON))
                case Ended(shown=shown, exit=exit):
                    for payload in words.ended(shown.session_id, exit):
                        self.broadcast(payload)
        self._tell(event)

    def _tell(self, event: Json) -> None:
        """What is said of an event beside what it means for a recipe."""
        data, session_id = event["data"], event["session_id"]
        shown = self.board.of_run(event["run_id"])
        seen_in = session_id if shown is None else shown.session_id
        match event["type"]:
            case "question.opened":
                question = words.question_of(event, seen_in)
                self.each(lambda phone: recipes.question(question, phone.budget))
            case "question.closed":
                self.each(lambda phone: recipes.question_closed(data, phone.budget))
            case "run.paused" if shown is not None:
                self.broadcast(recipes.recipe_paused(seen_in))
            case "run.resumed" if shown is not None:
                self.broadcast(recipes.recipe_resumed(seen_in))
            case "turn.ended":
                aborted = data["report"]["kind"] == "interrupted"
                self.to_concerned(session_id, outgoing.turn_complete(session_id, aborted=aborted))

    async def endings(self, after: int, until: int, since: str) -> list[bytes]:
        """What to tell a phone of recipes that ended between two positions of events, but not
        before the time ``since``."""
        found: list[bytes] = []
        while after < until:
            page = await self.service.events_page(ENDINGS, after, 256)
            shown = [each for each in page if each["pos"] <= until]
            for event in shown:
                run = event["data"]["run"]
                if run is not None and run["kind"] == "recipe" and event["at"] >= since:
                    found += words.ended(await self._ended_in(run), event["data"]["exit"])
            found = found[-MOST_ENDINGS:]
            after = shown[-1]["pos"] if shown else until
        return found

    async def _ended_in(self, run: Json) -> str:
        """The session in which a recipe was shown last: a restart that a limit refused has given
        the run a session that nobody has seen."""
        if run["exit"]["reason"] != "max-restarts":
            return str(run["main_session_id"])
        if run["restarts"] > 1:
            return derive(run["run_id"], run["restarts"] - 1, "session")
        begun, _ = await self.service.run_events(run["run_id"], 0, 1)
        return str(begun[0]["session_id"])

    # -- sessions ----------------------------------------------------------------------------

    def announce(self, session_id: str) -> None:
        """Tell all phones of a session that was begun, once its first words are recorded; the one
        that began it may have lost its connection and made another by then."""
        if len(self._announced) < MOST_ANNOUNCED:
            self._announced.add(session_id)

    async def _announce_unrecorded(self, session_id: str) -> None:
        try:
            row = await self.service.sessions_get(session_id)
        except NotFound:
            self.announce(session_id)
        else:
            if not row["message_count"]:
                self.announce(session_id)

    async def _follow_sessions(self) -> None:
        """Send lists when they change, at most one a second; while nobody looks, nothing."""
        with self.service.sessions_changed() as changes:
            while True:
                await self._someone.wait()
                changed = await changes.changed()
                if not self.phones:
                    self._someone = trio.Event()
                    continue
                await self._guarded(self._tell_sessions(changed))
                await trio.sleep(LIST_SECONDS)

    async def _tell_sessions(self, changed: set[str]) -> None:
        rows = (await self.service.sessions_list(None, 50, None))["sessions"]
        for row in rows:
            session_id = row["session_id"]
            if session_id in changed and row["message_count"]:
                if session_id in self._announced:
                    self._announced.discard(session_id)
                    self.broadcast(outgoing.session_created(row))
                    self.broadcast(outgoing.session_ready(session_id))
                for phone in tuple(self.phones):
                    await phone.following.changed(session_id)
        frames: dict[tuple[int, int], bytes] = {}  # once a second to all: each is made once
        for phone in self.phones:
            kind = (phone.recents, phone.budget)
            if kind not in frames:
                frames[kind] = text_frame(outgoing.recent_sessions(rows, *kind))
            phone.send_frame(frames[kind])
