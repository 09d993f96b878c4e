"""Plain prompts: one turn in a session, verbatim, beside, into or after what holds it."""

from __future__ import annotations

import math
import uuid
from contextlib import suppress
from functools import partial

import msgspec
import trio

from podiumd.core.ids import derive
from podiumd.core.run import commands as c
from podiumd.core.run.fact import RunScript
from podiumd.core.run.state import RunState
from podiumd.runtime.api import SendPrompt
from podiumd.runtime.context import Agent, Context
from podiumd.runtime.errors import InvalidParameter, NotFound
from podiumd.runtime.fact_reader import load
from podiumd.runtime.idempotency import Token, words_uuid
from podiumd.runtime.intake import conversation_input
from podiumd.runtime.intake.images import Brought, brought_images, discard, keep
from podiumd.runtime.intake.start_run import hold_session, require_agent, require_same_kind
from podiumd.runtime.locks.holder import busy
from podiumd.runtime.locks.session_locks import SessionLocks
from podiumd.runtime.recipes.resolve import brought_script, workplace
from podiumd.runtime.run import heard
from podiumd.runtime.run.actor import RunActor
from podiumd.runtime.run.registry import Runs
from podiumd.runtime.sessions.resolve import Sessions
from podiumd.wire.runs import Turn
from podiumd.wire.sessions import Went
from podiumd.wire.views import turn_view

DELIVER_SECONDS = 1.0
"""How long words that are to be delivered wait for an agent to take them into its turn."""

TAKE_OVER_SECONDS = 600.0
"""How long a take-over waits for a foreign program to become idle."""


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    agent: str
    working_directory: str
    fork_from: str | None = None


class Sent(msgspec.Struct, frozen=True):
    """The destination of a prompt (the result of ``sessions.prompt``). ``actor`` is the run of its
    own, ``None`` where it went into another.

    ``words``: a conversation received it, under this uuid; ``found`` is what is known of them
    already. ``turn``: it is over, and waited for.
    """

    went: Went
    actor: RunActor | None = None
    words: str | None = None
    found: heard.Words | None = None
    turn: Turn | None = None


