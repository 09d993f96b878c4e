"""What the world looks like just before a run goes on: the observations of ``Proceed``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import trio

from podiumd.core import commands as c
from podiumd.core import progress
from podiumd.core.facts import TreeMark
from podiumd.core.state import RunState
from podiumd.formats.claude_transcript import foreign_user_rows
from podiumd.runtime.actor import RunActor
from podiumd.runtime.context import Agent
from podiumd.runtime.foreign import foreign_holder
from podiumd.runtime.holder import Holder
from podiumd.tools import git

ROUND_MARK_SECONDS = 10.0
"""How long a look at the working tree may hold up the end of a turn."""


async def look(actor: RunActor) -> c.Proceed | None:
    """Observe what the next move needs; ``None`` while a queued prompt's session is held."""
    state = actor.state
    move = state.next
    assert move is not None
    seen: dict[str, Any] = {}
    if move.kind == "enter":
        seen["dirty"] = await _dirty(state)
    elif move.kind == "command":
        holder = await _take_tree(actor)
        seen["locked"] = None if holder is None else _in_words(holder)
    else:
        agent = agent_of(actor)
        if agent is None:
            at, mono = actor.stamp()
            return c.Proceed(at=at, mono=mono, problem="its agent is not configured any more")
        holder = _take_session(actor, agent) or await _take_tree(actor)
        if holder is not None and not state.begun and _is_ours(actor):
            actor.desk.stand_in_line(state.session_id, actor.run_id, actor.poke)
            return None
        seen["locked"] = None if holder is None else _in_words(holder)
        seen["foreign_rows"] = await _foreign_rows(actor, agent)
        seen["tree"] = await tree_mark(state)
    at, mono = actor.stamp()
    return c.Proceed(at=at, mono=mono, **seen)


def agent_of(actor: RunActor) -> Agent | None:
    """The agent of the run's present step, if there still is one of its name."""
    state = actor.state
    step = state.current
    name = state.start.agent_override or (step.agent if step is not None else None)
    return actor.context.agents.get(name or state.start.agent)


async def _dirty(state: RunState) -> tuple[str, ...] | None:
    recipe = state.recipe
    if recipe is None or state.step_count or state.restart or state.accepted_dirty:
        return None  # only the start of a run that commits wants a clean tree
    if not any(step.commits for step in recipe.steps.values()):
        return None
    if await git.top_level(state.start.working_directory) is None:
        return None
    return tuple(await git.dirty(state.start.working_directory))


async def tree_mark(state: RunState) -> TreeMark | None:
    """The working tree as it is, for a step that must not be repeated unseen."""
    step = state.current
    if step is None or not step.irreversible:
        return None
    return await _mark(state.start.working_directory)


async def round_mark(state: RunState) -> TreeMark | None:
    """The working tree that a turn or command has left, in a step that can come round again.

    It serves a notice alone: a git that fails, or takes too long, must not cost the run anything.
    """
    if state.recipe is None or state.step is None:
        return None
    if not progress.comes_round(state.recipe, state.step):
        return None
    mark: TreeMark | None = None
    with trio.move_on_after(ROUND_MARK_SECONDS), suppress(git.GitError, OSError):
        mark = await _mark(state.start.working_directory)
    return mark


async def _mark(where: str) -> TreeMark | None:
    if await git.top_level(where) is None:
        return None
    return TreeMark(head=await git.head(where), digest=await git.tree_digest(where))


def _take_session(actor: RunActor, agent: Agent) -> Holder | None:
    """Make sure that the run holds its step's session; else who does."""
    session = actor.state.session_id
    holder = actor.desk.take_session(session, actor.run_id, actor.state.start.kind)
    if holder is not None:
        return holder
    lease = actor.desk.lease(session)
    if lease is not None and not lease.held and not lease.reclaim():
        return lease.holder  # its last agent has not let go of it
    if agent.config_directory is not None:
        holder = foreign_holder(session, agent.config_directory, ())
    if holder is not None and holder.status == "idle" and actor.desk.tolerates_idle(actor.run_id):
        return None
    return holder


def _is_ours(actor: RunActor) -> bool:
    """Whether a run of this daemon has the session that this run wants, and will give it back."""
    session = actor.state.session_id
    return actor.desk.user(session) != actor.run_id and actor.desk.held_here(session)


async def _take_tree(actor: RunActor) -> Holder | None:
    """Make sure that a recipe holds its working tree: after a restart it may be another's."""
    start = actor.state.start
    if start.kind != "recipe" or actor.desk.holds_tree(actor.run_id):
        return None
    where = start.working_directory
    return actor.desk.take_tree(await git.top_level(where) or where, actor.run_id)


def _in_words(holder: Holder) -> str:
    return " ".join(f"{key} {value}" for key, value in holder.public().items())


async def _foreign_rows(actor: RunActor, agent: Agent) -> int:
    """Rows written by others into the session since the last turn that we ran in it."""
    state = actor.state
    raw = await actor.context.store.mark(state.session_id)
    if raw is None:
        return 0
    mark = msgspec.json.decode(raw, type=dict[str, Any])
    path = agent.driver.transcript(
        state.session_id, state.start.working_directory, agent.environment("")
    )
    if path is None:
        return 0
    lines = await trio.to_thread.run_sync(_lines_after, path, int(mark.get("size", 0)))
    return len(foreign_user_rows(lines, frozenset()))


def _lines_after(path: Path, offset: int) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read().splitlines()
    except OSError:
        return []
