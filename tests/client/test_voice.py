"""Recordings become text; what there is for speech is told."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_daemon import FakeDaemon, Refused, podium
from tests.client.listeners import SILENT, TRANSCRIPT, Listener
from tests.client.recorders import SECOND, Recorders

Json = Any


def test_the_text_of_a_file_is_printed(daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "memo.wav").write_bytes(b"RIFF")
    daemon.answers["voice.transcribe"] = TRANSCRIPT
    done = podium(
        daemon, "transcribe", "memo.wav", "--language", "de", "--session", "s1", cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (0, "fix the session_lock\n")
    assert daemon.params_of("voice.transcribe") == [
        {"path": str(tmp_path / "memo.wav"), "language": "de", "session_id": "s1"}
    ]


def test_a_recording_may_come_on_standard_input(daemon: FakeDaemon) -> None:
    daemon.answers["voice.transcribe"] = TRANSCRIPT
    done = podium(daemon, "transcribe", "-", "--format", "ogg", "--json", stdin=b"OggS")

    assert done.stdout.startswith('{"text":"fix the session_lock"')
    (sent,) = daemon.params_of("voice.transcribe")
    assert sent == {"format": "ogg", "audio": base64.b64encode(b"OggS").decode()}


def test_a_file_without_speech_has_no_text(daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "noise.wav").write_bytes(b"RIFF")
    daemon.answers["voice.transcribe"] = SILENT
    done = podium(daemon, "transcribe", str(tmp_path / "noise.wav"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "no speech" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["nowhere.wav"], b"", "nowhere.wav cannot be read: No such file or directory."),
        (["/"], b"", "/ cannot be read: Is a directory."),
        (["-"], b"x", "Say what standard input holds with --format: wav,"),
        (["-", "--format", "wav"], b"", "Standard input is empty"),
        (["-", "--format", "wav"], bytes(12 * 2**20), "more than 11 MiB"),
    ],
)
def test_what_cannot_be_transcribed_is_a_usage_error(
    daemon: FakeDaemon, arguments: list[str], stdin: bytes, said: str
) -> None:
    done = podium(daemon, "transcribe", *arguments, stdin=stdin)
    assert done.returncode == 2
    assert said in done.stderr
    assert daemon.calls == []


def test_what_is_missing_is_told_with_what_to_do(daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "memo.wav").write_bytes(b"RIFF")

    def refuse(params: Json) -> Json:
        words = 'Speech is not installed: pip install "faster-whisper>=1.1".'
        raise Refused(-32005, words, {"agent": "voice", "reason": "not-installed", "fix": words})

    daemon.answers["voice.transcribe"] = refuse
    done = podium(daemon, "transcribe", str(tmp_path / "memo.wav"))
    assert done.returncode == 1
    assert done.stderr == 'podium: Speech is not installed: pip install "faster-whisper>=1.1".\n'


def test_without_a_daemon_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "memo.wav").write_bytes(b"RIFF")
    done = podium(tmp_path / "none.sock", "transcribe", str(tmp_path / "memo.wav"))
    assert done.returncode == 6
    assert "podium up" in done.stderr


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"state": "idle", "engine": "worker", "model": "base"}, "ready when it is needed"),
        (
            {"state": "no-model", "model": "base", "problem": "Run 'podium voice install base'."},
            "voice: no model, base\nRun 'podium voice install base'.\n",
        ),
        (
            {"state": "not-installed", "engine": "worker", "model": "base", "problem": "Run it."},
            "voice: not installed\nRun it.\n",
        ),
        ({"state": "strange\x1b"}, "voice: strange\\x1b\n"),
    ],
)
def test_the_state_of_speech_is_told(daemon: FakeDaemon, status: Json, told: str) -> None:
    daemon.answers["voice.status"] = status
    assert told in podium(daemon, "voice", "status").stdout
    assert '"state"' in podium(daemon, "voice", "status", "--json").stdout


def test_the_models_are_listed(daemon: FakeDaemon) -> None:
    row = {"name": "base", "installed": True, "path": "/m/base", "megabytes": 148.2}
    daemon.answers["voice.models"] = [
        row | {"multilingual": True, "source": "package", "configured": True},
        {"name": "tiny.en", "installed": False, "source": "hub"},
    ]
    shown = podium(daemon, "voice", "models").stdout.splitlines()
    assert shown[1].split() == ["base", "*", "installed", "148", "MB", "all", "/m/base"]
    assert shown[2].split() == ["tiny.en", "-", "English", "hub"]
    assert shown[3:] == ["", "* is the one in use: voice.model in the configuration."]
    assert podium(daemon, "voice", "models", "--json").stdout.startswith("[{")


def test_an_installation_tells_how_far_it_is(daemon: FakeDaemon) -> None:
    def install(params: Json) -> Json:
        for told in (
            {"name": "base", "phase": "package", "message": "Fetching", "bytes": 5e7, "total": 1e8},
            {"name": "base", "phase": "hub", "message": "Asking", "bytes": 2e6},
            {"name": "base", "phase": "verify"},
        ):
            for client in list(daemon._clients):
                daemon.notify(client, told, "voice.progress")
                daemon.notify(client, {}, "daemon.other")
        return {"name": "base", "path": "/m/base"}

    daemon.answers["voice.install"] = install
    done = podium(daemon, "voice", "install", "base")
    assert done.stdout == "base is installed in /m/base.\n"
    assert done.stderr.splitlines() == ["Fetching 50 of 100 MB", "Asking 2 MB", "verify"]
    assert podium(daemon, "voice", "install", "base", "--json").stdout.startswith('{"name"')


def test_without_a_name_the_model_that_is_set_is_installed(daemon: FakeDaemon) -> None:
    daemon.answers["voice.models"] = [{"name": "tiny"}, {"name": "base", "configured": True}]
    daemon.answers["voice.install"] = {"name": "base"}

    done = podium(daemon, "voice", "install")

    assert done.stdout == "base is installed.\n"
    assert daemon.params_of("voice.install") == [{"name": "base"}]
    daemon.answers["voice.models"] = [{"name": "tiny"}]
    none = podium(daemon, "voice", "install")
    assert none.returncode == 2 and "name one, or set voice.model" in none.stderr


def test_the_words_of_a_project_are_shown(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["voice.vocabulary"] = {
        "working_directory": "/p",
        "terms": [{"term": "session_lock", "source": "identifier"}],
        "complete": False,
    }
    done = podium(daemon, "voice", "vocabulary", cwd=tmp_path)
    assert "session_lock  identifier" in done.stdout
    assert "the list is incomplete" in done.stderr
    podium(daemon, "voice", "vocabulary", "--session", "s1", "--json")
    assert daemon.params_of("voice.vocabulary") == [
        {"working_directory": str(tmp_path)},
        {"session_id": "s1"},
    ]
    daemon.answers["voice.vocabulary"] = {"terms": []}
    assert "No terms" in podium(daemon, "voice", "vocabulary").stdout


def test_a_test_of_a_file_tells_the_figures(daemon: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "memo.wav").write_bytes(b"RIFF")
    daemon.answers["voice.transcribe"] = TRANSCRIPT
    done = podium(daemon, "voice", "test", str(tmp_path / "memo.wav"))
    told = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert ["heard", "fix the session_lock"] in told
    assert ["audio", "2.00 s"] in told
    assert ["answered", "in  0.16 s (12 times as fast as it was spoken)"] in told
    assert ["engine", "worker base"] in told
    assert ["terms", "session_lock"] in told


def test_a_test_records_and_fails_where_nobody_speaks(
    daemon: FakeDaemon, recorders: Recorders
) -> None:
    Listener(daemon, SILENT)
    recorders.add("arecord", bytes(SECOND))
    done = podium(daemon, "voice", "test", "--seconds", "0.3", settings=recorders.environment)
    assert done.returncode == 1
    assert "(no speech)" in done.stdout
    assert "audio        2.00 s" in done.stdout


def test_a_file_has_its_own_length(daemon: FakeDaemon) -> None:
    assert podium(daemon, "voice", "test", "x.wav", "--seconds", "3").returncode == 2
