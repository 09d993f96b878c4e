"""The input of an AG-UI client in a thread, done once: a run started, words sent, an answer given.

A message is named by its id and its words. A client sends all of them every time, and all of it
again when a stream broke off: what was sent already is not sent again, and its run is reported from
there on.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import suppress
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

import msgspec
import trio
from msgspec.structs import replace

from podiumd.core.run import facts as f
from podiumd.gateway.access.devices import Settings
from podiumd.gateway.agui.incoming import Props, RunInput
from podiumd.gateway.agui.interrupts import DECLINES, Reply, reply_to
from podiumd.gateway.routes.prompt import texts_left
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.errors import AlreadyEnded, InvalidParameter, NotFound
from podiumd.runtime.idempotency import words_uuid
from podiumd.runtime.service import Service
from podiumd.store.facts import Store
from podiumd.tools.failpoints import failpoint
from podiumd.wire.questions import Question

Json = dict[str, Any]

_PAGE: Final = 500
_PROMPT: Final = "sessions.prompt"

PREFIX: Final = "agui.thread."
"""Of the settings that tie each thread to one session, for good. A thread's id is the client's
choice; the session's id is ours, stored before the session exists, so that a daemon which is killed
in between begins no second one."""


class Thread(msgspec.Struct, frozen=True):
    """The state of a thread. ``found``: its session was there before it. ``begun``: words or a
    recipe came in it. ``said`` is the token of the last message that was sent: a client sends all
    of them again, every time."""

    session_id: str
    found: bool = False
    begun: bool = False
    said: str | None = None


class Threads:
    """The threads that are known."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()

    def lock(self, thread_id: str) -> trio.Lock:
        """Return the lock for sending in the thread: two first messages make one session."""
        return self._locks.setdefault(thread_id, trio.Lock())

    async def known(self, thread_id: str) -> Thread | None:
        """Return a thread as it was last kept. Raises ``StoreError``."""
        stored = await self._settings.setting(_key(thread_id))
        return None if stored is None else msgspec.json.decode(stored, type=Thread)

    async def keep(self, thread_id: str, thread: Thread) -> None:
        """Keep a thread; durable when this returns. Raises ``StoreError``."""
        await self._settings.set_setting(_key(thread_id), msgspec.json.encode(thread))


def _key(thread_id: str) -> str:
    return PREFIX + hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()


def token_of(*parts: Any) -> str:
    """Return the client token of something that a thread asks for once."""
    return hashlib.sha256(msgspec.json.encode(["agui", *parts])).hexdigest()


class Notice(NamedTuple):
    """A notice for the person about the request."""

    code: str
    message: str


class Entered(NamedTuple):
    """The state of a thread after its client's input: the run to follow, if there is one.

    ``after``: it is reported again, from behind this ``seq`` on, which is in its ``step``;
    ``None``: from now on. ``spoken``: a message was sent, so that more is to come.
    """

    session_id: str
    run_id: str | None = None
    after: int | None = None
    spoken: bool = False
    notices: tuple[Notice, ...] = ()
    step: str | None = None


class _Went(NamedTuple):
    run_id: str
    after: int | None = None
    step: str | None = None


