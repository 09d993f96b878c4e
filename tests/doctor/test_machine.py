"""Python, the clock, the watches, the service."""

from __future__ import annotations

import plistlib
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from podiumd.doctor import machine, service
from podiumd.store.facts import open_store
from tests.doctor.patient import NOW, only, subject, with_settings
from tests.store.support import a_fact, a_run


def test_python_must_be_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(machine.python(subject(tmp_path))).state == "ok"
    monkeypatch.setattr(machine, "OLDEST_PYTHON", (9, 0))
    assert only(machine.python(subject(tmp_path))).state == "broken"


async def test_a_clock_that_was_set_back_is_told(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    assert only(machine.clock(patient)).message == "2026-06-01T12:00:00.000Z"
    assert only(machine.clock(replace(patient, now=NOW.replace(year=1970)))).state == "broken"
    async with open_store(patient.places.state) as store:
        [fact] = await store.append(a_run(), [a_fact(1)])
    newest = machine._newest_fact(patient)
    assert newest is not None and fact.at.startswith(f"{newest:%FT%H:%M}")
    before = newest - timedelta(hours=3)
    if before > machine._RELEASED:
        found = only(machine.clock(replace(patient, now=before)))
        assert found.message == "the newest record is 3:00:00 ahead of the clock"


def limits(root: Path, watches: str, instances: str = "128") -> Path:
    place = root / "sys/fs/inotify"
    place.mkdir(parents=True, exist_ok=True)
    (place / "max_user_watches").write_text(watches)
    (place / "max_user_instances").write_text(instances)
    return root


def test_every_directory_of_sessions_needs_a_watch(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), platform="linux")
    for number in range(4):
        (patient.places.claude_projects / f"p{number}").mkdir(parents=True)
    proc = tmp_path / "proc"
    enough = only(machine.inotify(patient, limits(proc, "5")))
    assert enough.message == "5 directories of sessions, 5 watches allowed"
    few = only(machine.inotify(patient, limits(proc, "4")))
    assert few.state == "warn" and "max_user_watches=10," in few.fix
    assert only(machine.inotify(patient, limits(proc, "100", "8"))).state == "warn"
    assert only(machine.inotify(patient, tmp_path / "none")).state == "ok"
    assert only(machine.inotify(replace(patient, platform="darwin"))).state == "ok"


def test_sessions_are_where_the_settings_and_the_environment_say(tmp_path: Path) -> None:
    patient = with_settings(subject(tmp_path), agents__claude__env={"CLAUDE_CONFIG_DIR": "/c"})
    assert machine.roots(patient) == [Path("/c/projects"), tmp_path / ".codex/sessions"]
    moved = replace(subject(tmp_path), environ={"CODEX_HOME": "/x"})
    assert machine.roots(moved) == [tmp_path / ".claude/projects", Path("/x/sessions")]


def unit(tmp_path: Path, command: str) -> Path:
    path = tmp_path / ".config/systemd/user/podiumd.service"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[Service]\nType=notify\nExecStart={command}\n")
    return path


def test_a_service_must_start_this_podium(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), platform="linux")
    assert "not installed" in only(service.service(patient)).message
    path = unit(tmp_path, f"{sys.executable} -P -m podiumd")
    assert only(service.service(patient)).message == f"installed: {path}"
    unit(tmp_path, "/gone/podiumd")
    found = only(service.service(patient))
    assert (found.state, found.message) == ("broken", f"{path} starts /gone/podiumd, which is gone")
    unit(tmp_path, "/bin/sh")
    assert only(service.service(patient)).state == "warn"
    path.write_text("[Service]\n")
    assert only(service.service(patient)).message == f"{path} says nothing to start"
    unit(tmp_path, '"unclosed')
    assert "cannot be read" in only(service.service(patient)).message


def test_a_private_daemon_has_no_service(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), environ={"PODIUM_HOME": "/p"})
    assert only(service.service(patient)).state == "ok"
    assert only(service.lingering(patient)).state == "ok"


def test_a_launchd_agent_is_read_as_well(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), platform="darwin")
    path = service.unit_file(patient)
    path.parent.mkdir(parents=True)
    path.write_bytes(plistlib.dumps({"ProgramArguments": [sys.executable, "-m", "podiumd"]}))
    assert only(service.service(patient)).message == f"installed: {path}"
    path.write_bytes(b"<plist>")
    assert only(service.service(patient)).state == "broken"
    assert "sleeping Mac" in only(service.lingering(patient)).message


def test_a_service_without_lingering_is_told_with_the_command(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), platform="linux")
    assert only(service.lingering(patient)).message == "not needed without a service"
    unit(tmp_path, sys.executable)
    flags = tmp_path / "linger"
    assert only(service.lingering(patient, flags)).fix == "loginctl enable-linger ada"
    flags.mkdir()
    (flags / "ada").touch()
    assert only(service.lingering(patient, flags)).state == "ok"
