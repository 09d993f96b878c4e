"""A workbench for turns of the real Codex, driven by Podium's driver."""

from __future__ import annotations

from typing import Any

from podiumd.core.prompts.tools import ToolSpec
from tests.codex.app_server import Home
from tests.drivers.rig import Rig


def rig_of(home: Home) -> Rig:
    """Make a rig whose agent is the Codex of that home."""
    environment = {"CODEX_HOME": str(home.codex), "HOME": str(home.path)}
    return Rig(home.path.parent / "rig", (str(home.binary),), environment)


def run(line: str, **more: Any) -> dict[str, Any]:
    """A call of Codex's shell."""
    return {"tools": [{"name": "exec_command", "input": {"cmd": line, **more}}]}


def escalated(line: str) -> dict[str, Any]:
    """A call of its shell that wants out of the sandbox, and does not say why."""
    return run(line, sandbox_permissions="require_escalated")


def patch(*lines: str) -> dict[str, Any]:
    """A change of files, as Codex takes it from its shell."""
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch"))
    return run(f"apply_patch <<'EOF'\n{text}\nEOF")


SAVE = ToolSpec("save", "Save words.", {"type": "object", "properties": {}})
