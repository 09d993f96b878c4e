"""Speech servers: OpenAI's kind over HTTP and Wyoming's over a socket, both played by us."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import AudioError, SpeechUnavailable
from podiumd.speech.service import open_speech
from tests.long import sampled
from tests.speech.speeches import SECOND, request

Serve = Callable[[trio.SocketStream], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[int]:
    """A server on a free port."""
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def until(stream: trio.SocketStream, enough: Callable[[bytes], bool]) -> bytes:
    data = b""
    while not enough(data):
        piece = await stream.receive_some(65_536)
        if not piece:
            break
        data += piece
    return data


def is_whole_request(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    return bool(found and length) and len(body) >= int(length[1])  # type: ignore[index]


class Http:
    """Answers each request with the next of what it is given, and keeps the requests."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.answers = list(answers)
        self.seen: list[bytes] = []

    async def __call__(self, stream: trio.SocketStream) -> None:
        self.seen.append(await until(stream, is_whole_request))
        status, body = self.answers.pop(0)
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        await stream.send_all(head.encode() + body)


def openai(port: int, **settings: Any) -> VoiceSettings:
    url = f"http://127.0.0.1:{port}"
    return VoiceSettings(engine="openai", model="whisper-1", url=url, **settings)


HEARD = json.dumps(
    {
        "text": " Hello there.",
        "language": "english",
        "duration": 1.5,
        "segments": [{"start": 0.0, "end": 1.5, "text": " Hello there."}],
    }
).encode()


async def test_a_server_is_sent_the_audio_and_the_terms(tmp_path: Path) -> None:
    http = Http((200, HEARD))
    environ = {"MY_KEY": "s3cret"}
    async with server(http) as port:
        voice = openai(port, api_key_env="MY_KEY", language="de")
        async with open_speech(voice, tmp_path, environ) as speech:
            utterance = await speech.open(request(hotwords=("podium", "session_lock")))
            await utterance.feed(SECOND)
            found = await utterance.end()
    assert (found.text, found.duration_ms, found.model) == ("Hello there.", 1500, "whisper-1")
    assert found.segments[0].text == "Hello there." and found.engine == "openai"
    (sent,) = http.seen
    assert sent.startswith(b"POST /v1/audio/transcriptions HTTP/1.1\r\n")
    assert b"Bearer s3cret" in sent and b"podium, session_lock" in sent
    assert b'name="language"\r\n\r\nde\r\n' in sent and b'name="model"\r\n\r\nwhisper-1' in sent
    assert b'filename="audio.wav"' in sent and b"RIFF" in sent and SECOND in sent


async def test_a_file_goes_to_the_server_as_it_is(tmp_path: Path) -> None:
    http = Http((200, b'{"text": "x"}'))
    async with server(http) as port, open_speech(openai(port), tmp_path, {}) as speech:
        found = await speech.transcribe(b"OggS and more", language="fr")
    assert (found.text, found.language) == ("x", "fr")
    assert b"OggS and more" in http.seen[0] and b"Authorization" not in http.seen[0]


@pytest.mark.parametrize(
    ("answer", "says"),
    sampled(
        [
            ((503, b"down"), "status 503: down"),
            ((200, b"<html>"), "no transcript"),
            ((302, b""), "status 302"),
            ((200, b"[]"), "no transcript"),
            ((200, b'{"no": "text"}'), "no transcript"),
        ],
        2,
    ),
)
async def test_a_server_that_fails_is_asked_once_more_and_then_told(
    tmp_path: Path, answer: tuple[int, bytes], says: str
) -> None:
    http = Http(answer, answer, (200, HEARD))
    async with server(http) as port, open_speech(openai(port), tmp_path, {}) as speech:
        with pytest.raises(AudioError, match=says) as caught:
            await speech.transcribe(SECOND, format="pcm16")
        assert caught.value.code == "engine_failed" and len(http.seen) == 2
        assert speech.status().state == "failed" and "voice.url" in (speech.status().problem or "")
        await speech.transcribe(SECOND, format="pcm16")
        assert speech.status().state == "ready"


@pytest.mark.parametrize(("status", "code"), [(400, "not_audio"), (413, "too_big")])
async def test_audio_that_a_server_refuses_is_at_fault(
    tmp_path: Path, status: int, code: str
) -> None:
    http = Http((status, b"no"))
    async with server(http) as port, open_speech(openai(port), tmp_path, {}) as speech:
        with pytest.raises(AudioError) as caught:
            await speech.transcribe(SECOND, format="pcm16")
        assert caught.value.code == code


async def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    async with server(Http()) as port:
        pass
    for voice in (openai(port), wyoming(f"tcp://127.0.0.1:{port}")):
        async with open_speech(voice, tmp_path, {}) as speech:
            with pytest.raises(AudioError, match=r"voice\.url"):
                await speech.transcribe(SECOND, format="pcm16")


def wyoming(url: str, **settings: Any) -> VoiceSettings:
    return VoiceSettings(engine="wyoming", url=url, **settings)


