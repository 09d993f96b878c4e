"""The fake agent says nothing in a form that the recorded agents have not: else the kit would prove
what no agent does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.drivers.kit.bench import ROOT, calls, command

FIXTURES: Final = ROOT / "tests/fixtures/exchanges"
Json = dict[str, Any]
Shape = set[tuple[str, str]]

PROMPTED: Final[list[Json]] = [
    {"text": "I run it.", "tools": [command("true")]},
    {"text": "Done."},
]


class Talk:
    """A conversation with the fake agent, each line noted as in a recording."""

    def __init__(self, process: subprocess.Popen[bytes], version: Json) -> None:
        self._process = process
        self._version = version
        self.rows: list[Json] = []

    def say(self, *messages: Json) -> None:
        """Say something, in one write."""
        assert self._process.stdin is not None
        lines = [{**self._version, **message} for message in messages]
        self.rows += [{"from": "podium", "line": line} for line in lines]
        self._process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in lines))
        self._process.stdin.flush()

    def hear(self, awaited: Callable[[Json], bool]) -> Json:
        """Listen until the agent says that."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said: Json = json.loads(line)
            self.rows.append({"from": "agent", "line": said})
            if awaited(said):
                return said
        raise EOFError

    def ask(self, key: str, method: str, **params: Any) -> Json:
        """Ask, and wait for the answer."""
        self.say({"id": key, "method": method, "params": params})
        return self.hear(lambda said: said.get("id") == key and "method" not in said)


@contextmanager
def talk(language: str, home: Path, *replies: Json, **quirks: Any) -> Iterator[Talk]:
    """Start the agent."""
    script = home / "script.json"
    script.write_text(json.dumps({"home": str(home), "replies": replies, **quirks}))
    fake = ["-S", "-P", "-m", "tests.drivers.kit.fake_agent", "--as", language, str(script), "--"]
    with subprocess.Popen(
        [sys.executable, *fake],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(home)},
    ) as process:
        yield Talk(process, {"jsonrpc": "2.0"} if language == "acp" else {})
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0


def kinds(rows: list[Json]) -> Iterator[tuple[str, Json]]:
    """Each line of the agent with what it is: by its method, or that which it answers."""
    asked: dict[str, str] = {}
    for row in rows:
        line = row["line"]
        if row["from"] == "podium":
            if "method" in line and "id" in line:
                asked[str(line["id"])] = line["method"]
            continue
        params = line.get("params", {})
        if "method" not in line:
            yield f"answer to {asked[str(line['id'])]}, {'error' in line}", line
        else:
            about = params.get("update", {}).get("sessionUpdate", "")
            about = about or params.get("item", {}).get("type", "")
            yield f"{line['method']} {about}", line


def shape(value: Any, path: str = "") -> Shape:
    """The places in a message and the types that are there."""
    if isinstance(value, dict):
        return {(path, "dict")}.union(*(shape(one, f"{path}.{key}") for key, one in value.items()))
    if isinstance(value, list):
        return {(path, "list")}.union(*(shape(one, f"{path}[]") for one in value))
    return {(path, type(value).__name__)}


