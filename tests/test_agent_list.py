"""The list of agents as the daemon answers it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio

from podiumd.agents import examination
from podiumd.agents.scripted import doctor
from podiumd.config.load import Loaded, load
from podiumd.config.paths import resolve
from podiumd.config.reload import Settings
from podiumd.daemon.agent_list import AgentList
from podiumd.daemon.agents import Agents
from podiumd.drivers.spool import watch_spools
from podiumd.wire.agents import Agent
from tests.doctor.patient import program
from tests.patience import HANG_SECONDS


async def listed(home: Path, config: str = "", at_once: int = 1) -> list[list[Agent]]:
    """What a daemon of this home answers, to so many at once."""
    environ = {"PODIUM_HOME": str(home), "HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin"}
    (home / "config.toml").write_text(config)
    loaded: Loaded = load(environ, "linux", home)
    settings, answers = Settings(loaded, lambda: loaded), list[list[Agent]]()
    async with watch_spools() as watch:
        running = Agents(settings, environ, resolve(environ, "linux", home)).make(watch)
        agents = AgentList(settings, environ, running, "'podium down && podium up'")

        async def ask() -> None:
            answers.append(await agents.list())

        with trio.fail_after(HANG_SECONDS):
            async with trio.open_nursery() as nursery:
                for _ in range(at_once):
                    nursery.start_soon(ask)
    return answers


async def only(home: Path, config: str = "") -> dict[str, Agent]:
    """One answer, by the names of agents."""
    (found,) = await listed(home, config)
    return {one.name: one for one in found}


async def test_each_agent_is_listed_with_its_program_its_version_and_what_it_can_do(
    tmp_path: Path,
) -> None:
    claude = program(tmp_path, "claude", 'echo "2.1.0 (Claude Code)"')
    codex = program(tmp_path, "codex", "echo codex-cli 0.169.0")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").touch()
    found = await only(tmp_path, '[agents.kimi]\ndriver = "acp"\n')
    assert list(found) == ["claude", "codex", "native", "scripted", "kimi"]
    one = found["claude"]
    assert (one.state, one.program, one.version) == ("ready", str(claude), "2.1.0 (Claude Code)")
    assert (one.kind, one.session_format, one.fix, one.mark) == ("claude", "claude", "", None)
    assert one.capabilities.fork and "plan" in one.capabilities.permission_modes
    assert (found["codex"].program, found["codex"].version) == (str(codex), "codex-cli 0.169.0")
    assert (found["kimi"].kind, found["kimi"].session_format) == ("acp", "acp")
    assert (found["kimi"].state, found["kimi"].program) == ("missing", None)
    assert "'kimi' is no program on PATH" in found["kimi"].found and found["kimi"].fix
    assert (found["scripted"].state, found["scripted"].program) == ("ready", None)
    assert (found["native"].state, found["native"].fix) == (
        "unready",
        "docs/native.md tells of other providers, and of models on this machine.",
    )


async def test_what_is_missing_comes_with_what_to_do(tmp_path: Path) -> None:
    found = await only(tmp_path)
    assert (found["codex"].state, found["codex"].found) == (
        "missing",
        "not installed: 'codex' is no program on PATH",
    )
    assert found["codex"].fix.startswith("Install it, or set [agents.codex] command")
    program(tmp_path, "claude", "echo 2.1.0")
    unknown = (await only(tmp_path))["claude"]
    assert (unknown.state, unknown.version) == ("unready", "2.1.0")
    assert "log in" in unknown.fix and "'podium down && podium up'" in unknown.fix


@pytest.mark.parametrize(
    ("version", "mark"),
    [
        ("codex-cli 0.169.0", None),
        ("codex-cli 0.170.1", "untried 0.170.1"),
        ("a build of mine", None),
    ],
)
async def test_a_version_that_nothing_was_tried_with_is_marked(
    tmp_path: Path, version: str, mark: str | None
) -> None:
    program(tmp_path, "codex", f"echo {version}")
    assert (await only(tmp_path))["codex"].mark == mark


async def test_an_agent_that_is_not_known_by_name_is_not_even_asked_for_its_version(
    tmp_path: Path,
) -> None:
    """To a program that knows no such option it may mean to begin its work."""
    program(tmp_path, "kimi", "echo 2.1.0")
    program(tmp_path, "strange", f"touch {tmp_path / 'begun'}")
    config = '[agents.kimi]\ndriver = "acp"\n[agents.own]\ndriver = "acp"\ncommand = ["strange"]\n'
    found = await only(tmp_path, config)
    assert (found["kimi"].state, found["kimi"].version) == ("ready", "2.1.0")
    assert (found["own"].state, found["own"].version) == ("ready", None)
    assert not (tmp_path / "begun").exists()


async def test_agents_are_asked_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for the other: asked one after the other neither would answer."""
    monkeypatch.setattr("podiumd.daemon.agent_list.ANSWER_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(examination, "ANSWER_SECONDS", HANG_SECONDS)
    os.mkfifo(tmp_path / "meeting")
    program(tmp_path, "claude", f"echo hello > {tmp_path / 'meeting'}; echo 2.1.0")
    program(tmp_path, "codex", f"read words < {tmp_path / 'meeting'}; echo codex-cli $words")
    found = await only(tmp_path)
    assert (found["claude"].version, found["codex"].version) == ("2.1.0", "codex-cli hello")


async def test_one_that_does_not_answer_keeps_no_other_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podiumd.daemon.agent_list.ANSWER_SECONDS", -1.0)
    program(tmp_path, "claude", "exec sleep 60")
    found = await only(tmp_path)
    assert (found["claude"].state, found["claude"].version) == ("unready", None)
    assert "--version did not answer within 5 s" in found["claude"].found
    assert found["scripted"].state == "ready"


async def test_a_look_that_fails_itself_hides_no_other_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(asked: Any) -> None:
        raise KeyError("x")

    monkeypatch.setattr(doctor, "examine", failing)
    found = await only(tmp_path)
    assert found["scripted"].state == "missing" and "KeyError" in found["scripted"].found
    assert "native" in found


async def test_those_who_ask_at_once_start_no_more_programs_than_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second look begins when the first is over: each program stands alone."""
    here = tmp_path / "here"
    alone = f"mkdir {here} || echo two at once; rmdir {here}; echo codex-cli"
    program(tmp_path, "codex", alone)
    answers = await listed(tmp_path, at_once=3)
    versions = [one.version for found in answers for one in found if one.name == "codex"]
    assert len(versions) == 3 and "two at once" not in versions
