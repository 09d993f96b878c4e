"""Risks of leave for a call: one spoken word is enough, or it must be read back and confirmed.

Nothing here forbids anything. A call that cannot be taken back, reaches out of the project or
cannot be read through takes two words instead of one, so where the words of a call leave a doubt,
the answer is that there is a risk.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from podiumd.core.voice.describe_command import Danger, dangers
from podiumd.core.voice.describe_path import outside

Risk = Literal["irreversible", "outside", "destructive", "opaque", "unknown", "long"]

READ_CHARACTERS: Final = 160
"""Characters of a command that is read aloud whole."""

_COMMAND_TOOLS: Final = frozenset({"Bash", "run_command"})
_FILE_TOOLS: Final = frozenset(
    {"Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"}
    | {"read_file", "write_file", "patch", "search"}
)
_OTHER_TOOLS: Final = frozenset(
    {"WebSearch", "TodoWrite", "Task", "Agent", "BashOutput", "AskUserQuestion", "ExitPlanMode"}
    | {"run_tests", "done"}
)
_PATHS: Final = ("file_path", "notebook_path", "path", "file", "pattern", "glob")


def call_risks(tool: str, given: dict[str, Any], tree: str) -> tuple[Risk, ...]:
    """Return the risks of one call of a tool; ``tree`` is the absolute path of the working tree."""
    if tool in _COMMAND_TOOLS:
        return _command_risks(given.get("command"), tree)
    if tool in _FILE_TOOLS:
        named = [given[name] for name in _PATHS if isinstance(given.get(name), str)]
        return ("outside",) if any(outside(path, tree) for path in named) else ()
    return () if tool in _OTHER_TOOLS else ("unknown",)


def _command_risks(command: object, tree: str) -> tuple[Risk, ...]:
    if isinstance(command, list):
        command = " ".join(map(str, command))
    if not isinstance(command, str) or not command.strip():
        return ("opaque",)
    found: set[Danger] = dangers(command, tree)
    risks: list[Risk] = [risk for risk in ("destructive", "outside", "opaque") if risk in found]
    if len(command) > READ_CHARACTERS or "\n" in command.strip():
        risks.append("long")
    return tuple(risks)
