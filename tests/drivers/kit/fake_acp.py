"""The fake agent as one that speaks the Agent Client Protocol, version 1."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.drivers.kit.fake_agent import Ended, Json, Tool
from tests.drivers.kit.fake_mcp import call_over_mcp
from tests.drivers.kit.fake_rpc import Rpc

UNSPOKEN = frozenset({"queued", "sub_agent"})
"""Misbehaviour for which the language has no words: a session has one turn, and its prompt is ours.
"""

MODES = ("default", "plan", "auto")
OPTIONS = (
    {"optionId": "approve_once", "name": "Approve once", "kind": "allow_once"},
    {"optionId": "approve_always", "name": "Approve for this session", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)


class Acp(Rpc):
    """Speaks as the agents do that were recorded, kimi above all."""

    version: ClassVar[Json] = {"jsonrpc": "2.0"}

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._mode = "auto" if self.script["mode_refused"] else "default"
        self._model = "m"
        self._servers: list[Json] = []
        self._unwritten: list[str] = []
        self._behind = False
        """The past of the session that it has opened is still to be sent."""

    # -- the handshake ------------------------------------------------------------------------

    def on_initialize(self, key: str | int, params: Json) -> None:
        version = self.script["version"]
        sessions: Json = {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}}
        if self.script["replays"]:  # who goes on without its past sends nothing of it
            del sessions["resume"]
        if self.script["no_delete"]:
            del sessions["delete"]
        self.result(
            key,
            {
                "protocolVersion": 1 if version is None else version,
                "agentInfo": {"name": "fake", "title": "Fake", "version": "1"},
                "agentCapabilities": {
                    "loadSession": True,
                    "promptCapabilities": {
                        "image": not self.script["blind"],
                        "audio": False,
                        "embeddedContext": True,
                    },
                    "sessionCapabilities": sessions,
                    "mcpCapabilities": {"http": True, "sse": True},
                },
                "authMethods": [{"id": "login", "type": "terminal", "name": "Log in"}],
            },
        )

    def _refused(self, key: str | int) -> bool:
        if self.script["logged_out"]:
            self.refuse(key, -32000, "Authentication required")
        return bool(self.script["logged_out"])

    def on_session_new(self, key: str | int, params: Json) -> None:
        if not self._refused(key):
            self.session_id = self.new_session("session_")
            self._servers = params.get("mcpServers", [])
            self.result(key, {"sessionId": self.session_id, **self._options()})

    def on_session_fork(self, key: str | int, params: Json) -> None:
        if not self._unknown(key, params):
            self.session_id = self.new_session("session_", copied=params["sessionId"])
            self._servers = params.get("mcpServers", [])
            self.result(key, {"sessionId": self.session_id, **self._options()})

    def on_session_delete(self, key: str | int, params: Json) -> None:
        self.session_file(params["sessionId"]).unlink()
        self.result(key, {})

    def keep(self, words: str) -> None:
        if self.script["closes_late"]:
            self._unwritten.append(words)
        else:
            super().keep(words)

    def on_session_close(self, key: str | int, params: Json) -> None:
        if self.script["closes_late"]:
            self.script.note("closing", params)
            self.do(lambda: self._close_late(key))
        elif not self.script["stays"]:
            self.result(key, {})

    def _close_late(self, key: str | int) -> None:
        with (self.script.home / self.script["closes_late"]).open("rb") as gate:
            gate.read(1)
        for words in self._unwritten:
            super().keep(words)
        self.result(key, {})

    def on_session_load(self, key: str | int, params: Json) -> None:
        if not self._unknown(key, params):
            self._behind = bool(self.script["replays_late"])
            if not self._behind:
                self._replay()
            self._opened(key, params)

    def on_session_resume(self, key: str | int, params: Json) -> None:
        if not self._unknown(key, params):
            self._opened(key, params)

    def _unknown(self, key: str | int, params: Json) -> bool:
        name = params["sessionId"]
        if self.script["begins_anew"]:
            self.session_file(name).touch()
        gone = bool(self.script["forgets"]) or not self.session_file(name).exists()
        if not self._refused(key) and gone:
            self.refuse(key, -32602, f"Session not found: {name}")
        self.session_id = name
        return gone or bool(self.script["logged_out"])

    def _opened(self, key: str | int, params: Json) -> None:
        self._servers = params.get("mcpServers", [])
        self.result(key, None if self.script["null_open"] else self._options())

    def _replay(self) -> None:
        for number in range(self.script["replays"] or 0):
            self.text(f"the past {number} ")

    def _options(self) -> Json:
        return {
            "configOptions": [
                self._option("model", self._model, ("m",)),
                self._option("mode", self._mode, MODES),
            ],
            "modes": {
                "currentModeId": self._mode,
                "availableModes": [{"id": mode, "name": mode.title()} for mode in MODES],
            },
        }

    def _option(self, name: str, current: str, values: tuple[str, ...]) -> Json:
        options = [{"value": value, "name": value} for value in values]
        about = {"type": "select", "id": name, "name": name.title(), "category": name}
        return {**about, "currentValue": current, "options": options}

    def on_session_set_mode(self, key: str | int, params: Json) -> None:
        self._set("mode", params["modeId"])
        self.result(key, {})
        self._update("current_mode_update", currentModeId=self._mode)

    def on_session_set_config_option(self, key: str | int, params: Json) -> None:
        if params["configId"] == "model" and params["value"] != self._model:
            self.refuse(key, -32602, f"no such model: {params['value']}")
            return
        self._set(params["configId"], params["value"])
        self.result(key, self._options())
        if self._behind:
            self._replay()

    def _set(self, what: str, value: str) -> None:
        if what == "mode" and not self.script["mode_refused"]:
            self._mode = value

    # -- a turn -------------------------------------------------------------------------------

    def on_session_prompt(self, key: str | int, params: Json) -> None:
        if self.script["silent"]:
            return
        if self.working and not self.script["queues"]:
            self.refuse(key, -32600, "Invalid request: another turn is already in progress")
            return
        self.working = True
        words = "".join(block.get("text", "") for block in params["prompt"])
        self.images = [one["data"] for one in params["prompt"] if one["type"] == "image"]
        history = self.history(self.session_id)
        self.keep(words)  # before the next line is read: a prompt that has arrived is not lost
        self.do(lambda: self._turn(key, words, history))

    def _turn(self, key: str | int, words: str, history: list[str]) -> None:
        try:
            reply = self.converse(words, history)
        except Ended:
            self._over(key, "cancelled")
            return
        if error := reply.get("error"):
            code = -32000 if error.get("status") == 401 else -32603
            self.working = False
            self.refuse(key, code, error["message"])
        else:
            self._over(key, "end_turn")

    def _over(self, key: str | int, reason: str) -> None:
        self.working = False
        with self.together():
            for _ in range(2 if self.script["two_ends"] else 1):
                usage = {"inputTokens": 10, "cachedReadTokens": 2, "outputTokens": 5}
                self.result(key, {"stopReason": reason, "usage": usage})
            self._update("usage_update", used=15, size=100000)
            if self.script["goes_on"]:
                self.text("one word more")

    def on_session_cancel(self, params: Json) -> None:
        self.stop()

    # -- in a turn ----------------------------------------------------------------------------

    def _update(self, what: str, **fields: Any) -> None:
        update = {"sessionUpdate": what, **fields}
        self.notify("session/update", sessionId=self.session_id, update=update)

    def text(self, piece: str) -> None:
        self._update("agent_message_chunk", content={"type": "text", "text": piece})
        if len(piece) < 10_000 and self.working:
            self.keep(piece)

    def begin_tool(self, tool: Tool) -> None:
        if tool.own:
            self._call(tool, title=tool.own, kind="other", rawInput=tool.args)
        else:
            self._call(tool, title="Bash", kind="execute", rawInput={"command": tool.command})

    def _call(self, tool: Tool, **fields: Any) -> None:
        self._update("tool_call", toolCallId=tool.id, status="pending", content=[], **fields)

    def ask(self, tool: Tool) -> str | int:
        options = [one for one in OPTIONS if one["kind"] != "allow_once"]
        call: Json = {"toolCallId": tool.id, "title": f"Running: {tool.command}"}
        call |= {"kind": "execute", "rawInput": {"command": tool.command}}
        return self.request(
            "session/request_permission",
            sessionId=self.session_id,
            options=options if self.script["no_once"] else list(OPTIONS),
            toolCall=call,
        )

    def allows(self, tool: Tool, answer: Json) -> bool:
        outcome = answer.get("result", {}).get("outcome", {})
        tool.result = "the person said no"
        return str(outcome.get("optionId", "")).startswith("approve")

    def withdraw(self, request: str | int) -> None:
        self.notify("$/cancel_request", requestId=request)

    def end_tool(self, tool: Tool) -> None:
        status = "failed" if tool.failed else "completed"
        content = [{"type": "content", "content": {"type": "text", "text": tool.result}}]
        self._update("tool_call_update", toolCallId=tool.id, status=status, content=content)

    def call_own(self, tool: Tool) -> None:
        call_over_mcp(tool, self._servers)

    def retry(self) -> None:
        self._update("usage_update", used=15, size=100000)

    def unknown_update(self) -> None:
        self._update("of_tomorrow", deep=[1, None])
        self.notify("_fake/of_tomorrow", deep=[1, None])
