"""``podium agent try``: an agent begun in a throwaway directory, and asked for nothing."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from podiumd import __main__ as program_of_the_daemon
from podiumd.agents.acp.kind import ACP, AcpSettings
from podiumd.agents.claude.kind import CLAUDE, ClaudeSettings
from podiumd.agents.codex.kind import CODEX, CodexSettings
from podiumd.agents.kind import ConfiguredAgent
from podiumd.agents.kinds import standing_agents
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.doctor import trial_report
from podiumd.doctor.trial import Result, Trial, try_out
from podiumd.drivers.free_cases import FREE_CASES
from tests.doctor.patient import program
from tests.drivers.kit.bench import ROOT

ENV = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}


def fake(home: Path, language: str, **quirks: Any) -> str:
    """The program of an agent that speaks so; what it does wrong is said by the kit's quirks."""
    script = home / "script.json"
    script.write_text(json.dumps({"home": str(home), "replies": [], **quirks}))
    module = f"-S -P -m tests.drivers.kit.fake_agent --as {language} {script} --"
    return str(program(home, f"fake-{language}", f'exec {sys.executable} {module} "$@"'))


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": f"{home / 'bin'}:/usr/bin:/bin", "TMPDIR": str(home)}


def acp(home: Path, *, quirks: dict[str, Any] | None = None, **settings: Any) -> ConfiguredAgent:
    table = {"ask_mode": "default", "resume": "resume", "env": ENV, "login": "fake login"}
    command = (fake(home, "acp", **(quirks or {})),)
    made = AcpSettings(command=command, **(table | settings))
    return ConfiguredAgent("mine", ACP, made)


def verdicts(trial: Trial) -> dict[str, str]:
    return {one.number: one.verdict for one in trial.cases}


async def test_an_agent_is_begun_and_says_what_it_is_and_nothing_of_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    noted: list[Result] = []
    trial = await try_out(acp(tmp_path), environ(tmp_path), noted.append)
    assert set(verdicts(trial).values()) == {"passed"} and trial.passed
    assert [*verdicts(trial)] == ["07c", *(one.number for one in FREE_CASES if one.number != "07c")]
    assert {one.number for one in noted} == verdicts(trial).keys()
    told = trial.greeting
    assert told is not None and trial.seconds is not None
    assert (told.version, told.mode, told.model) == ("fake 1", "default", "m")
    assert "plan" in told.modes and told.logins == ("Log in",)
    assert trial.leaves == () and not list(tmp_path.glob("podium-try-*"))
    assert not (tmp_path / "model.jsonl").exists(), "the model was asked"
    assert not list(tmp_path.glob("sessions/*")), "a session was left behind"