class Prompting:
    """Sends plain prompts."""

    def __init__(
        self,
        context: Context,
        session_locks: SessionLocks,
        runs: Runs,
        sessions: Sessions,
        default_agent: str,
    ) -> None:
        self._context = context
        self._session_locks = session_locks
        self._runs = runs
        self._sessions = sessions
        self._default_agent = default_agent

    async def send(self, request: SendPrompt, token: Token | None) -> Sent:
        """Send a prompt.

        Raises:
            PodiumError: it cannot be sent; nothing was.
        """
        talks = self._hearing(request)
        _require_own_turn(request, given=talks is not None)
        if talks is not None and (sent := await self._say(talks, request.text, token)) is not None:
            return sent
        plan = await self._plan(request)
        # Before the agent: whoever brings a script and names none does not mean the default one.
        script = await brought_script(request.script, plan.agent, self._context.agents)
        agent = await require_agent(self._context, plan.agent)
        _require_mode(plan.agent, agent, request.permission_mode)
        takes = agent.driver.capabilities.images
        images = await brought_images(request.files or (), plan.agent, takes, request.text)
        run_id = str(uuid.uuid4())
        try:
            send = partial(self._send, request, plan, script, images, run_id, token)
            return await self._runs.when_free(send)
        except BaseException:
            self._session_locks.release(run_id)
            if images:
                with trio.CancelScope(shield=True):
                    await discard(self._context.state, run_id)
            raise

    async def _send(
        self,
        request: SendPrompt,
        plan: _Plan,
        script: RunScript | None,
        images: tuple[Brought, ...],
        run_id: str,
        token: Token | None,
    ) -> Sent:
        aside_of = None
        if plan.fork_from is None and request.session_id is not None:
            owner = await self._owner(request, run_id)
            if owner is not None and _is_for_its_turn(owner, request.if_busy):
                _require_own_turn(request, given=True)
                patience = DELIVER_SECONDS if request.if_busy == "deliver" else None
                return Sent(await self._steer(owner, request.text, token, patience))
            aside_of = await self._admit(owner, request, run_id, plan.session_id)
        else:
            own_id = await self._sessions.own_id(plan.session_id)
            locks = self._session_locks
            hold_session(self._context, locks, run_id, plan.session_id, "prompt", own_id)
        start = c.Start(
            at=self._context.clock.now(),
            mono=self._context.clock.mono(),
            run_id=run_id,
            kind="prompt",
            session_id=plan.session_id,
            working_directory=plan.working_directory,
            agent=plan.agent,
            fork_from=plan.fork_from,
            text=request.text,
            system_prompt=request.system_prompt,
            aside_of=aside_of,
            permission_mode=request.permission_mode,
            model=request.model,
            script=script,
            images=await keep(self._context.state, run_id, images),
        )
        waits = aside_of is None and self._session_locks.owner(plan.session_id) != run_id
        actor = await self._runs.start(start, token)
        return Sent(where_it_went(actor.state, waits=waits), actor)

    def _hearing(self, request: SendPrompt) -> RunActor | None:
        """Find the run whose conversation a prompt is a part of."""
        if request.session_id is None or request.fork or request.take_over:
            return None
        actor = self._runs.get(self._session_locks.owner(request.session_id) or "")
        return actor if actor is not None and actor.state.hears else None

    async def _say(self, owner: RunActor, text: str, token: Token | None) -> Sent | None:
        """Send words to the phase of a conversation; ``None`` if that has just ended.

        The client then sends a prompt of its own.
        """
        name = words_uuid(owner.run_id, token)
        try:
            return Sent(await conversation_input.say(owner, text, name, token), None, name)
        except c.CommandRefused as refused:
            if not isinstance(refused.why, c.RunOver):
                raise
        await owner.done.wait()
        return None

    async def sent_before(self, run_id: str, session_id: str, token: Token, *, wait: bool) -> Sent:
        """Find what a client token has sent before, and where it went."""
        actor = self._runs.get(run_id)
        name = words_uuid(run_id, token)
        store = self._context.store
        found = await heard.find(store, run_id, name)
        if found is not None:
            told = await conversation_input.before(store, actor, run_id, name, found)
            return Sent(told, None, name, found)
        steered = await self._steered_before(run_id, session_id, name)
        if steered is not None:
            return Sent(steered)
        if actor is None:
            state = await self._past(run_id)
            return Sent(where_it_went(state), turn=turn_view(state) if wait else None)
        return Sent(where_it_went(actor.state), actor)

    async def outcome(self, sent: Sent) -> Went | Turn:
        """Wait for the turn that the prompt was for, and return it."""
        if sent.words is not None:
            return await self.answered(sent.went.run_id, sent.words, sent.found)
        if sent.turn is not None:
            return sent.turn
        return sent.went if sent.actor is None else await ended_turn(sent.actor)

    async def answered(self, run_id: str, words: str, found: heard.Words | None = None) -> Turn:
        """Wait for the turn that had these words to a conversation, and return it.

        ``found`` is what is known of them already. Raises ``NotFound``.
        """
        actor = self._runs.get(run_id)
        return await conversation_input.answered(self._context.store, actor, run_id, words, found)

    async def past(self, run_id: str) -> Turn:
        """Return the turn of a prompt whose run is over. Raises ``NotFound``."""
        return turn_view(await self._past(run_id))

    async def _past(self, run_id: str) -> RunState:
        loaded = await load(self._context.store, run_id)
        if loaded is None:
            raise NotFound("run", run_id)
        return loaded.state

    async def _plan(self, request: SendPrompt) -> _Plan:
        if request.session_id is None:
            if request.working_directory is None:
                raise InvalidParameter(
                    "working_directory", "A new session needs a working directory."
                )
            if request.fork or request.take_over:
                raise InvalidParameter("session_id", "There is no session to fork or take over.")
            agent = request.agent or self._default_agent
            where = workplace(request.working_directory)
            session_id = request.new_session_id or str(uuid.uuid4())
            return _Plan(session_id=session_id, agent=agent, working_directory=where)
        known = await self._sessions.find(request.session_id)
        where = workplace(request.working_directory or known.working_directory)
        agent = request.agent or known.agent
        if request.agent is not None:
            remedy = "leave the agent out"
            await require_same_kind(
                self._context, self._sessions, request.agent, known.session_id, remedy
            )
        if request.fork:
            fork = str(uuid.uuid4())
            return _Plan(
                session_id=fork, agent=agent, working_directory=where, fork_from=known.session_id
            )
        return _Plan(session_id=known.session_id, agent=agent, working_directory=where)

    async def _owner(self, request: SendPrompt, run_id: str) -> RunActor | None:
        """Find our run that holds the session; a foreign holder is waited for, or refused."""
        assert request.session_id is not None
        owner = self._session_locks.owner(request.session_id)
        if owner is not None:
            return self._runs.get(owner)
        own_id = await self._sessions.own_id(request.session_id)
        elsewhere = self._session_locks.peek(request.session_id, own_id)
        if elsewhere is not None:  # another daemon's agent is no foreign program to wait for
            raise busy(elsewhere, session_id=request.session_id)
        for agent in self._context.agents.values():
            holder = agent.open_elsewhere(request.session_id, own_id)
            if holder is None:
                continue
            alone = False
            if request.take_over:
                with trio.move_on_after(TAKE_OVER_SECONDS):
                    alone = await agent.left_alone(request.session_id, own_id)
            if not alone:
                raise busy(holder, session_id=request.session_id)
            self._session_locks.tolerate_idle(run_id)
        return None

    async def _admit(
        self, owner: RunActor | None, request: SendPrompt, run_id: str, session_id: str
    ) -> str | None:
        """Get the session for a prompt; returns the waiting run whose session it borrows."""
        if owner is not None and (request.take_over or _stands_still(owner)):
            self._runs.queue.require_place(run_id)  # nothing is stopped or noted in vain
        if owner is not None and request.take_over and not _stands_still(owner):
            await _stop(owner)
        if owner is not None and owner.done.is_set():
            owner = None
        if (
            owner is not None
            and _stands_still(owner)
            and self._session_locks.lend(session_id, run_id)
        ):
            note = c.NoteAside(**owner.stamp(), run_id=run_id, session_id=session_id)
            with suppress(c.CommandRefused):  # it has just ended: the session is the prompt's own
                await owner.submit(note)
                return owner.run_id
        own_id = await self._sessions.own_id(session_id)
        taken = self._session_locks.acquire_session(session_id, run_id, "prompt", own_id)
        if taken is None:
            return None
        if request.if_busy in ("queue", "deliver") and self._session_locks.held_here(session_id):
            self._session_locks.wait_in_line(session_id, run_id, lambda: None)
            return None
        raise busy(taken, session_id=session_id)

    async def _steer(
        self, owner: RunActor, text: str, token: Token | None, patience: float | None
    ) -> Went:
        name = words_uuid(owner.run_id, token)
        state = await steer(owner, text, name, token, seconds=patience)
        turn = owner.state.turn
        turn_id = turn.intent.turn_id if turn is not None else None
        return _steered(owner.run_id, owner.state.session_id, turn_id, state)

    async def _steered_before(self, run_id: str, session_id: str, name: str) -> Went | None:
        """Find where words went that were sent into a run before; ``None`` if they were not."""
        found = await heard.steered(self._context.store, run_id, name)
        if found is None:
            return None
        turn_id, state = found
        actor = self._runs.get(run_id)
        if state is None:  # their sender has not waited for it
            state = "too_late" if actor is None else await _taken(actor, name)
        return _steered(run_id, session_id, turn_id, state)


