"""The hooks of a conversation's phase: which of them are due, and their input and output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import trio

from podiumd.core.decide.policy import hooked
from podiumd.core.recipe.model import Hook
from podiumd.core.run.facts import TurnIntended
from podiumd.core.run.state import RunState
from podiumd.drivers.base import HookPoint
from podiumd.runtime.run.actor import RunActor
from podiumd.tools.failpoints import failpoint
from podiumd.tools.hooks.builtin import PREFIX, Moment, run_builtin
from podiumd.tools.hooks.hooks import HookResult, run_hook
from podiumd.tools.process.processes import sweep

Json = dict[str, Any]
Around = Literal["before-tool", "after-tool"]

ASK = "ask"
"""The tool after which no other may be used in its turn."""


def hooks_of(state: RunState, event: str) -> list[Hook]:
    """List the hooks that the present phase has for an event, in the order of the recipe."""
    step = state.current
    return [hook for hook in (step.hooks if step is not None else ()) if hook.event == event]


def points(state: RunState, intent: TurnIntended) -> tuple[HookPoint, ...]:
    """List where the agent of a turn is to stop and ask.

    Where it may ask the person something, that is before every tool: none is used after it.
    """
    found = [HookPoint("before-tool")] if ASK in intent.served else []
    found += [HookPoint("before-tool", hook.match) for hook in hooks_of(state, "before-tool")]
    found += [HookPoint("after-tool", hook.match) for hook in hooks_of(state, "after-tool")]
    return tuple(dict.fromkeys(found))


async def around_tool(
    actor: RunActor, event: Around, tool: str, input: Json, marker: str, output: str | None = None
) -> str | None:
    """Run the phase's hooks for a tool, one after another; why the first of them refuses."""
    for hook in hooks_of(actor.state, event):
        if not hooked(hook.match, tool):
            continue
        about: Json = {"event": event, "tool": tool, "input": input}
        if output is not None:
            about["output"] = output
        result = await run(actor, hook.run, about, marker)
        if result.refused:
            return result.reason
    return None


async def run(actor: RunActor, argv: Sequence[str], about: Json, marker: str) -> HookResult:
    """Run one hook to its end; nothing of it lives when this returns. What it did before a crash
    is not known: it may be run again.

    ``marker`` is what its processes carry, ``about`` what happened. A failure that is no refusal
    stands in the log alone; a full disk is waited out.
    """
    failpoint("hook.before-run")
    result: HookResult | None = None
    while result is None:
        try:
            if argv[0].startswith(PREFIX):
                result = await run_builtin(argv, _moment(actor.state))
            else:
                result = await _run_program(actor, argv, about, marker)
        except OSError as error:
            await actor.wait_for_room(error)
    failpoint("hook.after-run")
    if result.failed:
        actor.context.log(
            "Hook failed",
            "warning",
            run_id=actor.run_id,
            step=actor.state.step,
            hook=argv[0],
            exit_status=result.exit_status,
            reason=result.reason,
        )
    return result


async def _run_program(
    actor: RunActor, argv: Sequence[str], about: Json, marker: str
) -> HookResult:
    state = actor.state
    tree = actor.session_locks.tree(actor.run_id)
    told = {
        "event": None,
        "tool": None,
        "input": {},
        **about,
        "step": state.step,
        "run_id": actor.run_id,
        "session_id": state.session_id,
        "ctx": state.ctx,
    }
    try:
        return await run_hook(
            argv,
            told,
            cwd=state.start.working_directory,
            environment=actor.context.command_environment(marker),
            # Should this daemon be killed, no other run works there while the hook goes on. Its
            # runner reports when all that inherited the lease has ended.
            pass_fds=(tree.fd,) if tree is not None and tree.held else (),
        )
    finally:
        with trio.CancelScope(shield=True):  # bounded: a sweep takes at most 8 s
            await sweep(marker)


def _moment(state: RunState) -> Moment:
    step, recipe = state.current, state.recipe
    assert step is not None and recipe is not None
    required = dict.fromkeys(key for edge in step.on.values() for key in edge.requires)
    return Moment(
        phase=state.step or "",
        context={key: state.ctx.get(key) for key in recipe.context},
        required=tuple(required),
        working_directory=state.start.working_directory,
    )
