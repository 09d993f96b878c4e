"""A person's machine on which Codex is the agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.codex.app_server import CONFIG
from tests.e2e.machine import Machine


class CodexMachine(Machine):
    """A machine as of the other stories; its agent is the Codex of the home."""

    @property
    def codex(self) -> Path:
        """Codex's own directory."""
        return self.home / ".codex"

    def configure(self, env: Mapping[str, str] | None = None, **codex: Any) -> None:
        """Write the configuration: settings of ``[agents.codex]``."""
        self.codex.mkdir(exist_ok=True)
        (self.codex / "config.toml").write_text(CONFIG.format(url=self.model.url))
        settings = {"command": str(self.claude), **codex}
        lines = ["[gateway]", "port = 0", "[agents.codex]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        (self.podium_home / "config.toml").write_text("\n".join(lines) + "\n")

    def said(self, thread: str) -> list[str]:
        """What Podium has said in a thread, in order, as Codex' session file has it."""
        (path,) = self.codex.glob(f"sessions/*/*/*/rollout-*-{thread}.jsonl")
        rows = (json.loads(line)["payload"] for line in path.read_bytes().splitlines())
        items = (row["item"] for row in rows if row.get("type") == "item_completed")
        return [
            "".join(part["text"] for part in item["content"])
            for item in items
            if item["type"] == "UserMessage"
        ]
