"""An agent without a model: it does what a script says, and misbehaves where the script says so.

``python -m tests.drivers.kit.fake_agent --as acp|claude|codex SCRIPT.json -- ARGUMENTS``, with the
standard library alone. The script:

* ``home``: the agent's directory. ``model.jsonl`` in it has a line for each request to the model,
  ``tools.jsonl`` one for each tool that ran, ``answers.jsonl`` one for each answer to a question:
  who looks sees what happened twice.
* ``replies``: what the model says, one reply a request, whichever process makes it. A reply has
  ``text`` (a string, or a list of pieces), ``tools`` (each a ``command``, or ``own`` and ``args``,
  a call of one of Podium's; with ``ask`` false nobody is asked), ``structured``, ``error``
  (``status``, ``message``, ``kind``), ``then``: what happens behind its text: ``hold`` (nothing,
  for ever), ``die``, ``cut`` (it ends within a line), ``retries`` (once, and again when its pipe
  ``again`` is opened).
* ``rules``, in place of ``replies``: a reply is the first one whose ``prompt``, the turn's, and
  ``results``, of the tools just used, are found by the regular expressions that it has for them.
* what it does wrong, by name: see ``QUIRKS``.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

QUIRKS: Final = {
    "exits": "ends with this status before it says anything, its reason on stderr",
    "banner": "a line that is no JSON comes first",
    "version": "speaks this version of its protocol",
    "logged_out": "asks for a login when a session is opened",
    "blind": "takes no images, and says so",
    "model_unknown": "knows no model but its own",
    "mode_refused": "keeps its own mode, whatever it is told",
    "replays": "sends so many updates of the past when it loads a session, and cannot do without",
    "replays_late": "does that after all its answers, behind the mode",
    "null_open": "answers the opening of a session with null",
    "no_delete": "deletes no session",
    "begins_anew": "opens a session that is not there, empty",
    "dribbles": "writes some bytes at a time, also in the middle of a character",
    "unknown_update": "says things that nobody knows",
    "unknown_request": "asks something that nobody knows, and waits for the answer",
    "two_ends": "says twice that it is done",
    "goes_on": "says something more after its end",
    "both_open": "asks about all tools of a reply at once",
    "withdraws": "does not wait for the answer to its question, and goes on without the tool",
    "no_once": "offers no leave for once",
    "request_ids": "the ids of its requests: `zero`, `text`, or the `same` for all",
    "deaf": "hears no interrupt",
    "stays": "does not end when told to",
    "immortal": "ignores SIGTERM",
    "silent": "does not even take up its prompt",
    "leaves": "leaves this command running behind a tool",
    "floods": "writes lines of this many bytes without end",
    "long_line": "writes one line of so many bytes",
    "answers_twice": "answers each request twice",
    "answers_both": "answers with a result and an error",
    "no_marks": "answers no method that it does not know",
    "forgets": "has no session but those of this process",
    "queued": "has these messages in a queue of its own: each begins a turn",
    "sub_agent": "an agent beside it asks about this command, says something, and ends",
    "closes_late": "keeps what was said once its session is closed, behind the pipe of this name",
    "begins_late": "begins with its prompt once the pipe of this name, in its home, is opened",
    "reads_late": "reads a prompt of these words once the pipe `late` in its home is closed",
    "queues": "takes a second prompt beside a running one, for later",
}


class Ended(Exception):
    """The turn is stopped."""


class Script:
    """The script, and the record of what was done by it."""

    def __init__(self, file: str) -> None:
        self._raw: Json = json.loads(Path(file).read_text())
        self.home = Path(self._raw["home"])
        unknown = self._raw.keys() - QUIRKS.keys() - {"home", "replies", "rules"}
        assert not unknown, f"no such misbehaviour: {unknown}"

    def __getitem__(self, quirk: str) -> Any:
        assert quirk in QUIRKS, quirk
        return self._raw.get(quirk)

    def reply(self, **asked: Any) -> Json:
        """Ask the model: note that, and return its next reply."""
        before = self.note("model", asked)
        for rule in self._raw.get("rules", ()):
            told = "\n".join(asked["results"])
            if _fits(rule, "prompt", asked["prompt"]) and _fits(rule, "results", told):
                return dict(rule)
        replies = self._raw.get("replies", ())
        return dict(replies[before]) if before < len(replies) else {"text": "Nothing more."}

    def note(self, book: str, row: Json) -> int:
        """Write a row into a book; return how many it had before."""
        path = self.home / f"{book}.jsonl"
        before = path.read_bytes().count(b"\n") if path.exists() else 0
        with path.open("ab", buffering=0) as file:
            file.write(json.dumps(row).encode() + b"\n")
        return before


def _fits(rule: Json, field: str, words: str) -> bool:
    return re.search(rule.get(field, ""), words, re.DOTALL) is not None


class Tool:
    """One use of a tool; ``result`` is what its model is told."""

    def __init__(self, raw: Json, name: str) -> None:
        self.id = name
        self.name: str = raw.get("name", "Bash")
        self.command: str = raw.get("command", "")
        self.own: str = raw.get("own", "")
        self.args: Json = raw.get("args", {})
        self.asks: bool = raw.get("ask", True)
        self.verdict: str | None = None
        self.result = ""
        self.failed = False


class Agent:
    """What all agents have in common; a language is a subclass. One thread reads, one works."""

    def __init__(self, script: Script, arguments: list[str]) -> None:
        self.script = script
        self.arguments = arguments
        self.session_id = ""
        self.changed = threading.Condition()
        self.stopping = self.working = False
        self.steers: list[tuple[str, str]] = []
        self.images: list[str] = []
        """Those of the prompt, in base64."""
        self.answers: dict[str | int, Json] = {}
        self._asked = 0
        self._used = 0
        self._work: list[Callable[[], None]] = []
        self._child = 0
        self._held: list[bytes] | None = None
        self._writing = threading.RLock()

    # -- a language ---------------------------------------------------------------------------

    def receive(self, message: Json) -> None:
        """Take one line; called by the thread that reads."""
        raise NotImplementedError

    def text(self, piece: str) -> None:
        """Say a piece of the answer."""
        raise NotImplementedError

    def begin_tool(self, tool: Tool) -> None:
        """Say that a tool begins."""
        raise NotImplementedError

    def ask(self, tool: Tool) -> str | int:
        """Ask for leave; return the request's id."""
        raise NotImplementedError

    def allows(self, tool: Tool, answer: Json) -> bool:
        """Return whether the answer to that is a yes."""
        raise NotImplementedError

    def withdraw(self, request: str | int) -> None:
        """Say that no answer is waited for."""
        raise NotImplementedError

    def call_own(self, tool: Tool) -> None:
        """Call one of Podium's tools; its result is the tool's."""
        raise NotImplementedError

    def end_tool(self, tool: Tool) -> None:
        """Say what came of a tool."""
        raise NotImplementedError

    def retry(self) -> None:
        """Say that the model is asked once more."""
        raise NotImplementedError

    def unknown_update(self) -> None:
        """Say something that nobody knows."""
        raise NotImplementedError

    def unknown_request(self) -> str | int:
        """Ask something that nobody knows."""
        raise NotImplementedError

    # -- talking ------------------------------------------------------------------------------

    def say(self, message: Json) -> None:
        """Write one line."""
        self.write(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def write(self, data: bytes) -> None:
        """Write bytes, in pieces where the script says so."""
        if self._held is not None:
            self._held.append(data)
            return
        step = 7 if self.script["dribbles"] else 1 << 20
        left = memoryview(data)
        with self._writing:  # one line after the other: its threads speak at the same time
            while left:
                left = left[os.write(1, left[:step]) :]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all that is said within at once: who reads its beginning may end the agent."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            self.write(b"".join(held))

    def request_id(self) -> str | int:
        """Make the next id of a request of the agent's."""
        self._asked += 1
        if self.script["request_ids"] == "text":
            return f"ask {self._asked}"
        if self.script["request_ids"] == "same":
            return 0
        return self._asked - 1

    def answered(self, request: str | int, answer: Json) -> None:
        """Take the answer to a request; the first one counts."""
        with self.changed:
            self.answers.setdefault(request, answer)
            self.changed.notify_all()

    def wait_answer(self, request: str | int) -> Json:
        """Wait for it."""
        self.wait(lambda: request in self.answers)
        return self.answers[request]

    def wait(self, done: Callable[[], bool]) -> None:
        """Wait until that holds. Raises ``Ended`` when the turn is stopped first."""
        with self.changed:
            self.changed.wait_for(lambda: done() or self.stopping)
        if self.stopping:
            raise Ended

    def stop(self) -> None:
        """Stop the turn, and the tool that runs."""
        if not self.script["deaf"]:
            with self.changed:
                self.stopping = True
                self.changed.notify_all()
            if self._child:
                os.kill(self._child, signal.SIGKILL)

    def do(self, work: Callable[[], None]) -> None:
        """Have the working thread do something."""
        with self.changed:
            self._work.append(work)
            self.changed.notify_all()

    # -- working ------------------------------------------------------------------------------

    def run(self) -> None:
        """Read until the input ends, and do what comes."""
        if self.script["immortal"]:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.script["exits"]:
            os.write(2, b"the fake agent cannot go on\n")
            os._exit(self.script["exits"])
        if self.script["banner"]:
            self.write(b"Welcome to the fake agent!\n")
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            with self.changed:
                self.changed.wait_for(lambda: bool(self._work))
                work = self._work.pop(0)
            work()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            self.receive(json.loads(line))
        os._exit(0)

    def converse(self, prompt: str, history: list[str]) -> Json:
        """Ask the model until it wants no more tools; return its last reply.

        Raises ``Ended`` when the turn is stopped.
        """
        words, told = [prompt], list[str]()
        if (gate := self.script["begins_late"]) is not None:
            with (self.script.home / gate).open("rb"):
                pass
        while True:
            reply = self.script.reply(
                session=self.session_id,
                prompt=prompt,
                words=words,
                images=self.images,
                results=told,
                history=history,
            )
            self._say(reply)
            tools = [self._tool(raw) for raw in reply.get("tools", ())]
            self._use(tools)
            with self.changed:
                words = [text for text, _ in self.steers]
                taken, self.steers = self.steers, []
            for _, uuid in taken:
                self.took(uuid)
            if reply.get("error") or not (tools or words):
                return reply
            told = [tool.result for tool in tools]

    def took(self, uuid: str) -> None:
        """Say that the agent takes up what it was told on the way."""

    def _say(self, reply: Json) -> None:
        if self.script["unknown_update"]:
            self.unknown_update()
        if self.script["unknown_request"]:
            self.wait_answer(self.unknown_request())
        text = reply.get("text", "")
        for piece in [text] if isinstance(text, str) else text:
            if piece:
                self.text(piece)
        match reply.get("then"):
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "cut":
                self.write(b'{"type": "half a li')
                os._exit(0)
            case "retries":
                again = self.script.home / "again"
                os.mkfifo(again)
                self.retry()
                with again.open("rb"):
                    pass
                self.retry()
                self.wait(lambda: False)
            case "hold":
                self.wait(lambda: False)
        while size := self.script["floods"]:
            self.text("x" * size)
        if size := self.script["long_line"]:
            self.write(b'{"method": "' + b"x" * size + b'"}\n')

    def _tool(self, raw: Json) -> Tool:
        self._used += 1
        return Tool(raw, f"call-{os.getpid()}-{self._used}")

    def _use(self, tools: list[Tool]) -> None:
        """Use tools one after the other, or ask about all of them first."""
        asked: list[str | int | None] = []
        if self.script["both_open"]:
            asked = [self._begin(tool) for tool in tools]
        for number, tool in enumerate(tools):
            request = asked[number] if asked else self._begin(tool)
            if request is not None and self.script["withdraws"]:
                self.withdraw(request)
                tool.result, tool.failed = "nobody was asked", True
            elif request is not None and not self._permitted(tool, request):
                tool.failed = True
            elif tool.own:
                self.call_own(tool)
            else:
                self._run(tool)
            self.end_tool(tool)

    def _permitted(self, tool: Tool, request: str | int) -> bool:
        allowed = self.allows(tool, self.wait_answer(request))
        self.script.note("answers", {"command": tool.command, "allowed": allowed})
        return allowed

    def _begin(self, tool: Tool) -> str | int | None:
        self.begin_tool(tool)
        return self.ask(tool) if tool.asks else None

    def _run(self, tool: Tool) -> None:
        self.script.note("tools", {"command": tool.command})
        command = tool.command
        if leaves := self.script["leaves"]:
            command = f"{leaves} >/dev/null 2>&1 & {command}"
        arguments = ["/bin/sh", "-c", command]
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
        self._child = os.posix_spawn("/bin/sh", arguments, os.environ, file_actions=actions)
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        if self.stopping:
            raise Ended
        tool.failed = status != 0
        tool.result = "failed" if tool.failed else "done"


def main() -> None:
    """Speak as the arguments say."""
    from tests.drivers.kit import fake_acp, fake_claude, fake_codex

    _, _, language, file, *rest = sys.argv
    languages: dict[str, type[Agent]] = {
        "acp": fake_acp.Acp,
        "codex": fake_codex.Codex,
        "claude": fake_claude.Claude,
    }
    languages[language](Script(file), rest[1:]).run()


if __name__ == "__main__":
    main()
