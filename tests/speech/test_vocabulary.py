from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from podiumd.speech.words import vocabulary as module
from podiumd.speech.words.vocabulary import Vocabulary, vocabulary
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import commit, make_repository, run_git


async def of(directory: Path, **given: object) -> Vocabulary:
    with trio.fail_after(HANG_SECONDS):
        return await vocabulary(
            str(directory),
            [("review-and-commit", ["code-review", "commit"])],
            **{"seconds": HANG_SECONDS, **given},  # type: ignore[arg-type]
        )


def sources(found: Vocabulary) -> dict[str, str]:
    return {one.term: one.source for one in found.terms}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a branch, a commit, a change and a new file."""
    directory = make_repository(tmp_path / "project")
    (directory / "pyproject.toml").write_text('[project]\ndependencies = ["pytest-trio"]\n')
    (directory / "gateway.py").write_text("old = 1\n")
    commit(directory, "First")
    run_git(directory, "checkout", "--quiet", "-b", "feature/login-tests")
    (directory / "gateway.py").write_text("session_lock = make_lock(session_lock)\n")
    (directory / "new_file.py").write_text("x\n")
    return directory


async def test_the_words_of_a_project_and_where_they_come_from(project: Path) -> None:
    found = await of(project)

    assert found.complete
    assert found.working_directory == str(project)
    assert sources(found) == {
        "login-tests": "branch",
        "gateway.py": "file",
        "new_file": "file",
        "pyproject.toml": "file",
        "session_lock": "identifier",
        "make_lock": "identifier",
        "review-and-commit": "recipe",
        "code-review": "step",
        "commit": "step",
        "pytest-trio": "dependency",
    }
    assert found.words[0] == "login-tests"


async def test_the_file_that_changed_last_comes_first(project: Path) -> None:
    os.utime(project / "gateway.py", (1, 1))
    words = (await of(project)).words
    assert words.index("new_file") < words.index("gateway.py")


async def test_a_clean_tree_has_the_names_of_the_last_commit(project: Path) -> None:
    commit(project, "Second")
    assert "session_lock" in (await of(project)).words


async def test_a_repository_without_a_commit_has_its_files(tmp_path: Path) -> None:
    directory = make_repository(tmp_path / "new")
    (directory / "first_steps.py").write_text("x = 1\n")
    assert sources(await of(directory))["first_steps"] == "file"


async def test_without_git_the_newest_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "below" / "deeper").mkdir(parents=True)
    for number, name in enumerate(["old_one.py", "below/new_one.py", "below/deeper/not.py"]):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (number, number))
    (tmp_path / ".hidden_file").write_text("x")
    words = (await of(tmp_path)).words

    assert [word for word in words if word.endswith("_one")] == ["new_one", "old_one"]
    assert not {"not.py", ".hidden_file"} & set(words)


async def test_no_more_files_are_looked_at_than_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 1)
    for name in ("a_one.py", "below/b_two.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    words = (await of(tmp_path)).words
    assert len({"a_one", "b_two"} & set(words)) <= 1


async def test_a_directory_that_is_not_there_has_only_recipes(tmp_path: Path) -> None:
    found = await of(tmp_path / "gone")
    assert set(sources(found).values()) == {"recipe", "step"}


async def test_no_link_is_followed_out_of_the_project(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret_plan.py").write_text("x")
    (outside / "package.json").write_text('{"dependencies": {"secret-thing": "1"}}')
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").symlink_to(outside / "package.json")
    (project / "linked").symlink_to(outside)
    words = (await of(project)).words

    assert not {"secret_plan", "secret-thing", "linked"} & set(words)


async def test_a_manifest_that_is_too_big_or_a_pipe_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("flask\n" + "#" * 300_000)
    os.mkfifo(tmp_path / "package.json")
    (tmp_path / "pyproject.toml").mkdir()
    found = await of(tmp_path)
    assert "flask" not in found.words
    assert found.complete


async def test_an_endless_diff_is_cut(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GIT_BYTES", 2000)
    (project / "gateway.py").write_text("early_name\n" + "filler\n" * 100_000 + "late_name\n")
    words = (await of(project)).words
    assert "early_name" in words
    assert "late_name" not in words


async def test_what_is_not_known_in_time_is_done_without(
    project: Path, tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that never answers is ended, and what else there is counts."""
    programs = tmp_path / "bin"
    programs.mkdir()
    git = programs / "git"
    started = tmp_path / "started"
    os.mkfifo(started)
    dependencies, looked = module._dependencies, trio.Event()

    async def look(*given: Any) -> None:
        await dependencies(*given)
        looked.set()

    monkeypatch.setattr(module, "_dependencies", look)
    pids: list[int] = []

    async def time_is_up() -> None:
        pids.append(int(await trio.to_thread.run_sync(started.read_text)))
        await looked.wait()
        await trio.testing.wait_all_tasks_blocked()
        mock_clock.jump(module.SECONDS)

    git.write_text(
        f"#!{sys.executable}\nimport os, signal\n"
        f"open({str(started)!r}, 'w').write(str(os.getpid()))\nsignal.pause()\n"
    )
    git.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{programs}")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(time_is_up)
        found = await vocabulary(str(project), [("own-recipe", [])])

    assert not found.complete
    assert {"own-recipe", "pytest-trio"} <= set(found.words)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


async def test_without_a_git_the_files_are_still_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "gateway.py" in (await of(project)).words


async def test_no_program_that_a_repository_names_is_run(project: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    run_git(project, "config", "diff.external", f"touch {mark}")
    run_git(project, "config", "core.fsmonitor", f"touch {mark}")
    (project / ".gitattributes").write_text("*.py diff=own\n")
    run_git(project, "config", "diff.own.textconv", f"touch {mark};cat")
    run_git(project, "config", "diff.own.command", f"touch {mark}")
    run_git(project, "config", "filter.own.clean", f"touch {mark};cat")
    (project / ".gitattributes").write_text("*.py diff=own filter=own\n")
    (project / "gateway.py").touch()
    assert "session_lock" in (await of(project)).words
    assert not mark.exists()


async def test_nor_one_of_a_directory_that_is_laid_out_as_a_repository(
    project: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    below = project / "below"
    for name in ("objects", "refs"):
        (below / name).mkdir(parents=True)
    (below / "HEAD").write_text("ref: refs/heads/main\n")
    (below / "config").write_text(
        f"[core]\n\tbare = false\n\tworktree = {below}\n\tfsmonitor = touch {mark}\n"
        f'[alias]\n\tls-files = "!touch {mark}"\n[filter "x"]\n\tclean = touch {mark}; cat\n'
    )
    (below / ".gitattributes").write_text("* filter=x\n")
    (below / "own_file.py").write_text("x = 1\n")
    run_git(below, "--git-dir=.", "add", "--intent-to-add", "own_file.py")
    mark.unlink(missing_ok=True)

    found = sources(await of(below))

    assert not mark.exists()
    assert found["own_file"] == "file"
