"""A daemon without its edges, in the test's own process: store, leases, runs and service."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import trio

from podiumd.agents.environment import agent_environment
from podiumd.agents.kinds import standing_agents
from podiumd.config.settings import LimitSettings
from podiumd.core.run.state import RunState
from podiumd.drivers.base import Driver
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.bus import Bus
from podiumd.runtime.clock import Clock
from podiumd.runtime.context import Agent, Context
from podiumd.runtime.locks.agent_limiter import AgentLimiter
from podiumd.runtime.locks.leases import LeaseBook
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.recipes.catalogue import Catalogue
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.service import Service
from podiumd.sessions.index.tree import Root
from podiumd.sessions.transcripts import Transcripts, open_transcripts
from podiumd.store.facts import Store, open_store
from podiumd.tools.process.environment import child_environment
from tests.patience import HANG_SECONDS
from tests.plain import plain, told
from tests.runtime.fake_agent import FakeDriver, FakeTurn

Json = dict[str, Any]

BEGIN = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)

ONE_STEP = """
format = 1
id = "{id}"
label = "One step"
description = "One step of work"
initial = "work"
{top}
[steps.work]
prompt = "Do the work."
{step}
[steps.work.on]
complete = {{ exit = "turn-complete" }}
{on}
"""


class Machine:
    """What outlives a daemon: the directories, and the agents that may go on without it."""

    def __init__(self, root: Path, databases: Iterable[Path] = ()) -> None:
        self.state = root / "state"
        self.locks = root / "locks"
        self.recipes = root / "recipes"
        self.project = root / "project"
        for directory in (self.state, self.recipes, self.project):
            directory.mkdir(mode=0o700, exist_ok=True)
        for database in databases:
            shutil.copy(database, self.state)
        self.builtin = root / "builtin"  # none, unless the test asks for ``shipped``
        self.agent = FakeDriver()
        self.drivers: dict[str, Driver] = {"claude": self.agent}
        self.max_agents = 4
        self.max_queued = 256
        self.run_spool_megabytes = 4096
        self.config_directory: Path | None = None
        self.writer_locks: Path | None = None

    @property
    def roots(self) -> list[Root]:
        """Where the agent keeps its session files."""
        return [Root("claude", self.project.parent / "claude" / "projects")]

    def recipe(self, text: str, id: str) -> str:
        """Write a recipe of the user's; returns its id."""
        (self.recipes / f"{id}.toml").write_text(text)
        return id

    def one_step(self, id: str = "one", top: str = "", step: str = "", on: str = "") -> str:
        """A recipe of one step, with more of this and that."""
        return self.recipe(ONE_STEP.format(id=id, top=top, step=step, on=on), id)

    def directory(self, name: str) -> str:
        """Another directory to work in."""
        path = self.project.parent / name
        path.mkdir(exist_ok=True)
        return str(path)


def environment(agent: str, marker: str) -> dict[str, str]:
    agents = standing_agents()
    if agent in agents:
        return agent_environment(agents[agent], os.environ, marker)
    return child_environment(os.environ, pass_env=(), extra_env={}, marker=marker)


