"""The state of the world just before a run goes on: the observations of ``Proceed``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import trio
from msgspec.structs import asdict

from podiumd.core.decide.workflow import decide
from podiumd.core.run import commands as c
from podiumd.core.run import progress
from podiumd.core.run.facts import RunStarted, TreeLook, TreeMark
from podiumd.core.run.state import RunState
from podiumd.formats.claude_transcript import foreign_user_rows
from podiumd.runtime.context import Agent
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.locks.lockfile import LeaseError
from podiumd.runtime.recipes.catalogue import shown
from podiumd.runtime.run import snapshots
from podiumd.runtime.run.actor import NextStep, RunActor, folded
from podiumd.runtime.worktrees.tree import look_in_time, tree_look
from podiumd.tools.files.disk import is_full
from podiumd.tools.files.plain_file import open_plain
from podiumd.tools.git import queries as git

TREE_SECONDS = 10.0
"""How long git may take to say which working tree a directory is in: the daemon's start waits."""

MARK_SECONDS = 10.0
"""How long a look at the working tree may hold up the end of a turn or command."""


async def preconditions(actor: RunActor) -> c.Proceed | None:
    """Observe what the next move needs. ``None`` while a queued prompt's session is held, and
    when the run is not to go on any more. A full disk is waited out."""
    while actor.state.ready:
        try:
            return await _seen(actor, actor.state)
        except (git.GitError, LeaseError) as error:
            return c.Proceed(**actor.stamp(), trouble=str(error))
        except OSError as error:
            await actor.wait_for_room(error)
    return None


async def turn_after(actor: RunActor, seen: c.Proceed) -> NextStep | None:
    """Observe what the turn needs that begins a step, before it is stored that the step is entered
    as ``seen`` states: so both are one decision.

    Returns ``None`` where no turn begins it, and where anything is in its way: by itself that is
    observed again. A conversation's step is reported alone.
    """
    state = actor.state
    if state.next is None or state.next.kind != "enter" or snapshots.converses(state):
        return None
    after = folded(state, decide(state, seen), seen.at)
    if not after.ready or after.next is None or after.next.kind != "turn":
        return None
    if actor.session_locks.user(after.session_id) not in (None, actor.run_id):
        return None  # whoever has it goes first
    try:
        found = await _seen(actor, after)
    except (git.GitError, LeaseError, OSError):
        return None
    if found is None or found.locked or found.problem or found.gone or found.foreign_rows:
        return None
    return NextStep(after.session_id, found)


async def _seen(actor: RunActor, state: RunState) -> c.Proceed | None:
    """Observe what the next move of ``state`` needs, with the time at which all was seen."""
    assert state.next is not None
    if state.next.kind == "enter":
        dirty, look = await _dirty(state), await _look_before(state)
        return c.Proceed(**actor.stamp(), dirty=dirty, look=look)
    if state.next.kind == "look":
        holder, look = await acquire_tree(actor), await tree_look(state)
        return c.Proceed(**actor.stamp(), locked=_locked(holder), look=look)
    if state.next.kind != "turn":
        holder = await acquire_tree(actor)
        return c.Proceed(**actor.stamp(), locked=_locked(holder))
    agent = agent_of(actor, state)
    if agent is None:
        return c.Proceed(**actor.stamp(), problem="its agent is not configured any more")
    session = state.session_id
    own_id = await _own_id(actor, agent, session)
    named = own_id or await _own_id(actor, agent, state.fork_from)
    holder = _take_session(actor, agent, session, own_id or session) or await acquire_tree(actor)
    if holder is not None and not state.begun and _is_ours(actor):
        actor.session_locks.wait_in_line(session, actor.run_id, actor.poke)
        return None
    path = _transcript(actor, agent, named or session)
    mark = await actor.context.store.mark(session)
    foreign_rows = 0 if path is None or mark is None else await _foreign_rows(path, mark)
    tree = await _tree_before(state)
    return c.Proceed(
        **actor.stamp(),
        locked=_locked(holder),
        agent_session_id=named,
        foreign_rows=foreign_rows,
        tree=tree,
        gone=path is None and mark is not None,
    )


def agent_of(actor: RunActor, state: RunState) -> Agent | None:
    """Return the agent of the run's step in that state, if there still is one of its name."""
    step = state.current
    name = state.start.agent_override or (step.agent if step is not None else None)
    return actor.context.agents.get(name or state.start.agent)


async def _dirty(state: RunState) -> tuple[str, ...] | None:
    """List what is not committed, at the start of a run that commits alone."""
    recipe = state.recipe
    if recipe is None or state.step_count or state.restart or state.accepted_dirty:
        return None
    if not any(step.commits for step in recipe.steps.values()):
        return None
    if await git.top_level(state.start.working_directory) is None:
        return None
    paths = await git.dirty(state.start.working_directory)
    return tuple(shown(path) for path in paths)


async def _look_before(state: RunState) -> TreeLook | None:
    """Look at the working tree that the first step of a recipe begins in, or does again.

    A recipe that commits does not begin before it is known.
    """
    if state.recipe is None or state.step_count:
        return None
    if state.recipe.commits:
        return await tree_look(state)
    look = await look_in_time(state)
    return None if look.problem or not look.repository else look


