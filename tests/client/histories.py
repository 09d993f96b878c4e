"""What the daemon tells of a run's history, from its events as the tests of the client make them:
they may lack fields."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, get_args

import msgspec

from podium.render.history import History
from podiumd.core.run import facts as f
from podiumd.core.run import history as core
from podiumd.wire import views
from podiumd.wire.runs import RunHistory
from tests.plain import some

Json = Any

FACTS: Final = {kind.__struct_config__.tag: kind for kind in get_args(f.AnyFact)}


def told(events: Iterable[Json], now: str = "") -> History:
    """The history that these events amount to, told up to ``now`` or to the last of them."""
    return History([page_of(events, now)])


def page_of(events: Iterable[Json], now: str = "", after: Json | None = None) -> Any:
    """The answer of ``runs.history``, all in one page."""
    history, started, last = core.History(core.HistoryPlace(**after) if after else None), None, now
    for event in events:
        started = event["data"] if event["type"] == "run.started" else started
        history.add(event["seq"], event["at"], _made(FACTS[event["type"]], event["data"]))
        last = now or event["at"]
    until = history.ended_at or last
    visits = tuple(views.history_visit_view(visit, until) for visit in history.visits)
    page = msgspec.to_builtins(
        RunHistory(
            started=started,
            visits=visits,
            undelivered=history.undelivered,
            until=until,
            next=history.place,
            complete=True,
        )
    )
    return json.loads(json.dumps(page))


def _made(kind: type[msgspec.Struct], data: Json) -> Any:
    """A struct of what is known of it, whatever that is."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    named = {name: data.get(field.encode_name) for name, field in fields.items()}
    if kind is f.RunStarted:
        named["recipe"] = named["script"] = None
    if kind is f.QuestionOpened:
        named["choices"] = [(one["id"], one["label"]) for one in named["choices"] or ()]
    return some(
        kind,
        **{name: _value(fields[name].type, one) for name, one in named.items() if one is not None},
    )


def _value(kind: Any, value: Any) -> Any:
    for one in (kind, *get_args(kind)):
        if isinstance(value, dict) and isinstance(one, type) and issubclass(one, msgspec.Struct):
            return _made(one, value)
    return tuple(value) if isinstance(value, list) else value
