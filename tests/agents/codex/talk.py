"""A conversation with Codex, in lines made by hand."""

from __future__ import annotations

import json
from posixpath import normpath
from typing import Any

from podiumd.agents.codex.dialect import CodexDialect
from podiumd.agents.codex.script import Script
from podiumd.drivers.base import (
    ApprovalRequested,
    TurnEvent,
)
from podiumd.formats.codex import calls

UUID = "11111111-2222-4333-8444-555555555555"

STEER = "99999999-2222-4333-8444-555555555555"

THREAD, TURN = "thread", "turn"


def script(**changes: Any) -> Script:
    fields: dict[str, Any] = {
        "opening": "",
        "prompt": "go",
        "uuid": UUID,
        "settings": {"cwd": "/w"},
    }
    return Script(**{**fields, **changes})


def real_path(path: str) -> str:
    """Follow the one symlink there is."""
    return normpath(path).replace("/w/link", "/outside")


def dialect(given: Script | None = None, sent: tuple[str, ...] = ()) -> CodexDialect:
    return CodexDialect(given or script(), sent, lambda thread, call_id: {}, real_path)


def line(**values: Any) -> bytes:
    return json.dumps(values).encode()


def notice(method: str, **params: Any) -> bytes:
    where = {"threadId": THREAD, "turnId": TURN}
    return line(method=method, params={**where, **params}, emittedAtMs=1)


def item(type: str, *, done: bool = False, id: str = "i", **more: Any) -> bytes:
    return notice(
        f"item/{'completed' if done else 'started'}", item={"type": type, "id": id, **more}
    )


OPENED = (
    line(id=calls.INITIALIZE, result={}),
    line(id=calls.ACCOUNT, result={"account": None, "requiresOpenaiAuth": False}),
    line(id=calls.OPEN, result={"thread": {"id": THREAD, "path": "/r.jsonl"}, "model": "m"}),
)

BEGUN = (
    line(id=calls.PROMPT, result={"turn": {"id": TURN, "status": "inProgress"}}),
    line(id=f"m:{calls.PROMPT}", error={"code": -32600, "message": "unknown"}),
    item("userMessage", clientId=UUID),
)


def ended(status: str = "completed", **error: Any) -> bytes:
    turn = {"id": TURN, "status": status, "error": error or None}
    return notice("turn/completed", turn=turn)


RESTS = line(id=calls.REST, result={"data": []})

"""The answer to what is queued after the turn."""


def feed(one: CodexDialect, *lines: bytes) -> list[TurnEvent]:
    return [event for data in lines for event in one.feed(data)]


def running(given: Script | None = None) -> CodexDialect:
    one = dialect(given)
    feed(one, *OPENED)
    one.replies()
    feed(one, *BEGUN)
    return one


def written(one: CodexDialect) -> list[dict[str, Any]]:
    return [json.loads(data) for group in one.replies() for data in group]


def command(id: int, script: str, **more: Any) -> bytes:
    params = {
        "threadId": THREAD,
        "itemId": f"c{id}",
        "command": f"/bin/bash -lc '{script}'",
        **more,
    }
    return line(id=id, method="item/commandExecution/requestApproval", params=params)


def asked_in(events: list[TurnEvent]) -> list[ApprovalRequested]:
    return [event for event in events if isinstance(event, ApprovalRequested)]
