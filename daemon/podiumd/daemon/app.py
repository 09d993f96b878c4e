"""The composition root: builds the services in their order and owns the tree of tasks.

    serve                         signals, shutdown
    ├── store                     its writer thread
    ├── transcripts               the index, the watch over session files, their follower
    ├── spool watch               one watch for all turns
    ├── runs                      an actor a run
    ├── gateway                   a task a phone
    └── rpc                       a task a connection

Leaving goes the other way round: no new clients, clients notified, turns let go, everything stored,
and sent to the followers.
"""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Literal

import trio

from podiumd import __version__
from podiumd.agents.kinds import DEFAULT_AGENT
from podiumd.config.load import Loaded
from podiumd.config.paths import Places
from podiumd.config.reload import Settings
from podiumd.config.settings import Config, VoiceSettings
from podiumd.daemon.agent_list import AgentList
from podiumd.daemon.agents import Agents, CannotMake
from podiumd.daemon.sighup import reload_on_signal
from podiumd.drivers.spool import SpoolWatch, watch_spools
from podiumd.gateway.control import Control
from podiumd.gateway.service import Surroundings, open_gateway
from podiumd.host.instance import hold_lock
from podiumd.host.manager import Manager
from podiumd.host.watchdog import Part, keep_fed
from podiumd.observe.crash_report import keep_crash_report
from podiumd.observe.logs import log
from podiumd.observe.loop_delay import measured, open_files, report
from podiumd.observe.metrics import Meters
from podiumd.projects.commands import Bounds
from podiumd.projects.naming import heuristic_name
from podiumd.projects.naming_agent import infer_name
from podiumd.rpc.context import DaemonInfo
from podiumd.rpc.doorway import Doorway
from podiumd.rpc.listener import listening
from podiumd.rpc.server import RpcServer, serve_rpc
from podiumd.runtime.bus import Bus
from podiumd.runtime.clock import Clock
from podiumd.runtime.context import Context
from podiumd.runtime.events.notifications import notify
from podiumd.runtime.locks.agent_limiter import AgentLimiter
from podiumd.runtime.locks.leases import LeaseBook
from podiumd.runtime.locks.lockfile import LeaseError
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.maintenance.housekeeping import daily
from podiumd.runtime.maintenance.memory_notes import MemoryNotes
from podiumd.runtime.recipes.catalogue import Catalogue, builtin_directory
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.service import Service
from podiumd.runtime.tool_access import Reply, ToolAccess
from podiumd.runtime.voice.service import Voice, speak_aloud
from podiumd.sessions.transcripts import Transcripts, open_transcripts
from podiumd.speech.audio.speaker import open_speaker
from podiumd.speech.service import open_speech
from podiumd.store.errors import StoreError
from podiumd.store.facts import Store, open_store
from podiumd.store.records import StoredFact
from podiumd.tools.files.disk import is_full
from podiumd.tools.process.descriptors import raise_limit
from podiumd.tools.process.memory import resident_bytes
from podiumd.tools.sandbox.sandbox import AS_ROOT
from podiumd.wording import restart_command

STOP_SECONDS = 8.0
"""How long turns may take to end before stopping goes on without them (the contract says 10)."""

PAGE_FILES = Path(__file__).parent.parent / "_data" / "web"
"""The web client's files, as they are shipped."""

TurnsAtStop = Literal["leave", "interrupt"]


class Stop:
    """The wish to stop: the first says how, and what is asked later waits with it."""

    def __init__(self) -> None:
        self.turns: TurnsAtStop = "leave"
        self.reason = ""
        self._event = trio.Event()

    def request(self, turns: TurnsAtStop, reason: str = "asked to by a client") -> None:
        if not self._event.is_set():
            self.turns, self.reason = turns, reason
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()


