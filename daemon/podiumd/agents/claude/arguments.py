"""The command line of one turn of Claude Code. Pure. Measured with ``claude`` 2.1.328."""

from __future__ import annotations

import json
from typing import Final

from podiumd.agents.claude.inputs import servers_file, system_file
from podiumd.core.recipe.served_tools import SERVED_PREFIX, SERVER
from podiumd.drivers.base import TurnRequest

READ_ONLY_TOOLS: Final = ("Read", "Grep", "Glob", "WebFetch", "WebSearch")
"""Those of the CLI's tools that can change no file. Bash is not among them."""

SERVERS: Final = json.dumps({"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}})
"""The tool server that the daemon is itself, reached over the control protocol. It goes before a
person's own server of that name."""

ENVIRONMENT: Final = {
    # Says when the agent is idle, which is how the end of a turn is known.
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    # The agent's version is the person's to choose, not to change in the middle of a run.
    "DISABLE_AUTOUPDATER": "1",
}

_SERVED_ENVIRONMENT: Final = {
    # How long, in milliseconds, the agent waits for the greeting of the daemon's tool server,
    # which may have to start again first. After 30 s it would begin without Podium's tools. For a
    # person's own servers it waits 2 s, whatever stands here.
    "MCP_TIMEOUT": "86400000",
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


def claude_environment(request: TurnRequest) -> dict[str, str]:
    """Return the agent's whole environment."""
    served = _SERVED_ENVIRONMENT if request.served else {}
    return {**request.environment, **ENVIRONMENT, **served}


def claude_arguments(request: TurnRequest) -> list[str]:
    """Build the argument list. The prompt is not in it, it comes over stdin; longer and private
    texts are in files (``inputs``).

    ``request.max_budget_usd`` is for this process alone, regardless of the session's cost before.

    Raises ``ValueError`` for a fork of nothing and an unknown word in ``tools``.
    """
    argv = [*request.command, *_ALWAYS, *_session(request), *_tools(request)]
    if request.tools_server is not None:
        argv += ["--mcp-config", str(servers_file(request))]
    elif request.served:
        argv += ["--mcp-config", SERVERS]
    if request.schema is not None:
        argv += ["--json-schema", json.dumps(request.schema, ensure_ascii=False)]
    if request.model:
        argv += ["--model", request.model]
    if request.max_budget_usd is not None:
        argv += ["--max-budget-usd", f"{max(request.max_budget_usd, 0.000001):.6f}"]
    if request.system_prompt or request.changing:
        # A session otherwise goes on with the system text and the tools of its first turn, which
        # is cheaper for the model, and the better where they are the same.
        argv += ["--system-prompt-snapshot", "off"]
    if request.system_prompt:
        argv += ["--append-system-prompt-file", str(system_file(request))]
    if request.permission_mode:
        argv += ["--permission-mode", request.permission_mode]
    allow = (*request.allow, *(SERVED_PREFIX + spec.name for spec in request.served))
    if allow:
        # Takes any number of words, so it comes last.
        argv += ["--allowedTools", *dict.fromkeys(allow)]
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


def _tools(request: TurnRequest) -> list[str]:
    """Build the options for the tools that exist.

    Tools of MCP servers are no part of ``--tools``: where the list must hold, the servers a person
    has configured are left out.
    """
    match request.tools:
        case "all":
            return []
        case "none":
            names: tuple[str, ...] = ()
        case "read-only":
            names = READ_ONLY_TOOLS
        case str() as word:
            raise ValueError(f"tools is {word!r}, expected all, read-only, none or a list")
        case _:
            names = request.tools
    # Podium's own come with its server, where the turn is served them.
    served = {spec.name for spec in request.served}
    names = tuple(n for n in names if not n.startswith(SERVED_PREFIX) and n not in served)
    built_in = [name for name in names if not name.startswith("mcp__")]
    strict = ["--strict-mcp-config"] if len(built_in) == len(names) else []
    return ["--tools", ",".join(built_in), *strict]
