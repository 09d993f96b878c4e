"""Sessions of Qwen Code, Gemini CLI, Kimi Code and Copilot are listed, read and followed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from podiumd.formats.session import public_id
from podiumd.formats.session_formats import FORMATS
from podiumd.sessions.index.tree import Root
from podiumd.sessions.transcripts import Transcripts, UnknownSession, open_transcripts
from tests.formats import fixtures, reading
from tests.patience import HANG_SECONDS
from tests.sessions.service import Kept, Service, collect, told

AGENTS = pytest.mark.parametrize("agent", ["qwen", "gemini", "kimi", "copilot"])
NAMES = ("tools", "killed", "subagent", "cancelled", "image")


class Machine:
    """A person's machine with the sessions of one agent; ``tools`` is that which grows."""

    def __init__(self, agent: str, root: Path) -> None:
        self.agent, self.root = agent, root / "sessions"
        self.state, self.ledgers = root / "state", Kept()
        (self.source, *_) = fixtures.of(agent, "tools")
        self.inside = self.source.relative_to(fixtures.SESSIONS / agent / "tools")
        self.path = self.root / self.inside

    def lay(self, story: str, lines: int | None = None) -> None:
        """Put what an agent left into its place, of the session itself only so many lines."""
        top = fixtures.SESSIONS / self.agent / story
        for path in sorted(top.rglob("*")):
            if path.is_file():
                place = self.root / path.relative_to(top)
                place.parent.mkdir(parents=True, exist_ok=True)
                data = path.read_bytes()
                if path == self.source:
                    data = b"".join(data.splitlines(keepends=True)[:lines])
                place.write_bytes(data)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Service]:
        with trio.fail_after(HANG_SECONDS):
            root = Root(self.agent, self.root)
            async with open_transcripts(self.state, [root], self.ledgers) as transcripts:
                await transcripts.complete()
                service = Service(transcripts)
                async with service.follower._sweeping:
                    pass  # the watch is armed
                yield service


@pytest.fixture
def machine(agent: str, tmp_path: Path) -> Machine:
    return Machine(agent, tmp_path)


async def only(transcripts: Transcripts) -> str:
    (row,), _ = await transcripts.listing(None, 10, None)
    return row.session_id


@AGENTS
async def test_every_session_is_listed_once_with_its_directory_and_name(machine: Machine) -> None:
    for story in NAMES:
        machine.lay(story)
    async with machine.running() as service:
        rows, total = await service.transcripts.listing("/home/dev/project", 10, None)
        assert total == len(rows) == len(NAMES) == await service.transcripts.count()
        names = {"Make a file.", "Wait.", "Have it counted.", "Tell me all.", "What is this?"}
        assert {row.summary.name for row in rows} == names
        assert {row.agent for row in rows} == {machine.agent}
        assert all(public_id(row.session_id) == row.session_id for row in rows)
        counts = await service.transcripts.companion_counts([row.session_id for row in rows])
        apart = {"qwen": [{"subagent": 1, "subagent_meta": 1}], "kimi": [{"subagent": 1}]}
        assert [*counts.values()] == apart.get(machine.agent, [])


@AGENTS
async def test_a_session_that_grows_is_followed_to_its_last_word(machine: Machine) -> None:
    data = machine.source.read_bytes()
    lines = data.splitlines(keepends=True)
    expected = [one.uuid for one in reading.messages(FORMATS[machine.agent], data)]
    first = next(
        count
        for count in range(1, len(lines))
        if reading.messages(FORMATS[machine.agent], b"".join(lines[:count]))
    )
    machine.lay("tools", first)
    async with machine.running() as service:
        session_id = await only(service.transcripts)
        async with service.transcripts.follow(session_id, None, 100) as feed:
            with machine.path.open("ab", buffering=0) as file:
                for line in lines[first:]:
                    file.write(line[: len(line) // 2])
                    file.write(line[len(line) // 2 :])
            assert await collect(feed, len(expected)) == [*range(1, len(expected) + 1)]
        page = await service.transcripts.messages(session_id, 0, 100)
        assert [message["uuid"] for message in told(page)] == expected
        assert not page.gone and page.generation == 1
    async with machine.running() as service:  # the next daemon numbers them as the first
        page = await service.transcripts.messages(session_id, 0, 100)
        assert [message["uuid"] for message in told(page)] == expected


@pytest.mark.parametrize(
    ("agent", "written"),
    [
        ("kimi", json.dumps({"cwd": "/app", "title": "Called so", "isCustomTitle": True})),
        ("copilot", "cwd: /app\nname: Called so\nuser_named: true\n"),
    ],
)
async def test_a_name_that_a_person_gives_is_seen_though_the_session_does_not_grow(
    machine: Machine, written: str
) -> None:
    machine.lay("tools")
    beside = machine.path.parent / FORMATS[machine.agent].beside
    async with machine.running() as service:
        session_id = await only(service.transcripts)
        with service.transcripts.listen() as listener:
            beside.write_text(written)
            while (await service.transcripts.row(session_id)).summary.name != "Called so":
                await listener.changed()
    beside.write_text(written.replace("Called so", "Later"))  # while no daemon runs
    async with machine.running() as service:
        assert (await service.transcripts.row(session_id)).summary.name == "Later"


@AGENTS
async def test_a_session_whose_file_is_removed_is_gone_and_comes_back(machine: Machine) -> None:
    machine.lay("tools")
    async with machine.running() as service:
        session_id = await only(service.transcripts)
        assert len(told(await service.transcripts.messages(session_id, 0, 100))) > 10
        away = machine.path.rename(machine.root.parent / "away")
        await service.sweep()
        assert (await service.transcripts.row(session_id)).gone
        away.rename(machine.path)
        await service.sweep()
        assert not (await service.transcripts.row(session_id)).gone
        messages = told(await service.transcripts.messages(session_id, 0, 100))
        assert not any(message.get("gone") for message in messages)


@AGENTS
async def test_a_file_that_is_cut_and_written_anew_keeps_its_numbers(machine: Machine) -> None:
    machine.lay("tools")
    async with machine.running() as service:
        session_id = await only(service.transcripts)
        before = told(await service.transcripts.messages(session_id, 0, 100))
        data = machine.path.read_bytes()
        lines = data.splitlines(keepends=True)
        machine.path.write_bytes(b"".join(lines[: len(lines) // 2]))
        await service.sweep()
        half = told(await service.transcripts.messages(session_id, 0, 100))
        assert any(message.get("gone") for message in half)
        machine.path.write_bytes(data)
        await service.sweep()
        assert told(await service.transcripts.messages(session_id, 0, 100)) == before


async def test_a_start_of_gemini_that_leads_to_nothing_is_no_session(tmp_path: Path) -> None:
    machine = Machine("gemini", tmp_path)
    machine.lay("tools")
    machine.path.unlink()
    async with machine.running() as service:
        assert await service.transcripts.count() == 0
        machine.lay("tools")
        await service.sweep()
        assert await service.transcripts.count() == 1
        with pytest.raises(UnknownSession):
            await service.transcripts.row("a4636e9c-0000-4000-8000-000000000000")
