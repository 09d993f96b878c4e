"""``POST /v1/prompt``: reach an agent with one request, from a shortcut or a script.

The answer is waited for, or not. The same ``Idempotency-Key`` sends nothing twice: a request that
was cut off is made again with it, and gets what the first one came to.
"""

from __future__ import annotations

import hashlib
import re
from typing import Annotated, Any

import msgspec
import trio
from msgspec import Meta

from podiumd.gateway.http import Problem, Request, Response
from podiumd.gateway.routes.table import json_response
from podiumd.gateway.routes.voice import not_yet
from podiumd.runtime.api import Json, SendPrompt, Service, StartRun
from podiumd.runtime.errors import InvalidParameter

BODY_BYTES = 2 * 1024 * 1024
"""Of a request in JSON; a prompt may be somewhat under 1 MiB."""

LONGEST_WAIT_SECONDS = 3600

_Id = Annotated[str, Meta(min_length=1, max_length=64)]
_Seconds = Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SECONDS)]
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked. ``wait``: for the answer (true), or for at most so many seconds."""

    text: str = ""
    session_id: _Id | None = None
    working_directory: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    recipe: _Id | None = None
    params: dict[str, Any] = {}
    agent: _Id | None = None
    wait: bool | _Seconds = True


class PromptRoute:
    """The handler of ``POST /v1/prompt``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, request: Request, device: str) -> Response:
        """Raises ``Problem``, ``PodiumError``."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "multipart/form-data":
            raise not_yet()
        if kind not in ("", "application/json"):
            words = f"Send application/json or multipart/form-data, not {kind}."
            raise Problem(415, "Unsupported media type", words)
        try:
            body = msgspec.json.decode(await request.body(BODY_BYTES), type=Body)
        except msgspec.DecodeError as error:
            raise Problem(
                400, "Bad request", f"The body is not what is expected: {error}."
            ) from None
        return await self._send(body, _token(request, device))

    async def _send(self, body: Body, token: str | None) -> Response:
        begun = self._recipe if body.recipe is not None else self._prompt
        if body.recipe is None and not body.text.strip():
            raise InvalidParameter("text", "'text' is empty: say what the agent is to do.")
        went = await begun(body, token)
        if body.wait is False:
            return json_response(202, went)
        with trio.move_on_after(LONGEST_WAIT_SECONDS if body.wait is True else body.wait):
            return json_response(200, await self._result(went, body.recipe is not None))
        return json_response(202, went)

    async def _prompt(self, body: Body, token: str | None) -> Json:
        if body.params:
            raise InvalidParameter("params", "'params' go with a recipe; name one in 'recipe'.")
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
        return {**went, "status": "running" if went["delivery"] != "queued" else "queued"}

    async def _recipe(self, body: Body, token: str | None) -> Json:
        assert body.recipe is not None
        if body.working_directory is None:
            raise InvalidParameter("working_directory", "A recipe needs a 'working_directory'.")
        params = dict(body.params)
        if body.text:
            params.setdefault(await self._text_param(body), body.text)
        run = await self._service.start_run(
            StartRun(
                recipe=body.recipe,
                working_directory=body.working_directory,
                session_id=body.session_id,
                params=params,
                agent=body.agent,
                client_token=token,
            )
        )
        return {key: run[key] for key in ("run_id", "session_id", "status")}

    async def _text_param(self, body: Body) -> str:
        """The one parameter of the recipe that the text is for."""
        assert body.recipe is not None
        recipe = await self._service.recipes_get(body.recipe, body.working_directory)
        texts = [
            name
            for name, param in recipe["params"].items()
            if param["type"] == "string" and name not in body.params
        ]
        if len(texts) == 1:
            return str(texts[0])
        named = ", ".join(f"'{name}'" for name in texts) or "none"
        words = (
            f"Recipe '{body.recipe}' does not have just one parameter of text ({named}), so "
            "'text' has no place: give 'params' {name: value} instead."
        )
        raise InvalidParameter("text", words)

    async def _result(self, went: Json, is_recipe: bool) -> Json:
        if is_recipe:
            await self._service.run_gone(went["run_id"])
            run = await self._service.get_run(went["run_id"])
            return {
                **went,
                "status": run["status"],
                "exit": run["exit"],
                "cost_usd": run["cost_usd"],
            }
        if went["delivery"] in ("steered", "next prompt"):
            return went  # the answer is part of the recipe's own turn
        turn = await self._service.ended_turn(went["run_id"])
        kept = ("text", "status", "exit", "cost_usd", "started_at", "ended_at")
        return {**went, **{key: turn[key] for key in kept}}


def _token(request: Request, device: str) -> str | None:
    """The client token of an ``Idempotency-Key``: each device has its own."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if _KEY.fullmatch(key) is None:
        words = "'Idempotency-Key' is 1 to 200 visible ASCII characters."
        raise Problem(400, "Bad request", words)
    return hashlib.sha256(f"{device}\0{key}".encode()).hexdigest()
