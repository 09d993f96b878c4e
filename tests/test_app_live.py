"""A daemon that runs: settings that change, figures that are scraped, ends that are told."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podiumd.doctor.run import examine
from tests.long import sampled
from tests.real_daemon import RealDaemon, real_daemon

SCRIPT = """
[[turns]]
times = 0
text = "Done."
run = [["/bin/sh", "-c", "read line < gate"]]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory with a gate at which every turn waits until somebody writes to it."""
    place = tmp_path / "project"
    place.mkdir()
    os.mkfifo(place / "gate")
    return place


@pytest.fixture
def daemon(tmp_path: Path, project: Path) -> Iterator[RealDaemon]:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    settings = f'agents.scripted.script = "{script}"\nlimits.max_agents = 1\n'
    with real_daemon(tmp_path / "h", config=settings) as made:
        yield made


def prompt(daemon: RealDaemon, project: Path) -> str:
    params: dict[str, Any] = {"text": "go", "agent": "scripted", "working_directory": str(project)}
    return str(daemon.result("sessions.prompt", **params)["run_id"])


def until(daemon: RealDaemon, run_id: str, status: str) -> None:
    """Follow a run until it has come so far: an answer a question, no waiting in between."""
    for _ in range(20_000):
        if daemon.result("runs.get", run_id=run_id)["status"] == status:
            return
    raise AssertionError(f"never {status}")


def open_gate(project: Path) -> None:
    (project / "gate").write_text("go\n")


def test_what_the_file_says_anew_holds_at_once_or_waits_for_a_restart(
    daemon: RealDaemon, project: Path
) -> None:
    first, second = prompt(daemon, project), prompt(daemon, project)
    until(daemon, first, "running")
    assert daemon.result("runs.get", run_id=second)["status"] == "queued"
    config = (daemon.home / "config.toml").read_text()
    (daemon.home / "config.toml").write_text(config.replace("max_agents = 1", "max_agents = 2"))
    answer = daemon.result("daemon.reload")
    assert (answer["changed"], answer["pending"]) == (["limits.max_agents"], [])
    until(daemon, second, "running")
    assert daemon.result("daemon.status")["limits"]["max_agents"] == 2

    daemon.write_config("orchestration.enabled = false\n")
    assert "orchestration.enabled" in daemon.result("daemon.reload")["changed"]
    assert daemon.result("daemon.status")["orchestration"] == {"enabled": False}
    daemon.write_config("orchestration.enabled = true\n")
    daemon.result("daemon.reload")
    assert daemon.result("daemon.status")["orchestration"] == {"enabled": True}

    asked = "GET /healthz HTTP/1.1\r\nHost: box.example"
    assert daemon.http(asked).startswith(b"HTTP/1.1 421 ")
    daemon.write_config('gateway.allowed_hosts = ["box.example"]\ngateway.host = "::1"\n')
    daemon.process.send_signal(signal.SIGHUP)
    pending: dict[str, Any] = {}
    for _ in range(20_000):
        found = daemon.result("daemon.configuration")["pending"]
        pending = {one["key"]: one for one in found}
        if "gateway.host" in pending:
            break
    assert daemon.http(asked).startswith(b"HTTP/1.1 200 ")
    assert pending["gateway.host"] == {"key": "gateway.host", "running": "127.0.0.1", "file": "::1"}
    assert "agents.scripted.script" in pending
    assert daemon.result("daemon.status")["configuration"]["pending"] == list(pending.values())
    restarts = {line["key"] for line in daemon.logged("Configuration needs a restart")}
    assert restarts == pending.keys()


def test_the_doctor_and_a_scraper_see_how_it_is_until_a_client_ends_it(
    daemon: RealDaemon, project: Path
) -> None:
    home = daemon.home
    environ = {"HOME": str(home), "PODIUM_HOME": str(home), "PATH": os.environ["PATH"]}

    def states() -> dict[str, tuple[str, str]]:
        return {one.check: (one.state, one.message) for one in examine(environ, home)}

    well = states()
    pid = daemon.process.pid
    assert well["lock"] == ("ok", f"held by the daemon, pid {pid}")
    assert well["socket"] == ("ok", f"answers at {home / 'podium.sock'}")
    assert well["version"][0] == well["facts.db"][0] == well["configuration"][0] == "ok"
    assert well["port"] == (
        "ok",
        f"the daemon listens: phones connect to ws://127.0.0.1:{daemon.port}",
    )
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        silent = states()
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert silent["socket"][0] == "broken" and "timed out" in silent["socket"][1]
    assert silent["port"][0] == "warn"

    run_id = prompt(daemon, project)
    open_gate(project)
    until(daemon, run_id, "ended")
    key = daemon.result("gateway.pair")["key"]

    assert daemon.http("GET /metrics HTTP/1.1\r\nHost: localhost").startswith(b"HTTP/1.1 401 ")
    answer = daemon.http(
        f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}"
    ).decode()
    rows = dict(row.rsplit(" ", 1) for row in answer.splitlines() if row.startswith("podium_"))
    assert rows['podium_runs_total{kind="prompt",class="completed"}'] == "1"
    assert rows["podium_prompts_total"] == rows['podium_turns_total{end="done"}'] == "1"
    assert int(rows["podium_rpc_requests_total"]) >= 3
    assert rows["podium_rpc_clients"] == "1" and rows["podium_agents_working"] == "0"
    assert int(rows["podium_open_files"]) > 5
    assert int(rows["podium_resident_memory_bytes"]) > 10_000_000
    assert int(rows["podium_loop_delay_seconds_count"]) > 10

    daemon.result("daemon.shutdown")
    assert daemon.wait() == 0
    assert daemon.logged("Daemon stopped")[0]["reason"] == "asked to by a client"


@pytest.mark.parametrize("number", sampled([signal.SIGTERM, signal.SIGINT]))
def test_a_mistyped_variable_and_a_daemon_that_was_killed_are_told_at_the_start_and_each_end_is(
    tmp_path: Path, number: signal.Signals
) -> None:
    with real_daemon(tmp_path / "h") as first:
        first.process.kill()
        assert first.wait() == -signal.SIGKILL
    with real_daemon(
        tmp_path / "h",
        PODIUM_LIMITS_MAX_AGENT="9",
        PODIUM_TURN="a-turn",
        PODIUM_TOOLS_TOKEN="a-token",
        PODIUM_FAILPOINT="",
    ) as second:
        (line,) = second.logged("The daemon before ended without a word")
        assert line["pid"] == str(first.process.pid)
        (told,) = second.logged("Setting ignored")
        assert told["level"] == "warning"
        assert told["reason"].startswith("environment PODIUM_LIMITS_MAX_AGENT: unknown")
        assert second.result("daemon.status")["configuration"]["warnings"] == [told["reason"]]
        second.process.send_signal(number)
        assert second.wait() == 0
    assert [line["reason"] for line in second.logged("Daemon stopping")] == [number.name]
    assert [line["reason"] for line in second.logged("Daemon stopped")] == [number.name]
    assert len(second.logged("The daemon before ended without a word")) == 1


ON_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
terminal = int(sys.argv[1])
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
os.dup2(terminal, 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_daemon_whose_terminal_is_closed_stops_and_says_why(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    wrapper = (sys.executable, "-c", ON_TERMINAL, str(theirs))
    with real_daemon(tmp_path / "h", *wrapper, inherited=(theirs,)) as daemon:
        os.close(theirs)
        os.close(ours)
        assert daemon.wait() == 0
        reasons = [line["reason"] for line in daemon.logged("Daemon stopped")]
    assert reasons == ["SIGHUP: its terminal was closed"]
