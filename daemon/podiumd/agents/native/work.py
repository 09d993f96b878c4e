"""The work of a native turn: the model is asked, its actions are done, until the turn is over.

The next step follows from the turn's stored facts alone (``LoopState.next``), so it goes on after a
crash where it was. Each step does one thing and has it stored.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from typing import Final

import trio

from podiumd.agents.native.acting import Acting
from podiumd.agents.native.model.base import (
    Model,
    ModelError,
    ModelEvent,
    ModelReply,
    ReplyText,
    ReplyThought,
    Tell,
)
from podiumd.agents.native.request import Asking
from podiumd.agents.native.session_rows import TurnRows, said
from podiumd.agents.native.transcript import Row, SessionFile
from podiumd.agents.native.user_channel import UserChannel
from podiumd.core.reply.report import EndKind, TurnReport
from podiumd.core.reply.visible_text import Speaking
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from podiumd.core.times import wire_time
from podiumd.drivers.base import JournalClosed, TurnJournal, TurnRequest
from podiumd.tools.agent.registry import Toolbox
from podiumd.tools.agent.workspace import Refused
from podiumd.tools.commit.changes import Earlier
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.disk import is_full

WIND_UP_SECONDS: Final = 20.0
"""How long what is left to note down of an interrupted turn may take."""

ROOM_SECONDS: Final = 2.0
"""How long to wait before a row is written again that a full disk refused."""

MOST_OF_SUMMARY: Final = 2000
"""Characters of what the model says at its end that stand in the message of the commit."""

UNCOMMITTED: Final = "what is done now will not be committed: {}"
CHECKPOINT: Final = "A checkpoint: the turn did not come to its own end."

MOST_SMALLER: Final = 3
"""How often a conversation that is too long for the model is built anew, smaller."""


class _Silent(Exception):
    """Signal that the model was silent for too long."""


class Work:
    """The work of one turn.

    Parameters: ``open_model`` opens the model, whose events go to the ``Tell`` that it is given.
    """

    def __init__(
        self,
        request: TurnRequest,
        journal: TurnJournal,
        channel: UserChannel,
        session: SessionFile,
        acting: Acting,
        asking: Asking,
        toolbox: Toolbox,
        settings: lf.LoopSettings,
        open_model: Callable[[Tell], AbstractAsyncContextManager[Model]],
    ) -> None:
        self._request = request
        self._journal = journal
        self._channel = channel
        self._session = session
        self._acting = acting
        self._asking = asking
        self._notices: tuple[str, ...] = ()
        self._toolbox = toolbox
        self._settings = settings
        self._open_model = open_model
        self._rows = TurnRows(
            request.turn_id, request.prompt, request.prompt_uuid, request.working_directory
        )
        self._written = 0  # replies whose rows this life of the daemon has seen written
        self._model: Model | None = None
        self._speaking = Speaking()
        self._listening = trio.CancelScope()
        self._began = trio.current_time()

    # -- the turn ----------------------------------------------------------------------------------

    async def run(self) -> TurnReport:
        """Do the turn to its end. Raises ``JournalClosed`` where it is over without us."""
        await self._channel.progress(self._request.prompt_uuid, "started")
        async with AsyncExitStack() as stack:
            try:
                ending = await self._steps(stack)
            except _Silent:
                detail = f"silent for {self._request.idle_timeout_seconds:g} s"
                return await self._stopped("timeout", detail)
        words = self._closing_words()
        await self._close(words)
        report = self._report(ending, words)
        for uuid in (self._request.prompt_uuid, *self._channel.taken):
            await self._channel.progress(
                uuid, "completed" if report.kind == "done" else "cancelled"
            )
        return report

    async def wind_up(self) -> TurnReport:
        """Note down what an interrupted turn has come to, as far as that can be, and report it."""
        with trio.move_on_after(WIND_UP_SECONDS, shield=True):
            with suppress(JournalClosed, Refused):
                await self._acting.note_cut_off()
            return await self._stopped("interrupted", "stopped on request")
        ending = lf.LoopEnded(turn_id=self._request.turn_id, kind="interrupted")
        return self._report(ending, self._closing_words())

    async def _steps(self, stack: AsyncExitStack) -> lf.LoopEnded:
        while True:
            await trio.lowlevel.checkpoint()
            loop = self._journal.loop
            clean = loop.ending is None or loop.ending.kind == "done"
            if clean and not isinstance(loop.next, ls.Begin | ls.Act):
                await self._hear()
            self._channel.part = self._journal.loop.part
            match self._journal.loop.next:
                case ls.Begin():
                    await self._warn()
                    await self._journal.record(lc.Begin(settings=self._settings))
                case ls.Ask():
                    await self._ask(stack)
                case ls.Act(index):
                    await self._acting.act(index)
                case ls.Commit(checkpoint):
                    await self._commit(checkpoint)
                case ls.Over(ending):
                    if not clean or self._channel.hush():
                        return ending

    async def _warn(self) -> None:
        """Say before the work what would keep it from being committed."""
        if self._settings.commit:
            unknown = await self._toolbox.unknown_committer()
            await self._channel.show("status", unknown and UNCOMMITTED.format(unknown))

    async def _hear(self) -> None:
        """Take up people's new words: the model gets them with the next request."""
        waiting = self._channel.waiting
        if not waiting:
            return
        loop = await self._journal.record(lc.AddWords(words=waiting))
        told = {words.uuid for words in loop.words}
        for words in waiting:
            self._channel.settle(words, taken=words.uuid in told)
            if words.uuid in told:
                await self._channel.progress(words.uuid, "started")

    # -- asking ------------------------------------------------------------------------------------

    async def _ask(self, stack: AsyncExitStack) -> None:
        loop = self._journal.loop
        await self._write(self._rows.of(loop, _now(), since=self._written), durable=False)
        self._written = len(loop.rounds)
        try:
            if self._model is None:
                self._model = await stack.enter_async_context(self._open_model(self._hear_model))
            reply = await self._reply(self._model)
        except ModelError as error:
            await self._journal.record(failed_reply(error))
            return
        await self._channel.show("text", self._speaking.end())
        if reply.stop == "refused" and not reply.text.strip():
            failed = lc.ReportReplyFailure(
                kind="api_error", detail="the model refused to answer", cost_usd=reply.cost_usd
            )
            await self._journal.record(failed)
            return
        failpoint("reply.before-received")
        await self._journal.record(
            lc.ReportReply(
                text=reply.text,
                stop="other" if reply.stop == "refused" else reply.stop,
                model=reply.model,
                usage=lf.Usage(reply.usage.prompt, reply.usage.output, reply.usage.cached),
                cost_usd=reply.cost_usd,
            )
        )

    async def _reply(self, model: Model) -> ModelReply:
        """Get one reply. Raises ``ModelError``, and ``_Silent``."""
        window: int | None = None
        for _ in range(MOST_SMALLER):
            try:
                return await self._listened(model, window)
            except ModelError as error:
                if error.kind != "context":
                    raise
                smaller = (model.window if window is None else window) * 2 // 3
                window = min(smaller, error.window or smaller)
        return await self._listened(model, window)

    async def _listened(self, model: Model, window: int | None) -> ModelReply:
        composed = await self._asking.compose(model, self._journal.loop, window)
        too_large = self._asking.too_large(model, composed)
        if too_large:
            raise ModelError("setup", too_large)
        if composed.notices != self._notices:
            self._notices = composed.notices
            await self._channel.show("status", "; ".join(composed.notices))
        self._speaking = Speaking()
        limit = self._request.idle_timeout_seconds
        with trio.CancelScope(deadline=trio.current_time() + limit) as self._listening:
            reply = await model.reply(self._asking.system, composed.messages)
            self._asking.learn(composed, reply)
            return reply
        raise _Silent

    async def _hear_model(self, event: ModelEvent) -> None:
        """Show people the model's words as they come."""
        if isinstance(event, ReplyText):
            await self._channel.show("text", self._speaking.feed(event.text))
        elif isinstance(event, ReplyThought):
            await self._channel.show("thinking", event.text)
        else:
            self._speaking = Speaking()
            await self._channel.show("status", event.words)
        limit = self._request.idle_timeout_seconds
        self._listening.deadline = trio.current_time() + limit

    # -- the end -----------------------------------------------------------------------------------

    async def _commit(self, checkpoint: bool) -> None:
        failpoint("commit.before-make")
        await self._channel.show("status", "committing")
        loop = self._journal.loop
        made = await self._toolbox.commit(
            loop.changes,
            run_id=self._request.run_id,
            note=CHECKPOINT if checkpoint else summary(loop)[:MOST_OF_SUMMARY],
            earlier=self._earlier(loop),
        )
        failpoint("commit.after-make")
        over = lc.ReportCommitEnd(state=made.state, sha=made.sha, detail=made.detail)
        await self._journal.record(over)

    def _earlier(self, loop: ls.LoopState) -> Earlier | None:
        since = loop.settings.since if loop.settings is not None and loop.takes_earlier else None
        return None if since is None else Earlier(since, frozenset(self._request.foreign or ()))

    async def _stopped(self, kind: EndKind, detail: str) -> TurnReport:
        """End a turn that is not decided to be over."""
        words = self._closing_words()
        await self._close(words)
        ending = lf.LoopEnded(turn_id=self._request.turn_id, kind=kind, detail=detail)
        return self._report(ending, words)

    def _closing_words(self) -> str:
        return closing_words(self._journal.loop, self._request.commits)

    async def _close(self, words: str) -> None:
        """Write the last rows of the turn."""
        at = _now()
        rows = self._rows.of(self._journal.loop, at, since=self._written, over=True)
        rows += [self._rows.notice(words, at)] if words else []
        await self._write(rows, durable=True)

    def _report(self, ending: lf.LoopEnded, words: str) -> TurnReport:
        loop = self._journal.loop
        texts = tuple(filter(None, (*map(said, loop.rounds), summary(loop))))
        if loop.commit is not None and loop.commit.state == "failed":
            texts = (words, *texts)  # before all else: the work reported as done is in no commit
        elif words:
            texts = (*texts, words)
        return TurnReport(
            kind=ending.kind,
            detail=ending.detail or refusal(loop),
            reason=ending.reason,
            limit=ending.limit,
            api_status=ending.api_status,
            resets_at=ending.resets_at,
            texts=texts,
            result_text=texts[-1] if texts else "",
            cost_usd=loop.cost_usd,
            seconds=trio.current_time() - self._began,
            files=loop.files,
            commit=loop.commit.sha if loop.commit is not None else None,
            undelivered=self._channel.undelivered,
            prompt_recorded=True,
            tool_begun=any(state.intended for one in loop.rounds for state in one.actions),
        )

    async def _write(self, rows: list[Row], *, durable: bool) -> None:
        """Write those rows that the session's file lacks; a full disk is waited out."""
        failpoint("row.before-write")
        while True:
            try:
                if durable:  # waits for the disk
                    await trio.to_thread.run_sync(lambda: self._session.append(*rows))
                else:
                    self._session.append(*rows, durable=False)
            except OSError as error:
                if not is_full(error):
                    raise
                await trio.sleep(ROOM_SECONDS)
            else:
                break
        failpoint("row.after-write")


