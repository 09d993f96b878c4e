"""A project's tests are found by its files, and a pattern is an argument."""

import os
from pathlib import Path

import pytest

from podiumd.tools.agent.test_command import detect_test_command
from podiumd.tools.agent.workspace import Refused, Workspace

ENVIRON = {"PATH": os.environ["PATH"]}


def found(
    root: Path, files: dict[str, str], pattern: str | None = None, configured: str = ""
) -> list[str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return detect_test_command(Workspace(root), configured, pattern, ENVIRON)


PACKAGE = '{"scripts": {"test": "vitest"}}'


@pytest.mark.parametrize(
    ("files", "plain", "chosen"),
    [
        ({"pytest.ini": ""}, "python3 -m pytest", "python3 -m pytest -k PATTERN"),
        ({"pyproject.toml": "[tool.pytest.ini_options]"}, "python3 -m pytest",
         "python3 -m pytest -k PATTERN"),
        ({"requirements-dev.txt": "pytest\n", ".venv/bin/python": ""}, ".venv/bin/python -m pytest",
         ".venv/bin/python -m pytest -k PATTERN"),
        ({"test_a.py": "import unittest"}, "python3 -m unittest", "python3 -m unittest -k PATTERN"),
        ({"tests/test_a.py": ""}, "python3 -m unittest discover -s tests",
         "python3 -m unittest discover -s tests -k PATTERN"),
        ({"tests/test_a.py": "", "tests/__init__.py": ""},
         "python3 -m unittest discover -s tests -t .",
         "python3 -m unittest discover -s tests -t . -k PATTERN"),
        ({"package.json": PACKAGE}, "npm test", "npm test -- PATTERN"),
        ({"package.json": PACKAGE, "yarn.lock": ""}, "yarn test", "yarn test PATTERN"),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, "pnpm test", "pnpm test PATTERN"),
        ({"package.json": PACKAGE, "bun.lock": ""}, "bun run test", "bun run test PATTERN"),
        ({"go.mod": "module x"}, "go test ./...", "go test -run PATTERN ./..."),
        ({"Cargo.toml": "[package]"}, "cargo test", "cargo test PATTERN"),
    ],
)  # fmt: skip
def test_the_command_is_told_from_the_files(
    tmp_path: Path, files: dict[str, str], plain: str, chosen: str
) -> None:
    hostile = "a b; $(touch x) 'q'"

    assert found(tmp_path, files) == plain.split()
    assert found(tmp_path, files, hostile) == [
        hostile if word == "PATTERN" else word for word in chosen.split()
    ]


def test_a_pattern_that_names_a_place_is_one(tmp_path: Path) -> None:
    files = {"pytest.ini": "", "tests/test_a.py": ""}

    assert found(tmp_path, files, "tests/test_a.py")[-1:] == ["tests/test_a.py"]
    assert found(tmp_path, files, "tests/test_a.py::test_x")[-2:] == [
        "pytest",
        "tests/test_a.py::test_x",
    ]


def test_a_go_package_is_named_by_its_path(tmp_path: Path) -> None:
    assert found(tmp_path, {"go.mod": ""}, "./pkg/...") == ["go", "test", "./pkg/..."]


@pytest.mark.parametrize(
    ("makefile", "command"),
    [("test:\n\ttrue\n", ["make", "test"]), ("all:\n\ncheck: all\n\ttrue\n", ["make", "check"])],
)
def test_a_makefile_counts_with_its_target(
    tmp_path: Path, makefile: str, command: list[str]
) -> None:
    assert found(tmp_path, {"Makefile": makefile}) == command
    with pytest.raises(Refused, match="make runs all tests or none"):
        found(tmp_path, {}, "x")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "not json"},
        {"package.json": "[]"},
        {"Makefile": "test := x\nall:\n"},
    ],
)
def test_where_there_are_no_tests_that_is_said(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(Refused, match="set test_command"):
        found(tmp_path, files)


def test_the_configured_command_wins(tmp_path: Path) -> None:
    words = found(tmp_path, {"pytest.ini": ""}, "x y", "tox -e 'py 3'")

    assert words == ["tox", "-e", "py 3", "x y"]
    with pytest.raises(Refused, match="cannot be read"):
        found(tmp_path, {}, None, "tox 'open")


@pytest.mark.parametrize("pattern", ["", " ", "--rootdir=/", "-x", "a\0b"])
def test_a_pattern_is_never_an_option(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(Refused, match="the pattern is empty or begins with '-'"):
        found(tmp_path, {"pytest.ini": ""}, pattern)


@pytest.mark.parametrize("pattern", ["a" * 5000, "a\ud800"])
def test_a_pattern_that_can_name_no_place_is_still_one(tmp_path: Path, pattern: str) -> None:
    assert found(tmp_path, {"pytest.ini": ""}, pattern)[-2:] == ["-k", pattern]
