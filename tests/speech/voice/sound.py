"""Audio for the tests: samples, other containers, made voices; and how wrong a text is."""

from __future__ import annotations

import io
import re
import struct
import subprocess
import wave
from pathlib import Path
from typing import Any

import av
import numpy as np

from tests.needs import need
from tests.patience import HANG_SECONDS

RATE = 16_000
NUMBERS = {"10": "ten", "mr": "mister", "centre": "center"}


def pcm_of(path: Path) -> bytes:
    """The samples of a recording at 16 kHz, one channel."""
    if path.suffix == ".raw":
        return path.read_bytes()
    container_format = "g722" if path.suffix == ".g722" else None
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    data = b""
    with av.open(str(path), format=container_format) as container:
        for frame in [*container.decode(audio=0), None]:
            for out in resampler.resample(frame):
                data += bytes(out.planes[0])[: out.samples * 2]
    return data


def encode(
    pcm: bytes,
    container: str,
    codec: str,
    *,
    rate: int = RATE,
    layout: str = "mono",
    **options: str,
) -> bytes:
    """These samples in another container."""
    file = io.BytesIO()
    with av.open(file, "w", format=container, options=options) as output:
        stream: Any = output.add_stream(codec, rate=rate, layout=layout)
        resampler = av.AudioResampler(format=stream.format.name, layout=layout, rate=rate)
        fifo = av.AudioFifo()
        samples = np.frombuffer(pcm, np.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate = RATE
        for one in [*resampler.resample(frame), *resampler.resample(None)]:
            one.pts = None
            fifo.write(one)
        size = stream.codec_context.frame_size or 1024
        while piece := fifo.read(size, partial=True):
            output.mux(stream.encode(piece))
        output.mux(stream.encode(None))
    return bytes(file.getvalue())


def opus_in_caf(pcm: bytes) -> bytes:
    """These samples as an iPhone's recorder writes Opus, which FFmpeg reads and does not write."""
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format = RATE, "mono", "s16"
    encoder.open()
    packets = []
    size = encoder.frame_size * 2
    for start in range(0, len(pcm), size):
        samples = np.frombuffer(pcm[start : start + size].ljust(size, b"\0"), np.int16)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = RATE
        packets += [bytes(one) for one in encoder.encode(frame)]
    packets += [bytes(one) for one in encoder.encode(None)]
    frames = 48_000 * encoder.frame_size // RATE
    shape = struct.pack(">d4sIIIII", 48_000.0, b"opus", 0, 0, frames, 1, 0)
    table = struct.pack(">qqii", len(packets), len(packets) * frames, 0, 0)
    table += b"".join(_length(len(packet)) for packet in packets)
    data = bytes(4) + b"".join(packets)
    chunks = ((b"desc", shape), (b"pakt", table), (b"data", data))
    return b"caff\0\x01\0\0" + b"".join(
        kind + struct.pack(">q", len(content)) + content for kind, content in chunks
    )


def _length(number: int) -> bytes:
    """Seven bits a byte, the last one without its highest bit."""
    return bytes([number >> 7 | 0x80, number & 0x7F]) if number > 127 else bytes([number])


def spoken(text: str, voice: str = "slt") -> bytes:
    """A made voice says this."""
    need("flite")
    command = ["flite", "-voice", voice, "-t", text, "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=HANG_SECONDS)
    with wave.open(io.BytesIO(done.stdout)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        return bytes(file.readframes(len(done.stdout)))


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * RATE))


def words_of(text: str) -> list[str]:
    """The words as they are compared: small, without marks, numbers written out."""
    plain = re.sub(r"[^a-z0-9' ]+", " ", text.lower())
    return [NUMBERS.get(word, word) for word in plain.split()]


def errors(said: str, heard: str) -> int:
    """How many words are missing, wrong or too many."""
    wanted, got = words_of(said), words_of(heard)
    row = list(range(len(got) + 1))
    for i, word in enumerate(wanted, 1):
        above, row[0] = row[0], i
        for j, other in enumerate(got, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (word != other))
    return row[-1]
