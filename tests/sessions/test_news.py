"""Who keeps a list of sessions hears which of them changed, and is never flooded."""

from __future__ import annotations

from pathlib import Path

from trio.testing import wait_all_tasks_blocked

from podiumd.sessions.changes import SessionChanges
from tests.sessions.service import Home
from tests.sessions.support import line, session_id


async def test_a_listener_hears_each_session_once_however_often_it_changed() -> None:
    news = SessionChanges()
    with news.listen() as one:
        news.tell("a")
        news.tell("b", "a")
        assert await one.changed() == {"a", "b"}
        news.tell("c")
        assert await one.changed() == {"c"}
    news.tell("d")


async def test_a_session_that_is_new_grows_or_goes_is_news(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.running() as service:
        await service.transcripts.complete()
        await wait_all_tasks_blocked()
        with service.transcripts.listen() as listener:
            path = home.write(line(1))
            assert await listener.changed() == {session_id()}
            home.write(line(2))
            assert await listener.changed() == {session_id()}
            path.unlink()
            assert await listener.changed() == {session_id()}
