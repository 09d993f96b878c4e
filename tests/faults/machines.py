"""The machine of a trial: the person's home with the agent whose turns are played."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.codex.machine import CodexMachine
from tests.e2e import native_rig
from tests.e2e.machine import ROOT, Machine
from tests.fakes.model_server import ModelServer
from tests.faults.agent_scenario import AgentScenario
from tests.faults.scenario import Scenario

FAKE = "tests.drivers.kit.fake_agent"


class FakeMachine(Machine):
    """A machine whose agent is the kit's fake; its books are in ``books``."""

    @property
    def books(self) -> Path:
        """The fake's own directory: its session files are looked for below HOME."""
        return self.home

    @property
    def late(self) -> Path:
        """The pipe at which the fake waits before it reads a prompt, where it is to."""
        return self.books / "late"

    def configure(self, env: Mapping[str, str] | None = None, **fake: Any) -> None:
        """Write the configuration of an ``agent``, called so, and what it does: ``script``."""
        script = self.books / "script.json"
        script.write_text(json.dumps({"home": str(self.books), **fake["script"]}))
        if "reads_late" in fake["script"]:
            os.mkfifo(self.late)
        language = fake["agent"]
        begins = (sys.executable, "-S", "-P", "-m", FAKE, "--as", language, str(script), "--")
        words = shlex.join(("env", f"PYTHONPATH={ROOT}", *begins))
        self.claude.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        self.claude.chmod(0o755)
        settings: dict[str, Any] = {"command": str(self.claude)}
        if language == "acp":
            settings = {"driver": "acp", "command": [str(self.claude)], "ask_mode": "default"}
            settings |= {"resume": "resume", "usage": "tokens"}
        lines = ["[gateway]", "port = 0", f"[agents.{fake['called']}]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        (self.podium_home / "config.toml").write_text("\n".join(lines) + "\n")

    def book(self, name: str) -> list[dict[str, Any]]:
        """The rows of one of the fake's books."""
        path = self.books / f"{name}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


def machine_for(scenario: Scenario, root: Path, program: Path, model: ModelServer) -> Machine:
    """Make the machine of a trial and write its configuration.

    ``program``: the agent, where it is not the fake or the daemon's own.
    """
    home = root / "home"
    if isinstance(scenario, AgentScenario) and not scenario.real:
        fake = FakeMachine(root, home, root / "fake", model)
        fake.set_up()
        fake.configure(agent=scenario.agent, called=scenario.called, script=scenario.fake)
        return fake
    kind = CodexMachine if isinstance(scenario, AgentScenario) else Machine
    machine = kind(root, home, program, model)
    machine.set_up()
    machine.configure(**scenario.settings)
    if scenario.native:
        native_rig.configure(machine, "anthropic")
    return machine
