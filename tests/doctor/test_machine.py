"""Python, the clock, the watches, the service."""

from __future__ import annotations

import plistlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.agents.others import OTHERS
from podiumd.doctor import machine, service
from podiumd.doctor.subject import Subject
from podiumd.service import systemd
from podiumd.store.facts import open_store
from tests.doctor.patient import NOW, only, program, subject, with_settings
from tests.store.support import a_fact, a_run


def test_python_must_be_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(machine.python(subject(tmp_path))).state == "ok"
    monkeypatch.setattr(machine, "OLDEST_PYTHON", (9, 0))
    assert only(machine.python(subject(tmp_path))).state == "broken"


def test_that_it_is_root_is_told_and_nothing_broken(tmp_path: Path) -> None:
    assert only(machine.user(replace(subject(tmp_path), uid=1000))).state == "ok"
    found = only(machine.user(replace(subject(tmp_path), uid=0)))
    assert found.state == "warn" and found.message.startswith("Podium runs as root")


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
        (tmp_path / ".claude/projects" / f"p{number}").mkdir(parents=True)
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
    ours = patient.places.state / "sessions"
    others = [tmp_path / other.own / other.files for other in OTHERS.values()]
    own = [Path("/c/projects"), tmp_path / ".codex/sessions", ours]
    assert machine.roots(patient) == [*own, *others]
    moved = replace(subject(tmp_path), environ={"HOME": str(tmp_path), "CODEX_HOME": "/x"})
    own = [tmp_path / ".claude/projects", Path("/x/sessions"), ours]
    assert machine.roots(moved) == [*own, *others]


SAID = "ActiveState=active\nSubState=running\nMainPID=7\nNRestarts=0\nUnitFileState=enabled\n"


def installed(tmp_path: Path, said: str = SAID, **changes: Any) -> Subject:
    """A person with the unit of this version, and a systemd that says ``said`` of it."""
    patient = replace(subject(tmp_path), platform="linux", **changes)
    situation = service._situation(patient)
    path = service.unit_file(patient)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(systemd.service_unit(situation.program, situation.variables))
    program(tmp_path, "systemctl", f"printf '{said}'")
    return patient


def test_a_service_that_runs_is_well(tmp_path: Path) -> None:
    assert "not installed" in only(service.service(subject(tmp_path))).message
    found = only(service.service(installed(tmp_path)))
    path = service.unit_file(subject(tmp_path))
    assert (found.state, found.message) == ("ok", f"{path}: active (running)")
    often = installed(tmp_path, SAID.replace("NRestarts=0", "NRestarts=3"))
    assert only(service.service(often)).message.endswith("active (running), restarted 3 times")


@pytest.mark.parametrize(
    ("said", "state", "words"),
    [
        ("", "warn", "systemd does not answer"),
        (SAID.replace("active\nSub", "inactive\nSub"), "warn", "installed and not running"),
        (SAID.replace("enabled", "disabled"), "warn", "not started at login"),
        ("ActiveState=failed\nSubState=failed\nResult=start-limit-hit\n", "broken", "start-limit"),
    ],
)
def test_a_service_that_does_not_do_its_work_is_told(
    tmp_path: Path, said: str, state: str, words: str
) -> None:
    found = only(service.service(installed(tmp_path, said)))
    assert found.state == state and words in found.message


def test_a_unit_of_another_version_is_told_with_the_command(tmp_path: Path) -> None:
    patient = installed(tmp_path)
    path = service.unit_file(patient)
    path.write_text(path.read_text().replace("ExecStart=", "ExecStart=/old/podiumd #"))
    found = only(service.service(patient))
    assert found.state == "warn" and "podium service install" in found.fix
    path.write_bytes(b"\xff")
    assert only(service.service(patient)).state == "broken"


def test_a_service_of_another_daemon_is_not_judged(tmp_path: Path) -> None:
    environ = {"PODIUM_HOME": "/elsewhere", "HOME": str(tmp_path)}
    patient = replace(installed(tmp_path), environ=environ)
    assert "for another daemon" in only(service.service(patient)).message


def test_a_launchd_agent_is_read_as_well(tmp_path: Path) -> None:
    patient = replace(subject(tmp_path), platform="darwin")
    path = service.unit_file(patient)
    path.parent.mkdir(parents=True)
    path.write_bytes(plistlib.dumps({"Label": "old"}))
    assert only(service.service(patient)).state == "warn"
    path.write_bytes(b"<?xml <plist>")
    assert only(service.service(patient)).state == "broken"
    assert "sleeping Mac" in only(service.lingering(patient)).message


def test_a_service_without_lingering_is_told_with_the_command(tmp_path: Path) -> None:
    assert only(service.lingering(subject(tmp_path))).message == "not needed without a service"
    patient = installed(tmp_path)
    flags = tmp_path / "linger"
    assert only(service.lingering(patient, flags)).fix == "loginctl enable-linger ada"
    flags.mkdir()
    (flags / "ada").touch()
    assert only(service.lingering(patient, flags)).state == "ok"
