"""``podium pair --web``, ``podium web`` and ``podium web setup``."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from podium.commands import web as commands_web
from podium.errors import Failure
from tests.client.fake_daemon import FakeDaemon, podium
from tests.client.terminal import Terminal
from tests.client.test_gateway import DEVICES
from tests.client.test_views import STATUS

HERE: dict[str, Any] = {"enabled": True, "url": "ws://127.0.0.1:8080", "warning": None}
READABLE = "Anybody in the network can read it."
IN_THE_OPEN: dict[str, Any] = {"enabled": True, "url": "ws://192.0.2.7:8080", "warning": READABLE}
INVITATION: dict[str, Any] = {
    "url": "http://127.0.0.1:8080/pair#tokentokentokentoken",
    "code": "ABCD-1234",
    "scope": "work",
    "url_minutes": 10,
    "code_minutes": 5,
    "qr": "    \n ▀▄ \n    \n",
    "ways": [],
    "trust": None,
    "fingerprint": None,
    "warning": None,
}


@pytest.fixture
def gateway(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers |= {
        "daemon.status": STATUS | {"gateway": HERE},
        "gateway.devices": DEVICES[:1],
        "gateway.pair": lambda params: INVITATION | {"scope": params["scope"]},
    }
    return daemon


@pytest.fixture
def unsafe(gateway: FakeDaemon) -> FakeDaemon:
    gateway.answers["daemon.status"] = STATUS | {"gateway": IN_THE_OPEN}
    return gateway


# -- pair --web --


def test_a_browser_is_paired_by_a_link_a_picture_of_it_or_a_code(gateway: FakeDaemon) -> None:
    done = podium(gateway, "pair", "--web")

    assert INVITATION["url"] in done.stdout.splitlines()
    assert "within 10 minutes; it is good once" in done.stdout
    assert "\n      \n   ▀▄ \n      \n" in done.stdout
    assert "within 5 minutes: ABCD-1234\n" in done.stdout
    assert "'podium web setup' makes an address that a phone reaches." in done.stdout
    assert "(scope work)" in done.stdout
    assert (done.stderr, done.returncode) == ("", 0)
    assert gateway.params_of("gateway.pair") == [{"kind": "web", "scope": "work"}]


@pytest.mark.parametrize("scope", ["look", "answer", "work", "all"])
def test_a_page_may_what_is_asked_for(gateway: FakeDaemon, scope: str) -> None:
    done = podium(gateway, "pair", "--web", "--scope", scope, "--name", "kitchen")

    assert gateway.params_of("gateway.pair") == [{"name": "kitchen", "kind": "web", "scope": scope}]
    assert f"(scope {scope})" in done.stdout


def test_a_phone_s_app_has_no_scope(gateway: FakeDaemon) -> None:
    done = podium(gateway, "pair", "--scope", "look")

    assert done.stderr == "podium: --scope goes with --web: a phone's app has all rights.\n"
    assert (done.returncode, gateway.calls) == (2, [])


def test_where_the_key_could_be_read_the_person_is_asked_and_a_yes_pairs(
    unsafe: FakeDaemon,
) -> None:
    with Terminal(unsafe, "pair", "--web", columns=100) as terminal:
        terminal.expect(f"WARNING: {READABLE}")
        terminal.expect("Pair a browser all the same? [y/N] ")
        assert unsafe.params_of("gateway.pair") == []
        terminal.type("y\n")
        terminal.expect("ABCD-1234")
        assert terminal.end() == 0


@pytest.mark.parametrize("answer", ["\n", "n\n", "yess\n"])
def test_anything_else_than_a_yes_pairs_nothing(unsafe: FakeDaemon, answer: str) -> None:
    with Terminal(unsafe, "pair", "--web", columns=100) as terminal:
        terminal.expect("[y/N] ")
        terminal.type(answer)
        terminal.expect("podium: Nothing was changed.")
        assert terminal.end() == 1
    assert unsafe.params_of("gateway.pair") == []


def test_without_a_terminal_nothing_is_paired_in_the_open(unsafe: FakeDaemon) -> None:
    done = podium(unsafe, "pair", "--web", stdin=b"y\n")

    assert done.stderr == (
        f"\nWARNING: {READABLE}\npodium: This is asked at a terminal: --yes pairs without asking.\n"
    )
    assert (done.stdout, done.returncode) == ("", 1)
    assert unsafe.params_of("gateway.pair") == []


def test_yes_pairs_in_the_open_without_asking(unsafe: FakeDaemon) -> None:
    assert podium(unsafe, "pair", "--web", "--yes").returncode == 0
    assert unsafe.params_of("gateway.pair") == [{"kind": "web", "scope": "work"}]


def test_a_hostile_invitation_cannot_drive_the_terminal(gateway: FakeDaemon) -> None:
    words = "\x1b]0;owned\x07"
    gateway.answers["gateway.pair"] = INVITATION | dict.fromkeys(
        ("url", "code", "qr", "trust"), words
    )

    done = podium(gateway, "pair", "--web")

    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


# -- devices scope --


def test_a_page_is_given_another_scope(gateway: FakeDaemon) -> None:
    gateway.answers["gateway.scope"] = {}
    done = podium(gateway, "devices", "scope", "kitchen", "answer")

    assert done.stdout == "'kitchen' may now look, and answer questions (scope answer).\n"
    asked = {"device": "kitchen", "scope": "answer"}
    assert gateway.params_of("gateway.scope") == [asked]
    assert json.loads(podium(gateway, "devices", "scope", "kitchen", "all", "--json").stdout) == {
        "device": "kitchen",
        "scope": "all",
    }


def test_a_scope_that_there_is_not_is_refused_before_the_daemon_is_asked(
    gateway: FakeDaemon,
) -> None:
    assert podium(gateway, "devices", "scope", "kitchen", "root").returncode == 2
    assert gateway.calls == []


# -- web --


def test_the_page_s_address_is_shown_with_what_it_lacks(gateway: FakeDaemon) -> None:
    done = podium(gateway, "web")

    assert done.stdout.splitlines() == [
        "The page: http://127.0.0.1:8080",
        "- It is for browsers of this machine alone: 'podium web setup' opens it to a phone.",
        "No browser is paired yet: 'podium pair --web' shows a link and a code.",
    ]
    assert json.loads(podium(gateway, "web", "--json").stdout) == {
        "url": "http://127.0.0.1:8080",
        "missing": [done.stdout.splitlines()[1].removeprefix("- ")],
    }


def test_a_page_over_plain_http_lacks_what_browsers_keep_for_https(unsafe: FakeDaemon) -> None:
    _, insecure, warning, _ = podium(unsafe, "web").stdout.splitlines()

    assert insecure.startswith("- Over plain HTTP a browser gives it no microphone")
    assert warning == f"- {READABLE}"


def test_a_page_that_a_phone_reaches_over_https_lacks_nothing(gateway: FakeDaemon) -> None:
    paired = [DEVICES[0] | {"kind": "web", "scope": "work"}]
    gateway.answers |= {
        "daemon.status": STATUS | {"gateway": HERE | {"url": "wss://box.ts.net:8080"}},
        "gateway.devices": paired,
    }

    assert podium(gateway, "web").stdout == "The page: https://box.ts.net:8080\n"


def test_a_gateway_that_does_not_listen_has_no_page_and_says_why(gateway: FakeDaemon) -> None:
    gateway.answers["daemon.status"] = STATUS | {
        "gateway": {"enabled": True, "url": None, "problem": "Port 8080 is taken."}
    }

    done = podium(gateway, "web")

    assert (done.stdout, done.stderr) == ("", "podium: Port 8080 is taken.\n")
    assert done.returncode == 1


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("flags", "screen", "opened"),
    [((), ":9", True), ((), "", False), (("--print",), ":9", False)],
)
def test_at_a_terminal_with_a_screen_the_page_is_opened(
    gateway: FakeDaemon, tmp_path: Path, flags: tuple[str, ...], screen: str, opened: bool
) -> None:
    log = tmp_path / "opened"
    browser = executable(tmp_path / "browser", f'echo "$1" > {log}\n')
    shown = {"DISPLAY": screen, "WAYLAND_DISPLAY": "", "BROWSER": f"{browser} %s"}

    with Terminal(gateway, "web", *flags, columns=100, **shown) as terminal:
        assert terminal.end() == 0

    assert (log.read_text() if log.exists() else None) == (
        "http://127.0.0.1:8080\n" if opened else None
    )


# -- web setup --

NAME = "box.tail.ts.net"
BEFORE = "# mine\n[gateway]\nport = 8081 # for a reason\n\n[limits]\nmax_agents = 2\n"


class Setting:
    """A person's machine: a configuration file, a daemon that runs, and perhaps Tailscale."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = root / "config" / "config.toml"
        self.asked = root / "asked"
        self.restarts: list[str] = []
        self._programs = root / "programs"
        self._programs.mkdir()
        monkeypatch.setenv("PATH", f"{self._programs}:/usr/bin:/bin")
        monkeypatch.setattr(commands_web, "call", self._call)
        monkeypatch.setattr(commands_web, "_restart", self.restarts.append)

    def _call(self, method: str, *_: object) -> Any:
        assert method == "daemon.configuration"
        return {"path": str(self.config)}

    def written(self, text: str = BEFORE) -> None:
        self.config.parent.mkdir()
        self.config.write_text(text)
        self.config.chmod(0o640)

    def tailscale(self, status: str | None = None, cert: str = 'touch "$3" "$5"') -> None:
        """Have a ``tailscale`` that answers so; ``cert`` is what making a certificate does."""
        found = {"BackendState": "Running", "Self": {"DNSName": f"{NAME}."}}
        words = json.dumps(found) if status is None else status
        script = (
            f"case $1 in status) echo '{words}';; *) echo \"$@\" >> {self.asked}; {cert};; esac\n"
        )
        executable(self._programs / "tailscale", script)

    def setup(self, way: str | None = None, yes: bool = True, dry_run: bool = False) -> int:
        return commands_web.setup(way, yes, dry_run)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(tmp_path, monkeypatch)


