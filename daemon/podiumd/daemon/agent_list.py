"""The list of agents: what is there of each, as its own folder finds it, and what it can do."""

from __future__ import annotations

import time
from collections.abc import Mapping

import trio

from podiumd.agents.examination import ANSWER_SECONDS, Doctor, Examined, Found, doctor_of
from podiumd.agents.kind import ConfiguredAgent
from podiumd.config.reload import Settings
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.observe.checks import broken
from podiumd.runtime.context import Agent as RunningAgent
from podiumd.wire.agents import Agent, AgentState


class AgentList:
    """Looks at the agents of a daemon, side by side, in threads; one look at a time.

    ``environ`` is the daemon's environment, ``anew`` the command that starts it anew, quoted.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        running: Mapping[str, RunningAgent],
        anew: str,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._running = running
        self._anew = anew
        self._lock = trio.Lock()

    async def list(self) -> list[Agent]:
        """List all of them, in the order of the settings."""
        async with self._lock:
            until = time.monotonic() + ANSWER_SECONDS
            found: dict[str, Agent] = {}
            async with trio.open_nursery() as nursery:
                for name, agent in self._settings.config.agents.items():
                    can = self._running[name].driver.capabilities
                    nursery.start_soon(self._look, found, agent, can, until)
            return [found[name] for name in self._settings.config.agents if name in found]

    async def _look(
        self, found: dict[str, Agent], agent: ConfiguredAgent, can: Capabilities, until: float
    ) -> None:
        asked = Examined(
            agent=agent,
            environ=self._environ,
            daemon_environ=self._environ,
            anew=self._anew,
            answers={},
            until=until,
        )
        doctor = doctor_of(agent.kind)
        found[agent.name] = await trio.to_thread.run_sync(_look, doctor, asked, can)


def _look(doctor: Doctor, asked: Examined, can: Capabilities) -> Agent:
    agent = asked.agent
    try:
        there, check = doctor.found(asked), doctor.examine(asked)
    except Exception as error:  # noqa: BLE001 - one agent's fault must not hide the others
        message = f"the look at it failed: {type(error).__name__}: {error}"
        there = Found(there=False)
        check = broken(asked.check, message, "report this as a bug of Podium")
    state: AgentState = "missing"
    if there.there:
        able = agent.kind.plays_scripts or doctor.is_ready(asked)
        state = "ready" if check.state == "ok" and able else "unready"
    return Agent(
        name=agent.name,
        kind=agent.kind.name,
        label=agent.kind.label,
        state=state,
        program=there.program,
        version=there.version,
        mark=there.mark,
        found=check.message,
        fix="" if state == "ready" else check.fix or agent.remedy,
        session_format=agent.kind.session_format,
        capabilities=can,
    )
