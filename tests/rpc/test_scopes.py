"""What each scope opens: a table of all methods, so that a method gets its scope on purpose."""

from __future__ import annotations

from typing import Any, cast, get_args

import pytest
import trio

from podiumd.rpc.adapter import Method
from podiumd.rpc.context import RequestContext
from podiumd.rpc.methods import METHODS
from podiumd.rpc.scopes import opened, opens
from podiumd.runtime.errors import NotPermitted
from podiumd.wire.method import Scope
from podiumd.wire.recipes import CheckRecipe
from podiumd.wire.runs import RunStart
from podiumd.wire.sessions import Prompt

SCOPES: tuple[Scope, ...] = get_args(Scope)
NEEDS: dict[Scope, str] = {
    "look": """
        daemon.ping daemon.status events.subscribe questions.list recipes.check recipes.get
        recipes.graph recipes.list recipes.outcome recipes.paths recipes.rehearse recipes.simulate
        client.hello rpc.discover runs.diff runs.events runs.get runs.history runs.list sessions.get
        sessions.list sessions.locks sessions.messages sessions.subscribe sessions.unsubscribe
        storage.usage voice.models voice.status voice.vocabulary worktrees.list""",
    "answer": "questions.answer",
    "work": """
        agents.list runs.cancel runs.interrupt runs.pause runs.rename runs.resume runs.start
        runs.steer sessions.compact sessions.interrupt sessions.prompt voice.audio voice.cancel
        voice.end voice.start worktrees.merge""",
    "all": """
        daemon.configuration daemon.configure daemon.reload daemon.shutdown gateway.devices
        gateway.pair gateway.revoke gateway.scope mcp.message recipes.trust sessions.forget
        storage.prune voice.hush voice.install voice.say voice.transcribe worktrees.remove""",
}


WITHOUT_FILES: dict[str, Any] = {
    "recipes.check": CheckRecipe(text=""),
    "runs.start": RunStart(recipe="r", working_directory="/p"),
    "sessions.prompt": Prompt(text="t"),
}
WITH_A_FILE: dict[str, Any] = {
    "recipes.check": CheckRecipe(path="/etc/passwd"),
    "runs.start": RunStart(recipe="r", working_directory="/p", script="/etc/passwd"),
    "sessions.prompt": Prompt(text="t", files=("/home/a/b.png",)),
}


class Reached(Exception):
    """The handler was reached."""


def standing_in(method: Method[Any]) -> Method[Any]:
    async def reached(context: Any, params: Any) -> Any:
        raise Reached

    return method._replace(handler=reached)


def of_scope(scope: Scope) -> dict[str, Method[Any]]:
    return {one.name: one for one in opened(map(standing_in, METHODS), scope)}


def test_every_method_stands_in_the_table_once() -> None:
    needed = {one.name: one.needs for one in METHODS}
    assert needed == {name: scope for scope, names in NEEDS.items() for name in names.split()}


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_device_reaches_what_its_scope_opens_and_nothing_else(scope: Scope) -> None:
    for name, method in of_scope(scope).items():
        params = WITHOUT_FILES.get(name)
        with pytest.raises((Reached, NotPermitted)) as met:
            await method.handler(None, params)
        assert (met.type is Reached) == (SCOPES.index(method.needs) <= SCOPES.index(scope)), name
        await trio.lowlevel.checkpoint()


async def test_a_refusal_names_the_scope_that_would_do() -> None:
    method = of_scope("look")["questions.answer"]
    with pytest.raises(NotPermitted) as met:
        await method.handler(None, None)
    assert met.value.code == -32009 and met.value.data.scope == "answer"
    assert met.value.message == (
        "questions.answer needs a device of scope 'answer'; this one has 'look'. "
        "At the machine: 'podium devices scope NAME answer'."
    )


@pytest.mark.parametrize("scope", ["look", "answer", "work"])
@pytest.mark.parametrize("name", WITH_A_FILE)
async def test_a_file_of_the_machine_is_read_for_a_device_of_scope_all_alone(
    scope: Scope, name: str
) -> None:
    with pytest.raises(NotPermitted):
        await of_scope(scope)[name].handler(cast("RequestContext", None), WITH_A_FILE[name])
    with pytest.raises(Reached):
        await of_scope("all")[name].handler(cast("RequestContext", None), WITH_A_FILE[name])


def test_scopes_are_one_within_the_other() -> None:
    assert [[opens(one, other) for other in SCOPES] for one in SCOPES] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]
