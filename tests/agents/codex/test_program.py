"""Codex as a program: which version, what it speaks, whether somebody is logged in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.acp.driver import AcpDriver
from podiumd.agents.acp.kind import AcpSettings
from podiumd.agents.codex.driver import CodexDriver
from podiumd.agents.codex.files import Rollouts, find_rollout, look_up, size_of
from podiumd.agents.codex.version import TRIED, Versions, untried
from podiumd.core.analysis.check_agents import KnownAgents, check_agents
from podiumd.core.findings import Notes
from podiumd.core.toml_lines import TomlLines
from podiumd.doctor import agents
from podiumd.drivers.spool import watch_spools
from podiumd.formats.codex import drift
from tests.core.builders import a_recipe, a_step
from tests.doctor.patient import only, program, subject
from tests.drivers.rig import Rig, play

USED = json.loads(Path(drift.__file__).with_name("used.json").read_text())
ALL = {**USED[drift.SENT], **USED[drift.RECEIVED]}


def speaking(home: Path, definitions: dict[str, object]) -> Path:
    """A program that says that it speaks this, and notes that it was asked."""
    schema = home / "schema.json"
    schema.write_text(json.dumps({"definitions": {"v2": definitions}}))
    lines = (
        'if [ "$1" = --version ]; then echo codex-cli 9.9.9; exit; fi',
        f"echo asked >> {home}/asked",
        f'for last; do :; done; /bin/cp {schema} "$last/codex_app_server_protocol.schemas.json"',
    )
    return program(home, "codex", "\n".join(lines))


async def test_a_newer_version_is_asked_once_for_its_protocol(tmp_path: Path) -> None:
    place = speaking(tmp_path, {**ALL, "Newer": {}})
    environment = {"PATH": f"{place.parent}:/usr/bin:/bin"}
    async with watch_spools() as watch:
        driver = CodexDriver(watch)
        for _ in range(2):
            assert await driver.available(("codex",), environment) is None
        assert (tmp_path / "asked").read_text() == "asked\n"
        assert "no program on the PATH" in str(await driver.available(("kodex",), environment))


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (("UserInput",), "missing or narrower there: UserInput"),
        (("ClientInfo", "Turn", "UserInput", "ThreadItem"), " and 1 more"),
    ],
)
def test_what_a_version_lacks_is_named(tmp_path: Path, gone: tuple[str, ...], words: str) -> None:
    place = speaking(tmp_path, {name: one for name, one in ALL.items() if name not in gone})
    fault = Versions().fault(str(place), {"PATH": "/usr/bin:/bin"})
    assert fault is not None and fault.endswith(words), fault


def test_a_definition_that_takes_less_is_named_too(tmp_path: Path) -> None:
    narrower = {**ALL, "ApprovalsReviewer": {"type": "string", "enum": ["auto_review"]}}
    fault = Versions().fault(str(speaking(tmp_path, narrower)), {"PATH": "/usr/bin:/bin"})
    assert fault is not None and fault.endswith("missing or narrower there: ApprovalsReviewer")


@pytest.mark.parametrize(
    ("said", "mark"),
    [
        (f"codex-cli {TRIED}", ""),
        ("codex-cli 0.170.0-alpha.2", "untried 0.170.0-alpha.2"),
        ("codex-cli 0.16.0", "untried 0.16.0"),
        ("no version told", ""),
    ],
)
def test_a_version_that_was_not_tried_is_marked(said: str, mark: str) -> None:
    assert untried(said) == mark


def test_the_doctor_marks_a_version_that_was_not_tried_or_names_what_it_lacks(
    tmp_path: Path,
) -> None:
    place = speaking(tmp_path, ALL)
    found = only(agents.agent(subject(tmp_path), "codex"))
    assert (found.state, found.message) == (
        "ok",
        f"codex-cli 9.9.9 (untried 9.9.9) at {place}",
    )
    speaking(tmp_path, {name: one for name, one in ALL.items() if name != "Turn"})
    found = only(agents.agent(subject(tmp_path), "codex"))
    assert found.state == "broken" and found.message.endswith("missing or narrower there: Turn")
    assert "install another version" in found.fix


def test_a_program_that_writes_no_schema_is_left_to_its_turns(tmp_path: Path) -> None:
    versions = Versions()
    assert versions.fault(str(program(tmp_path, "codex", "exit 2")), {}) is None
    assert versions.fault(str(tmp_path / "none"), {}) is None
    odd = program(tmp_path, "odd", 'for last; do :; done; echo [] > "$last/x"')
    assert versions.fault(str(odd), {}) is None


async def test_a_program_that_gives_up_at_once_is_told_in_its_words(tmp_path: Path) -> None:
    place = program(tmp_path, "codex", "echo no such option >&2; exit 2")
    rig = Rig(tmp_path / "rig", (str(place),))
    async with watch_spools() as watch:
        turn, _ = await play(CodexDriver(watch), rig.request())
        assert turn.report.kind == "failed"
        assert "status 2" in turn.report.detail and "no such option" in turn.report.detail
        settled = await CodexDriver(watch).inspect(rig.pending(rig.request(), None))
    assert settled.state == "absent" and settled.report is None


@pytest.mark.parametrize("tools", ["none", ("Read",)])
async def test_a_recipe_with_a_list_of_tools_is_refused_for_who_knows_no_lists(tools: Any) -> None:
    recipe = a_recipe({"work": a_step(tools=tools)})
    async with watch_spools() as watch:
        settings = AcpSettings(read_only_mode="plan", resume="resume")
        acp = AcpDriver(watch, agent="kimi", settings=lambda: settings)
        for driver in (CodexDriver(watch), acp):
            notes = Notes("it.toml", TomlLines(""))
            check_agents(recipe, notes, KnownAgents(can={"it": driver.capabilities}, own="it"))
            (found,) = notes.findings
            assert found.code == "agent-capability"
            assert found.message.startswith("agent 'it' cannot be limited to some of its tools")


async def test_a_prompt_that_is_too_long_is_refused_before_anything_starts(tmp_path: Path) -> None:
    place = program(tmp_path, "codex", f"touch {tmp_path}/ran")
    rig = Rig(tmp_path / "rig", (str(place),))
    async with watch_spools() as watch:
        turn, events = await play(CodexDriver(watch), rig.request("x" * (4 << 20)))
    assert turn.report.kind == "failed" and "attach it as a file" in turn.report.detail
    assert events == [] and not (tmp_path / "ran").exists()


def test_a_session_file_is_found_by_its_thread(tmp_path: Path) -> None:
    environment = {"CODEX_HOME": str(tmp_path)}
    assert find_rollout("t", environment) is None and find_rollout("", environment) is None
    for day in ("01", "02"):
        folder = tmp_path / "sessions/2026/11" / day
        folder.mkdir(parents=True)
        (folder / f"rollout-2026-t{day}.jsonl").write_text("{}\n")
    found = find_rollout("t01", environment)
    assert found is not None and found.parent.name == "01" and size_of(found) == 3
    assert size_of(None) == size_of(tmp_path / "none") == 0
    assert look_up(tmp_path / "none", "c") is None and look_up(found, "c") is None


def test_a_call_is_looked_up_in_the_session_file_of_its_own_thread(tmp_path: Path) -> None:
    folder = tmp_path / "sessions/2026/11/28"
    folder.mkdir(parents=True)
    for thread, given in (("main", {}), ("sub", {"sandbox_permissions": "require_escalated"})):
        call = {"type": "function_call", "call_id": "c", "arguments": json.dumps(given)}
        row = json.dumps({"type": "response_item", "payload": call})
        (folder / f"rollout-2026-{thread}.jsonl").write_text(row + "\n")
    rollouts = Rollouts({"CODEX_HOME": str(tmp_path)})
    for _ in range(2):
        assert rollouts.look_up("main", "c") == {}
        assert rollouts.look_up("sub", "c") == {"sandbox_permissions": "require_escalated"}
    assert rollouts.look_up("unknown", "c") is None


def test_the_doctor_tells_version_and_login(tmp_path: Path) -> None:
    patient = subject(tmp_path)
    none = only(agents.agent(patient, "codex"))
    assert (none.state, none.message) == ("ok", "not installed: 'codex' is no program on PATH")
    place = program(tmp_path, "codex", '[ "$1" = login ] && exit 1; echo codex-cli 0.169.0')
    assert only(agents.agent(patient, "codex")).message == f"codex-cli 0.169.0 at {place}"
    (tmp_path / ".codex").mkdir()
    out = only(agents.agent(subject(tmp_path), "codex"))
    assert out.state == "warn" and "not logged in to OpenAI" in out.message
    assert "run 'codex login'" in out.fix
    program(tmp_path, "codex", '[ "$1" = login ] && echo Logged in; echo codex-cli 0.169.0')
    assert only(agents.agent(subject(tmp_path), "codex")).message.endswith(", Logged in")
    program(tmp_path, "codex", "exit 3")
    assert only(agents.agent(subject(tmp_path), "codex")).state == "broken"
    elsewhere = {"HOME": str(tmp_path), "PATH": "/nowhere"}
    found = only(agents.agent(subject(tmp_path, daemon_environ=elsewhere), "codex"))
    assert found.state == "warn" and "is on your PATH and not on the daemon's" in found.message
