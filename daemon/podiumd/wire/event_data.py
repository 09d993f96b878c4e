"""The data of each event: the fact itself, but for what is declared here.

A fact is stored as it was decided; its event leaves out what is only for recovery, and adds some
words that clients would else have to find out.
"""

from __future__ import annotations

from functools import cache
from typing import Final, get_args, get_type_hints

import msgspec

from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.fact import Fact
from podiumd.wire.events import Snapshot, TurnOutput
from podiumd.wire.fields import Result
from podiumd.wire.questions import Choice
from podiumd.wire.runs import Run

FOR_RECOVERY: Final = frozenset({"next", "mono", "about"})
"""Fields that no event has."""


class Look(Result, frozen=True, kw_only=True, omit_defaults=True):
    """The working tree as it was seen once; ``uncommitted`` are the paths that differ from
    ``head``."""

    repository: bool = True
    head: str | None = None
    commits: int = 0
    uncommitted: tuple[str, ...]
    more: int = 0
    problem: str = ""


class Begun(Result, frozen=True, kw_only=True):
    """The recipe, the script and the name of the run in ``run.started``."""

    recipe: str | None
    script: str | None
    name: str
    label: str | None
    first_prompt: str | None


class Asked(Result, frozen=True, kw_only=True):
    """The answers that ``question.opened`` offers."""

    choices: tuple[Choice, ...]


class Looked(Result, frozen=True, kw_only=True):
    """The look in ``tree.seen``."""

    look: Look


class Replied(Result, frozen=True, kw_only=True):
    """The reply in ``reply.received``: its text has the actions whole. ``said`` are the words in it
    that are meant for a person."""

    actions: tuple[str, ...]
    said: str


class Ended(Result, frozen=True, kw_only=True):
    """The run in ``run.ended``; ``None`` where it cannot be read any more."""

    run: Run | None


Instead = Begun | Asked | Looked | Replied | Ended

INSTEAD: Final[dict[type[Fact], type[Instead]]] = {
    f.RunStarted: Begun,
    f.QuestionOpened: Asked,
    f.TreeSeen: Looked,
    lf.ReplyReceived: Replied,
    f.RunEnded: Ended,
}
"""Fields of an event in place of its fact's, or beside them; ``wire.event`` makes it."""


def _data_of(kind: type[Fact]) -> type[msgspec.Struct]:
    """Return the type of the data of a fact's event: every field is sent."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in msgspec.structs.fields(kind)]
    kept = {name: hints[name] for name in names if name not in FOR_RECOVERY}
    instead = INSTEAD.get(kind)
    told = get_type_hints(instead, include_extras=True) if instead is not None else {}
    return msgspec.defstruct(
        f"{kind.__name__}Data",
        list((kept | told).items()),
        namespace={"__doc__": kind.__doc__},
        module=__name__,
        frozen=True,
        kw_only=True,
    )


@cache
def types_of_data() -> dict[str, type[msgspec.Struct]]:
    """Return the type of the data of each event, by the event's own type. They are made when they
    are asked for: a daemon that only sends events does without."""
    found = {str(kind.__struct_config__.tag): _data_of(kind) for kind in get_args(f.AnyFact)}
    found |= {"turn.output": TurnOutput, "snapshot": Snapshot}
    return dict(sorted(found.items()))
