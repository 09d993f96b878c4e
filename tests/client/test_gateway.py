"""``pair`` and ``devices``, and what ``up`` and ``status`` say of the gateway."""

from __future__ import annotations

import json
import stat
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from podium import flow
from podium.commands import daemon as commands_daemon
from podium.commands import status as views
from podium.commands.gateway import INK_ON_PAPER, RESET
from tests.client.fake_daemon import FakeDaemon, Refused, podium
from tests.client.terminal import Terminal
from tests.client.test_views import STATUS

KEY = "untethered-0123456789abcdef0123456789abcdef"
PICTURE = b"\x89PNG\r\n\x1a\n and so on"
PAIRED: dict[str, Any] = {
    "device": "phone",
    "url": "ws://127.0.0.1:8080",
    "key": KEY,
    "qr": "    \n ▀▄ \n    \n",
    "ways": [
        {"way": "network", "text": "In your own network: " + "set host and restart, " * 8 + "so."},
        {"way": "ssh", "text": "With an SSH app: 'ssh -L 8080:127.0.0.1:8080 ada@192.0.2.7'."},
    ],
    "trust": None,
    "fingerprint": None,
    "warning": None,
}
DEVICES: list[dict[str, Any]] = [
    {
        "device": "phone",
        "name": "phone",
        "paired_at": "2026-05-01T10:00:00.000Z",
        "last_seen": "2026-05-02T10:00:00.000Z",
        "connected": True,
        "kind": "phone",
        "scope": "all",
    },
    {
        "device": "Ada's tablet",
        "name": "Ada's tablet",
        "paired_at": "2026-05-01T10:00:00.000Z",
        "last_seen": None,
        "connected": False,
        "kind": "web",
        "scope": "look",
    },
]


