"""The agents, git and speech."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.doctor import agents
from tests.doctor.patient import only, program, subject, with_settings


def test_an_agent_that_runs_is_told_with_its_version_and_place(tmp_path: Path) -> None:
    place = program(tmp_path, "claude", 'echo "2.1.0 (Claude Code)"; echo more')
    found = only(agents.claude(subject(tmp_path)))
    assert (found.state, found.message) == ("ok", f"2.1.0 (Claude Code) at {place}")


def test_an_agent_is_asked_with_the_environment_that_turns_get(tmp_path: Path) -> None:
    program(tmp_path, "claude", 'echo "$A-$SECRET-$PODIUM_TURN-$DISABLE_AUTOUPDATER"')
    patient = with_settings(subject(tmp_path), agents__claude__env={"A": "1"})
    environ = {**patient.environ, "SECRET": "x", "PODIUM_TURN": "t"}
    found = only(agents.claude(replace(patient, environ=environ, daemon_environ=environ)))
    assert found.message.startswith("1---1 at ")


def test_a_missing_agent_is_broken(tmp_path: Path) -> None:
    found = only(agents.claude(subject(tmp_path)))
    assert (found.state, found.message) == ("broken", "'claude' is no program on PATH")


def test_an_agent_on_our_path_alone_is_told_so(tmp_path: Path) -> None:
    place = program(tmp_path, "claude", "echo 1")
    elsewhere = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    found = only(agents.claude(subject(tmp_path, daemon_environ=elsewhere)))
    assert found.state == "broken"
    assert found.message == f"{place} is on your PATH and not on the daemon's"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no such library >&2; exit 3", "--version ended with status 3: no such library"),
        ("exec sleep 60", "--version did not answer within 0.05 s"),
    ],
)
def test_an_agent_that_does_not_answer_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr(agents, "_ANSWER_SECONDS", 0.05)
    place = program(tmp_path, "claude", f"PATH=/usr/bin:/bin; {script}")
    found = only(agents.claude(subject(tmp_path)))
    assert (found.state, found.message) == ("broken", f"{place} {words}")


def test_what_is_no_program_is_broken(tmp_path: Path) -> None:
    program(tmp_path, "claude", "").write_bytes(b"\x7fELF nothing")
    found = only(agents.claude(subject(tmp_path)))
    assert found.state == "broken" and "cannot be run: Exec format error" in found.message


def test_the_script_of_the_scripted_agent_must_be_readable(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(agents.scripted(patient)).message == "built in, plays its demo"
    script = tmp_path / "turns.toml"
    named = with_settings(patient, agents__scripted__script=str(script))
    assert only(agents.scripted(named)).state == "broken"
    script.write_text('[[turns]]\ntext = "Hi"\n')
    assert only(agents.scripted(named)).message == f"plays {script}"


def test_git_is_told_with_its_version_or_missed(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(agents.git(patient)).state == "broken"
    place = program(tmp_path, "git", "echo git version 2.40.1")
    assert only(agents.git(patient)).message == f"2.40.1 at {place}"
    program(tmp_path, "git", "exit 1")
    assert only(agents.git(patient)).state == "broken"


def test_speech_may_be_missing_and_its_model_may_not_be_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = subject(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert only(agents.voice(patient)).message == "not installed, and nothing else needs it"
    assert only(agents.voice(with_settings(patient, voice__enabled=False))).state == "ok"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert only(agents.voice(patient)).message == "installed; model base"
    nowhere = with_settings(patient, voice__model=str(tmp_path / "model"))
    assert only(agents.voice(nowhere)).state == "warn"
