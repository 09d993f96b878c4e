"""The daemon's parts that are looked at for its figures."""

from __future__ import annotations

from collections.abc import Callable

import trio

from podiumd.gateway.control import Control
from podiumd.observe.loop_delay import open_files
from podiumd.observe.metrics import Meters
from podiumd.rpc.server import RpcServer
from podiumd.runtime.context import Context
from podiumd.runtime.maintenance.memory_notes import MemoryNotes
from podiumd.runtime.run.registry import Runs
from podiumd.tools.process.memory import resident_bytes


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
