"""Whether Claude Code is logged in, whether its provider is there, and what ``podium up`` says."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.doctor import agents, provider, run
from podiumd.doctor.subject import Subject
from tests.doctor.patient import only, program, snapshot, subject, with_settings


def agent(home: Path, answer: Any, *, started: bool = True) -> Subject:
    """A person with an agent that answers ``auth status`` so."""
    said = home / "said"
    said.write_text(answer if isinstance(answer, str) else json.dumps(answer))
    program(
        home,
        "claude",
        f'[ "$1" = auth ] && {{ echo "$*" >> {home}/asked; /bin/cat {said}; exit 0; }}; echo 2.1.0',
    )
    if started:
        (home / ".claude.json").write_text("{}")
    return subject(home)


def keyed(patient: Subject, **theirs: str) -> Subject:
    """The same, with these in the daemon's environment alone."""
    return replace(patient, daemon_environ={**patient.daemon_environ, **theirs})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"loggedIn": True, "authMethod": "claude.ai"}, ", logged in"),
        ({"loggedIn": True, "authMethod": "oauth_token"}, ", token in the environment"),
        ({"loggedIn": True, "authMethod": "third_party"}, ", asks through another provider"),
        ({"loggedIn": True, "apiKeySource": "apiKeyHelper"}, ", key in apiKeyHelper"),
        ({"loggedIn": True, "authMethod": "new"}, ", logged in"),
        ("error: unknown command", ""),
        ({"loggedIn": "perhaps"}, ""),
        (["loggedIn"], ""),
    ],
)
def test_an_agent_says_itself_how_it_is_logged_in(tmp_path: Path, answer: Any, words: str) -> None:
    found = only(agents.agent(agent(tmp_path, answer), "claude"))

    assert (found.state, found.message) == ("ok", f"2.1.0 at {tmp_path}/bin/claude{words}")
    assert (tmp_path / "asked").read_text() == "auth status --json\n"


def test_it_is_asked_once_whoever_looks(tmp_path: Path) -> None:
    patient = agent(tmp_path, {"loggedIn": True, "authMethod": "claude.ai"})

    assert only(agents.agent(patient, "claude")).state == "ok"
    provider.provider(patient)
    run.why_unready(patient)

    assert (tmp_path / "asked").read_text() == "auth status --json\n"
    assert len(patient.answers) == 1


def test_who_is_not_logged_in_is_told_of_both_ways(tmp_path: Path) -> None:
    found = only(agents.agent(agent(tmp_path, {"loggedIn": False, "authMethod": "none"}), "claude"))

    assert found.state == "warn" and found.message.startswith("claude is not logged in (2.1.0 at ")
    assert found.fix == (
        "run 'claude' in a terminal and log in, or export ANTHROPIC_API_KEY and then "
        "'podium down && podium up'"
    )


def test_a_key_that_only_this_shell_has_is_named(tmp_path: Path) -> None:
    patient = agent(tmp_path, {"loggedIn": False})
    shell = {**patient.environ, "CLAUDE_CODE_OAUTH_TOKEN": "x"}

    found = only(agents.agent(replace(patient, environ=shell), "claude"))

    assert found.message.startswith(
        "claude is not logged in: CLAUDE_CODE_OAUTH_TOKEN is set here and not in the daemon's"
    )
    assert found.fix == "'podium down && podium up' from this shell"


def test_in_a_home_where_it_was_never_started_it_is_not_asked(tmp_path: Path) -> None:
    patient = agent(tmp_path, {"loggedIn": True}, started=False)
    before = snapshot(tmp_path)

    assert only(agents.agent(patient, "claude")).message.startswith("claude is not logged in")
    by_key = only(agents.agent(keyed(patient, ANTHROPIC_API_KEY="k"), "claude"))
    by_cloud = only(agents.agent(keyed(patient, CLAUDE_CODE_USE_BEDROCK="1"), "claude"))

    assert by_key.message.endswith("/claude, key in ANTHROPIC_API_KEY")
    assert by_cloud.message.endswith("/claude, key in CLAUDE_CODE_USE_BEDROCK")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", [".credentials.json", "settings.json"])