def closing_words(loop: ls.LoopState, commits: bool) -> str:
    """Build the daemon's own words at the end of a turn: the fate of its changes.

    ``commits``: a commit may be expected; else there are none.
    """
    if loop.commit is not None and loop.commit.state != "refused":
        return loop.commit.detail if loop.files or loop.commit.state != "nothing" else ""
    if not (commits and loop.files):
        return ""
    files = ", ".join(f"{kind} {path}" for path, kind in loop.files)
    return "\n".join(filter(None, (f"Nothing was committed: {files}.", refusal(loop))))


def refusal(loop: ls.LoopState) -> str:
    """Return the words of a hook that has kept the turn from its commit."""
    note = loop.commit or loop.refused
    return note.detail if note is not None and note.state == "refused" else ""


def summary(loop: ls.LoopState) -> str:
    """Return the model's summary with its ``done``."""
    last = loop.present.actions[-1:] if loop.present is not None else ()
    found = [one.action.args.get("summary") for one in last if one.action.name == "done"]
    return next((text for text in found if isinstance(text, str)), "")


def failed_reply(error: ModelError) -> lc.ReportReplyFailure:
    """Build the end of a turn that cannot reach its model.

    Where the server gives a time to come back, the run waits until then.
    """
    if error.kind == "rate" and error.retry_after is not None:
        until = datetime.now(UTC) + timedelta(seconds=error.retry_after)
        return lc.ReportReplyFailure(
            kind="usage_limit",
            detail=str(error),
            api_status=error.status,
            resets_at=wire_time(until),
            cost_usd=error.cost_usd,
        )
    return lc.ReportReplyFailure(
        kind="failed" if error.kind in ("setup", "auth") else "api_error",
        detail=str(error),
        api_status=error.status,
        cost_usd=error.cost_usd,
    )


def _now() -> str:
    return wire_time(datetime.now(UTC))
