"""Named points where a crash campaign may stop the daemon.

A failpoint is a place between two steps whose order the daemon's promises rest on. It does nothing
unless the environment variable ``PODIUM_FAILPOINT`` names it:

* ``NAME`` or ``NAME:N``: the N-th time the point is reached (default 1) the process kills itself
  with SIGKILL, as a crash would;
* ``NAME:N:error``: the N-th time the point is reached it raises ``OSError`` (EIO);
* ``NAME:N:stop``: the N-th time the point is reached the process stops itself with SIGSTOP, so
  that its starter may do something else just then, and send it SIGCONT after that.
"""

from __future__ import annotations

import errno
import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field

VARIABLE = "PODIUM_FAILPOINT"

# Sorted by name; a test holds the order, and that code uses only names that stand here.
FAILPOINTS: dict[str, str] = {
    "action.after-do": "an action of the native agent is done, its end is not stored",
    "action.after-ended": "the end of an action of the native agent is stored",
    "action.after-intended": "an action of the native agent is intended, nothing was done for it",
    "agui.after-kept": "which session a thread of AG-UI is to be is stored, nothing began in it",
    "agui.before-noted": "what a thread of AG-UI said is stored, the thread does not know it",
    "answer.after-write": "the answer to a question is in the agent's input",
    "answer.before-write": "a person's answer is stored, not yet in the agent's input",
    "cancel.after-intended": "the wish to cancel is stored, the turn not yet ended",
    "check.after-run": "a check's process has ended, its result is not stored",
    "check.before-run": "a check is due, its process does not exist",
    "claim.after-look": "the tree was looked at because of a claim, nothing of it is stored",
    "claim.after-made": "what a step claims of the tree is stored, nobody has looked",
    "command.after-run": "a step's command is over, its end is not stored",
    "command.before-run": "a step's command is intended, its process does not exist",
    "commit.after-make": "the commit of a native turn is made, no fact says so",
    "commit.after-move": "the branch has the commit of a native turn, the index is locked and old",
    "commit.before-make": "the commit of a native turn is due and not made",
    "commit.before-move": "the id of a native turn's commit is stored, no branch has it",
    "edge.after-taken": "the edge to the next step is stored, the step not entered",
    "forget.after-batch": "some old runs are forgotten, others are still to be",
    "forget.after-files": "the files of old runs are removed, their facts are all there",
    "gate.after-opened": "a gate's question is stored, not yet announced",
    "git.pinned": "a repository's settings are pinned for a git that does not run yet",
    "handshake.after-write": "the agent was told what it asked of Podium's tool server",
    "handshake.before-write": "the agent greets Podium's tool server, or asks for its tools",
    "hook.after-run": "a hook is over, its word is not stored",
    "hook.after-settle": "the agent was told whether it may use a tool",
    "hook.before-run": "a hook is due, nothing of it has begun",
    "hook.before-settle": "a hook's word is known, the agent was not told it",
    "lift.after-copy": "a copy of facts.db is made, and not lifted to this release's schema",
    "lift.after-swap": "the lifted facts.db bears its name, nobody has opened it",
    "lift.before-swap": "the lifted copy of facts.db is whole, the old one bears the name",
    "lift.half-swapped": "the old facts.db has both names, the lifted one has none yet",
    "merge.after-make": "a worktree's branch is merged, the intention still stands",
    "merge.before-make": "the merge of a worktree's branch is intended and not begun",
    "merge.conflicted": "git has failed at a merge, which is not undone yet",
    "notify.after-run": "the person's program was told of an event, no setting says so",
    "notify.before-run": "an event is stored of which the person's program is to be told",
    "outcome.after-parsed": "a step's outcome is stored, no edge taken",
    "prompt.images-kept": "the images of a prompt are copied, no fact says that there is one",
    "prune.after-lock": "a lock file that was long not taken is removed, others are still to be",
    "prune.after-marks": "marks of sessions that no run has are deleted, others are still to be",
    "prune.after-pages": "some unused pages of facts.db are given back, others are still to be",
    "prune.after-path": "a spool, copy or transcript is removed, others are still to be",
    "prune.after-session": "a session that is gone is forgotten, others are still to be",
    "question.after-closed": "the closing of a question is stored, nothing acted on it",
    "record.after-write": "a turn stands in its session's record, its end is not stored",
    "record.before-write": "a turn is over, nothing of it stands in its session's record",
    "recovery.after-settle": "a pending effect was looked at and its finding is stored",
    "recovery.before-settle": "a pending effect was found at start, not yet looked at",
    "remove.after-make": "a worktree to be removed has another name, all of it is there",
    "remove.before-make": "the removal of a worktree is intended and not begun",
    "reply.after-received": "the model's reply is stored, nothing of it is done",
    "reply.before-received": "the model has replied, nothing of it is stored",
    "row.after-write": "rows of a native session are in its file, nothing followed",
    "row.before-write": "rows of a native session are due, none is in its file",
    "run.after-ended": "the end of a run is stored, not yet announced",
    "run.after-started": "the start of a run is stored, no turn intended",
    "run.before-ended": "a run has come to its end, which is not stored",
    "sandbox.after-prepare": "what a command may not leave is written down, the command not begun",
    "sandbox.before-tidy": "a command in the sandbox is over, what it may not leave is there",
    "sandbox.left-stored": "what a command has left for good is stored, its boundary not removed",
    "say.after-stored": "a person's words in a conversation are stored, nothing acted on them",
    "spools.after-note": "a note says that a turn's output was removed, which is still there",
    "steer.after-write": "a steering message is in the agent's input",
    "steer.before-write": "a steering message is stored, not yet in the agent's input",
    "store.after-commit": "a batch of decisions is durable, no caller knows",
    "store.before-commit": "a batch of decisions is written, not committed",
    "tool.after-answer": "an agent in the daemon is told what came of a call, no fact says so",
    "tool.after-recorded": "a call of one of Podium's tools is stored, the agent was not answered",
    "tool.after-reply": "the agent was answered its call of one of Podium's tools",
    "tool.before-call": "an agent in the daemon is about to call one of Podium's tools",
    "tool.before-reply": "the answer to a call of one of Podium's tools is known, not sent",
    "tools.after-issue": "a turn's token is made, its agent does not exist",
    "turn.after-ended": "the end of a turn is stored, nothing acted on it",
    "turn.after-intended": "the intention of a turn is stored, nothing was done for it",
    "turn.after-spawn": "the agent's process exists, no fact says so",
    "turn.after-started": "the start of the agent's process is stored",
    "turn.approval-raised": "the agent asked for an approval, the question is not stored",
    "turn.before-ended": "the turn's processes are gone, its end is not stored",
    "turn.end-sent": "the agent was told to end its session, nothing shows whether it did",
    "turn.ended-process": "the agent's process has ended, its children were not looked for",
    "turn.fifo-written": "the prompt is in the pipe, the agent does not exist",
    "turn.first-output": "the agent wrote its first line",
    "turn.idle-seen": "the agent said that it is idle, its session was not ended",
    "turn.lease-taken": "the session's lease is held, the prompt is not written",
    "turn.session-named": "the agent told its own id of the session, no fact says so",
    "turn.session-stored": "the agent's own id of the session is stored, its lock has no such name",
    "turn.swept": "no process of the turn is left, the mark was not taken",
    "turn.tool-begun": "the agent began with a tool",
    "worktree.after-make": "the working tree exists, no fact says so",
    "worktree.before-make": "a working tree is due and does not exist",
    "worktree.half-made": "git has its record of a working tree, whose files are not there yet",
    "write.after-rename": "a file of the working tree has its new content, no fact says so",
    "write.before-rename": "a file's new content is in a draft beside it",
}


