"""A kind is registered in one place, and agents of it are met wherever agents are.

``tests/agents/parrot`` is the folder of a kind that no part of Podium names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from podium.chat.session import Session
from podium.cli.complete import complete
from podium.errors import Failure
from podiumd.agents.kinds import KINDS
from podiumd.config.load import ConfigError, Loaded, flatten, load
from podiumd.config.reload import Settings
from podiumd.core.analysis.check import check_text
from podiumd.core.analysis.check_agents import KnownAgents
from podiumd.daemon.agents import Agents
from podiumd.doctor.run import checks_of, look_at
from podiumd.drivers.spool import watch_spools
from podiumd.runtime.context import Agent
from podiumd.service.captured import captured
from podiumd.sessions.transcripts import open_transcripts
from tests.agents.parrot.kind import PARROT
from tests.doctor.patient import program, subject
from tests.drivers.rig import Rig, follow, started
from tests.patience import HANG_SECONDS
from tests.plain import plain
from tests.runtime.harness import ONE_STEP
from tests.sessions.service import Kept

TABLES = """
[agents.polly]
driver = "parrot"
phrase = "Polly wants a cracker"

[agents.pirate]
driver = "parrot"
phrase = "Pieces of eight"
perch = "{perch}"
"""
SAYS = 'read asked; echo "$PHRASE"; read bye'


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one place."""
    monkeypatch.setitem(KINDS, PARROT.name, PARROT)


