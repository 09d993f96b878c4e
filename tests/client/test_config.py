"""``podium config`` and ``podium doctor``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.commands import config as commands_config
from podium.commands import offline
from tests.client.fake_daemon import FakeDaemon, Refused, podium
from tests.client.processes import ROOT
from tests.client.test_views import STATUS, told

PENDING = [{"key": "gateway.port", "running": 8080, "file": 99}]
DOCUMENT: dict[str, Any] = {
    "path": "/c.toml",
    "problem": None,
    "pending": PENDING,
    "values": [
        {"key": "agents.claude.env", "value": {"A": "[redacted]"}, "source": "/c.toml:3"},
        {"key": "gateway.port", "value": 8080, "source": "default"},
        {"key": "voice.model", "value": "base", "source": "default"},
    ],
}


def test_reload_tells_what_is_in_force_and_what_waits(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.reload"] = {"changed": ["limits.max_agents"], "pending": PENDING}
    done = podium(daemon, "config", "reload")
    assert done.stdout == (
        "In force now: limits.max_agents.\n"
        "gateway.port waits for a restart: it is 8080, and is to be 99.\n"
        "Restart with 'podium down && podium up'.\n"
    )
    served = {"changed": [], "pending": PENDING, "restart": "podium service restart"}
    daemon.answers["daemon.reload"] = served
    assert podium(daemon, "config", "reload").stdout.endswith("with 'podium service restart'.\n")
    agent = {"key": "agents.work.driver", "running": None, "file": "claude"}
    daemon.answers["daemon.reload"] = {"changed": [], "pending": [agent]}
    said = podium(daemon, "config", "reload").stdout
    assert said.startswith("agents.work.driver waits for a restart: it is not there, and is to be ")
    daemon.answers["daemon.reload"] = {"changed": [], "pending": []}
    assert podium(daemon, "config", "reload").stdout == "Nothing has changed.\n"
    assert json.loads(podium(daemon, "config", "reload", "--json").stdout)["pending"] == []


def test_a_text_that_waits_is_written_as_the_file_would_have_it(daemon: FakeDaemon) -> None:
    waits = {"key": "agents.scripted.script", "running": "/a.toml", "file": ""}
    daemon.answers["daemon.reload"] = {"changed": [], "pending": [waits]}

    told = podium(daemon, "config", "reload").stdout

    assert told.splitlines()[0] == (
        'agents.scripted.script waits for a restart: it is "/a.toml", and is to be "".'
    )


def test_a_file_with_a_fault_is_one_sentence_and_exit_code_1(daemon: FakeDaemon) -> None:
    words = "The configuration was not taken: c.toml:2: unknown key 'x'"

    def refuse(params: dict[str, Any]) -> None:
        raise Refused(-32006, words, {"reason": words})

    daemon.answers["daemon.reload"] = refuse
    done = podium(daemon, "config", "reload")
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr and "Traceback" not in done.stderr


def test_what_runs_is_shown_as_the_file_would_have_it_and_what_waits_beside_it(
    daemon: FakeDaemon,
) -> None:
    daemon.answers["daemon.configuration"] = DOCUMENT
    done = podium(daemon, "config", "show", "--running")
    assert done.stdout == (
        'agents.claude.env = { A = "[redacted]" }  # /c.toml:3\n'
        "gateway.port = 8080                       # default\n"
        'voice.model = "base"                      # default\n'
    )
    assert "gateway.port waits for a restart" in done.stderr
    daemon.answers["daemon.configuration"] = DOCUMENT | {"problem": "c.toml:1: x", "pending": []}
    assert "the file is not in force: c.toml:1: x" in (
        podium(daemon, "config", "show", "--running").stderr
    )
    daemon.answers["daemon.configuration"] = DOCUMENT | {"warnings": ["environment X: unknown"]}
    assert "podium: environment X: unknown\n" in (
        podium(daemon, "config", "show", "--running").stderr
    )
    assert json.loads(podium(daemon, "config", "show", "--running", "--json").stdout)["values"]


@pytest.mark.parametrize(
    "words",
    [("path", "--running"), ("reload", "--config", "x"), ("show", "--running", "--config", "x")],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    daemon: FakeDaemon, words: tuple[str, ...]
) -> None:
    done = podium(daemon, "config", *words)
    assert done.returncode == 2 and daemon.calls == []


def test_status_tells_of_a_configuration_only_when_something_is_wrong(daemon: FakeDaemon) -> None:
    def line(state: dict[str, Any]) -> str | None:
        daemon.answers["daemon.status"] = STATUS | {"configuration": state}
        return told(podium(daemon, "status").stdout).get("configuration")

    assert line({"problem": None, "pending": []}) is None
    waiting = line({"problem": None, "pending": PENDING})
    assert waiting is not None and "waits for a restart: gateway.port (" in waiting
    broken = line({"problem": "c.toml:1: x", "pending": []})
    assert broken is not None and "the file is not in force: c.toml:1: x" in broken
    ignored = line({"problem": None, "pending": [], "warnings": ["environment X: unknown"]})
    assert ignored is not None and ignored.endswith("environment X: unknown")


def stand_in(path: Path, code: int) -> dict[str, str]:
    """A ``podiumd`` that prints its arguments."""
    module = path / "lib/podiumd"
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    said = f"import sys; print(sys.argv[1:]); sys.exit({code})"
    (module / "__main__.py").write_text(said)
    return {"PYTHONPATH": f"{path / 'lib'}:{ROOT / 'client'}"}


def test_doctor_is_answered_by_the_daemons_module_with_its_exit_code(tmp_path: Path) -> None:
    settings = stand_in(tmp_path, 1)
    done = podium(tmp_path / "s", "doctor", "--config", "/c.toml", "--json", settings=settings)
    assert done.stdout == "['--config', '/c.toml', 'doctor', '--json']\n"
    assert (done.returncode, done.stderr) == (1, "")
    assert podium(tmp_path / "s", "doctor", settings=settings).stdout == "['doctor']\n"
    assert podium(tmp_path / "s", "doctor", "--all", settings=settings).stdout == (
        "['doctor', '--all']\n"
    )


def test_both_run_the_daemon_of_this_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    class Done:
        returncode = 0

    def run(command: list[str], check: bool, **_: object) -> Done:
        seen.append(command)
        return Done()

    monkeypatch.setattr("subprocess.run", run)
    assert offline.doctor(whole=False, config=None, json=False) == 0
    assert commands_config.config("path", False, None, False) == 0
    assert [command[:4] for command in seen] == [[sys.executable, "-P", "-m", "podiumd"]] * 2


def test_what_is_to_be_chosen_is_listed_once(daemon: FakeDaemon) -> None:
    done = podium(daemon, "config")
    assert "'podium config' needs show, path or reload: " in done.stderr
