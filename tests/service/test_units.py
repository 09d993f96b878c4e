"""The units: valid to systemd itself, and with any path and value in them."""

from __future__ import annotations

import configparser
import subprocess
from functools import partial
from pathlib import Path

import pytest

from podiumd.agents.kind import ConfiguredAgent
from podiumd.agents.kinds import standing_agents
from podiumd.config.load import with_values
from podiumd.config.settings import Config
from podiumd.service import systemd
from podiumd.service.captured import captured, shown
from podiumd.service.systemd import Systemd
from tests.needs import need
from tests.patience import HANG_SECONDS
from tests.service.situations import previewed, situation

ROOT = Path(__file__).resolve().parents[2]
HOME = Path("/home/ada")
NAMES = (systemd.SERVICE, systemd.SOCKET, systemd.GATEWAY)


def verify(directory: Path) -> str:
    """What systemd's own check says of the units there; nothing when they are sound.

    It starts no service manager and looks at no unit of this machine's user.
    """
    need("systemd-analyze")
    runtime = directory.parent / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *(str(directory / n) for n in NAMES)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(runtime), "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr + (f"status {done.returncode}" if done.returncode else "")


def written(directory: Path, program: Path, **variables: str) -> Path:
    """All three units, for a program that is there."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    directory.mkdir(exist_ok=True)
    (directory / systemd.SERVICE).write_text(systemd.service_unit((str(program),), variables))
    (directory / systemd.SOCKET).write_text(
        systemd.socket_unit(directory / "a %h b" / "podium.sock")
    )
    (directory / systemd.GATEWAY).write_text(systemd.gateway_unit("::1", 8080))
    return directory


def read(path: Path) -> dict[str, list[str]]:
    """Every setting of a unit, and its values in order."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            found.setdefault(line.partition("=")[0], []).append(line.partition("=")[2])
    return found


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    directory = written(tmp_path / "units", tmp_path / "bin" / "podiumd", PATH="/usr/bin:/bin")

    assert verify(directory) == ""


def test_the_check_would_find_a_wrong_word(tmp_path: Path) -> None:
    directory = written(tmp_path / "units", tmp_path / "bin" / "podiumd")
    unit = directory / systemd.SERVICE
    unit.write_text(unit.read_text().replace("WatchdogSec=", "WatchdogSecs="))

    assert "Unknown key 'WatchdogSecs'" in verify(directory)


def test_the_shipped_units_are_valid_as_they_are(tmp_path: Path) -> None:
    home = tmp_path / "run"
    program = home / ".local" / "bin" / "podiumd"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    directory = tmp_path / "units"
    directory.mkdir()
    for name in NAMES:
        (directory / name).write_bytes((ROOT / "systemd" / name).read_bytes())
    home.chmod(0o700)

    assert verify(directory) == ""


def test_a_path_with_every_special_character_stays_what_it_is(tmp_path: Path) -> None:
    program = tmp_path / 'a "b" $HOME %h' / "podiumd"
    directory = written(tmp_path / "units", program)
    (line,) = read(directory / systemd.SERVICE)["ExecStart"]

    assert verify(directory) == ""
    escaped = str(program).replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    assert line == f'/bin/sh -c "exec \\"$$0\\" \\"$$@\\"" "{escaped}" --log-format json'


def test_a_path_with_blanks_is_one_word(tmp_path: Path) -> None:
    program = tmp_path / "a b 100% c" / "podiumd"
    directory = written(tmp_path / "units", program)

    assert verify(directory) == ""
    escaped = str(program).replace("%", "%%")
    assert read(directory / systemd.SERVICE)["ExecStart"] == [f'"{escaped}" --log-format json']


def test_values_of_variables_are_quoted(tmp_path: Path) -> None:
    directory = written(tmp_path / "units", tmp_path / "podiumd", A='x "y" \\ 100% $Z', B="")

    assert verify(directory) == ""
    assert read(directory / systemd.SERVICE)["Environment"] == [
        "PODIUM_SERVICE=systemd",
        r'"A=x \"y\" \\ 100%% $Z"',
        '"B="',
    ]


