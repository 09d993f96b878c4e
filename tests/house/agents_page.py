"""Write the tables of docs/agents.md from the code: ``make agents-page``.

One says what each kind of agent can do, by its driver; the other what is known by name of agents
that speak the Agent Client Protocol.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final, cast

from podium.agent_kinds import CAPABILITIES
from podium.commands.agents import shown
from podiumd.agents.acp.kind import ACP, AcpSettings, known_agents
from podiumd.agents.halves import Host, make_driver
from podiumd.agents.kind import ConfiguredAgent, Where
from podiumd.agents.kinds import standing_agents
from podiumd.core.analysis.check_agents import Capabilities
from tests.house.source import ROOT

PAGE: Final = ROOT / "docs/agents.md"
END: Final = "<!-- the end of it -->"
ABILITIES: Final = "<!-- what each can do: made by 'make agents-page' -->"
KNOWN: Final = "<!-- known by name: made by 'make agents-page' -->"

BARE: Final = "any other"
"""The heading of an agent of which a table says its command, and nothing else."""


def capabilities(agent: ConfiguredAgent) -> Capabilities:
    """Return what an agent can do, by its driver."""
    host = Host(
        agent=agent.name,
        settings=lambda: agent.settings,
        environ={},
        state=Path(tempfile.gettempdir()),
        watch=cast(Any, None),
    )
    return make_driver(agent.kind, host).capabilities


def agents() -> dict[str, ConfiguredAgent]:
    """List those that have a column: all that need no table, one that is tried, and a bare one."""
    kimi = ConfiguredAgent("kimi", ACP, ACP.settings_of("kimi"))
    bare = ConfiguredAgent("bare", ACP, AcpSettings(command=("my-agent",)))
    return {**standing_agents(), "kimi": kimi, BARE: bare}


def abilities() -> str:
    """Return the table of capabilities."""
    columns = agents()
    found = {name: capabilities(agent) for name, agent in columns.items()}
    rows = [["", *columns], ["---"] * (len(columns) + 1)]
    rows += [
        [f"{words} (`{key}`)", *(shown(getattr(can, key)) for can in found.values())]
        for key, words in CAPABILITIES.items()
    ]
    nowhere = Where({}, Path("/"))
    formats = [
        agent.folders(nowhere).session_format or agent.kind.session_format or "-"
        for agent in columns.values()
    ]
    rows.append(["session files that are read", *formats])
    return _table(rows)


def known() -> str:
    """Return the table of agents that are known by name."""
    heads = ["", "begun as", "asks in mode", "only reads in", "goes on by", "tells", "logs in by"]
    rows = [heads, ["---"] * len(heads)]
    for name, one in known_agents().items():
        command = f"`{' '.join(one.command)}`"
        login = f"`{one.login}`" if one.login else "-"
        modes = [f"`{mode}`" if mode else "-" for mode in (one.ask_mode, one.read_only_mode)]
        rows.append([name, command, *modes, shown(_named(one.resume)), shown(one.usage), login])
    return _table(rows)


def _named(resume: str) -> str:
    return "none" if resume == "no" else resume


def _table(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def made(page: str) -> str:
    """Return the page with the tables of today."""
    for begin, table in ((ABILITIES, abilities()), (KNOWN, known())):
        head, _, rest = page.partition(begin)
        page = f"{head}{begin}\n{table}\n{END}{rest.partition(END)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
