"""Requests about speech that no client should send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NO_BASE64: list[Any] = ["?", "AA=A", "A\n", "====", "é", 1, ["AA=="], "-_"]
BAD_IDS: list[Any] = ["", "../u", "u\n", "x" * 129, 1, []]
BAD_AUDIO_FORMATS: list[Any] = ["", "aac", "WAV", "../wav", "wav\n", 1, ["wav"]]
BAD_LANGUAGES: list[Any] = ["", "e", "english", "en_US", "en\n", "../en", 1, "en--US"]


def voice_calls(bad_files: Sequence[Any], no_switches: Sequence[Any]) -> list[tuple[str, object]]:
    """Methods with parameters, each of which is to be refused."""
    calls: list[tuple[str, object]] = [
        *(("voice.transcribe", {"path": value}) for value in bad_files),
        *(("voice.transcribe", {"audio": v, "format": "wav"}) for v in NO_BASE64),
        *(("voice.transcribe", {"audio": "", "format": v}) for v in BAD_AUDIO_FORMATS),
        ("voice.audio", {"utterance_id": "u", "audio": None}),
        ("voice.start", {"format": None}),
        *(("voice.start", {"format": v}) for v in BAD_AUDIO_FORMATS),
        *(("voice.start", {"sample_rate": v}) for v in (0, 7999, 192_001, -1, "16000", 1.5, True)),
        *(("voice.start", {"language": v}) for v in BAD_LANGUAGES),
        *(("voice.start", {"partials": v}) for v in no_switches),
        *(("voice.start", {"utterance_id": v}) for v in BAD_IDS),
        *(("voice.start", {"session_id": v}) for v in ("../s", "", 1)),
        ("voice.start", {"deliver": "prompt"}),
        ("voice.audio", {"utterance_id": "u"}),
        ("voice.audio", {"audio": ""}),
        *(("voice.audio", {"utterance_id": "u", "audio": v}) for v in NO_BASE64),
        *(
            ("voice.audio", {"utterance_id": "u", "audio": "", "frame": v})
            for v in (-1, 2**32, "0", 0.5, True)
        ),
        *((f"voice.{m}", {"utterance_id": "u u"}) for m in ("end", "cancel")),
        *((f"voice.{m}", {}) for m in ("end", "cancel", "audio", "install")),
        *(("voice.install", {"name": v}) for v in ("", "../base", "a/b", "base\n", "x" * 65, 1)),
        ("voice.models", {"all": True}),
        ("voice.status", {"x": 1}),
        *(("voice.vocabulary", {"working_directory": v}) for v in ("here", "", 1, "/a\u0000")),
        ("voice.vocabulary", {"session_id": "../s"}),
    ]
    return calls
