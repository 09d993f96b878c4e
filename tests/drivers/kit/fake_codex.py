"""The fake agent as ``codex app-server``, 0.169.0."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.drivers.kit.fake_agent import Ended, Json, Tool
from tests.drivers.kit.fake_mcp import call_over_mcp
from tests.drivers.kit.fake_rpc import Rpc

UNSPOKEN = frozenset(
    {
        "begins_anew",
        "blind",
        "closes_late",
        "mode_refused",
        "no_delete",
        "null_open",
        "replays",
        "replays_late",
        "version",
    }
)
"""Misbehaviour for which the language has no words: it negotiates nothing and replays nothing."""


class Codex(Rpc):
    """Speaks as the recordings do: without the member ``jsonrpc``, its notices with their time."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._turns = 0
        self._turn_id = ""
        self._client_ids: dict[str, str] = {}
        self._servers: list[Json] = []
        self._said = 0
        self._queue = [str(words) for words in self.script["queued"] or ()]

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params, "emittedAtMs": 1795388537000})

    def unknown_method(self, key: str | int, method: str) -> None:
        if not self.script["no_marks"]:
            words = f"Invalid request: unknown variant `{method}`, expected one of `initialize`"
            self.refuse(key, -32600, words)

    # -- the handshake ------------------------------------------------------------------------

    def on_initialize(self, key: str | int, params: Json) -> None:
        agent = "podium/0.169.0 (fake)"
        where = {"platformFamily": "unix", "platformOs": "linux"}
        self.result(key, {"userAgent": agent, "codexHome": str(self.script.home), **where})

    def on_account_read(self, key: str | int, params: Json) -> None:
        out = bool(self.script["logged_out"])
        self.result(key, {"account": None, "requiresOpenaiAuth": out})

    def on_thread_start(self, key: str | int, params: Json) -> None:
        if params.get("model") and self.script["model_unknown"]:
            self.refuse(key, -32600, f"unknown model {params['model']}")
            return
        self.session_id = self.new_session("")
        self._opened(key, params)
        self.notify("thread/started", thread=self._thread())

    def on_thread_resume(self, key: str | int, params: Json) -> None:
        if not self._unknown(key, params["threadId"]):
            self.session_id = params["threadId"]
            self._opened(key, params)
            self._begin_queued()

    def on_thread_queue_start(self, key: str | int, params: Json) -> None:
        if self.working:
            self.refuse(key, -32600, "thread already has an active or pending turn")
        elif not self._queue:
            self.refuse(key, -32600, "queue is empty")
        else:
            self._begin_queued()
            self.result(key, {"turn": self._turn_now("inProgress")})

    def on_thread_queue_list(self, key: str | int, params: Json) -> None:
        self.result(key, {"data": [{"id": words} for words in self._queue], "nextCursor": None})

    def _begin_queued(self) -> None:
        """Begin a turn with the next message of the queue."""
        if self._queue:
            words = self._queue.pop(0)
            self._begin_turn()
            self.do(lambda: self._turn(words, f"queued {words}", queued=True))

    def on_thread_fork(self, key: str | int, params: Json) -> None:
        if not self._unknown(key, params["threadId"]):
            self.session_id = self.new_session("", copied=params["threadId"])
            self._opened(key, params)

    def _unknown(self, key: str | int, name: str) -> bool:
        gone = bool(self.script["forgets"]) or not self.session_file(name).exists()
        if gone:
            self.refuse(key, -32600, f"no rollout found for thread id {name}")
        return gone

    def _opened(self, key: str | int, params: Json) -> None:
        servers = params.get("config", {}).get("mcp_servers", {})
        flat = {k: v for k, v in params.get("config", {}).items() if k.startswith("mcp_servers.")}
        self._servers = [*servers.values(), *flat.values()]
        self.result(key, {"thread": self._thread(), "model": "fake-model"})

    def _thread(self) -> Json:
        about = {"id": self.session_id, "sessionId": self.session_id, "path": str(self._rollout)}
        return {**about, "status": {"type": "idle"}}

    @property
    def _rollout(self) -> Path:
        name = f"rollout-2026-11-22T23-02-17-{self.session_id}.jsonl"
        return self.script.home / ".codex" / "sessions" / "2026" / "11" / "22" / name

    def _record(self, kind: str, **payload: Any) -> None:
        """Write a row into the thread's session file, as far as it is read there."""
        self._rollout.parent.mkdir(parents=True, exist_ok=True)
        with self._rollout.open("ab", buffering=0) as file:
            file.write(json.dumps({"type": kind, "payload": payload}).encode() + b"\n")

    # -- a turn -------------------------------------------------------------------------------

    def on_turn_start(self, key: str | int, params: Json) -> None:
        if self.script["silent"]:
            return
        words = "".join(one.get("text", "") for one in params["input"])
        uuid = params.get("clientUserMessageId", "")
        if self.working:
            self.result(key, {"turn": self._turn_now("inProgress")})
            self._steered(words, uuid)
            return
        self._begin_turn()
        shown = [Path(one["path"]) for one in params["input"] if one["type"] == "localImage"]
        self.images = [base64.b64encode(path.read_bytes()).decode() for path in shown]
        self.result(key, {"turn": self._turn_now("inProgress")})
        self.do(lambda: self._turn(words, uuid))

    def _begin_turn(self) -> None:
        self.working = True
        self._turns += 1
        self._turn_id = f"turn-{self._turns}"

    def on_turn_steer(self, key: str | int, params: Json) -> None:
        if not self.working or params["expectedTurnId"] != self._turn_id:
            self.refuse(key, -32600, "no active turn to steer")
            return
        self.result(key, {"turnId": self._turn_id})
        words = "".join(one.get("text", "") for one in params["input"])
        self._steered(words, params.get("clientUserMessageId", ""))

    def _steered(self, words: str, uuid: str) -> None:
        with self.changed:
            self._client_ids[uuid] = words
            self.steers.append((words, uuid))

    def took(self, uuid: str) -> None:
        self._user(self._client_ids[uuid], uuid)

    def on_turn_interrupt(self, key: str | int, params: Json) -> None:
        self.result(key, {})
        self.stop()

    def _turn(self, words: str, uuid: str, *, queued: bool = False) -> None:
        self._status("active")
        self._notify("turn/started", turn=self._turn_now("inProgress"))
        history = self.history(self.session_id)
        self.keep(words)
        self._user(words, uuid)
        error: Json | None = None
        status = "completed"
        try:
            if queued:  # until somebody stops it, or joins it
                self.wait(lambda: bool(self.steers))
            if self.script["sub_agent"]:
                self._sub_agent(self.script["sub_agent"])
            reply = self.converse(words, history)
        except Ended:
            status = "interrupted"
        else:
            if reply.get("error"):
                status, error = "failed", self._error(reply["error"])
                self._notify("error", error=error, willRetry=False)
            elif reply.get("structured"):
                self.text(json.dumps(reply["structured"]))
        self.working = self.stopping = False
        with self.together():
            for _ in range(2 if self.script["two_ends"] else 1):
                self._notify("turn/completed", turn=self._turn_now(status, error))
            self._status("idle")
            if self.script["goes_on"]:
                self.text("one word more")
            if self._queue:
                self.notify("thread/queue/changed", threadId=self.session_id)
        if status != "interrupted" and self._queue:
            self._begin_queued()

    def _sub_agent(self, command: str) -> None:
        """Be another agent beside this one, in a thread of its own, with a turn of the same id."""
        ours, where = self.session_id, {"parentThreadId": self.session_id, "agentNickname": "Erdos"}
        self.session_id = f"{ours} beside"
        self.notify("thread/started", thread={"id": self.session_id, **where})
        self._notify("turn/started", turn=self._turn_now("inProgress"))
        tool = Tool({"command": command}, "beside")
        self.begin_tool(tool)
        self.allows(tool, self.wait_answer(self.ask(tool)))
        self.end_tool(tool)
        said = {"type": "agentMessage", "id": "beside-said", "text": "words beside"}
        self._item("completed", said)
        self._notify("turn/completed", turn=self._turn_now("completed"))
        self.session_id = ours

    def _error(self, error: Json) -> Json:
        status, kind = error.get("status"), error.get("kind")
        info: Any = "other"
        if kind == "usage_limit_reached":
            info = "usageLimitExceeded"
            limits = {"primary": {"usedPercent": 100, "resetsAt": error["resets_at"]}}
            self.notify("account/rateLimits/updated", rateLimits=limits)
        elif status == 429:
            info = {"responseTooManyFailedAttempts": {"httpStatusCode": 429}}
        elif status == 500:
            info = "internalServerError"
        elif status == 401:
            info = {"httpConnectionFailed": {"httpStatusCode": 401}}
        return {"message": error["message"], "codexErrorInfo": info, "additionalDetails": None}

    def _turn_now(self, status: str, error: Json | None = None) -> Json:
        return {"id": self._turn_id, "items": [], "status": status, "error": error}

    def _notify(self, method: str, **params: Any) -> None:
        told = {"threadId": self.session_id, **params}
        if "turn" not in params:
            told["turnId"] = self._turn_id
        self.notify(method, **told)

    def _status(self, kind: str, *flags: str) -> None:
        status = {"type": kind} if kind == "idle" else {"type": kind, "activeFlags": list(flags)}
        self.notify("thread/status/changed", threadId=self.session_id, status=status)

    # -- in a turn ----------------------------------------------------------------------------

    def _item(self, when: str, item: Json) -> None:
        self._notify(f"item/{when}", item=item)

    def _user(self, words: str, uuid: str) -> None:
        content = [{"type": "text", "text": words, "text_elements": []}]
        about = {"type": "UserMessage", "client_id": uuid}
        self._record("event_msg", type="item_completed", item=about)
        item = {"type": "userMessage", "id": f"user-{uuid}", "clientId": uuid, "content": content}
        self._item("started", item)
        self._item("completed", item)

    def text(self, piece: str) -> None:
        self._said += 1
        item = {"type": "agentMessage", "id": f"msg-{self._said}", "text": ""}
        self._item("started", item)
        self._notify("item/agentMessage/delta", itemId=item["id"], delta=piece)
        self._item("completed", {**item, "text": piece})
        usage = {"inputTokens": 10, "cachedInputTokens": 2, "outputTokens": 5, "totalTokens": 15}
        self._notify("thread/tokenUsage/updated", tokenUsage={"total": usage, "last": usage})
        if len(piece) < 10_000:
            self.keep(piece)

    def _command(self, tool: Tool, status: str, exit_code: int | None) -> Json:
        if tool.own:
            about: Json = {"type": "mcpToolCall", "server": "podium", "tool": tool.own}
            return {**about, "id": tool.id, "status": status, "arguments": tool.args}
        about = {"type": "commandExecution", "command": tool.command, "source": "agent"}
        return {**about, "id": tool.id, "status": status, "exitCode": exit_code}

    def begin_tool(self, tool: Tool) -> None:
        arguments = json.dumps({"cmd": tool.command})
        call = {"name": "exec_command", "call_id": tool.id, "arguments": arguments}
        self._record("response_item", type="function_call", **call)
        self._item("started", self._command(tool, "inProgress", None))

    def ask(self, tool: Tool) -> str | int:
        self._status("active", "waitingOnApproval")
        once = [] if self.script["no_once"] else ["accept"]
        return self.request(
            "item/commandExecution/requestApproval",
            kind="command",
            threadId=self.session_id,
            turnId=self._turn_id,
            itemId=tool.id,
            command=tool.command,
            availableDecisions=[*once, "acceptForSession", "decline", "cancel"],
        )

    def allows(self, tool: Tool, answer: Json) -> bool:
        self.withdraw(answer["id"])
        tool.result = "rejected by user"
        return str(answer.get("result", {}).get("decision", "")).startswith("accept")

    def withdraw(self, request: str | int) -> None:
        self.notify("serverRequest/resolved", threadId=self.session_id, requestId=request)

    def end_tool(self, tool: Tool) -> None:
        status = "failed" if tool.failed else "completed"
        item = self._command(tool, status, 1 if tool.failed else 0)
        if not tool.own:
            item["aggregatedOutput"] = tool.result
        self._item("completed", item)

    def call_own(self, tool: Tool) -> None:
        """Ask for leave as Codex does for each tool of a server, then call it."""
        key = self.request(
            "mcpServer/elicitation/request",
            threadId=self.session_id,
            turnId=self._turn_id,
            serverName="podium",
            mode="form",
            _meta={"codex_approval_kind": "mcp_tool_call", "tool_name": tool.own},
            message=f'Allow the podium MCP server to run tool "{tool.own}"?',
            requestedSchema={"type": "object", "properties": {}},
        )
        answer = self.wait_answer(key)
        if answer.get("result", {}).get("action") == "accept":
            call_over_mcp(tool, self._servers)
        else:
            tool.result, tool.failed = "rejected by user", True

    def retry(self) -> None:
        error = {"message": "Reconnecting... 1/5", "codexErrorInfo": "other"}
        self._notify("error", error=error, willRetry=True)

    def unknown_update(self) -> None:
        self._notify("item/of_tomorrow", deep=[1, None])
