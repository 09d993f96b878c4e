"""Completion: what may follow, and the bash script that asks."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from podium.cli.complete import SCRIPTS
from podium.commands.spec.all import COMMANDS
from tests.client.conversations import row
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    environment,
    podium,
)
from tests.client.stories import QUESTION, RECIPE, ended_run
from tests.long import sampled

REVIEWERS = [f"reviewer={one}" for one in ("native", "claude", "codex", "scripted")]


@pytest.fixture
def full(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers |= {
        "runs.list": [ended_run()],
        "questions.list": [QUESTION],
        "recipes.list": [RECIPE],
        "sessions.list": {"sessions": [row(), row("6one0000", gone=True)], "total": 2},
        "recipes.get": {
            "steps": {"fix": {}, "commit": {}},
            "params": {
                "task": {"type": "string"},
                "reviewer": {"type": "agent", "choices": []},
                "deep": {"type": "boolean", "choices": []},
                "how": {"type": "choice", "choices": ["fast", "slow"]},
            },
        },
        "gateway.devices": [{"device": "phone", "last_seen": None}, {"device": "Ada's"}],
    }
    return daemon


def offered(daemon: FakeDaemon, *words: str) -> list[str]:
    lines = podium(daemon, "__complete", *words).stdout.splitlines()
    return [line.partition("\t")[0] for line in lines]


@pytest.mark.parametrize(
    ("words", "expected"),
    sampled([
        (["sta"], ["status"]),
        (["--v"], ["--version"]),
        (["runs", "s"], ["show"]),
        (["runs", "--"], ["--all", "--limit", "--before", "--json", "--help"]),
        (["runs", "--all", "--"], ["--limit", "--before", "--json"]),
        (["runs", "--before", ""], [RUN_ID]),
        (["attach", ""], [RUN_ID]),
        (["attach", "1a"], [RUN_ID]),
        (["attach", "zz"], []),
        (["attach", RUN_ID, ""], []),
        (["show", ""], [SESSION_ID, "6one0000"]),
        (["chat", "--agent", ""], ["native", "claude", "codex", "scripted"]),
        (["prompt", "hi", "--agent", "n"], ["native"]),
        (["run", "fix-it", "--agent", "s"], ["scripted"]),
        (["agent", "try", "c"], ["claude", "codex"]),
        (["chat", "--recipe", ""], ["fix-it"]),
        (["chat", "--al"], ["--allow-all"]),
        (["show", "5e"], [SESSION_ID]),
        (["show", "-"], ["-n", "--follow", "--json", "--help"]),
        (["prompt", "hi", "--session", "6"], ["6one0000"]),
        (["run", "fix-it", "--session", ""], [SESSION_ID, "6one0000"]),
        (["sessions", "--forget", ""], ["6one0000"]),
        (["sessions", "--project", ""], [":directories"]),
        (["answer", ""], [QUESTION_ID]),
        (["answer", QUESTION_ID, ""], ["yes", "no"]),
        (["run", ""], ["fix-it"]),
        (["run", "--agent", "claude", ""], ["fix-it"]),
        (["run", "fix-it", "--on-question", ""], ["ask", "wait", "fail"]),
        (["run", "fix-it", "--cwd", ""], [":directories"]),
        (["run", "-p", "a=b", "-"], ["-p", "--param", "--worktree", "--detach", "--agent",
                                     "--model", "--script", "--session", "--cwd", "--on-question",
                                     "--anyway", "--json"]),
        (["run", "fix-it", "-p", ""], ["task=", *REVIEWERS, "deep=true", "deep=false",
                                       "how=fast", "how=slow"]),
        (["run", "fix-it", "--agent", "c"], ["claude", "codex"]),
        (["run", "fix-it", "--cwd", "/", "--param", "reviewer=c"], REVIEWERS[1:3]),
        (["run", "fix-it", "-p", "reviewer", "="], ["native", "claude", "codex", "scripted"]),
        (["run", "fix-it", "-p", "reviewer", "=", "co"], ["codex"]),
        (["chat", "--recipe", "fix-it", "-p", "how=s"], ["how=slow"]),
        (["run", "-p", ""], []),
        (["prompt", "hi", "--script", ""], [":files"]),
        (["prompt", "hi", "--file", ""], [":files"]),
        (["prompt", "hi", "--file", "a.png", "--file", ""], [":files"]),
        (["chat", "--s"], ["--script", "--session"]),
        (["recipe", "outcome", "fix-it", ""], ["fix", "commit"]),
        (["recipe", "outcome", "fix-it", "fix", ""], [":files"]),
        (["help", "sta"], ["status"]),
        (["help", "recipe", ""], ["list", "show", "check", "graph", "sim",
                                  "outcome", "trust", "new"]),
        (["recipe", "graph", "fix-it", "--format", ""], ["mermaid", "dot"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["devices", ""], ["revoke", "scope"]),
        (["devices", "revoke", ""], ["phone", "Ada's"]),
        (["pair", "--png", ""], [":files"]),
        (["nonsense", ""], []),
    ], 14),
)  # fmt: skip
def test_what_may_follow(full: FakeDaemon, words: list[str], expected: list[str]) -> None:
    assert offered(full, *words) == expected


def test_every_command_is_offered(full: FakeDaemon) -> None:
    assert offered(full, "") == [one.path[0] for one in COMMANDS if len(one.path) == 1]


def test_without_a_daemon_nothing_is_offered_and_nothing_is_said(tmp_path: Path) -> None:
    done = podium(tmp_path / "podium.sock", "__complete", "attach", "")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("line", "expected"),
    sampled(
        [
            (["podium", "recipe", "outcome", "fix-it", "fix", "rep"], ["reply one.txt"]),
            (["podium", "qu"], ["questions"]),
            (["podium", "attach", ""], [RUN_ID]),
            (["podium", "run", "fix-it", "--cwd", ""], ["sub dir"]),
            (["podium", "run", "fix-it", "--cwd", "sub\\ d"], ["sub dir"]),
        ],
        2,
    ),
)
def test_bash_completes_with_the_script(
    full: FakeDaemon, tmp_path: Path, line: list[str], expected: list[str]
) -> None:
    (tmp_path / "reply one.txt").touch()
    (tmp_path / "sub dir").mkdir()
    assert completed_by_bash(full, tmp_path, line) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", r"Ada\'s\ big\ \$HOME\ pad"),
        (r"Ada\'s\ b", r"Ada\'s\ big\ \$HOME\ pad"),
        ("'Ada", r"Ada'\''s big $HOME pad"),
        ('"Ada', r"Ada's big \$HOME pad"),
    ],
)
def test_bash_quotes_what_it_completes_as_the_word_is_begun(
    full: FakeDaemon, tmp_path: Path, typed: str, expected: str
) -> None:
    full.answers["gateway.devices"] = [{"device": "Ada's big $HOME pad", "last_seen": None}]
    (tmp_path / "*").touch()  # a name is no pattern
    line = ["podium", "devices", "revoke", typed]
    assert completed_by_bash(full, tmp_path, line) == [expected]


def completed_by_bash(daemon: FakeDaemon, directory: Path, line: list[str]) -> list[str]:
    program = f"""
        podium() {{ {sys.executable} -m podium "$@"; }}
        source <(podium completion bash)
        COMP_WORDS=({shlex.join(line)}); COMP_CWORD={len(line) - 1}
        _podium
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(
        ["bash", "-c", program],
        capture_output=True,
        text=True,
        env=environment(daemon.path),
        cwd=directory,
        check=True,
    )

    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
def test_each_shell_that_is_here_accepts_its_script(daemon: FakeDaemon, shell: str) -> None:
    script = podium(daemon, "completion", shell).stdout

    assert script == SCRIPTS[shell].lstrip("\n")
    assert script.endswith("\n")
    if shutil.which(shell):
        check = subprocess.run([shell, "-n"], input=script, text=True, check=False)
        assert check.returncode == 0
