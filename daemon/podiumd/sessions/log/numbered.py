"""The numbered messages of one session.

A message gets its ``seq`` when it is first seen and keeps it for ever: 1, 2, 3 and so on, in the
order of first sight. What is kept of it is its place in the transcript, not its words: a packed
record of 33 bytes, so that the longest session takes less memory than one page of its text.

When a transcript is rewritten, every message is lost at first and finds its place again when it is
read: that is a new *generation*. A message that is not found again is gone, but its number is not
given to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct

import msgspec

from podiumd.formats.message import Role
from podiumd.formats.session import Entry

PAGE = 256
"""Records of one stored page."""

# offset, length, forks_from, flags, identity
_RECORD = Struct("<QIIB16s")
_POSITION = Struct("<QI")
_FORKS_FROM = Struct("<I")
_FORKS_FROM_AT = _POSITION.size
_FLAGS_AT = 16
_IDENTITY_AT = 17
_LAST_BYTE = _RECORD.size - 1

# Part of a record that outlives the transcript: flags and identity.
_LASTING = Struct("<16x17s")
_LEDGER_ENTRY = Struct("<17s")

_ASSISTANT, _GONE, _FORK = 1, 2, 4
_MAKE_GONE = bytes(flags | _GONE for flags in range(256))
_IS_GONE = bytes(bool(flags & _GONE) for flags in range(256))

# Up to so many entries are looked up one by one; for more a dictionary of the log is quicker.
_FEW = 64


class Place(msgspec.Struct, frozen=True, gc=False):
    """The place where a numbered message stands.

    ``offset`` and ``length`` (bytes) are 0 when it is ``gone``. ``forks_from`` is the seq that a
    ``fork`` follows; 0 when that is not in the log or not known yet, and for every other message.
    """

    seq: int
    offset: int
    length: int
    role: Role
    identity: bytes
    fork: bool
    forks_from: int
    gone: bool


class Log:
    """The messages of one session by ``seq``, from 1 to ``last_seq`` without a hole."""

    def __init__(self, session_id: str, generation: int = 1, packed: bytes = b"") -> None:
        """Parameters: ``packed`` holds the records of a log that was stored, all its pages joined.

        Raises ``ValueError`` when that is not a whole number of records: read the transcript anew.
        """
        if len(packed) % _RECORD.size:
            raise ValueError(
                f"the log of session {session_id} is stored in {len(packed)} bytes, which is no"
                f" multiple of {_RECORD.size}"
            )
        self.session_id = session_id
        self.generation = generation
        self._packed = bytearray(packed)
        self._dirty: set[int] = set()

    @classmethod
    def from_ledger(cls, session_id: str, generation: int, entries: bytes) -> Log:
        """Build a log from what ``ledger`` returned: each message has its seq and is gone until
        appended.

        Raises ``ValueError`` when ``entries`` is not a whole number of ledger entries.
        """
        if len(entries) % _LEDGER_ENTRY.size:
            raise ValueError(
                f"the ledger of session {session_id} has {len(entries)} bytes, which is no multiple"
                f" of {_LEDGER_ENTRY.size}"
            )
        nowhere = bytes(_FLAGS_AT)
        parts = [nowhere + entry for (entry,) in _LEDGER_ENTRY.iter_unpack(entries)]
        log = cls(session_id, generation, b"".join(parts))
        log._lose_all()
        return log

    def copy(self) -> Log:
        """Copy the log: to be changed while this one is still read."""
        log = Log(self.session_id, self.generation, bytes(self._packed))
        log._dirty = set(self._dirty)
        return log

    def ledger(self) -> bytes:
        """Return what must survive for numbers to stay: each message's flags and identity, 17
        bytes."""
        return b"".join([entry for (entry,) in _LASTING.iter_unpack(self._packed)])

    @property
    def last_seq(self) -> int:
        """Return the newest message's seq; 0 for an empty log."""
        return len(self._packed) // _RECORD.size

    @property
    def gone(self) -> int:
        """Return how many messages are gone; none of a log that was never rewritten."""
        if self.generation == 1:
            return 0
        flags = self._packed[_FLAGS_AT :: _RECORD.size]
        return sum(flags.translate(_IS_GONE))

    def append(self, entries: Sequence[Entry]) -> list[int]:
        """Give each message that is new the next seq; returns those, in order.

        Parameters: ``entries`` in the order of the file. One that is known gets no seq: it is the
        same message again, and where it was gone it has its place back. A new one with a
        ``parent`` is a fork from 0 until ``set_fork`` is called.
        """
        known: dict[bytes, int] = {}
        seq_of: Callable[[bytes], int | None] = self.find
        if len(entries) > _FEW:
            records = _RECORD.iter_unpack(self._packed)
            known = {record[4]: seq for seq, record in enumerate(records, 1)}
            seq_of = known.get
        packed, pack = self._packed, _RECORD.pack
        before = last = self.last_seq
        for entry in entries:
            identity = entry.identity
            seq = seq_of(identity)
            if seq:
                self._put_back(seq, entry)
                continue
            last += 1
            known[identity] = last
            flags = _ASSISTANT if entry.role == "assistant" else 0
            if entry.parent is not None:
                flags |= _FORK
            packed += pack(entry.offset, entry.length, 0, flags, identity)
        if last > before:
            self._dirty.update(range(before // PAGE, self.page_count))
        return list(range(before + 1, last + 1))

    def rebuild(self, entries: Sequence[Entry]) -> list[int]:
        """Begin a new generation: the transcript was rewritten, and now holds ``entries``.

        Known messages keep their seq and get their new place, new ones come last in the order of
        the file, and those that are not in it are gone. What a message was first seen as (its
        role, a fork) it stays. Returns the seqs of the new ones.
        """
        self.generation += 1
        self._lose_all()
        return self.append(entries)

    def _lose_all(self) -> None:
        packed, count = self._packed, self.last_seq
        for column in range(_POSITION.size):
            packed[column :: _RECORD.size] = bytes(count)
        flags = packed[_FLAGS_AT :: _RECORD.size]
        packed[_FLAGS_AT :: _RECORD.size] = flags.translate(_MAKE_GONE)
        self._dirty.update(range(self.page_count))

    def _put_back(self, seq: int, entry: Entry) -> None:
        """Give a message that is gone its place; one that has a place keeps it."""
        start = (seq - 1) * _RECORD.size
        if self._packed[start + _FLAGS_AT] & _GONE:
            _POSITION.pack_into(self._packed, start, entry.offset, entry.length)
            self._packed[start + _FLAGS_AT] &= ~_GONE
            self._dirty.add((seq - 1) // PAGE)

    def find(self, identity: bytes) -> int:
        """Find the seq of the message with this identity; 0 when there is none."""
        packed = self._packed
        # The last bytes of all identities first: few agree.
        column = packed[_LAST_BYTE :: _RECORD.size]
        last = identity[-1]
        index = column.find(last)
        while index >= 0:
            if packed.startswith(identity, index * _RECORD.size + _IDENTITY_AT):
                return index + 1
            index = column.find(last, index + 1)
        return 0

    def place(self, seq: int) -> Place:
        """Return where a message stands. Raises ``IndexError`` for a seq that is not in the log."""
        return _place(seq, _RECORD.unpack_from(self._packed, self._start(seq)))

    def places(self, first: int, last: int) -> list[Place]:
        """Return where the messages ``first`` to ``last`` stand, as far as they are in the log."""
        first = max(first, 1)
        part = self._packed[(first - 1) * _RECORD.size : max(last, 0) * _RECORD.size]
        return [_place(seq, record) for seq, record in enumerate(_RECORD.iter_unpack(part), first)]

    def set_fork(self, seq: int, forks_from: int) -> None:
        """Say that a message follows message ``forks_from`` (0: one that is not in the log).

        Raises ``IndexError`` when either is not in the log.
        """
        start = self._start(seq)
        if forks_from:
            self._start(forks_from)
        _FORKS_FROM.pack_into(self._packed, start + _FORKS_FROM_AT, forks_from)
        self._packed[start + _FLAGS_AT] |= _FORK
        self._dirty.add((seq - 1) // PAGE)

    def _start(self, seq: int) -> int:
        if not 1 <= seq <= self.last_seq:
            raise IndexError(
                f"session {self.session_id} has messages 1 to {self.last_seq}, and none {seq}"
            )
        return (seq - 1) * _RECORD.size

    @property
    def page_count(self) -> int:
        """Return how many pages the log fills, the last one perhaps in part."""
        return -(-self.last_seq // PAGE)

    def dirty_pages(self) -> list[tuple[int, bytes]]:
        """Return the pages that changed since the last call, as (page number from 0, bytes)."""
        size = PAGE * _RECORD.size
        pages = [(n, bytes(self._packed[n * size : (n + 1) * size])) for n in sorted(self._dirty)]
        self._dirty.clear()
        return pages


def _place(seq: int, record: tuple[int, int, int, int, bytes]) -> Place:
    offset, length, forks_from, flags, identity = record
    return Place(
        seq=seq,
        offset=offset,
        length=length,
        role="assistant" if flags & _ASSISTANT else "user",
        identity=identity,
        fork=bool(flags & _FORK),
        forks_from=forks_from,
        gone=bool(flags & _GONE),
    )
