"""The questions that the watchdog asks of the parts: answered by one that turns, by no other."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from podiumd.sessions.index.follower import Follower
from podiumd.sessions.index.tree import Root
from podiumd.sessions.transcripts import open_transcripts
from podiumd.store.facts import open_store
from tests.patience import HANG_SECONDS


class Question:
    """A question in a task of its own."""

    def __init__(self, ask: Callable[[], Awaitable[None]]) -> None:
        self.answered = trio.Event()
        self._ask = ask

    async def run(self) -> None:
        await self._ask()
        self.answered.set()


async def test_the_store_answers_when_its_thread_comes_round(tmp_path: Path) -> None:
    free, stuck = threading.Event(), trio.Event()
    token = trio.lowlevel.current_trio_token()

    def wait(_: object) -> None:
        token.run_sync_soon(stuck.set)
        assert free.wait(HANG_SECONDS)

    async with open_store(tmp_path) as store, trio.open_nursery() as nursery:
        with trio.fail_after(HANG_SECONDS):
            await store.ping()
            nursery.start_soon(store._writer.submit, wait)
            await stuck.wait()
            question = Question(store.ping)
            nursery.start_soon(question.run)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not question.answered.is_set()
            free.set()
            await question.answered.wait()


async def test_the_follower_answers_when_it_comes_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, stuck = trio.Event(), trio.Event()
    miss = Follower._miss

    async def slow(self: Follower, paths: list[str]) -> None:
        if paths:
            stuck.set()
            await free.wait()
        await miss(self, paths)

    root = tmp_path / "projects"
    root.mkdir()
    async with (
        open_store(tmp_path) as store,
        open_transcripts(tmp_path, [Root("claude", root)], store) as transcripts,
        trio.open_nursery() as nursery,
    ):
        with trio.fail_after(HANG_SECONDS):
            await transcripts.complete()
            await transcripts.ping()
            monkeypatch.setattr(Follower, "_miss", slow)
            gone = root / "project" / "gone.jsonl"
            transcripts._follower._watch._changes.files.add(str(gone))
            transcripts._follower._watch.wake()
            await stuck.wait()
            question = Question(transcripts.ping)
            nursery.start_soon(question.run)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not question.answered.is_set()
            free.set()
            await question.answered.wait()