def test_with_tailscale_its_name_and_a_certificate_of_it_are_set(
    machine: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.written()
    machine.tailscale()

    assert machine.setup() == 0

    tls = machine.config.parent / "tls"
    cert, key = tls / f"{NAME}.crt", tls / f"{NAME}.key"
    assert machine.asked.read_text() == f"cert --cert-file {cert} --key-file {key} {NAME}\n"
    assert cert.exists() and key.exists()
    assert stat.S_IMODE(tls.stat().st_mode) == 0o700
    assert machine.config.read_text() == BEFORE.replace(
        "[gateway]\n",
        f'[gateway]\nhost = "{NAME}"\ntls = "files"\ncert_file = "{cert}"\nkey_file = "{key}"\n',
    )
    assert machine.restarts == [str(machine.config)]
    said = capsys.readouterr().out
    assert f'host = "{NAME}"' in said and f"Before it: tailscale cert --cert-file {cert}" in said
    assert said.endswith("Now pair a browser: podium pair --web\n")


@pytest.mark.parametrize(
    "status",
    [
        '{"BackendState": "Stopped", "Self": {"DNSName": "box.tail.ts.net."}}',
        '{"BackendState": "Running", "Self": {"DNSName": ""}}',
        '{"BackendState": "Running", "Self": null}',
        "[]",
        "no JSON",
    ],
)
def test_where_tailscale_is_not_connected_the_own_network_is_taken(
    machine: Setting, status: str
) -> None:
    machine.written()
    machine.tailscale(status)

    assert machine.setup() == 0

    assert machine.config.read_text() == BEFORE.replace(
        "[gateway]\n", '[gateway]\nhost = "0.0.0.0"\ntls = "auto"\n'
    )
    assert not machine.asked.exists()


def test_without_tailscale_that_way_is_refused_with_what_to_do(machine: Setting) -> None:
    machine.written()

    with pytest.raises(Failure, match=r"Tailscale is not here, or not connected.*--way lan"):
        machine.setup("tailscale")
    assert (machine.config.read_text(), machine.restarts) == (BEFORE, [])


def test_the_own_network_is_taken_where_it_is_asked_for(machine: Setting) -> None:
    machine.written()
    machine.tailscale()

    machine.setup("lan")

    assert 'host = "0.0.0.0"\n' in machine.config.read_text()
    assert not machine.asked.exists()


def test_a_dry_run_shows_all_of_it_and_changes_nothing(
    machine: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.written()
    machine.tailscale()

    assert machine.setup(dry_run=True) == 0

    assert f'host = "{NAME}"' in capsys.readouterr().out
    assert (machine.config.read_text(), machine.restarts) == (BEFORE, [])
    assert not machine.asked.exists() and not (machine.config.parent / "tls").exists()


def test_a_certificate_that_is_not_to_be_had_leaves_all_as_it_was(machine: Setting) -> None:
    machine.written()
    machine.tailscale(cert="echo 'HTTPS is \033[31moff' >&2; exit 1")

    with pytest.raises(Failure) as refused:
        machine.setup()

    assert "failed, and nothing was changed. It said: HTTPS is" in str(refused.value)
    assert "\033" not in str(refused.value)
    assert (machine.config.read_text(), machine.restarts) == (BEFORE, [])


@pytest.mark.parametrize("before", ["gateway = {port = 1}\n", "gateway = 1\n", "[gateway\n"])
def test_a_file_that_cannot_be_changed_line_by_line_is_left_and_its_lines_are_shown(
    machine: Setting, before: str
) -> None:
    machine.written(before)
    machine.tailscale()

    with pytest.raises(Failure) as refused:
        machine.setup("lan")

    assert 'Write these by hand, under [gateway]:\n\nhost = "0.0.0.0"\n' in str(refused.value)
    assert (machine.config.read_text(), machine.restarts) == (before, [])


def test_settings_that_stand_there_already_are_left_and_the_certificate_is_renewed(
    machine: Setting, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.written()
    machine.tailscale()
    machine.setup()
    before = machine.config.stat()
    capsys.readouterr()

    machine.setup()

    assert "has these settings already." in capsys.readouterr().out
    assert machine.config.stat() == before
    assert len(machine.asked.read_text().splitlines()) == len(machine.restarts) == 2


def test_a_file_keeps_its_rights(machine: Setting) -> None:
    machine.written()

    machine.setup("lan")

    assert stat.S_IMODE(machine.config.stat().st_mode) == 0o640


@pytest.mark.parametrize("way", ["lan", "tailscale"])
def test_a_file_that_was_not_there_can_be_written_by_its_owner_alone(
    machine: Setting, way: str
) -> None:
    """Others' rights on it, or on its folder, and the daemon would not believe it."""
    machine.tailscale()
    usual = os.umask(0o002)
    try:
        machine.setup(way)
    finally:
        os.umask(usual)

    for place in (machine.config, machine.config.parent):
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0, place
    assert machine.restarts == [str(machine.config)]


def test_a_file_that_cannot_be_written_is_named_and_nothing_restarts(machine: Setting) -> None:
    machine.config.parent.write_text("a file in the folder's place")

    with pytest.raises(Failure, match=r"config\.toml cannot be written: "):
        machine.setup("lan")
    assert machine.restarts == []


def test_without_a_terminal_nothing_is_changed_unasked(gateway: FakeDaemon, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    gateway.answers["daemon.configuration"] = {"path": str(config)}

    done = podium(gateway, "web", "setup", "--way", "lan", stdin=b"y\n")

    assert done.stderr == "podium: This is asked at a terminal: --yes changes without asking.\n"
    assert (done.returncode, config.exists()) == (1, False)


def test_the_person_is_asked_and_a_no_changes_nothing(gateway: FakeDaemon, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    gateway.answers["daemon.configuration"] = {"path": str(config)}

    with Terminal(gateway, "web", "setup", "--way", "lan", columns=100) as terminal:
        terminal.expect('tls = "auto"')
        terminal.expect("Change this, and restart the daemon? [y/N] ")
        terminal.type("n\n")
        assert terminal.end() == 1
    assert not config.exists()
    assert gateway.params_of("daemon.shutdown") == []
