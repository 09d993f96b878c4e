"""Requests of phones: one struct a message, its fields with the words for what they take. Pure.

A field that may be left out may also be null or empty; it is ``None`` then.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from podiumd.gateway.fields import Id, Place, Uuid, Words

RECENT: Final = 5
"""Recent sessions that a phone is shown which asks for no number."""
MOST_RECENT: Final = 50

Position = Annotated[int, Meta(ge=0, le=2**53)]
Count = Annotated[int, Meta(ge=0)]
AudioFormat = Literal["pcm16", "wav", "m4a", "mp4", "webm", "ogg", "caf"]


SESSION_IDS: Final = ("session_id", "resume_session_id", "new_session_id")
"""The fields by which a message names a session."""


class Request(msgspec.Struct):
    """The base of all messages of phones. ``ECHOED``: fields of which an empty text is not the same
    as none."""

    ECHOED: ClassVar[tuple[str, ...]] = ()

    @property
    def about(self) -> str | None:
        """Return the session that it names."""
        named = (getattr(self, name, None) for name in SESSION_IDS)
        return next(filter(None, named), None)


class Ping(Request):
    """Answered by a pong, in its turn."""


class _Recent(Request):
    recent_sessions_limit: Count | None = None

    @property
    def recent(self) -> int:
        """Return how many recent sessions the phone wants."""
        limit = self.recent_sessions_limit
        return RECENT if limit is None else min(limit, MOST_RECENT)


class Connect(_Recent):
    """The first message. Nothing in it is refused for its form: a wrong key is a wrong key."""

    ECHOED = ("session_id",)

    api_key: Any = None
    protocol_version: Any = None
    session_id: str | None = None
    speak: bool | None = None
    """True if it wants words to speak aloud."""

    @property
    def echo(self) -> str | None:
        """Return the session id that the answer repeats, as it came."""
        return self.session_id


class RefreshSessions(_Recent):
    """The lists of sessions once more."""


class Subscribe(Request):
    """Follow a session, after a cursor of the phone's version."""

    session_id: Id
    last_seq: Position | None = None
    from_offset: Position | None = None
    file_signature_seen: str | None = None
    last_message_id: str | None = None


class _OfSession(Request):
    session_id: Id


class Unsubscribe(_OfSession):
    """Follow no longer."""


class SessionDeleted(_OfSession):
    """Stop all reports of the session to this connection."""


class CompactSession(_OfSession):
    """Sum the session up."""


class KillSession(_OfSession):
    """Stop what the session's agent does."""


class ExitRecipe(_OfSession):
    """End the recipe."""


class PauseRecipe(_OfSession):
    """Pause the recipe when its turn ends."""


class ResumeRecipe(_OfSession):
    """Go on with the recipe."""


class Prompt(Request):
    """Words for an agent: in the session ``new_session_id`` begins, or one there is, or any."""

    text: Words
    new_session_id: Uuid | None = None
    resume_session_id: Id | None = None
    session_id: Id | None = None
    working_directory: Place | None = None
    provider: Id | None = None
    system_prompt: Words | None = None
    ios_session_id: str | None = None

    def __post_init__(self) -> None:
        if self.new_session_id and self.resume_session_id:
            raise ValueError("give new_session_id or resume_session_id, not both")


class Steer(_OfSession):
    """Words for the turn that runs."""

    text: Words


class SetMaxMessageSize(Request):
    """Set how large a frame may be."""

    size_kb: Annotated[int, Meta(ge=1)]


class MessageAck(Request):
    """A message was received. Nothing waits for it."""

    message_id: Any = None


class InferSessionName(_OfSession):
    """Find a name for a session."""

    message_text: Words


class CreateWorktreeSession(Request):
    """A session in a working tree of its own."""

    session_name: Words
    parent_directory: Place
    provider: Id | None = None


class ExecuteCommand(Request):
    """Run a command that was offered."""

    command_id: Words
    working_directory: Place | None = None


class GetCommandHistory(Request):
    """Commands that were run, newest first."""

    working_directory: Place | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


class GetCommandOutput(Request):
    """Request all that a command printed."""

    command_session_id: Id


class UploadFile(Request):
    """A file, in base64."""

    filename: Words
    content: str
    storage_location: Place


class ListResources(Request):
    """The files that were uploaded."""

    storage_location: Place


class DeleteResource(Request):
    """Remove a file that was uploaded; ``path`` is an older way to name it."""

    storage_location: Place
    filename: Words | None = None
    path: Place | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("filename is missing: expected the name of a file")

    @property
    def name(self) -> str:
        return self.filename or (self.path or "").rpartition("/")[2]


class GetAvailableRecipes(Request):
    """The recipes that can be started; those of a project too where a directory is given."""

    working_directory: Place | None = None


class StartRecipe(Request):
    """Start a recipe, in a new session where none is named."""

    recipe_id: Id
    session_id: Id | None = None
    working_directory: Place | None = None
    provider: Id | None = None
    ios_session_id: str | None = None


class SetDirectory(Request):
    """Set the directory that is meant by messages without one."""

    path: Place


class SetOrchestration(Request):
    """Recipes on or off."""

    enabled: bool


class AnswerQuestion(Request):
    """A person's answer."""

    question_id: Id
    answer: Words
    note: Words | None = None


class VoiceStart(Request):
    """Speech follows in binary messages; with ``from_frame`` that of before goes on."""

    utterance_id: Id
    format: AudioFormat
    deliver: Literal["text", "prompt"] = "text"
    sample_rate: Annotated[int, Meta(ge=8000, le=192_000)] | None = None
    session_id: Id | None = None
    language: Id | None = None
    from_frame: Annotated[int, Meta(ge=0, lt=2**32)] | None = None


class VoiceEnd(Request):
    """End an utterance: it is complete."""

    utterance_id: Id


class VoiceCancel(Request):
    """Forget the utterance."""

    utterance_id: Id


class VoiceFrame(Request):
    """A piece of the utterance that was last started on this connection."""

    number: int
    audio: bytes
