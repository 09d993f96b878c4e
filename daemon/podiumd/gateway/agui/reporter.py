"""Report of a thread's run to its client, until a person has to speak or it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from podiumd.core.run.state import RunStatus
from podiumd.gateway.agui.conversation import Conversation, Entered
from podiumd.gateway.agui.translate import Translator
from podiumd.runtime.events.feeds import Feed
from podiumd.runtime.service import Service
from podiumd.wire.events import Snapshot
from podiumd.wire.runs import Run

Json = dict[str, Any]
Tell = Callable[[list[Json]], Awaitable[None]]

STANDING: Final[tuple[RunStatus, ...]] = ("waiting", "paused", "ended")
"""Statuses of a run without more to report for now."""

STOPPING: Final = "The daemon stops. Send the same once more when it is back: nothing is lost."


class RunReporter:
    """Report one run. ``live`` is a feed of all events that was there before anything was asked, so
    that nothing is missed."""

    def __init__(
        self, service: Service, conversation: Conversation, translator: Translator, tell: Tell
    ) -> None:
        self._service = service
        self._conversation = conversation
        self._translator = translator
        self._tell = tell

    async def run(self, entered: Entered, live: Feed) -> None:
        """Send all events, with the first and the last ones."""
        run_id = entered.run_id
        begun, known = None, 0
        if run_id is not None:
            begun, known = await self._service.standing_run(run_id)
        await self._tell(self._translator.begin(begun, again=entered.after is not None))
        for notice in entered.notices:
            await self._tell(self._translator.notice(notice.code, notice.message))
        if run_id is None:
            await self._finish(entered, None)
        elif entered.after is not None:
            async with self._service.follow_run(run_id, entered.after) as again:
                await self._follow(entered, again, run_id, known, entered.after)
        else:
            await self._follow(entered, live, run_id, known)

    async def _follow(
        self, entered: Entered, feed: Feed, run_id: str, known: int, seq: int | None = None
    ) -> None:
        run = None if entered.spoken else await self._standing(run_id, seq)
        if run is None:
            run = await self._to_its_stand(feed, run_id, known)
        if run is None:
            await self._tell(self._translator.fail(STOPPING, "stopping"))
        else:
            await self._finish(entered, run)

    async def _to_its_stand(self, feed: Feed, run_id: str, known: int) -> Run | None:
        """Send the events until the run stands; return ``None`` if the daemon stops before that.

        The client's state of the run is as after event ``known``: a snapshot has no number, and one
        that comes before a later event shows what was before.
        """
        seq = None
        async for event in feed:
            if event.run_id != run_id:
                continue
            seq = event.seq or seq
            snapshot = isinstance(event.fact, Snapshot)
            if snapshot and (seq or 0) <= known:
                continue
            await self._tell(self._translator.event(event.fact))
            if snapshot or event.seq:
                run = await self._standing(run_id, seq)
                if run is not None:
                    return run
        return None

    async def _standing(self, run_id: str, seq: int | None) -> Run | None:
        """Return the run if it stands and nothing of it is left to report after event ``seq``.

        A run stands that waits, is paused or is over. ``None``: events of before are not reported.
        """
        run = await self._service.get_run(run_id, settled=True)
        if run.status not in STANDING:
            return None
        if seq is not None:
            later, _ = await self._service.run_events(run_id, seq, 1)
            if later:
                return None
        return run

    async def _finish(self, entered: Entered, run: Run | None) -> None:
        run_id = None if run is None else str(run.run_id)
        questions = await self._conversation.questions(entered.session_id, run_id)
        await self._tell(self._translator.finish(run, questions, entered.session_id))
