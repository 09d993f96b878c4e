"""Spoken summaries of an event or an answer: short, without code, paths or hashes.

Podium's own sentences are English. The words of an agent or a recipe stay in their own language.
"""

from __future__ import annotations

import re
from typing import Final, Protocol, assert_never

from podiumd.core.recipe.exits import Exit
from podiumd.core.run import facts as f

SHORT_CHARACTERS: Final = 240
LONGEST_CHARACTERS: Final = 4000
"""Characters of one answer read out in full: about four minutes."""

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


Unsaid = (
    f.QuietFact
    | f.LoopFact
    | f.RunStarted
    | f.StepEntered
    | f.TurnIntended
    | f.TurnEnded
    | f.ToolUsed
    | f.OutcomeParsed
    | f.OutcomeInvalid
    | f.CheckEnded
    | f.CommandIntended
    | f.CommandEnded
    | f.HookEnded
    | f.ProgressStalled
    | f.QuestionClosed
    | f.SteerIntended
    | f.MessageReceived
    | f.AsideNoted
    | f.RunPaused
    | f.RunResumed
    | f.LimitHit
)
"""What nothing need be said of."""


class Ended(Protocol):
    """The end of a run, as far as its spoken summary needs it."""

    @property
    def kind(self) -> str: ...
    @property
    def recipe(self) -> str | None: ...
    @property
    def step_count(self) -> int: ...


def summary(fact: f.AnyFact, run: Ended | None = None, answer: str = "") -> str:
    """Summarise a fact in one or two sentences; empty where nothing need be spoken.

    Args:
        fact: what has happened.
        run: the run that has ended with it, where that can be read.
        answer: the last words of the run's agent, which report the end of a plain prompt.
    """
    if isinstance(fact, Unsaid):
        return ""
    match fact:
        case f.EdgeTaken():
            return "" if fact.exit else _step(fact)
        case f.QuestionOpened():
            return _question(fact)
        case f.RunParked():
            return "The agent's usage limit is reached. The run goes on when it is over."
        case f.RunEnded():
            return _ended(fact.exit, run, answer)
        case _:
            assert_never(fact)


def _step(edge: f.EdgeTaken) -> str:
    told = short(edge.description or "", 120)
    return f"Step {words(edge.step)} is done: {words(edge.outcome)}. {told}".strip()


def _question(question: f.QuestionOpened) -> str:
    labels = (short(label or choice, 60) for choice, label in question.choices)
    named = [label.rstrip(".") for label in labels if label]
    listed = f" {', '.join(named[:-1])} or {named[-1]}?" if len(named) > 1 else ""
    if question.kind == "approval" and question.tool:
        return f"A question: may the agent use {words(question.tool)}?{listed}"
    return f"A question: {short(question.text)}{listed}".strip()


def _ended(exit: Exit, run: Ended | None, answer: str) -> str:
    if run is not None and run.kind == "prompt" and exit.reason == "turn-complete":
        return short(answer) or "Done."
    parts = [short(exit.message)]
    if run is not None and run.recipe:
        parts.insert(0, f"{words(run.recipe)}:")
    if run is not None and run.step_count > 1:
        parts.append(f"{number(run.step_count)} steps.")
    return " ".join(part for part in parts if part)


def plain(text: str, most: int = LONGEST_CHARACTERS) -> str:
    """Return the prose of an answer as it can be read aloud, at most ``most`` characters of it."""
    text = _ENDLESS.sub("…", _UNSEEN.sub("", text[:_LOOKED_AT]))
    kept = _COMMENT.sub(" ", _FENCED.sub("\n", text))
    lines = [_line(line) for line in kept.splitlines() if not _CODE_LINE.match(line[:1000])]
    return _cut([sentence for line in lines for sentence in _SENTENCE_END.split(line)], most)


def short(text: str, most: int = SHORT_CHARACTERS) -> str:
    """Return the first sentences of an answer, as many as fit into ``most`` characters."""
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
    """Keep a name in back-ticks as it is spoken; replace code by a pause."""
    code = found[1].strip()
    return code if _WORDS_OF_CODE.fullmatch(code) or _PATH.fullmatch(code) else "…"


def _name(found: re.Match[str]) -> str:
    """Return the last part of a path. Two words with a slash between them are words: ``and/or``."""
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
    """Return an identifier as words: ``code-review`` is "code review"."""
    return " ".join(_CAMEL.sub(" ", re.sub(r"[-_:.]+", " ", str(name or ""))).split())


def number(value: int) -> str:
    """Return a count as it is spoken: 52341 is "52 thousand"."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.1f}".removesuffix(".0") + " million"
    if value >= 10_000:
        return f"{value // 1000} thousand"
    return str(value)
