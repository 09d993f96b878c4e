"""Sessions as clients see them: rows with who holds them, pages of messages, feeds.

Locks are those of all daemons of this user and of other programs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from podiumd.core.times import wire_time
from podiumd.formats.session import NAMED_BY_A_PERSON, milliseconds
from podiumd.runtime.context import Context
from podiumd.runtime.errors import InvalidParameter, NotFound, Overloaded, Refused
from podiumd.runtime.locks.holder import Holder
from podiumd.runtime.public_sessions import ChangedSessions, PublicSessions, own_id
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.session_names import Named
from podiumd.runtime.sessions.resolve import Sessions
from podiumd.sessions.index.table import Row
from podiumd.sessions.log.open_log import MessageFeed
from podiumd.sessions.transcripts import StillThere, UnknownSession, Unsettled
from podiumd.wire.sessions import ActiveRecipe, Lock, MessagesPage, Session, SessionsPage

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


class SessionList:
    """The list of sessions, and what is in them."""

    def __init__(
        self, context: Context, transcripts: PublicSessions, sessions: Sessions, runs: Runs
    ) -> None:
        self._context = context
        self._transcripts = transcripts
        self._sessions = sessions
        self._runs = runs

    async def count(self) -> int:
        """Count the sessions."""
        return await self._transcripts.count()

    async def page(
        self, working_directory: str | None, limit: int, before: str | None
    ) -> SessionsPage:
        """Sessions, newest first: ``{sessions, total}``.

        Raises:
            InvalidParameter: ``before`` is no time.
        """
        until = None if before is None else milliseconds(before)
        if before is not None and until is None:
            words = f"'{before}' is no time; give the last_modified of the last session you have."
            raise InvalidParameter("before", words)
        rows, total = await self._transcripts.listing(working_directory, limit, until)
        return SessionsPage(sessions=tuple(await self._public(rows)), total=total)

    def listen(self) -> AbstractContextManager[ChangedSessions]:
        """Hear of every session that changes from now on."""
        return self._transcripts.listen()

    async def get(self, session_id: str) -> Session:
        """Return one row. Raises ``NotFound``."""
        with _refusals(session_id):
            row = await self._transcripts.row(await self._sessions.resolve(session_id))
        return (await self._public([row]))[0]

    async def messages(self, session_id: str, after_seq: int | None, limit: int) -> MessagesPage:
        """Return a page of messages. Raises ``NotFound``, ``Overloaded``."""
        session_id = await self._sessions.resolve(session_id)
        with _refusals(session_id):
            return await self._transcripts.messages(session_id, after_seq, limit)

    @asynccontextmanager
    async def follow(
        self, session_id: str, after_seq: int | None, limit: int
    ) -> AsyncIterator[MessageFeed]:
        """Open a page of messages, and a feed of those after it. Raises as ``messages``."""
        session_id = await self._sessions.resolve(session_id)
        with _refusals(session_id):
            async with self._transcripts.follow(session_id, after_seq, limit) as feed:
                yield feed

    async def forget(self, session_id: str) -> None:
        """Take a session off the list whose transcript is gone.

        Raises ``NotFound``; ``Refused`` while its transcript is there.
        """
        session_id = await self._sessions.resolve(session_id)
        with _refusals(session_id):
            await self._transcripts.forget(session_id)

    async def _public(self, rows: list[Row]) -> list[Session]:
        foreign = {holder.session_id: holder for holder in await _elsewhere(self._context)}
        recipes = self._active_recipes()
        names = await self._context.names.of(self._context.store)
        counts = await self._transcripts.companion_counts(rows)
        public = []
        for row in rows:
            held = self._held(row) or foreign.get(row.session_id)
            count = counts.get(row.session_id, {})
            public.append(
                Session(
                    session_id=row.session_id,
                    agent=row.agent,
                    name=_name(row, names.get(row.session_id)),
                    working_directory=row.summary.cwd or None,
                    created=row.summary.first_at or None,
                    last_modified=_time(row.sort_at),
                    message_count=row.summary.messages,
                    preview=row.summary.preview,
                    holder=None if held is None else held.public(),
                    active_recipe=recipes.get(row.session_id),
                    gone=row.gone,
                    size=row.size,
                    subagents=count.get("subagent", 0),
                    tool_results=count.get("tool_result", 0),
                )
            )
        return public

    def _held(self, row: Row) -> Holder | None:
        """Return who has a session: a daemon that has not begun it knows it by the agent's id."""
        peek = self._context.leases.peek
        return peek(row.session_id) or peek(own_id(row))

    def _active_recipes(self) -> dict[str, ActiveRecipe]:
        found: dict[str, ActiveRecipe] = {}
        for actor in self._runs.live:
            state = actor.state
            recipe = state.start.recipe
            if recipe is None or state.exit is not None:
                continue
            limits = state.start.limits or recipe.limits
            for session_id in {state.session_id, state.main_session} - {""}:
                found[session_id] = ActiveRecipe(
                    run_id=state.start.run_id,
                    recipe_id=recipe.id,
                    current_step=state.step,
                    step_count=state.step_count,
                    max_total_steps=limits.max_total_steps,
                )
        return found


def _name(row: Row, named: Named | None) -> str:
    """Return the name of a session: from a person, else from the recipe that began it."""
    summary = row.summary
    if named is None or summary.title_rank >= NAMED_BY_A_PERSON:
        return summary.name
    first = milliseconds(summary.first_at)
    before = first is not None and first < (milliseconds(named.since) or 0)
    return summary.name if before else named.name


@contextmanager
def _refusals(session_id: str) -> Iterator[None]:
    try:
        yield
    except UnknownSession:
        raise NotFound("session", session_id) from None
    except StillThere as error:
        words = f"Its transcript is still there: {error.path}. Delete that file first."
        raise Refused(words) from None
    except Unsettled:
        words = "Its transcript cannot be read just now (is it being rewritten?); try again."
        raise Overloaded(words) from None


def _time(since_1970: int) -> str:
    try:
        moment = _EPOCH + timedelta(milliseconds=since_1970)
    except OverflowError:  # a record's time zone took it out of the years that there are
        moment = _LAST if since_1970 > 0 else _FIRST
    return wire_time(moment)


async def all_locks(context: Context) -> list[Lock]:
    """Build the result of ``sessions.locks``."""
    held = list(await context.leases.all_held())
    leased = {holder.session_id for holder in held if holder.session_id is not None}
    found = await _elsewhere(context)
    held += [holder for holder in found if holder.session_id not in leased]
    return [_row(holder) for holder in held]


async def _elsewhere(context: Context) -> list[Holder]:
    """List the sessions that processes of others have open, by the ids that all know."""
    found = [
        ((context.family(name), one.session_id or ""), one)
        for name, agent in context.agents.items()
        for one in agent.all_open_elsewhere()
    ]
    ours = await context.store.sessions_named([name for name, _ in found])
    return [replace(one, session_id=ours.get(name, one.session_id)) for name, one in found]


def _row(holder: Holder) -> Lock:
    return Lock(
        session_id=holder.session_id,
        working_directory=holder.working_directory,
        holder=holder.public(),
    )
