"""``POST /v1/prompt``: reach an agent with one request, from a shortcut or a script.

The words come as text or as a recording. The answer is waited for, or not. The same
``Idempotency-Key`` sends nothing twice: a request that was cut off is made again with it, and gets
what the first one came to.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal
from weakref import WeakValueDictionary

import msgspec
import trio
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from podiumd.core.recipe.model import Recipe
from podiumd.gateway.fields import Id, Place, Words, check_size
from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.http.form import FORM, File, Form, media_type
from podiumd.gateway.routes.body import decoded, made_out
from podiumd.gateway.routes.table import json_response
from podiumd.gateway.routes.voice import Recordings, language_of
from podiumd.runtime.api import SendPrompt, StartRun
from podiumd.runtime.errors import InvalidParameter
from podiumd.runtime.service import Service
from podiumd.store.facts import Store
from podiumd.wire.runs import Turn
from podiumd.wire.sessions import Delivery

BODY_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a request; a text of 1 MiB takes up to six times that in JSON's escapes."""

LONGEST_WAIT_SECONDS: Final = 3600

_Seconds = Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)]
MOST_KNOWN: Final = 256
_NUMBER: Final = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")
_SWITCHES: Final = {"true": True, "false": False}
_KEY: Final = re.compile(r"[!-~]{1,200}")
_DELIVERED: Final = ("steered", "next prompt")
_OF_RUN: Final = ("status", "exit", "cost_usd", "tokens", "started_at", "ended_at")


