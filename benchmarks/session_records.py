"""The records of made-up Claude Code sessions: the shapes are the real ones, the words are not.

A ``Scribe`` writes one session record by record and keeps the truth about it while it does: what
it counts is what it meant, not what somebody has read back. Nothing here touches a file.
"""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

Record = dict[str, Any]

VERSION = "2.1.328"
MODELS = ("claude-opus-4-1-20250805", "claude-sonnet-4-20250514", "claude-3-5-haiku-20241022")
TOOLS = ("Bash", "Read", "Edit", "Grep", "Write")
FIRST_DAY = datetime(2026, 4, 1, 8, tzinfo=UTC)

BIG_RESULT = 0.012
"""How many of the tool results are of 100 to 300 KB, in sessions that have the room for it."""

_SYLLABLES = ("ka", "ro", "mi", "ten", "sol", "var", "du", "pex", "lin", "or", "sta", "gri", "hum")
_STRANGE = ("naïve", "größer", "señal", "データ", "→", "“so”", "🎻")
_CORPUS_WORDS = 120_000
_RANKS = {"summary": 1, "ai-title": 2, "custom-title": 3}


@cache
def corpus(seed: int) -> str:
    """Make the text that all words are cut from: prose, and lines of code with what JSON escapes.

    One word in two hundred is not ASCII, one in eighteen ends a line.
    """
    rnd = random.Random(f"corpus/{seed}")
    words = ["".join(rnd.choices(_SYLLABLES, k=rnd.randint(1, 4))) for _ in range(3000)]
    words += [f'"{word}"' for word in words[:150]] + [f"{word}\\{word}" for word in words[:40]]
    words += [f"def {word}(self):\n\t" for word in words[:100]] + list(_STRANGE) * 3
    ends = (" ",) * 14 + (", ", ". ", ".\n", "\n")
    chosen = rnd.choices(words, k=_CORPUS_WORDS)
    return "".join(word + rnd.choice(ends) for word in chosen)


