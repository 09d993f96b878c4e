"""The command line of one turn of Claude Code. Pure. Measured with ``claude`` 2.1.328."""

from __future__ import annotations

import json
from typing import Final

from podiumd.drivers.base import TurnRequest

READ_ONLY_TOOLS: Final = ("Read", "Grep", "Glob", "WebFetch", "WebSearch")
"""Those of the CLI's tools that can change no file. Bash is not among them."""

ENVIRONMENT: Final = {
    # Says when the agent is idle, which is how the end of a turn is known.
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    # The agent's version is the person's to choose, not to change in the middle of a run.
    "DISABLE_AUTOUPDATER": "1",
}

_ALWAYS = (
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    # The answer as it is written: people watch it, and a long one is no silence.
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
)


def claude_arguments(request: TurnRequest) -> list[str]:
    """Return the argument list; the prompt is not in it, it comes over stdin.

    ``request.max_budget_usd`` is for this process alone, whatever the session has cost before.

    Raises ``ValueError`` for a fork of nothing and an unknown word in ``tools``.
    """
    argv = [*request.command, *_ALWAYS, *_session(request), *_tools(request.tools)]
    if request.schema is not None:
        argv += ["--json-schema", json.dumps(request.schema, ensure_ascii=False)]
    if request.model:
        argv += ["--model", request.model]
    if request.max_budget_usd is not None:
        argv += ["--max-budget-usd", f"{max(request.max_budget_usd, 0.000001):.6f}"]
    if request.system_prompt:
        # In one word: a text may begin with a dash.
        argv += [f"--append-system-prompt={request.system_prompt}"]
    if request.permission_mode:
        argv += ["--permission-mode", request.permission_mode]
    if request.allow:
        # Takes any number of words, so it comes last.
        argv += ["--allowedTools", *request.allow]
    return argv


def _session(request: TurnRequest) -> list[str]:
    match request.session_mode:
        case "new":
            return ["--session-id", request.session_id]
        case "resume":
            return ["--resume", request.session_id]
        case "fork":
            if not request.fork_from:
                raise ValueError("a fork needs the session to fork from")
            forked = ["--resume", request.fork_from, "--fork-session"]
            return [*forked, "--session-id", request.session_id]


def _tools(tools: str | tuple[str, ...]) -> list[str]:
    """Which tools exist. Tools of MCP servers are no part of ``--tools``: where the list must
    hold, the servers a person has configured are left out."""
    match tools:
        case "all":
            return []
        case "none":
            names: tuple[str, ...] = ()
        case "read-only":
            names = READ_ONLY_TOOLS
        case str():
            raise ValueError(f"tools is {tools!r}, expected all, read-only, none or a list")
        case _:
            names = tools
    built_in = [name for name in names if not name.startswith("mcp__")]
    strict = ["--strict-mcp-config"] if len(built_in) == len(names) else []
    return ["--tools", ",".join(built_in), *strict]
