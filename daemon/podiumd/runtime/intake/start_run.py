"""The start of a recipe: every objection is raised before anything happens."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

import trio

from podiumd.agents.kinds import known_agents as agents_by_name
from podiumd.core.analysis.agent_choice import refuse_choice
from podiumd.core.analysis.check_agents import check_agents
from podiumd.core.findings import TooManyFindings
from podiumd.core.recipe.model import Recipe
from podiumd.core.recipe.naming import task_of
from podiumd.core.recipe.params import ParamError, bind_params
from podiumd.core.recipe.parts import PROMPTING, agents_of, doubled, doubt, given_out
from podiumd.core.run import commands as c
from podiumd.core.run.fact import RunScript
from podiumd.core.run.facts import Worktree
from podiumd.runtime.agent_capabilities import ANEW, known_agents, not_found
from podiumd.runtime.api import StartRun
from podiumd.runtime.context import Agent, Context
from podiumd.runtime.errors import (
    AgentUnavailable,
    InvalidParameter,
    RecipeRefused,
    Refused,
    unknown_agent,
)
from podiumd.runtime.locks.holder import busy
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.recipes.catalogue import Catalogue, Entry
from podiumd.runtime.recipes.resolve import (
    brought_script,
    refused,
    runnable,
    trusted_entry,
    workplace,
)
from podiumd.runtime.sessions.resolve import Sessions
from podiumd.runtime.worktrees.listing import short_name
from podiumd.tools.git import queries as git

NO_REPOSITORY = "no-repository"
UNUSUAL_PLACE = "unusual-place"


def check_place(
    recipe: Recipe, where: str, top: str | None, *, anyway: bool, home: str | None = None
) -> None:
    """Refuse a recipe that commits where it cannot, or where it is rarely meant to.

    ``top`` is the working tree that ``where`` lies in. Where it is the whole home or the whole
    disk, the person must confirm it (``anyway``).

    Raises:
        Refused: ``data.what`` names which of the two.
    """
    if not recipe.commits:
        return
    odd = ("/", os.path.realpath(home or Path.home()))
    if top is None:
        # A repository of the whole home or disk would be the next refusal.
        begin = "" if os.path.realpath(where) in odd else "Run 'git init' there, or start"
        raise Refused(
            f"'{where}' is no git repository, and recipe '{recipe.id}' commits.",
            what=NO_REPOSITORY,
            fix=f"{begin or 'Start'} it in a repository (--cwd DIR).",
        )
    place = "the root of the file system" if top == "/" else "your whole home"
    if top in odd and not anyway:
        raise Refused(
            f"'{top}' is {place}, and recipe '{recipe.id}' works in all of it and commits.",
            what=UNUSUAL_PLACE,
            fix="Start it in a project (--cwd DIR), or with --anyway if you mean that.",
        )


class Starter:
    """Prepares the start of a recipe and takes what the run will hold."""

    def __init__(
        self,
        context: Context,
        session_locks: SessionLocks,
        catalogue: Catalogue,
        sessions: Sessions,
        default_agent: str,
    ) -> None:
        self._context = context
        self._session_locks = session_locks
        self._catalogue = catalogue
        self._sessions = sessions
        self._default_agent = default_agent

    async def prepare(self, request: StartRun) -> c.Start:
        """Build the command that starts the run; its session and tree are held from here on.

        Raises:
            PodiumError: why it cannot start; nothing is held then.
        """
        where = workplace(request.working_directory)
        entry = await trusted_entry(self._context.store, self._catalogue, request.recipe, where)
        assert entry.recipe is not None
        recipe = await runnable(self._context.store, self._catalogue, entry, where)
        try:
            # A gateway that names the new session is a chat: its person can say it there.
            new = request.session_id is None and request.new_session_id is None
            params = bind_params(recipe, request.params, new_session=new)
        except ParamError as error:
            wrong = InvalidParameter("params", str(error))
            if error.missing:
                wrong.data.missing = error.param
                wrong.data.fix = f"Give it with -p {error.param}=..."
            raise wrong from error
        script = await brought_script(request.script, request.agent, self._context.agents)
        own = request.agent or self._default_agent
        agents = agents_of(recipe, params, own)
        written, recipe = recipe, given_out(recipe, agents, own, self._default_agent)
        params |= agents
        await self._require_agents(recipe, own, request.agent, script)
        await self._check_agents(entry, recipe, written, own)
        session_id = request.session_id or request.new_session_id or str(uuid.uuid4())
        await self._require_session(request.session_id, recipe, own)
        run_id = str(uuid.uuid4())
        top = await _checkout(where)
        check_place(recipe, where, top, anyway=request.anyway or request.worktree)
        about = task_of(recipe.params, params) or entry.id
        worktree = await self._worktree(run_id, where, top, about) if request.worktree else None
        own_id = await self._sessions.own_id(session_id)
        self._hold(run_id, session_id, own_id, top or where, worktree)
        return c.Start(
            at=self._context.clock.now(),
            mono=self._context.clock.mono(),
            run_id=run_id,
            kind="recipe",
            session_id=session_id,
            working_directory=worktree.directory if worktree is not None else where,
            agent=own,
            recipe=recipe,
            source=entry.source,
            agent_given=request.agent,
            doubts=tuple(doubt(*one) for one in doubled(agents).items()),
            model=request.model,
            params=params,
            limits=recipe.limits,
            on_question=request.on_question,
            worktree=worktree,
            script=script,
        )

    async def _require_session(self, session_id: str | None, recipe: Recipe, own: str) -> None:
        """Refuse a session that is not known, or that its agent in the run cannot go on with."""
        if session_id is None:
            return
        known = await self._sessions.find(session_id)
        remedy = f"choose --agent {known.agent}"
        for step in recipe.steps.values():
            if step.kind in PROMPTING and step.session != "fresh":
                await require_same_kind(
                    self._context, self._sessions, step.agent or own, known.session_id, remedy
                )

    async def _require_agents(
        self, recipe: Recipe, own: str, given: str | None, script: RunScript | None
    ) -> None:
        """Refuse agents that cannot be used."""
        turns = [step for step in recipe.steps.values() if step.kind in PROMPTING]
        named = {step.agent or own for step in turns} | ({given} if given is not None else set())
        for name in sorted(named):
            agent = await require_agent(self._context, name)
            if script is None or not agent.plays_scripts:
                require_lines(name, agent, recipe)

    async def _check_agents(self, entry: Entry, recipe: Recipe, written: Recipe, own: str) -> None:
        """Refuse agents that cannot do what the recipe demands; ``written`` names parameters."""
        notes, known = entry.notes(), await known_agents(self._context, own)
        with suppress(TooManyFindings):
            check_agents(recipe, notes, known)
        if not any(finding.level == "error" for finding in notes.findings):
            return
        if entry.source == "builtin":
            usable = [
                name
                for name, agent in self._context.agents.items()
                if name not in known.absent and not agent.plays_scripts
            ]
            words = refuse_choice(recipe, written, known, usable)
            if words is not None:
                raise RecipeRefused(words, ())
        raise refused(entry, notes.sorted())

    async def _worktree(self, run_id: str, where: str, top: str | None, about: str) -> Worktree:
        """Plan a worktree, named after the run's subject, or its whole id if the name is taken."""
        if top is None:
            raise InvalidParameter("worktree", f"'{where}' is not in a git repository.")
        name = short_name(about, run_id)
        places = self._context.state / "worktrees"
        try:
            taken = await git.branch_exists(top, f"podium/{name}")
        except git.GitError as error:
            raise InvalidParameter("worktree", str(error)) from error
        if taken or await trio.to_thread.run_sync(os.path.lexists, places / name):
            name = run_id
        return Worktree(repository=top, directory=str(places / name), branch=f"podium/{name}")

    def _hold(
        self, run_id: str, session_id: str, own_id: str, tree: str, worktree: Worktree | None
    ) -> None:
        tree = worktree.directory if worktree is not None else tree
        holder = self._session_locks.acquire_tree(tree, run_id)
        if holder is not None:
            raise busy(holder, working_directory=tree)
        try:
            locks = self._session_locks
            hold_session(self._context, locks, run_id, session_id, "recipe", own_id)
        except BaseException:
            self._session_locks.release(run_id)
            raise