class Home:
    """A person with two parrots."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = {
            "PODIUM_HOME": str(root / "podium"),
            "HOME": str(root),
            "PATH": f"{root / 'bin'}:/usr/bin:/bin",
            "PARROT_KEY": "k",
            "SEED_SORT": "millet",
            "PARROT_HOME": "cage",
            "ANTHROPIC_API_KEY": "secret",
        }
        self.file = root / "podium/config.toml"
        self.file.parent.mkdir()
        self.write(TABLES.format(perch=root / "mast"))
        self.settings = Settings(self.load(), self.load)
        self.agents = Agents(self.settings, self.environ, self.load().places)
        program(root, "parrot", SAYS)

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def load(self) -> Loaded:
        return load(self.environ, "linux", self.root)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_settings_are_those_of_the_kind_in_a_table_for_each_agent(home: Home) -> None:
    loaded = home.load()
    values = flatten(loaded.config)
    assert {key: value for key, value in values.items() if key.startswith("agents.p")} == {
        "agents.polly.driver": "parrot",
        "agents.polly.command": "parrot",
        "agents.polly.phrase": "Polly wants a cracker",
        "agents.polly.perch": "",
        "agents.polly.mood": "calm",
        "agents.pirate.driver": "parrot",
        "agents.pirate.command": "parrot",
        "agents.pirate.phrase": "Pieces of eight",
        "agents.pirate.perch": str(home.root / "mast"),
        "agents.pirate.mood": "calm",
    }
    assert loaded.sources["agents.polly.driver"] == f"{home.file}:3"
    assert loaded.sources["agents.pirate.command"] == "default"
    home.environ["PODIUM_AGENTS_PIRATE_PHRASE"] = "Arr"
    assert flatten(home.load().config)["agents.pirate.phrase"] == "Arr"
    home.write('[agents.polly]\ndriver = "parrot"\nphrases = "x"\n')
    with pytest.raises(
        ConfigError, match=r"'agents\.polly\.phrases'; the nearest known is 'phrase'"
    ):
        home.load()


async def test_settings_take_effect_while_the_daemon_runs_and_agents_wait_for_a_restart(
    home: Home,
) -> None:
    home.write(
        '[agents.polly]\ndriver = "parrot"\nphrase = "Hi"\nperch = "/elsewhere"\n'
        '[agents.pete]\ndriver = "parrot"\n'
    )
    home.settings.on_change(_nothing, lambda agent: agent.settings)
    answer = plain(await home.settings.reload())
    assert answer["changed"] == ["agents.polly.phrase"]
    assert answer["pending"] == [
        {"key": "agents.pirate.driver", "running": "parrot", "file": None},
        {"key": "agents.pete.driver", "running": None, "file": "parrot"},
        {"key": "agents.polly.perch", "running": "", "file": "/elsewhere"},
    ]


async def _nothing(*_: Any) -> None:
    await trio.lowlevel.checkpoint()


def test_the_doctor_looks_at_each(home: Home) -> None:
    config = home.load().config
    patient = subject(home.root, config=config, daemon_environ=home.environ)
    found = {one.check: one for one in look_at(patient, checks_of(config)[:10])}
    assert found["agent polly"].message == "parrot says Polly wants a cracker"
    assert found["agent pirate"].message == "parrot says Pieces of eight"
    (home.root / "bin/parrot").unlink()
    (missing,) = look_at(patient, [one for one in checks_of(config) if one[0] == "agent pirate"])
    assert missing.fix == "Buy a parrot, or set [agents.pirate] command."


def test_each_is_completed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    document = plain(home.settings.document())
    monkeypatch.setattr("podium.cli.complete.call", {"daemon.configuration": document}.__getitem__)
    assert dict(complete(["chat", "--agent"], "")) == {
        "native": "Podium's own agent: an API key or a local model",
        "claude": "Claude Code",
        "codex": "Codex",
        "scripted": "plays a file of turns, for trying things out",
        "polly": "an agent of kind parrot",
        "pirate": "an agent of kind parrot",
    }


async def test_sessions_of_each_are_listed_as_its_own(home: Home) -> None:
    roots = home.agents.roots()
    ids = {}
    for number, root in enumerate(roots):
        if root.format_name == PARROT.session_format and root.agent != "native":
            ids[f"1111111{number}-1111-4111-8111-111111111111"] = root.agent
            root.directory.mkdir()
            (root.directory / f"{[*ids][-1]}.jsonl").write_text(
                '{"type": "user", "uuid": "u", "cwd": "/w", "text": "hello"}\n'
            )
    places = home.load().places
    places.state.mkdir(parents=True)
    with trio.fail_after(HANG_SECONDS):
        async with open_transcripts(places.state, roots, Kept()) as transcripts:
            await transcripts._follower.ready.wait()
            rows = {one: (await transcripts.row(one)).agent for one in ids}
    assert rows == ids and sorted(ids.values()) == ["pirate", "polly"]


async def test_each_works_with_an_environment_of_its_own(home: Home) -> None:
    async with watch_spools() as watch:
        agents = home.agents.make(watch)
        words = {name: await _turn(home, agents[name]) for name in ("polly", "pirate")}
    assert words == {"polly": "Polly wants a cracker", "pirate": "Pieces of eight"}
    environment = agents["pirate"].environment("turn")
    assert environment["PARROT_KEY"] == "k" and environment["SEED_SORT"] == "millet"
    assert environment["PHRASE"] == "Pieces of eight" and environment["PODIUM_TURN"] == "turn"
    assert not {"ANTHROPIC_API_KEY", "PARROT_HOME"} & environment.keys()
    assert "PARROT_KEY" not in agents["claude"].environment("turn")
    assert (agents["polly"].permission_mode, agents["polly"].command) == ("calm", ("parrot",))
    assert agents["polly"].fix == "Buy a parrot, or set [agents.polly] command."


async def _turn(home: Home, agent: Agent) -> str:
    assert await agent.driver.available(("sh", "-c", ":"), home.environ) is None
    rig = Rig(home.root / "rig", agent.command, agent.environment(""))
    request = rig.request()
    async with agent.driver.turn(request) as turn:
        events = await follow(turn)
    again = await agent.driver.inspect(rig.pending(request, started(events)))
    assert again.state == "finished" and again.report is not None
    assert again.report.result_text == turn.report.result_text
    assert turn.report.kind == "done"
    return turn.report.result_text


def test_a_service_is_given_what_each_needs(home: Home) -> None:
    found = captured(home.environ, home.load().config.agents.values())
    given = {"PARROT_KEY": "k", "SEED_SORT": "millet", "PARROT_HOME": "cage"}
    assert found.items() >= given.items()


@pytest.mark.parametrize("agent", ["polly", "pirate"])
async def test_a_recipe_is_checked_against_what_each_can_do(home: Home, agent: str) -> None:
    async with watch_spools() as watch:
        agents = home.agents.make(watch)
    step = f'agent = "{agent}"\nsession = "fresh"\nallow = ["Bash"]'
    result = check_text(
        ONE_STEP.format(id="r", top="", step=step, on=""),
        file="r.toml",
        read_prompt=lambda name: "",
        agents=KnownAgents(
            can={name: one.driver.capabilities for name, one in agents.items()}, own=agent
        ),
    )
    lack = "never asks before it uses a tool: remove 'allow', or give the step another agent"
    assert [one.message for one in result.findings] == [f"agent '{agent}' {lack}"]


def test_a_chat_takes_each(home: Home) -> None:
    document = plain(home.settings.document())

    class Connection:
        def call(self, method: str, params: object = None) -> Any:
            return document

    polly, stranger = (Session(None, name, str(home.root), None) for name in ("polly", "poly"))
    polly.open(Connection())  # type: ignore[arg-type]
    assert polly.first_line().startswith("polly · ")
    with pytest.raises(Failure, match="the nearest is 'polly'"):
        stranger.open(Connection())  # type: ignore[arg-type]
