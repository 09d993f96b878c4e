"""Small parts: frames, first bytes, heads of files, agreement, growing sources."""

from __future__ import annotations

import io
import threading
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.speech.audio import wav
from podiumd.speech.audio.sniff import sniff
from podiumd.speech.engines import wire
from podiumd.speech.worker.agreement import Agreement
from podiumd.speech.worker.source import File, Source, Stream
from tests.patience import HANG_SECONDS


@given(st.sampled_from([wire.OPEN, wire.DATA]), st.integers(0, 2**32 - 1), st.binary())
def test_a_frame_is_taken_apart_as_it_was_made(kind: bytes, job: int, content: bytes) -> None:
    made = wire.frame(kind, job, content)
    assert int.from_bytes(made[:4], "big") == len(made) - 4
    assert wire.take_apart(made[4:]) == (kind, job, content)


def test_a_frame_without_a_job_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame of 3 bytes"):
        wire.take_apart(b"abc")


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b"RIFF\x24\0\0\0WAVEfmt ", "wav"),
        (b"\0\0\0\x1cftypM4A ", "m4a"),
        (b"\0\0\0\x18ftypisom", "mp4"),
        (b"\0\0\0\x18styp", "mp4"),
        (b"OggS\0\x02", "ogg"),
        (b"\x1aE\xdf\xa3", "webm"),
        (b"caff\0\x01", "caf"),
        (b"fLaC", "flac"),
        (b"ID3\x04", "mp3"),
        (b"\xff\xfb\x90\x64", "mp3"),
        (b"\xff\xf1\x50\x80", None),
        (b"\xff\xfb\xf0\x64", None),
        (b"#EXTM3U\n", None),
        (b"ffconcat version 1.0", None),
        (b"RIFF\x24\0\0\0AVI ", None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_a_container_is_known_by_its_first_bytes(head: bytes, format: str | None) -> None:
    assert sniff(head) == format


@pytest.mark.parametrize("rate", [8000, 16_000, 48_000])
def test_a_head_makes_a_wav_file(rate: int) -> None:
    data = bytes(range(200))
    with wave.open(io.BytesIO(wav.head(len(data), rate) + data)) as file:
        assert file.getparams()[:4] == (1, 2, rate, 100)
        assert file.readframes(100) == data
    assert wav.rate_of(wav.head(0, rate)) == rate


def test_only_words_that_two_readings_agree_on_are_told() -> None:
    agreement = Agreement()
    told = [
        agreement.take(text)
        for text in (
            "And",
            "And Mister",
            "And Mr. John dash",
            "And Mr. John, Dashwood had",
            "And",
            "And Mr",
            "And Mr. John Dashwood had then",
            "And Mr. John Dashwood had then leisure",
        )
    ]
    assert told == [
        "",
        "And",
        "And",
        "And Mr. John,",
        "And Mr. John,",
        "And Mr. John,",
        "And Mr. John,",
        "And Mr. John Dashwood had then",
    ]


@given(st.lists(st.text("ab .", max_size=12)))
def test_what_was_told_never_gets_shorter(readings: list[str]) -> None:
    agreement, last = Agreement(), 0
    for text in readings:
        told = len(agreement.take(text).split())
        assert told >= last
        last = told


def test_a_reader_waits_for_what_has_not_come_yet() -> None:
    source, read = Source(), list[bytes]()

    def follow() -> None:
        stream = Stream(source)
        while data := stream.read():
            read.append(data)

    thread = threading.Thread(target=follow)
    thread.start()
    for piece in (b"one", b"two"):
        source.add(piece)
    source.finish()
    thread.join(HANG_SECONDS)
    assert b"".join(read) == b"onetwo" and not thread.is_alive()


def test_a_file_is_jumped_in() -> None:
    source = Source()
    source.add(b"0123456789")
    source.finish()
    file = File(source)
    assert file.seekable() and file.seek(8) == 8 and file.read(9) == b"89"
    assert file.seek(-4, 1) == file.tell() == 6 and file.read(1) == b"6"
    assert file.seek(99) == 99 and file.read(1) == b""
    assert file.seek(-1, 2) == 9 and file.read(1) == b"9"


def test_what_is_decoded_is_forgotten() -> None:
    source = Source()
    source.add(bytes(100))
    source.clear()
    assert len(source) == 0 and source.at(0, 9) == source.exactly(0, 9) == b""
