"""Report a thread's run to its client, until a person has to speak, or until it ends."""

from __future__ import annotations

import secrets
import uuid
from contextlib import suppress
from typing import Any, Final

import trio

from podiumd.core.run import facts as f
from podiumd.core.run.state import RunStatus
from podiumd.gateway.agui.conversation import Conversation, Entered
from podiumd.gateway.agui.events import frame
from podiumd.gateway.agui.incoming import RunInput
from podiumd.gateway.agui.translate import Translator
from podiumd.gateway.http.exchange import ClientGone, EventStream
from podiumd.observe.logs import log
from podiumd.runtime.events.feeds import Feed
from podiumd.runtime.service import Service
from podiumd.wire.events import Snapshot
from podiumd.wire.runs import Run

Json = dict[str, Any]

STANDING: Final[tuple[RunStatus, ...]] = ("waiting", "paused", "ended")
"""Statuses of a run without more to report for now."""

STOPPING: Final = "The daemon stops. Send the same once more when it is back: nothing is lost."


class RunReporter:
    """The report of one run in one stream. What can end it early: the client, the daemon, a
    fault."""

    def __init__(
        self, service: Service, conversation: Conversation, asked: RunInput, stream: EventStream
    ) -> None:
        self._service = service
        self._conversation = conversation
        self._translator = Translator(asked.thread_id, asked.run_id, lambda: str(uuid.uuid4()))
        self._stream = stream

    async def run(self, entered: Entered, live: Feed, stopping: trio.Event) -> None:
        """Send all events, with the first and the last ones.

        ``live`` is a feed of all events that was there before anything was asked, so that nothing
        is missed. Raises ``ClientGone``.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stream.keep_alive)
            nursery.start_soon(_cancel_at, stopping, nursery.cancel_scope)
            await self._guarded(entered, live)
            nursery.cancel_scope.cancel()
        if not self._translator.over:
            await self._stop(entered)

    async def _guarded(self, entered: Entered, live: Feed) -> None:
        try:
            await self._report(entered, live)
        except ClientGone:
            self._translator.over = True
        except Exception as error:  # noqa: BLE001 - the status is sent: the stream says it
            fault = secrets.token_hex(4)
            log("Stream failed", "error", exception=error, fault=fault, run_id=entered.run_id)
            words = f"The daemon failed; its log has more under fault {fault}. The run goes on."
            with suppress(ClientGone):
                await self._tell(self._translator.fail(words, "internal"))

    async def _tell(self, events: list[Json]) -> None:
        await self._stream.tell([frame(event) for event in events])

    async def _report(self, entered: Entered, live: Feed) -> None:
        run_id, after = entered.run_id, entered.after
        begun, known = None, 0
        if run_id is not None:
            begun, known = await self._service.standing_run(run_id)
        await self._tell(self._translator.begin(begun, again=after is not None, step=entered.step))
        for notice in entered.notices:
            await self._tell(self._translator.notice(notice.code, notice.message))
        if run_id is None:
            await self._finish(entered, None)
        elif after is not None:
            async with self._service.follow_run(run_id, after) as again:
                await self._follow(entered, again, run_id, known)
        else:
            await self._follow(entered, live, run_id, known)

    async def _follow(self, entered: Entered, feed: Feed, run_id: str, known: int) -> None:
        run = None if entered.spoken else await self._standing(run_id, entered.after)
        if run is None:
            run = await self._to_its_stand(entered, feed, run_id, known)
        if run is None:
            await self._stop(entered)
        else:
            await self._finish(entered, run)

    async def _to_its_stand(
        self, entered: Entered, feed: Feed, run_id: str, known: int
    ) -> Run | None:
        """Send the events until the run stands; return ``None`` if the daemon stops before that.

        The client's state of the run is as after event ``known``: a snapshot has no number, and one
        that comes before a later event shows what was before. So do steps of before, unless the run
        is reported again.
        """
        seq = None
        async for event in feed:
            if event.run_id != run_id:
                continue
            seq = event.seq or seq
            snapshot = isinstance(event.fact, Snapshot)
            step = isinstance(event.fact, f.StepEntered | f.EdgeTaken) and entered.after is None
            if (snapshot or step) and (seq or 0) <= known:
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

    async def _stop(self, entered: Entered) -> None:
        """Send the last events of a daemon that stops. A run that was stopped with it is over for
        its client too: to ask for it once more would not bring it back."""
        run = None
        if entered.run_id is not None:
            run = await self._service.get_run(entered.run_id)
        if run is not None and run.status == "ended":
            await self._finish(entered, run)
        else:
            await self._tell(self._translator.fail(STOPPING, "stopping"))

    async def _finish(self, entered: Entered, run: Run | None) -> None:
        run_id = None if run is None else str(run.run_id)
        questions = await self._conversation.questions(entered.session_id, run_id)
        await self._tell(self._translator.finish(run, questions, entered.session_id))


async def _cancel_at(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