def test_the_service_keeps_its_promises() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(ROOT / "systemd" / systemd.SERVICE, encoding="utf-8")
    service = unit["Service"]

    assert service["Type"] == "notify" and service["NotifyAccess"] == "main"
    assert service["Restart"] == "on-failure" and service["RestartSec"] == "200ms"
    assert int(unit["Unit"]["StartLimitBurst"]) * 0.2 < int(unit["Unit"]["StartLimitIntervalSec"])
    assert service["OOMPolicy"] == "continue" and service["Delegate"] == "yes"


def test_the_service_unit_alone_is_private(capsys: pytest.CaptureFixture[str]) -> None:
    steps = previewed(partial(Systemd().install, situation(HOME, gateway_socket=True)), capsys)

    written = [step.split("/")[-1] for step in steps if step.startswith("write ")]
    assert written == [
        "podiumd.service (0600)",
        "podiumd.socket (0644)",
        "podiumd-gateway.socket (0644)",
    ]


SHELL = {
    "HOME": "/home/ada",
    "PATH": "/home/ada/.local/bin:/usr/bin",
    "TERM": "xterm",
    "LANG": "de_DE.UTF-8",
    "EDITOR": "vi",
    "CLAUDECODE": "1",
    "ANTHROPIC_API_KEY": "sk-ant-1",
    "OPENAI_API_KEY": "sk-2",
    "HTTPS_PROXY": "http://proxy:3128",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "XDG_SESSION_ID": "3",
    "XDG_STATE_HOME": "/data/state",
    "SSH_AUTH_SOCK": "/tmp/ssh-abc/agent.1",
    "MY_TOKEN": "t",
    "PODIUM_TURN": "x",
    "NO_PROXY": "a\nb",
}


AGENTS = [*standing_agents().values()]


def passing(name: str) -> ConfiguredAgent:
    """An agent that is given this variable too."""
    return with_values(Config(), {"agents.claude.pass_env": (name,)}).agents["claude"]


def test_a_service_gets_what_agents_need_and_nothing_of_one_login() -> None:
    assert captured(SHELL, [*AGENTS, passing("MY_TOKEN")]) == {
        "ANTHROPIC_API_KEY": "sk-ant-1",
        "HTTPS_PROXY": "http://proxy:3128",
        "LANG": "de_DE.UTF-8",
        "MY_TOKEN": "t",
        "OPENAI_API_KEY": "sk-2",
        "PATH": "/home/ada/.local/bin:/usr/bin",
        "XDG_STATE_HOME": "/data/state",
    }


@pytest.mark.parametrize(
    ("socket", "taken"),
    [
        ("/run/user/1000/keyring/ssh", True),
        ("/home/ada/.ssh/agent", True),
        ("/tmp/ssh-abc/agent.1", False),
        ("/run/user/10001/agent", False),
    ],
)
def test_an_ssh_agent_is_taken_where_it_lasts(socket: str, taken: bool) -> None:
    assert ("SSH_AUTH_SOCK" in captured(SHELL | {"SSH_AUTH_SOCK": socket}, AGENTS)) is taken


def test_the_settings_of_a_private_daemon_are_kept_absolute() -> None:
    made = situation(HOME, environ={"PODIUM_HOME": "own", "PODIUM_CONFIG": "/etc/podium.toml"})

    assert made.variables["PODIUM_HOME"] == str(Path("own").absolute())
    assert made.variables["PODIUM_CONFIG"] == "/etc/podium.toml"


def test_secrets_are_not_shown() -> None:
    variables = {"API_KEY": 'a"b', "PATH": "/usr/bin"}

    text = systemd.service_unit(("/bin/podiumd",), variables)

    assert r"API_KEY=a\"b" in text
    assert 'API_KEY=[redacted]"' in shown(text, variables)
    assert "PATH=/usr/bin" in shown(text, variables)
