"""The common form of every agent's session file: a summary, and its messages' places. Pure.

A session file (*transcript*) holds one JSON record a line and only ever grows at its end. Some
lines are messages of the conversation; the rest is the agent's own. One format module an agent
decides which, in the shape given here, so that nothing else knows the agents' formats.

For any contents of a file, no function here or in a format module raises: a line that is no JSON
object is counted as bad, and a field of the wrong type is read as one that is not there.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, Protocol
from uuid import UUID, uuid5

import msgspec

from podiumd.formats.message import Message, Role

PROMPT_LIMIT: Final = 200
PREVIEW_LIMIT: Final = 120
NAME_LIMIT: Final = 60
TIPS_LIMIT: Final = 64
IDENTITY_BYTES: Final = 16
UUID_LENGTH: Final = 36
_REWOUND: Final = "rewound"
"""Tip of a conversation whose last messages were taken back."""

NAMED_BY_A_PERSON: Final = 3
"""The rank of a title that a person gave."""

_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_IS_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_AGENTS_OWN: Final = UUID("4c1e9f50-6d2b-5a37-9b0e-7f0a3d8c2e61")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Summary(msgspec.Struct, gc=False):
    """The summary of one session in the list; folded chunk by chunk, however the file is cut.

    ``cwd`` is that of the first record that names one. ``title`` is the best that the agent wrote,
    by rank, a later one of the same rank in place of an earlier. ``prompt`` is the first message of
    a person, ``preview`` the last message with words, both on one line and cut. ``first_at`` and
    ``last_at`` are timestamps as written, of the first and the last record *in the file* that has a
    valid one: clocks run back. ``lines`` counts every complete line, ``bad_lines`` those that are
    neither blank nor a JSON object, ``messages`` those that are messages.
    """

    cwd: str = ""
    title: str = ""
    title_rank: int = 0
    prompt: str = ""
    preview: str = ""
    first_at: str = ""
    last_at: str = ""
    messages: int = 0
    lines: int = 0
    bad_lines: int = 0

    @property
    def name(self) -> str:
        """Return the session's name: its title, else the start of the first prompt, else ``""``."""
        return self.title or one_line(self.prompt, NAME_LIMIT)

    @property
    def words(self) -> str:
        """Return all that it shows of what stands in the file."""
        return f"{self.title} {self.prompt} {self.preview} {self.cwd}"

    def entitle(self, title: str, rank: int) -> None:
        """Take a title unless a better one is known; blank ones are none."""
        words = one_line(title, PROMPT_LIMIT)
        if words and rank >= self.title_rank:
            self.title, self.title_rank = words, rank


class Entry(msgspec.Struct, frozen=True, gc=False):
    """The place of a message: ``offset`` and ``length`` in bytes, the newline left out.

    ``identity`` distinguishes the message from all others of its session (16 bytes). ``parent`` is
    set where the conversation forks: on a person's prompt that does not follow its tip, and on an
    answer to an earlier turn than the last. It is the uuid of the record that it follows, ``""`` if
    it follows none.
    """

    offset: int
    length: int
    identity: bytes
    role: Role
    parent: str | None = None


class Cursor(msgspec.Struct):
    """The memory of a scan for entries from chunk to chunk: what the next message may follow.

    ``tips``: the uuids of the last message and of the records of the tree after it, the newest
    last, at most ``TIPS_LIMIT``; a prompt follows one of these. Empty until the first message.
    ``turn``: those of the present turn's records, the last hundred or so; an answer follows one of
    these. ``links``: what the records of the tree that are no messages follow, packed as pairs of
    identities, all that were read since ``take_links``.
    """

    tips: list[str] = msgspec.field(default_factory=list)
    turn: list[str] = msgspec.field(default_factory=list)
    links: bytearray = msgspec.field(default_factory=bytearray)

    def copy(self) -> Cursor:
        """Copy the cursor without links: a scan moves on the one that it is given, even where it
        fails."""
        return Cursor(list(self.tips), list(self.turn))

    def reach(self, uuid: str) -> None:
        """Note a message: the conversation goes on from it."""
        self.tips = [uuid] if uuid else []
        turn = self.turn  # as in _note, which is one call too many for every message
        turn.append(uuid)
        if len(turn) > 2 * TIPS_LIMIT:
            del turn[:TIPS_LIMIT]

    def extend(self, uuid: str, parent: str | None) -> None:
        """Note a record of the tree that is no message.

        Parameters:
            parent: what it follows; ``""``: nothing, ``None``: it does not say. Where that is no
                tip, another writer wrote it, and who follows it does not follow the tip.
        """
        if self.tips and uuid and (parent is None or parent in self.tips):
            self.tips = [*self.tips[1 - TIPS_LIMIT :], uuid]
            self._note(uuid)

    def rewind(self) -> None:
        """Note that messages were taken back: the next prompt follows another than the last."""
        self.tips = [_REWOUND]

    def resume(self) -> str:
        """Note such a prompt, and return what it follows: that is not known."""
        self.tips = []
        return ""

    def link(self, uuid: str, parent: str) -> None:
        """Note what a record follows that is no message: a prompt may fork from there."""
        self.links += identity_of(uuid) + identity_of(parent)

    def take_links(self) -> bytes:
        """Return the links and hold none of them any longer, for the caller to store."""
        taken = bytes(self.links)
        self.links.clear()
        return taken

    def _note(self, uuid: str) -> None:
        self.turn.append(uuid)
        if len(self.turn) > 2 * TIPS_LIMIT:
            del self.turn[:TIPS_LIMIT]