async def _tree_before(state: RunState) -> TreeMark | None:
    """Mark the working tree before a step that must not be repeated unseen."""
    step = state.current
    if step is None or not step.irreversible:
        return None
    return await _mark(state)


async def tree_mark(state: RunState) -> TreeMark | None:
    """Mark the working tree that such a step has left, if git answers in time.

    A person is asked about it anyway.
    """
    step = state.current
    if step is None or not step.irreversible:
        return None
    return await _mark_in_time(state)


async def round_mark(state: RunState) -> TreeMark | None:
    """Mark the tree that a turn or command has left, where its step can come round again."""
    if state.recipe is None or state.step is None:
        return None
    if not progress.comes_round(state.recipe, state.step):
        return None
    return await _mark_in_time(state)


async def _mark_in_time(state: RunState) -> TreeMark | None:
    """Make the mark for a notice or a question, if git answers in time.

    An end matters more than how it left the tree: a git that fails, or takes too long, must not
    cost the run its end.
    """
    mark: TreeMark | None = None
    with trio.move_on_after(MARK_SECONDS), suppress(git.GitError, OSError):
        mark = await _mark(state)
    return mark


async def _mark(state: RunState) -> TreeMark | None:
    found = await git.tree_mark(state.start.working_directory)
    return None if found is None else TreeMark(head=found[0], digest=found[1])


def _take_session(actor: RunActor, agent: Agent, session: str, own_id: str) -> Holder | None:
    """Make sure that the run holds its step's session; else who does. ``own_id``: the agent's."""
    kind = actor.state.start.kind
    holder = actor.session_locks.acquire_session(session, actor.run_id, kind, own_id)
    if holder is not None:
        return holder
    lease = actor.session_locks.lease(session)
    if lease is not None and not lease.held and not lease.reclaim():
        return lease.holder  # its last agent has not let go of it
    holder = agent.open_elsewhere(session, own_id)
    if (
        holder is not None
        and holder.status == "idle"
        and actor.session_locks.tolerates_idle(actor.run_id)
    ):
        return None
    return holder


def _is_ours(actor: RunActor) -> bool:
    """Return whether another run here has the session this run wants, and will give it back."""
    session = actor.state.session_id
    return actor.session_locks.user(session) != actor.run_id and actor.session_locks.held_here(
        session
    )


async def acquire_tree(actor: RunActor) -> Holder | None:
    """Make sure that a recipe holds its working tree: after a restart it may be another's.

    Returns its holder in that case. Raises ``GitError`` where it is unknown which tree that is,
    ``LeaseError``, and ``OSError`` where the disk is full.
    """
    start = actor.state.start
    if start.kind != "recipe" or actor.session_locks.holds_tree(actor.run_id):
        return None
    return actor.session_locks.acquire_tree(await tree_of(start), actor.run_id)


async def tree_of(start: RunStarted) -> str:
    """Find the working tree of a recipe run: the checkout around its directory, or that alone.

    Raises ``GitError``.
    """
    where = start.working_directory
    try:
        there = await trio.Path(where).is_dir()
    except OSError as error:
        if is_full(error):
            raise
        what = f"the working directory '{where}' cannot be read: {error.strerror}"
        raise git.GitError(what) from error
    if start.worktree is not None or not there:  # not made yet, or gone
        return where
    with trio.move_on_after(TREE_SECONDS):
        return await git.top_level(where) or where
    raise git.GitError(f"git did not say within {TREE_SECONDS:g} s what tree '{where}' is in")


def _locked(holder: Holder | None) -> str | None:
    """Describe the holder of what the run needs, if there is one."""
    if holder is None:
        return None
    known = asdict(holder.public()).items()
    return " ".join(f"{key} {value}" for key, value in known if value is not None)


async def _own_id(actor: RunActor, agent: Agent, session: str | None) -> str | None:
    """Find the agent's own id of a session, of an agent that names them.

    A session that Podium did not begin is known by that id, and by its file.
    """
    if session is None or not agent.driver.capabilities.names_sessions:
        return None
    named = actor.state.agent_sessions.get(session)
    named = named or await actor.context.store.agent_session(session)
    if named is None and _transcript(actor, agent, session) is not None:
        return session
    return named or await actor.context.listed_as(session)


def _transcript(actor: RunActor, agent: Agent, session: str) -> Path | None:
    where = actor.state.start.working_directory
    return agent.driver.transcript(session, where, agent.environment(""))


def session_mark(actor: RunActor, agent: Agent) -> dict[str, Any] | None:
    """Build the mark of the session after a turn, where its driver does not give it itself.

    A mark without transcript shows that the agent's conversation is gone.
    """
    session = actor.state.session_id
    path = _transcript(actor, agent, actor.state.agent_sessions.get(session, session))
    if path is None:
        return None
    try:
        return {"size": path.stat().st_size}
    except OSError:
        return None


async def _foreign_rows(path: Path, raw: bytes) -> int:
    """Rows written by others into the session since the last turn that we ran in it."""
    mark = msgspec.json.decode(raw, type=dict[str, Any])
    return await trio.to_thread.run_sync(_foreign_after, path, int(mark.get("size", 0)))


def _foreign_after(path: Path, offset: int) -> int:
    """Count them, a line at a time: since the mark a transcript may have grown by any length."""
    try:
        with open_plain(path) as file:
            file.seek(offset)
            return len(foreign_user_rows(file, frozenset()))
    except OSError:
        return 0
