"""The choice of a question that an utterance names: by label, number, ordinal or letter.

Questions of Podium's own (leave for a tool, a gate, a limit, a recovery) are answered with words of
the person's language, so their English labels mean nothing in another one. The options of an
agent's own question, and a gate step's own choices, are named as they are written.
"""

from __future__ import annotations

import re
from typing import Final

from podiumd.core.run.facts import QuestionKind
from podiumd.core.voice.language import Language, Tokens, tokens, without_fillers

Choices = tuple[tuple[str, str], ...]

_MEANT: Final[dict[str, dict[str, str]]] = {
    "approval": {"approve": "allow", "yes": "allow", "deny": "deny", "no": "deny"}
    | {"always": "always"},
    "limit": {"more": "more", "approve": "more", "deny": "stop", "stop": "stop"},
    "recover": {"retry": "retry", "go_on": "continue", "stop": "stop", "deny": "stop"},
}
"""Answer of each kind of phrase, by the kind of question."""

_YES_NO: Final = {"approve": "yes", "yes": "yes", "deny": "no", "no": "no"}

DENYING: Final = frozenset({"deny", "no", "stop"})
"""The answers that let nothing happen."""

_PARENTHESIS = re.compile(r"\([^()]*\)")


def own_words(kind: QuestionKind, choices: Choices) -> bool:
    """Return whether the choices are the question's own, and not Podium's yes and no."""
    if kind in _MEANT:
        return False
    return {choice.casefold() for choice, _label in choices} != {"yes", "no"}


def meant(said: str, kind: QuestionKind, choices: Choices) -> str | None:
    """Return the answer that a kind of phrase (``approve``, ``always``, ...) gives to a question;
    ``None`` where it is no answer to that."""
    wanted = _MEANT.get(kind, _YES_NO).get(said)
    return next((choice for choice, _label in choices if choice.casefold() == wanted), None)


def named(words: Tokens, kind: QuestionKind, choices: Choices, language: Language) -> str | None:
    """Return the choice that the words name; ``None`` for none, or more than one."""
    core = without_fillers(words, language.fillers)
    if own_words(kind, choices):
        labelled = _labelled({words, core, _without_verb(core, language)}, choices, language)
        if labelled is not None:
            return labelled
    number = _number(core, language, bare=own_words(kind, choices))
    if number == -1:
        number = len(choices)
    return choices[number - 1][0] if 0 < number <= len(choices) else None


def _labelled(said: set[Tokens], choices: Choices, language: Language) -> str | None:
    """Return the only choice with that label, or with that label less what stands in parentheses.

    A label of fillers alone ("OK") is what people and noise say anyway: its number names it.
    """
    found = []
    for choice, label in choices:
        forms = {tokens(label), tokens(_PARENTHESIS.sub(" ", label)), tokens(choice)}
        if any(form in said and without_fillers(form, language.fillers) for form in forms):
            found.append(choice)
    return found[0] if len(found) == 1 else None


def _without_verb(words: Tokens, language: Language) -> Tokens:
    """``Postgres`` of ``use Postgres``, ``second one`` of ``I'll take the second one``."""
    for size in (4, 3, 2, 1):
        if words[:size] in language.verbs and len(words) > size:
            return words[size:]
    return words


def _number(words: Tokens, language: Language, *, bare: bool) -> int:
    """Return the number of the choice, from 1; -1: the last; 0: no number is named.

    ``bare``: a number or an ordinal alone will do. Leave for something is never given by the single
    word "one".
    """
    if bare and len(words) == 1:
        return (
            language.numbers[words[0]] if words[0] in language.bare else _ordinal(words, language)
        )
    core = _without_verb(words, language)
    if core and core[0] in language.articles:
        core = core[1:]
        if len(core) == 1:
            return _ordinal(core, language)
    if len(core) == 3 and language.nouns.issuperset(core[:2]):
        core = core[1:]  # "option number two"
    if len(core) != 2:
        return 0
    first, second = core
    if first in language.nouns:
        return _counted(second, language)
    return _ordinal((first,), language) if second in language.ones else 0


def _ordinal(words: Tokens, language: Language) -> int:
    return language.ordinals.get(words[0], 0)


def _counted(word: str, language: Language) -> int:
    """Return the number of a number's word, or of a letter."""
    if len(word) == 1 and "a" <= word <= "z":
        return ord(word) - ord("a") + 1
    return language.numbers.get(word, 0)
