"""A fake daemon that listens, and the client at a terminal with a fake recorder."""

from __future__ import annotations

import base64
from typing import Any

from tests.client.fake_daemon import FakeDaemon, HangUp
from tests.client.recorders import Recorders
from tests.client.terminal import Terminal

Json = Any

TRANSCRIPT = {
    "text": "fix the session_lock",
    "language": "en",
    "duration_ms": 2000,
    "latency_ms": 160,
    "duration_s": 2.0,
    "segments": [],
    "no_speech": False,
    "terms_used": ["session_lock"],
    "engine": "worker",
    "model": "base",
}
SILENT = TRANSCRIPT | {"text": "", "no_speech": True}


class Listener:
    """Makes a fake daemon one that listens. ``heard`` is the sound of the last utterance."""

    def __init__(self, daemon: FakeDaemon, transcript: Json = TRANSCRIPT) -> None:
        self._daemon = daemon
        self._transcript = transcript
        self.frames: dict[int, bytes] = {}
        self.lose_at = -1
        self.ids: set[str] = set()
        daemon.answers |= {
            "voice.status": {"state": "idle", "engine": "worker", "model": "base"},
            "voice.start": self._start,
            "voice.audio": self._audio,
            "voice.end": lambda params: self._transcript,
            "voice.cancel": {},
        }

    @property
    def heard(self) -> bytes:
        assert sorted(self.frames) == list(range(len(self.frames)))
        return b"".join(self.frames[number] for number in sorted(self.frames))

    def _start(self, params: Json) -> Json:
        self.ids.add(params["utterance_id"])
        return {"utterance_id": params["utterance_id"], "next_frame": len(self.frames)}

    def _audio(self, params: Json) -> Json:
        if params["frame"] == self.lose_at:
            self.lose_at = -1
            raise HangUp
        self.frames[params["frame"]] = base64.b64decode(params["audio"], validate=True)
        return {"next_frame": params["frame"] + 1}


def listening(daemon: FakeDaemon, recorders: Recorders) -> Terminal:
    """``podium listen`` at a terminal."""
    return Terminal(daemon, "listen", columns=80, PATH=str(recorders.directory))
