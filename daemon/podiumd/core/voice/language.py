"""A language of spoken commands: what people say in it, and what Podium says back.

The words are data, a file a language (``_data/spoken/CODE.toml``); here they are checked and made
ready for comparing.

A command is one of these phrases and nothing else but fillers, so a file lists what people say to
a machine that waits for an answer, and nothing that is a sentence of its own in a conversation.
"Okay", "sure" or "fine" alone are in no list: people say them to each other all day, and
transcribers write them where there was only noise.

An utterance is compared as plain words. Transcribers differ in casing, apostrophes and punctuation;
words are compared without them. Accents count: "sí" is an answer and "si" is not. Characters that
an utterance of a few plain words does not have (brackets, quotes, notes of music, slashes) mark a
description of a noise, or a text that is dictated: no command is read from it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec

Tokens = tuple[str, ...]

Kind = Literal[
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
]
"""Kinds of a phrase."""

PLACEHOLDERS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "approved": "what",
        "denied": "what",
        "chosen": "label",
        "stopped": "",
        "next": "",
        "confirm": "what why",
        "confirm-choice": "label what why",
        "kept": "choices",
        "nothing-open": "",
        "nothing-to-confirm": "",
        "too-late": "",
        "too-soon": "again",
        "no-fit": "choices",
        "say": "choices",
        "or": "",
        "run": "what",
        "read": "what",
        "change": "what",
        "tool": "what",
        "screen": "",
        "irreversible": "",
        "destructive": "",
        "outside": "",
        "opaque": "",
        "unknown": "",
        "long": "",
        "always": "",
        "place": "",
        "short": "",
    }.items()
}
"""Podium's phrases, with places to fill in. A question's own text and labels stay as written."""

CHOICES: Final = frozenset(
    {"allow", "deny", "always", "yes", "no", "more", "stop", "retry", "continue"}
)
"""The answers of Podium's own questions, which a file names in its language."""

_TOKEN = re.compile(r"[^\W_]+|#")
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


class _Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Phrases without punctuation.

    ``yes`` and ``no`` are answers where something was asked, and ordinary words where nothing
    was; ``approve`` and ``deny`` are commands at any time. ``numbers`` and ``ordinals`` are in
    order from one, the forms of one number parted by ``/``; ``last`` are the ordinals of the last
    one. ``articles_too`` are the numbers that are articles as well.
    """

    approve: list[str]
    yes: list[str]
    deny: list[str]
    no: list[str]
    confirm: list[str]
    stop: list[str]
    next: list[str]
    repeat: list[str]
    always: list[str]
    more: list[str]
    retry: list[str]
    go_on: list[str]
    fillers: list[str]
    nouns: list[str]
    verbs: list[str]
    articles: list[str]
    ones: list[str]
    numbers: list[str]
    ordinals: list[str]
    last: list[str]
    articles_too: list[str] = []


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: _Words
    phrases: dict[str, str]
    choices: dict[str, str]


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """A language's words, ready for comparing.

    ``phrases``: from a phrase's tokens to what it is; ``longest`` is the most tokens of one.
    ``numbers`` and ``ordinals`` count from 1; -1 is the last. ``bare`` are the numbers that mean
    nothing else when they stand alone. ``says`` are Podium's own phrases, ``choices`` the words
    that name the answers of its own questions.
    """

    phrases: dict[Tokens, Kind]
    longest: int
    fillers: frozenset[Tokens]
    nouns: frozenset[str]
    verbs: frozenset[Tokens]
    articles: frozenset[str]
    ones: frozenset[str]
    numbers: dict[str, int]
    bare: frozenset[str]
    ordinals: dict[str, int]
    says: dict[str, str]
    choices: dict[str, str]


def read_language(data: Mapping[str, Any]) -> Language:
    """Check the contents of a language's file and make them ready.

    Raises:
        ValueError: something is missing, unknown or of another kind; the message says what.
    """
    file = msgspec.convert(data, _File)
    found = {name: frozenset(_PLACEHOLDER.findall(text)) for name, text in file.phrases.items()}
    if found != PLACEHOLDERS:
        wrong = sorted(
            name
            for name in found.keys() | PLACEHOLDERS.keys()
            if found.get(name) != PLACEHOLDERS.get(name)
        )
        raise ValueError(f"phrases: missing, unknown or with other braces: {', '.join(wrong)}")
    if file.choices.keys() != CHOICES:
        wrong = sorted(file.choices.keys() ^ CHOICES)
        raise ValueError(f"choices: missing or unknown: {', '.join(wrong)}")
    words = file.words
    phrases = _phrases(words)
    numbers = _counted(words.numbers)
    digits = {str(number): number for number in range(1, 13)}
    return Language(
        phrases=phrases,
        longest=max(map(len, phrases)),
        fillers=frozenset(map(tokens, words.fillers)),
        nouns=_folded(words.nouns),
        verbs=frozenset(map(tokens, words.verbs)),
        articles=_folded(words.articles),
        ones=_folded(words.ones),
        numbers=numbers | digits,
        bare=frozenset(numbers.keys() | digits) - _folded(words.articles_too),
        ordinals=_counted(words.ordinals) | dict.fromkeys(_folded(words.last), -1),
        says=file.phrases,
        choices=file.choices,
    )


def _phrases(words: _Words) -> dict[Tokens, Kind]:
    """Map each phrase's tokens to its kind. Raises ``ValueError``: one has no word or two kinds."""
    kinds: tuple[Kind, ...] = get_args(Kind)
    found: dict[Tokens, Kind] = {}
    for kind in kinds:
        for phrase in getattr(words, kind):
            heard = tokens(phrase)
            if not heard:
                raise ValueError(f"words.{kind}: '{phrase}' has no word that is heard")
            if found.setdefault(heard, kind) != kind:
                raise ValueError(f"words: '{phrase}' stands in both {found[heard]} and {kind}")
    return found