@pytest.fixture
def gateway(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers |= {
        "gateway.pair": lambda params: (
            PAIRED | ({"png": b64encode(PICTURE).decode()} if params.get("png") else {})
        ),
        "gateway.devices": DEVICES,
        "gateway.revoke": {},
    }
    return daemon


def test_pair_shows_the_key_once_with_code_address_and_the_ways_here(gateway: FakeDaemon) -> None:
    done = podium(gateway, "pair")

    assert done.stdout.count(KEY) == 1
    assert "\n      \n   ▀▄ \n      \n" in done.stdout
    assert "The gateway listens at ws://127.0.0.1:8080, on this machine only.\n" in done.stdout
    assert "\n- In your own network: set host" in done.stdout
    assert "\n- With an SSH app: 'ssh -L 8080:127.0.0.1:8080 ada@192.0.2.7'.\n" in done.stdout
    assert done.stdout.endswith("To take the key back: podium devices revoke phone\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert (done.stderr, done.returncode) == ("", 0)
    assert gateway.params_of("gateway.pair") == [{}]


def test_a_key_is_broken_by_no_terminal_however_narrow(gateway: FakeDaemon) -> None:
    with Terminal(gateway, "pair", columns=40) as terminal:
        assert terminal.end() == 0
    assert KEY in flow.plain(terminal.screen).splitlines()


def test_an_address_that_a_phone_can_use_is_told_as_such(daemon: FakeDaemon) -> None:
    daemon.answers["gateway.pair"] = PAIRED | {"url": "wss://192.0.2.7:8080"}

    assert "\nAddress: wss://192.0.2.7:8080\n" in podium(daemon, "pair").stdout


@pytest.mark.parametrize("padding", range(0, 80, 7))
def test_what_is_to_be_copied_stands_on_one_line(daemon: FakeDaemon, padding: int) -> None:
    command = "'ssh -L 8080:127.0.0.1:8080 ada@192.0.2.7'"
    setting = 'host = "0.0.0.0"'
    words = f"{'It is ' * (padding // 6)}this machine's: {command}, or set {setting} and more."
    daemon.answers["gateway.pair"] = PAIRED | {"ways": [{"way": "ssh", "text": words}]}

    lines = podium(daemon, "pair").stdout.splitlines()

    assert any(command in line for line in lines)
    assert any(setting in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_pair_calls_the_device_as_told_and_quotes_the_name_for_a_shell(daemon: FakeDaemon) -> None:
    daemon.answers["gateway.pair"] = lambda params: PAIRED | {"device": params["name"]}

    done = podium(daemon, "pair", "--name", "Ada's tablet")

    assert done.stdout.startswith("Device 'Ada's tablet' is paired.")
    assert done.stdout.endswith("podium devices revoke 'Ada'\"'\"'s tablet'\n")


def test_at_a_terminal_the_code_is_black_on_white_whatever_its_colours(
    gateway: FakeDaemon,
) -> None:
    with Terminal(gateway, "pair", columns=100) as terminal:
        assert terminal.end() == 0

    assert f"  {INK_ON_PAPER} ▀▄ {RESET}\r\n" in terminal.screen


def test_without_colours_the_code_is_drawn_as_it_is(gateway: FakeDaemon) -> None:
    with Terminal(gateway, "pair", columns=100, NO_COLOR="1") as terminal:
        assert terminal.end() == 0

    assert "   ▀▄ \r\n" in terminal.screen
    assert "\x1b" not in terminal.screen


def test_pair_tells_loudly_that_the_gateway_is_not_safe(daemon: FakeDaemon) -> None:
    warning = "The gateway listens beyond this machine without TLS."
    daemon.answers["gateway.pair"] = PAIRED | {"warning": warning, "trust": None}

    done = podium(daemon, "pair")

    assert done.stderr == f"\nWARNING: {warning}\n"


def test_pair_says_what_makes_a_phone_trust_the_certificate(daemon: FakeDaemon) -> None:
    trust = "Send c.pem to the phone. Its SHA-256 fingerprint is AA:BB."
    daemon.answers["gateway.pair"] = PAIRED | {"trust": trust, "fingerprint": "AA:BB"}

    assert f"\n{trust}\n" in podium(daemon, "pair").stdout


def test_a_picture_of_the_code_is_for_its_owner_alone(gateway: FakeDaemon, tmp_path: Path) -> None:
    done = podium(gateway, "pair", "--png", "code.png", cwd=tmp_path)

    saved = tmp_path / "code.png"
    assert saved.read_bytes() == PICTURE
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert str(saved) in " ".join(done.stdout.split())
    assert done.returncode == 0
    assert gateway.params_of("gateway.pair") == [{"png": True}]


def test_an_existing_file_is_left_alone_and_nothing_is_paired(
    gateway: FakeDaemon, tmp_path: Path
) -> None:
    (tmp_path / "code.png").write_text("a holiday")

    done = podium(gateway, "pair", "--png", "code.png", cwd=tmp_path)

    assert done.stderr == "podium: code.png exists already: name another file.\n"
    assert (done.returncode, done.stdout) == (1, "")
    assert (tmp_path / "code.png").read_text() == "a holiday"
    assert gateway.calls == []


def test_a_link_in_the_pictures_place_is_not_followed(gateway: FakeDaemon, tmp_path: Path) -> None:
    (tmp_path / "code.png").symlink_to(tmp_path / "elsewhere")

    done = podium(gateway, "pair", "--png", "code.png", cwd=tmp_path)

    assert (done.returncode, gateway.calls) == (1, [])
    assert not (tmp_path / "elsewhere").exists()


def test_a_picture_without_a_place_pairs_nothing(gateway: FakeDaemon, tmp_path: Path) -> None:
    done = podium(gateway, "pair", "--png", "no/such/code.png", cwd=tmp_path)

    assert done.stderr == "podium: no/such/code.png cannot be written: No such file or directory.\n"
    assert (done.returncode, gateway.calls) == (1, [])


def test_a_refused_pairing_leaves_no_picture_behind(daemon: FakeDaemon, tmp_path: Path) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise Refused(-32006, "The gateway is off.")

    daemon.answers["gateway.pair"] = refuse

    done = podium(daemon, "pair", "--png", "code.png", cwd=tmp_path)

    assert done.stderr == "podium: The gateway is off.\n"
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("encoded", ["", "no base64!"])
def test_a_picture_that_fails_in_the_end_does_not_cost_the_key(
    daemon: FakeDaemon, tmp_path: Path, encoded: str
) -> None:
    daemon.answers["gateway.pair"] = PAIRED | {"png": encoded}

    done = podium(daemon, "pair", "--png", "code.png", cwd=tmp_path)

    assert KEY in done.stdout
    assert "picture" not in done.stdout
    assert done.stderr.startswith("podium: The picture code.png could not be written: ")
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_pair_as_json_is_the_answer_with_the_pictures_path(
    gateway: FakeDaemon, tmp_path: Path
) -> None:
    assert json.loads(podium(gateway, "pair", "--json").stdout) == PAIRED

    done = podium(gateway, "pair", "--json", "--png", "code.png", cwd=tmp_path)

    assert json.loads(done.stdout) == PAIRED | {"png": str(tmp_path / "code.png")}


def test_a_hostile_answer_cannot_drive_the_terminal(daemon: FakeDaemon) -> None:
    words = "\x1b]0;owned\x07"
    daemon.answers["gateway.pair"] = {
        name: [{"way": "ssh", "text": words}] if name == "ways" else words for name in PAIRED
    }

    done = podium(daemon, "pair")

    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


def test_devices_are_listed_with_when_they_were_seen(gateway: FakeDaemon) -> None:
    heading, first, second = podium(gateway, "devices").stdout.splitlines()

    assert heading.split() == ["PAIRED", "SEEN", "KIND", "SCOPE", "DEVICE"]
    assert first.endswith("connected  phone  all    phone")
    assert second.endswith("-          web    look   Ada's tablet")
    assert json.loads(podium(gateway, "devices", "--json").stdout) == DEVICES


def test_without_devices_the_command_that_pairs_one_is_named(daemon: FakeDaemon) -> None:
    daemon.answers["gateway.devices"] = []

    done = podium(daemon, "devices")

    assert done.stdout == "No paired devices: 'podium pair' gives a phone a key.\n"


def test_a_device_is_revoked_by_its_name(gateway: FakeDaemon) -> None:
    done = podium(gateway, "devices", "revoke", "Ada's tablet")

    assert done.stdout == "The key of 'Ada's tablet' is taken back; its connections are cut.\n"
    assert gateway.params_of("gateway.revoke") == [{"device": "Ada's tablet"}]
    assert json.loads(podium(gateway, "devices", "revoke", "phone", "--json").stdout) == {
        "revoked": "phone"
    }


def test_revoking_a_device_that_is_not_paired_names_the_list(daemon: FakeDaemon) -> None:
    def unknown(params: dict[str, Any]) -> None:
        raise Refused(-32002, "There is no paired device 'x'.", {"kind": "device", "id": "x"})

    daemon.answers["gateway.revoke"] = unknown

    done = podium(daemon, "devices", "revoke", "x")

    assert done.stderr == (
        "podium: There is no paired device 'x'. 'podium devices' lists what there is.\n"
    )
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("gateway", "words"),
    [
        ({"enabled": False, "url": None, "clients": 0}, "off"),
        (
            {"enabled": True, "url": "ws://[::1]:80", "clients": 0, "problem": None},
            "ws://[::1]:80 (0 clients)",
        ),
        (
            {"enabled": True, "url": "ws://vm:1", "clients": 2, "warning": "Not safe."},
            "ws://vm:1 (2 clients, without TLS: 'podium pair' says what to do)",
        ),
        (
            {"enabled": True, "url": None, "clients": 0, "problem": "Port 8080 is taken."},
            "not running: Port 8080 is taken.",
        ),
    ],
)
def test_status_has_a_line_about_the_gateway(
    daemon: FakeDaemon,
    gateway: dict[str, Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(views, "call", lambda method: STATUS | {"gateway": gateway})

    assert views.status(json=False) == 0

    assert f"gateway         {words}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("gateway", "out", "err"),
    [
        ({"enabled": False, "url": None}, "", ""),
        ({"enabled": True, "url": None, "problem": None}, "", ""),
        (
            {"enabled": True, "url": "wss://192.0.2.7:8080"},
            "A phone reaches it at wss://192.0.2.7:8080: 'podium pair' gives it a key.\n",
            "",
        ),
        (
            {"enabled": True, "url": "ws://192.0.2.7:8080", "warning": "Not safe."},
            "A phone reaches it at ws://192.0.2.7:8080: 'podium pair' gives it a key.\n",
            "\nWARNING: Not safe.\n",
        ),
        (
            {"enabled": True, "url": None, "problem": "Port 8080 is taken: free it."},
            "No phone can reach it: Port 8080 is taken: free it.\n",
            "",
        ),
    ],
)
def test_up_says_how_a_phone_reaches_the_daemon(
    gateway: dict[str, Any],
    out: str,
    err: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = STATUS | {"gateway": gateway}
    monkeypatch.setattr(commands_daemon, "call", lambda method: status)

    assert commands_daemon.up(foreground=False, config=None, json=False) == 0

    said = capsys.readouterr()
    assert said.out.partition("\n")[2] == out
    assert said.err == err
