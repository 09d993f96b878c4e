"""The row of a run: the public ``run`` as it is stored, for lists, and once the run is over."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, fields, replace

from podiumd.core.recipe.naming import named_row
from podiumd.core.run.state import RunState
from podiumd.store.records import RunRow
from podiumd.wire import views
from podiumd.wire.runs import Run, Visit, WholeRun


class StoredRun(Run, frozen=True, kw_only=True):
    """The public ``run`` of a row: of one that goes on without what may be long, what its
    conversations have saved and the sessions it has had."""

    sessions: tuple[str, ...] | UnsetType = UNSET


_decode = msgspec.json.Decoder(StoredRun).decode
_encode = msgspec.json.Encoder().encode
_REQUIRED = [field.name for field in fields(StoredRun) if field.required]


def row_of(state: RunState) -> RunRow:
    """Build the row of a run as it stands, for lists and for queries once it is over.

    It is written with every decision, so it must not grow with them.
    """
    view = views.run_view(state)
    if state.exit is None:
        view = replace(view, ctx=UNSET)
    else:
        view = StoredRun(**asdict(view), sessions=tuple(state.sessions))
    return RunRow(
        run_id=state.start.run_id,
        kind=state.start.kind,
        status=state.status,
        session_id=state.session_id,
        working_directory=state.start.working_directory,
        started_at=state.started_at,
        ended_at=state.ended_at,
        summary=_encode(view),
    )


def run_of(row: RunRow) -> StoredRun | None:
    """Decode the run of a row.

    ``None`` where the row is damaged, or of an earlier release and lacks what is needed: then the
    run's facts are read.
    """
    if not row.intact:
        return None
    try:
        return _decode(row.summary)
    except msgspec.ValidationError:
        return _of_earlier_release(msgspec.json.decode(row.summary))


def _of_earlier_release(found: dict[str, Any]) -> StoredRun | None:
    """Convert a row of an earlier release, which lacks fields: missing ones are null, and neither
    the run nor a question of it counts as paused."""
    known = {**dict.fromkeys(_REQUIRED), "paused": False, **found, "name": named_row(found)}
    known["questions"] = [{"paused": False, **one} for one in found.get("questions") or ()]
    try:
        return msgspec.convert(known, StoredRun)
    except msgspec.ValidationError:
        return None


def whole_run(run: Run, sessions: tuple[str, ...], history: tuple[Visit, ...]) -> WholeRun:
    """Add to a run what grows with its steps."""
    return WholeRun(**{**asdict(run), "sessions": sessions, "history": history})
