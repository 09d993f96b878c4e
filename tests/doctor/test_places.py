"""Directories, the lock, the socket, the version."""

from __future__ import annotations

import os
import socket
import socket as sockets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd import __version__
from podiumd.config.load import ConfigError
from podiumd.doctor import gateway, places
from podiumd.doctor.report import document, is_broken, text, wants_colours
from podiumd.doctor.subject import Daemon
from podiumd.gateway.tls import self_signed
from podiumd.observe.checks import broken, ok, warn
from tests.doctor.patient import NOW, only, subject, with_settings

RUNNING = Daemon(pid=7, status={"pid": 7, "version": __version__})


def test_directories_that_are_ours_alone_are_well(tmp_path: Path) -> None:
    assert only(places.directories(subject(tmp_path))).state == "ok"


def test_a_start_makes_what_is_missing(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    (patient.places.state / "turns").rmdir()
    assert only(places.directories(patient)).state == "ok"


def test_what_others_may_read_is_named_with_the_command_that_closes_it(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    state = patient.places.state
    state.chmod(0o755)
    (state / "facts.db").write_bytes(b"")
    (state / "facts.db").chmod(0o644)
    directory, file = places.directories(patient)
    assert (directory.state, directory.fix) == ("warn", f"chmod 700 '{state}'")
    assert (file.state, file.fix) == ("warn", f"chmod 600 '{state / 'facts.db'}'")


def test_a_directory_that_others_can_write_to_is_broken(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    patient.places.state.chmod(0o777)
    found = only(places.directories(patient))
    assert found.state == "broken" and "everybody can write to it" in found.message


def test_a_link_a_file_and_a_strangers_directory_are_broken(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    state = patient.places.state
    (state / "turns").rmdir()
    (state / "turns").symlink_to(tmp_path)
    (state / "checks").rmdir()
    (state / "checks").write_text("")
    link, file = places.directories(patient)
    assert link.state == "broken" and "is a symbolic link" in link.message
    assert file.state == "broken" and "is not a directory" in file.message
    strangers = places.directories(replace(patient, uid=os.getuid() + 1))
    assert any(f"belongs to user {os.getuid()}" in one.message for one in strangers)


def test_a_directory_that_cannot_be_written_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = subject(tmp_path)
    (patient.places.state / "worktrees").rmdir()
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != patient.places.state)
    state, missing = places.directories(patient)
    assert state.state == "broken" and "cannot write to" in state.message
    assert missing.state == "broken" and "cannot be made" in missing.message


def test_the_lock_is_free_or_held_by_who_answers(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(places.lock(patient)).message == "free: no daemon has this STATE"
    held = replace(patient, daemon=RUNNING)
    assert only(places.lock(held)).message == "held by the daemon, pid 7"
    other = replace(patient, daemon=Daemon(pid=7, status={"pid": 8}))
    assert only(places.lock(other)).state == "broken"


def bound(path: Path) -> sockets.socket:
    sock = sockets.socket(sockets.AF_UNIX)
    sock.bind(str(path))
    path.chmod(0o600)
    return sock


def test_the_socket_of_a_dead_daemon_is_told_and_left(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert "no daemon is running" in only(places.socket(patient)).message
    bound(patient.places.socket).close()
    found = only(places.socket(patient))
    assert found.state == "ok" and "was left by a daemon that is gone" in found.message
    assert patient.places.socket.exists()


def test_a_socket_that_somebody_else_holds_is_seen_without_connecting(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), platform="linux")
    with bound(patient.places.socket) as sock:
        sock.listen()
        found = only(places.socket(patient))
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.accept()
    assert found.state == "ok" and "held for the daemon by a service manager" in found.message


def test_a_running_daemons_socket_must_answer_and_be_closed_to_others(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), daemon=RUNNING)
    path = patient.places.socket
    assert only(places.socket(patient)).message == f"{path} is gone while the daemon runs"
    with bound(path):
        assert only(places.socket(patient)).message == f"answers at {path}"
        path.chmod(0o666)
        assert only(places.socket(patient)).fix == f"chmod 600 '{path}'"
        silent = replace(patient, daemon=Daemon(pid=7, silent="timed out"))
        found = only(places.socket(silent))
    assert found.state == "broken" and "(pid 7) does not answer" in found.message


def test_what_stands_in_the_sockets_place_is_named(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    patient.places.socket.write_text("")
    assert only(places.socket(patient)).message.endswith("exists and is not a socket")
    patient.places.socket.unlink()
    with bound(patient.places.socket):
        found = only(places.socket(replace(patient, uid=os.getuid() + 1)))
    assert found.message.endswith(f"belongs to user {os.getuid()}")


def test_a_daemon_of_another_release_is_told_with_the_command(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(places.version(patient)).state == "ok"
    assert only(places.version(replace(patient, daemon=RUNNING))).state == "ok"
    older = replace(patient, daemon=Daemon(pid=7, status={"version": "0.0.9"}))
    found = only(places.version(older))
    assert found.message == f"the running daemon is 0.0.9, installed is {__version__}"
    assert found.fix.startswith("'podium down && podium up'")
    served = {"version": "0.0.9", "service": "systemd"}
    found = only(places.version(replace(patient, daemon=Daemon(pid=7, status=served))))
    assert found.fix.startswith("'podium service restart'")


def test_a_configuration_that_is_not_in_force_is_told(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert "all defaults hold" in only(places.configuration(patient)).message
    problem = {"configuration": {"problem": "c.toml:1: x", "pending": []}}
    broken = replace(patient, daemon=Daemon(pid=7, status=problem))
    assert "keeps its old settings: c.toml:1: x" in only(places.configuration(broken)).message
    pending = {"configuration": {"problem": None, "pending": [{"key": "gateway.port"}]}}
    waiting = replace(patient, daemon=Daemon(pid=7, status=pending))
    assert only(places.configuration(waiting)).message.endswith("a restart: gateway.port")
    typo = {"PODIUM_LIMITS_MAX_AGENT": "9"}
    alone = only(places.configuration(replace(patient, daemon_environ=typo)))
    assert (alone.state, alone.fix) == (
        "warn",
        "correct it, or unset it, where the daemon gets it, then 'podium down && podium up'",
    )
    assert alone.message.endswith("the nearest known is 'PODIUM_LIMITS_MAX_AGENTS'")
    both = places.configuration(replace(waiting, daemon_environ=typo))
    assert [one.state for one in both] == ["warn", "warn"] and both[1].message == alone.message
    found = places.unusable(ConfigError(["c.toml:1: one", "c.toml:2: two"]))
    assert (found.state, found.message) == ("broken", "c.toml:1: one (and 1 more)")


# -- what a person and a program read of the findings ----------------------------------------


CHECKS = [
    ok("git", "2.40"),
    warn("disk latency", "150 ms a commit", "use a local disk"),
    broken("port", "taken", "set gateway.port"),
]


def test_each_check_is_one_line_with_its_fix_and_the_last_line_sums_up() -> None:
    assert text(CHECKS, colours=False, whole=True) == (
        "ok      git           2.40\n"
        "warn    disk latency  150 ms a commit. Fix: use a local disk\n"
        "broken  port          taken. Fix: set gateway.port\n"
        "3 checks: 1 broken, 1 warning, 1 ok. Nothing was changed.\n"
    )
    two = [CHECKS[1], CHECKS[1]]
    assert "2 checks: 0 broken, 2 warnings, 0 ok." in text(two, colours=False, whole=True)
    assert text(CHECKS[:1], colours=False, whole=True).endswith("All 1 checks are well.\n")


def test_what_is_well_is_counted_and_not_listed_unless_it_is_asked_for() -> None:
    assert text(CHECKS, colours=False, whole=False) == (
        "warn    disk latency  150 ms a commit. Fix: use a local disk\n"
        "broken  port          taken. Fix: set gateway.port\n"
        "3 checks: 1 broken, 1 warning, 1 ok ('podium doctor --all' lists them). "
        "Nothing was changed.\n"
    )
    assert text(CHECKS[:1], colours=False, whole=False) == (
        "All 1 checks are well ('podium doctor --all' lists them).\n"
    )


def test_at_a_terminal_lines_end_between_words() -> None:
    found = [
        warn("user", "all of it is open", "look into /a/directory/whose-name-is-longer-than/lines"),
        ok("git", ""),
    ]
    assert text(found, colours=False, whole=True, columns=40) == (
        "warn    user\n"
        "    all of it is open. Fix: look into\n"
        "    /a/directory/whose-name-is-longer-than/lines\n"
        "ok      git\n"
        "2 checks: 0 broken, 1 warning, 1 ok.\n"
        "Nothing was changed.\n"
    )
    assert text(found[:1], colours=True, whole=False, columns=72).splitlines()[:2] == [
        "\x1b[33mwarn  \x1b[0m  user  all of it is open. Fix: look into",
        "              /a/directory/whose-name-is-longer-than/lines",
    ]


def test_a_fix_that_is_a_command_is_not_announced_twice() -> None:
    found = [warn("voice", "no model", "Run: podium voice install base")]
    line = text(found, colours=False, whole=False)
    assert line.startswith("warn    voice  no model. Fix: podium voice install base\n")


def test_what_a_program_named_itself_cannot_change_a_terminal() -> None:
    line = text([ok("port", "taken by \x1b[2J\nx")], colours=False, whole=True).splitlines()[0]
    assert line.endswith("taken by \\x1b[2J\\nx")


def test_colours_stand_for_the_states_alone() -> None:
    lines = text(CHECKS, colours=True, whole=True).splitlines()
    assert [line[:5] for line in lines[:3]] == ["\x1b[32m", "\x1b[33m", "\x1b[31m"]


def test_only_what_is_broken_makes_the_whole_not_well() -> None:
    assert not is_broken(CHECKS[:2]) and is_broken(CHECKS)
    assert document(CHECKS)["ok"] is False
    assert document(CHECKS[:2]) == {
        "ok": True,
        "checks": [
            {"check": "git", "state": "ok", "message": "2.40", "fix": ""},
            {
                "check": "disk latency",
                "state": "warn",
                "message": "150 ms a commit",
                "fix": "use a local disk",
            },
        ],
    }


@pytest.mark.parametrize(
    ("environ", "terminal", "wanted"),
    [({}, True, True), ({}, False, False), ({"NO_COLOR": "1"}, True, False),
     ({"TERM": "dumb"}, True, False)],
)  # fmt: skip
def test_colours_are_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], terminal: bool, wanted: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    assert wants_colours(environ) is wanted


# -- the gateway's port and certificate ------------------------------------------------------


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which this process listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        yield int(sock.getsockname()[1])


def test_a_port_that_is_free_is_well(tmp_path: Path, taken: int) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        free = sock.getsockname()[1]
    found = only(gateway.port(with_settings(subject(tmp_path), gateway__port=free)))
    assert (found.state, found.message) == ("ok", f"port {free} on 127.0.0.1 is free")


def test_a_port_that_is_taken_is_told_with_who_has_it(tmp_path: Path, taken: int) -> None:
    found = only(gateway.port(with_settings(subject(tmp_path), gateway__port=taken)))
    assert found.state == "broken"
    assert found.message.startswith(f"port {taken} on 127.0.0.1 is taken by ")
    assert found.message.endswith(f"(pid {os.getpid()})")


@pytest.mark.parametrize(
    ("host", "words"),
    [("192.0.2.1", "nothing can listen on port 9"), ("no.such.invalid", "no name or address")],
)
def test_a_host_that_is_not_this_machine_is_broken(tmp_path: Path, host: str, words: str) -> None:
    patient = with_settings(subject(tmp_path), gateway__host=host, gateway__port=9)
    found = only(gateway.port(patient))
    assert found.state == "broken" and words in found.message


def test_the_port_of_the_running_daemon_is_ours(tmp_path: Path, taken: int) -> None:
    patient = with_settings(subject(tmp_path), gateway__port=taken)

    def running(**told: object) -> str:
        daemon = Daemon(pid=7, status={"gateway": told})
        return only(gateway.port(replace(patient, daemon=daemon))).message

    assert "phones connect to ws://x" in running(url="ws://x", enabled=True)
    assert running(problem="Port 1 is in use.") == "Port 1 is in use"
    problem = "Port 1 is in use by another program. Stop that program, or set it to 0."
    daemon = Daemon(pid=7, status={"gateway": {"problem": problem}})
    found = only(gateway.port(replace(patient, daemon=daemon)))
    assert found.message == "Port 1 is in use by another program"
    assert found.fix.startswith("stop that program, or set it to 0, then 'podium ")
    assert running(enabled=False) == "the running daemon has its gateway off"
    silent = replace(patient, daemon=Daemon(pid=7, silent="x"))
    assert only(gateway.port(silent)).state == "warn"


def test_a_gateway_that_is_off_or_takes_any_port_is_well(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(gateway.port(with_settings(patient, gateway__enabled=False))).state == "ok"
    assert only(gateway.port(with_settings(patient, gateway__port=0))).state == "ok"


@pytest.mark.parametrize(("days", "state"), [(731, "broken"), (720, "warn"), (1, "ok")])
def test_a_certificate_is_told_before_it_ends(tmp_path: Path, days: int, state: str) -> None:
    patient = with_settings(subject(tmp_path), gateway__tls="auto")
    assert "the next start makes one" in only(gateway.certificate(patient)).message
    place = patient.places.state / "tls"
    place.mkdir()
    key, made = self_signed.make(["pots"], NOW)
    (place / "gateway.pem").write_bytes(key + self_signed.pem(made))
    later = replace(patient, now=NOW + timedelta(days=days))
    assert only(gateway.certificate(later)).state == state


def test_a_certificate_of_the_persons_own_must_be_there_and_be_one(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert "not used" in only(gateway.certificate(patient)).message
    path = tmp_path / "cert.pem"
    own = with_settings(patient, gateway__tls="files", gateway__cert_file=str(path))
    assert only(gateway.certificate(own)).message == f"gateway.cert_file: there is no {path}"
    path.write_text("nothing")
    assert "holds no certificate in PEM form" in only(gateway.certificate(own)).message
    _, made = self_signed.make(["pots"], NOW)
    path.write_bytes(self_signed.pem(made))
    assert only(gateway.certificate(own)).message == f"{path} is good for 729 days"