def primary(tag: str) -> str:
    """Return the language of a tag: ``de`` of ``de-AT``."""
    return re.split(r"[-_]", tag.strip().casefold(), maxsplit=1)[0]


def tokens(text: str) -> Tokens:
    """Return the words of a text as they are compared: case and punctuation do not count."""
    return tuple(_TOKEN.findall(_fold(text)))


def _counted(forms: Iterable[str]) -> dict[str, int]:
    return {_fold(form): number for number, one in enumerate(forms, 1) for form in one.split("/")}


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_fold, words))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())


MOST_CHARACTERS: Final = 120
MOST_TOKENS: Final = 16
"""Limits of a command with all its fillers; a longer text is a sentence."""

_PLAIN = re.compile(r"[^\W_\d]|[0-9\s.,!;…'’‘\-‐‑¡#]")  # noqa: RUF001 (as transcribers write)
_QUESTION = re.compile(r"[?¿]")


class Utterance(msgspec.Struct, frozen=True):
    """Plain words; ``asks``: there was a question mark."""

    tokens: Tokens
    asks: bool


def utterance(text: str) -> Utterance | None:
    """Return the plain words of an utterance; ``None`` for what cannot be a command."""
    text = unicodedata.normalize("NFKC", text.replace("…", " ").strip())
    asks = _QUESTION.search(text) is not None
    text = _QUESTION.sub(" ", text)
    if len(text) > MOST_CHARACTERS or _PLAIN.sub("", text):
        return None
    found = tokens(text)
    return Utterance(found, asks) if 0 < len(found) <= MOST_TOKENS else None


def without_fillers(words: Tokens, fillers: frozenset[Tokens]) -> Tokens:
    """Return the words without the fillers at both ends."""
    while words and (size := _filler(words, fillers)):
        words = words[size:]
    backwards = frozenset(filler[::-1] for filler in fillers)
    while words and (size := _filler(words[::-1], backwards)):
        words = words[:-size]
    return words


def kinds(words: Tokens, language: Language) -> dict[Kind, int]:
    """Count the kinds of phrases in an utterance of nothing but phrases and fillers.

    The longest phrase is taken first. Empty when there is anything else in it.
    """
    found: dict[Kind, int] = {}
    at = 0
    while at < len(words):
        for size in range(min(language.longest, len(words) - at), 0, -1):
            kind = language.phrases.get(words[at : at + size])
            if kind is not None:
                found[kind] = found.get(kind, 0) + 1
                break
        else:
            size = _filler(words[at:], language.fillers)
            if not size:
                return {}
        at += size
    return found


def _filler(words: Tokens, fillers: frozenset[Tokens]) -> int:
    """Return how many words at the beginning are a filler; 0: none."""
    return next((size for size in (4, 3, 2, 1) if words[:size] in fillers), 0)
