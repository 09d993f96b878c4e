"""The jobs of the worker: audio comes in and is decoded side by side, and read one at a time.

A thread takes frames from the daemon, one more for each job decodes. The main thread reads: jobs
that have ended come first, in the order of their ends; jobs still spoken have what is left.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, Final

import msgspec

from podiumd.speech.api import AudioError
from podiumd.speech.engines import wire
from podiumd.speech.worker.decode import Samples, decode
from podiumd.speech.worker.dictation import Dictation
from podiumd.speech.worker.source import Source
from podiumd.speech.worker.whisper import Whisper

_LOOK_SECONDS: Final = 0.2
"""Growing audio is looked at this often at most."""

Send = Callable[[wire.Line], None]


class Dropped(Exception):
    """The job that is being read is not wanted any more."""


class Stream:
    """A job: its bytes, what is decoded of them, and what is read."""

    def __init__(self, number: int, asked: wire.Opened, setup: wire.Setup) -> None:
        self.number = number
        self.source = Source()
        self.ended = 0.0
        """When all had come, by the monotonic clock; 0: more will."""
        self.cancelled = False
        self.decoded = False
        self.fault: AudioError | None = None
        samples = Samples(setup.max_seconds)
        self.dictation = Dictation(samples, asked.language, asked.hotwords, asked.partials)
        self._asked = asked
        self._max_bytes = setup.max_bytes

    def decode(self) -> None:
        """Decode to the end; what goes wrong is noted."""
        try:
            samples = self.dictation.samples
            decode(self.source, self._asked.format, self._asked.sample_rate, samples)
        except AudioError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - whatever a decoder does, the job gets it
            words = f"The audio cannot be decoded: {type(error).__name__}: {error}"
            self._fail(AudioError("not_audio", words))
        self.source.clear()

    def add(self, data: bytes) -> None:
        """More of its bytes."""
        if len(self.source) + len(data) > self._max_bytes:
            words = f"The audio has more than {self._max_bytes} bytes."
            self._fail(AudioError("too_big", words))
            self.source.clear()
        elif self.fault is None:
            self.source.add(data)

    def _fail(self, fault: AudioError) -> None:
        """Note a fault; the first one is the cause of those that follow."""
        if self.fault is None:
            self.fault = fault


class Jobs:
    """See the module."""

    def __init__(self, setup: wire.Setup, send: Send) -> None:
        self._setup = setup
        self._send = send
        self._streams: dict[int, Stream] = {}
        self._changed = threading.Condition()

    # --- the thread that takes frames --------------------------------------------------------

    def take_frames(self, frames: BinaryIO) -> None:
        """Take frames until the daemon closes the pipe, then end the process: no reader is left."""
        status = 0
        try:
            while (body := read_frame(frames)) is not None:
                self._take(*wire.take_apart(body))
        except (ValueError, msgspec.MsgspecError) as error:
            self._send(wire.Broken(f"The daemon sends what cannot be read: {error}"))
            status = 1
        os._exit(status)  # the main thread may be in the middle of a window

    def _take(self, kind: bytes, number: int, content: bytes) -> None:
        with self._changed:
            stream = self._streams.get(number)
            if kind == wire.OPEN:
                self._open(number, msgspec.json.decode(content, type=wire.Opened))
            elif stream is None:
                return  # it was refused, or cancelled
            elif kind == wire.DATA:
                stream.add(content)
            elif kind == wire.END:
                stream.dictation.hotwords = msgspec.json.decode(content, type=wire.Ended).hotwords
                stream.source.finish()
                stream.ended = time.monotonic()
            elif kind == wire.CANCEL:
                stream.cancelled = True
                stream.source.clear()
                del self._streams[number]
            else:
                raise ValueError(f"a frame of the kind {kind!r}")
            self._changed.notify_all()

    def _open(self, number: int, asked: wire.Opened) -> None:
        stream = Stream(number, asked, self._setup)
        self._streams[number] = stream
        name = f"decode-{number}"
        threading.Thread(target=self._decode, args=(stream,), name=name, daemon=True).start()

    def _decode(self, stream: Stream) -> None:
        stream.decode()
        with self._changed:
            stream.decoded = True
            self._changed.notify_all()

    # --- the main thread ---------------------------------------------------------------------

    def serve(self, whisper: Whisper) -> None:
        """Read one job after the other, for ever."""
        if not self._ended_already():
            whisper.warm_up()
        while True:
            stream = self._next()
            try:
                if stream.fault is not None:
                    self._refuse(stream, stream.fault)
                elif stream.decoded and stream.ended:
                    self._finish(stream, whisper)
                else:
                    self._look(stream, whisper)
            except Dropped:
                continue

    def _next(self) -> Stream:
        """Wait for something to do."""
        with self._changed:
            while True:
                found = self._due() or self._growing()
                if found is not None:
                    return found
                # Audio comes in through other threads, which do not report each piece.
                live = any(not stream.ended for stream in self._streams.values())
                self._changed.wait(_LOOK_SECONDS if live else None)

    def _due(self) -> Stream | None:
        for stream in self._streams.values():
            if stream.fault is not None and (stream.decoded or stream.fault.code == "too_big"):
                return stream
        due = [stream for stream in self._streams.values() if stream.decoded and stream.ended]
        return min(due, key=lambda stream: stream.ended, default=None)

    def _growing(self) -> Stream | None:
        if any(stream.ended for stream in self._streams.values()):
            return None  # its last bytes are being decoded: be ready for it
        now = time.monotonic()
        streams = self._streams.values()
        return next((one for one in streams if one.dictation.worth_a_look(now)), None)

    def _finish(self, stream: Stream, whisper: Whisper) -> None:
        heard = stream.dictation.finish(whisper, lambda: self._alive(stream))
        self._close(stream)
        self._send(wire.Answered(stream.number, heard))

    def _look(self, stream: Stream, whisper: Whisper) -> None:
        text = stream.dictation.look(whisper, lambda: self._quick(stream), busy=_is_busy())
        if text is not None and not stream.ended:
            self._send(wire.Partial(stream.number, text))

    def _refuse(self, stream: Stream, fault: AudioError) -> None:
        self._close(stream)
        self._send(wire.Refused(stream.number, fault.code, fault.message))

    def _close(self, stream: Stream) -> None:
        with self._changed:
            self._streams.pop(stream.number, None)
        stream.source.clear()

    def _ended_already(self) -> bool:
        with self._changed:
            return any(stream.ended for stream in self._streams.values())

    def _quick(self, stream: Stream) -> None:
        """Interrupt a look for a job that has ended. Raises ``Dropped``."""
        if self._ended_already():
            raise Dropped
        self._alive(stream)

    def _alive(self, stream: Stream) -> None:
        if stream.cancelled:
            raise Dropped
        self._send(wire.Working(stream.number))


def read_frame(frames: BinaryIO) -> bytes | None:
    """Read the next frame without its length; ``None`` at the end. Raises ValueError."""
    head = frames.read(wire.HEAD_BYTES)
    if len(head) < wire.HEAD_BYTES:
        return None
    length = int.from_bytes(head, "big")
    if length > wire.LARGEST_FRAME:
        raise ValueError(f"a frame of {length} bytes")
    body = frames.read(length)
    return body if len(body) == length else None


def _is_busy() -> bool:
    """Return whether others keep all processors busy: only needed readings are made then."""
    return os.getloadavg()[0] > (os.cpu_count() or 1) + 0.5
