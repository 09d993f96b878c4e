"""A person's machine on which Kimi Code is an agent by a table of the configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.e2e.machine import Machine

CONFIG = """\
default_model = "m"

[providers.scripted]
type = "openai"
base_url = "{url}/v1"
api_key = "none"

[models.m]
provider = "scripted"
model = "m"
max_context_size = 100000
"""


@dataclass(frozen=True)
class KimiMachine(Machine):
    """A machine as of the other stories; ``command`` starts its agent."""

    command: tuple[str, ...] = ()

    def configure(self, env: Mapping[str, str] | None = None, **kimi: Any) -> None:
        """Write the configuration: settings of ``[agents.kimi]``."""
        own = self.home / ".kimi-code"
        own.mkdir(exist_ok=True)
        (own / "config.toml").write_text(CONFIG.format(url=self.model.url))
        settings = {"driver": "acp", "command": list(self.command), **kimi}
        lines = ["[gateway]", "port = 0", "[agents.kimi]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        (self.podium_home / "config.toml").write_text("\n".join(lines) + "\n")


def run(line: str) -> dict[str, Any]:
    """A call of its shell."""
    return {"tools": [{"name": "Bash", "input": {"command": line, "description": "d"}}]}
