"""What a phone sends, as the apps spell it."""

from __future__ import annotations

from tests.phone_app.fields import Json
from tests.phone_app.variants import Variant


def connect(variant: Variant, key: str, limit: int | None, session_id: str | None = None) -> Json:
    """The answer to ``hello``; ``limit`` is that of recent sessions."""
    frame: Json = {"type": "connect", "api_key": key}
    if variant.announces:
        frame["protocol_version"] = variant.announces
        if limit is not None:
            frame["recent_sessions_limit"] = limit
    if session_id is not None:
        frame["session_id"] = session_id
    return frame


def prompt(
    variant: Variant, text: str, session_id: str | None, *, new: bool, directory: str = ""
) -> Json:
    """A person's message: ``new`` chooses between the ids of a new and of a known session."""
    frame: Json = {"type": "prompt", "text": text}
    if variant.single_prompt_id:
        frame["session_id"] = session_id
    else:
        frame["new_session_id" if new else "resume_session_id"] = session_id
    if directory:
        frame["working_directory"] = directory
    return frame


def of_session(kind: str, session_id: str, **more: object) -> Json:
    """A message about one session."""
    return {"type": kind, "session_id": session_id, **more}
