"""When long speech is settled, and what is read at its end; no model is needed here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podiumd.speech.api import AudioError, Heard
from podiumd.speech.worker import dictation
from podiumd.speech.worker.decode import RATE, Samples
from podiumd.speech.worker.dictation import Dictation
from podiumd.speech.worker.vad import Span, Speech
from podiumd.wire.voice import Segment


def spans(*seconds: tuple[float, float]) -> list[Span]:
    return [Span(round(start * RATE), round(end * RATE)) for start, end in seconds]


@pytest.mark.parametrize(
    ("spoken", "length", "cut"),
    [
        ([], 30, 0),
        ([(0, 5)], 5.2, 0),
        ([(0, 9)], 9.5, 0),
        ([(0, 9)], 10.2, 9.6),
        ([(0, 9), (10, 11)], 11, 9.5),
        ([(0, 4), (5, 9), (10, 11)], 11, 9.5),
        ([(0, 9), (10, 20), (21, 22)], 22, 20.5),
        ([(0, 9), (10, 27), (28, 29)], 29, 9.5),
        ([(20, 25)], 25.2, 0),
        ([(0, 25.9)], 26, 0),
        ([(0, 27)], 27, 26),
        ([(1, 4), (5, 28)], 28, 4.5),
    ],
)
def test_a_piece_ends_in_a_pause_or_at_the_latest_moment(
    spoken: list[tuple[float, float]], length: float, cut: float
) -> None:
    found = dictation._cut(spans(*spoken), round(length * RATE))
    assert found / RATE == pytest.approx(cut, abs=0.01)


class FakeWhisper:
    """Reads the length of what it is given, in seconds."""

    def __init__(self, costs: float) -> None:
        self.costs = costs
        self.read_seconds: list[float] = []

    def read(self, speech: Speech, *_: object, beam: int = 5) -> Heard:
        self.read_seconds.append(speech.seconds)
        text = f"{speech.seconds:g}s"
        return Heard(text=text, language="en", segments=(Segment(0, speech.seconds, text),))

    def seconds_for(self, _: float) -> float:
        return self.costs


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """All audio is speech; the phrases in it are set by the test."""
    found: list[Span] = []
    monkeypatch.setattr(dictation, "phrases", lambda _: list(found))
    monkeypatch.setattr(
        dictation,
        "find_speech",
        lambda audio: Speech(audio, (Span(0, len(audio)),)) if len(audio) else None,
    )
    return found


def spoken(said: list[Span], whisper: Any) -> tuple[Dictation, str | None]:
    samples = Samples(60)
    long = Dictation(samples, None, ("podium",), True)
    samples.add(bytes(2 * 12 * RATE))
    said[:] = spans((0, 9), (10, 12))
    return long, long.look(whisper, lambda: None, busy=True)


def test_what_is_settled_is_told_also_on_a_busy_machine(said: list[Span]) -> None:
    long, told = spoken(said, FakeWhisper(9))
    assert told == "9.5s"
    assert long.worth_a_look(1e12) is False  # nothing new


def test_a_costly_whole_is_put_together_from_its_pieces(said: list[Span]) -> None:
    whisper = FakeWhisper(costs=9)
    long, _ = spoken(said, whisper)
    heard = long.finish(whisper, lambda: None)  # type: ignore[arg-type]
    assert whisper.read_seconds == [9.5, 2.5] and heard.text == "9.5s 2.5s"
    assert [(one.start, one.end) for one in heard.segments] == [(0, 9.5), (9.5, 12)]
    assert (heard.duration_s, heard.language) == (12, "en")


def test_a_quick_whole_is_read_once_more(said: list[Span]) -> None:
    whisper = FakeWhisper(costs=1)
    long, _ = spoken(said, whisper)
    heard = long.finish(whisper, lambda: None)  # type: ignore[arg-type]
    assert whisper.read_seconds == [9.5, 12] and heard.text == "12s"


def test_partial_texts_wait_for_a_free_processor(said: list[Span]) -> None:
    whisper: Any = FakeWhisper(costs=1)
    samples = Samples(60)
    short = Dictation(samples, None, (), True)
    samples.add(bytes(2 * 2 * RATE))
    said[:] = spans((0, 2))
    assert short.look(whisper, lambda: None, busy=True) is None and whisper.read_seconds == []
    assert short.look(whisper, lambda: None, busy=False) is None  # one reading is no agreement
    assert short.look(whisper, lambda: None, busy=False) == "2s"


def test_silence_is_left_behind_until_the_end(said: list[Span]) -> None:
    whisper: Any = FakeWhisper(costs=1)
    samples = Samples(60)
    quiet = Dictation(samples, None, (), True)
    samples.add(bytes(2 * 20 * RATE))
    quiet.look(whisper, lambda: None, busy=False)
    assert quiet._done == pytest.approx(19.7 * RATE)
    quiet.finish(whisper, lambda: None)
    assert whisper.read_seconds == [20]


def test_samples_end_at_their_bound() -> None:
    samples = Samples(1)
    with pytest.raises(AudioError, match="longer than 1 s"):
        samples.add(bytes(2 * 2 * RATE))
    assert len(samples) == RATE
    assert np.array_equal(samples.since(RATE - 2), np.zeros(2, np.float32))
