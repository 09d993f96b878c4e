"""Audio of any kind becomes samples, frame by frame, within bounds.

What comes may be hostile. The demuxer is named by us, after a look at the first bytes, so nothing
is probed; only decoders of common audio may run; the bytes are the only thing FFmpeg may open.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import av
import numpy as np

from podiumd.speech.api import SAMPLE_RATES, AudioError
from podiumd.speech.audio.wav import sniff
from podiumd.speech.worker.source import File, Source, Stream

RATE: Final = 16_000
"""Samples a second, as Whisper takes them."""

_DEMUXERS: Final = {
    "wav": "wav",
    "m4a": "mov",
    "mp4": "mov",
    "webm": "matroska",
    "ogg": "ogg",
    "caf": "caf",
    "mp3": "mp3",
    "flac": "flac",
}
_CODECS: Final = (
    "aac", "alac", "flac", "mp3", "mp3float", "opus", "libopus", "vorbis", "libvorbis",
    "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le",
    "pcm_f32be", "pcm_u8", "pcm_s8", "pcm_alaw", "pcm_mulaw",
)  # fmt: skip
_JUMPS: Final = frozenset(("caf",))
_MOST_CHANNELS: Final = 8
_BAD_PACKETS: Final = 100
_HEAD: Final = 64


class Samples:
    """Decoded audio of one job: 16 kHz, one channel, 16 bits."""

    def __init__(self, max_seconds: int) -> None:
        self._data = bytearray()
        self._most = max_seconds * RATE * 2
        self._max_seconds = max_seconds

    def __len__(self) -> int:
        return len(self._data) // 2

    def add(self, data: bytes) -> None:
        """Add data. Raises ``AudioError`` (``too_long``), with all that fits taken."""
        self._data += data[: max(0, self._most - len(self._data))]
        if len(self._data) >= self._most:
            words = f"The audio is longer than {self._max_seconds} s (voice.max_seconds)."
            raise AudioError("too_long", words)

    def since(self, start: int, end: int | None = None) -> np.ndarray:
        """Return the samples from ``start`` on as floats between -1 and 1."""
        stop = len(self) if end is None else end
        data = bytes(self._data[2 * start : 2 * stop])
        return np.frombuffer(data, np.int16).astype(np.float32) / 32768.0


def decode(source: Source, format: str, sample_rate: int, samples: Samples) -> None:
    """Decode all of it, as it comes in.

    Raises ``AudioError``: ``too_long``, ``not_audio``, ``truncated``.
    """
    if format == "pcm16":
        pieces = _pcm(source, sample_rate)
    else:
        head = source.exactly(0, _HEAD)
        if not head:
            raise AudioError("not_audio", "The recording is empty.")
        pieces = _container(source, sniff(head) or format)
    try:
        for piece in pieces:
            samples.add(piece)
    except (av.error.FFmpegError, ValueError, OverflowError) as error:
        if not len(samples):
            raise _fault(source, format, error) from error
    if not len(samples) and format != "pcm16":
        raise AudioError("not_audio", "There is no sound in the recording.")


def _fault(source: Source, format: str, error: Exception) -> AudioError:
    if format in ("m4a", "mp4") and _first_box(source, b"moov", b"moof") == b"":
        words = "The recording is incomplete: its index, which comes last, is missing."
        return AudioError("truncated", words)
    reason = getattr(error, "strerror", None) or str(error)
    return AudioError("not_audio", f"This is no audio of the format '{format}': {reason}.")


def _pcm(source: Source, rate: int) -> Iterator[bytes]:
    resampler = None if rate == RATE else _resampler()
    offset = 0
    while True:
        data = source.at(offset, 65_536)
        if len(data) == 1:  # half a sample
            data = source.exactly(offset, 2)
        data = data[: len(data) & ~1]
        if not data:
            break
        offset += len(data)
        if resampler is None:
            yield data
            continue
        frame = av.AudioFrame.from_ndarray(
            np.frombuffer(data, np.int16).reshape(1, -1), format="s16", layout="mono"
        )
        frame.sample_rate = rate
        frame.time_base = Fraction(1, rate)
        yield from _resampled(resampler, frame)
    if resampler is not None and offset:
        yield from _resampled(resampler, None)


def _container(source: Source, format: str) -> Iterator[bytes]:
    if format not in _DEMUXERS:
        raise AudioError("not_audio", f"This is no audio of the format '{format}'.")
    jumps = format in _JUMPS or (
        _DEMUXERS[format] == "mov" and _first_box(source, b"moov", b"mdat") != b"moov"
    )
    options = {"codec_whitelist": ",".join(_CODECS), "protocol_whitelist": "none"}
    with av.open(
        File(source) if jumps else Stream(source),
        mode="r",
        format=_DEMUXERS[format],
        container_options=options,
        metadata_errors="ignore",
    ) as container:
        if not container.streams.audio:
            raise AudioError("not_audio", "There is no sound in the recording.")
        stream = container.streams.audio[0]
        _check(stream)
        yield from _decoded(container, stream)


def _check(stream: av.AudioStream) -> None:
    context = stream.codec_context
    low, high = SAMPLE_RATES
    if context.name not in _CODECS:
        raise AudioError("not_audio", f"Audio of the kind '{context.name}' is not read.")
    if not low <= context.sample_rate <= high or context.channels > _MOST_CHANNELS:
        found = f"{context.channels} channels at {context.sample_rate} Hz"
        raise AudioError("not_audio", f"Audio with {found} is not read.")


def _decoded(container: av.container.InputContainer, stream: av.AudioStream) -> Iterator[bytes]:
    resampler = _resampler()
    bad = 0
    for packet in container.demux(stream):
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            bad += 1  # a few broken packets are no reason to lose the rest
            if bad > _BAD_PACKETS:
                raise
            continue
        for frame in frames:
            frame.pts = None  # times in the container are the sender's claim
            yield from _resampled(resampler, frame)
    yield from _resampled(resampler, None)


def _resampler() -> av.AudioResampler:
    return av.AudioResampler(format="s16", layout="mono", rate=RATE)


def _resampled(resampler: av.AudioResampler, frame: av.AudioFrame | None) -> Iterator[bytes]:
    for out in resampler.resample(frame):
        # A plane may be longer than what is in it.
        yield bytes(out.planes[0])[: out.samples * 2]


def _first_box(source: Source, *kinds: bytes) -> bytes:
    """Return which of these boxes of an MP4 file stands first at its top level; empty: none."""
    offset = 0
    while True:
        head = source.exactly(offset, 16)
        if len(head) < 8:
            return b""
        size, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if kind in kinds:
            return kind
        if size == 1:
            size = int.from_bytes(head[8:16], "big")
        if size < 8:  # 0: to the end of the file; others are nonsense
            return b""
        offset += size
