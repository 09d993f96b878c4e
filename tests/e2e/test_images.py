"""Images that go with a prompt to the real Claude Code."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.fakes.model_server import ModelServer
from tests.pictures import png, shown

pytestmark = pytest.mark.claude


async def test_the_model_gets_the_images_of_a_prompt_and_they_stay_in_the_conversation(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    for name, shade in (("door.png", 10), ("gate.png", 250)):
        (repo.path / name).write_bytes(png(shade))
    model_server.load({"turns": [{"text": "Two doors."}, {"text": "The first."}]})
    files = ("--file", "door.png", "--file", str(repo.path / "gate.png"))
    said = await podium.cli("prompt", "What is it?", *files, cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "Two doors."), said
    asked = model_server.requests[0]
    assert asked.prompt.startswith("What is it?\n[Image: ") and len(shown(asked.body)) == 2
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    page = await podium.rpc("sessions.messages", session_id=row["session_id"])
    assert [block["kind"] for block in page["messages"][0]["blocks"]] == ["image", "image", "text"]
    for name in ("door.png", "gate.png"):
        (repo.path / name).unlink()
    again = ("--session", row["session_id"])
    said = await podium.cli("prompt", "Which is darker?", *again, cwd=repo.path)
    assert (said.code, said.out.strip()) == (0, "The first."), said
    assert len(shown(model_server.requests[-1].body)) == 2


async def test_what_is_no_image_is_refused_by_name_and_nothing_is_prompted(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [{"text": "Never."}]})
    said = await podium.cli("prompt", "What is it?", "--file", "README.md", cwd=repo.path)
    assert said.code != 0 and "README.md' is no image" in said.err, said
    said = await podium.cli("prompt", "What is it?", "--file", "gone.png", cwd=repo.path)
    assert said.code != 0 and "gone.png' is not there" in said.err, said
    assert model_server.requests == [] and (await podium.rpc("sessions.list"))["sessions"] == []
