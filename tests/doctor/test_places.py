"""Directories, the lock, the socket, the version."""

from __future__ import annotations

import os
import socket as sockets
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd import __version__
from podiumd.config.load import ConfigError
from podiumd.doctor import places, settings
from podiumd.doctor.subject import Daemon
from tests.doctor.patient import only, subject

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
    assert "all defaults hold" in only(settings.configuration(patient)).message
    problem = {"configuration": {"problem": "c.toml:1: x", "pending": []}}
    broken = replace(patient, daemon=Daemon(pid=7, status=problem))
    assert "keeps its old settings: c.toml:1: x" in only(settings.configuration(broken)).message
    pending = {"configuration": {"problem": None, "pending": [{"key": "gateway.port"}]}}
    waiting = replace(patient, daemon=Daemon(pid=7, status=pending))
    assert only(settings.configuration(waiting)).message.endswith("a restart: gateway.port")
    typo = {"PODIUM_LIMITS_MAX_AGENT": "9"}
    alone = only(settings.configuration(replace(patient, daemon_environ=typo)))
    assert (alone.state, alone.fix) == (
        "warn",
        "correct it, or unset it, where the daemon gets it, then 'podium down && podium up'",
    )
    assert alone.message.endswith("the nearest known is 'PODIUM_LIMITS_MAX_AGENTS'")
    both = settings.configuration(replace(waiting, daemon_environ=typo))
    assert [one.state for one in both] == ["warn", "warn"] and both[1].message == alone.message
    found = settings.unusable(ConfigError(["c.toml:1: one", "c.toml:2: two"]))
    assert (found.state, found.message) == ("broken", "c.toml:1: one (and 1 more)")