def encoded(record: Record) -> bytes:
    """Write a record as the agent does: one line, no spaces, no needless escapes."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def project_directory(path: str) -> str:
    """Name the directory below ``projects`` for a (short, ASCII) working directory."""
    return re.sub("[^A-Za-z0-9]", "-", path)


class Scribe:
    """Writes one session into ``lines`` and counts.

    ``messages`` is the number of messages, ``bad_lines`` that of complete lines that are none of
    JSON, ``title`` the best title so far, ``prompt`` the first words of a person, ``last_at`` the
    last timestamp in the order of the file. ``goal`` is the size that the session is to come to,
    ``tip`` the uuid of the last record of the conversation.
    """

    def __init__(self, seed: int, name: str, cwd: str, day: float) -> None:
        self.random = random.Random(f"{seed}/{name}")
        self.session_id = self._uuid()
        self.cwd = cwd
        self.lines: list[bytes] = []
        self.size = self.messages = self.bad_lines = self.goal = 0
        self.title = self.prompt = self.last_at = ""
        self.now = FIRST_DAY + timedelta(days=day)
        self._text = corpus(seed)
        self._model = self.random.choice(MODELS)
        self.tip: str | None = None
        self._side_tip: str | None = None
        self._rank = 0

    # -- its parts ---------------------------------------------------------------------------

    def head(self, roomy: bool) -> None:
        """What stands before the first prompt; ``roomy`` sessions have all of what is new."""
        self._opaque("queue-operation", operation="enqueue", timestamp=self._time())
        self._opaque("queue-operation", operation="dequeue", timestamp=self._time())
        if roomy:
            for kind in ("environment", "model", "session_context", "date", "skill_listing"):
                self._attach(kind, text=self.words(400))
            self._attach("prompt_snapshot", text=self.words(50_000))
            shape = {"system": [self.words(3000)], "tools": [self.words(1500) for _ in range(12)]}
            self._opaque("api-request-shape", timestamp=self._time(), shape=shape)
        if self.random.random() < 0.1:
            caveat = {"role": "user", "content": "Caveat: what follows was made by a command."}
            self._node("user", False, isMeta=True, message=caveat)

    def turns(self) -> Iterator[None]:
        """Turn after turn without end; each step is one record."""
        while True:
            self.ask(self._spread(160, 1.0, 4000))
            yield
            if self.random.random() < 0.2:
                self._opaque("api-request", querySource="cli", params={"tail": self.words(700)})
            for _ in range(int(self._spread(4, 0.9, 60))):
                yield from self._tool()
            self.answer(self._spread(1000, 0.9, 20_000))
            yield
            self._between_turns()

    def ask(self, size: int) -> None:
        """A person's prompt."""
        text = self.words(size)
        if not self.prompt:
            self.prompt = " ".join(text.split())
        self._node("user", True, message={"role": "user", "content": text})

    def answer(self, size: int) -> None:
        """The model's words."""
        self._say([{"type": "text", "text": self.words(size)}])

    def foot(self) -> None:
        """What the agent leaves at the end of a turn or of its life."""
        self._opaque("last-prompt", lastPrompt=self.prompt[:80], leafUuid=self.tip)
        self._opaque("cost-state", totalCostUSD=0, totalDuration=self.random.randrange(10**6))

    def break_a_line(self) -> None:
        """Leave the fragment that a killed agent leaves: the next one begins with a newline."""
        whole = encoded({"type": "assistant", "uuid": self._uuid(), "text": self.words(900)})
        self.bad_lines += 1
        self._write(whole[: self.random.randint(30, 700)] + b"\n")

    def torn_tail(self) -> bytes:
        """Return the first half of one more line, which nobody may count."""
        whole = encoded({"type": "assistant", "uuid": self._uuid(), "text": self.words(900)})
        return whole[: self.random.randint(20, 700)]

    def sidechain(self, agent_id: str) -> None:
        """One exchange of a sub-agent; in its own file, and in old sessions in the parent's."""
        more = {"isSidechain": True, "agentId": agent_id}
        self.tip, self._side_tip = self._side_tip, self.tip
        self._node("user", False, message={"role": "user", "content": self.words(600)}, **more)
        said = [{"type": "text", "text": self.words(1500)}]
        self._node("assistant", False, message=self._answer(said), **more)
        self.tip, self._side_tip = self._side_tip, self.tip

    # -- words and chance --------------------------------------------------------------------

    def words(self, size: float) -> str:
        """Some text of about ``size`` characters."""
        length = max(1, int(size))
        at = self.random.randrange(len(self._text))
        text = self._text[at : at + length]
        while len(text) < length:
            text += self._text[: length - len(text)]
        return text

    def _spread(self, middle: float, width: float, most: float) -> int:
        return int(min(most, middle * self.random.lognormvariate(0.0, width))) + 1

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def _time(self) -> str:
        """The next timestamp; now and then it is before the last, as in real files."""
        self.now += timedelta(milliseconds=self.random.randint(3, 9000))
        back = timedelta(milliseconds=700) if self.random.random() < 0.03 else timedelta()
        self.last_at = f"{(self.now - back).isoformat(timespec='milliseconds')[:-6]}Z"
        return self.last_at

    # -- records -----------------------------------------------------------------------------

    def _write(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line)

    def _opaque(self, kind: str, **more: Any) -> None:
        self._write(encoded({"type": kind, "sessionId": self.session_id, **more}))

    def _node(self, kind: str, message: bool, /, **more: Any) -> str:
        """A record of the tree; ``message`` says whether it counts as one."""
        own = self._uuid()
        record = {
            "parentUuid": self.tip,
            "isSidechain": False,
            "type": kind,
            **more,
            "uuid": own,
            "timestamp": self._time(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": "main",
        }
        self.tip = own
        self.messages += message
        self._write(encoded(record))
        return own

    def _attach(self, kind: str, **content: Any) -> None:
        self._node("attachment", False, attachment={"type": kind, **content})

    def _answer(self, content: list[Record]) -> Record:
        count = self.random.randrange
        return {
            "id": f"msg_{count(1 << 64):016x}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": count(50),
                "cache_creation_input_tokens": count(5000),
                "cache_read_input_tokens": count(100_000),
                "output_tokens": count(2000),
                "service_tier": "standard",
            },
        }

    def _say(self, content: list[Record]) -> None:
        request = f"req_{self.random.randrange(1 << 64):016x}"
        self._node("assistant", True, message=self._answer(content), requestId=request)

    def _tool(self) -> Iterator[None]:
        if self.random.random() < 0.3:
            thought = {"thinking": self.words(self._spread(600, 0.9, 9000)), "signature": "c2ln"}
            self._say([{"type": "thinking", **thought}])
            yield
        use, tool = f"toolu_{self.random.randrange(1 << 64):016x}", self.random.choice(TOOLS)
        given = {"command": self.words(self._spread(110, 1.1, 9000)), "description": "A step"}
        self._say([{"type": "tool_use", "id": use, "name": tool, "input": given}])
        yield
        big = self.random.random() < BIG_RESULT and self.goal - self.size > 350_000
        size = self.random.randint(100_000, 300_000) if big else self._spread(1600, 1.2, 30_000)
        found = self.words(size)
        result = {"tool_use_id": use, "type": "tool_result", "content": found}
        # The agent keeps what its tool gave beside what the model was told.
        kept = {"stdout": found[: 30_000 if big else None], "stderr": "", "interrupted": False}
        message = {"role": "user", "content": [result]}
        asked = {"sourceToolAssistantUUID": self.tip}
        self._node("user", True, message=message, toolUseResult=kept, **asked)
        yield

    def _between_turns(self) -> None:
        for share, write in self._now_and_then():
            if self.random.random() < share:
                write()

    def _now_and_then(self) -> tuple[tuple[float, Callable[[], None]], ...]:
        return (
            (0.06, lambda: self._name("ai-title", "aiTitle")),
            (0.01, lambda: self._name("custom-title", "customTitle")),
            (0.02, lambda: self._name("summary", "summary")),
            (0.05, self._queue),
            (0.10, self._system),
            (0.02, lambda: self.sidechain("a0d5f1e2")),
            (0.08, self.foot),
        )

    def _name(self, kind: str, key: str) -> None:
        """A title; a person's stands above the model's, and in a rank the last one holds."""
        title = " ".join(self.words(40).split())
        self._opaque(kind, **{key: title})
        if title and _RANKS[kind] >= self._rank:
            self.title, self._rank = title, _RANKS[kind]

    def _queue(self) -> None:
        """A prompt that was sent while the agent worked: an attachment, and yet a message."""
        queued = {"prompt": self.words(80), "source_uuid": self._uuid(), "commandMode": "prompt"}
        self._node("attachment", True, attachment={"type": "queued_command", **queued})

    def _system(self) -> None:
        self._node("system", False, subtype="turn_duration", durationMs=self.random.randrange(9**6))
