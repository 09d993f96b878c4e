"""An utterance as plain words, and a language's phrases in the same form.

Transcribers differ in casing, apostrophes and punctuation; words are compared without them.
Accents count: "sí" is an answer and "si" is not. What an utterance of a few plain words does not
have (brackets, quotes, notes of music, slashes) marks a description of a noise, or a text that is
dictated: no command is heard in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

import msgspec

from podiumd.core.spoken_words import DUTCH, ENGLISH, GERMAN, Words
from podiumd.core.spoken_words_romance import FRENCH, ITALIAN, PORTUGUESE, SPANISH

MOST_CHARACTERS: Final = 120
MOST_TOKENS: Final = 16
"""Of a command with all its fillers; what is longer is a sentence."""

_WORDS: Final[dict[str, Words]] = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
}
LANGUAGES: Final = tuple(_WORDS)
"""The languages that have spoken commands, as ISO 639-1 codes."""

_PHRASES: Final = (
    "approve",
    "yes",
    "deny",
    "no",
    "confirm",
    "stop",
    "next",
    "repeat",
    "always",
    "more",
    "retry",
    "go_on",
)

Tokens = tuple[str, ...]

_PLAIN = re.compile(r"[^\W_\d]|[0-9\s.,!;…'’‘\-‐‑¡#]")  # noqa: RUF001 (as transcribers write)
_QUESTION = re.compile(r"[?¿]")
_TOKEN = re.compile(r"[^\W_]+|#")


class Lexicon(msgspec.Struct, frozen=True, kw_only=True):
    """A language's words, ready for comparing.

    ``phrases``: from a phrase's tokens to the command; ``longest`` is the most tokens of one.
    ``numbers`` and ``ordinals`` count from 1; -1 is the last. ``bare`` are the numbers that mean
    nothing else when they stand alone.
    """

    phrases: dict[Tokens, str]
    longest: int
    fillers: frozenset[Tokens]
    nouns: frozenset[str]
    verbs: frozenset[Tokens]
    articles: frozenset[str]
    ones: frozenset[str]
    numbers: dict[str, int]
    bare: frozenset[str]
    ordinals: dict[str, int]


class Utterance(msgspec.Struct, frozen=True):
    """Plain words; ``asks``: there was a question mark."""

    tokens: Tokens
    asks: bool


def primary(language: str) -> str:
    """The language of a tag: ``de`` of ``de-AT``."""
    return re.split(r"[-_]", language.strip().casefold(), maxsplit=1)[0]


@cache
def lexicon(language: str) -> Lexicon | None:
    """The lexicon of a language's code; ``None`` where there is none."""
    words = _WORDS.get(language)
    if words is None:
        return None
    phrases = {
        tokens(phrase): kind for kind in _PHRASES for phrase in getattr(words, kind).split("|")
    }
    numbers = _counted(words.numbers)
    also = {_fold(form) for form in words.articles_too.split("/")}
    digits = {str(number): number for number in range(1, 13)}
    return Lexicon(
        phrases=phrases,
        longest=max(map(len, phrases)),
        fillers=frozenset(map(tokens, words.fillers.split("|"))),
        nouns=_folded(words.nouns.split("|")),
        verbs=frozenset(map(tokens, words.verbs.split("|"))),
        articles=_folded(words.articles.split("|")),
        ones=_folded(words.ones.split("|")),
        numbers=numbers | digits,
        bare=frozenset(numbers.keys() | digits) - also,
        ordinals=_counted(words.ordinals) | {_fold(form): -1 for form in words.last.split("/")},
    )


def utterance(text: str) -> Utterance | None:
    """The plain words of an utterance; ``None`` for what cannot be a command."""
    text = unicodedata.normalize("NFKC", text.replace("…", " ").strip())
    asks = _QUESTION.search(text) is not None
    text = _QUESTION.sub(" ", text)
    if len(text) > MOST_CHARACTERS or _PLAIN.sub("", text):
        return None
    found = tokens(text)
    return Utterance(found, asks) if 0 < len(found) <= MOST_TOKENS else None


def tokens(text: str) -> Tokens:
    """The words of a text as they are compared: case and punctuation do not count."""
    return tuple(_TOKEN.findall(_fold(text)))


def without_fillers(words: Tokens, fillers: frozenset[Tokens]) -> Tokens:
    """The words without the fillers at both ends."""
    while words and (size := _filler(words, fillers)):
        words = words[size:]
    backwards = frozenset(filler[::-1] for filler in fillers)
    while words and (size := _filler(words[::-1], backwards)):
        words = words[:-size]
    return words


def kinds(words: Tokens, lexicon: Lexicon) -> dict[str, int]:
    """How often each kind of phrase occurs when the utterance is nothing but phrases and fillers
    (the longest first); empty when there is anything else in it."""
    found: dict[str, int] = {}
    at = 0
    while at < len(words):
        for size in range(min(lexicon.longest, len(words) - at), 0, -1):
            kind = lexicon.phrases.get(words[at : at + size])
            if kind is not None:
                found[kind] = found.get(kind, 0) + 1
                break
        else:
            size = _filler(words[at:], lexicon.fillers)
            if not size:
                return {}
        at += size
    return found


def _filler(words: Tokens, fillers: frozenset[Tokens]) -> int:
    """How many words at the beginning are a filler; 0: none."""
    return next((size for size in (4, 3, 2, 1) if words[:size] in fillers), 0)


def _counted(forms: str) -> dict[str, int]:
    return {
        _fold(form): number
        for number, one in enumerate(forms.split(), 1)
        for form in one.split("/")
    }


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_fold, words))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())