def run(
    config: Config,
    places: Places,
    environ: Mapping[str, str],
    ready: Callable[[], None] = lambda: None,
    manager: Manager | None = None,
    settings: Settings | None = None,
) -> None:
    """Run the daemon until it gets the order to stop.

    ``ready`` is called once it answers. ``manager`` is the service manager that started us.
    ``settings`` are those that ``config`` is of, where they can be read anew.

    Raises:
        AlreadyRunning: another daemon has this STATE or this socket.
        PlaceError: the socket cannot be made.
        CannotStart: the store, the leases or the scripted agent's file cannot be used, or the
            disk is full.
    """
    manager = manager or Manager()
    raise_limit()
    with _full_disk_told(places), ExitStack() as stack:
        stack.callback(manager.handed.close)
        stack.enter_context(hold_lock(places.instance_lock))
        listener = manager.handed.rpc or stack.enter_context(listening(places.socket, os.getuid()))
        loaded = Loaded(config=config, places=places, sources={})
        settings = settings or Settings(loaded, lambda: loaded, restart_command(manager.kind))
        daemon = Daemon(settings, places, environ, manager)
        stack.enter_context(keep_crash_report(places.state, CannotStart))
        stack.enter_context(_full_disk_told(places))
        try:
            trio.run(daemon.serve, listener, ready, strict_exception_groups=True)
        except (StoreError, LeaseError, CannotMake) as error:
            raise CannotStart(str(error)) from error
        except BaseExceptionGroup as group:
            # No `except*`: before Python 3.11.4 it wraps what is raised within into another group.
            known, others = group.split((StoreError, LeaseError, CannotMake))
            if known is None or others is not None:
                raise
            raise CannotStart("; ".join(str(error) for error in _leaves(known))) from group


@contextmanager
def _full_disk_told(places: Places) -> Iterator[None]:
    full = CannotStart(f"The disk of {places.state} or {places.locks} is full. Free some space.")
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise full from error
    except BaseExceptionGroup as group:
        if group.subgroup(is_full) is None:
            raise
        raise full from group


class CannotStart(Exception):
    """Signal that something the daemon needs cannot be used; the text gives which, why, and what to
    do."""