def test_what_is_stored_without_its_own_file_is_left_open(tmp_path: Path, name: str) -> None:
    patient = agent(tmp_path, {"loggedIn": False}, started=False)
    own = tmp_path / "own"
    own.mkdir()
    (own / name).write_text("{}")

    found = only(agents.agent(keyed(patient, CLAUDE_CONFIG_DIR=str(own)), "claude"))

    assert (found.state, found.message) == ("ok", f"2.1.0 at {tmp_path}/bin/claude")


@pytest.fixture
def server() -> Any:
    """A server that takes connections; what it was sent is never looked at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_a_provider_is_reached_without_a_word(tmp_path: Path, server: socket.socket) -> None:
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    patient = keyed(
        agent(tmp_path, {"loggedIn": True}), ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="k"
    )

    found = only(provider.provider(patient))
    connection, _ = server.accept()

    assert (found.state, found.message) == ("ok", f"{url.removeprefix('http://')} can be reached")
    assert connection.recv(1) == b""
    connection.close()


def test_a_provider_that_is_not_there_is_named_with_its_setting(tmp_path: Path) -> None:
    patient = agent(tmp_path, {"loggedIn": True})
    local = with_settings(
        patient, agents__native__provider="openai", agents__native__base_url="http://127.0.0.1:9"
    )

    of_claude, of_native = provider.provider(keyed(local, ANTHROPIC_BASE_URL="http://127.0.0.1:7"))

    assert (of_claude.state, of_claude.check) == ("warn", "provider")
    assert of_claude.message == "127.0.0.1:7 cannot be reached: Connection refused"
    assert "ANTHROPIC_BASE_URL and the proxy in the daemon's environment" in of_claude.fix
    assert of_native.message == "127.0.0.1:9 cannot be reached: Connection refused"
    assert "base_url in [agents.native]" in of_native.fix


@pytest.mark.parametrize(
    ("environ", "reached"),
    [
        ({"HTTP_PROXY": "http://127.0.0.1:{port}"}, True),
        ({"http_proxy": "127.0.0.1:{port}"}, True),
        ({"HTTP_PROXY": "http://127.0.0.1:{port}", "NO_PROXY": ".invalid"}, False),
        ({"HTTP_PROXY": "http://127.0.0.1:{port}", "NO_PROXY": "elsewhere"}, True),
        ({}, False),
    ],
)
def test_a_proxy_is_what_is_connected_to(
    tmp_path: Path, server: socket.socket, environ: dict[str, str], reached: bool
) -> None:
    given = {name: value.format(port=server.getsockname()[1]) for name, value in environ.items()}
    patient = keyed(
        agent(tmp_path, {"loggedIn": True}), ANTHROPIC_BASE_URL="http://model.invalid", **given
    )

    found = only(provider.provider(patient))

    assert (found.state == "ok") is reached
    assert ("by the proxy 127.0.0.1:" in found.message) is reached


def test_another_cloud_and_an_agent_that_is_not_ready_are_not_connected_to(tmp_path: Path) -> None:
    patient = agent(tmp_path, {"loggedIn": True})
    cloud = only(provider.provider(keyed(patient, CLAUDE_CODE_USE_VERTEX="1")))
    nobody = only(provider.provider(agent(tmp_path, {"loggedIn": False})))
    demo = only(
        provider.provider(with_settings(subject(tmp_path), agents__native__provider="scripted"))
    )

    assert {cloud.message, nobody.message, demo.message} == {"none is set up yet"}


def test_up_says_that_no_agent_is_ready_and_nothing_where_one_is(
    tmp_path: Path, server: socket.socket
) -> None:
    missing = run.why_unready(subject(tmp_path))
    stranger = run.why_unready(agent(tmp_path, {"loggedIn": False}))
    patient = agent(tmp_path, {"loggedIn": True})
    lost = run.why_unready(keyed(patient, ANTHROPIC_BASE_URL="http://127.0.0.1:9"))
    url = f"http://127.0.0.1:{server.getsockname()[1]}"
    well = run.why_unready(keyed(patient, ANTHROPIC_BASE_URL=url))

    assert missing == "No agent is ready yet: 'podium doctor' says what to install."
    assert stranger == (
        "No agent is ready yet: claude is not logged in: 'podium doctor' says what to do."
    )
    assert lost == (
        "No agent can work just now: 127.0.0.1:9 cannot be reached: Connection refused "
        "('podium doctor' says what to check)."
    )
    assert well == ""