class Body(msgspec.Struct, frozen=True):
    """The body of a prompt. ``wait``: for the answer (true), or for at most so many seconds."""

    text: Words | None = None
    session_id: Id | None = None
    working_directory: Place | None = None
    agent: Id | None = None
    recipe: Id | None = None
    params: dict[str, Any] = {}
    wait: bool | _Seconds = True

    @property
    def seconds(self) -> float:
        """Return how many seconds to wait for the answer."""
        if isinstance(self.wait, bool):
            return float(LONGEST_WAIT_SECONDS if self.wait else 0)
        return self.wait


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of words, or the recipe that was started; ``heard`` is the text of a
    recording."""

    session_id: str | None
    turn_id: str | UnsetType | None = UNSET
    run_id: str
    delivery: Delivery | Literal["started"]
    uuid: str | UnsetType = UNSET
    heard: str | UnsetType = UNSET


class PromptRoute:
    """The handler of ``POST /v1/prompt``."""

    def __init__(self, service: Service, tokens: Store, recordings: Recordings) -> None:
        self._service = service
        self._tokens = tokens
        self._spoken = Spoken(recordings)
        self._locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()

    async def __call__(self, request: Request, device: str) -> Response:
        """Answer a request. Raises ``Problem``, ``PodiumError``."""
        token = _token(request, device)
        try:
            if _is_form(request):
                async with self._spoken.recordings.arriving(request) as form:
                    went, seconds = await self._form(form, device, token)
            else:
                body = decoded(await request.body(BODY_BYTES), Body)
                went, seconds = await self._checked(body, token), body.seconds
        except InvalidParameter as refusal:
            if refusal.data.parameter == "client_token":
                raise _used_before() from None
            raise
        return await self._answer(request, went, seconds)

    async def _form(self, form: Form, device: str, token: str | None) -> tuple[Answer, float]:
        """Do what a form asks; the words of its recording follow its ``text``.

        Returns where it went, and how long the answer is waited for.
        """
        body = made_out(fields_of(form), Body)
        if form.file is None:
            return await self._checked(body, token), body.seconds
        if token is None:
            said = await self._spoken.words(form, form.file, device, body.session_id, token)
        else:
            async with self._locks.setdefault(f"recording {token}", trio.Lock()):
                went = await self._before(token)
                if went is not None:
                    return went, body.seconds
                said = await self._spoken.words(form, form.file, device, body.session_id, token)
        text = said if body.text is None else f"{body.text}\n\n{said}"
        went = await self._checked(replace(body, text=text), token)
        return replace(went, heard=said), body.seconds

    async def _before(self, token: str) -> Answer | None:
        """Return where words went that another daemon read in a recording under this token: it
        would be chance if they were read the same way again."""
        if self._spoken.knows(token):
            return None
        used = await self._tokens.token("sessions.prompt", token)
        if used is None:
            return None
        run = await self._service.get_run(used.run_id)
        sent = run.kind == "prompt"
        return Answer(
            session_id=run.session_id, run_id=used.run_id, delivery="sent" if sent else "steered"
        )

    async def _checked(self, body: Body, token: str | None) -> Answer:
        check_size(body.text or "")
        return await self._do(body, token)

    async def _do(self, body: Body, token: str | None) -> Answer:
        """Do the request once. The daemon knows its tokens by method, and a key is for either."""
        do, other = self._prompt, "runs.start"
        if body.recipe is not None:
            do, other = self._recipe, "sessions.prompt"
        if token is None:
            return await do(body, token)
        async with self._locks.setdefault(token, trio.Lock()):
            if await self._tokens.token(other, token) is not None:
                raise _used_before()
            return await do(body, token)

    async def _prompt(self, body: Body, token: str | None) -> Answer:
        if body.text is None or not body.text.strip():
            raise InvalidParameter("text", "'text' is empty: say what the agent is to do.")
        if body.params:
            raise InvalidParameter("params", "'params' go with a recipe: name one in 'recipe'.")
        went = await self._service.prompt(
            SendPrompt(
                text=body.text,
                session_id=body.session_id,
                working_directory=body.working_directory,
                agent=body.agent,
                if_busy="deliver",
                client_token=token,
            )
        )
        return Answer(**asdict(went))

    async def _recipe(self, body: Body, token: str | None) -> Answer:
        where = body.working_directory
        if where is None and body.session_id is not None:
            where = (await self._service.sessions_get(body.session_id)).working_directory
        if where is None:
            words = "A recipe in a new session needs a 'working_directory'."
            raise InvalidParameter("working_directory", words)
        params = dict(body.params)
        if body.text is not None:
            params[await self._place_of_text(body, where)] = body.text
        run = await self._service.start_run(
            StartRun(
                recipe=str(body.recipe),
                working_directory=where,
                session_id=body.session_id,
                params=params,
                agent=body.agent,
                client_token=token,
            )
        )
        return Answer(session_id=run.session_id, run_id=run.run_id, delivery="started")

    async def _place_of_text(self, body: Body, where: str) -> str:
        """Return the one parameter of the recipe that the text is for."""
        recipe = await self._service.recipes.get(str(body.recipe), where)
        texts = texts_left(recipe, body.params)
        if len(texts) == 1:
            return texts[0]
        named = ", ".join(f"'{name}'" for name in texts) or "none"
        words = (
            f"'text' has no place: recipe '{body.recipe}' does not have just one parameter of "
            f"text that is not given ({named}). Use 'params': an object of names and values."
        )
        raise InvalidParameter("text", words)

    async def _answer(self, request: Request, went: Answer, seconds: float) -> Response:
        """Answer 200 with the result, or 202 where it goes on; at once when the client has gone."""
        told, run_id = msgspec.to_builtins(went), went.run_id
        if went.uuid is not UNSET:
            return await self._answer_of_conversation(request, went, went.uuid, seconds)
        if went.delivery in _DELIVERED:  # the answer is part of the recipe's own turn
            return json_response(200, {**told, "status": "delivered"})
        with trio.move_on_after(seconds):
            await request.while_connected(partial(self._service.run_gone, run_id))
        run = await self._service.get_run(run_id)
        if run.status != "ended":
            return json_response(202, {**told, "status": run.status, "questions": run.questions})
        told_of = ((name, getattr(run, name)) for name in _OF_RUN)
        of_run = {name: value for name, value in told_of if value is not UNSET}
        result = {**told, **of_run, "session_id": run.session_id}
        if run.kind == "prompt":
            if run.exit is not None and run.exit.class_ == "cancelled":
                result["exit"] = replace(run.exit, message="The prompt was cancelled")
            result["text"] = (await self._service.ended_turn(run_id)).text
        return json_response(200, result)

    async def _answer_of_conversation(
        self, request: Request, went: Answer, words: str, seconds: float
    ) -> Response:
        """Answer with the words of a phase's agent, or 202 where it is still at it. ``words`` names
        the message to it."""
        turn: Turn | None = None

        async def wait() -> None:
            nonlocal turn
            turn = await self._service.ended_turn(went.run_id, words)

        with trio.move_on_after(seconds):
            await request.while_connected(wait)
        run = await self._service.get_run(went.run_id, settled=True)
        told: dict[str, Any] = msgspec.to_builtins(went)
        if turn is None:
            return json_response(202, {**told, "status": run.status, "questions": run.questions})
        answer = {"status": "answered", "text": turn.text, "exit": run.exit}
        return json_response(200, {**told, **answer, "questions": run.questions})


def _used_before() -> InvalidParameter:
    words = "This Idempotency-Key came with another request before: take a new one."
    return InvalidParameter("Idempotency-Key", words)


def _is_form(request: Request) -> bool:
    """Return whether a request has a form for its body, and no JSON. Raises ``Problem``."""
    kind = media_type(request)
    if kind not in (FORM, "application/json"):
        got = f"not {kind[:100]}" if kind else "and say so in Content-Type"
        raise Problem(415, detail=f"Send application/json or {FORM}, {got}.")
    return kind == FORM


def _token(request: Request, device: str) -> str | None:
    """Return the client token of an ``Idempotency-Key``: each device has its own."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if _KEY.fullmatch(key) is None:
        words = "'Idempotency-Key' has to be 1 to 200 visible ASCII characters."
        raise Problem(400, detail=words)
    return hashlib.sha256(f"{device}\0{key}".encode()).hexdigest()