def _leaves(group: BaseExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


class Daemon:
    """The parts of one daemon."""

    def __init__(
        self, settings: Settings, places: Places, environ: Mapping[str, str], manager: Manager
    ) -> None:
        self._settings = settings
        self._agents = Agents(settings, environ, places)
        self._meters = Meters()
        self._places = places
        self._environ = environ
        self._manager = manager
        self._socket = manager.handed.rpc_path or places.socket

    async def serve(self, listener: object, ready: Callable[[], None]) -> None:
        """Run the tree of tasks, from ready to stopped."""
        bus, clock, stop = Bus(), Clock(), Stop()

        def heard(facts: Sequence[StoredFact]) -> None:
            bus.publish(facts)
            self._meters.take(facts)

        with (
            trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals,
            trio.open_signal_receiver(signal.SIGHUP) as hangups,
            measured(self._meters.loop),
        ):
            async with (
                open_store(
                    self._places.state, on_facts=heard, on_lift=self._manager.notifier.lifting
                ) as store,
                open_transcripts(self._places.state, self._agents.roots(), store) as transcripts,
                watch_spools() as watch,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(_stop_on_signal, signals, stop)
                context = self._context(store, bus, clock, watch, transcripts)
                await self._serve(context, transcripts, listener, stop, ready, hangups)
                nursery.cancel_scope.cancel()
        log("Daemon stopped", pid=os.getpid(), reason=stop.reason)

    async def _serve(
        self,
        context: Context,
        transcripts: Transcripts,
        listener: object,
        stop: Stop,
        ready: Callable[[], None],
        hangups: AsyncIterator[int],
    ) -> None:
        session_locks = SessionLocks(context.leases, str(self._places.state), context.clock.now)
        async with trio.open_nursery() as nursery:
            runs = Runs(context, session_locks, nursery)
            self._meters.kind_of = runs.kind_of
            service = Service(
                context,
                session_locks,
                runs,
                Catalogue(self._places.recipes, builtin_directory()),
                transcripts,
                default_agent=DEFAULT_AGENT,
                orchestration_enabled=self._settings.config.orchestration.enabled,
            )
            await service.restore()
            doorway = Doorway()
            async with (
                self._voice(service) as voice,
                self._gateway(context, voice, service, doorway) as gateway,
            ):
                info = DaemonInfo(
                    version=__version__,
                    pid=os.getpid(),
                    started_at=context.clock.now(),
                    socket=str(self._socket),
                    request_shutdown=stop.request,
                    gateway=gateway,
                    voice=voice,
                    service=self._manager.kind,
                    settings=self._settings,
                    tools=_tools(context, runs),
                    agents=self._listed(context).list,
                    on_request=self._meters.rpc_requests.add,
                    now=context.clock.now,
                )
                server = doorway.open(await nursery.start(serve_rpc, service, info, listener))
                self._watch_over(context, runs, service, gateway, server, nursery)
                nursery.start_soon(reload_on_signal, hangups, self._settings, stop.request)
                log("Daemon ready", pid=os.getpid(), socket=str(self._socket))
                if os.geteuid() == 0:
                    log("Running as root", "warning", note=AS_ROOT)
                ready()
                self._manager.notifier.ready(f"Answering at {self._socket}")
                nursery.start_soon(keep_fed, self._manager.notifier, _parts(context, transcripts))
                await stop.wait()
                log("Daemon stopping", turns=stop.turns, reason=stop.reason)
                self._manager.notifier.stopping(f"Stopping, turns: {stop.turns}")
                if stop.turns == "interrupt":
                    with trio.move_on_after(STOP_SECONDS):
                        await service.stop_turns()
            server.stop(stop.turns)
            await runs.leave()
            context.bus.close()  # after the last events of runs: now feeds come to their end
            transcripts.end_feeds()
            await server.wait_closed()
            nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def _voice(self, service: Service) -> AsyncIterator[Voice]:
        """Open speech input and output at this machine."""

        def settings() -> VoiceSettings:
            return self._settings.config.voice

        async with (
            open_speech(settings(), self._places.state, self._environ) as speech,
            open_speaker(settings, self._environ) as speaker,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(speak_aloud, service, speaker, lambda: settings().speak)
            yield Voice(speech, speaker, service)
            nursery.cancel_scope.cancel()

    def _listed(self, context: Context) -> AgentList:
        served = self._manager.kind is not None
        anew = "podium service install" if served else restart_command(None)
        return AgentList(self._settings, self._environ, context.agents, f"'{anew}'")

    def _context(
        self, store: Store, bus: Bus, clock: Clock, watch: SpoolWatch, transcripts: Transcripts
    ) -> Context:
        return Context(
            store=store,
            bus=bus,
            clock=clock,
            leases=LeaseBook(self._places.locks),
            agents=self._agents.make(watch),
            state=self._places.state,
            agent_limiter=AgentLimiter(self._settings.config.limits.max_agents),
            log=log,
            command_environment=self._agents.command_environment,
            retention=lambda: self._settings.config.retention,
            limits=lambda: self._settings.config.limits,
            tool_access=ToolAccess(self._socket),
            listed_as=transcripts.own_id,
            keeper=transcripts.keeper,
        )

    def _watch_over(
        self,
        context: Context,
        runs: Runs,
        service: Service,
        gateway: Control,
        server: RpcServer,
        nursery: trio.Nursery,
    ) -> None:
        """Figures, housekeeping, and settings that change while we run."""

        def agent_megabytes() -> int:
            return self._settings.config.limits.agent_memory_megabytes

        watch_gauges(self._meters, context, runs, gateway, server, agent_megabytes)
        nursery.start_soon(report, self._meters)
        nursery.start_soon(daily, service.storage.tidy)
        nursery.start_soon(notify, context, service, lambda: self._settings.config.notify.command)

        async def apply(config: Config, changed: frozenset[str]) -> None:
            context.agent_limiter.resize(config.limits.max_agents)
            self._agents.renew(context.agents, config)
            gateway.allow(config.gateway.allowed_hosts, config.gateway.origins)
            if "orchestration.enabled" in changed:
                await service.configure(config.orchestration.enabled)

        self._settings.on_change(apply, self._agents.folders, self._agents.check)

    def _gateway(
        self, context: Context, voice: Voice, service: Service, doorway: Doorway
    ) -> AbstractAsyncContextManager[Control]:
        return open_gateway(self._surroundings(context, voice, doorway), service, context.store)

    def _surroundings(self, context: Context, voice: Voice, doorway: Doorway) -> Surroundings:
        """Build what the gateway needs of this daemon."""
        handed = self._manager.handed.gateway

        async def infer(message: str) -> str:
            for name, configured in self._settings.config.agents.items():
                agent, one_shot = context.agents[name], configured.kind.one_shot
                if one_shot is not None:
                    return await infer_name(
                        message,
                        command=agent.command,
                        environment=agent.environment,
                        one_shot=one_shot,
                    )
            return heuristic_name(message)

        def command_bounds() -> Bounds:
            config = self._settings.config
            return Bounds(
                most=config.retention.commands,
                days=config.retention.commands_days,
                output_megabytes=config.limits.output_megabytes,
            )

        return Surroundings(
            settings=self._settings.config.gateway,
            sockets=tuple(handed),
            state=self._places.state,
            home=Path(self._environ.get("HOME") or "/"),
            user=self._environ.get("USER") or pwd.getpwuid(os.getuid()).pw_name,
            config_file=str(self._places.config),
            now=context.clock.now,
            environment=context.command_environment,
            infer_name=infer,
            voice=voice,
            command_bounds=command_bounds,
            page_files=PAGE_FILES,
            serve_page=doorway.serve_page,
            meters=self._meters,
            restart=restart_command(self._manager.kind),
        )


def _tools(context: Context, runs: Runs) -> Callable[[str, str, str | None], Awaitable[Reply]]:
    """Build the handler that answers agents using the tools of their turn from outside."""

    def message(token: str, text: str, delivery: str | None) -> Awaitable[Reply]:
        going_on = [context.turn_directory(turn_id) for turn_id in runs.in_use()[0]]
        return context.tool_access.message(token, text, delivery, going_on)

    return message


def _parts(context: Context, transcripts: Transcripts) -> list[Part]:
    """List the parts that must turn for the watchdog to be fed."""

    async def ask_store() -> None:
        try:
            await context.store.ping()
        except StoreError:
            return  # a full disk is an answer too, and no restart mends it

    return [Part("store writer", ask_store), Part("session follower", transcripts.ping)]


async def _stop_on_signal(signals: object, stop: Stop) -> None:
    """SIGTERM and SIGINT stop the daemon and leave turns running."""
    async for number in signals:  # type: ignore[attr-defined]
        name = signal.Signals(number).name
        log("Signal received", signal=name)
        stop.request("leave", name)


def watch_gauges(
    meters: Meters,
    context: Context,
    runs: Runs,
    gateway: Control,
    server: RpcServer,
    agent_megabytes: Callable[[], int],
) -> None:
    """Register the gauges with ``meters``. ``agent_megabytes``: what an agent may take unnoted,
    MiB."""
    began = trio.current_time()
    agent_limiter, store, bus = context.agent_limiter, context.store, context.bus
    meters.gauge(
        "agents_working", "Runs that have an agent at work.", lambda: agent_limiter.working
    )
    notes = MemoryNotes(lambda: (run.state for run in runs.live), agent_megabytes, context.log)
    meters.gauge("agents_memory_bytes", "Memory of agents and what they started.", notes.total)
    meters.gauge(
        "runs_waiting", "Runs that wait for another to finish.", lambda: agent_limiter.waiting
    )
    meters.gauge("runs_queued", "Prompts and recipes not begun.", lambda: len(runs.queue))
    meters.gauge("turns_taken_up", "Turns of the daemon before this.", lambda: runs.taken_up)
    meters.gauge("store_queue", "Decisions that wait for the disk.", lambda: store.queued)
    meters.gauge("event_queue", "Events that the slowest follower lags.", lambda: bus.longest_queue)
    meters.gauge("rpc_clients", "Clients on the socket.", lambda: server.connections)
    meters.gauge("gateway_clients", "Phones connected.", lambda: gateway.clients)
    meters.gauge("resident_memory_bytes", "Memory of the daemon.", resident_bytes)
    meters.gauge("open_files", "Open descriptors of the daemon.", open_files)
    meters.gauge("uptime_seconds", "Since it was ready.", lambda: trio.current_time() - began)