def _require_own_turn(request: SendPrompt, *, given: bool) -> None:
    """Refuse what is for a prompt of its own alone with words that are ``given`` to a run.

    Raises:
        InvalidParameter: they name one.
    """
    for name in ("model", "script"):
        if given and getattr(request, name) is not None:
            words = (
                f"These words go into a run, which has its {name} already: leave the {name} out."
            )
            raise InvalidParameter(name, words)
    if given and request.files:
        words = (
            "These words go into a run, which takes no images: leave them out, or send them alone."
        )
        raise InvalidParameter("files", words)


def _require_mode(name: str, agent: Agent, mode: str | None) -> None:
    """Refuse a permission mode that the agent does not know.

    Raises:
        InvalidParameter: the modes that it has are in it.
    """
    known = agent.driver.capabilities.permission_modes
    if mode is None or mode in known:
        return
    has = f"it has: {', '.join(sorted(known))}" if known else "it has none: leave the mode out"
    raise InvalidParameter(
        "permission_mode", f"Agent '{name}' has no permission mode '{mode}'; {has}."
    )


def _is_for_its_turn(owner: RunActor, if_busy: str) -> bool:
    """Return whether words for a held session go to the holding run, as words into its turn."""
    state = owner.state
    if if_busy == "deliver":
        of_recipe = state.start.kind == "recipe" and state.exit is None
        return of_recipe and not _stands_still(owner)
    return if_busy == "steer" and state.turn is not None