async def _checkout(where: str) -> str | None:
    """Find the top of the working tree around a directory; ``None`` outside git."""
    try:
        return await git.top_level(where)
    except git.GitError as error:
        raise InvalidParameter("working_directory", str(error)) from error


def require_lines(name: str, agent: Agent, recipe: Recipe) -> None:
    """Refuse an agent that would play another recipe's lines.

    Raises:
        AgentUnavailable: what to give it.
    """
    if agent.only_recipe is not None and recipe.id != agent.only_recipe:
        fix = "Write its turns into a file and name that: --script FILE."
        reason = f"the {name} agent has no script for '{recipe.id}': its built-in one is a demo."
        raise AgentUnavailable(name, reason, fix)


async def require_agent(context: Context, name: str) -> Agent:
    """Return an agent that can be run.

    Raises:
        AgentUnavailable: unknown, or its program is missing.
    """
    agent = context.agents.get(name)
    if agent is None and name in agents_by_name():
        raise AgentUnavailable(name, not_found(name), ANEW)
    if agent is None:
        raise unknown_agent(name, sorted(context.agents))
    reason = await agent.driver.available(agent.command, agent.environment(""))
    if reason is not None:
        raise AgentUnavailable(name, reason, agent.fix)
    return agent


async def require_same_kind(
    context: Context, sessions: Sessions, agent: str, session_id: str, remedy: str
) -> None:
    """Refuse a session that another kind of agent has kept: this one knows nothing of it.

    Raises ``InvalidParameter``.
    """
    ours = context.agents.get(agent)
    keepers = await sessions.keepers(session_id)
    theirs = [one for name in keepers if (one := context.agents.get(name)) is not None]
    players = any(one.plays_scripts for one in theirs)
    if ours is None or ours.plays_scripts or players or not theirs:
        return
    if ours.driver.name not in {one.driver.name for one in theirs}:
        raise InvalidParameter(
            "agent",
            f"Session {session_id} is a conversation with {' and '.join(keepers)}, of which "
            f"{agent} knows nothing: {remedy}, or begin a new session.",
        )


def hold_session(
    context: Context,
    session_locks: SessionLocks,
    run_id: str,
    session_id: str,
    kind: str,
    own_id: str,
) -> None:
    """Take a session for a run that is about to start. ``own_id``: its agent's own id of it.

    Raises:
        Busy: another holder has it, a terminal included.
    """
    # The lease first: another daemon's agent has a record as a foreign program has one.
    taken = session_locks.acquire_session(session_id, run_id, kind, own_id)
    if taken is not None:
        raise busy(taken, session_id=session_id)
    for agent in context.agents.values():
        holder = agent.open_elsewhere(session_id, own_id)
        if holder is not None:
            raise busy(holder, session_id=session_id)
