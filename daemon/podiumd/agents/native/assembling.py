"""Puts together what one native turn works with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Final, cast

import msgspec
import trio

from podiumd.agents.native.acting import Acting
from podiumd.agents.native.history import past_turns
from podiumd.agents.native.kind import NATIVE, NativeSettings
from podiumd.agents.native.model.base import Model, Tell
from podiumd.agents.native.model.opening import open_model
from podiumd.agents.native.request import Asking
from podiumd.agents.native.rules import Rules
from podiumd.agents.native.system_text import Offered, system_text
from podiumd.agents.native.transcript import SessionFile
from podiumd.agents.native.user_channel import UserChannel
from podiumd.agents.native.work import Work
from podiumd.core.decide.policy import Mode
from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.run import native_loop_facts as lf
from podiumd.drivers.base import TurnJournal, TurnRequest
from podiumd.tools.agent.registry import Toolbox, ToolContext
from podiumd.tools.agent.tool import Tool
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git import queries as git
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.git.queries import GitError
from podiumd.tools.sandbox.boundary import RECORD, Placeholders
from podiumd.tools.sandbox.sandbox import AS_ROOT, UNCONFINED, Probe, Sandbox

ORIGINALS: Final = "originals"
"""Copies of files from before and after the turn changed them: a directory in the turn's own."""

SCRATCH: Final = "scratch"


class Workshop(msgspec.Struct, frozen=True):
    """State that turns of the daemon share: settings in force, its environment, the sandbox.

    ``closed`` are the daemon's own files and directories, which no agent may touch; ``committing``
    is where turns of one repository wait for each other. ``agent`` is the name of their agent.
    """

    settings: NativeSettings
    environ: Mapping[str, str]
    closed: tuple[Path, ...]
    probe: Probe
    committing: LineUp
    placeholders: Placeholders
    agent: str = NATIVE.name


async def assemble(
    request: TurnRequest,
    journal: TurnJournal,
    people: UserChannel,
    session: SessionFile,
    shop: Workshop,
) -> Work:
    """Build the work of one turn, ready to go on from any state of the turn.

    Raises ``Refused`` where the working directory is none to work in.
    """
    settings = shop.settings
    # The runtime has checked the mode against those that the driver names.
    mode = cast("Mode", request.permission_mode or settings.mode)
    rules = Rules(mode, request.tools, request.allow)
    context = await trio.to_thread.run_sync(_context, request, shop, rules.commands_unasked)
    toolbox = Toolbox(context)
    commits = settings.commit and request.commits
    program, fault = await _sandbox(shop)
    past = past_turns(session.rows, request.turn_id)
    offered = [tool for tool in toolbox.tools.values() if rules.offers(tool.name, tool.risk)]
    changing = any(tool.risk != "read" for tool in offered)
    since = await _head(context) if commits and changing and request.foreign is not None else None
    system = system_text(
        directory=f"{context.workspace.root}",
        offered=_named(offered, request.served),
        mode=mode,
        sandboxed=program is not None,
        commits=commits,
        earlier=since is not None,
        extra=request.system_prompt or "",
    )
    return Work(
        request,
        journal,
        people,
        session,
        Acting(
            journal,
            people,
            toolbox,
            context.workspace,
            rules,
            warning="; ".join(_warnings(fault, first=not past)),
        ),
        Asking(
            context.workspace,
            request.prompt,
            past,
            system,
            blind="read_file" not in {tool.name for tool in offered},
            agent=shop.agent,
        ),
        toolbox,
        lf.LoopSettings(
            max_iterations=settings.max_iterations,
            tools=_known(toolbox, rules),
            served=tuple(tool.name for tool in request.served),
            commit=commits,
            budget_usd=request.max_budget_usd,
            since=since,
        ),
        _opening(shop, request.model),
    )


async def _sandbox(shop: Workshop) -> tuple[str | None, str]:
    """Find the sandbox's program, and why there is none where commands run without one then."""
    if shop.settings.sandbox == "off":
        return None, ""
    program, fault = await shop.probe.program()
    return program, fault if shop.settings.sandbox == "auto" and program is None else ""


def _opening(
    shop: Workshop, model: str | None
) -> Callable[[Tell], AbstractAsyncContextManager[Model]]:
    """Make what opens the model that the settings name, or ``model`` in its place."""
    return lambda tell: open_model(
        shop.settings, shop.environ, tell=tell, model=model, agent=shop.agent
    )


def _known(toolbox: Toolbox, rules: Rules) -> tuple[str, ...]:
    return tuple(tool.name for tool in toolbox.tools.values() if rules.knows(tool.name, tool.risk))


def _named(offered: Iterable[Tool], served: Iterable[ToolSpec]) -> list[Offered]:
    """Name the tools of the contract, which the model knows, and describe those of Podium's own."""
    own = (Offered(tool.name, tool.description, tool.schema) for tool in served)
    return [*(Offered(tool.name) for tool in offered), *own]


async def _head(context: ToolContext) -> str | None:
    """Return where HEAD is, empty for nowhere; ``None`` where git does not answer."""
    with suppress(GitError):
        return await git.head(context.workspace.root) or ""
    return None


def _warnings(fault: str, *, first: bool) -> list[str]:
    """Return the warnings before a turn's first command.

    ``first``: the turn is its session's first.
    """
    unconfined = [UNCONFINED.format(fault)] if fault else []
    return [*unconfined, *([AS_ROOT] if first and os.geteuid() == 0 else [])]


def _context(request: TurnRequest, shop: Workshop, unasked: bool) -> ToolContext:
    """Build the context of the tools. Blocks on files. Raises ``Refused``."""
    settings, directory = shop.settings, Path(request.directory)
    scratch = directory / SCRATCH
    scratch.mkdir(mode=0o700, exist_ok=True)
    return ToolContext(
        workspace=Workspace(request.working_directory, closed=shop.closed),
        originals=Originals(directory / ORIGINALS),
        sandbox=Sandbox(
            settings.sandbox,
            home=Path(shop.environ.get("HOME") or "/"),
            closed=shop.closed,
            environ=request.environment,
            probe=shop.probe,
            record=directory / RECORD,
            placeholders=shop.placeholders,
        ),
        environment=request.environment,
        turn_id=request.turn_id,
        scratch=scratch,
        test_command=settings.test_command,
        hidden_names=(settings.api_key_env,) if settings.api_key_env else (),
        inherited=request.inherited,
        unasked=unasked,
        committing=shop.committing,
    )
