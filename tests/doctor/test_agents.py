"""The agents, git and speech."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.agents import examination
from podiumd.agents.native.model.anthropic import DEFAULT_MODEL
from podiumd.config.settings import Config
from podiumd.doctor import agents, programs, run
from podiumd.observe.checks import Check
from tests.doctor.patient import only, program, subject, with_settings
from tests.patience import HANG_SECONDS
from tests.speech.speeches import model_in


def test_an_agent_that_runs_is_told_with_its_version_and_place(tmp_path: Path) -> None:
    place = program(tmp_path, "claude", 'echo "2.1.0 (Claude Code)"; echo more')
    (tmp_path / ".claude.json").write_text("{}")
    found = only(agents.agent(subject(tmp_path), "claude"))
    assert (found.state, found.message) == ("ok", f"2.1.0 (Claude Code) at {place}")


def test_an_agent_is_asked_with_the_environment_that_turns_get(tmp_path: Path) -> None:
    program(tmp_path, "claude", 'echo "$A-$SECRET-$PODIUM_TURN-$DISABLE_AUTOUPDATER"')
    (tmp_path / ".claude.json").write_text("{}")
    patient = with_settings(subject(tmp_path), agents__claude__env={"A": "1"})
    environ = {**patient.environ, "SECRET": "x", "PODIUM_TURN": "t"}
    found = only(agents.agent(replace(patient, environ=environ, daemon_environ=environ), "claude"))
    assert found.message.startswith("1---1 at ")


def test_a_missing_agent_is_broken(tmp_path: Path) -> None:
    found = only(agents.agent(subject(tmp_path), "claude"))
    assert (found.state, found.message) == ("broken", "'claude' is no program on PATH")


def test_a_missing_agent_is_to_be_looked_at_where_the_native_one_can_be_used(
    tmp_path: Path,
) -> None:
    keyed = {"HOME": str(tmp_path), "PATH": "/nowhere", "ANTHROPIC_API_KEY": "secret"}
    patient = subject(tmp_path, daemon_environ=keyed)
    found = only(agents.agent(patient, "claude"))
    assert (found.state, found.message) == (
        "warn",
        "'claude' is no program on PATH; the native agent needs it not",
    )
    assert found.fix.startswith("to use it, install Claude Code")
    program(tmp_path, "claude", "echo 1")
    found = only(agents.agent(patient, "claude"))
    assert found.state == "warn" and "is on your PATH and not on the daemon's" in found.message


def test_an_agent_on_our_path_alone_is_told_so(tmp_path: Path) -> None:
    place = program(tmp_path, "claude", "echo 1")
    elsewhere = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    found = only(agents.agent(subject(tmp_path, daemon_environ=elsewhere), "claude"))
    assert found.state == "broken"
    assert found.message == f"{place} is on your PATH and not on the daemon's"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no such library >&2; exit 3", "--version ended with status 3: no such library"),
        ("exec sleep 60", "--version did not answer within 0.05 s"),
        ("yes | head -c 200000", "--version printed more than 64 KiB"),
    ],
)
def test_an_agent_that_does_not_answer_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr(examination, "ANSWER_SECONDS", 0.05)
    place = program(tmp_path, "claude", f"PATH=/usr/bin:/bin; {script}")
    found = only(agents.agent(subject(tmp_path), "claude"))
    assert (found.state, found.message) == ("broken", f"{place} {words}")


def codex_of(home: Path, config: str) -> Check:
    """What is found of a Codex that has this configuration and is not logged in."""
    program(home, "codex", "case $1 in login) echo Not logged in; exit 1;; esac; echo 0.169.0")
    own = home / ".codex"
    own.mkdir()
    (own / "config.toml").write_text(config)
    return only(agents.agent(subject(home), "codex"))


OWN = '[model_providers.mine]\nbase_url = "http://127.0.0.1:1/v1"\n'


@pytest.mark.parametrize(
    ("config", "provider"),
    [
        (f'model_provider = "mine"\n{OWN}', "mine"),
        ('model_provider = "ollama"\n', "ollama"),
    ],
)
def test_a_codex_with_a_provider_of_its_own_needs_no_login(
    tmp_path: Path, config: str, provider: str
) -> None:
    found = codex_of(tmp_path, config)
    assert found.state == "ok"
    assert found.message == f"0.169.0 at {tmp_path}/bin/codex, asks provider '{provider}'"


@pytest.mark.parametrize(
    "config",
    [
        "",
        "no toml",
        'model_provider = "openai"\n',
        'model_provider = "unknown"\n',
        OWN,
        "model_provider = 1\nmodel_providers = 1\n",
        f'model_provider = "mine"\n{OWN}requires_openai_auth = true\n',
    ],
)
def test_a_codex_whose_provider_wants_a_login_is_not_logged_in(tmp_path: Path, config: str) -> None:
    found = codex_of(tmp_path, config)
    assert (found.state, "is not logged in to OpenAI" in found.message) == ("warn", True)


def test_a_codex_whose_provider_is_not_given_its_key_is_not_ready(tmp_path: Path) -> None:
    found = codex_of(tmp_path, f'model_provider = "mine"\n{OWN}env_key = "MINE_KEY"\n')
    assert (found.state, "is not given its key MINE_KEY" in found.message) == ("warn", True)
    assert "agents.codex.pass_env" in found.fix


def two_agents(claude: str, codex: str, home: Path) -> list[tuple[str, run.Look]]:
    """Two agents that answer so when they are asked for their version, and the checks of them."""
    program(home, "claude", f"{claude}; echo 2.1.0")
    program(home, "codex", f"{codex}; echo codex-cli 0.169.0 $words")
    return [one for one in run.checks_of(Config()) if one[0] in ("agent claude", "agent codex")]


def test_agents_are_asked_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other: asked one after the other neither would answer."""
    monkeypatch.setattr(examination, "ANSWER_SECONDS", HANG_SECONDS)
    meeting = tmp_path / "meeting"
    os.mkfifo(meeting)
    checks = two_agents(f"echo hello > {meeting}", f"read words < {meeting}", tmp_path)
    claude, codex = run.look_at(subject(tmp_path), checks)
    assert "(2.1.0 at " in claude.message
    assert codex.message.startswith("codex-cli 0.169.0 hello at ")


