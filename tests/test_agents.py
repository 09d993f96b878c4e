"""The agents of a daemon, made from its settings, and given new ones while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.agents.others import OTHERS
from podiumd.config.load import Loaded, load, with_values
from podiumd.config.paths import resolve
from podiumd.config.reload import Settings
from podiumd.config.settings import Config
from podiumd.daemon.agents import Agents, CannotMake
from podiumd.drivers.spool import watch_spools


async def test_every_agent_is_made_and_says_what_to_do_where_it_cannot_be_used(
    tmp_path: Path,
) -> None:
    environ = {"PODIUM_HOME": str(tmp_path), "HOME": str(tmp_path), "OPENAI_API_KEY": "secret"}
    places = resolve(environ, "linux", tmp_path)
    loaded = Loaded(config=Config(), places=places, sources={})
    maker = Agents(Settings(loaded, lambda: loaded), environ, places)
    async with watch_spools() as watch:
        agents = maker.make(watch)
    assert sorted(agents) == ["claude", "codex", "native", "scripted"]
    # Without a script of the person's it has a demo, for one recipe.
    only = {name: agent.only_recipe for name, agent in agents.items()}
    others = {"claude": None, "codex": None, "native": None}
    assert only == {**others, "scripted": "implement-and-review"}
    native = agents["native"]
    assert native.permission_mode == "confirm"
    assert "OPENAI_API_KEY" not in native.environment("turn")
    reason = await native.driver.available(native.command, native.environment(""))
    assert reason == (
        "there is no key for the model: set ANTHROPIC_API_KEY in the daemon's environment"
        " (export it, then 'podium down' and 'podium up')"
    )
    assert native.fix == "docs/native.md tells of other providers, and of models on this machine."
    config = with_values(
        Config(), {"agents.claude.permission_mode": "plan", "agents.native.mode": "allow-all"}
    )
    maker.renew(agents, config)
    assert (agents["native"].permission_mode, agents["claude"].permission_mode) == (
        "allow-all",
        "plan",
    )


def test_sessions_of_each_agent_are_looked_for_where_it_keeps_them(tmp_path: Path) -> None:
    environ = {"PODIUM_HOME": str(tmp_path / "p"), "HOME": str(tmp_path)}
    places = resolve(environ, "linux", tmp_path)
    loaded = Loaded(config=Config(), places=places, sources={})
    roots = Agents(Settings(loaded, lambda: loaded), environ, places).roots()
    assert {root.agent: root.directory for root in roots} == {
        "claude": tmp_path / ".claude" / "projects",
        "codex": tmp_path / ".codex" / "sessions",
        "native": places.state / "sessions",
        "qwen": tmp_path / ".qwen" / "projects",
        "gemini": tmp_path / ".gemini" / "tmp",
        "kimi": tmp_path / ".kimi-code" / "sessions",
        "copilot": tmp_path / ".copilot" / "session-state",
    }


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b"[[turns]\n", "not TOML: "),
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "cannot be read: it is not UTF-8 text"),
    ],
)
async def test_a_script_that_cannot_be_used_is_named_with_its_setting(
    tmp_path: Path, written: bytes | None, reason: str
) -> None:
    """It may be named from the home."""
    script = tmp_path / "script.toml"
    if written is not None:
        script.write_bytes(written)
    environ = {
        "PODIUM_HOME": f"{tmp_path}",
        "HOME": f"{tmp_path}",
        "PODIUM_AGENTS_SCRIPTED_SCRIPT": "~/script.toml",
    }
    loaded = load(environ, "linux", tmp_path)
    maker = Agents(Settings(loaded, lambda: loaded), environ, loaded.places)
    async with watch_spools() as watch:
        with pytest.raises(CannotMake) as raised:
            maker.make(watch)
    place = "environment PODIUM_AGENTS_SCRIPTED_SCRIPT"
    assert str(raised.value).startswith(f"{place}: agents.scripted.script: {script}: {reason}")


async def test_two_accounts_of_one_program_are_two_agents(tmp_path: Path) -> None:
    environ = {"PODIUM_HOME": f"{tmp_path}", "HOME": f"{tmp_path}", "ANTHROPIC_API_KEY": "k"}
    own = tmp_path / "own"
    (tmp_path / "config.toml").write_text(
        f"""
        [agents.work]
        driver = "claude"
        model = "opus"
        env = {{ CLAUDE_CONFIG_DIR = "{own}" }}
        [agents.again]
        driver = "claude"
        """
    )
    loaded = load(environ, "linux", tmp_path)
    maker = Agents(Settings(loaded, lambda: loaded), environ, loaded.places)
    async with watch_spools() as watch:
        agents = maker.make(watch)
    work, usual = agents["work"], agents["claude"]
    assert (work.model, usual.model) == ("opus", None)
    assert (work.config_directory, usual.config_directory) == (own, tmp_path / ".claude")
    assert work.environment("t")["CLAUDE_CONFIG_DIR"] == str(own)
    assert work.environment("t")["ANTHROPIC_API_KEY"] == "k"
    assert "[agents.work] command" in work.fix
    assert work.driver is not usual.driver
    # Sessions in a directory that two share are said to be the first's.
    roots = [root for root in maker.roots() if root.agent not in OTHERS]
    assert {root.agent: (root.directory, root.format_name) for root in roots} == {
        "claude": (tmp_path / ".claude/projects", "claude"),
        "native": (loaded.places.state / "sessions", "native"),
        "work": (own / "projects", "claude"),
        "codex": (tmp_path / ".codex/sessions", "codex"),
    }


async def test_what_is_wrong_with_another_native_agent_names_its_table(tmp_path: Path) -> None:
    environ = {"PODIUM_HOME": f"{tmp_path}", "HOME": f"{tmp_path}"}
    (tmp_path / "config.toml").write_text(
        '[agents.local]\ndriver = "native"\napi_key_env = "MY_KEY"\n'
    )
    loaded = load(environ, "linux", tmp_path)
    maker = Agents(Settings(loaded, lambda: loaded), environ, loaded.places)
    async with watch_spools() as watch:
        agents = maker.make(watch)
    reason = await agents["local"].driver.available((), {})
    assert reason is not None and "which api_key_env in [agents.local] names" in reason
    assert await agents["native"].driver.available((), {}) != reason