def recorded(language: str) -> dict[str, Shape]:
    """What the recorded agents said, by what it was."""
    shapes: dict[str, Shape] = {}
    for file in sorted((FIXTURES / language).glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for kind, line in kinds(rows):
            shapes.setdefault(kind, set()).update(shape(line))
    return shapes


def strange(language: str, rows: list[Json]) -> set[str]:
    """What the fake agent says that nobody has recorded."""
    known = recorded(language)
    return {
        f"{kind}{path}: {name}"
        for kind, line in kinds(rows)
        for path, name in shape(line) - known.get(kind, set())
        if path != ".id"  # ours, or the agent's own to choose
    }


def acp(one: Talk) -> None:
    """Handshake, a prompt in one write with its mark, a question answered, the end."""
    one.ask("init", "initialize", protocolVersion=1)
    session = one.ask("open", "session/new", cwd="/", mcpServers=[])["result"]["sessionId"]
    one.ask("mode", "session/set_mode", sessionId=session, modeId="default")
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
    one.say(
        {"id": "prompt", "method": "session/prompt", "params": prompt},
        {"id": "m:prompt", "method": "_podium/mark", "params": {}},
    )
    asked = one.hear(lambda said: said.get("method") == "session/request_permission")
    outcome = {"outcome": "selected", "optionId": "approve_once"}
    one.say({"id": asked["id"], "result": {"outcome": outcome}})
    one.hear(lambda said: said.get("id") == "prompt")


def codex(one: Talk) -> None:
    """The same in Codex' words, with a steer that comes too late."""
    one.ask("init", "initialize", clientInfo={"name": "podium", "version": "0"})
    one.say({"method": "initialized"})
    thread = one.ask("open", "thread/start", cwd="/")["result"]["thread"]["id"]
    words = [{"type": "text", "text": "go"}]
    about = {"threadId": thread, "input": words}
    turn = one.ask("prompt", "turn/start", clientUserMessageId="u", **about)["result"]["turn"]["id"]
    asked = one.hear(lambda said: str(said.get("method")).endswith("requestApproval"))
    one.say({"id": asked["id"], "result": {"decision": "accept"}})
    one.hear(lambda said: said.get("method") == "turn/completed")
    late = one.ask("late", "turn/steer", expectedTurnId=turn, clientUserMessageId="s", **about)
    assert "no active turn" in late["error"]["message"]


@pytest.mark.parametrize(("language", "converse"), [("acp", acp), ("codex", codex)])
def test_it_says_what_the_recorded_agents_say(
    language: str, converse: Callable[[Talk], None], tmp_path: Path
) -> None:
    with talk(language, tmp_path, *PROMPTED) as one:
        converse(one)
    assert strange(language, one.rows) == set()
    assert (tmp_path / "tools.jsonl").read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("language", "converse", "error"),
    [
        ("acp", acp, {"status": 500, "message": "no"}),
        ("codex", codex, {"status": 429, "message": "slow"}),
    ],
)
def test_it_fails_as_they_do(
    language: str, converse: Callable[[Talk], None], error: Json, tmp_path: Path
) -> None:
    with talk(language, tmp_path, PROMPTED[0], {"error": error}) as one:
        converse(one)
    assert strange(language, one.rows) == set()


def test_a_mark_is_answered_while_it_works_and_in_order(tmp_path: Path) -> None:
    with talk("acp", tmp_path, *PROMPTED) as one:
        acp(one)
    said = [row["line"] for row in one.rows if row["from"] == "agent"]
    answered = [line["id"] for line in said if "id" in line and "method" not in line]
    assert answered.index("m:prompt") < answered.index("prompt")


def test_one_that_answers_no_marks_is_as_silent_as_it_is_told(tmp_path: Path) -> None:
    with talk("acp", tmp_path, *PROMPTED, no_marks=True) as one:
        acp(one)
    said = [row["line"] for row in one.rows if row["from"] == "agent"]
    assert "m:prompt" not in [line.get("id") for line in said]


def test_what_nobody_recorded_is_found(tmp_path: Path) -> None:
    with talk("acp", tmp_path, *PROMPTED, unknown_update=True) as one:
        acp(one)
    assert any("of_tomorrow" in one for one in strange("acp", one.rows))


SERVER: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
    elif asked["method"] == "tools/call":
        text = "Saved " + asked["params"]["arguments"]["value"]
        said = {"content": [{"type": "text", "text": text}]}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


def test_it_calls_a_tool_of_a_server_that_it_is_told_of(tmp_path: Path) -> None:
    server = {"name": "podium", "command": sys.executable, "args": ["-S", "-c", SERVER], "env": []}
    uses = {"tools": [calls("save", value="x")]}
    with talk("acp", tmp_path, uses, {"text": "Done."}) as one:
        one.ask("init", "initialize", protocolVersion=1)
        opened = one.ask("open", "session/new", cwd="/", mcpServers=[server])
        session = opened["result"]["sessionId"]
        prompt = [{"type": "text", "text": "go"}]
        one.ask("prompt", "session/prompt", sessionId=session, prompt=prompt)
    asked = [json.loads(line) for line in (tmp_path / "model.jsonl").read_text().splitlines()]
    assert asked[1]["results"] == ["Saved x"]
