"""The child's environment: what passes, what never does, and leaving a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from podiumd.agents.environment import agent_environment
from podiumd.config.load import with_values
from podiumd.config.settings import Config
from podiumd.tools.process.environment import (
    outside_turn,
    plain_environment,
    reexec_without_turn,
)

EVERYWHERE = {
    "PATH": "/bin",
    "HOME": "/home/u",
    "USER": "u",
    "LOGNAME": "u",
    "SHELL": "/bin/sh",
    "LANG": "C.UTF-8",
    "LC_ALL": "C",
    "TERM": "xterm",
    "TMPDIR": "/tmp/u",
    "XDG_RUNTIME_DIR": "/run/u",
    "SSH_AUTH_SOCK": "/run/ssh",
    "HTTPS_PROXY": "http://proxy",
    "no_proxy": "localhost",
}
CLAUDE_ONLY = {
    "ANTHROPIC_API_KEY": "key",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1",
    "CLAUDE_CONFIG_DIR": "/c",
    "CLAUDE_CODE_OAUTH_TOKEN": "token",
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "AWS_PROFILE": "work",
    "GOOGLE_CLOUD_PROJECT": "p",
    "NODE_EXTRA_CA_CERTS": "/ca",
}
NEVER = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_SSE_PORT": "1",
    "OPENAI_API_KEY": "secret",
    "PODIUM_HOME": "/p",
    "PODIUM_TURN": "outer",
    "GIT_DIR": "/other/.git",
    "LD_PRELOAD": "x.so",
}


def made(agent: str = "claude", **settings: object) -> dict[str, str]:
    values = {f"agents.{agent}.{name}": value for name, value in settings.items()}
    configured = with_values(Config(), values).agents[agent]
    return agent_environment(configured, {**EVERYWHERE, **CLAUDE_ONLY, **NEVER}, "t1")


def test_claude_gets_the_general_and_its_own_variables_and_the_marker_and_nothing_else() -> None:
    assert made() == {**EVERYWHERE, **CLAUDE_ONLY, "PODIUM_TURN": "t1"}


@pytest.mark.parametrize("agent", ["scripted", "native"])
def test_other_agents_get_no_credentials_of_claude(agent: str) -> None:
    assert made(agent) == {**EVERYWHERE, "PODIUM_TURN": "t1"}


def test_what_the_user_names_passes_and_a_value_the_user_sets_wins() -> None:
    result = made(
        pass_env=("OPENAI_API_KEY", "CLAUDECODE", "NOT_SET"),
        env={"PATH": "/opt/bin", "NEW": "1"},
    )
    assert result["OPENAI_API_KEY"] == "secret"
    assert result["CLAUDECODE"] == "1"
    assert result["PATH"] == "/opt/bin"
    assert result["NEW"] == "1"
    assert "NOT_SET" not in result


def test_no_variable_of_podium_passes_even_when_named() -> None:
    result = made(
        pass_env=("PODIUM_HOME", "PODIUM_TURN"),
        extra_env={"PODIUM_SOCKET": "/s", "PODIUM_TURN": "forged"},
    )
    assert {name: value for name, value in result.items() if name.startswith("PODIUM_")} == {
        "PODIUM_TURN": "t1"
    }


def test_the_plain_environment_is_the_general_part() -> None:
    assert plain_environment({**EVERYWHERE, **CLAUDE_ONLY, **NEVER}) == EVERYWHERE


def test_a_daemon_inside_a_turn_starts_itself_anew_without_the_marker() -> None:
    calls: list[tuple[str, list[str], dict[str, str]]] = []

    def execve(path: str, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        calls.append((path, list(argv), dict(environ)))

    inside = {"PATH": "/bin", "PODIUM_TURN": "t", "PODIUM_HOME": "/p"}
    assert not outside_turn(inside)
    reexec_without_turn(inside, ["/usr/bin/python3", "-m", "podiumd"], execve)
    assert calls == [
        (
            "/usr/bin/python3",
            ["/usr/bin/python3", "-m", "podiumd"],
            {"PATH": "/bin", "PODIUM_HOME": "/p"},
        )
    ]
    assert outside_turn(calls[0][2])


def test_a_daemon_outside_any_turn_goes_on() -> None:
    def execve(*_: object) -> None:
        raise AssertionError("started anew without need")

    reexec_without_turn({"PATH": "/bin"}, ["/usr/bin/python3"], execve)
