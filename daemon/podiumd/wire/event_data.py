"""The data of each event: the fact itself, but for what is declared here.

A fact is stored as it was decided; of it clients are told what is not only for recovery, and some
words that they would else have to find out.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, get_args, get_type_hints

import msgspec

from podiumd.core.run import facts as f
from podiumd.core.run import loop_facts as lf
from podiumd.core.run import tree_facts as tf
from podiumd.core.run.fact import Fact
from podiumd.wire.events import Snapshot, TurnOutput
from podiumd.wire.fields import Result
from podiumd.wire.questions import Choice
from podiumd.wire.runs import Run

FOR_RECOVERY: Final = frozenset({"next", "mono", "about"})
"""Fields that no event has."""

LOOK_FOR_RECOVERY: Final = frozenset({"tips", "ignored"})
"""Those of a look at the working tree: whose contents its digests are is for recovery as well."""


class Look(Result, frozen=True, kw_only=True, omit_defaults=True):
    """The working tree as it was seen once; ``uncommitted`` are the paths that differ from
    ``head``."""

    repository: bool = True
    head: str | None = None
    commits: int = 0
    uncommitted: tuple[str, ...]
    more: int = 0
    problem: str = ""


OTHERWISE: Final[dict[type[Fact], dict[str, Any]]] = {
    f.RunStarted: {
        "recipe": str | None,
        "script": str | None,
        "name": str,
        "label": str | None,
        "first_prompt": str | None,
    },
    f.QuestionOpened: {"choices": tuple[Choice, ...]},
    tf.TreeSeen: {"look": Look},
    lf.ReplyReceived: {"actions": tuple[str, ...], "said": str},
    f.RunEnded: {"run": Run | None},
}
"""What an event has in place of a fact's field, or beside them; ``wire.views`` fills it in."""


def _data_of(kind: type[Fact]) -> type[msgspec.Struct]:
    """Return the type of the data of a fact's event: every field is sent."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in msgspec.structs.fields(kind)]
    kept = {name: hints[name] for name in names if name not in FOR_RECOVERY}
    return msgspec.defstruct(
        f"{kind.__name__}Data",
        list((kept | OTHERWISE.get(kind, {})).items()),
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
