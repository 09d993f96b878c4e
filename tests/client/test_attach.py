"""``podium attach``: following a run that is there, and the command that runs it again."""

import pytest

from tests.client import stories
from tests.client.fake_daemon import (
    RUN_ID,
    FakeDaemon,
    finish,
    podium,
    start,
)
from tests.client.stories import ended, entered, recipe_daemon, said, started, turn_ended


def test_attach_tells_an_ended_run_with_its_exit_code_by_the_beginning_of_its_id(
    daemon: FakeDaemon,
) -> None:
    recipe_daemon(daemon, started(), entered(2), ended(3, "blocked"))
    daemon.stored_first = 3

    done = podium(daemon, "attach", RUN_ID[:4])

    assert done.returncode == 4
    assert daemon.params_of("runs.events")[0]["run_id"] == RUN_ID[:4]
    again = """podium run fix-it --cwd '/home/ada/pots and pans' -p 'issue=it'"'"'s 7'"""
    assert done.stdout.splitlines()[-1] == f"Run it again: {again}"


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("Second\ttry", ["Second try", "  fix-it: Mend the gate", f"  run {RUN_ID[:8]} · "]),
        ("fix-it: Mend the gate", ["fix-it: Mend the gate", f"  run {RUN_ID[:8]} · "]),
    ],
)
def test_a_run_with_a_title_is_headed_by_it(daemon: FakeDaemon, name: str, head: list[str]) -> None:
    recipe_daemon(daemon, started(name="fix-it: Mend the gate"), ended(2))
    daemon.answers["runs.get"] = stories.ended_run(name=name)

    told = podium(daemon, "attach", RUN_ID).stdout.splitlines()

    assert [line[: len(words)] for line, words in zip(told, head, strict=False)] == head


def test_of_a_long_detail_the_end_is_shown_and_that_it_is_the_end(daemon: FakeDaemon) -> None:
    detail = "\n".join(f"line {number}" for number in range(12))
    end = stories.ended_run("blocked")["exit"] | {"detail": detail}
    recipe_daemon(daemon, started(), ended(2, "blocked", exit=end))

    told = podium(daemon, "attach", RUN_ID).stdout

    shown = "".join(f"    line {number}\n" for number in range(2, 12))
    assert f"\n    …\n{shown}" in told and "line 1\n" not in told


@pytest.mark.parametrize(
    ("told", "run", "again"),
    [
        ({"agent_given": "scripted"}, {}, "run fix-it --cwd /pots --agent scripted"),
        ({"agent_override": "scripted"}, {}, "run fix-it --cwd /pots --agent scripted"),
        ({"on_question": "fail"}, {}, "run fix-it --cwd /pots --on-question fail"),
        (
            {"worktree": {"repository": "/pots", "directory": "/w", "branch": "b"}},
            {"working_directory": "/w"},
            "run fix-it --cwd /pots --worktree",
        ),
        ({}, {"params": {"fast": True, "n": 3}}, "run fix-it --cwd /pots -p fast=true -p n=3"),
        (
            {"kind": "prompt", "text": "fix it"},
            {},
            "prompt --cwd /pots --agent claude 'fix it'",
        ),
        ({"kind": "prompt", "text": "two\nlines"}, {}, None),
        ({"kind": "prompt", "text": "x" * 121}, {}, None),
        ({"kind": "prompt", "text": "-x"}, {}, None),
    ],
)
def test_attach_names_the_command_that_runs_the_same_again(
    daemon: FakeDaemon, told: stories.Json, run: stories.Json, again: str | None
) -> None:
    run = {"working_directory": "/pots", "params": {}, **run}
    recipe_daemon(daemon, started(**told), ended(2, "blocked", **run))

    last = podium(daemon, "attach", RUN_ID).stdout.splitlines()[-1]

    if again is None:
        assert last.startswith("⚠ ")
    else:
        assert last == f"Run it again: podium {again}"


def test_the_command_to_run_it_again_has_every_option(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), ended(2, "blocked"))
    options = ["--cwd", "/tmp", "-p", "a=1", "--agent", "scripted", "--session", "5e55",
               "--worktree", "--on-question", "wait"]  # fmt: skip

    done = podium(daemon, "run", "fix-it", *options)

    again = f"podium run fix-it {' '.join(options)}"
    assert done.stdout.splitlines()[-1] == f"Run it again: {again}"


def test_who_attaches_in_mid_turn_is_told_the_rest_once(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2))
    client = start(daemon, "attach", RUN_ID)
    daemon.wait_for("runs.events")
    daemon.publish(said("Touched."), turn_ended(3, "I need a shell.\n\nTouched."), ended(4))

    out, _ = finish(client)

    lines = [line.strip() for line in out.splitlines() if line.strip()]
    at = lines.index("Touched.")
    assert lines[at : at + 3] == ["Touched.", "… said before:", "I need a shell."]
    assert lines.count("Touched.") == 1


def test_hostile_words_are_shown_and_not_obeyed(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2), turn_ended(3, "a\x1b]0;x\x07b\u202ec\x9bd"))
    daemon.publish(ended(4, "error", recipe="\x1b[2J"))

    out = podium(daemon, "run", "fix-it").stdout

    assert "a\\x1b]0;x\\x07b\\u202ec\\x9bd" in out
    assert "\x1b" not in out
