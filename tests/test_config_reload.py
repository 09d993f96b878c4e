"""Settings of a daemon that runs: what changes at once, what waits, what is refused."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.config.load import ConfigError, flatten, load, values_of, with_values
from podiumd.config.reload import LIVE, Settings
from podiumd.config.settings import Config
from podiumd.daemon import sighup
from podiumd.daemon.agents import Agents
from podiumd.daemon.sighup import has_terminal, reload_on_signal
from podiumd.store.errors import StoreError
from podiumd.wording import restart_command
from tests.plain import plain


class Running:
    """The settings of a daemon whose file a test writes."""

    def __init__(self, home: Path, text: str = "", **environ: str) -> None:
        self.file = home / "config.toml"
        self.applied: list[tuple[Config, frozenset[str]]] = []
        sources = ({"PODIUM_HOME": str(home)} | environ, "linux", home)
        self.file.write_text(text)
        loaded = load(*sources)
        self._places = loaded.places
        self.settings = Settings(loaded, lambda: load(*sources))
        self.settings.on_change(self._apply, lambda agent: agent.plan.env.get("FIXED"))

    def check_agents(self, **environ: str) -> None:
        """Have agents looked at as the daemon does."""
        agents = Agents(self.settings, environ, self._places)
        self.settings.on_change(self._apply, lambda _: None, agents.check)

    async def _apply(self, config: Config, changed: frozenset[str]) -> None:
        self.applied.append((config, changed))

    async def reads(self, text: str) -> dict[str, Any]:
        self.file.write_text(text)
        answer: dict[str, Any] = plain(await self.settings.reload())
        return answer


async def test_what_can_change_is_put_into_force(tmp_path: Path) -> None:
    running = Running(tmp_path)
    answer = await running.reads(
        '[limits]\nmax_agents = 7\n[gateway]\nallowed_hosts = ["box"]\n'
        '[agents.claude]\npermission_mode = "plan"\nidle_timeout_seconds = 5\n'
    )
    keys = [
        "agents.claude.permission_mode",
        "agents.claude.idle_timeout_seconds",
        "gateway.allowed_hosts",
        "limits.max_agents",
    ]
    assert (answer["changed"], answer["pending"]) == (keys, [])
    ((config, changed),) = running.applied
    assert changed == set(keys) and config is running.settings.config
    assert config.limits.max_agents == 7 and config.agents["claude"].plan.idle_timeout_seconds == 5
    sources = {one.key: one.source for one in running.settings.document().values}
    assert sources["limits.max_agents"] == f"{running.file}:2"


async def test_what_cannot_waits_for_a_restart_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "podium")
    running = Running(tmp_path, "gateway.port = 1\n")
    answer = await running.reads("gateway.port = 2\nlimits.max_agents = 3\n")
    waiting = [{"key": "gateway.port", "running": 1, "file": 2}]
    restart = "podium down && podium up"
    assert answer == {"changed": ["limits.max_agents"], "pending": waiting, "restart": restart}
    assert running.settings.config.gateway.port == 1
    assert plain(running.settings.status().pending) == waiting
    sources = {one.key: one.source for one in running.settings.document().values}
    assert sources["gateway.port"] == f"{running.file}:1"
    (record,) = [one for one in caplog.records if one.message == "Configuration needs a restart"]
    told = record.__dict__["podium"]
    assert told == {"key": "gateway.port", "fix": "restart with 'podium down && podium up'"}
    back = await running.reads("gateway.port = 1\nlimits.max_agents = 3\n")
    assert (back["changed"], back["pending"]) == ([], [])
    assert len(running.applied) == 1


async def test_a_service_is_restarted_by_its_own_command(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "podium")
    (tmp_path / "config.toml").write_text("gateway.port = 1\n")
    sources = ({"PODIUM_HOME": str(tmp_path)}, "linux", tmp_path)
    settings = Settings(load(*sources), lambda: load(*sources), restart_command("systemd"))
    (tmp_path / "config.toml").write_text("gateway.port = 2\n")
    assert (await settings.reload()).restart == "podium service restart"
    assert settings.status().restart == "podium service restart"
    (told,) = [one for one in caplog.records if one.message == "Configuration needs a restart"]
    assert told.__dict__["podium"]["fix"] == "restart with 'podium service restart'"


async def test_a_broken_file_changes_nothing_and_is_told_until_it_is_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running(tmp_path, "limits.max_agents = 3\n")
    with pytest.raises(ConfigError):
        await running.reads("limits.max_agents = 5\n[gatewy]\nport = 1\n")
    assert running.settings.config.limits.max_agents == 3 and not running.applied
    problem = running.settings.status().problem
    assert problem is not None and problem.startswith(f"{running.file}:2: unknown key 'gatewy'")
    assert [one.message for one in caplog.records] == ["Configuration refused"]
    await running.reads("limits.max_agents = 3\n")
    assert running.settings.status().problem is None


async def test_a_script_with_which_a_start_would_fail_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the words of the start; what else the file says does not take effect either."""
    running = Running(tmp_path, HOME=str(tmp_path))
    running.check_agents(HOME=str(tmp_path))
    changed = '[limits]\nmax_agents = 3\n[agents.scripted]\nscript = "~/turns.toml"\n'
    with pytest.raises(ConfigError) as gone:
        await running.reads(changed)
    key, script = "agents.scripted.script", tmp_path / "turns.toml"
    place = f"{running.file}:4: {key}: {script}"
    assert str(gone.value) == f"{place}: cannot be read: No such file or directory"
    script.write_text("[[turns]]\ntext = 7\n")
    with pytest.raises(ConfigError) as bad:
        await running.reads(changed)
    assert str(bad.value) == f"{place}, line 2: turns[0].text: expected a string, got the number 7"
    assert running.settings.status().problem == str(bad.value) and not running.applied
    script.write_text('[[turns]]\ntext = "x"\n')
    answer = await running.reads(changed)
    assert answer["changed"] == ["limits.max_agents"]
    assert [one["key"] for one in answer["pending"]] == [key]


