"""Checks: commands that the daemon runs itself before it believes an outcome."""

from __future__ import annotations

import trio

from podiumd.core import commands as c
from podiumd.core import limits, prompts
from podiumd.core.ids import derive
from podiumd.runtime.actor import RunActor
from podiumd.tools.commands import run_command
from podiumd.tools.failpoints import failpoint
from podiumd.tools.process import sweep

OUTPUT_CAP_BYTES = 16 * 1024 * 1024


async def run_check(actor: RunActor) -> None:
    """Run the check that is next. One that a crash cut off is ended first, then run again."""
    context, state = actor.context, actor.state
    move, step = state.next, state.current
    assert move is not None and step is not None
    check = step.checks[move.index]
    marker = derive(
        actor.run_id,
        state.restart,
        state.step or "",
        state.visits[state.step or ""],
        "check",
        move.index,
        state.turns,
    )
    await sweep(marker)
    log_file = context.check_log(actor.run_id, marker)
    while True:
        try:
            log_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            log_file.touch(mode=0o600)
            break
        except OSError as error:
            await actor.wait_for_room(error)
    left = limits.seconds_left(state)
    failpoint("check.before-run")
    try:
        result = await run_command(
            prompts.fill_arguments(state, check.run),
            cwd=state.start.working_directory,
            environment=context.command_environment(marker),
            marker_env={},
            output_cap_bytes=OUTPUT_CAP_BYTES,
            log_file=log_file,
            limit_seconds=check.timeout_seconds
            if left is None
            else min(check.timeout_seconds, left),
        )
    finally:
        with trio.CancelScope(shield=True):  # bounded: a sweep takes at most 8 s
            await sweep(marker)
    failpoint("check.after-run")
    at, mono = actor.stamp()
    over = c.CheckOver(
        at=at,
        mono=mono,
        index=move.index,
        passed=result.exit_status == 0,
        exit_status=result.exit_status,
        seconds=result.seconds,
        tail="\n".join(part for part in (result.tail, result.message) if part),
        log=str(log_file),
    )
    await actor.report(over)
