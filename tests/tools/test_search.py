"""Both searchers find the same, within the tree, in bounded time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from podiumd.tools.agent.search import MOST_HITS, SearchResult, search
from podiumd.tools.agent.search_worker import wanted
from podiumd.tools.agent.test_command import detect_test_command
from podiumd.tools.agent.workspace import Refused, Workspace
from podiumd.tools.files.walk import upwards, walk
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.programs import brought
from tests.tools.deep_tree import deep_tree
from tests.tools.git_repository import make_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "root")
    files = {
        "a.py": "import os\nneedle = 1\n",
        "pkg/b.py": "x\r\nthe needle here\r\n",
        "pkg/deep/c.md": "needle\n",
        ".github/w.yml": "needle: yes\n",
        ".gitignore": "build/\n",
        "build/out.py": "needle\n",
        "odd:1:name.txt": "needle\n",
        "sp ace/ü.txt": "Needle é needle\n",
        ".git/description": "needle\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / "binary").write_bytes(b"needle\0\n")
    (tmp_path / "outside.txt").write_text("needle outside\n")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "linked").symlink_to(tmp_path)
    os.mkfifo(root / "fifo")
    return root


@pytest.fixture(params=["ripgrep", "own"])
def program(request: pytest.FixtureRequest) -> str:
    if request.param == "own":
        return ""
    return brought("rg")


async def find(root: Path, program: str, query: str, **options: object) -> SearchResult:
    with trio.fail_after(HANG_SECONDS):
        return await search(
            Workspace(root, closed=[root / "state"]),
            query,
            environ={"PATH": os.environ["PATH"]},
            ripgrep=program,
            **options,  # type: ignore[arg-type]
        )


async def test_lines_are_found_with_path_and_number(root: Path, program: str) -> None:
    found = await find(root, program, "needle")

    assert sorted(found.lines) == [
        ".github/w.yml:1: needle: yes",
        "a.py:2: needle = 1",
        "odd:1:name.txt:1: needle",
        "pkg/b.py:2: the needle here",
        "pkg/deep/c.md:1: needle",
        "sp ace/ü.txt:1: Needle é needle",
    ]
    assert (found.more, found.timed_out) == (False, False)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    sampled(
        [
            ("*.py", ["a.py", "pkg/b.py"]),
            ("/*.py", ["a.py"]),
            ("pkg/**", ["pkg/b.py", "pkg/deep/c.md"]),
            ("**/*.md", ["pkg/deep/c.md"]),
            ("pkg/*.py", ["pkg/b.py"]),
            ("*.{md,yml}", [".github/w.yml", "pkg/deep/c.md"]),
            ("[ab].py", ["a.py", "pkg/b.py"]),
            ("?.md", ["pkg/deep/c.md"]),
            ("nothing", []),
        ],
        4,
    ),
)
async def test_a_glob_chooses_files(
    root: Path, program: str, pattern: str, paths: list[str]
) -> None:
    found = await find(root, program, "needle", pattern=pattern)

    assert sorted(line.split(":")[0] for line in found.lines) == paths


async def test_a_literal_query_is_no_expression(root: Path, program: str) -> None:
    (root / "r.txt").write_text("f(x) [a-z]+ $1\n")

    assert (await find(root, program, "f(x) [a-z]+ $")).lines == ("r.txt:1: f(x) [a-z]+ $1",)
    assert (await find(root, program, "-needle")).lines == ()
    assert (await find(root, program, "n..dle")).lines == ()
    assert len((await find(root, program, "n..dle", regex=True)).lines) == 6
    assert (await find(root, program, "^needle = [0-9]$", regex=True)).lines == (
        "a.py:2: needle = 1",
    )


async def test_a_byte_order_mark_is_no_part_of_the_first_line(root: Path, program: str) -> None:
    (root / "marked").write_bytes(b"\xef\xbb\xbfmarked line\n")

    found = await find(root, program, "^marked", regex=True)

    assert found.lines == ("marked:1: marked line",)


@pytest.mark.parametrize("query", sampled(["(", "[", "*a"]))
async def test_an_expression_that_is_none_is_refused(root: Path, program: str, query: str) -> None:
    with pytest.raises(Refused, match=r"(not understood|no valid regular expression)"):
        await find(root, program, query, regex=True)


@pytest.mark.parametrize("query", ["", "a\nb", "a\0b"])
async def test_a_query_is_one_line(root: Path, program: str, query: str) -> None:
    with pytest.raises(Refused, match="one line of text"):
        await find(root, program, query)


async def test_the_state_is_not_searched_and_git_is_not_by_any_glob(
    root: Path, program: str
) -> None:
    (root / "state").mkdir()
    (root / "state/log").write_text("needle\n")

    for pattern in (None, "**", "state/*", ".git/**", "**/description"):
        found = await find(root, program, "needle", pattern=pattern)
        shown = [line for line in found.lines if "state/" in line or ".git/" in line]
        assert shown == [], pattern


async def test_many_hits_and_long_lines_are_capped(root: Path, program: str) -> None:
    for number in range(10):
        (root / f"many{number}.txt").write_text("needle\n" * 40)
    (root / "long.txt").write_text("needle" + "x" * 10_000 + "\n")

    found = await find(root, program, "needle")

    assert len(found.lines) == MOST_HITS and found.more
    assert max(map(len, found.lines)) < 400
    assert f"more than {MOST_HITS} lines match" in found.text


async def test_what_a_terminal_would_act_on_is_escaped(root: Path, program: str) -> None:
    (root / "esc.txt").write_text("needle \x1b[31m red \u202e\n")

    found = await find(root, program, "needle", pattern="esc.txt")

    assert found.lines == ("esc.txt:1: needle \\x1b[31m red \\u202e",)


async def test_a_search_that_takes_for_ever_is_ended(root: Path, tmp_path: Path) -> None:
    fake = tmp_path / "rg"
    fake.write_text("#!/bin/sh\nprintf 'a.py\\0002:x\\n'\nexec sleep 600\n")
    fake.chmod(0o755)

    found = await find(root, f"{fake}", "needle", limit_seconds=1.0)

    assert found.timed_out and "ended at its time limit" in found.text
    assert found.lines == ("a.py:2: needle = 1",)


@pytest.mark.long("test_a_search_that_takes_for_ever_is_ended")
async def test_an_expression_that_takes_for_ever_is_ended(root: Path) -> None:
    (root / "evil.txt").write_text("a" * 60 + "!\n")
    (root / "aaa.txt").write_text("aab\n")

    found = await find(root, "", "^(a+)+(b|$)", regex=True, limit_seconds=2.0)

    assert found.timed_out and "ended at its time limit" in found.text
    assert found.lines == ("aaa.txt:1: aab",)


async def test_outside_git_all_files_are_walked(tmp_path: Path, program: str) -> None:
    (tmp_path / "x/.GIT").mkdir(parents=True)
    (tmp_path / "x/.GIT/y").write_text("needle\n")
    (tmp_path / "x/z").write_text("needle\n")

    assert (await find(tmp_path, program, "needle")).lines == ("x/z:1: needle",)


async def test_what_is_shown_is_read_through_the_workspace(root: Path, tmp_path: Path) -> None:
    """A searcher that was led out by a link cannot show what is there."""
    fake = tmp_path / "rg"
    fake.write_text(
        "#!/bin/sh\nprintf 'link.txt\\0001:x\\n../outside.txt\\0001:x\\na.py\\0002:x\\n'\n"
    )
    fake.chmod(0o755)

    assert (await find(root, f"{fake}", "needle")).lines == ("a.py:2: needle = 1",)


def test_a_pattern_may_leave_files_out() -> None:
    chosen = wanted("!*.md")

    assert (chosen("a.py"), chosen("x/a.md")) == (True, False)


def test_the_worker_knows_only_the_standard_library() -> None:
    code = "import sys, podiumd.tools.agent.search_worker; print('trio' in sys.modules)"
    root = Path(__file__).resolve().parents[2] / "daemon"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": f"{root}"}, capture_output=True, check=True
    )

    assert done.stdout == b"False\n"


def test_a_tree_deeper_than_a_stack_is_walked(tmp_path: Path) -> None:
    with deep_tree(tmp_path / "deep", 1100) as top:
        code = "from podiumd.tools.agent.search_worker import walked; print(len(list(walked())))"
        told = subprocess.run(
            [sys.executable, "-c", code], cwd=top, capture_output=True, text=True, check=True
        )

    assert int(told.stdout) == 1100


# -- A project's tests are found by its files, and a pattern is an argument ------------------


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


# -- A tree is walked from its top, however deep it is ---------------------------------------


@pytest.mark.parametrize("path", ["/", "/a", "/a/b/", "/a//b", "a/b", "a", "/a/../b"])
def test_upwards_are_the_parents_that_a_path_has(path: str) -> None:
    above = [f"{one}" for one in (Path(path), *Path(path).parents)]
    assert [f"{Path(one)}" for one in upwards(path)] == above


def test_it_finds_what_the_standard_library_finds(tmp_path: Path) -> None:
    for name in ("b/c", "b/a", "e", "d/x/y"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text("x")
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "broken").symlink_to("nowhere")
    expected = {one: (set(below), set(names)) for one, below, names in os.walk(tmp_path)}
    # The library counts a link to a directory among the directories, and does not enter it.
    expected[f"{tmp_path}"][0].discard("link")
    expected[f"{tmp_path}"][1].add("link")
    found = list(walk(tmp_path))
    assert {one: (set(below), set(names)) for one, below, names in found} == expected
    assert len(found) == len(expected)


def test_what_is_taken_out_is_not_entered_and_what_is_closed_passed_over(tmp_path: Path) -> None:
    (tmp_path / "out/deep").mkdir(parents=True)
    (tmp_path / "in").mkdir()
    seen = []
    for directory, below, _ in walk(tmp_path):
        seen.append(directory)
        below[:] = [name for name in below if name != "out"]
    assert seen == [f"{tmp_path}", f"{tmp_path}/in"]
    assert list(walk(tmp_path / "nowhere")) == []


@pytest.mark.slow
def test_the_depth_of_a_tree_is_no_matter(tmp_path: Path) -> None:
    with deep_tree(tmp_path / "tree", 1100) as tree:
        assert len(list(walk(tree))) == 1101
