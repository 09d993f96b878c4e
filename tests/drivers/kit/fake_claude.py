"""The fake agent as Claude Code: stream-json, and a session file of its form."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tests.drivers.kit.fake_agent import Agent, Ended, Json, Script, Tool

OWN = "mcp__podium__"
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "manual", "dontAsk", "plan")

UNSPOKEN = frozenset(
    {
        "answers_both",
        "begins_anew",
        "blind",
        "closes_late",
        "mode_refused",
        "no_delete",
        "no_marks",
        "no_once",
        "null_open",
        "queued",
        "replays",
        "replays_late",
        "sub_agent",
        "version",
    }
)
"""Misbehaviour for which the language has no words: it negotiates nothing, replays nothing,
and has one turn at a time."""


class Claude(Agent):
    """Speaks as ``claude -p --input-format stream-json`` does."""

    def __init__(self, script: Script, arguments: list[str]) -> None:
        super().__init__(script, arguments)
        self._forks = "--fork-session" in arguments
        self._resumes = self._option("--resume")
        self.session_id = self._option("--session-id") or self._resumes or ""
        self._allowed = self._list("--allowedTools")
        self._mode = self._option("--permission-mode") or "default"
        self._uuids: list[str] = []
        self._records = 0
        self._greeted = False
        self._own_tools: list[str] = []
        if self._resumes and not self._file(self._resumes).exists():
            os.write(2, f"No conversation found with session ID: {self._resumes}\n".encode())
            os._exit(1)
        if self._mode not in MODES:
            words = f"error: option '--permission-mode <mode>' argument '{self._mode}' is invalid."
            os.write(2, f"{words} Allowed choices are {', '.join(MODES)}.\n".encode())
            os._exit(1)
        model = self._option("--model")
        if model and self.script["model_unknown"]:
            os.write(2, f"There's an issue with the selected model ({model}).\n".encode())
            os._exit(1)

    def _option(self, name: str) -> str:
        at = self.arguments.index(name) + 1 if name in self.arguments else 0
        return self.arguments[at] if at else ""

    def _list(self, name: str) -> list[str]:
        at = self.arguments.index(name) + 1 if name in self.arguments else len(self.arguments)
        return self.arguments[at:]

    # -- the session file ---------------------------------------------------------------------

    def _file(self, session_id: str) -> Path:
        place = re.sub("[^A-Za-z0-9]", "-", str(Path.cwd().resolve()))
        return Path(os.environ["HOME"], ".claude/projects", place, f"{session_id}.jsonl")

    def _history(self) -> list[Json]:
        path = self._file(self._resumes if self._forks else self.session_id)
        return (
            [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        )

    def _record(self, role: str, content: Any, uuid: str = "") -> None:
        path = self._file(self.session_id)
        if self._forks and not path.exists():
            path.write_bytes(self._file(self._resumes).read_bytes())
        path.parent.mkdir(parents=True, exist_ok=True)
        row: Json = {"type": role, "uuid": uuid or self._uuid(), "sessionId": self.session_id}
        row |= {"cwd": str(Path.cwd()), "timestamp": "2026-11-21T20:45:09.728Z"}
        row["message"] = {"role": role, "content": content, "model": "fake"}
        with path.open("ab", buffering=0) as file:
            file.write(json.dumps(row).encode() + b"\n")

    def _uuid(self) -> str:
        self._records += 1
        return f"00000000-0000-4000-8000-{os.getpid():06d}{self._records:06d}"

    # -- what comes ---------------------------------------------------------------------------

    def receive(self, message: Json) -> None:
        match message["type"]:
            case "user":
                self._message(message["uuid"], message["message"]["content"])
            case "control_response":
                response = message["response"]
                self.answered(response["request_id"], response)
            case "control_request":
                self._control(message["request_id"], message["request"])

    def _message(self, uuid: str, content: Any) -> None:
        blocks: list[Json] = content
        if isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        text = "".join(block.get("text", "") for block in blocks)
        images = [block["source"]["data"] for block in blocks if block["type"] == "image"]
        self.images = images or self.images
        if self.script["silent"]:
            return
        if uuid in self._uuids or any(row["uuid"] == uuid for row in self._history()):
            self._life(uuid, "completed")
            self._idle()
        elif self._uuids:
            self._uuids.append(uuid)
            self._life(uuid, "queued")
            with self.changed:
                self.steers.append((text, uuid))
        else:
            self._uuids.append(uuid)
            self.do(lambda: self._turn(uuid, text))

    def _control(self, key: str, request: Json) -> None:
        match request["subtype"]:
            case "interrupt":
                with self.changed:
                    cancelled, self.steers = self.steers, []
                if not self.script["deaf"]:
                    for _, uuid in cancelled:
                        self._uuids.remove(uuid)
                        self._life(uuid, "cancelled")
                self._respond(key)
                self.stop()
            case "end_session" if self.script["stays"] is None:
                self._respond(key)
                os._exit(0)
            case _:
                self._respond(key, hooks_applied=True)

    def _respond(self, key: str, **response: Any) -> None:
        answer = {"subtype": "success", "request_id": key, "response": response}
        for _ in range(2 if self.script["answers_twice"] else 1):
            self.say({"type": "control_response", "response": answer})

    # -- a turn -------------------------------------------------------------------------------

    def _turn(self, uuid: str, text: str) -> None:
        self._greet()
        if self.script["logged_out"]:
            self._life(uuid, "started")
            self._fail({"status": 401, "message": "Not logged in · Please run /login"}, uuid)
            return
        self.say(
            {
                "type": "system",
                "subtype": "init",
                "session_id": self.session_id,
                "cwd": str(Path.cwd()),
                "model": "fake",
                "permissionMode": self._mode,
                "tools": ["Bash", *self._own_tools],
                "claude_code_version": "2.1.328",
            }
        )
        history = [json.dumps(row["message"]["content"]) for row in self._history()]
        self._life(uuid, "started")
        self._record("user", text, uuid)
        try:
            reply = self.converse(text, history)
        except Ended:
            self._result(is_error=True, terminal_reason="aborted_streaming")
        else:
            if reply.get("error"):
                self._fail(reply["error"], uuid)
                return
            self._result(
                result=str(reply.get("text", "")), structured_output=reply.get("structured")
            )
        self._finish(uuid)

    def _finish(self, uuid: str) -> None:
        with self.together():
            for _ in range(2 if self.script["two_ends"] else 1):
                for one in self._uuids if uuid else ():
                    self._life(one, "completed")
                self._idle()
            if self.script["goes_on"]:
                self.text("one word more")

    def _result(self, **fields: Any) -> None:
        used = {"inputTokens": 8, "cacheReadInputTokens": 2, "outputTokens": 5, "costUSD": 0.001}
        self.say(
            {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "terminal_reason": "completed",
                "result": "",
                "uuid": self._uuid(),
                "session_id": self.session_id,
                "permission_denials": [],
                "model_usage_since_last_result": {"fake": used},
                **fields,
            }
        )

    def _fail(self, error: Json, uuid: str) -> None:
        status, words = error.get("status"), f"API Error: {error['message']}"
        if status == 401:
            self.say({"type": "system", "subtype": "api_retry", "error_status": 401, "attempt": 1})
        if error.get("kind") == "usage_limit_reached":
            limit = {"status": "rejected", "resetsAt": error["resets_at"]}
            self.say({"type": "rate_limit_event", "rate_limit_info": limit})
        block = {"type": "text", "text": words}
        message = {"id": "m", "model": "<synthetic>", "role": "assistant", "content": [block]}
        self.say({"type": "assistant", "uuid": self._uuid(), "message": message})
        self._result(
            is_error=True,
            terminal_reason="api_error",
            api_error_status=status,
            api_error=error.get("kind"),
            result=words,
        )
        self._finish(uuid)

    def _life(self, uuid: str, state: str) -> None:
        self.say({"type": "command_lifecycle", "command_uuid": uuid, "state": state})

    def _idle(self) -> None:
        self.say({"type": "system", "subtype": "session_state_changed", "state": "idle"})

    # -- in a turn ----------------------------------------------------------------------------

    def took(self, uuid: str) -> None:
        self._life(uuid, "started")
        self._record("user", f"steer {uuid}", uuid)

    def text(self, piece: str) -> None:
        self._assistant({"type": "text", "text": piece})

    def _assistant(self, block: Json) -> None:
        message = {"id": self._uuid(), "model": "fake", "role": "assistant", "content": [block]}
        self.say({"type": "assistant", "uuid": self._uuid(), "message": message})
        if len(json.dumps(block)) < 10_000:
            self._record("assistant", [block])

    def begin_tool(self, tool: Tool) -> None:
        name = f"{OWN}{tool.own}" if tool.own else tool.name
        given = tool.args if tool.own else {"command": tool.command}
        tool.asks = tool.asks and name not in self._allowed
        self._assistant({"type": "tool_use", "id": tool.id, "name": name, "input": given})

    def _request(self, key: str | int, request: Json) -> str:
        self.say({"type": "control_request", "request_id": str(key), "request": request})
        return str(key)

    def ask(self, tool: Tool) -> str | int:
        name = f"{OWN}{tool.own}" if tool.own else tool.name
        given = {"command": tool.command}
        request = {"subtype": "can_use_tool", "tool_name": name, "input": given}
        return self._request(self.request_id(), {**request, "tool_use_id": tool.id})

    def allows(self, tool: Tool, answer: Json) -> bool:
        decided = answer["response"]
        for update in decided.get("updatedPermissions", ()):
            self._allowed += [rule["toolName"] for rule in update["rules"]]
        if decided["behavior"] == "deny":
            tool.result = decided["message"]
        return bool(decided["behavior"] == "allow")

    def withdraw(self, request: str | int) -> None:
        self.say({"type": "control_cancel_request", "request_id": str(request)})

    def end_tool(self, tool: Tool) -> None:
        block = {"type": "tool_result", "tool_use_id": tool.id, "content": tool.result}
        message = {"role": "user", "content": [{**block, "is_error": tool.failed}]}
        self.say({"type": "user", "uuid": self._uuid(), "message": message})
        self._record("user", message["content"])

    def retry(self) -> None:
        self.say({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10})

    def unknown_update(self) -> None:
        self.say({"type": "of_tomorrow", "content": {"deep": [1, None]}})
        self.say({"type": "system", "subtype": "of_tomorrow"})

    def unknown_request(self) -> str | int:
        return self._request(self.request_id(), {"subtype": "craft/drainMidTurnQueue"})

    # -- Podium's tools -----------------------------------------------------------------------

    def _greet(self) -> None:
        if '"sdk"' not in self._option("--mcp-config"):
            return
        offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        self._call("initialize", offer)
        listed = self._call("tools/list", {})
        self._own_tools = [OWN + tool["name"] for tool in listed["result"]["tools"]]

    def _call(self, method: str, params: Json) -> Json:
        message = {"jsonrpc": "2.0", "id": 5, "method": method, "params": params}
        request = {"subtype": "mcp_message", "server_name": "podium", "message": message}
        key = self._request(f"server {self.request_id()}", request)
        response = self.wait_answer(key)["response"]
        return dict(response["mcp_response"])

    def call_own(self, tool: Tool) -> None:
        meta = {"claudecode/toolUseId": tool.id}
        params = {"name": tool.own, "arguments": tool.args, "_meta": meta}
        result = self._call("tools/call", params)["result"]
        tool.result, tool.failed = result["content"][0]["text"], result["isError"]