async def _stop(owner: RunActor) -> None:
    """Interrupt a run and wait until nothing of it goes on. Raises ``StoreError``: it goes on."""
    with suppress(c.CommandRefused):  # it has just ended
        await owner.submit(c.Interrupt(**owner.stamp()))
    await owner.stopped()


def _stands_still(owner: RunActor) -> bool:
    """Return whether a run waits for a person, and no agent of it lives."""
    state = owner.state
    return state.turn is None and state.status in ("waiting", "paused")


async def steer(
    actor: RunActor,
    text: str,
    name: str | None = None,
    token: Token | None = None,
    *,
    seconds: float | None = None,
) -> str:
    """Hand words to a run; ``queued``: the agent has them, ``too_late``: the next prompt will,
    ``waiting``: they are stored, and the agent has not taken them in ``seconds``.

    Raises:
        CommandRefused: the run is over.
    """
    name = name or str(uuid.uuid4())
    await actor.submit(c.Steer(**actor.stamp(), uuid=name, text=text), token=token)
    return await _taken(actor, name, seconds)


def _steered(run_id: str, session_id: str, turn_id: str | None, state: str) -> Went:
    return Went(
        session_id=session_id,
        turn_id=turn_id,
        run_id=run_id,
        delivery="steered" if state == "queued" else "next prompt",
    )


async def _taken(actor: RunActor, name: str, seconds: float | None = None) -> str:
    """Wait until it is known whether the agent has the words, or for so long."""

    def settled() -> str | None:
        found = [s for s in actor.state.steers if s.uuid == name]
        if not found or found[0].queued:
            return "queued"
        over = found[0].turn_id is None or actor.state.exit is not None
        return "too_late" if over else None

    with trio.move_on_after(math.inf if seconds is None else seconds):
        await actor.until(lambda _state: settled() is not None)
    return settled() or "waiting"


def where_it_went(state: RunState, *, waits: bool = False) -> Went:
    """Build the result of ``sessions.prompt``.

    ``delivery``: "sent", "queued" (it waits in line), "steered" (the running turn has it) or "next
    prompt" (that of the run that has the session).
    """
    run_id = state.start.run_id
    return Went(
        session_id=state.start.session_id,
        turn_id=derive(run_id, 0, "", 0, "turn", 1),
        run_id=run_id,
        delivery="queued" if waits else "sent",
    )


async def ended_turn(actor: RunActor) -> Turn:
    """Wait for the turn of a plain prompt, and return it."""
    await actor.done.wait()
    return turn_view(actor.state)
