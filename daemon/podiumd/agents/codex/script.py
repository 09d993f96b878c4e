"""The words of a turn to Codex, and what it may do: stored before its process begins.

A daemon that takes the turn up has nothing but the turn's directory: the prompt, which may not have
been written yet, stands here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from podiumd.agents.codex import leave
from podiumd.core.recipe.served_tools import SERVER
from podiumd.drivers.base import TurnRequest
from podiumd.formats.codex import calls
from podiumd.formats.json_fields import whole_text
from podiumd.tools.files.private_file import write_private

FILE: Final = "codex.json"


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one turn, ready to be written but for the thread's id.

    ``resumes``: it goes on with a thread. ``since`` is how long its session file was before the
    turn, in bytes. ``structured``: the last message is to be JSON. ``served`` are the tools that
    Podium serves in it. ``opens_only``: there is no prompt.
    """

    opening: str
    prompt: str
    uuid: str
    settings: dict[str, Any]
    tools: str = "all"
    allow: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    structured: bool = False
    resumes: bool = False
    since: int = 0
    opens_only: bool = False
    images: tuple[str, ...] = ()

    def prompt_line(self, thread_id: str) -> bytes:
        """Build the request for the turn."""
        return calls.start_turn(thread_id, self.uuid, self.prompt, self.images, self.settings)


def make_script(
    request: TurnRequest, *, effort: str = "", roots: tuple[str, ...] = (), since: int = 0
) -> Script:
    """Build the words of a turn. ``roots``: what may be written beside the working directory."""
    tools = request.tools if request.tools == "all" else leave.READ_ONLY
    settings: dict[str, Any] = {
        "cwd": request.working_directory,
        "approvalPolicy": leave.approval_policy(tools, request.allow),
        "approvalsReviewer": "user",
        "sandboxPolicy": leave.sandbox(tools, roots),
    }
    if request.model:
        settings["model"] = request.model
    if effort:
        settings["effort"] = effort
    if request.schema is not None:
        settings["outputSchema"] = strict(request.schema)
    return Script(
        opening=_opening(request).decode(),
        prompt=whole_text(request.prompt),
        uuid=request.prompt_uuid,
        settings=settings,
        tools=tools,
        allow=request.allow,
        served=tuple(spec.name for spec in request.served),
        structured=request.schema is not None,
        resumes=request.session_mode == "resume",
        since=since,
        opens_only=request.opens_only,
        images=tuple(one.path for one in request.images),
    )


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as the model's strict mode takes it, which knows no optional members.

    What may be left out is there, and may be null.
    """
    made = dict(schema)
    if "properties" in made:
        wanted = made.get("required", ())
        made["properties"] = {
            name: strict(one) if name in wanted else _nullable(strict(one))
            for name, one in made["properties"].items()
        }
        made |= {"required": [*made["properties"]], "additionalProperties": False}
    if isinstance(made.get("items"), dict):
        made["items"] = strict(made["items"])
    return made


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _opening(request: TurnRequest) -> bytes:
    params: dict[str, Any] = {"cwd": request.working_directory}
    if request.model:
        params["model"] = request.model
    if request.system_prompt:
        params["developerInstructions"] = request.system_prompt
    if request.tools_server is not None:
        program, *arguments = request.tools_server.command
        server = {"command": program, "args": arguments, "env": request.tools_server.environment}
        params["config"] = {f"mcp_servers.{SERVER}": server}
    match request.session_mode:
        case "new":
            return calls.start_thread(params)
        case "resume":
            # A queued message may begin a turn before ours: it has no leave but to ask.
            params |= {"approvalPolicy": "untrusted", "approvalsReviewer": "user"}
            return calls.resume_thread(request.agent_session_id or "", params)
        case "fork":
            return calls.fork_thread(request.agent_session_id or "", params)


def require_kept(request: TurnRequest) -> None:
    """Refuse what Codex cannot keep: a list of tools, a thread that it has not named, an image that
    is gone, of which it would tell the model alone.

    Raises ``ValueError``, ``OSError``.
    """
    for image in request.images:
        Path(image.path).stat()
    if request.tools not in ("all", leave.READ_ONLY):
        raise ValueError("Codex cannot be limited to some tools: tools is 'all' or 'read-only'")
    if request.session_mode != "new" and request.agent_session_id is None:
        raise ValueError("the session that is to be gone on with has no thread of Codex")


def store(script: Script, directory: str) -> None:
    """Write it into the turn's directory. Raises ``OSError``."""
    write_private(Path(directory, FILE), msgspec.json.encode(script).decode())


def stored(directory: str) -> Script | None:
    """Read it back; ``None`` where there is none, or half of one."""
    try:
        return msgspec.json.decode(Path(directory, FILE).read_bytes(), type=Script)
    except (OSError, ValueError):
        return None
