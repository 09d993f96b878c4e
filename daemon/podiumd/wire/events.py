"""Events: what happens in runs, as it is stored and as it comes."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from podiumd.wire.fields import EventType, Json, JsonObject, Params, Position, Result
from podiumd.wire.method import Method, Notification
from podiumd.wire.questions import Question
from podiumd.wire.runs import Run


class Subscribe(Params, frozen=True, kw_only=True):
    """``events.subscribe``; ``types``: ``None`` is all of them."""

    types: tuple[EventType, ...] | None = None
    after: Position | None = None


class Subscribed(Result, frozen=True, kw_only=True):
    """The position at which a subscription begins."""

    pos: int


class Event(Result, frozen=True, kw_only=True):
    """An event. What is transient (``turn.output``, ``snapshot``) has no ``seq`` and no ``pos``."""

    seq: int | UnsetType = UNSET
    pos: int | UnsetType = UNSET
    type: str
    at: str
    run_id: str
    session_id: str | None
    data: Json


class TurnOutput(Result, frozen=True, kw_only=True):
    """The data of ``turn.output``: a piece of what an agent says. ``at`` are the characters of its
    kind before it in its ``part``."""

    turn_id: str
    uuid: str
    kind: str
    delta: str
    part: str
    at: int


class Snapshot(Result, frozen=True, kw_only=True):
    """The data of ``snapshot``: where a conversation stands, its phase, what has been saved, and
    what it waits for."""

    run_id: str
    session_id: str
    phase: str | None
    ctx: JsonObject
    question: Question | None
    run: Run


class Stopping(Result, frozen=True, kw_only=True):
    """The treatment of the turns that run when the daemon stops."""

    turns: Literal["leave", "interrupt"]


class FeedClosed(Result, frozen=True, kw_only=True):
    """The reason why a feed cannot go on: ``slow``, or what failed."""

    feed: str
    reason: str


SUBSCRIBE = Method[Subscribe, Subscribed]("events.subscribe", "Follow every event.", needs="look")
EVENT = Notification[Event]("event", "An event of a subscription.")
RUN_EVENT = Notification[Event]("run.event", "An event of a run that is followed.")
STOPPING = Notification[Stopping]("daemon.stopping", "The daemon takes no more requests.")
FEED_CLOSED = Notification[FeedClosed]("feed.closed", "A feed has failed: connect again.")
