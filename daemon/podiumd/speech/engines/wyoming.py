"""A server that speaks Wyoming, the protocol of Home Assistant's voice programs.

An event is a line of JSON, ``{"type", "data", "data_length", "payload_length"}``, then that much
JSON, which completes ``data``, and that many bytes. Neither keys nor encryption are known to it, so
only this machine's servers are spoken to unless the person says otherwise.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Any, Final
from urllib.parse import urlsplit

import trio

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import Heard
from podiumd.speech.engines.base import Job
from podiumd.speech.engines.server import ServerEngine

_PIECE: Final = 16_384
_LONGEST_EVENT: Final = 4 * 1_048_576


class WyomingEngine(ServerEngine):
    """See the module. It takes samples only, no containers."""

    name = "wyoming"
    formats = ("pcm16",)

    def __init__(self, settings: VoiceSettings) -> None:
        super().__init__(settings, settings.url, setup_fault(settings))

    async def recognise(self, job: Job) -> Heard:
        """Send the audio as it comes. See ``Engine``."""
        try:
            stream = await self._connect()
            async with stream:
                found = await self._converse(stream, job)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise self._failed(f"failed: {reason}") from error
        self._answered()
        return Heard(
            text=str(found.get("text") or "").strip(),
            language=str(found.get("language") or job.request.language or ""),
            duration_s=job.recording.size / (2 * job.request.sample_rate),
        )

    async def _connect(self) -> trio.abc.Stream:
        with trio.fail_after(self._settings.timeout_seconds):
            parts = urlsplit(self._url)
            if parts.scheme == "unix":
                return await trio.open_unix_socket(parts.path)
            return await trio.open_tcp_stream(parts.hostname or "", parts.port or 10300)

    async def _converse(self, stream: trio.abc.Stream, job: Job) -> dict[str, Any]:
        patience = self._settings.timeout_seconds
        sound = {"rate": job.request.sample_rate, "width": 2, "channels": 1}
        language = job.request.language or self._settings.language
        wish = {"language": language} if language else {}
        await _send(stream, patience, "transcribe", wish)
        await _send(stream, patience, "audio-start", sound)
        offset = 0
        while data := await job.recording.read(offset, _PIECE):
            await _send(stream, patience, "audio-chunk", sound, data)
            offset += len(data)
        await _send(stream, patience, "audio-stop", {})
        events = _Events(stream)
        while True:
            with trio.fail_after(patience):
                kind, data_of = await events.next()
            if kind == "transcript":
                return data_of
            if kind == "error":
                raise ValueError(str(data_of.get("text") or "it says 'error'"))


def setup_fault(settings: VoiceSettings) -> str | None:
    """Return why no server may be asked with these settings, and what to do; ``None``: one may."""
    url = settings.url
    if not url:
        return "No Wyoming server is named. Set voice.url to yours, such as tcp://127.0.0.1:10300."
    parts = urlsplit(url)
    if parts.scheme not in ("tcp", "unix"):
        return f"No Wyoming server is at {url} (voice.url). One is tcp://HOST:PORT or unix:///PATH."
    if parts.scheme == "unix" or settings.allow_remote or _is_here(parts.hostname or ""):
        return None
    return (
        f"The server {url} (voice.url) is another machine, and Wyoming knows neither keys nor "
        "encryption. If your network is safe for that, set voice.allow_remote = true."
    )


class _Events:
    """The events that a server sends, one at a time."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._data = bytearray()

    async def next(self) -> tuple[str, dict[str, Any]]:
        """Type and data. Raises ValueError for what is none."""
        while (end := self._data.find(b"\n")) < 0:
            await self._more()
        head = json.loads(self._data[:end])
        length, payload = int(head.get("data_length") or 0), int(head.get("payload_length") or 0)
        if not 0 <= length + payload <= _LONGEST_EVENT:
            raise ValueError(f"an event of {length + payload} bytes")
        start = end + 1
        while len(self._data) < start + length + payload:
            await self._more()
        data = dict(head.get("data") or {})
        if length:
            data |= json.loads(self._data[start : start + length])
        del self._data[: start + length + payload]
        return str(head.get("type")), data

    async def _more(self) -> None:
        piece = await self._stream.receive_some(65_536)
        if not piece:
            raise ValueError("it closed the connection without an answer")
        self._data += piece
        if len(self._data) > _LONGEST_EVENT:
            raise ValueError("an event without end")


async def _send(
    stream: trio.abc.SendStream,
    patience: float,
    kind: str,
    data: dict[str, Any],
    payload: bytes = b"",
) -> None:
    content = json.dumps(data).encode()
    head = {"type": kind, "data_length": len(content), "payload_length": len(payload)}
    with trio.fail_after(patience):
        await stream.send_all(json.dumps(head).encode() + b"\n" + content + payload)


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