class Conversation:
    """Takes what clients say to the daemon."""

    def __init__(self, service: Service, tokens: Store, threads: Threads) -> None:
        self._service = service
        self._tokens = tokens
        self._threads = threads

    async def enter(self, asked: RunInput, device: str) -> Entered:
        """Do what is asked, as ``device``. Raises ``PodiumError``, ``StoreError``."""
        unused = Notice("not-used", f"Not used here: {', '.join(asked.unused)}.")
        notices = [unused] if asked.unused else []
        async with self._threads.lock(asked.thread_id):
            thread = await self._thread(asked)
            answered = await self._answer(asked, thread, device, notices)
            went = await self._speak(asked, thread)
        if went is not None and went.after is not None and asked.resume:
            went = None  # it goes on from its interrupt: earlier events were sent
        if went is None and answered is not None:
            went = _Went(answered)
        session_id, told = thread.session_id, tuple(notices)
        if went is None:
            return Entered(session_id, await self._current(session_id), notices=told)
        return Entered(session_id, went.run_id, went.after, went.after is None, told, went.step)

    async def questions(self, session_id: str, run_id: str | None) -> list[Question]:
        """List the open questions of a session, from any run."""
        return [
            question
            for question in await self._service.questions()
            if question.run_id == run_id or await self._is_of(question, session_id)
        ]

    async def _is_of(self, question: Question, session_id: str) -> bool:
        if question.session_id == session_id:
            return True
        run = await self._service.get_run(question.run_id)
        return run.main_session_id == session_id

    # -- which session -----------------------------------------------------------------------

    async def _thread(self, asked: RunInput) -> Thread:
        known = await self._threads.known(asked.thread_id)
        if known is not None:
            return known
        if await self._is_session(asked.thread_id):
            return Thread(asked.thread_id, found=True)
        named = asked.props.session_id
        if named is None:
            return Thread(str(uuid.uuid4()))
        try:
            named = str((await self._service.sessions_get(named)).session_id)
        except NotFound:  # its agent may keep no transcripts: a prompt in it reports that
            if asked.message is None and asked.props.recipe is None:
                raise
        return Thread(named, found=True)

    async def _is_session(self, name: str) -> bool:
        """Return whether there is a session of just this id, or a run is about to make it."""
        with suppress(NotFound, InvalidParameter):
            if (await self._service.sessions_get(name)).session_id == name:
                return True
        return await self._holder(name) is not None

    async def _holder(self, session_id: str) -> str | None:
        for held in await self._service.locks():
            if held.session_id == session_id and held.holder.kind != "foreign":
                return held.holder.id
        return None

    async def _current(self, session_id: str) -> str | None:
        """Return the run that goes on in a session, or waits in it."""
        run_id = await self._recipe_in(session_id) or await self._holder(session_id)
        if run_id is not None:
            with suppress(NotFound):  # another daemon's
                return str((await self._service.get_run(run_id)).run_id)
        return None

    async def _recipe_in(self, session_id: str) -> str | None:
        for run in await self._service.list_runs(active=True, limit=1000):
            if session_id in (run.session_id, run.main_session_id):
                return str(run.run_id)
        return None

    # -- answers -----------------------------------------------------------------------------

    async def _answer(
        self, asked: RunInput, thread: Thread, device: str, notices: list[Notice]
    ) -> str | None:
        """Answer what ``resume`` answers, all of it looked at first; the last one's run."""
        if not asked.resume:
            return None
        waiting = {q.question_id: q for q in await self.questions(thread.session_id, None)}
        replies: list[tuple[int, Question, Reply]] = []
        for number, entry in enumerate(asked.resume):
            question = waiting.get(entry.interrupt_id)
            if question is None:
                words = f"Nothing waits for an answer to interrupt '{entry.interrupt_id[:80]}'."
                notices.append(Notice("not-open", words))
            elif not (entry.status == "cancelled" and asked.message and _must_answer(question)):
                field = "status" if entry.status == "cancelled" else "payload"
                where = f"resume[{number}].{field}"
                reply = reply_to(question, entry.status, entry.payload, where)
                replies.append((number, question, reply))
        run_id = None
        for number, question, reply in replies:
            if await self._give(number, question, reply, device, notices):
                run_id = str(question.run_id)
        return run_id

    async def _give(
        self, number: int, question: Question, reply: Reply, device: str, notices: list[Notice]
    ) -> bool:
        try:
            await self._service.answer(question.question_id, reply.answer, reply.note, device)
        except (AlreadyEnded, NotFound) as late:
            notices.append(Notice("not-open", late.message))
            return False
        except InvalidParameter as refusal:
            where = f"resume[{number}].payload"
            raise InvalidParameter(where, f"'{where}': {refusal.message}") from None
        return True

    # -- words -------------------------------------------------------------------------------

    async def _speak(self, asked: RunInput, thread: Thread) -> _Went | None:
        """Send what was not sent before; where it went, or goes on."""
        message = asked.message
        said = None if message is None else token_of(asked.thread_id, message.id, message.text)
        if message is not None and said is not None:
            used = await self._tokens.token(_PROMPT, said)
            if used is not None:
                await self._note(asked, thread, said)
                words = words_uuid(used.run_id, (_PROMPT, said, used.params_digest))
                return _Went(used.run_id, *await self._heard_at(used.run_id, words))
        started = await self._tokens.token("runs.start", token_of(asked.thread_id))
        if started is not None and not thread.begun:  # and we were killed before that was kept
            params = (await self._service.get_run(started.run_id)).params.values()
            placed = message is not None and message.text in params
            thread = await self._note(asked, thread, said if placed else None)
        if said is not None and said == thread.said:
            return None if started is None else _Went(started.run_id, 0)
        if not thread.begun:
            return await self._begin(asked, thread, said)
        return None if message is None else await self._send(asked, thread, said)

    async def _note(self, asked: RunInput, thread: Thread, said: str | None) -> Thread:
        """Keep the last message, and return the thread as it is then."""
        begun = replace(thread, begun=True, said=said)
        if begun != thread:
            await self._threads.keep(asked.thread_id, begun)
        return begun

    async def _heard_at(self, run_id: str, words: str) -> tuple[int, str | None]:
        """Return the ``seq`` with which a run took the words of this uuid, and its step then; 0
        where it began with them."""
        seq, step = 0, None
        while True:
            events, after = await self._service.run_events(run_id, seq, _PAGE)
            for event in events:
                fact = event.fact
                if isinstance(fact, f.StepEntered):
                    step = fact.step
                elif isinstance(fact, f.MessageReceived | f.SteerIntended) and fact.uuid == words:
                    return event.seq, step
            if after == seq:
                return 0, None
            seq = after

    async def _send(self, asked: RunInput, thread: Thread, said: str | None) -> _Went:
        """Send the message into the thread's session; one that is not there begins with it."""
        assert asked.message is not None
        new, props = not (thread.begun or thread.found), asked.props
        went = await self._service.prompt(
            SendPrompt(
                text=asked.message.text,
                session_id=None if new else thread.session_id,
                new_session_id=thread.session_id if new else None,
                working_directory=props.working_directory if new else None,
                agent=props.agent if new else None,
                if_busy="deliver",
                client_token=said,
            )
        )
        failpoint("agui.before-noted")
        await self._note(asked, thread, said)
        return _Went(went.run_id)

    async def _begin(self, asked: RunInput, thread: Thread, said: str | None) -> _Went | None:
        """Begin a thread with its first words, or with the recipe that it is to be."""
        busy = thread.found and await self._current(thread.session_id) is not None
        wants_recipe = asked.props.recipe is not None and not busy
        if not wants_recipe and asked.message is None:
            if thread.found:
                return None  # it is only looked at
            words = "'messages': nothing is said in it; a thread begins with words, or a recipe."
            raise InvalidParameter("messages", words)
        where = await self._place(asked, thread) if wants_recipe or not thread.found else ""
        if not thread.found:
            await self._threads.keep(asked.thread_id, thread)
            failpoint("agui.after-kept")
        try:
            if wants_recipe:
                return await self._start(asked, thread, said, where)
            return await self._send(asked, thread, said)
        except InvalidParameter as refusal:
            raise _of_props(refusal) from None

    async def _place(self, asked: RunInput, thread: Thread) -> str:
        """Return where a thread works. Raises ``InvalidParameter``: no directory was given."""
        where = asked.props.working_directory
        if where is None and thread.found:
            with suppress(NotFound):  # its agent keeps no transcripts
                where = (await self._service.sessions_get(thread.session_id)).working_directory
        if where is None:
            words = (
                "'forwardedProps.working_directory' is missing: a new conversation needs an "
                "absolute path to work in."
            )
            raise InvalidParameter("forwardedProps.working_directory", words)
        return where

    async def _start(self, asked: RunInput, thread: Thread, said: str | None, where: str) -> _Went:
        """Start a recipe. Its one parameter of text, if it has just one, is the message; else the
        message is for its first phase."""
        props, message = asked.props, asked.message
        params = dict(props.params)
        open_texts = texts_left(await self._service.recipes.get(str(props.recipe), where), params)
        placed = message is not None and len(open_texts) == 1
        if message is not None and placed:
            params[open_texts[0]] = message.text
        run = await self._service.start_run(
            StartRun(
                recipe=str(props.recipe),
                working_directory=where,
                session_id=thread.session_id if thread.found else None,
                new_session_id=None if thread.found else thread.session_id,
                params=params,
                agent=props.agent,
                client_token=token_of(asked.thread_id),
            )
        )
        failpoint("agui.before-noted")
        begun = await self._note(asked, thread, said if placed else None)
        if message is not None and not placed:
            await self._send(asked, begun, said)
        return _Went(run.run_id)


def _of_props(refusal: InvalidParameter) -> InvalidParameter:
    """Name a refused field that came in ``forwardedProps`` by its name there."""
    name = str(refusal.data.parameter)
    ours = name.partition(".")[0] in Props.__struct_fields__
    return InvalidParameter(f"forwardedProps.{name}" if ours else name, refusal.message)


def _must_answer(question: Question) -> bool:
    """Return whether no possible answer declines."""
    return not any(choice.id in DECLINES for choice in question.choices)