async def test_the_environment_still_wins_over_a_file_that_is_read_anew(tmp_path: Path) -> None:
    running = Running(tmp_path, PODIUM_LIMITS_MAX_AGENTS="9")
    answer = await running.reads("limits.max_agents = 5\n")
    assert answer["changed"] == [] and running.settings.config.limits.max_agents == 9


async def test_an_environment_that_moves_the_agents_sessions_waits(tmp_path: Path) -> None:
    running = Running(tmp_path)
    answer = await running.reads('[agents.claude]\nenv = { FIXED = "1" }\ncommand = "c"\n')
    assert answer["changed"] == ["agents.claude.command"]
    assert [one["key"] for one in answer["pending"]] == ["agents.claude.env"]


async def test_secrets_of_the_agents_environment_are_told_to_nobody(tmp_path: Path) -> None:
    running = Running(tmp_path, '[agents.claude]\nenv = { MY_TOKEN = "abc", B = "2" }\n')
    told = {one.key: one.value for one in running.settings.document().values}
    assert told["agents.claude.env"] == {"MY_TOKEN": "[redacted]", "B": "2"}
    assert running.settings.config.agents["claude"].plan.env["MY_TOKEN"] == "abc"


def test_the_bounds_are_told_with_the_time_an_agent_may_be_silent(tmp_path: Path) -> None:
    settings = Running(tmp_path, "limits.max_agents = 2\n").settings
    assert plain(settings.limits()) == {
        "agent_memory_megabytes": 4096,
        "max_agents": 2,
        "max_queued": 256,
        "spool_megabytes": 1024,
        "run_spool_megabytes": 4096,
        "output_megabytes": 10,
        "turn_timeout_seconds": 3600,
        "idle_timeout_seconds": 600,
    }
    assert plain(settings.retention()) == {
        "runs_days": 365,
        "failed_turns": 32,
        "failed_checks": 32,
        "failed_megabytes": 1024,
        "commands": 1000,
        "commands_days": 7,
        "transcripts_days": 0,
        "gone_days": 0,
        "copies_days": 30,
    }


def test_a_variable_that_has_no_effect_is_told_as_long_as_the_daemon_runs(tmp_path: Path) -> None:
    settings = Running(tmp_path, PODIUM_LIMITS_MAX_AGENT="9").settings
    (told,) = settings.status().warnings
    assert told.startswith("environment PODIUM_LIMITS_MAX_AGENT: unknown")
    assert settings.document().warnings == (told,)
    assert Running(tmp_path).settings.status().warnings == ()


def test_every_setting_that_is_said_to_change_exists() -> None:
    keys = list(flatten(Config()))
    assert all(any(key.startswith(one) for key in keys) for one in LIVE)


def test_a_configuration_is_taken_apart_and_put_together_again() -> None:
    assert with_values(Config(), {}) == Config()
    changed = with_values(Config(), {"agents.claude.pass_env": ("A",)})
    assert values_of(changed)["agents.claude.pass_env"] == ("A",)
    assert flatten(changed)["agents.claude.pass_env"] == ["A"]


async def signals(*numbers: int) -> AsyncIterator[int]:
    for number in numbers:
        yield number


async def test_each_signal_reads_the_file_and_a_fault_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running(tmp_path)
    running.file.write_text("x = 1\n")
    stops: list[str] = []
    await reload_on_signal(signals(1, 1), running.settings, lambda turns, why: stops.append(why))
    refused = [one for one in caplog.records if one.message == "Configuration refused"]
    assert len(refused) == 2
    running.file.write_text("limits.max_agents = 2\n")

    async def full(config: Config, changed: frozenset[str]) -> None:
        raise StoreError(tmp_path, "no room")

    running.settings.on_change(full, lambda config: None)
    await reload_on_signal(signals(1), running.settings, lambda turns, why: stops.append(why))
    assert caplog.records[-1].message == "Configuration not wholly in force"
    assert stops == []


async def test_a_daemon_whose_terminal_was_closed_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(tmp_path)
    there = iter([True, True, False])
    monkeypatch.setattr(sighup, "has_terminal", lambda: next(there))
    stops: list[tuple[str, str]] = []
    await reload_on_signal(
        signals(1, 1), running.settings, lambda turns, why: stops.append((turns, why))
    )
    assert stops == [("leave", "SIGHUP: its terminal was closed")]


def test_what_is_no_terminal_of_ours_is_none(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        assert not has_terminal(file.fileno())


async def test_two_wishes_to_read_are_heard_one_after_the_other(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.file.write_text("limits.max_agents = 2\n")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.settings.reload)
        nursery.start_soon(running.settings.reload)
    assert len(running.applied) == 1
