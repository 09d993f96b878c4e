"""The gateway's port and certificate."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.doctor import gateway
from podiumd.doctor.subject import Daemon
from podiumd.gateway.tls import self_signed
from tests.doctor.patient import NOW, only, subject, with_settings


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
