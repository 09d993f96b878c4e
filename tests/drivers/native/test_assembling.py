"""What a native turn works with: the turns before it; an environment without the model's key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.native.kind import SESSIONS
from podiumd.agents.native.model.base import ModelReply
from podiumd.agents.native.model.scripted import ScriptedModel
from podiumd.agents.native.transcript import Row, SessionFile
from podiumd.core.reply.model_message import Message
from tests.drivers.native.bench import Bench, act
from tests.drivers.rig import play

AT = "2026-11-22T09:00:00.000Z"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model is sent, a text for each request."""
    texts: list[str] = []
    reply = ScriptedModel.reply

    async def noted(
        model: ScriptedModel, system: str, messages: Sequence[Message], **limits: Any
    ) -> ModelReply:
        texts.append("\n".join(message.text for message in messages))
        return await reply(model, system, messages, **limits)

    monkeypatch.setattr(ScriptedModel, "reply", noted)
    return texts


async def test_the_model_is_told_of_the_earlier_turns_of_its_session(
    tmp_path: Path, asked: list[str]
) -> None:
    bench = Bench(tmp_path, "Yes.")
    request = bench.request("Is it in?", session_mode="resume")
    file = bench.rig.root / SESSIONS / f"{request.session_id}.jsonl"
    with SessionFile(file) as session:
        session.append(
            Row(type="prompt", uuid="p", turn="earlier", timestamp=AT, text="Build a door."),
            Row(type="reply", uuid="r", turn="earlier", timestamp=AT, number=1, said="It is in."),
            Row(type="notice", uuid="n", turn="earlier", timestamp=AT, text="committed c0ffee"),
        )

    turn, _ = await play(bench.driver, request)

    assert turn.report.result_text == "Yes."
    for words in ("Build a door.", "It is in.", "committed c0ffee", "Is it in?"):
        assert words in asked[-1]


async def test_the_variable_that_holds_the_models_key_reaches_no_command(tmp_path: Path) -> None:
    bench = Bench(
        tmp_path, act({"action": "run_command", "command": "env"}), "Done.", api_key_env="MY_KEY"
    )
    bench.rig.environment |= {"MY_KEY": "s3cret", "OTHER": "seen"}

    await play(bench.driver, bench.request())

    (done,) = bench.ledger.results
    assert "OTHER=seen\n" in done.output and "s3cret" not in done.output
