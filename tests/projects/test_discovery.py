"""What a directory offers is found by reading its files, and nothing of it is run."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio.testing

from podiumd.projects import discovery, places
from podiumd.projects.discovery import MOST_FILE_BYTES, Discovery, discover
from podiumd.projects.menu import Offered

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def offered(path: Path, environment: Mapping[str, str] = ENVIRONMENT) -> Offered:
    return discover(path, environment)


def labels(found: Offered) -> list[str]:
    return [item.label for item in found.project]


def test_a_bare_directory_offers_git_and_no_command_of_a_missing_program(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    path = {"PATH": str(tmp_path / "bin")}
    git = ["git.status", "git.push", "git.worktree.list"]
    for name, ids in (("git", git), ("bd", [*git, "bd.ready", "bd.list"])):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        found = offered(tmp_path, path)
        assert found.project == ()
        assert [item.id for item in found.general] == [*found.table] == ids
    assert offered(tmp_path, {"PATH": str(tmp_path)}).table == {}


def test_every_kind_of_project_is_offered_and_each_id_stands_for_an_argument_list(
    tmp_path: Path,
) -> None:
    (tmp_path / "Makefile").write_text("docker-up:\ndocker-down:\ntest.unit:\nnpm:\n")
    (tmp_path / "package.json").write_text('{"scripts": {"dev; rm": "vite", "b": "c"}}')
    (tmp_path / "yarn.lock").write_text("")
    (tmp_path / "justfile").write_text("deploy:\n")
    found = offered(tmp_path)
    assert labels(found) == ["Docker", "Test.unit", "Npm", "yarn", "just deploy"]
    assert {name: one.argv for name, one in found.table.items() if name[:3] != "git"} == {
        "docker.up": ("make", "docker-up"),
        "docker.down": ("make", "docker-down"),
        "test.unit": ("make", "test.unit"),
        "npm": ("make", "npm"),
        "npm:dev; rm": ("yarn", "run", "dev; rm"),
        "npm:b": ("yarn", "run", "b"),
        "just:deploy": ("just", "deploy"),
    }
    assert found.table["npm:dev; rm"].shell_command == "yarn run 'dev; rm'"
    assert found.project[3].id == "group:npm"


def test_looking_at_a_hostile_directory_runs_nothing(tmp_path: Path) -> None:
    """``make -qp`` would make all three files here; we read the target without."""
    pwned = tmp_path / "pwned"
    pwned.mkdir()
    text = (
        f"A := $(shell touch {pwned}/shell)\nB != touch {pwned}/bang\ninclude made.mk\n"
        f"made.mk:\n\ttouch {pwned}/remade\nall:\n\t+touch {pwned}/recipe\n"
        f"$(eval $(shell touch {pwned}/eval))\n.DEFAULT:\n\t@touch {pwned}/default\n"
    )
    (tmp_path / "Makefile").write_text(text)
    (tmp_path / "justfile").write_text(f"x := `touch {pwned}/just`\nall y=`touch {pwned}/y`:\n")
    (tmp_path / "package.json").write_text('{"scripts": {"preinstall": "touch pwned/npm"}}')
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {pwned}/git\n")
    for program in ("make", "just", "npm", "git"):
        fake = tmp_path / program
        fake.write_text(f"#!/bin/sh\ntouch {pwned}/path\n")
        fake.chmod(0o755)
    found = offered(tmp_path, {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert labels(found) == ["All", "npm preinstall", "just all"]
    assert list(pwned.iterdir()) == []


def test_the_targets_are_those_that_make_itself_names(tmp_path: Path) -> None:
    text = (
        "NAMES = one two\n.PHONY: all $(NAMES)\nall: $(NAMES)\n$(NAMES):\n\t@echo $@\n"
        "ci-lint ci-test: ; @true\ninclude more.mk\ndefine X\nfoo: bar\nendef\nY := a:b\n"
    )
    (tmp_path / "Makefile").write_text(text)
    (tmp_path / "more.mk").write_text("three: \\\n  four\nfour::\n\t@true\n")
    printed = subprocess.run(
        ["make", "-qp", "-r"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**ENVIRONMENT, "LC_ALL": "C"},
    ).stdout.split("\n\n")  # fmt: skip
    told = {
        block.splitlines()[0].partition(":")[0]
        for block in printed
        if block and block[0].isalpha() and ":" in block.splitlines()[0]
    } - {"Makefile", "more.mk"}
    found = {command.argv[1] for command in offered(tmp_path).table.values()} - {
        "status", "push", "worktree",
    }  # fmt: skip
    assert found == told == {"all", "one", "two", "three", "four", "ci-lint", "ci-test"}


def test_make_takes_the_first_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("last:\n")
    (tmp_path / "makefile").write_text("middle:\n")
    (tmp_path / "GNUmakefile").write_text("first:\n")
    assert labels(offered(tmp_path)) == ["First"]


def test_included_files_are_read_once_by_name_and_by_pattern(tmp_path: Path) -> None:
    (tmp_path / "mk").mkdir()
    (tmp_path / "Makefile").write_text(
        "include mk/*.mk\ninclude Makefile ../up.mk ../*.mk /**/x **/y \0 nowhere/*\nz:\n"
    )
    (tmp_path / "mk" / "a.mk").write_text("a:\ninclude mk/b.mk Makefile\n")
    (tmp_path / "mk" / "b.mk").write_text("b:\n")
    assert labels(offered(tmp_path)) == ["A", "B", "Z"]


def test_what_is_no_small_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")
    (tmp_path / "package.json").mkdir()
    (tmp_path / "justfile").write_bytes(b"a:\n" + b"#" * MOST_FILE_BYTES)
    assert labels(offered(tmp_path)) == []
    (tmp_path / "justfile").unlink()
    (tmp_path / "justfile").symlink_to("/dev/zero")
    assert labels(offered(tmp_path)) == []


def test_there_is_a_limit_to_the_files_that_are_included(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"m{number:02}.mk").write_text(f"t{number:02}:\n")
    (tmp_path / "Makefile").write_text("include *.mk\nlast:\n")
    (tmp_path / "justfile").write_text("j:\n")
    found = labels(offered(tmp_path))
    assert found[0] == "T00" and found[-2:] == ["Last", "just j"]
    assert len(found) < 40


async def test_a_directory_is_read_again_only_when_a_file_of_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Path] = []
    read = discovery._Files._text

    def counted(self: discovery._Files, path: Path) -> str | None:
        reads.append(path)
        return read(self, path)

    monkeypatch.setattr(discovery._Files, "_text", counted)
    (tmp_path / "sub").mkdir()
    makefile, included = tmp_path / "Makefile", tmp_path / "sub" / "a.mk"
    makefile.write_text("include sub/a.mk\na:\n")
    included.write_text("b:\n")
    book = Discovery()

    async def now() -> list[str]:
        return labels(await book.offer(tmp_path, ENVIRONMENT))

    assert await now() == ["B", "A"]
    assert await now() == ["B", "A"]
    assert reads == [makefile, included]
    included.write_text("bb:\n")
    assert await now() == ["Bb", "A"]
    (tmp_path / "package.json").write_text('{"scripts": {"x": "y"}}')
    assert await now() == ["Bb", "A", "npm x"]
    makefile.unlink()
    assert await now() == ["npm x"]


async def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    book = Discovery()
    for number in range(80):
        (tmp_path / str(number)).mkdir()
        await book.offer(tmp_path / str(number), ENVIRONMENT)
    assert len(book._known) == 64


async def test_a_directory_that_does_not_answer_offers_the_general_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    hung, let_go = trio.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    def hangs(*_: object) -> None:
        token.run_sync_soon(hung.set)
        let_go.wait(30)

    monkeypatch.setattr(discovery, "_look", hangs)
    found: list[Offered] = []

    async def ask() -> None:
        found.append(await Discovery().offer(tmp_path, ENVIRONMENT))

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await hung.wait()
            mock_clock.jump(places.LIMIT_SECONDS)
    finally:
        let_go.set()
    assert found[0].project == ()
    assert found[0].general[0].id == "git.status"