def test_no_agent_is_waited_for_longer_than_for_all_of_them(tmp_path: Path) -> None:
    checks = two_agents("exec sleep 60", "exec sleep 60", tmp_path)
    told = run.look_at(subject(tmp_path, until=-1.0), checks)
    assert [one.state for one in told] == ["broken", "broken"]
    assert all("--version did not answer within 5 s" in one.message for one in told)


def test_what_is_no_program_is_broken(tmp_path: Path) -> None:
    program(tmp_path, "claude", "").write_bytes(b"\x7fELF nothing")
    found = only(agents.agent(subject(tmp_path), "claude"))
    assert found.state == "broken" and "cannot be run: Exec format error" in found.message


LOCAL = {"provider": "openai", "base_url": "http://127.0.0.1:1/v1"}
UNCONFINED = "commands run without a sandbox (agents.native.sandbox)"


@pytest.mark.parametrize(
    ("chosen", "key", "state", "words"),
    [
        pytest.param({}, "", "broken", "ANTHROPIC_API_KEY", id="a model without its key"),
        pytest.param({}, "secret", "ok",
                     f"m-1 of anthropic, key in ANTHROPIC_API_KEY; {UNCONFINED}", id="with it"),
        pytest.param({"model": ""}, "secret", "ok", f"{DEFAULT_MODEL} of anthropic, key in ",
                     id="the usual model"),
        pytest.param({"model": "", **LOCAL}, "", "ok",
                     "the server's own model at 127.0.0.1:1, without a key; ", id="a local server"),
        pytest.param({"model": "", "provider": "scripted"}, "", "ok", "scripted replies, a demo; ",
                     id="the demo"),
        pytest.param({"model": "/my/replies.toml", "provider": "scripted"}, "", "ok",
                     "replies of /my/replies.toml; ", id="replies of a file"),
    ],
)  # fmt: skip
def test_the_native_agent_is_told_with_its_model_key_and_sandbox(
    tmp_path: Path, chosen: dict[str, str], key: str, state: str, words: str
) -> None:
    settings = {"sandbox": "off", "model": "m-1"} | chosen
    named = {f"agents__native__{name}": value for name, value in settings.items()}
    patient = with_settings(subject(tmp_path), **named)
    keyed = replace(patient, daemon_environ={"ANTHROPIC_API_KEY": key} if key else {})
    found = only(agents.agent(keyed, "native"))
    assert found.state == state and words in found.message


def test_a_native_agent_that_is_not_set_up_is_well(tmp_path: Path) -> None:
    found = only(agents.agent(subject(tmp_path), "native"))
    assert found.state == "ok"
    assert found.message.startswith("not set up, and nothing else needs it (")


@pytest.mark.parametrize(("policy", "state"), [("auto", "ok"), ("required", "broken")])
def test_a_missing_sandbox_is_told_and_broken_only_where_it_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, state: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name, path: None)
    patient = with_settings(subject(tmp_path), agents__native__sandbox=policy)
    keyed = replace(patient, daemon_environ={"ANTHROPIC_API_KEY": "secret"})
    found = only(agents.agent(keyed, "native"))
    assert found.state == state
    assert ("no command can run" in found.message) is (state == "broken")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the program has a fixed place")
