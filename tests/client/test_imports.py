"""The client starts light: what is asked most loads only what it needs."""

import subprocess
import sys

import pytest

from tests.client import stories
from tests.client.conversations import row
from tests.client.fake_daemon import FakeDaemon, environment, podium
from tests.client.test_views import STATUS

LOADED = """
import sys
before = set(sys.modules)
from podium.__main__ import main
code = main(sys.argv[1:])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
sys.exit(code)
"""

HEAVY = {"trio", "msgspec", "asyncio", "jsonrpcserver", "watchdog", "podiumd", "socket", "typing"}
HEAVY |= {"rich", "markdown_it", "pygments"}


def loaded(daemon: FakeDaemon, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment(daemon.path),
    )
    return set(done.stderr.split())


def test_status_loads_only_these_modules(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = STATUS

    assert loaded(daemon, "status") <= {
        "__future__",
        "_json",
        "_socket",
        "errno",
        "podium",
        "podium.__main__",
        "podium.commands",
        "podium.commands.status",
        "podium.errors",
        "podium.paths",
        "podium.rpc",
        "podium.rpc.connection",
        "podium.text",
        "podium.wire",
    }


@pytest.mark.parametrize("command", ["runs", "questions", "locks", "sessions"])
def test_the_lists_need_no_parser(daemon: FakeDaemon, command: str) -> None:
    daemon.answers |= {
        "runs.list": [],
        "sessions.list": {"sessions": [row()], "total": 2},
        "daemon.status": {},
    }

    assert not loaded(daemon, command) & (HEAVY | {"argparse"})


def test_following_a_run_loads_nothing_heavy(daemon: FakeDaemon) -> None:
    stories.recipe_daemon(daemon, stories.started(), stories.ended(2))

    assert not loaded(daemon, "run", "fix-it") & (HEAVY - {"typing"})


def test_showing_a_session_loads_nothing_heavy(daemon: FakeDaemon) -> None:
    daemon.answers["sessions.get"] = row()

    assert not loaded(daemon, "show", "5e55") & (HEAVY - {"typing"})


def test_the_version_is_told_with_no_parser(daemon: FakeDaemon) -> None:
    assert loaded(daemon, "--version") == {
        "__future__",
        "podium",
        "podium.__main__",
        "podium.errors",
    }
    assert podium(daemon, "--version").stdout == "podium 0.1.0\n"
