"""Failpoints: nothing unless armed, then at exactly the hit that was asked for."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import podiumd
from podiumd.tools import failpoints
from podiumd.tools.failpoints import FAILPOINTS, UndeclaredFailpoint, failpoint
from tests.patience import HANG_SECONDS

PACKAGE = Path(podiumd.__file__).parent


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    failpoints.arm(None)
    yield
    failpoints.arm(None)


def test_the_table_is_sorted_and_each_name_has_a_meaning() -> None:
    assert list(failpoints.names()) == sorted(FAILPOINTS)
    assert all(meaning and meaning[0].islower() for meaning in FAILPOINTS.values())
    assert len(set(FAILPOINTS.values())) == len(FAILPOINTS)


def test_code_names_declared_failpoints_only() -> None:
    """Names that are looked up in a table are held by ``failpoint`` itself."""
    named = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "failpoint(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "failpoint":
                named |= {name.value for name in node.args if isinstance(name, ast.Constant)}
    assert {"store.before-commit", "store.after-commit"} <= named
    assert named <= set(FAILPOINTS)


def test_a_failpoint_that_is_not_armed_does_nothing() -> None:
    failpoint("run.after-started")
    failpoints.arm("run.after-ended:1:error")
    failpoint("run.after-started")


def test_an_undeclared_name_is_an_error() -> None:
    with pytest.raises(UndeclaredFailpoint, match=r"run.never"):
        failpoint("run.never")
    with pytest.raises(UndeclaredFailpoint, match=r"PODIUM_FAILPOINT.*run.never"):
        failpoints.arm("run.never:2")


@pytest.mark.parametrize(
    "spec", ["x", ":1", ":0", ":-1", ":two", ":1:kill", "::error", ":1:error:"]
)
def test_a_spec_of_another_form_is_an_error(spec: str) -> None:
    with pytest.raises((ValueError, LookupError), match="PODIUM_FAILPOINT"):
        failpoints.arm(f"run.after-started{spec}" if spec != ":1" else spec)


def test_an_error_is_raised_at_the_nth_hit_and_only_there() -> None:
    failpoints.arm("run.after-started:2:error")
    failpoint("run.after-started")
    with pytest.raises(OSError, match=r"run.after-started"):
        failpoint("run.after-started")
    failpoint("run.after-started")


@pytest.mark.parametrize(("spec", "passed"), [("edge.after-taken", 0), ("edge.after-taken:3", 2)])
def test_a_process_is_killed_at_the_hit_its_environment_names(spec: str, passed: int) -> None:
    code = (
        "from podiumd.tools.failpoints import failpoint\n"
        "for number in range(9):\n"
        "    failpoint('edge.after-taken')\n"
        "    print(number, flush=True)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PODIUM_FAILPOINT": spec},
        stdout=subprocess.PIPE,
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    assert result.stdout.decode().split() == [str(number) for number in range(passed)]


def test_a_process_stops_itself_and_goes_on_when_it_is_told_to() -> None:
    code = (
        "from podiumd.tools.failpoints import failpoint\n"
        "failpoint('edge.after-taken')\n"
        "print('went on', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": str(PACKAGE.parent),
            "PODIUM_FAILPOINT": "edge.after-taken:1:stop",
        },
        stdout=subprocess.PIPE,
    ) as process:
        assert os.waitid(os.P_PID, process.pid, os.WSTOPPED) is not None
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=HANG_SECONDS)[0] == b"went on\n"
    assert process.returncode == 0
