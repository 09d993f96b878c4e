"""A machine with the native agent, a model for it, and a little project with a failing test."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from podiumd.formats.message import Message
from podiumd.formats.native_session import NativeSession
from podiumd.formats.session import Cursor
from podiumd.tools.failpoints import VARIABLE
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.fakes.model_server import ModelServer

Json = dict[str, Any]
NO_CLAUDE = Path("/nonexistent/claude")

BROKEN = "def add(a, b):\n    return a - b\n"
MENDED = "def add(a, b):\n    return a + b\n"
TESTS = """import unittest

from calc import add


class Sums(unittest.TestCase):
    def test_add(self) -> None:
        self.assertEqual(add(2, 3), 5)
"""

READ: Json = {"action": "read_file", "path": "calc.py"}
PATCH: Json = {
    "action": "patch",
    "file": "calc.py",
    "operations": [
        {
            "line": 2,
            "type": "replace",
            "content": ["    return a + b"],
            "expect": ["    return a - b"],
        }
    ],
}
TEST: Json = {"action": "run_tests"}
DONE: Json = {"action": "done", "summary": "The test passes."}


def act(*actions: Mapping[str, Any], words: str = "") -> str:
    """A reply with actions."""
    return f"{words}\n```json\n{json.dumps(list(actions))}\n```\n"


def says(text: str, **more: Any) -> Json:
    """What the model answers."""
    return {"text": text, **more}


def after(action: str, success: bool, answer: Json) -> Json:
    """A rule: the answer once an action has come to this end. The model remembers nothing."""
    word = "true" if success else "false"
    return {"when": {"prompt": rf'"action": ?"{action}", "success": ?{word}'}, **answer}


def first(prompt: str, answer: Json) -> Json:
    """A rule: the answer to a prompt that begins so."""
    return {"when": {"prompt": f"^{re.escape(prompt)}"}, **answer}


MENDING: list[Json] = [
    after("run_tests", True, says(act(DONE))),
    after("patch", True, says(act(TEST, words="I test it."))),
    after("read_file", True, says(act(PATCH, words="I mend it."))),
    first("Mend", says(act(READ, words="I look."))),
]
"""Mends the project in four replies."""


@contextmanager
def native_machine(root: Path, provider: str = "anthropic", **settings: Any) -> Iterator[Machine]:
    """A machine whose native agent has a model; settings are those of ``[agents.native]``."""
    with ModelServer({"rules": MENDING}) as model:
        machine = Machine(root, root / "home", NO_CLAUDE, model)
        machine.set_up()
        machine.configure()
        configure(machine, provider, **settings)
        yield machine


def fixtures(rules: list[Json] = MENDING, **settings: Any) -> tuple[Any, Any]:
    """Make the fixtures of a module: ``machine`` with a native agent, and its project ``repo``."""

    @pytest.fixture
    def machine(tmp_path: Path) -> Iterator[Machine]:
        with native_machine(tmp_path, **settings) as made:
            made.model.load({"rules": rules})
            yield made

    @pytest.fixture
    def repo(machine: Machine) -> GitRepo:
        return project(machine)

    return machine, repo


def configure(machine: Machine, provider: str, **settings: Any) -> None:
    """Write the settings of the native agent behind those that are there."""
    given: Json = {"provider": provider, "sandbox": "off", **settings}
    if provider == "openai":
        given = {"base_url": f"{machine.model.url}/v1", "model": "local", **given}
    lines = ["[agents.native]", *(f"{name} = {json.dumps(value)}" for name, value in given.items())]
    path = machine.podium_home / "config.toml"
    path.write_text("\n".join([path.read_text(), *lines]) + "\n")


def project(machine: Machine) -> GitRepo:
    """A repository whose one test fails."""
    repo = machine.repository("calc")
    for name, text in (
        ("calc.py", BROKEN),
        ("test_calc.py", TESTS),
        (".gitignore", "__pycache__/\n"),
    ):
        (repo.path / name).write_text(text)
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "--message=A calculator")
    return repo


def messages(machine: Machine, session_id: str) -> list[Message]:
    """What a session's file holds for people, row by row."""
    path = machine.podium_home / "state" / "sessions" / f"{session_id}.jsonl"
    data, reader = path.read_bytes(), NativeSession()
    found = [
        reader.message(data[one.offset : one.offset + one.length])
        for one in reader.entries(Cursor(), data)
    ]
    return [message for message in found if message is not None]


async def begun(daemon: PodiumDaemon, where: Path, prompt: str) -> Json:
    """Start a daemon and send the native agent a prompt; return where it went."""
    await daemon.start()
    asked = {"text": prompt, "agent": "native", "working_directory": str(where)}
    return dict(await daemon.rpc("sessions.prompt", **asked))


async def killed_at(machine: Machine, repo: GitRepo, point: str, prompt: str = "Go.") -> Json:
    """Send a prompt to a daemon that dies at a point of its turn; return where it went."""
    daemon = PodiumDaemon(machine, **{VARIABLE: point})
    where = await begun(daemon, repo.path, prompt)
    assert await daemon.wait() == -signal.SIGKILL
    return where
