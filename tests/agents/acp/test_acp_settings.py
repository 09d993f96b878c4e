"""A table of the configuration is an agent: what is built in of a name holds where it is silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from podiumd.agents.acp.driver import AcpDriver
from podiumd.agents.acp.kind import AcpSettings, known_agents
from podiumd.config.load import ConfigError, load
from podiumd.config.settings import Config
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.doctor.run import checks_of, look_at
from podiumd.drivers.spool import watch_spools
from podiumd.observe.checks import Check
from tests.doctor.patient import program, subject


def config_of(root: Path, text: str) -> Config:
    """The configuration that a file says."""
    file = root / "config.toml"
    file.write_text(text)
    environ = {"PODIUM_HOME": str(root), "PODIUM_CONFIG": str(file), "HOME": str(root)}
    return load(environ, "linux", root).config


def settings(root: Path, text: str, name: str) -> AcpSettings:
    """The settings of an agent by a file."""
    found = config_of(root, text).agents[name].settings
    assert isinstance(found, AcpSettings)
    return found


def test_a_table_of_a_known_name_needs_no_more_than_its_driver(tmp_path: Path) -> None:
    found = settings(tmp_path, '[agents.kimi]\ndriver = "acp"\n', "kimi")
    assert found == known_agents()["kimi"] and found.command == ("kimi", "acp")


def test_what_the_table_says_comes_before_what_is_built_in(tmp_path: Path) -> None:
    text = '[agents.kimi]\ndriver = "acp"\nask_mode = "manual"\n'
    found = settings(tmp_path, text, "kimi")
    assert (found.ask_mode, found.resume) == ("manual", "resume")


@pytest.mark.parametrize("name", ["mine", "acp"])
def test_an_agent_of_another_name_is_what_its_table_says(tmp_path: Path, name: str) -> None:
    text = f'[agents.{name}]\ndriver = "acp"\ncommand = ["mine", "--acp"]\n'
    assert settings(tmp_path, text, name) == AcpSettings(command=("mine", "--acp"))


def test_a_quirk_that_nobody_knows_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="quirks"):
        settings(tmp_path, '[agents.kimi]\ndriver = "acp"\nquirks = ["odd"]\n', "kimi")


def test_variables_with_which_it_asks_are_given_beside_those_of_the_table(tmp_path: Path) -> None:
    text = '[agents.opencode]\n[agents.opencode.env]\nA = "1"\n'
    env = config_of(tmp_path, text).agents["opencode"].plan.env
    assert env["A"] == "1" and json.loads(env["OPENCODE_PERMISSION"])["*"] == "ask"


async def test_what_it_can_do_is_what_its_table_says() -> None:
    async with watch_spools() as watch:

        def can(made: AcpSettings) -> Capabilities:
            return AcpDriver(watch, agent="mine", settings=lambda: made).capabilities

        kimi = can(known_agents()["kimi"])
        assert kimi.approvals and kimi.resume and kimi.fork and not kimi.read_only_tools
        assert kimi.unasked == ("Edit",)
        assert kimi.permission_modes == ("default", "auto") and kimi.own_tools == "mcp"
        bare = can(AcpSettings(command=("a",), mcp=False))
        assert not bare.approvals and not bare.resume and bare.own_tools == "none"


def check_of(root: Path, text: str, name: str, **changes: Any) -> Check:
    """What the doctor says of an agent."""
    config = config_of(root, text)
    wanted = [one for one in checks_of(config) if one[0] == f"agent {name}"]
    (found,) = look_at(subject(root, config=config, **changes), wanted)
    return found


def test_the_doctor_looks_for_its_program_and_starts_nothing(tmp_path: Path) -> None:
    table = '[agents.kimi]\ndriver = "acp"\n'
    missing = check_of(tmp_path, table, "kimi")
    assert missing.state != "ok" and "no program on PATH" in missing.message
    program(tmp_path, "kimi", f"touch {tmp_path}/started")
    found = check_of(tmp_path, table, "kimi")
    assert found.state == "ok" and not (tmp_path / "started").exists()
    there = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    assert "not on the daemon's" in check_of(tmp_path, table, "kimi", daemon_environ=there).message


def test_the_doctor_names_what_is_missing_of_an_agent_that_nobody_knows(tmp_path: Path) -> None:
    found = check_of(tmp_path, '[agents.mine]\ndriver = "acp"\n', "mine")
    assert found.state == "broken" and found.fix == "set agents.mine.command"


def found(root: Path, text: str, *programs: str) -> Config:
    """The configuration of a person on whose PATH these programs are."""
    for name in programs:
        program(root, name, "exit")
    file = root / "config.toml"
    file.write_text(text)
    environ = {"PODIUM_HOME": str(root), "PODIUM_CONFIG": str(file), "HOME": str(root)}
    return load({**environ, "PATH": str(root / "bin")}, "linux", root).config


def test_an_agent_whose_program_is_on_path_needs_no_table(tmp_path: Path) -> None:
    agents = found(tmp_path, "", "qwen", "cursor-agent").agents
    assert agents["qwen"].settings == known_agents()["qwen"] and agents["qwen"].kind.name == "acp"
    assert "cursor" in agents and not {"kimi", "gemini"} & agents.keys()


@pytest.mark.parametrize("programs", [(), ("kimi",)])
def test_a_table_of_a_known_name_needs_no_driver_and_may_name_another(
    tmp_path: Path, programs: tuple[str, ...]
) -> None:
    agents = found(tmp_path, '[agents.kimi]\nask_mode = "manual"\n', *programs).agents
    assert agents["kimi"].kind.name == "acp"
    assert agents["kimi"].settings == replace(known_agents()["kimi"], ask_mode="manual")
    other = found(tmp_path, '[agents.kimi]\ndriver = "claude"\n', *programs).agents
    assert other["kimi"].kind.name == "claude"


def test_the_settings_of_an_agent_that_was_found_are_defaults(tmp_path: Path) -> None:
    program(tmp_path, "qwen", "exit")
    environ = {
        "HOME": str(tmp_path),
        "PATH": str(tmp_path / "bin"),
        "PODIUM_AGENTS_QWEN_MODEL": "m",
    }
    loaded = load({**environ, "PODIUM_HOME": str(tmp_path)}, "linux", tmp_path)
    assert (
        loaded.sources["agents.qwen.driver"] == loaded.sources["agents.qwen.command"] == "default"
    )
    assert loaded.sources["agents.qwen.model"] == "environment PODIUM_AGENTS_QWEN_MODEL"