def test_the_sandbox_is_looked_for_on_the_daemons_path(tmp_path: Path) -> None:
    place = program(tmp_path, "bwrap", "exit 0")
    environ = {"ANTHROPIC_API_KEY": "secret", "PATH": str(place.parent)}
    found = only(agents.agent(subject(tmp_path, daemon_environ=environ), "native"))
    assert found.message.endswith(f"commands run in {place}")


def test_the_script_of_the_scripted_agent_must_be_readable(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(agents.agent(patient, "scripted")).message == "built in, plays its demo"
    script = tmp_path / "turns.toml"
    named = with_settings(patient, agents__scripted__script=str(script))
    assert only(agents.agent(named, "scripted")).state == "broken"
    script.write_text('[[turns]]\ntext = "Hi"\n')
    assert only(agents.agent(named, "scripted")).message == f"plays {script}"


def test_git_is_told_with_its_version_or_missed(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(programs.git(patient)).state == "broken"
    place = program(tmp_path, "git", "echo git version 2.40.1")
    assert only(programs.git(patient)).message == f"2.40.1 at {place}"
    program(tmp_path, "git", "echo git version 2.34.1")
    old = only(programs.git(patient))
    assert old.state == "warn" and "from 2.38 on it can be told not to" in old.message
    program(tmp_path, "bwrap", "exit 0")
    named = with_settings(
        patient, agents__native__provider="scripted", agents__native__sandbox="required"
    )
    assert "no command can run: git 2.34" in only(agents.agent(named, "native")).message
    program(tmp_path, "git", "exit 1")
    assert only(programs.git(patient)).state == "broken"


@pytest.mark.parametrize(
    ("chosen", "installed", "state", "message"),
    [
        pytest.param({}, False, "ok", "not installed, and nothing else needs it", id="no extra"),
        pytest.param({"enabled": False}, False, "ok", "off (voice.enabled)", id="off"),
        pytest.param({}, True, "warn", "The model 'base' is not installed", id="no model"),
        pytest.param({"model": "/no/where"}, True, "warn", "The directory /no/where holds no model "
                     "(model.bin, config.json, tokenizer.json)", id="none in a directory"),
        pytest.param({"engine": "openai", "url": "http://box:8000"}, True, "ok",
                     "engine openai http://box:8000", id="a server"),
        pytest.param({"engine": "openai"}, True, "warn", "There is no key for the speech server: "
                     "OPENAI_API_KEY is not set", id="a server without its key"),
        pytest.param({"engine": "wyoming"}, True, "warn", "No Wyoming server is named",
                     id="a server that is not named"),
        pytest.param({"engine": "scripted"}, True, "ok", "engine scripted", id="scripted"),
    ],
)  # fmt: skip
def test_speech_is_told_with_its_engine_and_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, Any], installed: bool,
    state: str, message: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if installed else None)
    settings = {f"voice__{name}": value for name, value in chosen.items()}
    found = only(programs.voice(with_settings(subject(tmp_path), **settings)))
    assert (found.state, found.message) == (state, message)


def test_the_model_of_speech_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = subject(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert only(programs.voice(patient)).fix == "Run: podium voice install base"
    there = model_in(patient.places.state / "models" / "base")
    assert only(programs.voice(patient)).message == f"installed; model base in {there}"


def test_the_key_of_the_native_agent_may_be_in_the_shell_alone(tmp_path: Path) -> None:
    patient = with_settings(subject(tmp_path), agents__native__model="m-1")
    environ = {**patient.environ, "ANTHROPIC_API_KEY": "secret"}
    found = only(agents.agent(replace(patient, environ=environ), "native"))
    assert (found.state, found.message) == (
        "broken",
        "its key is set here and not in the daemon's environment",
    )
    assert found.fix == "'podium down && podium up' from this shell"


def test_who_makes_commits_is_known_by_the_environment_or_by_settings(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git is not None
    bare = {"HOME": str(tmp_path), "PATH": str(Path(git).parent)}
    # Without this git makes up an address of the machine's name, where it has one.
    (tmp_path / ".gitconfig").write_text("[user]\nuseConfigOnly = true\n")
    unknown = only(programs.identity(subject(tmp_path, daemon_environ=bare)))
    assert (unknown.state, unknown.check) == ("warn", "git identity")
    assert "git config --global user.name" in unknown.fix
    ada = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    found = only(programs.identity(subject(tmp_path, daemon_environ={**bare, **ada})))
    assert (found.state, found.message) == ("ok", "Ada <ada@example.org>")
    (tmp_path / ".gitconfig").write_text("[user]\nname = Bob\nemail = b@example.org\n")
    found = only(programs.identity(subject(tmp_path, daemon_environ=bare)))
    assert found.message == "Bob <b@example.org>"
    absent = only(programs.identity(subject(tmp_path)))
    assert absent.state == "ok" and "there is no git" in absent.message
