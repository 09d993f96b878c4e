"""The request of a driver to run a turn: from the intention, and from what is there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from podiumd.core.prompts import prompts, tools
from podiumd.core.recipe import served_tools as recipe_tools
from podiumd.core.reply.outcome import recipe_schema
from podiumd.core.run.facts import TurnIntended
from podiumd.core.run.state import ActiveTurn, RunState
from podiumd.drivers import base
from podiumd.runtime.context import Agent
from podiumd.runtime.locks.lockfile import make_private
from podiumd.runtime.run import hook_runner
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.kept_images import kept_images
from podiumd.runtime.run.turn_journal import RunTurnJournal
from podiumd.tools.failpoints import failpoint


def _make_directory(directory: Path, *, begun: bool) -> None:
    """Make the directory of a turn, empty unless the turn has ``begun`` in an earlier life."""
    if directory.exists() and not begun:  # an earlier try that left nothing with the agent
        shutil.rmtree(directory)
    make_private(directory.parent)
    directory.mkdir(mode=0o700, exist_ok=begun)


def turn_request(actor: RunActor, agent: Agent, active: ActiveTurn) -> base.TurnRequest:
    """Build all that the driver needs for the turn that is active; its directory is made.

    Raises ``OSError`` where the disk is too full for that.
    """
    intent, state = active.intent, actor.state
    directory = actor.context.turn_directory(intent.turn_id)
    _make_directory(directory, begun=active.loop.settings is not None)
    environment = agent.environment(intent.turn_id)
    where, script = state.start.working_directory, state.start.script
    mode = _session_mode(state, intent, agent, environment)
    served = served_tools(state, intent)
    server = None
    access, reached = actor.context.tool_access, agent.driver.capabilities.own_tools
    if served and reached == "mcp":
        server = access.server(access.issue(directory))
    elif served and reached == "none":
        environment = {**environment, **access.environment(access.issue(directory))}
    lease_fd = _lease_fd(actor, agent, intent)
    tree = actor.session_locks.tree(actor.run_id)
    failpoint("turn.lease-taken")
    return base.TurnRequest(
        turn_id=intent.turn_id,
        run_id=actor.run_id,
        session_id=intent.session_id,
        session_mode=mode,
        fork_from=intent.fork_from if mode == "fork" else None,
        agent_session_id=intent.agent_session_id if mode != "new" else None,
        working_directory=where,
        prompt=_prompt(state, intent, agent),
        prompt_uuid=intent.prompt_uuid,
        command=agent.command,
        environment=environment,
        directory=str(directory),
        first=state.turns == 1,
        lease_fd=lease_fd,
        tree_fd=tree.fd if tree is not None and tree.held else None,
        schema=_schema(state),
        tools=intent.tools,
        allow=tuple(dict.fromkeys([*intent.allow, *sorted(state.always)])),
        permission_mode=intent.permission_mode or agent.permission_mode,
        model=intent.model or agent.model,
        max_budget_usd=intent.budget_usd,
        system_prompt=_system_text(state, intent, agent),
        idle_timeout_seconds=agent.idle_timeout_seconds,
        journal=RunTurnJournal(actor, intent.turn_id),
        commits=state.recipe is None or _is_to_commit(state),
        writes_git=_is_to_commit(state),
        foreign=_foreign(state),
        served=served,
        changing=state.recipe is not None and recipe_tools.changes(state.recipe),
        tools_server=server,
        hooks=hook_runner.points(state, intent),
        goes_on=intent.purpose in ("interrupted", "go-on"),
        script=None if script is None else {"turns": script.turns},
        script_file="" if script is None else script.file,
        images=_images(actor, intent),
    )


def _is_to_commit(state: RunState) -> bool:
    return state.current is not None and state.current.commits


def _session_mode(
    state: RunState, intent: TurnIntended, agent: Agent, environment: dict[str, str]
) -> Literal["new", "resume", "fork"]:
    """Find out whether the agent has the session already, or has one to copy it from.

    One that names its sessions has those that it has named.
    """
    if agent.driver.capabilities.names_sessions:
        if intent.agent_session_id is None:
            return "new"
        own = state.agent_sessions.get(intent.session_id)
        copied = intent.fork_from is not None and intent.agent_session_id != own
        return "fork" if copied else "resume"

    def has(session_id: str) -> bool:
        where = state.start.working_directory
        return agent.driver.transcript(session_id, where, environment) is not None

    if has(intent.session_id):
        return "resume"
    return "fork" if intent.fork_from is not None and has(intent.fork_from) else "new"


def _lease_fd(actor: RunActor, agent: Agent, intent: TurnIntended) -> int | None:
    """Return the session's lock, for an agent that is to hold it while no daemon lives."""
    lease = actor.session_locks.lease(intent.session_id)
    if lease is None or not agent.driver.capabilities.survives_daemon:
        return None
    lease.update(turn_id=intent.turn_id)
    return lease.fd


def served_tools(state: RunState, intent: TurnIntended) -> tuple[tools.ToolSpec, ...]:
    """List the tools that Podium serves in a turn, as its agent is offered them."""
    if not intent.served:
        return ()
    return tuple(spec for spec in tools.specs(state) if spec.name in intent.served)


def _foreign(state: RunState) -> tuple[str, ...] | None:
    """List what was uncommitted or ignored when the run of a recipe began.

    ``None`` where that is not known.
    """
    base = state.base
    if state.recipe is None or base is None or base.problem or base.more or not base.repository:
        return None
    return None if base.ignored is None else (*base.uncommitted, *base.ignored)


def _schema(state: RunState) -> dict[str, object] | None:
    """Build the schema of the turn's last message; a conversation's may be anything."""
    if state.recipe is None or (state.current is not None and state.current.kind == "talk"):
        return None
    return recipe_schema(state.recipe.union_outcomes())


def _system_text(state: RunState, intent: TurnIntended, agent: Agent) -> str | None:
    """Return the text to add to the agent's own system text, where each turn can have another."""
    if intent.system is not None and not agent.driver.capabilities.system_text:
        return state.start.system_prompt
    return intent.system or state.start.system_prompt


def _images(actor: RunActor, intent: TurnIntended) -> tuple[base.Image, ...]:
    """List the images of the person's words, for each turn that says these."""
    start = actor.state.start
    says_it = intent.purpose == "prompt" or prompts.ORIGINAL in intent.prompt
    return kept_images(actor.context.state, actor.run_id, start.images) if says_it else ()


def _prompt(state: RunState, intent: TurnIntended, agent: Agent) -> str:
    """Build the prompt.

    For an agent that cannot change its system text, that of the phase stands before the first
    message that the phase has in its record.
    """
    if intent.system is None or agent.driver.capabilities.system_text:
        return intent.prompt
    first = state.sends == 1 or intent.anew or prompts.ORIGINAL in intent.prompt
    return f"{intent.system}\n\n{intent.prompt}" if first else intent.prompt
