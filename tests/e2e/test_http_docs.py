"""The manual of HTTP: every command in it is run as it stands, and answers as it says."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest
import trio

from tests.doors.house import port_of
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import ROOT, GitRepo, Machine
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.claude

EXAMPLE_PROJECT = "/home/ada/shop"
EXAMPLE_SESSION = "5f1c8a52-8d1e-4c1b-9a55-2b7f1f0c9e11"
PAGE = (ROOT / "docs/http.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```sh\n(.+?)```\n\n```(json|text) (\d{3})\n(.+?)```", re.DOTALL)


class Example(NamedTuple):
    """A command of the manual, and what the manual says it answers."""

    command: str
    kind: str
    status: str
    answer: str


EXAMPLES = [Example(*found) for found in EXAMPLE.findall(PAGE)]


def shape(value: Any) -> Any:
    """What of a JSON value stays the same from one time to the other."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return type(value).__name__.replace("int", "float")


async def run(command: str, podium: PodiumDaemon, where: str, key: str) -> tuple[str, str]:
    """Run a command of the manual as a person does; its answer's status and body."""
    command = command.replace("curl -s", "curl -s -w '\\n%{http_code}'")
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "URL": f"http://127.0.0.1:{await port_of(podium)}",
        "KEY": key,
    }
    with trio.fail_after(HANG_SECONDS):
        done = await trio.run_process(
            ["sh", "-euc", command], cwd=where, env=environment, capture_stdout=True
        )
    body, _, status = done.stdout.decode().rpartition("\n")
    return status, body


def test_every_command_of_the_manual_has_its_answer_there() -> None:
    assert len(EXAMPLES) == PAGE.count("```sh\n") == PAGE.count("curl -s ") >= 9


@pytest.fixture
def machine(machine: Machine) -> Machine:
    """The same, with somebody's voice on the recording of the manual."""
    machine.speech("What is still missing?")
    return machine


async def test_the_commands_of_the_manual_answer_as_it_says(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """In the order of the manual, one after the other: later ones take up what earlier began."""
    model_server.load({"default": {"text": "It is a small shop."}})
    key = (await podium.rpc("gateway.pair", name="shell"))["key"]
    where = str(repo.path)
    (repo.path.parent / "plan.txt").write_bytes(b"nineteen characters")
    (repo.path.parent / "note.wav").write_bytes(b"RIFF\0\0\0\0WAVE" + bytes(64_000))
    session = EXAMPLE_SESSION
    for example in EXAMPLES:
        command = example.command.replace(EXAMPLE_PROJECT, where).replace(EXAMPLE_SESSION, session)
        status, body = await run(command, podium, str(repo.path.parent), key)
        assert status == example.status, (command, body)
        if example.kind == "text":
            told = {line.split()[0] for line in body.splitlines()}
            assert {line.split()[0] for line in example.answer.splitlines()} <= told
            continue
        answer, expected = json.loads(body), json.loads(example.answer)
        exit_of_answer, exit_expected = answer.pop("exit", {}), expected.pop("exit", {})
        assert shape(answer) == shape(expected), command
        assert exit_expected == exit_of_answer, command
        for name in (
            "delivery",
            "status",
            "success",
            "error",
            "title",
            "detail",
            "filename",
            "heard",
        ):
            if name in expected and expected[name] not in {"queued", "running"}:
                assert answer[name] == expected[name], command
        if session == EXAMPLE_SESSION:
            session = answer.get("session_id", session)
