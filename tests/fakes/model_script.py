"""Which scripted turn answers a request: the script's format, checked, and its walk.

A script is a JSON object:

- ``turns``: answers handed out in order, one a model request (a tool call and its follow-up are
  two requests); ``per_session``: true lets every session walk the list from its start;
- ``sessions``: ``{session id: [turns]}``, a list of its own for that session;
- ``rules``: each ``{"when": {field: regex}, ...}`` with either one turn's keys or ``turns``, a
  list that successive matching requests of a session walk through, and then again from its
  start; ``times`` says how often the rule may be used (one walk counts once; absent: no limit).
  The first rule that matches wins, before any list. Fields: ``prompt`` (the last text a person
  sent; requests that only carry tool results keep it), ``result`` (the last tool results),
  ``system``, ``model``, ``session``, ``agent``, ``anywhere`` (every text of the conversation).
  A regex is searched for, with ``.`` matching newlines: write ``^`` to bind it to the start;
- ``side``: the answer to requests that offer no tools (titles, summaries); absent: as any other;
- ``default``: the answer when nothing else is left;
- ``models``: what the server lists as its models, ids or whole objects; absent: none;
- ``key``: the only key that is let in, with 401 for every other; absent: any, or none.

A turn: ``text``, ``thinking``, ``tools`` ([{name, input, id?}], over Responses also ``namespace``,
and ``custom``, a text in place of the input), ``structured`` (a call of the tool StructuredOutput
with this input where it is offered, over Responses a message of its own where a shape is asked
for, else the JSON as the last line of the text), ``failed`` ({code, message}: over Responses the
stream ends with that), ``stop_reason``, ``usage``, ``headers`` (of the response), ``delay``
(seconds before the first byte), ``chunk`` (characters a delta), ``hold`` (a gate's name: stop half
way until it is released), ``never`` (true: not one byte, ever), ``cut`` (true: drop the connection
half way), ``error`` ({status, type, message, headers} in place of a message). Stop reasons and
usage are Anthropic's; where a request comes as chat completions or Responses they are put into
those words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Turn = Mapping[str, Any]

SCRIPT_KEYS = {"turns", "per_session", "sessions", "rules", "side", "default", "models", "key"}
TURN_TYPES: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "thinking": str,
    "tools": list,
    "structured": dict,
    "stop_reason": str,
    "usage": dict,
    "headers": dict,
    "delay": (int, float),
    "chunk": int,
    "hold": str,
    "never": bool,
    "cut": bool,
    "error": dict,
    "failed": dict,
}
ERROR_KEYS = {"status", "type", "message", "headers"}
TOOL_KEYS = {"name", "input", "id", "namespace", "custom"}
WHEN_KEYS = {"prompt", "result", "system", "model", "session", "agent", "anywhere"}
DEFAULT: Turn = {"text": "(nothing scripted)"}


class ScriptError(ValueError):
    """A script that cannot be meant: the text says where and what was expected."""


@dataclass(frozen=True)
class Asked:
    """What a request says that a script or a test may look at."""

    prompt: str
    result: str
    system: str
    model: str
    session: str
    agent: str
    anywhere: str
    tools: tuple[str, ...]
    messages: int


def _only(what: Any, allowed: set[str], where: str) -> None:
    if not isinstance(what, Mapping):
        raise ScriptError(f"{where}: expected an object, got {type(what).__name__}")
    unknown = sorted(set(what) - allowed)
    if unknown:
        raise ScriptError(f"{where}: unknown key {unknown[0]!r} (known: {sorted(allowed)})")


def check_turn(turn: Any, where: str) -> Turn:
    """Return the turn, or raise ScriptError naming the key that is wrong."""
    _only(turn, set(TURN_TYPES), where)
    for key, value in turn.items():
        if not isinstance(value, TURN_TYPES[key]) or (
            isinstance(value, bool) and TURN_TYPES[key] is not bool
        ):
            raise ScriptError(f"{where}.{key}: {value!r} is of the wrong type")
    if "error" in turn:
        _only(turn["error"], ERROR_KEYS, f"{where}.error")
    for index, tool in enumerate(turn.get("tools", ())):
        _only(tool, TOOL_KEYS, f"{where}.tools[{index}]")
        if "name" not in tool:
            raise ScriptError(f"{where}.tools[{index}]: a tool call needs a name")
    if turn.get("chunk", 1) < 1:
        raise ScriptError(f"{where}.chunk: at least 1 character a delta")
    return dict(turn)


def _check_list(turns: Any, where: str) -> list[Turn]:
    if not isinstance(turns, list):
        raise ScriptError(f"{where}: expected a list of turns, got {type(turns).__name__}")
    return [check_turn(turn, f"{where}[{index}]") for index, turn in enumerate(turns)]


@dataclass
class Rule:
    """Turns for the requests that match, and how far each session has walked them."""

    name: str
    when: dict[str, re.Pattern[str]]
    turns: list[Turn]
    times: int | None
    used: int = 0
    at: Counter[str] = field(default_factory=Counter)

    @classmethod
    def checked(cls, raw: Any, where: str) -> Rule:
        _only(raw, set(TURN_TYPES) | {"when", "times", "turns"}, where)
        when = raw.get("when", {})
        _only(when, WHEN_KEYS, f"{where}.when")
        answer = {key: value for key, value in raw.items() if key in TURN_TYPES}
        if "turns" in raw and answer:
            raise ScriptError(f"{where}: 'turns' and {min(answer)!r} exclude each other")
        turns = _check_list(raw["turns"], f"{where}.turns") if "turns" in raw else [answer]
        if not turns:
            raise ScriptError(f"{where}.turns: an empty list answers nothing")
        times = raw.get("times")
        if times is not None and (not isinstance(times, int) or times < 1):
            raise ScriptError(f"{where}.times: {times!r} is no positive count")
        try:
            patterns = {key: re.compile(value, re.DOTALL) for key, value in when.items()}
        except (re.error, TypeError) as error:
            raise ScriptError(f"{where}.when: not a regular expression: {error}") from error
        checked = [check_turn(turn, where) for turn in turns]
        return cls(where, patterns, checked, times)

    def take(self, asked: Asked) -> Turn | None:
        """Return this rule's next turn for the request, or None if it does not answer it."""
        position = self.at[asked.session]
        spent = self.times is not None and self.used >= self.times
        if position == 0 and spent:
            return None
        if not all(p.search(getattr(asked, name)) for name, p in self.when.items()):
            return None
        self.used += position == 0
        self.at[asked.session] = (position + 1) % len(self.turns)
        return self.turns[position]