Layout = Literal["projects", "days", "flat", "chats", "dated", "agents", "events"]
"""``projects``: a directory for each project, with files named by their session, and a directory of
companions for each session. ``days``: directories of year, month and day, with files whose names
end in the session's. ``flat``: files named by their session. The others are in
``podiumd.sessions.index.shapes``."""


class SessionFormat(Protocol):
    """A reader of one agent's session files. A chunk is whole lines, each ended by a newline."""

    @property
    def agent(self) -> str:
        """Return the format's name: the kind of agent that writes it, such as ``claude``."""

    @property
    def layout(self) -> Layout:
        """Return how the files lie below the agent's directory."""

    @property
    def beside(self) -> str:
        """Return the path, from a file's directory, of another that says more; ``""``: none."""

    def describe(self, summary: Summary, data: bytes) -> None:
        """Bring a summary forward by what stands in that file."""

    def fold(self, summary: Summary, chunk: bytes) -> None:
        """Bring a summary forward by the lines that come next in its file."""

    def entries(self, cursor: Cursor, chunk: bytes, base: int = 0) -> list[Entry]:
        """Return the places of the messages among the lines that come next, in their order.

        ``base`` is where the chunk begins in the file.
        """

    def message(self, line: bytes) -> Message | None:
        """Return the line's message; ``None`` if it is none. An entry's line always has one."""


class NoFormat:
    """The format of files whose agent is not known any more: nothing in them is a message."""

    agent: Final = ""
    layout: Final = "flat"
    beside: Final = ""

    def describe(self, summary: Summary, data: bytes) -> None:
        """Do nothing."""

    def fold(self, summary: Summary, chunk: bytes) -> None:
        """Count the lines."""
        summary.lines += chunk.count(b"\n")

    def entries(self, cursor: Cursor, chunk: bytes, base: int = 0) -> list[Entry]:
        """Find no message."""
        return []

    def message(self, line: bytes) -> Message | None:
        """Find none here either."""
        return None


def public_id(session_id: str) -> str:
    """Return the id by which clients know a session: an agent's own where that is a UUID.

    Of another it is a UUID that follows from it, for good.
    """
    if _IS_UUID.fullmatch(session_id):
        return session_id.lower()
    return str(uuid5(_AGENTS_OWN, session_id))


def identity_of(uuid: str) -> bytes:
    """Return the identity of a message whose record has this uuid, in any form."""
    if len(uuid) == UUID_LENGTH:
        try:
            data = bytes.fromhex(uuid.replace("-", ""))
        except ValueError:
            data = b""
        if len(data) == IDENTITY_BYTES:
            return data
    return _digest(uuid.encode("utf-8", "replace"))


def identity_of_line(line: bytes) -> bytes:
    """Return the identity of a message whose record has no uuid; the newline is left out."""
    return _digest(line)


def uuid_of(identity: bytes) -> str:
    """Return the identity as a uuid: that of the record where it has one in the usual form."""
    digits = identity.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:IDENTITY_BYTES]


def one_line(text: str, limit: int) -> str:
    """Return the words on one line, cut to ``limit`` characters with an ellipsis at the cut."""
    # More words than characters that are kept cannot matter, and a text may be megabytes long.
    words = " ".join(text.split(maxsplit=limit)[: limit + 1])
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def timestamp_of(since_1970: float) -> str:
    """Return milliseconds since 1970 as an RFC 3339 timestamp; ``""`` beyond all years."""
    try:
        moment = _EPOCH + timedelta(milliseconds=since_1970)
    except (OverflowError, ValueError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(timestamp: str) -> int | None:
    """Return an RFC 3339 timestamp as milliseconds since 1970, or ``None`` if it is none."""
    if not _RFC_3339.fullmatch(timestamp):
        return None
    try:
        return (datetime.fromisoformat(timestamp.upper()) - _EPOCH) // timedelta(milliseconds=1)
    except ValueError:
        return None
