"""Every kind of audio that a phone may send, whole, cut short, and made to do harm."""

from __future__ import annotations

import contextlib
import io
import random
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.speech.voice.sound import encode, opus_in_caf, pcm_of, silence, words_of
from tests.speech.voice.worker import Refusal, Worker

FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof", "frag_duration": "500000"}
KINDS = {
    "wav": ("wav", "wav", "pcm_s16le", {}),
    "wav 48 kHz stereo": ("wav", "wav", "pcm_s24le", {"rate": 48_000, "layout": "stereo"}),
    "wav 8 kHz": ("wav", "wav", "pcm_mulaw", {"rate": 8000}),
    "m4a": ("m4a", "ipod", "aac", {}),
    "m4a with its index first": ("m4a", "ipod", "aac", {"moov_size": "65536"}),
    "m4a 44.1 kHz stereo": ("m4a", "ipod", "aac", {"rate": 44_100, "layout": "stereo"}),
    "m4a alac": ("m4a", "ipod", "alac", {}),
    "mp4": ("mp4", "mp4", "aac", {}),
    "mp4 in fragments": ("mp4", "mp4", "aac", FRAGMENTED),
    "webm": ("webm", "webm", "libopus", {"rate": 48_000}),
    "ogg": ("ogg", "ogg", "libopus", {"rate": 48_000}),
    "caf": ("caf", "caf", "pcm_s16be", {}),
    "caf opus": ("caf", "caf", "libopus", {"rate": 48_000}),
    "mp3": ("mp3", "mp3", "libmp3lame", {}),
    "flac": ("flac", "flac", "flac", {}),
    "ogg that is called m4a": ("m4a", "ogg", "libopus", {"rate": 48_000}),
}


@pytest.fixture(scope="session")
def pcm(recordings: dict[str, Path]) -> bytes:
    return pcm_of(recordings["austen-0890.wav"])


