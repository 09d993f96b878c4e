"""How a native turn ends where its model, or a hook of the repository, does not do as expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.agents.native.model.scripted import ScriptedModel
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import Output
from tests.drivers.native.bench import Bench, act
from tests.drivers.rig import play
from tests.tools.git_repository import commit, run_git

WRITES = {"action": "write_file", "path": "a.txt", "content": "x\n"}
CANNOT = {"when": "was refused", "text": "I cannot mend that: only you know the number."}


async def ended(bench: Bench) -> TurnReport:
    """Play the turn to its end."""
    turn, _ = await play(bench.driver, bench.request(commits=True))
    return turn.report


def refusing(bench: Bench) -> Path:
    """A repository whose hook refuses every commit; the file has a line for each time it ran."""
    work = bench.rig.work
    run_git(work, "init", "--quiet")
    run_git(work, "config", "user.name", "A Person")
    run_git(work, "config", "user.email", "a@example.org")
    commit(work, "first")
    ran = bench.rig.root / "ran"
    hook = work / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho once >> {ran}\necho ticket number missing >&2\nexit 1\n")
    hook.chmod(0o755)
    return ran


async def test_what_a_hook_refuses_and_nobody_mends_ends_with_its_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act(WRITES), "Done.", *[CANNOT] * 9)
    ran = refusing(bench)

    report = await ended(bench)

    assert (report.kind, report.commit) == ("done", None)
    assert "ticket number missing" in report.detail
    assert report.texts[-1].startswith("Nothing was committed: created a.txt.\n")
    assert "ticket number missing" in report.texts[-1]
    assert ran.read_text().count("once") == 1
    assert bench.journal.loop.iterations == 3


async def test_a_hook_that_refuses_whatever_is_tried_is_told_to_the_model_twice(
    tmp_path: Path,
) -> None:
    tries = [{"when": "refused", "text": act({**WRITES, "content": n})} for n in "123456"]
    more = [{"when": "^Result", "text": "Done."}] * 9
    bench = Bench(tmp_path, act(WRITES), *tries, *more, max_iterations=100)
    ran = refusing(bench)

    report = await ended(bench)

    assert report.kind == "done"
    assert "ticket number missing" in report.detail
    assert ran.read_text().count("once") == 3
    assert run_git(bench.rig.work, "log", "--format=%s") == "first"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('I do it now.\n\n{"action": "write_file", "path": "a", "content": "1"}', "write_file"),
        ("", "holds no text"),
    ],
)
async def test_what_cannot_be_used_is_asked_for_again_and_never_an_end(
    tmp_path: Path, reply: str, told: str
) -> None:
    again = {"when": f"could not be used: .*{told}", "text": act(WRITES)}
    bench = Bench(tmp_path, {"text": reply}, again, {"when": "^Result", "text": "Done."})

    report = await ended(bench)

    assert report.kind == "done"
    assert (bench.rig.work / "a.txt").read_text() == "x\n"


async def test_a_model_that_says_nothing_at_all_is_a_clear_error(tmp_path: Path) -> None:
    bench = Bench(tmp_path, *[{"text": " \n"}] * 5)

    report = await ended(bench)

    assert (report.kind, report.reason) == ("stopped", "orchestration-error")
    assert report.detail.startswith("the reply holds no text")
    assert bench.journal.loop.iterations == 3


@pytest.mark.parametrize("certain", [True, False])
async def test_a_prompt_that_cannot_fit_is_refused_with_numbers_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certain: bool
) -> None:
    """Where it is only assumed how much the model takes in, the server has the word."""
    monkeypatch.setattr(ScriptedModel, "window", 16_000)
    monkeypatch.setattr(ScriptedModel, "certain", certain)
    bench = Bench(tmp_path, "Done.")

    turn, _ = await play(bench.driver, bench.request("word " * 60_000))

    report = turn.report
    if not certain:
        assert report.kind == "done"
        return
    assert (report.kind, bench.journal.loop.iterations) == ("failed", 0)
    assert "too long for the model 'scripted': with its 300,000 characters" in report.detail
    assert "takes in 16,000" in report.detail
    assert "Nothing was sent. Put what is long into a file" in report.detail


async def test_a_prompt_that_may_fit_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many tokens it is only the server can tell."""
    monkeypatch.setattr(ScriptedModel, "window", 16_000)
    bench = Bench(tmp_path, "Done.")

    turn, _ = await play(bench.driver, bench.request("word " * 15_000))

    assert turn.report.kind == "done"


async def test_what_the_model_says_at_its_end_stands_in_the_commit(tmp_path: Path) -> None:
    done = {"action": "done", "summary": "A file for x.\n\nIt holds x.\x1b"}
    bench = Bench(tmp_path, act(WRITES, done))
    refusing(bench).parent.joinpath("work/.git/hooks/pre-commit").unlink()

    report = await ended(bench)

    assert report.commit is not None
    assert run_git(bench.rig.work, "log", "-1", "--format=%B").splitlines()[:6] == [
        "AI: created a.txt",
        "",
        "- created a.txt",
        "",
        "A file for x.",
        "",
    ]


async def test_what_a_command_prints_reaches_people_line_by_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, act({"action": "run_command", "command": "echo hello,; echo world"}))

    _, events = await play(bench.driver, bench.request())

    shown = [e.delta for e in events if isinstance(e, Output) and e.kind == "tool_result"]
    assert "".join(shown[:-1]) == "hello,\nworld\n"
    assert shown[-1].startswith("exit code 0")


async def test_that_git_does_not_know_the_person_is_said_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    bench = Bench(tmp_path, act(WRITES), "Done.")
    refusing(bench)
    for key in ("user.name", "user.email"):
        run_git(bench.rig.work, "config", "--unset", key)
    run_git(bench.rig.work, "config", "user.useConfigOnly", "true")

    _, events = await play(bench.driver, bench.request(commits=True))

    shown = [e.delta for e in events if isinstance(e, Output) and e.kind in ("status", "text")]
    assert shown[0].startswith("what is done now will not be committed: git does not know who you")
