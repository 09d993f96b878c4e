"""Utterances as plain words, and the phrases that they are made of.

Transcribers differ in casing, apostrophes and punctuation; words are compared without them. Accents
count: "sí" is an answer and "si" is not. Characters that an utterance of a few plain words does not
have (brackets, quotes, notes of music, slashes) mark a description of a noise, or a text that is
dictated: no command is read from it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

import msgspec

from podiumd.core.voice.language import Kind, Language, Tokens, tokens

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
