"""The commands that the daemon runs itself: checks, hooks at the end of turns, and steps."""

from __future__ import annotations

from pathlib import Path

import trio

from podiumd.core.decide import limits, plain_steps
from podiumd.core.ids import derive
from podiumd.core.prompts import prompts
from podiumd.core.run import commands as c
from podiumd.core.run.state import RunState
from podiumd.runtime.locks.lockfile import make_private
from podiumd.runtime.run import hook_runner
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.observe import preconditions, round_mark
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process.processes import sweep
from podiumd.tools.process.run_command import CommandResult, run_command

OUTPUT_CAP_BYTES = 16 * 1024 * 1024


async def run_next(actor: RunActor) -> None:
    """Run the check, hook or command that is next, if the working tree is the run's.

    One that a crash cut off is ended first, then run again; whether that is allowed was asked
    before (``recovery.ask_about_command``).
    """
    await end_leftovers(actor)
    seen = await preconditions(actor)
    move = actor.state.next
    if seen is None or move is None:  # the run has changed meanwhile
        return
    if seen.locked or seen.trouble:
        await actor.report(seen)
        return
    await _RUN[move.kind](actor)


async def end_leftovers(actor: RunActor) -> list[str]:
    """End what a crash left of the check, hook or command that is next; returns what that was."""
    return await sweep(_marker(actor.state))


async def _run_check(actor: RunActor) -> None:
    state = actor.state
    move, step = state.next, state.current
    assert move is not None and step is not None
    check = step.checks[move.index]
    left = limits.seconds_left(state)
    limit = check.timeout_seconds if left is None else min(check.timeout_seconds, left)
    failpoint("check.before-run")
    result, log_file = await _run(actor, prompts.fill_arguments(state, check.run), limit)
    failpoint("check.after-run")
    await actor.report(
        c.ReportCheckEnd(
            **actor.stamp(),
            index=move.index,
            passed=result.exit_status == 0,
            exit_status=result.exit_status,
            seconds=result.seconds,
            tail=_tail(result),
            log=str(log_file),
        )
    )


async def _run_hook(actor: RunActor) -> None:
    """Run a hook at the end of a conversation's turn; ``output`` is the agent's text in it."""
    state = actor.state
    assert state.next is not None
    index = state.next.index
    said = state.last_turn.text if state.last_turn is not None else ""
    hook = hook_runner.hooks_of(state, "turn-end")[index]
    try:
        about = {"event": "turn-end", "output": said}
        result = await hook_runner.run(actor, hook.run, about, _marker(state))
    finally:
        tree = actor.session_locks.tree(actor.run_id)
        if tree is not None and tree.held:
            tree.heir_ended()
    await actor.report(
        c.ReportHookEnd(
            **actor.stamp(),
            index=index,
            exit_status=result.exit_status,
            reason=result.reason,
            seconds=result.seconds,
        )
    )


async def _run_step(actor: RunActor) -> None:
    state = actor.state
    step = state.current
    assert step is not None
    seconds = (step.timeout_minutes or plain_steps.COMMAND_MINUTES) * 60.0
    left = limits.seconds_left(state)
    failpoint("command.before-run")
    result, log_file = await _run(
        actor,
        plain_steps.command_line(state, step),
        seconds if left is None else min(seconds, left),
    )
    failpoint("command.after-run")
    tree = await round_mark(state)
    await actor.report(
        c.ReportCommandEnd(
            **actor.stamp(),
            passed=result.exit_status == 0,
            exit_status=result.exit_status,
            seconds=result.seconds,
            tail=_tail(result),
            log=str(log_file),
            tree=tree,
        )
    )


def _marker(state: RunState) -> str:
    """Derive the marker of the next check, hook or command.

    Its processes carry it, so that they are known after a crash.
    """
    move, step = state.next, state.step or ""
    assert move is not None
    kind, index = (move.kind, move.index) if move.kind in ("check", "hook") else ("command", 0)
    run_id = state.start.run_id
    return derive(run_id, state.restart, step, state.visits[step], kind, index, state.turns)


async def _run(
    actor: RunActor, argv: tuple[str, ...], limit_seconds: float
) -> tuple[CommandResult, Path]:
    """Run a command in the run's directory; nothing of it lives when this returns.

    It inherits the lease of the working tree: should this daemon be killed, no other comes in while
    the command goes on.
    """
    context, marker = actor.context, _marker(actor.state)
    tree = actor.session_locks.tree(actor.run_id)
    assert tree is not None
    log_file = context.check_log(actor.run_id, marker)
    while True:
        try:
            make_private(log_file.parent)
            log_file.touch(mode=0o600)
            break
        except OSError as error:
            await actor.wait_for_room(error)
    try:
        result = await run_command(
            argv,
            cwd=actor.state.start.working_directory,
            environment=context.command_environment(marker),
            marker_env={},
            output_cap_bytes=OUTPUT_CAP_BYTES,
            log_file=log_file,
            limit_seconds=limit_seconds,
            pass_fds=(tree.fd,),
        )
    finally:
        with trio.CancelScope(shield=True):  # bounded: a sweep takes at most 8 s
            await sweep(marker)
            tree.heir_ended()
    return result, log_file


_RUN = {"check": _run_check, "hook": _run_hook, "run": _run_step}


def _tail(result: CommandResult) -> str:
    return "\n".join(part for part in (result.tail, result.message) if part)
