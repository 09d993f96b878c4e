"""Decisions within one turn of the native agent: facts of its run, stored like all others.

The turn is a loop: the model is asked, its reply is taken apart into actions, they are done one
after the other, and their results go back to it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from podiumd.core.reply.actions import Action
from podiumd.core.reply.report import EndKind
from podiumd.core.run.fact import Fact

Stop = Literal["end", "length", "other"]
"""Reason why the model wrote no further: it was done, its reply was cut, or something else."""


class LoopSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings that hold for one turn, even if the configuration changes meanwhile.

    ``max_iterations`` counts replies of the model. ``budget_usd`` is what the turn may cost.
    ``commit``: what it has changed becomes a commit at its end. ``since`` is where HEAD was at its
    beginning, empty for nowhere: what earlier turns of its run have left becomes part of that
    commit, unless HEAD has moved; with ``None`` nothing of it does. ``tools`` are the names of the
    actions that there are, ``served`` those of Podium's own tools, which are actions too.
    """

    max_iterations: int
    tools: tuple[str, ...]
    commit: bool = False
    budget_usd: float | None = None
    served: tuple[str, ...] = ()
    since: str | None = None


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request; ``cached`` are those of ``input`` that came from the cache."""

    input: int = 0
    output: int = 0
    cached: int = 0


class FileChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file before and after: the sha256 of its bytes in hex, ``None`` where there is none.

    ``path`` is relative to the working directory. ``mode`` is what git calls the file after it
    (``100644``, ``100755``, ``120000``), as far as the tool that changed it reports it.
    """

    path: str
    before: str | None = None
    after: str | None = None
    mode: str | None = None


class Words(msgspec.Struct, frozen=True):
    """A person's message to the running turn; ``uuid`` is that of the steer."""

    uuid: str
    text: str


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of an action, as the model gets it.

    A ``critical`` failure stops the rest of the reply.
    """

    action: str
    success: bool
    message: str
    output: str = ""
    critical: bool = False


class LoopFact(Fact, frozen=True, kw_only=True):
    """Base of the facts of one turn of the native agent, and of no others."""

    turn_id: str


class LoopStarted(LoopFact, frozen=True, kw_only=True, tag="loop.started"):
    """A turn of the native agent begins."""

    settings: LoopSettings


class ReplyReceived(LoopFact, frozen=True, kw_only=True, tag="reply.received"):
    """The model's ``number``-th reply of the turn. With a ``fault`` nothing of it is done."""

    number: int
    text: str
    stop: Stop
    actions: tuple[Action, ...] = ()
    fault: str | None = None
    model: str = ""
    usage: Usage = Usage()
    cost_usd: float = 0.0


class WordsAdded(LoopFact, frozen=True, kw_only=True, tag="words.added"):
    """The next request sends the model what a person has written since the last one."""

    words: tuple[Words, ...]


class ActionIntended(LoopFact, frozen=True, kw_only=True, tag="action.intended"):
    """An action of reply ``reply`` is about to be done. Stored before anything is touched."""

    reply: int
    index: int
    action: str
    changes: tuple[FileChange, ...] = ()


class ActionEnded(LoopFact, frozen=True, kw_only=True, tag="action.ended"):
    """An action is over: done, failed, refused by a person (``refused``), or never begun."""

    reply: int
    index: int
    result: Result
    changes: tuple[FileChange, ...] = ()
    refused: bool = False


class LoopEnded(LoopFact, frozen=True, kw_only=True, tag="loop.ended"):
    """The turn does nothing more than to commit what it has changed, where that is wanted.

    ``kind`` is how the turn ends; ``reason`` is the exit reason where a rule of the loop ended it,
    with the limit that it names. ``cost_usd`` is what requests have cost of which no reply came.
    """

    kind: EndKind
    reason: str = ""
    detail: str = ""
    limit: int | None = None
    api_status: int | None = None
    resets_at: str | None = None
    cost_usd: float = 0.0


AnyLoopFact = LoopStarted | ReplyReceived | WordsAdded | ActionIntended | ActionEnded | LoopEnded
