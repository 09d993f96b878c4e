"""Both searchers find the same, within the tree, in bounded time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from podiumd.tools.agent.search import MOST_HITS, SearchResult, search
from podiumd.tools.agent.search_worker import wanted
from podiumd.tools.agent.workspace import Refused, Workspace
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
