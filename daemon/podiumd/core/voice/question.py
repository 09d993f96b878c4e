"""The open question as the spoken grammar needs it, and what of it is read aloud."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from podiumd.core.run.facts import QuestionKind
from podiumd.core.run.state import Question, RunState
from podiumd.core.voice.choices import DENYING, own_words
from podiumd.core.voice.language import Language
from podiumd.core.voice.risk import READ_CHARACTERS, Risk, call_risks, inside

READ_TEXT: Final = 400
"""Characters of a question's own text that are read aloud whole."""

_READING: Final = frozenset(
    {"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "read_file", "search"}
)
_CHANGING: Final = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "write_file", "patch"})
_TELLING: Final = ("file_path", "notebook_path", "path", "file", "pattern", "url", "query")
_UNSEEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """An open question. ``tree`` is the absolute path of the working tree; with any of ``risks``
    leave is read back and must be confirmed."""

    question_id: str
    kind: QuestionKind
    text: str
    choices: tuple[tuple[str, str], ...]
    free_text: bool = False
    tool: str | None = None
    input: dict[str, Any] | None = None
    tree: str = "/"
    risks: tuple[Risk, ...] = ()


def asked_of(state: RunState, question: Question) -> Asked:
    """Build a question of a run, with its risks."""
    tree = state.start.working_directory
    risks: tuple[Risk, ...] = ("irreversible",) if _is_irreversible(state, question) else ()
    if question.kind == "approval":
        risks += call_risks(question.tool or "", question.input or {}, tree)
    elif len(question.text) > READ_TEXT and not own_words(question.kind, question.choices):
        risks += ("long",)
    return Asked(
        question_id=question.question_id,
        kind=question.kind,
        text=question.text,
        choices=question.choices,
        free_text=question.free_text,
        tool=question.tool,
        input=question.input,
        tree=tree,
        risks=risks,
    )


def _is_irreversible(state: RunState, question: Question) -> bool:
    """Return whether the answer lets a step do what cannot be taken back: the question's own step,
    or one that an answer to a gate step leads to."""
    recipe = state.recipe
    step = recipe.steps.get(question.step or "") if recipe is not None else None
    if recipe is None or step is None:
        return False
    ahead = [edge.to for edge in step.on.values()] if step.kind == "gate" else []
    return step.irreversible or any(
        recipe.steps[to].irreversible for to in ahead if to in recipe.steps
    )


def say(language: Language, name: str, **filled: str) -> str:
    """Return one of Podium's own phrases."""
    return language.says[name].format(**filled)


def what(asked: Asked, language: Language) -> str:
    """Describe what leave is asked for, as it would be done: the call itself, never the agent's own
    description of it; the question's text where it is about no call."""
    if asked.kind != "approval" or not asked.tool:
        return _sentence(asked.text, language)
    given = asked.input or {}
    command = given.get("command")
    if command is not None:
        words = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        return _cut(words, language, "run")
    told = next((given[name] for name in _TELLING if isinstance(given.get(name), str)), "")
    below = inside(told, asked.tree) if told.startswith("/") else None
    place = "/".join(below) if below else told
    if asked.tool in _CHANGING:
        return _cut(place, language, "change")
    if asked.tool in _READING:
        return _cut(place, language, "read")
    return _cut(f"{asked.tool} {place}", language, "tool")


def question_words(asked: Asked, language: Language) -> str:
    """Return a question as it is read aloud, with what may be answered."""
    return f"{what(asked, language)} {answers(asked, language)}".strip()


def answers(asked: Asked, language: Language) -> str:
    """List what may be answered: ``Say approve, deny or always.``; empty for any text at all."""
    named = [label_of(choice, asked, language) for choice, _label in asked.choices]
    if not named:
        return ""
    *others, last = named
    listed = f"{', '.join(others)} {say(language, 'or')} {last}" if others else last
    return say(language, "say", choices=listed)


def label_of(choice: str, asked: Asked, language: Language) -> str:
    """Return the word that names a choice: the question's own label, or the language's word."""
    label = _UNSEEN.sub(" ", dict(asked.choices).get(choice) or choice).strip()
    if own_words(asked.kind, asked.choices):
        return label
    return language.choices.get(choice.casefold(), label)


def reasons(risks: tuple[str, ...], language: Language) -> str:
    """Return why a confirmation is asked for."""
    return " ".join(say(language, risk) for risk in risks)


def denies(choice: str) -> bool:
    """Return whether an answer lets nothing happen."""
    return choice.casefold() in DENYING


def _cut(words: str, language: Language, name: str) -> str:
    plain = _UNSEEN.sub(" ", words).strip()
    if len(plain) <= READ_CHARACTERS:
        return say(language, name, what=plain)
    return f"{say(language, name, what=plain[:READ_CHARACTERS])} {say(language, 'screen')}"


def _sentence(text: str, language: Language) -> str:
    plain = _UNSEEN.sub(" ", text).strip()
    if len(plain) > READ_TEXT:
        return f"{plain[:READ_TEXT]}… {say(language, 'screen')}"
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."
