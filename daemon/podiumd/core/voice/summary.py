"""What is said aloud of an event or an answer: short, without code, paths or hashes.

Podium's own sentences are English. What an agent or a recipe says stays in its own language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

SHORT_CHARACTERS: Final = 240
LONGEST_CHARACTERS: Final = 4000
"""Of one answer read out in full: about four minutes."""

_LOOKED_AT: Final = 16_000
"""Characters of an answer that are looked at: the patterns below are slow on endless lines."""
_ENDLESS = re.compile(r"\S{200,}")

_FENCED = re.compile(r"(?:^|\n)[ \t]*(```|~~~).*?(?:\n[ \t]*\1[^\n]*|\Z)", re.DOTALL)
_COMMENT = re.compile(r"<!--.{0,2000}?-->|</?[A-Za-z][^<>\n]{0,200}>", re.DOTALL)
_CODE_LINE = re.compile(r"^\s*(?:[{\[<|>$].*|[-=+*_|: ]{3,}|.*[{};]\s*|diff --git.*|@@.*)$")
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+(?:\[[ xX]\]\s+)?)")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{0,500}\)")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://([^\s/?#)>\]]{1,100})[^\s)>\]]*", re.IGNORECASE)
_PATH = re.compile(
    r"(?<![\w/.@+-])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\]?[\w.@+-]+)?(?:[/\\][\w.@+-]+)+[/\\]?"
)
_HASH = re.compile(
    r"\b[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{20,}\b"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"
)
_CODE = re.compile(r"`+([^`\n]{1,200})`+")
_WORDS_OF_CODE = re.compile(r"[\w.-]+(?: [\w.-]+){0,2}")
_EMPHASIS = re.compile(r"(?<![\w*])[*_]{1,3}(?=\S)([^*_\n]{1,300}?)[*_]{1,3}(?![\w*])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JOINED = re.compile(r"(?<=[^\W_])_+(?=[^\W_])")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")  # noqa: RUF001
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_BEFORE_STOP = re.compile(r"\s+([.,;:!?])")
_EMPTY = re.compile(r"\(\s*(?:commit|in|at)?\s*\)|\[\s*\]|\"\s*\"|''")

Json = Mapping[str, Any]


def summary(event: Json, answer: str = "") -> str:
    """One or two sentences about a public event; empty where nothing need be said.

    Args:
        event: the event as clients get it (``type``, ``data``).
        answer: the last words of the run's agent, which the end of a plain prompt is told by.
    """
    data = event.get("data") or {}
    match event.get("type"):
        case "edge.taken" if not data.get("exit"):
            return _step(data)
        case "question.opened":
            return _question(data)
        case "run.parked":
            return "The agent's usage limit is reached. The run goes on when it is over."
        case "run.ended":
            return _ended(data.get("run") or {}, answer)
    return ""


def _step(data: Json) -> str:
    told = short(str(data.get("description") or ""), 120)
    done = f"Step {words(data.get('step'))} is done: {words(data.get('outcome'))}."
    return f"{done} {told}".strip()


def _question(data: Json) -> str:
    labels = (short(str(one.get("label") or one.get("id") or ""), 60) for one in _choices(data))
    named = [label.rstrip(".") for label in labels if label]
    listed = f" {', '.join(named[:-1])} or {named[-1]}?" if len(named) > 1 else ""
    if data.get("kind") == "approval" and data.get("tool"):
        return f"A question: may the agent use {words(data['tool'])}?{listed}"
    asked = short(str(data.get("text") or ""))
    return f"A question: {asked}{listed}".strip()


def _choices(data: Json) -> list[Json]:
    return [one for one in data.get("choices") or () if isinstance(one, Mapping)]


def _ended(run: Json, answer: str) -> str:
    left = run.get("exit") or {}
    message = short(str(left.get("message") or "The run has ended."))
    if run.get("kind") == "prompt" and left.get("reason") == "turn-complete":
        return short(answer) or "Done."
    parts = [f"{words(run.get('recipe'))}:" if run.get("recipe") else "", message]
    steps = run.get("step_count")
    if isinstance(steps, int) and steps > 1:
        parts.append(f"{number(steps)} steps.")
    return " ".join(part for part in parts if part)


def plain(text: str, most: int = LONGEST_CHARACTERS) -> str:
    """The prose of an answer as it can be read aloud, at most ``most`` characters of it."""
    text = _ENDLESS.sub("…", _UNSEEN.sub("", text[:_LOOKED_AT]))
    kept = _COMMENT.sub(" ", _FENCED.sub("\n", text))
    lines = [_line(line) for line in kept.splitlines() if not _CODE_LINE.match(line[:1000])]
    return _cut([sentence for line in lines for sentence in _SENTENCE_END.split(line)], most)


def short(text: str, most: int = SHORT_CHARACTERS) -> str:
    """The first sentences of an answer, as many as fit into ``most`` characters."""
    return plain(text, most)


def _line(line: str) -> str:
    said = _LINK.sub(r"\1", _MARK.sub("", line))
    said = _URL.sub(r"\1", said)
    said = _CODE.sub(_inline, said)
    said = _PATH.sub(_name, said)
    said = _HASH.sub("", said)
    said = _EMPHASIS.sub(r"\1", said)
    said = _CAMEL.sub(" ", _JOINED.sub(" ", said))
    said = _EMPTY.sub("", said.replace("`", "").replace("*", ""))
    said = _BEFORE_STOP.sub(r"\1", " ".join(said.split()))
    return said if not said or said[-1] in ".!?…:;,。！？" else f"{said}."  # noqa: RUF001


def _inline(found: re.Match[str]) -> str:
    """A name in back-ticks is said; of code there is only a pause."""
    code = found[1].strip()
    return code if _WORDS_OF_CODE.fullmatch(code) or _PATH.fullmatch(code) else "…"


def _name(found: re.Match[str]) -> str:
    """The last part of a path. Two words with a slash between them are words: ``and/or``."""
    path = found[0]
    if re.fullmatch(r"[A-Za-z]+/[A-Za-z]+", path):
        return path.replace("/", " ")
    tail = re.split(r"[/\\]", path.rstrip("/\\."))[-1]
    return tail + ("." if path.endswith(".") else "")


def _cut(sentences: list[str], most: int) -> str:
    said = ""
    for sentence in filter(None, sentences):
        longer = f"{said} {sentence}".strip()
        if len(longer) > most:
            break
        said = longer
    if said or not any(sentences):
        return said
    first = next(filter(None, sentences))
    return f"{first[: most - 1].rpartition(' ')[0] or first[: most - 1]}…"


def words(name: object) -> str:
    """An identifier as words: ``code-review`` is "code review"."""
    return " ".join(_CAMEL.sub(" ", re.sub(r"[-_:.]+", " ", str(name or ""))).split())


def number(value: int) -> str:
    """A count as it is said: 52341 is "52 thousand"."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.1f}".removesuffix(".0") + " million"
    if value >= 10_000:
        return f"{value // 1000} thousand"
    return str(value)
