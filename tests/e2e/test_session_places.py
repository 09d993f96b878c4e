"""Transcripts that move: a message keeps its number and its uuid wherever the file goes."""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.conversations import in_short, listed, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.terminal import ask_alone, begin_alone
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude


async def test_numbers_and_uuids_outlive_every_move_of_the_transcript(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Hello."}})
    machine, other, third = podium.machine, repo.path.parent / "other", repo.path.parent / "third"
    other.mkdir()
    third.mkdir()
    session = await begin_alone(machine, repo.path, "First.")
    path = machine.transcript_path(session, repo.path)
    async with subscribed(podium, session) as conversation:
        await conversation.until(2)
        # From another directory the agent goes on in the file that there is.
        await ask_alone(machine, session, other, "Second.")
        await conversation.until(4)
        assert not machine.transcript_path(session, other).exists()
        row = await listed(podium, session, message_count=4)
        assert row["working_directory"] == str(repo.path)
        # The directory of the project is renamed.
        renamed = path.parent.rename(path.parent.with_name("-a-project-of-another-name"))
        path = renamed / path.name
        await ask_alone(machine, session, other, "Third.")
        await conversation.until(6)
        assert conversation.generation == 1, "read on, not read anew"
        # A copy beside the first one: the one written last is the session.
        copy = machine.transcript_path(session, third)
        copy.parent.mkdir()
        shutil.copyfile(path, copy)
        await ask_alone(machine, session, third, "Fourth.")
        messages = await conversation.until(8)
        assert len(recorded(path.read_bytes().splitlines())) == 6
        path.unlink()
        path = copy
    assert conversation.seqs == [1, 2, 3, 4, 5, 6, 7, 8]
    assert list(map(in_short, messages)) == recorded(path.read_bytes().splitlines())
    # Taken away and brought back while a daemon looks, then while none does.
    data = path.read_bytes()
    path.unlink()
    await listed(podium, session, gone=True)
    path.write_bytes(data)
    await listed(podium, session, gone=False)
    async with subscribed(podium, session) as again:
        assert await again.until(8) == messages
    await podium.stop()
    for index in (machine.podium_home / "state").glob("index.db*"):
        index.unlink()
    path.rename(path.parent.parent / renamed.name / path.name)
    await podium.start()
    async with subscribed(podium, session) as again:
        assert await again.until(8) == messages
    (row,) = (await podium.rpc("sessions.list"))["sessions"]
    assert (row["session_id"], row["message_count"]) == (session, 8)
    turn = await podium.rpc("sessions.prompt", text="Fifth.", session_id=session, wait=True)
    assert turn["text"] == "Hello."
    async with subscribed(podium, session, after_seq=8) as again:
        assert [message["text"] for message in await again.until(2)] == ["Fifth.", "Hello."]
