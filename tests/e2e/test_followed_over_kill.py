"""Who follows a turn over kill -9 of the daemon is told each word once, in order."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import trio

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.spools import until_written
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.claude

COUNT = " ".join(f"w{number}" for number in range(1, 61))


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