class Wyoming:
    """Takes what is said and answers with these bytes."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.seen = b""

    async def __call__(self, stream: trio.abc.Stream) -> None:
        self.seen = await until(stream, lambda data: b'"audio-stop"' in data)  # type: ignore[arg-type]
        with contextlib.suppress(trio.BrokenResourceError):  # it has had enough
            await stream.send_all(self.answer)


def event(kind: str, data: dict[str, Any], inline: bool = False) -> bytes:
    content = b"" if inline else json.dumps(data).encode()
    head: dict[str, Any] = {"type": kind, "data_length": len(content)}
    return json.dumps(head | ({"data": data} if inline else {})).encode() + b"\n" + content


@pytest.mark.parametrize("inline", [True, False])
async def test_wyoming_hears_the_audio_and_answers(tmp_path: Path, inline: bool) -> None:
    answer = event("ping", {}) + event("transcript", {"text": " hi ", "language": "en"}, inline)
    peer = Wyoming(answer)
    async with server(peer) as port:
        voice = wyoming(f"tcp://127.0.0.1:{port}", language="en")
        async with open_speech(voice, tmp_path, {}) as speech:
            utterance = await speech.open(request())
            await utterance.feed(SECOND)
            found = await utterance.end()
    assert (found.text, found.language, found.duration_ms) == ("hi", "en", 1000)
    assert (
        b'"transcribe"' in peer.seen and b'{"rate": 16000, "width": 2, "channels": 1}' in peer.seen
    )
    assert peer.seen.count(b"\0") == len(SECOND)


async def test_wyoming_is_spoken_over_a_unix_socket(tmp_path: Path) -> None:
    peer = Wyoming(event("transcript", {"text": "over unix"}))
    path = tmp_path / "w"
    with trio.socket.socket(trio.socket.AF_UNIX) as sock:
        await sock.bind(str(path))
        sock.listen()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, peer, [trio.SocketListener(sock)])
            async with open_speech(wyoming(f"unix://{path}"), tmp_path, {}) as speech:
                assert (await speech.transcribe(SECOND, format="pcm16")).text == "over unix"
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "closed the connection"),
        (b"nonsense\n", "Expecting value"),
        (b'{"type": "x", "data_length": -1}\n', "an event of -1 bytes"),
        (b'{"type": "x", "data_length": 99999999}\n', "an event of 99999999 bytes"),
        (event("error", {"text": "no model"}), "no model"),
        (b"x" * 5_000_000, "an event without end"),
    ],
)
async def test_a_wyoming_server_that_fails_is_told(
    tmp_path: Path, answer: bytes, says: str
) -> None:
    async with server(Wyoming(answer)) as port:
        voice = wyoming(f"tcp://127.0.0.1:{port}")
        async with open_speech(voice, tmp_path, {}) as speech:
            with pytest.raises(AudioError, match=says) as caught:
                await speech.transcribe(SECOND, format="pcm16")
    assert caught.value.code == "engine_failed"


async def test_wyoming_takes_samples_only_and_says_so_before_anybody_speaks(
    tmp_path: Path,
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("these")
    async with open_speech(wyoming("tcp://127.0.0.1:1"), tmp_path, {}) as speech:
        with pytest.raises(AudioError, match="'wyoming' takes pcm16 only, not 'webm'"):
            await speech.open(request(format="webm"))
        with pytest.raises(AudioError, match="'wyoming' takes pcm16 only, not 'ogg'") as caught:
            await speech.transcribe(b"OggS")
        assert caught.value.code == "unknown_format"
        with pytest.raises(AudioError, match=r"words\.txt: the engine 'wyoming' takes PCM16 only"):
            await speech.transcribe(words)


@pytest.mark.parametrize("url", ["tcp://10.1.2.3:10300", "tcp://box.example:10300", "http://x", ""])
async def test_wyoming_on_another_machine_needs_the_persons_word(tmp_path: Path, url: str) -> None:
    async with open_speech(wyoming(url), tmp_path, {}) as speech:
        assert speech.status().state == "failed"
        with pytest.raises(SpeechUnavailable) as caught:
            await speech.open(request())
        assert str(caught.value) == speech.status().problem
        assert re.search(r"voice\.(allow_remote = true|url)", str(caught.value))
    remote = wyoming(url, allow_remote=True)
    async with open_speech(remote, tmp_path, {}) as speech:
        assert speech.status().state == ("ready" if url.startswith("tcp") else "failed")


async def test_openais_server_needs_a_key_and_says_so_before_anybody_speaks(
    tmp_path: Path,
) -> None:
    theirs = VoiceSettings(engine="openai")
    async with open_speech(theirs, tmp_path, {}) as speech:
        assert speech.status().state == "failed"
        with pytest.raises(SpeechUnavailable, match=r"OPENAI_API_KEY is not set\. Set it in"):
            await speech.transcribe(SECOND, format="pcm16")
    async with open_speech(theirs, tmp_path, {"OPENAI_API_KEY": "k"}) as speech:
        assert speech.status().state == "ready"
    named = VoiceSettings(engine="openai", url="http://127.0.0.1:1", api_key_env="MY_KEY")
    async with open_speech(named, tmp_path, {"OPENAI_API_KEY": "k"}) as speech:
        with pytest.raises(SpeechUnavailable, match="MY_KEY is not set"):
            speech.check()


async def test_a_scripted_engine_is_configured_with_a_file(tmp_path: Path) -> None:
    script = tmp_path / "lines"
    script.write_text("as it is written\n")
    voice = VoiceSettings(engine="scripted", script=str(script))
    async with open_speech(voice, tmp_path, {}) as speech:
        assert (await speech.transcribe(SECOND, format="pcm16")).text == "as it is written"