class Script:
    """A checked script with its state: call ``answer`` once a request, under the caller's lock.

    Raises ScriptError for a key, type or regex that is not in the format above.
    """

    def __init__(self, raw: Mapping[str, Any]) -> None:
        _only(raw, SCRIPT_KEYS, "script")
        self._turns = _check_list(raw.get("turns", []), "turns")
        self._per_session = bool(raw.get("per_session", False))
        self._sessions = {
            session: _check_list(turns, f"sessions[{session}]")
            for session, turns in raw.get("sessions", {}).items()
        }
        self._rules = [
            Rule.checked(rule, f"rules[{index}]") for index, rule in enumerate(raw.get("rules", []))
        ]
        side = raw.get("side")
        self._side = None if side is None else check_turn(side, "side")
        self._default = check_turn(raw.get("default", DEFAULT), "default")
        listed = raw.get("models", [])
        self.models = [{"id": one} if isinstance(one, str) else dict(one) for one in listed]
        self.key = str(raw.get("key", ""))
        self._at: Counter[str] = Counter()

    def answer(self, asked: Asked) -> tuple[str, Turn]:
        """Return where the answer comes from (for the log) and the turn."""
        if self._side is not None and not asked.tools:
            return "side", self._side
        for rule in self._rules:
            turn = rule.take(asked)
            if turn is not None:
                return rule.name, turn
        own = self._sessions.get(asked.session)
        turns = self._turns if own is None else own
        key = asked.session if own is not None or self._per_session else ""
        position = self._at[key]
        if position < len(turns):
            self._at[key] += 1
            return f"turns[{position}]", turns[position]
        return "default", self._default


REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    found = []
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "text":
            found.append(block.get("text", ""))
        elif block.get("type") == "tool_result":
            found.extend(_texts(block.get("content", "")))
    return found


def _spoken(message: Mapping[str, Any]) -> str:
    """The person's words in a user message: its text blocks less the CLI's own reminders."""
    content = message.get("content", "")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = [b.get("text", "") for b in blocks if b.get("type") == "text"]
    return "\n".join(words for text in said if (words := REMINDER.sub("", text).strip()))


def _results(message: Mapping[str, Any]) -> str:
    content = message.get("content", "")
    blocks = content if isinstance(content, list) else []
    found = [_texts([block]) for block in blocks if block.get("type") == "tool_result"]
    return "\n".join(text for texts in found for text in texts)


def read_request(body: Mapping[str, Any], session: str, agent: str, *, chat: bool = False) -> Asked:
    """Reduce the body of a request to what rules and tests look at.

    ``chat``: it is of chat completions, whose system text is the first of its messages.
    """
    messages = body.get("messages", [])
    heads: list[Any] = []
    while chat and messages and messages[0].get("role") == "system":
        heads.append(messages[0].get("content"))
        messages = messages[1:]
    users = [message for message in messages if message.get("role") == "user"]
    prompts = [words for message in users if (words := _spoken(message))]
    told = [body.get("system", []), *heads]
    return Asked(
        prompt=prompts[-1] if prompts else "",
        result=_results(users[-1]) if users else "",
        system="\n".join(text for content in told for text in _texts(content)),
        model=str(body.get("model", "")),
        session=session,
        agent=agent,
        anywhere="\n".join(text for message in messages for text in _texts(message.get("content"))),
        tools=tuple(str(tool.get("name", "")) for tool in body.get("tools") or ()),
        messages=len(messages),
    )


def blocks_of(turn: Turn, number: int, tools: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the content blocks of a turn's message; ``number`` makes tool call ids unique."""
    blocks: list[dict[str, Any]] = []
    if "thinking" in turn:
        blocks.append({"type": "thinking", "thinking": turn["thinking"], "signature": "scripted"})
    calls = list(turn.get("tools", ()))
    text = turn.get("text", "")
    if "structured" in turn:
        if "StructuredOutput" in tools:
            calls.append({"name": "StructuredOutput", "input": turn["structured"]})
        else:
            line = json.dumps(turn["structured"], ensure_ascii=False)
            text = f"{text}\n\n{line}" if text else line
    if text:
        blocks.append({"type": "text", "text": text})
    for index, call in enumerate(calls):
        identity = call.get("id", f"toolu_{number:04}_{index}")
        block = {"id": identity, "name": call["name"], "input": call.get("input", {})}
        blocks.append({"type": "tool_use", **block})
    return blocks
