"""The agents that are driven for real: how each is set up to ask a scripted model. A row is one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.e2e.install_acp import PROGRAMS, Program

MODEL: Final = "m"
KEY: Final = "none"

KIMI_CONFIG: Final = """\
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
class Row:
    """An agent: ``set_up`` writes what is its own into a home and returns the variables that it
    needs to ask the model at a URL; ``shell`` is a call of its shell, ``own_tool`` its name for a
    tool of Podium's."""

    name: str
    set_up: Callable[[Path, str], Mapping[str, str]]
    shell: Callable[[str], Mapping[str, Any]]
    write: Callable[[str, str], Mapping[str, Any]]
    own_tool: str = "mcp__podium__{name}"

    @property
    def program(self) -> Program:
        """Return the pinned program."""
        return PROGRAMS[self.name]

    def run(self, line: str) -> dict[str, Any]:
        """Build an answer of the model that runs a command line."""
        return {"tools": [dict(self.shell(line))]}

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        """Build an answer of the model that calls a tool of Podium's."""
        return {"tools": [{"name": self.own_tool.format(name=tool), "input": given}]}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _kimi(home: Path, url: str) -> Mapping[str, str]:
    _write(home / ".kimi-code" / "config.toml", KIMI_CONFIG.format(url=url))
    return {}


def _qwen(home: Path, url: str) -> Mapping[str, str]:
    settings = {"security": {"auth": {"selectedType": "openai"}}}
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": MODEL}


def _gemini(home: Path, url: str) -> Mapping[str, str]:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": MODEL}


def _copilot(home: Path, url: str) -> Mapping[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_MODEL": MODEL,
        "COPILOT_OFFLINE": "true",
    }


def _opencode(home: Path, url: str) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {MODEL: {"name": MODEL}},
    }
    config = {
        "model": f"scripted/{MODEL}",
        "small_model": f"scripted/{MODEL}",
        "provider": {"scripted": provider},
        "permission": {"*": "allow"},
        "autoupdate": False,
    }
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}


def _bash(line: str) -> Mapping[str, Any]:
    return {"name": "Bash", "input": {"command": line, "description": "d"}}


def _small_bash(line: str) -> Mapping[str, Any]:
    return {"name": "bash", "input": {"command": line, "description": "d"}}


def _run_shell_command(line: str) -> Mapping[str, Any]:
    given = {"command": line, "description": "d", "is_background": False}
    return {"name": "run_shell_command", "input": given}


def _writing(tool: str, path: str, text: str) -> Callable[[str, str], Mapping[str, Any]]:
    """Return what builds a call of a tool that makes a file; the names are its parameters'."""
    return lambda file, words: {"name": tool, "input": {path: file, text: words}}


ROWS: Final = {
    row.name: row
    for row in (
        Row("kimi", _kimi, _bash, _writing("Write", "path", "content")),
        Row("qwen", _qwen, _run_shell_command, _writing("write_file", "file_path", "content")),
        Row(
            "gemini",
            _gemini,
            _run_shell_command,
            _writing("write_file", "file_path", "content"),
            "mcp_podium_{name}",
        ),
        Row(
            "copilot",
            _copilot,
            _small_bash,
            _writing("create", "path", "file_text"),
            "podium-{name}",
        ),
        Row(
            "opencode",
            _opencode,
            _small_bash,
            _writing("write", "filePath", "content"),
            "podium_{name}",
        ),
    )
}
"""By the name of the agent, which is that of its table too."""
