"""Leave for the tools of an agent, by what people have said; and the answers for once. Pure.

An agent names no tools, but kinds of them: one table has our names for these. A command is judged
by what the tool is given alone. A title is the agent's own text, and proves nothing; nor does a
kind that only reads, of a tool that is given a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from podiumd.core.decide import policy
from podiumd.formats.acp.wire import PermissionOption, ToolCall, text_of

COMMAND, CHANGE = "Bash", "Edit"

TOOLS: Final = {
    "execute": COMMAND,
    "edit": CHANGE,
    "delete": "Delete",
    "move": "Move",
    "read": "Read",
    "search": "Grep",
    "fetch": "WebFetch",
    "think": "Think",
}
"""The names that recipes use, by the protocol's kinds of tools."""

OTHER: Final = "other"
READING: Final = frozenset({"Read", "Grep", "Think"})

_HARMLESS: Final = frozenset(
    {"background", "description", "explanation", "is_background", "run_in_background"}
    | {"timeout", "timeout_ms"}
)
"""What may be given beside a command without making another one of it."""

_PLACES: Final = frozenset({"cwd", "dir_path", "directory", "workdir", "working_directory"})
"""The same, where it names the session's directory."""

Verdict = Literal["allow", "ask", "deny"]


def tool_of(call: ToolCall) -> str:
    """Return our name for a tool; of one that has no kind its own name, where it is told."""
    tool = TOOLS.get(call.kind or OTHER) or call.name or OTHER
    runs = isinstance(call.raw_input, dict) and call.raw_input.get("command")
    return COMMAND if runs and tool in READING else tool


def command_of(call: ToolCall, directory: str) -> str | None:
    """Return the command line that a tool is given, where that is all it is given."""
    given = call.raw_input if isinstance(call.raw_input, dict) else {}
    command = given.get("command")
    if not isinstance(command, str):
        return None
    for name, value in given.items():
        same = name == "commands" and value == [command]
        here = name in _PLACES and value == directory
        if value and name != "command" and name not in _HARMLESS and not (same or here):
            return None
    return command


def input_of(call: ToolCall) -> dict[str, Any]:
    """Return what a person is shown of a tool's use: what it is given, else the agent's words."""
    if isinstance(call.raw_input, dict) and call.raw_input:
        return call.raw_input
    shown = {"title": call.title or "", "content": text_of(call.content)}
    return {key: value for key, value in shown.items() if value}


def judge(call: ToolCall, tools: str, allow: Sequence[str], directory: str) -> Verdict:
    """Judge a use of a tool in a session of that directory."""
    tool = tool_of(call)
    if tools == "read-only":
        return "allow" if tool in READING else "deny"
    if tool == COMMAND:
        command = command_of(call, directory)
        covered = COMMAND in allow or _covers("run_command", "exec", allow, command)
        return "allow" if covered else "ask"
    if tool == CHANGE:
        return "allow" if _covers("patch", "write", allow) else "ask"
    return "allow" if tool != OTHER and tool in allow else "ask"


def once(options: Sequence[PermissionOption], behavior: Literal["allow", "deny"]) -> str:
    """Return the id of the option that answers for once and changes no mode; empty if none."""
    wanted = "allow_once" if behavior == "allow" else "reject_once"
    fitting = (one for one in options if one.kind == wanted and not _switches(one))
    return next((one.option_id for one in fitting), "")


def _switches(option: PermissionOption) -> bool:
    words = f"{option.option_id} {option.name}".lower()
    return "switch" in words or "mode" in words


def _covers(name: str, risk: policy.Risk, allow: Sequence[str], command: str | None = None) -> bool:
    verdict = policy.judge(name, risk, mode="confirm", allow=tuple(allow), command=command)
    return isinstance(verdict, policy.Allow)
