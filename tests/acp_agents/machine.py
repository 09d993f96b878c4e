"""A person's machine on which an agent of the protocol is one by a table of the configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.acp_agents.rows import Row
from tests.e2e.machine import Machine


@dataclass(frozen=True)
class AgentMachine(Machine):
    """A machine as of the other stories, with an agent of ``row``; ``command`` starts it."""

    row: Row
    command: tuple[str, ...] = ()

    def configure(self, env: Mapping[str, str] | None = None, **agent: Any) -> None:
        """Write the configuration: settings of the agent's table."""
        given = {**self.row.set_up(self.home, self.model.url), **(env or {})}
        settings = {"driver": "acp", "command": list(self.command), **agent}
        lines = ["[gateway]", "port = 0", f"[agents.{self.row.name}]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        lines += [f"[agents.{self.row.name}.env]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        (self.podium_home / "config.toml").write_text("\n".join(lines) + "\n")