def fields_of(form: Form) -> dict[str, Any]:
    """Return the fields as the JSON of a prompt would have them. Raises ``InvalidParameter``."""
    fields: dict[str, Any] = {n: text for n, text in form.fields.items() if n != "language"}
    wait = fields.get("wait")
    if wait in _SWITCHES:
        fields["wait"] = _SWITCHES[wait]
    elif wait and _NUMBER.fullmatch(wait):
        fields["wait"] = float(wait)
    if fields.get("params"):
        try:
            fields["params"] = msgspec.json.decode(fields["params"])
        except (msgspec.DecodeError, RecursionError):
            words = "'params': expected an object in JSON."
            raise InvalidParameter("params", words) from None
    return fields


def texts_left(recipe: Recipe, given: Mapping[str, Any]) -> list[str]:
    """Return the parameters of text that a recipe has and that are not given."""
    return [n for n, param in recipe.params.items() if param.type == "string" and n not in given]


class Spoken:
    """The words of recordings; those that came under a token are the same when they come again."""

    def __init__(self, recordings: Recordings) -> None:
        self.recordings = recordings
        self._known: OrderedDict[str, tuple[bytes, str]] = OrderedDict()

    def knows(self, token: str) -> bool:
        """Return whether a recording came under this token, of the last ``MOST_KNOWN`` of this
        daemon."""
        return token in self._known

    async def words(
        self, form: Form, file: File, device: str, session_id: str | None, token: str | None
    ) -> str:
        """Return the words of a form's recording.

        Raises:
            Problem: it cannot be read, or there are no words in it (422).
            InvalidParameter: the token came with another recording before.
        """
        digest = hashlib.sha256(file.data).digest()
        if token is not None and token in self._known:
            before, text = self._known[token]
            if before != digest:
                raise InvalidParameter("client_token", "It came with another recording before.")
            return text
        heard = await self.recordings.text_of(file, device, language_of(form), session_id)
        if heard.no_speech:
            words = "The recording has no speech."
            raise Problem(422, detail=words, parameter="file", code="no_speech")
        if token is not None:
            self._known[token] = (digest, heard.text)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return heard.text
