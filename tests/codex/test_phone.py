"""A phone and the real Codex: an answer reaches the agent once, over the daemon's death too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codex.machine import CodexMachine
from tests.codex.rig import run
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.phones import back, exited, paired, started
from tests.e2e.stories import ASKING, word
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = [pytest.mark.codex, pytest.mark.slow]

ASKED = ASKING.replace("prompt =", 'agent = "codex"\nprompt =')


@pytest.mark.parametrize("point", ["answer.before-write", "answer.after-write"])
async def test_a_phone_answers_while_the_daemon_is_killed_and_the_tool_runs_once(
    codex_binary: Path, server: ModelServer, tmp_path: Path, point: str
) -> None:
    machine = CodexMachine(tmp_path, tmp_path / "home", codex_binary, server)
    machine.set_up()
    machine.configure()
    repo = machine.repository()
    server.load({"turns": [run("echo ran >> made"), word("complete")]})
    async with PodiumDaemon(machine, PODIUM_FAILPOINT=point) as podium:
        podium.arm(None)  # the next one lives
        url, key = await paired(podium)
        async with Phone(url, key, "ios") as phone:
            session = await started(phone, machine.recipe("asking", ASKED), repo)
            asked = (await phone.until(lambda p: list(p.model.board.questions.values())))[0]
            phone.send(
                {
                    "type": "answer_question",
                    "question_id": asked["question_id"],
                    "answer": "allow",
                }
            )
            await podium.wait()
            await podium.start()
            await back(podium, phone)
            assert (await exited(phone, session))["reason"] == "turn-complete"
            assert phone.model.board.questions == {} and phone.faults == []
    assert (repo.path / "made").read_text() == "ran\n" and len(server.requests) == 2
