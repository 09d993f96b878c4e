"""Puts together what one native turn works with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import msgspec
import trio

from podiumd.agents.native.acting import Acting
from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model.opening import open_model
from podiumd.agents.native.request import Asking
from podiumd.agents.native.rules import Rules
from podiumd.agents.native.session_rows import past_turns
from podiumd.agents.native.system_text import Offered, system_text
from podiumd.agents.native.transcript import SessionFile
from podiumd.agents.native.user_channel import UserChannel
from podiumd.agents.native.work import Work
from podiumd.core.decide.policy import Mode
from podiumd.core.prompts.tools import ToolSpec
from podiumd.core.run import native_loop_facts as lf
from podiumd.drivers.base import TurnJournal, TurnRequest
from podiumd.tools.agent.registry import Tool, Toolbox, ToolContext
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git import queries as git
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.git.queries import GitError
from podiumd.tools.sandbox.boundary import RECORD, Placeholders
from podiumd.tools.sandbox.sandbox import AS_ROOT, UNCONFINED, Policy, Probe, Sandbox

ORIGINALS: Final = "originals"
"""Copies of files from before and after the turn changed them: a directory in the turn's own."""

SCRATCH: Final = "scratch"


class Workshop(msgspec.Struct, frozen=True, kw_only=True):
    """State that all turns of one native agent share.

    ``settings`` returns those in force; ``environ`` is the daemon's own environment, which has the
    model's key; ``state`` its STATE directory. ``closed`` are further files and directories of the
    daemon's own, which no agent may touch. ``committing`` is where turns of one repository wait for
    each other.
    """

    agent: str
    settings: Callable[[], NativeSettings]
    environ: Mapping[str, str]
    state: Path
    closed: tuple[Path, ...] = ()
    probe: Probe = msgspec.field(default_factory=Probe)
    committing: LineUp = msgspec.field(default_factory=LineUp)
    placeholders: Placeholders = msgspec.field(default_factory=Placeholders)


async def assemble(
    request: TurnRequest,
    journal: TurnJournal,
    channel: UserChannel,
    session: SessionFile,
    shop: Workshop,
) -> Work:
    """Build the work of one turn, ready to go on from any state of the turn.

    Raises ``Refused`` where the working directory is none to work in.
    """
    settings = shop.settings()
    # The runtime has checked the mode against those that the driver names.
    mode = cast("Mode", request.permission_mode or settings.mode)
    rules = Rules(mode, request.tools, request.allow)
    context = await trio.to_thread.run_sync(
        _context, request, shop, settings, rules.commands_unasked
    )
    toolbox = Toolbox(context)
    commits = settings.commit and request.commits
    program, fault = await _sandbox(shop.probe, settings.sandbox)
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
        channel,
        session,
        Acting(
            journal,
            channel,
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
        _loop_settings(request, settings, _known(toolbox, rules), since),
        lambda tell: open_model(
            settings, shop.environ, tell=tell, model=request.model, agent=shop.agent
        ),
    )


async def _sandbox(probe: Probe, policy: Policy) -> tuple[str | None, str]:
    """Find the sandbox's program, and why there is none where commands run without one then."""
    if policy == "off":
        return None, ""
    program, fault = await probe.program()
    return program, fault if policy == "auto" and program is None else ""


def _loop_settings(
    request: TurnRequest, settings: NativeSettings, known: tuple[str, ...], since: str | None
) -> lf.LoopSettings:
    return lf.LoopSettings(
        max_iterations=settings.max_iterations,
        tools=known,
        served=tuple(tool.name for tool in request.served),
        commit=settings.commit and request.commits,
        budget_usd=request.max_budget_usd,
        since=since,
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


def _context(
    request: TurnRequest, shop: Workshop, settings: NativeSettings, unasked: bool
) -> ToolContext:
    """Build the context of the tools. Blocks on files. Raises ``Refused``."""
    directory, closed = Path(request.directory), (shop.state, *shop.closed)
    scratch = directory / SCRATCH
    scratch.mkdir(mode=0o700, exist_ok=True)
    return ToolContext(
        workspace=Workspace(request.working_directory, closed=closed),
        originals=Originals(directory / ORIGINALS),
        sandbox=Sandbox(
            settings.sandbox,
            home=Path(shop.environ.get("HOME") or "/"),
            closed=closed,
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
