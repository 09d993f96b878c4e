"""Base of the engines that ask a server for the text."""

from __future__ import annotations

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import EngineFailed, EngineStatus
from podiumd.wire.voice import SpeechState as State


class ServerEngine:
    """The part of ``podiumd.speech.engines.base.Engine`` that does not depend on the server's
    protocol.

    Parameters:
        url: where the server is, for people.
        fault: why nothing can be asked of it with these settings, if so.
    """

    def __init__(self, settings: VoiceSettings, url: str, fault: str | None) -> None:
        self._settings = settings
        self._url = url
        self._fault = fault
        self._problem: str | None = None

    def status(self) -> EngineStatus:
        """``failed`` after a failure, until the next answer; and where nothing can be asked."""
        problem = self._fault or self._problem
        state: State = "failed" if problem else "ready"
        return EngineStatus(
            state=state,
            model=self._settings.model,
            problem=problem,
            unusable=self._fault is not None,
        )

    def warm(self) -> None:
        """Do nothing: the server has its model, and would close a connection made now."""

    def _failed(self, what: str) -> EngineFailed:
        """Note a failure; ``what`` goes on after the server's name."""
        self._problem = f"The speech server {self._url} {what} (voice.url)."
        return EngineFailed(self._problem)

    def _answered(self) -> None:
        self._problem = None