class UndeclaredFailpoint(LookupError):
    """A name that is not in ``FAILPOINTS``."""


@dataclass(frozen=True)
class _Armed:
    name: str
    hit: int
    action: str
    # next() on a count is atomic: a point may be reached on any thread.
    reached: Iterator[int] = field(default_factory=lambda: itertools.count(1))


_armed: _Armed | None = None


def names() -> tuple[str, ...]:
    """List every declared name, sorted, for a campaign to go through."""
    return tuple(FAILPOINTS)


def arm(spec: str | None) -> None:
    """Arm one failpoint (and disarm any other), or none.

    Parameters: ``spec`` as in ``PODIUM_FAILPOINT``; None or an empty text disarms.
    Raises ``UndeclaredFailpoint`` for an unknown name, ``ValueError`` for any other form.
    """
    global _armed  # noqa: PLW0603 - one process, one armed point
    if not spec:
        _armed = None
        return
    name, _, rest = spec.partition(":")
    hit, _, action = rest.partition(":")
    if name not in FAILPOINTS:
        raise UndeclaredFailpoint(f"{VARIABLE}: no failpoint is called {name!r}")
    if action not in ("", "error", "stop") or (rest and not (hit.isdecimal() and int(hit) > 0)):
        raise ValueError(
            f"{VARIABLE}: {spec!r} is not NAME, NAME:N, NAME:N:error or NAME:N:stop (N from 1)"
        )
    _armed = _Armed(name, int(hit or "1"), action)


def failpoint(name: str) -> None:
    """Do nothing, unless this point is armed and this is the hit that was asked for.

    Raises ``OSError`` when armed to fail, ``UndeclaredFailpoint`` for an unknown name.
    """
    if name not in FAILPOINTS:
        raise UndeclaredFailpoint(f"{name!r} is not declared in FAILPOINTS")
    armed = _armed
    if armed is None or armed.name != name or next(armed.reached) != armed.hit:
        return
    if armed.action == "error":
        raise OSError(errno.EIO, f"failpoint {name}")
    os.kill(os.getpid(), signal.SIGSTOP if armed.action == "stop" else signal.SIGKILL)


arm(os.environ.get(VARIABLE))
