"""Commands of a driver to a native turn's loop: each is recorded before anything follows it."""

from __future__ import annotations

from typing import Literal

import msgspec

from podiumd.core.run.native_loop_facts import FileChange, LoopSettings, Result, Stop, Usage, Words

CommitState = Literal["committed", "nothing", "refused", "failed"]
"""``refused``: by a hook, whose words go back to the model. ``failed``: for another reason, which
no model can mend (no repository, git itself)."""


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """Begin the turn with these settings. Sent once; again, it changes nothing."""

    settings: LoopSettings


class ReportReply(msgspec.Struct, frozen=True, kw_only=True):
    """Report a reply of the model. ``cost_usd`` is what this request cost."""

    text: str
    stop: Stop = "end"
    model: str = ""
    usage: Usage = Usage()
    cost_usd: float = 0.0


class AddWords(msgspec.Struct, frozen=True, kw_only=True):
    """Pass a person's message to the running turn; the next request is to carry it.

    It calls the model back from an end of its own, unless no request is left to the turn, or it has
    ended by asking a person: then, and for a message that came already, it changes nothing.
    """

    words: tuple[Words, ...]


class ReportReplyFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Report that the model could not be asked, after all tries: the turn ends. ``cost_usd`` is
    what these have cost, as far as the server reported it."""

    kind: Literal["api_error", "usage_limit", "failed"]
    detail: str
    api_status: int | None = None
    resets_at: str | None = None
    cost_usd: float = 0.0


class PlanAction(msgspec.Struct, frozen=True, kw_only=True):
    """Plan the action that is due: it is allowed, and about to be done.

    ``changes`` are the files that it will write, with digests from before and of what is to be.
    """

    index: int
    changes: tuple[FileChange, ...] = ()


class ReportActionEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Report the end of the action that is due. ``changes`` are the files that it did write.

    ``alone``: it is none that this turn may do, so its failure stops nothing else.
    """

    index: int
    result: Result
    changes: tuple[FileChange, ...] = ()
    alone: bool = False


class RefuseAction(msgspec.Struct, frozen=True, kw_only=True):
    """Refuse the action that is due, as a person answered; ``note`` is why, in their words."""

    index: int
    note: str = ""


class ReportCommitEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Report that the commit that was due is made, or is not; ``detail`` says what a person, or the
    model, has to know of that."""

    state: CommitState
    sha: str | None = None
    detail: str = ""


LoopCommand = (
    Begin
    | ReportReply
    | AddWords
    | ReportReplyFailure
    | PlanAction
    | ReportActionEnd
    | RefuseAction
    | ReportCommitEnd
)
