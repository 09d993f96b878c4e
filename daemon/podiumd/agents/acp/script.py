"""The words of a turn to an agent, and what it may do: stored before its process begins.

A daemon that takes the turn up has nothing but the turn's directory: the prompt, which may not have
been written yet, stands here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from podiumd.agents.acp.kind import AcpSettings
from podiumd.core.recipe.served_tools import SERVER
from podiumd.drivers.base import Image, TurnRequest
from podiumd.drivers.images import inline
from podiumd.formats.acp import calls
from podiumd.formats.json_fields import whole_text
from podiumd.tools.files.private_file import write_private

FILE: Final = "acp.json"
_ANY_SESSION: Final = "0" * 64
YOU_ANSWERED: Final = "You have worked on this already, and answered last:"
LONGEST_BYTES: Final = (1 << 20) - 16_384
"""How long the line of a prompt may be: it goes into the agent's pipe in one piece."""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one turn, ready to be written but for the session's id.

    ``session`` is the agent's own id of the one that is gone on with, ``how`` the request for that.
    ``mode`` is to be set, and confirmed, before the prompt, and so are ``options``. ``served`` are
    the tools that Podium serves in the turn. ``asked`` is the prompt without its system text.
    ``opens_only``: there is no prompt.
    """

    agent: str
    how: Literal["new", "resume", "load", "fork"]
    session: str
    cwd: str
    servers: tuple[dict[str, Any], ...]
    prompt: str
    uuid: str
    asked: str = ""
    mode: str = ""
    mode_confirm: Literal["read", "answer"] = "read"
    options: dict[str, str] = {}
    model: str = ""
    model_option: str = ""
    tools: str = "all"
    allow: tuple[str, ...] = ()
    served: tuple[str, ...] = ()
    quirks: tuple[str, ...] = ()
    login: str = ""
    opens_only: bool = False
    images: tuple[tuple[str, str], ...] = ()


class Before(msgspec.Struct, frozen=True):
    """The last prompt of a session, and the agent's last words."""

    asked: str
    said: str


def check(
    request: TurnRequest, settings: AcpSettings, agent: str, before: Before | None = None
) -> None:
    """Refuse a turn that the agent cannot run as it is asked for. Raises ``ValueError``, and
    ``OSError`` where an image cannot be read.

    ``before`` is what a new session is told where the agent goes on with none.
    """
    size = len(calls.prompt(_ANY_SESSION, _words(request, before), inline(request.images)))
    if size > LONGEST_BYTES:
        raise ValueError(
            f"the prompt takes {size} bytes in one line, at most {LONGEST_BYTES} go to an agent at "
            "once: attach it as a file"
        )
    if request.session_mode != "new" and not request.agent_session_id:
        raise ValueError(f"the session that is to be gone on with is none of {agent}'s")
    if request.session_mode == "fork" and not settings.fork:
        raise ValueError(f"{agent} cannot copy a session")
    if request.session_mode == "resume" and settings.resume == "no" and before is None:
        raise ValueError(f"{agent} does not go on with sessions")
    if request.tools == "read-only" and not settings.read_only_mode:
        raise ValueError(f"{agent} has no mode in which it only reads")
    if not request.opens_only and not _mode(request, settings):
        raise ValueError(
            f"nothing tells in which mode {agent} asks: set ask_mode, or auto_mode where it may do "
            "all unasked"
        )
    if request.tools not in ("all", "read-only"):
        raise ValueError(f"{agent} cannot be limited to some tools")


def make_script(
    request: TurnRequest, settings: AcpSettings, agent: str, before: Before | None = None
) -> Script:
    """Build the words of a turn; for ``before`` see ``check``."""
    server = request.tools_server
    servers = () if server is None else (calls.server(SERVER, server.command, server.environment),)
    read_only = request.tools == "read-only"
    mode = _mode(request, settings)
    return Script(
        agent=agent,
        how=_how(request, settings) if before is None else "new",
        session=request.agent_session_id or "",
        cwd=request.working_directory,
        servers=servers,
        prompt=_words(request, before),
        uuid=request.prompt_uuid,
        asked=str(whole_text(request.prompt)),
        mode=mode,
        mode_confirm=settings.mode_confirm,
        options={} if mode == settings.auto_mode else settings.ask_options,
        model=request.model or "",
        model_option=settings.model_option,
        tools="read-only" if read_only else "all",
        allow=request.allow,
        served=tuple(spec.name for spec in request.served) if servers else (),
        quirks=settings.quirks,
        login=settings.login,
        opens_only=request.opens_only,
        images=_readable(request.images),
    )


def _readable(images: tuple[Image, ...]) -> tuple[tuple[str, str], ...]:
    """Read the images; where that fails ``check`` says so before the agent is begun."""
    try:
        return inline(images)
    except OSError:
        return ()


def _mode(request: TurnRequest, settings: AcpSettings) -> str:
    """Return the mode of a turn, empty where none is known."""
    if request.tools == "read-only":
        return settings.read_only_mode
    return request.permission_mode or settings.ask_mode or settings.auto_mode


def _how(request: TurnRequest, settings: AcpSettings) -> Literal["new", "resume", "load", "fork"]:
    if request.session_mode == "resume" and settings.resume == "load":
        return "load"
    return request.session_mode


def _words(request: TurnRequest, before: Before | None) -> str:
    """Return the prompt; in a new session what belongs to the system text stands before it, and
    where that takes the place of another what was said there."""
    text = str(whole_text(request.prompt))
    if before is not None:
        text = f"{before.asked}\n\n{YOU_ANSWERED}\n\n{before.said}\n\n{text}"
    if request.system_prompt and (request.session_mode == "new" or before is not None):
        return f"{whole_text(request.system_prompt)}\n\n{text}"
    return text


def store(script: Script, directory: str) -> None:
    """Write it into the turn's directory. Raises ``OSError``."""
    write_private(Path(directory, FILE), msgspec.json.encode(script).decode())


def stored(directory: str) -> Script | None:
    """Read it back; ``None`` where there is none, or half of one."""
    try:
        return msgspec.json.decode(Path(directory, FILE).read_bytes(), type=Script)
    except (OSError, ValueError):
        return None
