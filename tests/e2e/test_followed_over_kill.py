"""Who follows a turn over kill -9 of the daemon is told each word once, in order."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import DONE, PATCH, READ, act, after, first, native_machine, project
from tests.e2e.spools import until_written
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS


def words(begin: int, end: int) -> str:
    return " ".join(f"w{number}" for number in range(begin, end))


COUNT = words(1, 61)

ASKED = "Count."

CLAUDE = {
    "side": {"text": "Counting"},
    "turns": [
        {
            "text": words(1, 41),
            "tools": [{"name": "Bash", "input": {"command": "ls"}}],
            "chunk": 4,
            "hold": "half",
        },
        {"text": words(41, 61), "chunk": 4, "hold": "later"},
    ],
}

NATIVE = {
    "rules": [
        after("patch", True, {"text": act(DONE, words=words(41, 61)), "chunk": 4, "hold": "later"}),
        after("read_file", True, {"text": act(PATCH, words=words(21, 41))}),
        first(ASKED, {"text": act(READ, words=words(1, 21)), "chunk": 4, "hold": "half"}),
    ]
}


@pytest.mark.claude
@pytest.mark.parametrize("back", ["in mid turn", "after the turn"])
async def test_a_file_holds_each_word_once_and_in_order(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, tmp_path: Path, back: str
) -> None:
    model_server.load({"default": {"text": COUNT, "chunk": 4, "hold": "half"}})
    out = tmp_path / "out"
    with trio.fail_after(HANG_SECONDS), out.open("wb") as file:
        async with trio.open_nursery() as nursery:
            client = await nursery.start(
                partial(
                    trio.run_process,
                    [sys.executable, "-m", "podium", "prompt", "--agent", "claude", "count"],
                    cwd=repo.path,
                    env=podium.machine.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.DEVNULL,
                )
            )
            await holding(model_server, "half")
            (turn,) = (podium.machine.podium_home / "state" / "turns").iterdir()
            await podium.kill9()
            if back == "after the turn":
                model_server.release("half")
                await until_written(podium.machine, turn.name)
            await podium.start()
            model_server.release("half")
    assert client.returncode == 0
    assert out.read_text() == f"{COUNT}\n"


async def counted(
    podium: PodiumDaemon, model: ModelServer, repo: GitRepo, command: str, agent: str
) -> str:
    """Have a count followed at a terminal whose client sleeps while the daemon is killed, begins
    anew and goes on to the next reply; what stays on the screen."""
    chats = command == "chat"
    said = () if chats else (ASKED,)
    more = () if agent == "claude" else ("--allow-all",)
    environment = podium.machine.environment(NO_COLOR="1")
    where = ("--cwd", str(repo.path), "--agent", agent)

    def watch() -> str:
        with Terminal(environment, command, *said, *where, *more, columns=200) as terminal:
            if chats:
                terminal.say(ASKED)
            terminal.expect("w9 ")
            terminal.signal(signal.SIGSTOP)
            trio.from_thread.run(podium.kill9)
            trio.from_thread.run(podium.start)
            model.release("half")
            model.wait_holding("later", HANG_SECONDS)
            terminal.signal(signal.SIGCONT)
            terminal.expect("w49 ")
            model.release("later")
            terminal.expect("w60")
            if chats:
                terminal.leave()
            else:
                assert terminal.end() == 0
            return terminal.stays

    with trio.fail_after(HANG_SECONDS):
        return await trio.to_thread.run_sync(watch)


@pytest.mark.claude
@pytest.mark.slow
@pytest.mark.parametrize("command", ["chat", "prompt"])
async def test_claude_counts_once_at_a_terminal(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, command: str
) -> None:
    model_server.load(CLAUDE)

    shown = await counted(podium, model_server, repo, command, "claude")

    assert re.findall(r"\bw\d+", shown) == COUNT.split()


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Machine]:
    with native_machine(tmp_path) as made:
        made.model.load(NATIVE)
        yield made


@pytest.mark.parametrize("command", ["chat", pytest.param("prompt", marks=pytest.mark.slow)])
async def test_the_native_agent_counts_once_at_a_terminal(native: Machine, command: str) -> None:
    """Its second reply came and was done while nobody watched."""
    async with PodiumDaemon(native) as podium:
        shown = await counted(podium, native.model, project(native), command, "native")

    assert re.findall(r"\bw\d+", shown) == COUNT.split()
