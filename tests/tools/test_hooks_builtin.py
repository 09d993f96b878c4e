"""The hooks that Podium has itself: what they refuse, and the documents that one writes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from podiumd.tools import failpoints
from podiumd.tools.hooks.builtin import Moment, run_builtin
from podiumd.tools.hooks.hooks import HookResult
from tests.tools.git_repository import begun, make_repository

CONTEXT = {"goal": "A shop", "parts": [{"name": "door"}, {"name": "till"}], "notes": None}
WRITE = ("podium:write", "docs/plan.md", "docs/plan.json")


async def run(
    where: Path, *argv: str, context: dict[str, Any] | None = None, required: tuple[str, ...] = ()
) -> HookResult:
    moment = Moment(
        phase="planning",
        context=CONTEXT if context is None else context,
        required=required,
        working_directory=str(where),
    )
    return await run_builtin(argv, moment)


async def test_saved_names_the_keys_that_are_missing_or_empty(tmp_path: Path) -> None:
    context: dict[str, Any] = {"a": "x", "b": "", "c": [], "d": None, "e": 0, "f": False}
    assert (await run(tmp_path, "podium:saved", "a", "e", "f", context=context)).exit_status == 0
    no = await run(tmp_path, "podium:saved", "a", "b", "c", "d", "g", context=context)
    assert no.refused and no.reason == "not saved yet: b, c, d, g"


async def test_exists_names_the_paths_that_are_missing_and_refuses_ones_outside(
    tmp_path: Path,
) -> None:
    (tmp_path / "here").mkdir()
    assert (await run(tmp_path, "podium:exists", "here")).exit_status == 0
    no = await run(tmp_path, "podium:exists", "here", "there", "a/b")
    assert no.refused and no.reason == "not there yet: there, a/b"
    for outside in ("../x", "/etc/passwd"):
        no = await run(tmp_path, "podium:exists", outside)
        assert no.refused and no.reason == f"'{outside}' leads out of the working directory"


async def test_clean_tree_names_what_is_uncommitted_and_that_there_is_no_git(
    tmp_path: Path,
) -> None:
    project = begun(tmp_path / "project", {"a": "a"})
    assert (await run(project, "podium:clean-tree")).exit_status == 0
    (project / "b").write_text("b")
    no = await run(project, "podium:clean-tree")
    assert no.refused and no.reason == "the working tree has uncommitted changes: b"
    (tmp_path / "plain").mkdir()
    no = await run(tmp_path / "plain", "podium:clean-tree")
    assert no.refused and "git" in no.reason


async def test_one_that_nobody_knows_fails_and_decides_nothing(tmp_path: Path) -> None:
    result = await run(tmp_path, "podium:magic")
    assert result.failed and not result.refused
    assert result.reason.startswith("there is no 'podium:magic'; there is: podium:saved, ")


async def test_write_makes_the_documents_and_their_directory(tmp_path: Path) -> None:
    assert (await run(tmp_path, *WRITE)).exit_status == 0
    text = (tmp_path / "docs/plan.json").read_text()
    assert json.loads(text) == {"phase": "planning", **CONTEXT}
    assert list(json.loads(text)) == ["phase", "goal", "parts", "notes"]
    shown = (tmp_path / "docs/plan.md").read_text()
    assert "# Plan\n\n## Goal\n\nA shop\n\n## Parts\n\n" in shown
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == ["plan.json", "plan.md"]


async def test_write_does_nothing_before_all_is_known_that_leads_out_of_the_phase(
    tmp_path: Path,
) -> None:
    assert (await run(tmp_path, *WRITE, required=("goal", "notes"))).exit_status == 0
    assert list(tmp_path.iterdir()) == []
    assert (await run(tmp_path, *WRITE, required=("goal",))).exit_status == 0
    assert (tmp_path / "docs/plan.md").exists()


async def test_write_writes_its_own_documents_again_and_leaves_the_same_alone(
    tmp_path: Path,
) -> None:
    await run(tmp_path, *WRITE)
    before = (tmp_path / "docs/plan.json").stat()
    await run(tmp_path, *WRITE)
    again = (tmp_path / "docs/plan.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (again.st_ino, again.st_mtime_ns)
    await run(tmp_path, *WRITE, context={**CONTEXT, "goal": "A museum"})
    assert json.loads((tmp_path / "docs/plan.json").read_text())["goal"] == "A museum"
    assert "A museum" in (tmp_path / "docs/plan.md").read_text()
    assert len(list((tmp_path / "docs").iterdir())) == 2


async def test_write_keeps_what_somebody_else_wrote_beside_it_once(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "plan.md").write_text("# My own plan\n")
    (docs / "plan.json").write_text('{"mine": 1}')
    await run(tmp_path, *WRITE)
    assert (docs / "plan.before.md").read_text() == "# My own plan\n"
    assert (docs / "plan.before.json").read_text() == '{"mine": 1}'
    (docs / "plan.md").write_text("# My own plan\n")  # the same again needs no other place
    await run(tmp_path, *WRITE)
    (docs / "plan.md").write_text("# Another\n")
    await run(tmp_path, *WRITE)
    assert (docs / "plan.before-2.md").read_text() == "# Another\n"
    assert len(list(docs.iterdir())) == 5


async def test_write_names_the_document_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "docs/plan.json").mkdir(parents=True)
    no = await run(tmp_path, *WRITE)
    assert no.refused and no.reason.startswith("docs/plan.json could not be written: ")
    assert (tmp_path / "docs/plan.md").exists()


async def test_exists_says_why_it_cannot_look(tmp_path: Path) -> None:
    no = await run(tmp_path, "podium:exists", "x" * 300)
    assert no.refused and no.reason == f"'{'x' * 300}' cannot be looked at: File name too long"


@pytest.mark.parametrize("path", ["../out.md", "/tmp/out.md", "docs/x.txt", ".git/x.md"])
async def test_write_refuses_what_is_no_document_below_the_working_tree(
    tmp_path: Path, path: str
) -> None:
    project = make_repository(tmp_path / "project")
    no = await run(project, "podium:write", path)
    assert no.refused and path in no.reason
    assert not (tmp_path / "out.md").exists() and not (project / ".git/x.md").exists()


async def test_write_goes_through_no_link(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "real").mkdir(parents=True)
    (project / "docs").symlink_to("real")
    (project / "plan.md").symlink_to("real/plan.md")
    (project / "out").symlink_to(tmp_path)
    for path in ("docs/plan.md", "plan.md", "out/plan.md"):
        no = await run(project, "podium:write", path)
        assert no.refused and path in no.reason
    assert list((project / "real").iterdir()) == [] and not (tmp_path / "plan.md").exists()


@pytest.mark.parametrize("point", ["write.before-rename", "write.after-rename"])
async def test_a_write_that_was_cut_off_is_whole_after_the_next(
    tmp_path: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft of a killed process stays: the next finds it and leaves none."""
    await run(tmp_path, *WRITE)
    changed = {**CONTEXT, "goal": "A museum"}
    for line in (1, 2):
        monkeypatch.setattr(os, "unlink", lambda *_args, **_more: None)  # nothing is tidied up
        failpoints.arm(f"{point}:1:error")
        try:
            no = await run(tmp_path, *WRITE, context={**changed, "parts": line})
        finally:
            failpoints.arm(None)
            monkeypatch.undo()
        assert no.refused
        assert (await run(tmp_path, *WRITE, context={**changed, "parts": line})).exit_status == 0
        assert json.loads((tmp_path / "docs/plan.json").read_text())["parts"] == line
        assert sorted(one.name for one in (tmp_path / "docs").iterdir()) == ["plan.json", "plan.md"]