class Daemon:
    """One daemon's parts, and what tests ask of them."""

    def __init__(
        self,
        machine: Machine,
        store: Store,
        bus: Bus,
        transcripts: Transcripts,
        nursery: trio.Nursery,
    ) -> None:
        self.machine = machine
        self.store = store
        self.transcripts = transcripts
        self.bus = bus
        self.logged: list[tuple[str, Json]] = []
        self._log_grew = trio.Event()
        agents = {
            name: Agent(
                driver=driver,
                command=(),
                environment=partial(environment, name),
                turn_timeout_seconds=3600.0,
                config_directory=machine.config_directory,
                writer_locks=machine.writer_locks,
                plays_scripts=name == "scripted",
            )
            for name, driver in machine.drivers.items()
        }
        self.context = Context(
            store=store,
            bus=bus,
            clock=Clock(
                wall=lambda: BEGIN + timedelta(seconds=trio.current_time()),
                mono=trio.current_time,
            ),
            leases=LeaseBook(machine.locks),
            agents=agents,
            state=machine.state,
            agent_limiter=AgentLimiter(machine.max_agents),
            log=self._log,
            command_environment=partial(environment, "commands"),
            listed_as=transcripts.own_id,
            keeper=transcripts.keeper,
            limits=lambda: LimitSettings(
                max_queued=machine.max_queued, run_spool_megabytes=machine.run_spool_megabytes
            ),
        )
        self.session_locks = SessionLocks(
            self.context.leases, str(machine.state), self.context.clock.now
        )
        self.runs = Runs(self.context, self.session_locks, nursery)
        self.service = Service(
            self.context,
            self.session_locks,
            self.runs,
            Catalogue(machine.recipes, machine.builtin),
            transcripts,
            default_agent="claude",
            orchestration_enabled=True,
        )

    def _log(self, event: str, level: str = "info", **fields: Any) -> None:
        self.logged.append((event, fields))
        self._log_grew.set()
        self._log_grew = trio.Event()

    async def hears(self, event: str, times: int = 1) -> None:
        """Wait until the log has an event so often."""
        while len(fields_of(self.logged, event)) < times:
            await self._log_grew.wait()

    async def start(self, recipe: str, **fields: Any) -> str:
        """Start a recipe; returns the run's id."""
        where = fields.pop("working_directory", str(self.machine.project))
        run = await self.service.start_run(
            StartRun(recipe=recipe, working_directory=where, **fields)
        )
        return str(run.run_id)

    async def prompt(self, text: str = "Hello", **fields: Any) -> Json:
        """Send a plain prompt, into a new session unless one is named."""
        if "session_id" not in fields:
            fields.setdefault("working_directory", str(self.machine.project))
        request = SendPrompt(text=text, **fields)
        sent = self.service.prompt_and_wait if request.wait else self.service.prompt
        went: Json = plain(await sent(request))
        return went

    async def turn(self) -> FakeTurn:
        """The next turn that the fake agent was given."""
        return await self.machine.agent.next_turn()

    async def begun(self, recipe: str, **fields: Any) -> tuple[str, FakeTurn]:
        """Start a recipe; its run's id, and its first turn once that is known to have started."""
        run_id = await self.start(recipe, **fields)
        turn = await self.turn()
        await self.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
        return run_id, turn

    async def waiting(self, gated: str, **params: Any) -> tuple[str, str]:
        """Start a recipe that waits at its gate: the run's id, and its session's."""
        run_id = await self.start(gated, **params)
        await self.question(run_id)
        return run_id, self.actor(run_id).state.session_id

    def actor(self, run_id: str) -> RunActor:
        actor = self.runs.get(run_id)
        assert actor is not None, "the run is not alive"
        return actor

    async def until(self, run_id: str, condition: Callable[[RunState], bool]) -> RunState:
        """Wait until the state of a run fulfils a condition."""
        return await self.actor(run_id).until(condition)

    async def status(self, run_id: str, wanted: str) -> RunState:
        """Wait until a run has a status."""
        return await self.until(run_id, lambda state: state.status == wanted)

    async def question(self, run_id: str) -> Json:
        """The question that a run waits for, once it does."""
        state = await self.until(run_id, lambda state: bool(state.open_questions))
        wanted = state.open_questions[0].question_id
        asked = plain(await self.service.questions())
        return next(q for q in asked if q["question_id"] == wanted)

    async def answer(self, run_id: str, answer: str, **fields: Any) -> Json:
        """Answer the question that a run waits for."""
        question = await self.question(run_id)
        note = fields.get("note")
        by = fields.get("by", "ann")
        given = await self.service.answer(question["question_id"], answer, note, by)
        closed: Json = plain(given)
        return closed

    async def ended(self, run_id: str) -> Json:
        """The run, once it is over and all that it held is free."""
        actor = self.runs.get(run_id)
        if actor is not None:
            await actor.done.wait()
        run: Json = plain(await self.service.whole_run(run_id))
        assert run["status"] == "ended"
        return run

    async def forgotten(self, run_id: str) -> None:
        """Wait until nothing of a run that is over is left in memory, nor its spools."""
        actor = self.runs.get(run_id)
        while actor is not None and self.runs.get(run_id) is not None:
            await actor.changed()

    async def types(self, run_id: str) -> list[str]:
        """The types of a run's events."""
        events, _ = await self.service.run_events(run_id, 0, 1000)
        return [event.type for event in events]

    async def events(self, run_id: str, type: str) -> list[Json]:
        """The data of a run's events of one type."""
        events, _ = await self.service.run_events(run_id, 0, 1000)
        return [told(event)["data"] for event in events if event.type == type]


@asynccontextmanager
async def running(
    machine: Machine, *, restore: bool = True, patience: float = HANG_SECONDS
) -> AsyncIterator[Daemon]:
    """A daemon; left as on SIGTERM: turns are let go, everything is stored."""
    bus = Bus()
    with trio.fail_after(patience):
        async with (
            open_store(machine.state, on_facts=bus.publish) as store,
            open_transcripts(machine.state, machine.roots, store) as transcripts,
            trio.open_nursery() as nursery,
        ):
            daemon = Daemon(machine, store, bus, transcripts, nursery)
            if restore:
                await daemon.service.restore()
            try:
                yield daemon
            finally:
                bus.close()
                with trio.move_on_after(HANG_SECONDS, shield=True):
                    await daemon.runs.leave()
                nursery.cancel_scope.cancel()


def virtual(machine: Machine) -> Any:
    """A daemon on trio's mock clock: the test's patience is not measured by it."""
    return running(machine, patience=math.inf)


def fields_of(logged: list[tuple[str, Json]], event: str) -> list[Mapping[str, Any]]:
    """The fields of every log line with this event."""
    return [fields for name, fields in logged if name == event]
