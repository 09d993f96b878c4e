"""The capabilities of agents: what is declared of each, and what it said of itself when greeted.

The latter is kept in the daemon's store, a value an agent: a recipe is checked against it before a
run of it begins, when the agent cannot be asked without being started.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Final

import msgspec
import trio
from msgspec.structs import replace

from podiumd.agents.kinds import known_agents as agents_by_name
from podiumd.agents.kinds import shipped_capabilities
from podiumd.core.analysis.check_agents import Described, KnownAgents
from podiumd.runtime.context import Agent, Context
from podiumd.store.facts import Store

ANEW: Final = "Install it, then 'podium down && podium up'."
_KEY: Final = "agents.described:"


async def described(store: Store, agent: str) -> Described | None:
    """Return what the agent said of itself when it was last greeted, if it ever was.

    What another release has stored in words that this one does not know counts as not said.
    """
    value = await store.setting(f"{_KEY}{agent}")
    try:
        return None if value is None else msgspec.json.decode(value, type=Described)
    except msgspec.MsgspecError:
        return None


async def remember(store: Store, agent: str, about: Described) -> None:
    """Keep what an agent says of itself; written only where it says something new.

    Raises ``StoreError``.
    """
    known = await described(store, agent)
    if known is not None and known.version == about.version and not about.modes:
        about = replace(about, modes=known.modes)  # not every opening of a session tells them
    if known != about:
        await store.set_setting(f"{_KEY}{agent}", msgspec.json.encode(about))


def not_found(name: str) -> str:
    """Say of an agent that is known by name, and not there, what was missed."""
    program = agents_by_name()[name].plan.command[0]
    return f"it is known, and its program `{program}` was not on the daemon's PATH when that began"


async def known_agents(context: Context, own: str) -> KnownAgents:
    """Return all that is known of agents; ``own`` takes the steps that name none.

    One that is known by name, and not configured, is absent as one without its program is.
    """
    shipped, configured = shipped_capabilities(), context.agents
    said = {name: await described(context.store, name) for name in configured}
    missing = await trio.to_thread.run_sync(_missing, dict(configured))
    return KnownAgents(
        can=shipped | {name: agent.driver.capabilities for name, agent in configured.items()},
        own=own,
        described={name: about for name, about in said.items() if about is not None},
        absent={n: f"{not_found(n)}. {ANEW}" for n in shipped if n not in configured} | missing,
        ask_settings={n: one.ask_setting for n, one in configured.items() if one.ask_setting},
    )


def _missing(agents: Mapping[str, Agent]) -> dict[str, str]:
    """Find the agents whose program is not there, each with what to do. Blocks on files."""
    found = {}
    for name, agent in agents.items():
        path = agent.environment("").get("PATH")
        if agent.command and shutil.which(agent.command[0], path=path) is None:
            found[name] = f"`{agent.command[0]}` is no program on its PATH. {agent.fix}"
    return found
