"""Server messages about the connection, the sessions and the turns. Pure.

Rows and times come in the shapes of the public contract. A key that is not documented as left out
is there in every message, with a value of its one type: phones refuse or drop what lacks one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from podiumd.gateway.phone.protocol import budget, dates, versions
from podiumd.gateway.phone.protocol.wire import Json, encode, frame
from podiumd.wire.sessions import LockHolder, Session

NOT_STORED: Final = "The daemon cannot store anything just now; try again."

TAKEN: Final = {
    "sent": "Processing prompt...",
    "queued": "Prompt queued: the session is busy, it is sent next",
    "steered": "Delivered into the running turn",
    "next prompt": "Queued: the recipe's next prompt carries it",
    "phase": "Delivered: the conversation's next prompt",
}
"""Note to a phone whose words were taken, by where they went."""

MOST_LISTED: Final = 50
"""Sessions in a ``session_list``."""


def hello() -> bytes:
    return frame(
        "hello",
        message="Welcome to Podium",
        version=versions.CEILING,
        auth_version=1,
        instructions="Send connect message with api_key",
    )


def connected(session_id: str | None, version: str) -> bytes:
    """``session_id`` is the one that ``connect`` brought, ``version`` what is spoken."""
    return frame(
        "connected",
        message="Session registered",
        session_id=session_id,
        negotiated_protocol_version=version,
    )


def auth_error() -> bytes:
    """Build the one answer to every failure: it does not reveal what was wrong."""
    return frame("auth_error", message="Authentication failed")


def version_error(received: str) -> bytes:
    """Build the error for a phone that announced a version that is too old."""
    received = received[:100]
    return frame(
        "error",
        code="unsupported_protocol_version",
        required=versions.FLOOR,
        received=received,
        message=f"This app speaks version {received} of the protocol, and at least "
        f"{versions.FLOOR} is needed. Update the app.",
    )


def pong() -> bytes:
    return frame("pong")


def ack(message: str) -> bytes:
    return frame("ack", message=message)


def size_ack(size_kb: int) -> bytes:
    """Build the answer to a requested frame size: it is set, or the largest there is."""
    return ack(f"Max message size set to {budget.kilobytes(size_kb)} KB")


def error(
    message: str,
    *,
    code: str | None = None,
    session_id: str | None = None,
    holder: LockHolder | None = None,
) -> bytes:
    """Build an error; fields that are ``None`` are left out.

    ``holder`` is who holds the session, where that is the reason.
    """
    return frame(
        "error", message=message, **_given(code=code, session_id=session_id, holder=holder)
    )


def session_list(
    rows: Iterable[Session], total: int, frame_bytes: int = budget.DEFAULT_BYTES
) -> tuple[bytes, tuple[str, ...]]:
    """Build the list of the newest sessions; return it with the ids of those that the frame has.

    ``rows`` are public sessions, newest first; ``total`` counts all.
    """
    shown = [_list_row(row) for row in rows if _is_shown(row)][:MOST_LISTED]
    message = {"type": "session_list", "sessions": [], "total_count": total}
    kept = budget.fitting(message, "sessions", shown, frame_bytes)
    listed = encode({**message, "sessions": kept})
    return listed, tuple(row["session_id"] for row in kept)


def recent_sessions(
    rows: Iterable[Session], limit: int, frame_bytes: int = budget.DEFAULT_BYTES
) -> bytes:
    """Build the list of the ``limit`` newest sessions. ``rows`` are public ones, newest first."""
    shown = [_recent_row(row) for row in recent(rows, limit)]
    return budget.listed(
        {"type": "recent_sessions", "sessions": [], "limit": limit}, "sessions", shown, frame_bytes
    )


def recent(rows: Iterable[Session], limit: int) -> list[Session]:
    """Return the first ``limit`` of the public sessions that phones show."""
    return [row for row in rows if _is_shown(row)][:limit]


def session_created(row: Session) -> bytes:
    return frame("session_created", **_list_row(row), preview=row.preview)


def session_ready(session_id: str) -> bytes:
    """Report that the session can be subscribed to, and the words it began with are in it."""
    return frame("session_ready", session_id=session_id, message="Session is ready")


def turn_complete(session_id: str, *, aborted: bool = False) -> bytes:
    return frame("turn_complete", session_id=session_id, **({"aborted": True} if aborted else {}))


def response(
    text: str,
    *,
    session_id: str,
    message_id: str,
    ios_session_id: str | None = None,
    frame_bytes: int = budget.DEFAULT_BYTES,
) -> bytes:
    """Build an agent's whole answer, for phones that read no history.

    ``message_id`` is the uuid of the message in the history, so that it is not shown twice.
    """

    def build(cut: str) -> bytes:
        return frame(
            "response",
            success=True,
            text=cut,
            session_id=session_id,
            message_id=message_id,
            **_given(ios_session_id=ios_session_id),
        )

    return budget.fit(build, text, frame_bytes)


def response_error(
    message: str, *, session_id: str | None = None, ios_session_id: str | None = None
) -> bytes:
    """There will be no answer."""
    return frame(
        "response",
        success=False,
        error=message,
        **_given(session_id=session_id, ios_session_id=ios_session_id),
    )


def session_killed(session_id: str) -> bytes:
    return frame("session_killed", session_id=session_id, message="Session killed")


def compaction_complete(session_id: str) -> bytes:
    return frame("compaction_complete", session_id=session_id)


def compaction_error(session_id: str, message: str) -> bytes:
    return frame("compaction_error", session_id=session_id, error=message)


def session_name_inferred(session_id: str, name: str) -> bytes:
    return frame("session_name_inferred", session_id=session_id, name=name)


def infer_name_error(session_id: str | None, message: str) -> bytes:
    return frame("infer_name_error", **_given(session_id=session_id), error=message)


def worktree_session_created(session_id: str, worktree_path: str, branch_name: str) -> bytes:
    return frame(
        "worktree_session_created",
        success=True,
        session_id=session_id,
        worktree_path=worktree_path,
        branch_name=branch_name,
    )


def worktree_session_error(message: str, error_type: str, details: str | None = None) -> bytes:
    return frame(
        "worktree_session_error",
        success=False,
        error=message,
        error_type=error_type,
        **_given(details=details),
    )


def name_of(row: Session) -> str:
    """Return the name of a public session; one without gets its folder's, and the time."""
    if row.name:
        return row.name
    folder = (row.working_directory or "").rstrip("/").rpartition("/")[2] or "Session"
    return f"{folder} - {dates.minute(row.last_modified)}"


def _is_shown(row: Session) -> bool:
    return row.message_count > 0 and not row.gone


def _list_row(row: Session) -> Json:
    return {
        "session_id": row.session_id,
        "name": name_of(row),
        "working_directory": row.working_directory or "",
        "last_modified": dates.number(row.last_modified),
        "message_count": row.message_count,
        "provider": row.agent,
    }


def _recent_row(row: Session) -> Json:
    return {
        "session_id": row.session_id,
        "name": name_of(row),
        "working_directory": row.working_directory or "",
        "last_modified": dates.fractional(row.last_modified),
        "provider": row.agent,
    }


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
