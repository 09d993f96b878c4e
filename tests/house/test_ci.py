"""`.ci/run`, with a make of our own: every step is run, and what fails is named, with its words."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.source import ROOT, modules
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.programs import PROGRAMS

STEPS = [
    "environment", "lint", "types", "imports", "test", "test-long", "test-codex", "web",
    "package", "newcomer", "crash-short", "run",
]  # fmt: skip
BESIDE = {"lint", "types", "imports"}
AFTER = {step: set(STEPS[: STEPS.index(step)]) for step in STEPS}

# What each step says; it fails where it is told to.
MAKE = """\
#!/bin/sh
echo "$2" >> "$SEEN"
echo "words of $2"
[ "$REQUIRE_ALL" = 1 ] || exit 3
echo "== 7 passed in 0.10s =="
case " $BROKEN " in *" $2 "*) exit 2;; esac
"""


def played(folder: Path, broken: str = "") -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The run, and the steps that were begun."""
    programs, tree, seen = folder / "programs", folder / "tree" / ".ci", folder / "seen"
    programs.mkdir()
    tree.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", tree)
    (tree.parent / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "programs.py", tree.parent / "tests")
    for name, text in (("make", MAKE), ("apt-get", "#!/bin/sh\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["bash", str(tree / "run")],
        env={"PATH": f"{programs}:{os.environ['PATH']}", "SEEN": str(seen), "BROKEN": broken},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    return done, seen.read_text().split()


def test_it_runs_every_step_once_and_closes_with_the_test_runners_lines(tmp_path: Path) -> None:
    done, seen = played(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(seen) == sorted(STEPS)
    assert [step for step in STEPS if f"words of {step}\n" not in done.stdout] == []
    *_, summary = done.stdout.partition("== Summary\n")
    lines = summary.splitlines()
    assert [line.split()[0] for line in lines[: len(STEPS)]] == STEPS
    assert lines[len(STEPS)].startswith("All steps passed in ")
    assert set(lines[len(STEPS) + 1 :]) == {"== 7 passed in 0.10s =="}


@pytest.mark.parametrize("step", sampled(STEPS, 3))
def test_a_step_that_fails_ends_the_run_under_its_name_with_its_log(
    tmp_path: Path, step: str
) -> None:
    done, seen = played(tmp_path, step)

    assert done.returncode != 0
    assert f"FAILED in: {step}\n" in done.stdout
    assert f"words of {step}\n" in done.stdout
    assert "All steps passed" not in done.stdout
    assert AFTER[step] <= set(seen)
    assert set(seen) - AFTER[step] <= {step, *BESIDE, "package", "newcomer"}


def test_of_steps_side_by_side_each_that_fails_is_named(tmp_path: Path) -> None:
    done, _ = played(tmp_path, "lint imports")

    assert done.returncode != 0
    assert "FAILED in: lint imports\n" in done.stdout
    assert done.stdout.count(" s FAILED\n") == 2


def test_the_readme_names_the_packages_that_ci_installs() -> None:
    (listed,) = re.findall(r"`apt install ([^`]+)`", (ROOT / "README.md").read_text())
    assert listed.split() == sorted({program.package for program in PROGRAMS.values()})


def test_every_program_of_the_table_is_needed_by_some_test() -> None:
    calls = [
        call
        for path in modules("tests")
        for call in re.findall(r"\bneeds?\((\".*?\")\)", path.read_text())
    ]
    assert PROGRAMS.keys() <= {name.strip(' "') for call in calls for name in call.split(",")}
