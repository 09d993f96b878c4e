"""Targets are read from a Makefile's text, as make would name them, and nothing is run."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podiumd.projects import discovery, places
from podiumd.projects.discovery import MOST_FILE_BYTES, Discovery
from podiumd.projects.makefile import MOST_TARGETS, Target, targets
from podiumd.projects.menu import Command, Ids, Offered, general_commands, tree, words_of
from podiumd.projects.scripts import just_recipes, package_scripts
from tests.work import at_most_lines


def names(text: str, **files: str) -> list[str]:
    def read(name: str) -> Iterable[str]:
        return [files[name]] if name in files else []

    return [target.name for target in targets(text, read)]


def row(id: str, text: str, found: str, **files: str) -> Any:
    return pytest.param(text, found.split(), files, id=id)


@pytest.mark.parametrize(
    ("text", "found", "files"),
    [
        row("in order, each once",
            "build: a.c\n\tcc a.c\ntest: build\nbuild:\n\techo again\nlint fmt:\n",
            "build test lint fmt"),
        row("no recipes, patterns, paths, hidden names",
            ".PHONY: all\n_hidden:\n.secret:\n%.o: %.c\nbench-%: x\nout/app: x\nall:\n"
            "\techo not: this\nMakefile: configure\n.DEFAULT_GOAL := all\n", "all"),
        row("dotted, unless a file to build",
            "test.unit:\nmain.o: main.c\nrelease.tar.gz:\n.PHONY: page.html v1.2\npage.html:\n"
            "v1.2:\n", "test.unit page.html v1.2"),
        row("no assignment, whatever its operator",
            "A = x:y\nB := x:y\nC ::= x:y\nD :::= x:y\nE ?= x:y\nF += x:y\nG != echo x:y\n"
            "export H = x:y\noverride I := x:y\nexport J\nreal: CFLAGS := -g\n"
            "real: private K = 1\n", ""),
        row("plain variables are put in",
            "P = a b\nP += c\nQ := $(P)-x\nE =\n$(Q) ${P}:\n$(E)d$(E):\nN ?= e\nN ?= f\n$N:\n",
            "a b c-x c d e"),
        row("what only make could tell is left out",
            "$(shell touch pwned) ok: x\nlist-$(foreach a,b c,$(a)): x\n$(UNKNOWN)build:\n"
            "V != echo hi\n$(V):\n$(subst a,b,c d) $(X:a=b) fine: y\n$$dollar:\n$(unclosed\n",
            "ok fine"),
        row("no definitions, both sides of a conditional",
            "define recipe\nno: such\nendef\ndefine outer\ndefine inner\nno2: x\nendef\nno3: x\n"
            "endef\nifeq ($(OS),mac)\nmac: x\nelse\nlinux: x\nendif\nifdef A\nendif\nvpath %.c "
            "src:lib\n", "mac linux"),
        row("called like a directive", "include: x\nexport: x\ndefine: x\nelse: x\n",
            "include export define else"),
        row("continued lines, ends of Windows",
            "a \\\n b: c \\\n d: e\r\nf:\r\n\techo\r\n", "a b f"),
        row("other kinds of rules",
            "a:: x\nb c &: y\nd: ; echo hi: there\ne: f | g\n", "a b c d e"),
        row("another prefix of recipes",
            ".RECIPEPREFIX = >\na:\n> echo no: target\n\tb: x\n", "a b"),
        row("included files share the variables",
            "N = one\ninclude a.mk missing.mk\n-include $(D)b.mk # why\nD =\nsinclude $(D)b.mk\n",
            "one two", **{"a.mk": "$(N):\nM = two\n", "b.mk": "$(M):\n"}),
    ],
)  # fmt: skip
def test_the_targets_of_a_text(text: str, found: list[str], files: dict[str, str]) -> None:
    assert names(text, **files) == found


def test_a_comment_with_two_signs_describes_its_target() -> None:
    text = (
        "## Make it\nbuild: ## ignored? no, nearer\ntest: x ## Run the tests\n## Tidy\nclean:\nx:\n"
    )
    found = {target.name: target.description for target in targets(text, lambda _: [])}
    assert found == {
        "build": "ignored? no, nearer", "test": "Run the tests", "clean": "Tidy", "x": None,
    }  # fmt: skip


def test_there_is_a_limit_to_the_targets() -> None:
    assert len(names("".join(f"t{number}:\n" for number in range(2000)))) == MOST_TARGETS


def test_variables_that_grow_without_end_cost_little() -> None:
    doubling = "".join(f"A{n} = $(A{n - 1}) $(A{n - 1})\n" for n in range(1, 60))
    wide = f"W = {'x ' * 10_000}\n" + ("$(W)" * 8_000 + ":\n") * 2
    cycle = "C = $(C) $(D)\nD = $(C)\n"
    text = f"A0 = x\n{doubling}$(A59): y\n{cycle}$(C): y\n{wide}ok:\n"
    with at_most_lines(10 * len(text)):
        names(text)


@given(st.text(alphabet="ab:=$(){}\\\n\t #.%-+?!&;," + "é", max_size=300))
def test_any_text_gives_names_that_are_safe_as_one_word_of_a_command(text: str) -> None:
    for target in targets(text, lambda _: []):
        assert isinstance(target, Target)
        assert target.name[0].isalnum() and target.name.isascii()
        assert not set(target.name) & set(" \t\n$=:/%;&|<>(){}'\"\\")


# -- scripts of package.json and recipes of a justfile, from their text ----------------------


def recipes(text: str, **files: str) -> list[str]:
    found = just_recipes(text, lambda name: [files[name]] if name in files else [])
    return [one.name for one in found]


def test_scripts_come_in_order_with_their_command_as_description() -> None:
    text = json.dumps({"scripts": {"build": "vite  build\n --x", "test:unit": "vitest"}})
    assert package_scripts(text, []) == (
        "npm",
        [Target("build", "vite build --x"), Target("test:unit", "vitest")],
    )


@pytest.mark.parametrize(
    ("beside", "field", "manager"),
    [
        (["yarn.lock"], None, "yarn"),
        (["pnpm-lock.yaml"], None, "pnpm"),
        (["bun.lockb"], None, "bun"),
        (["package-lock.json"], "yarn@4", "npm"),
        ([], "pnpm@9.1.0+sha", "pnpm"),
        ([], "evil; rm", "npm"),
        ([], 7, "npm"),
        ([], None, "npm"),
    ],
)
def test_the_lock_file_names_the_manager(beside: list[str], field: object, manager: str) -> None:
    assert package_scripts(json.dumps({"packageManager": field}), beside)[0] == manager


def test_hooks_options_and_invisible_names_are_no_scripts() -> None:
    scripts = {
        "build": "a", "prebuild": "b", "postbuild": "c", "prepare": "d", "-x": "e", "": "f",
        "a\nb": "g", "a\u202eb": "h", "n": 5, "x" * 201: "i", "with blank": "j",
    }  # fmt: skip
    found = package_scripts(json.dumps({"scripts": scripts}), [])[1]
    assert [one.name for one in found] == ["build", "prepare", "with blank"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"scripts": []}', '{"scripts": null}', "[" * 100_000, "1" * 5000],
)
def test_what_is_no_package_has_no_scripts(text: str) -> None:
    assert package_scripts(text, []) == ("npm", [])


def test_recipes_are_found_with_the_comment_above() -> None:
    text = (
        "set shell := ['bash']\nversion := '1'\nexport A := 'b'\nalias t := test\n\n# Build it\n"
        "build: clean\n    echo no: recipe\n\n[linux]\n@test:\n  x\n# Tidy\n[group('x')]\nclean:\n"
    )
    found = just_recipes(text, lambda _: [])
    assert [(one.name, one.description) for one in found] == [
        ("build", "Build it"), ("test", None), ("clean", "Tidy"),
    ]  # fmt: skip


def test_recipes_that_need_an_argument_or_are_private_are_left_out() -> None:
    text = (
        "a name:\nb name='x:y':\nc *rest:\nd +all:\ne x y='1':\nf x='1' *z: a\n_g:\n"
        '[private]\nh:\n[private, no-cd]\ni:\nj x="a b" : k\nk x=`date`:\n'
    )
    assert recipes(text) == ["b", "c", "f", "j", "k"]


def test_imported_files_count_and_modules_do_not() -> None:
    text = "import 'a.just'\nimport? \"b.just\"\nimport 'missing'\nmod docs\nmod? x 'y'\nz:\n"
    assert recipes(text, **{"a.just": "one:\nz:\n", "b.just": "two:\n"}) == ["one", "z", "two"]


@given(st.text(alphabet="ab:='\"`*+ \n\t#[]@-", max_size=200))
def test_any_justfile_gives_names_that_are_no_options(text: str) -> None:
    for name in recipes(text):
        assert name[0].isalpha() and name.isascii()


# -- how commands are shown: a tree of short labels, each command under an id of its own -----


def shown(*names: str) -> Any:
    ids = Ids()
    commands = [
        (words_of(name), Command(id=ids.give(name.replace("-", "."), f"make:{name}"),
                                 label=name, argv=("make", name)))
        for name in names
    ]  # fmt: skip
    return msgspec.json.decode(msgspec.json.encode(tree(commands, ids)))


def brief(items: Any) -> Any:
    return [
        (one["label"], one["id"], brief(one["children"])) if "children" in one
        else (one["label"], one["id"])
        for one in items
    ]  # fmt: skip


def test_an_item_has_the_fields_of_the_phone_protocol_and_no_empty_ones() -> None:
    assert shown("docker-up", "docker-down", "build") == [
        {
            "id": "docker", "label": "Docker", "type": "group",
            "children": [
                {"id": "docker.up", "label": "Up", "type": "command"},
                {"id": "docker.down", "label": "Down", "type": "command"},
            ],
        },
        {"id": "build", "label": "Build", "type": "command"},
    ]  # fmt: skip


def test_a_target_that_is_called_as_its_group_is_the_first_child() -> None:
    assert brief(shown("test-unit", "test")) == [
        ("Test", "group:test", [("Test", "test"), ("Unit", "test.unit")])
    ]


def test_a_group_of_one_is_written_as_one_label() -> None:
    assert brief(shown("docker-compose-up")) == [("Docker Compose Up", "docker.compose.up")]
    assert brief(shown("docker-compose-up", "docker-compose-down")) == [
        (
            "Docker Compose",
            "docker.compose",
            [("Up", "docker.compose.up"), ("Down", "docker.compose.down")],
        )
    ]


def test_ids_that_would_be_the_same_are_told_apart() -> None:
    assert brief(shown("a-b", "a.b", "git-status", "a-c")) == [
        ("A", "a", [("B", "a.b"), ("C", "a.c")]),
        ("A.b", "make:a.b"),
        ("Git Status", "make:git-status"),
    ]


def test_a_tree_is_at_most_four_deep() -> None:
    (a,) = shown(*(f"a-b-c-d{n}-e-f" for n in range(2)), "a-x", "a-b-y", "a-b-c-z")
    deepest = a["children"][0]["children"][0]["children"]
    assert [one["label"] for one in deepest] == ["D0 E F", "D1 E F", "Z"]


def test_general_commands_are_offered_where_their_program_is() -> None:
    assert [one.id for one in general_commands([])] == []
    assert [one.id for one in general_commands(["git"])] == [
        "git.status", "git.push", "git.worktree.list",
    ]  # fmt: skip
    both = general_commands(["git", "bd"])
    assert {one.id: one.shell_command for one in both}["git.worktree.list"] == "git worktree list"
    assert [one.argv for one in both][-2:] == [("bd", "ready"), ("bd", "list")]


# -- what a directory offers is found by reading its files, and nothing of it is run ---------


ENVIRONMENT = {"PATH": os.environ["PATH"]}


def offered(path: Path, environment: Mapping[str, str] = ENVIRONMENT) -> Offered:
    return discovery._offered(discovery._look(path, None), environment)


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
