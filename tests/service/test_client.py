"""The client beside a service: whose socket it is, and a daemon of another version."""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any

import pytest

from podium.rpc import installed, version_mismatch
from podiumd.service import launchd, systemd
from tests.client.fake_daemon import HangUp, fake_daemon, podium


def install(home: Path, socket: Path) -> None:
    directory = home / ".config" / "systemd" / "user"
    directory.mkdir(parents=True)
    (directory / "podiumd.service").write_text(systemd.service_unit(("/bin/podiumd",), {}))
    (directory / "podiumd.socket").write_text(systemd.socket_unit(socket))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def test_a_service_serves_its_own_socket_alone(home: Path) -> None:
    socket = home / "run 100%" / "podium.sock"
    assert not installed.serves(str(socket))

    install(home, socket)

    assert installed.serves(str(socket))
    assert not installed.serves(str(home / "own" / "podium.sock"))


def test_a_service_whose_daemon_ends_at_once_leads_to_its_log(home: Path) -> None:
    def hang_up(_: object) -> None:
        raise HangUp

    with fake_daemon() as fake:
        fake.answers["daemon.status"] = hang_up
        plain = podium(fake, "up", settings={"HOME": str(home)})
        install(home, fake.path)
        done = podium(fake, "up", settings={"HOME": str(home)})

    assert "closed the connection" in plain.stderr
    assert done.returncode == 1 and "'podium service logs --since 10m'" in done.stderr


def test_units_are_looked_for_where_systemd_does(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(home, home / "s")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "elsewhere"))

    assert not installed.serves(str(home / "s"))


@pytest.mark.parametrize("text", ["", "ListenStream=8080\n", b"\xff\xfe"])
def test_a_socket_unit_of_another_kind_is_no_service_of_ours(home: Path, text: str | bytes) -> None:
    install(home, home / "s")
    unit = home / ".config" / "systemd" / "user" / "podiumd.socket"
    unit.write_bytes(text if isinstance(text, bytes) else text.encode())

    assert not installed.serves(str(home / "s"))


def test_on_macos_the_property_list_tells(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    file = home / "Library" / "LaunchAgents" / "podiumd.plist"
    file.parent.mkdir(parents=True)
    assert not installed.serves(str(home / "s"))

    file.write_text(launchd.property_list(("p",), {}, socket=home / "s", early_log=home / "l"))
    assert installed.serves(str(home / "s"))
    file.write_bytes(plistlib.dumps({"Label": "podiumd"}))
    assert not installed.serves(str(home / "s"))
    file.write_text("no list")
    assert not installed.serves(str(home / "s"))


@pytest.mark.parametrize(
    ("service", "command"),
    [("systemd", "podium service restart"), (None, "podium down && podium up")],
)
def test_a_daemon_of_another_version_is_told_with_the_command(
    service: str | None, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told: Any = {"version": "9.9", "service": service}
    version_mismatch.tell(told)

    assert f"the daemon 9.9: '{command}' " in capsys.readouterr().err


def test_a_daemon_of_the_same_version_is_not_worth_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from podium import __version__

    told: Any = {"version": __version__}
    version_mismatch.tell(told)

    assert capsys.readouterr().err == ""
