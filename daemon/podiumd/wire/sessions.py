"""Sessions: prompts, lists, messages, and who holds what."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from podiumd.formats.message import Block, Role
from podiumd.wire.fields import (
    Directory,
    Done,
    File,
    Files,
    Id,
    ModelName,
    Name,
    Nothing,
    PageSize,
    Params,
    Position,
    Result,
    Text,
    Time,
    Token,
)
from podiumd.wire.method import Method, Notification
from podiumd.wire.runs import Turn

Delivery = Literal["sent", "queued", "steered", "next prompt", "phase"]
EncodedMessage = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Message"})]
"""A message as JSON: read from a transcript it is written once for all who follow."""

# -- parameters ------------------------------------------------------------------------------


class Prompt(Params, frozen=True, kw_only=True):
    """``sessions.prompt``."""

    text: Text
    session_id: Id | None = None
    working_directory: Directory | None = None
    agent: Name | None = None
    model: ModelName | None = None
    script: File | None = None
    files: Files | None = None
    if_busy: Literal["refuse", "queue", "steer"] = "refuse"
    fork: bool = False
    take_over: bool = False
    wait: bool = False
    permission_mode: Name | None = None
    client_token: Token | None = None


class OneSession(Params, frozen=True, kw_only=True):
    """Methods that need only a session."""

    session_id: Id


class ListSessions(Params, frozen=True, kw_only=True):
    """``sessions.list``; ``before``: a ``last_modified``."""

    working_directory: Directory | None = None
    limit: PageSize = 50
    before: Time | None = None


class SessionMessages(Params, frozen=True, kw_only=True):
    """``sessions.messages`` and ``sessions.subscribe``."""

    session_id: Id
    after_seq: Position | None = None
    limit: PageSize = 100


# -- results ---------------------------------------------------------------------------------


class Went(Result, frozen=True, kw_only=True):
    """The destination of a prompt. ``uuid`` names words that go to a conversation."""

    session_id: str | None
    turn_id: str | None
    run_id: str
    delivery: Delivery
    uuid: str | UnsetType = UNSET


class LockHolder(Result, frozen=True, kw_only=True, omit_defaults=True):
    """The holder of a session or a working tree; what is not known is left out."""

    kind: Literal["run", "prompt", "foreign"]
    id: str | None = None
    pid: int | None = None
    since: str | None = None


class Lock(Result, frozen=True, kw_only=True, omit_defaults=True):
    """A session or a working tree that is held."""

    session_id: str | None = None
    working_directory: str | None = None
    holder: LockHolder


class ActiveRecipe(Result, frozen=True, kw_only=True):
    """The recipe that runs in a session, and where it stands."""

    run_id: str
    recipe_id: str
    current_step: str | None
    step_count: int
    max_total_steps: int | None


class Session(Result, frozen=True, kw_only=True):
    """A session of any origin. ``gone``: its transcript is not there any more; ``size`` is in
    bytes."""

    session_id: str
    agent: str
    name: str
    working_directory: str | None
    created: str | None
    last_modified: str
    message_count: int
    preview: str
    holder: LockHolder | None
    active_recipe: ActiveRecipe | None
    gone: bool
    size: int
    subagents: int
    tool_results: int


class SessionsPage(Result, frozen=True, kw_only=True):
    """Sessions, newest first; ``total`` counts all."""

    sessions: tuple[Session, ...]
    total: int


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a session.

    ``forks_from``: it does not follow the message before it but the one of that ``seq`` (0: one
    that is not in the log). ``gone``: its line is no longer in the transcript.
    """

    seq: int
    uuid: str
    role: Role
    text: str
    timestamp: str
    blocks: tuple[Block, ...]
    forks_from: int | None = None
    gone: bool = False


class MessagesPage(Result, frozen=True, kw_only=True):
    """Messages of a session, and where they stand in its log.

    ``first_seq`` and ``last_seq`` are those of the whole log (0: it is empty), ``first_uuid`` is
    that of message 1, which distinguishes one log from another. ``gone`` counts the messages whose
    lines are no longer in the transcript. ``next_seq`` is the cursor for what follows;
    ``complete``: nothing follows yet.
    """

    messages: tuple[EncodedMessage, ...]
    first_seq: int
    first_uuid: str | None
    last_seq: int
    next_seq: int
    complete: bool
    generation: int
    gone: int


class NewMessages(Result, frozen=True, kw_only=True):
    """Messages that a session has grown by; see ``MessagesPage``."""

    session_id: str
    messages: tuple[EncodedMessage, ...]
    first_uuid: str | None
    last_seq: int
    next_seq: int
    generation: int
    gone: int


# -- methods ---------------------------------------------------------------------------------

COMPACT = Method[OneSession, Done](
    "sessions.compact", "Have the agent sum a session up.", pace="waiting", needs="work"
)
FORGET = Method[OneSession, Done]("sessions.forget", "Drop a session that is gone.")
GET = Method[OneSession, Session]("sessions.get", "One session.", reads=True, needs="look")
INTERRUPT = Method[OneSession, Done](
    "sessions.interrupt", "Stop the session's turn.", pace="waiting", needs="work"
)
LIST = Method[ListSessions, SessionsPage](
    "sessions.list", "Sessions, newest first.", reads=True, needs="look"
)
LOCKS = Method[Nothing, list[Lock]](
    "sessions.locks", "Who holds which session and tree.", reads=True, needs="look"
)
MESSAGES = Method[SessionMessages, MessagesPage](
    "sessions.messages", "Messages of a session.", reads=True, needs="look"
)
PROMPT = Method[Prompt, Went | Turn](
    "sessions.prompt", "Send one prompt.", pace="waiting", needs="work"
)
SUBSCRIBE = Method[SessionMessages, MessagesPage](
    "sessions.subscribe", "Messages of a session, and follow them.", needs="look"
)
UNSUBSCRIBE = Method[OneSession, Done](
    "sessions.unsubscribe", "Follow a session no more.", needs="look"
)
NEW_MESSAGES = Notification[NewMessages]("session.messages", "A followed session has grown.")