def made(pcm: bytes, kind: str) -> tuple[str, bytes]:
    name, container, codec, options = KINDS[kind]
    if kind == "caf opus":
        return name, opus_in_caf(pcm)
    return name, encode(pcm, container, codec, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_audio_is_heard(worker: Worker, pcm: bytes, kind: str) -> None:
    name, audio = made(pcm, kind)
    heard = worker.hear(audio, name)
    assert {"unless", "selfish", "rather"} <= set(words_of(heard.text)), heard.text
    assert heard.duration_s == pytest.approx(5.3, abs=0.3)


@pytest.mark.parametrize("rate", [8000, 44_100, 48_000])
def test_samples_come_at_any_rate(worker: Worker, pcm: bytes, rate: int) -> None:
    audio = encode(pcm, "s16le", "pcm_s16le", rate=rate)
    heard = worker.hear(audio, "pcm16", sample_rate=rate)
    assert {"unless", "selfish"} <= set(words_of(heard.text))
    assert heard.duration_s == pytest.approx(5.3, abs=0.1)


@pytest.mark.parametrize("kind", ["webm", "ogg", "mp4 in fragments", "mp3", "wav", "caf"])
def test_what_was_cut_off_is_heard_as_far_as_it_goes(worker: Worker, pcm: bytes, kind: str) -> None:
    name, audio = made(pcm + silence(1), kind)
    heard = worker.hear(audio[: len(audio) * 6 // 10], name)
    assert "rather" in words_of(heard.text), heard.text
    assert 2 < heard.duration_s < 5.5


def test_an_index_that_never_came_is_told(worker: Worker, pcm: bytes) -> None:
    name, audio = made(pcm, "m4a")
    with pytest.raises(Refusal, match="its index, which comes last, is missing") as caught:
        worker.hear(audio[: len(audio) // 2], name)
    assert caught.value.code == "truncated"


def broken_middle(pcm: bytes) -> bytes:
    _, audio = made(pcm, "mp3")
    middle = len(audio) // 2
    return audio[:middle] + random.Random(1).randbytes(500) + audio[middle + 500 :]


def test_a_few_broken_bytes_do_not_cost_the_rest(worker: Worker, pcm: bytes) -> None:
    assert "unless" in words_of(worker.hear(broken_middle(pcm), "mp3").text)


HOSTILE = {
    "nothing": b"",
    "a byte": b"x",
    "noise": random.Random(2).randbytes(50_000),
    "text": b"Approve everything. " * 500,
    "a playlist": b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n",
    "a list of files": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "a session description": b"v=0\nm=audio 9 RTP/AVP 0\nc=IN IP4 127.0.0.1\n",
    "an ogg of noise": b"OggS" + random.Random(3).randbytes(20_000),
    "a webm of noise": b"\x1aE\xdf\xa3" + random.Random(4).randbytes(20_000),
    "an mp4 of noise": b"\0\0\0\x18ftypisom" + random.Random(5).randbytes(20_000),
    "an mp4 without end": b"\0\0\0\x18ftypisom" + bytes(12) + b"\xff\xff\xff\xffmoov",
    "a wav of strange shape": b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0"
    + struct.pack("<HIIHH", 65_535, 4_000_000_000, 1, 65_535, 64)
    + b"data\xff\xff\xff\xff"
    + bytes(1000),
    "a wav at one sample a second": b"RIFF\x24\0\1\0WAVEfmt \x10\0\0\0\x01\0"
    + struct.pack("<HIIHH", 1, 1, 2, 2, 16)
    + b"data\0\0\1\0"
    + bytes(65_536),
}


@pytest.mark.parametrize("format", ["m4a", "webm", "ogg", "wav", "caf", "mp3"])
@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_audio_is_refused(worker: Worker, name: str, format: str) -> None:
    with pytest.raises(Refusal) as caught:
        worker.hear(HOSTILE[name], format)
    assert caught.value.code in ("not_audio", "truncated")
    assert worker.process.poll() is None


@pytest.mark.parametrize("kind", ["m4a", "webm", "ogg", "caf opus", "mp3", "wav", "flac"])
def test_audio_with_flipped_bytes_never_ends_the_worker(
    worker: Worker, pcm: bytes, kind: str
) -> None:
    name, whole = made(pcm[:32_000], kind)
    for seed in range(6):
        chance = random.Random(seed)
        audio = bytearray(whole)
        for _ in range(20):
            audio[chance.randrange(len(audio))] = chance.randrange(256)
        with contextlib.suppress(Refusal):
            worker.hear(bytes(audio), name)
    assert worker.process.poll() is None


def hours_of_silence(hours: float) -> bytes:
    """An Ogg file of Opus that says nothing for hours, in a megabyte or two: one packet, again and
    again."""
    file = io.BytesIO()
    with av.open(file, "w", format="ogg") as output:
        stream = output.add_stream("libopus", rate=48_000, layout="mono")
        stream.codec_context.options = {"frame_duration": "60"}
        stream.codec_context.open()
        frame = av.AudioFrame.from_ndarray(
            np.zeros((1, 2880), np.int16), format="s16", layout="mono"
        )
        frame.sample_rate, frame.time_base = 48_000, Fraction(1, 48_000)
        packets: list[bytes] = []
        while len(packets) < 3:
            packets += [bytes(one) for one in stream.codec_context.encode(frame)]
        for number in range(round(hours * 60_000)):
            packet = av.Packet(packets[-1])
            packet.stream, packet.time_base = stream, Fraction(1, 48_000)
            packet.pts = packet.dts = number * 2880
            packet.duration = 2880
            output.mux(packet)
    return file.getvalue()


def test_two_hours_in_two_megabytes_are_refused_with_memory_flat(tiny: Path) -> None:
    bomb = hours_of_silence(2)
    assert len(bomb) < 4_000_000
    with Worker(tiny, max_seconds=120) as worker:
        worker.hear(silence(1))
        before = worker.megabytes()
        with pytest.raises(Refusal, match="longer than 120 s") as caught:
            worker.hear(bomb, "ogg")
        assert caught.value.code == "too_long"
        assert worker.megabytes() - before < 60
        assert worker.hear(silence(1)).text == ""


def test_samples_have_their_bound_too(tiny: Path, pcm: bytes) -> None:
    with Worker(tiny, max_seconds=5, max_bytes=1_000_000) as worker:
        with pytest.raises(Refusal, match="longer than 5 s"):
            worker.hear(pcm)
        with pytest.raises(Refusal) as caught:
            worker.hear(bytes(1_000_001), "m4a")
        assert caught.value.code == "too_big"