async def test_a_case_that_the_machine_cannot_play_fails_and_the_others_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(bench: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    last = FREE_CASES[-1]
    monkeypatch.setattr(
        "podiumd.doctor.trial.FREE_CASES", [*FREE_CASES[:-1], replace(last, play=full)]
    )
    tried = await try_out(acp(tmp_path), environ(tmp_path))
    [failed] = [one for one in tried.cases if one.verdict == "failed"]
    assert failed.number == last.number and "No space left" in failed.why
    assert len(tried.cases) == len(FREE_CASES)


async def test_a_session_that_its_agent_does_not_delete_is_named(tmp_path: Path) -> None:
    trial = await try_out(acp(tmp_path, quirks={"no_delete": True}), environ(tmp_path))
    (words,) = trial.leaves
    assert words.startswith("the empty session session_") and "has no way to delete one" in words


async def test_an_agent_that_is_not_logged_in_is_told_how_and_what_says_nothing_is_not_played(
    tmp_path: Path,
) -> None:
    trial = await try_out(acp(tmp_path, quirks={"logged_out": True}), environ(tmp_path))
    opened = trial.cases[0]
    assert opened.verdict == "failed" and "run 'fake login' in a terminal" in opened.why
    assert not trial.passed and trial.seconds is None
    unplayed = {one.number for one in trial.cases if one.verdict == "unplayed"}
    assert unplayed == {one.number for one in FREE_CASES if one.opens} - {"07c"}
    assert verdicts(trial)["01"] == "passed"


async def test_an_agent_without_a_mode_is_begun_and_lists_its_modes(tmp_path: Path) -> None:
    trial = await try_out(acp(tmp_path, ask_mode=""), environ(tmp_path))
    assert trial.passed and verdicts(trial)["07c"] == "passed"
    assert trial.greeting is not None and "plan" in trial.greeting.modes
    lines = trial_report.head(trial).splitlines()
    assert lines[-1] == (
        "to set     [agents.mine] ask_mode: the one of its modes in which it asks before it uses a "
        "tool"
    )


async def test_an_agent_that_begins_a_lost_session_anew_fails(tmp_path: Path) -> None:
    agent = acp(tmp_path, quirks={"begins_anew": True})
    trial = await try_out(agent, environ(tmp_path))
    assert verdicts(trial)["09c"] == "failed" and verdicts(trial)["07c"] == "passed"
    assert "it is not refused" in next(one.why for one in trial.cases if one.number == "09c")
    assert not (tmp_path / "model.jsonl").exists(), "the model was asked"


@pytest.mark.parametrize("language", ["codex", "claude"])
async def test_each_kind_of_process_can_be_tried(tmp_path: Path, language: str) -> None:
    command = fake(tmp_path, language)
    agents = {
        "codex": ConfiguredAgent("mine", CODEX, CodexSettings(command=command, env=ENV)),
        "claude": ConfiguredAgent("mine", CLAUDE, ClaudeSettings(command=command, env=ENV)),
    }
    trial = await try_out(agents[language], environ(tmp_path))
    assert set(verdicts(trial).values()) <= {"passed", "excused"}
    assert verdicts(trial)["07c"] == "passed"
    assert not (tmp_path / "model.jsonl").exists(), "the model was asked"


async def test_a_file_of_the_agents_that_knows_the_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "noted"
    monkeypatch.setattr("podiumd.agents.acp.driver.traces", lambda _: (noted,), raising=False)
    agent = acp(tmp_path)
    settings = agent.settings
    assert isinstance(settings, AcpSettings)
    words = Path(settings.command[0]).read_text().replace("exec", f"pwd >> {noted}\nexec")
    Path(settings.command[0]).write_text(words)
    trial = await try_out(agent, environ(tmp_path))
    (told,) = trial.leaves
    assert told.startswith(f"{noted} names the throwaway directory ")


async def test_of_a_part_of_podium_nothing_is_begun(tmp_path: Path) -> None:
    trial = await try_out(standing_agents()["scripted"], environ(tmp_path))
    assert (trial.greeting, trial.cases, trial.passed) == (None, (), True)
    assert trial_report.foot(trial) == "It is a part of Podium: nothing was begun."


def test_what_an_agent_tells_cannot_drive_the_terminal() -> None:
    assert "\x1b" not in trial_report.line(Result("07c", "words", "failed", "\x1b[2J"), "a")


def typed(home: Path, *words: str) -> int:
    with patch.dict(os.environ, {**environ(home), "PODIUM_HOME": str(home)}, clear=True):
        return program_of_the_daemon.main(["try", *words])


def test_a_person_reads_it_and_a_program_gets_it_as_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, table = fake(tmp_path, "acp"), "\n".join(f'{k} = "{v}"' for k, v in ENV.items())
    (tmp_path / "config.toml").write_text(
        f'[agents.mine]\ndriver = "acp"\ncommand = ["{command}"]\nask_mode = "default"\n'
        f"[agents.mine.env]\n{table}\n"
    )
    assert typed(tmp_path, "mine") == 0
    shown = capsys.readouterr().out
    assert "ok      a session opens, and is named once\n" in shown
    assert "version    fake 1\n" in shown and "logs in by Log in\n" in shown
    assert shown.endswith("10 of 10 cases passed. No prompt was sent.\n")
    assert typed(tmp_path, "mine", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] and told["greeting"]["version"] == "fake 1" and len(told["cases"]) == 10
    (tmp_path / "script.json").write_text(
        json.dumps({"home": str(tmp_path), "replies": [], "logged_out": True})
    )
    assert typed(tmp_path, "mine") == 1
    shown = capsys.readouterr().out
    assert shown.startswith("mine cannot be tried: it is not logged in")
    assert "session opens" not in shown
    assert "3 of 10 cases passed, 1 failed, 6 unplayed" in shown


def test_a_program_that_is_missing_is_said_once_as_a_prompt_to_it_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.toml").write_text(
        '[agents.mine]\ndriver = "acp"\ncommand = ["nowhere"]\nask_mode = "default"\n'
    )
    assert typed(tmp_path, "mine") == 1
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == (
        "mine cannot be tried: `nowhere` is no program on the PATH that the daemon was started "
        f"with. {ACP.remedy.replace('{agent}', 'mine')}"
    )
    assert not [line for line in rest if line.startswith(("ok ", "failed ", "? "))]
    assert rest[-1] == "0 of 10 cases passed, 1 failed, 9 unplayed. No prompt was sent."


async def test_the_cases_are_noted_in_their_order(tmp_path: Path) -> None:
    noted: list[Result] = []
    trial = await try_out(acp(tmp_path), environ(tmp_path), noted.append)
    assert tuple(noted) == trial.cases
    noted.clear()
    trial = await try_out(
        acp(tmp_path, quirks={"logged_out": True}), environ(tmp_path), noted.append
    )
    assert tuple(noted) == trial.cases


async def test_what_it_can_is_said_in_the_words_of_the_list_of_agents(tmp_path: Path) -> None:
    trial = await try_out(acp(tmp_path, unasked=("Edit",)), environ(tmp_path))
    (can,) = [one for one in trial_report.head(trial).splitlines() if one.startswith("can ")]
    assert can.startswith("can        goes on with a session; stops when it is asked to; asks ")
    assert can.endswith("; never asks about Edit")


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt(), BaseExceptionGroup("", [KeyboardInterrupt()])]
)
def test_ctrl_c_ends_a_trial_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: BaseException
) -> None:
    async def stopped(*_: object) -> None:
        raise stop

    monkeypatch.setattr("podiumd.doctor.trial.try_out", stopped)
    assert typed(tmp_path, "scripted") == 130


def test_a_line_ends_between_words_at_a_terminal() -> None:
    trial = Trial(
        agent="a",
        kind="b",
        command=("program", "one", "two"),
        capabilities=Capabilities(fork=True),
        greeting=None,
        seconds=None,
        cases=(),
        leaves=(),
    )
    lines = trial_report.head(trial, 20).splitlines()
    assert lines[1:3] == ["command    program", "           one two"]


def test_an_agent_that_there_is_not_is_named_with_those_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(tmp_path, "cluade") == 1
    assert "There is no agent 'cluade'" in capsys.readouterr().err
