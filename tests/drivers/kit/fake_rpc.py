"""What the two languages of the fake agent that are JSON-RPC have in common."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar, Final

from tests.drivers.kit.fake_agent import Agent, Json, Script

PROMPTS: Final = ("session/prompt", "turn/start")


class Rpc(Agent):
    """Reads requests and notices; a subclass has a method for each that it knows."""

    version: ClassVar[Json] = {}
    """What stands in each line beside the message."""

    def __init__(self, script: Script, arguments: list[str]) -> None:
        super().__init__(script, arguments)
        self._sessions = 0

    # -- sessions, each a file of its words ---------------------------------------------------

    def session_file(self, session_id: str) -> Path:
        """Return the file of a session."""
        return self.script.home / "sessions" / f"{session_id}.jsonl"

    def history(self, session_id: str) -> list[str]:
        """Return what was said in a session."""
        path = self.session_file(session_id)
        return [str(json.loads(line)) for line in path.read_text().splitlines()]

    def keep(self, words: str) -> None:
        """Write something into the session."""
        with self.session_file(self.session_id).open("ab", buffering=0) as file:
            file.write(json.dumps(words).encode() + b"\n")

    def new_session(self, prefix: str, copied: str = "") -> str:
        """Make a session, and return its id."""
        self._sessions += 1
        name = f"{prefix}00000000-0000-4000-8000-{os.getpid():08d}{self._sessions:04d}"
        path = self.session_file(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self.session_file(copied).read_bytes() if copied else b"")
        return name

    # -- messages -----------------------------------------------------------------------------

    def receive(self, message: Json) -> None:
        if "method" not in message:
            self.answered(message["id"], message)
            return
        self._read_late(message)
        known = getattr(self, f"on_{message['method'].replace('/', '_')}", None)
        params = message.get("params") or {}
        if known is None and "id" in message:
            self.unknown_method(message["id"], message["method"])
        elif known is not None and "id" in message:
            known(message["id"], params)
        elif known is not None:
            known(params)

    def _read_late(self, message: Json) -> None:
        words, late = self.script["reads_late"], self.script.home / "late"
        if words and message["method"] in PROMPTS and words in str(message) and late.exists():
            with late.open("rb") as gate:
                gate.read()

    def unknown_method(self, key: str | int, method: str) -> None:
        """Answer a request of a method that nobody knows."""
        if not self.script["no_marks"]:
            self.refuse(key, -32601, f'"Method not found": {method}')

    def send(self, message: Json) -> None:
        """Write a message."""
        self.say({**self.version, **message})

    def notify(self, method: str, **params: Any) -> None:
        """Write a notice."""
        self.send({"method": method, "params": params})

    def result(self, key: str | int, result: Any) -> None:
        """Answer a request."""
        answer: Json = {"id": key, "result": result}
        if self.script["answers_both"]:
            answer["error"] = {"code": -32603, "message": "both at once"}
        for _ in range(2 if self.script["answers_twice"] else 1):
            self.send(answer)

    def refuse(self, key: str | int, code: int, message: str) -> None:
        """Answer a request with an error."""
        self.send({"id": key, "error": {"code": code, "message": message}})

    def request(self, method: str, **params: Any) -> str | int:
        """Ask something of the client; return the id."""
        key = self.request_id()
        self.send({"id": key, "method": method, "params": params})
        return key

    def unknown_request(self) -> str | int:
        return self.request("craft/drainMidTurnQueue", sessionId=self.session_id)
