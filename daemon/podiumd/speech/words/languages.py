"""The languages that can be asked for: Whisper's, by their codes. Pure."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Final

import trio

from podiumd.core.voice.language import Language, primary, read_language

_CODES: Final = (
    "af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he "
    "hi hr ht hu hy id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne "
    "nl nn no oc pa pl ps pt ro ru sa sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk "
    "ur uz vi yi yo zh yue"
)
KNOWN: Final = _CODES.replace(" ", ", ")
"""All of them, for people."""

CODES: Final = frozenset(_CODES.split())


_LONGEST_CODE: Final = 3


def primary_of(tag: str | None) -> str | None:
    """Return the code of a language tag, without its region (``en-US`` is ``en``).

    The tag is as phones have it. ``None`` for what is no tag.
    """
    code = (tag or "").replace("_", "-").partition("-")[0].lower()
    return code if code.isascii() and code.isalpha() and len(code) <= _LONGEST_CODE else None


def code_of(tag: str | None) -> str | None:
    """Return the code of a language tag; ``None``, which is to detect it, for an unknown one."""
    code = primary_of(tag)
    return code if code in CODES else None


def spoken_language(tag: str) -> Language | None:
    """Return the language of a tag (``de-AT``); ``None`` for one without spoken commands."""
    return spoken_languages().get(primary(tag))


async def languages_read() -> None:
    """Have the files read, once, in a thread: while they are parsed nothing else would go on."""
    if not spoken_languages.cache_info().currsize:
        await trio.to_thread.run_sync(spoken_languages)


@cache
def spoken_languages() -> dict[str, Language]:
    """Return all that ship with Podium, by ISO 639-1 code.

    Raises:
        ValueError: a file is wrong; the message names it and says what.
    """
    files = resources.files("podiumd") / "_data" / "spoken"
    return {
        file.name.removesuffix(".toml"): _read(file.name, file.read_text("utf-8"))
        for file in files.iterdir()
        if file.name.endswith(".toml")
    }


def _read(name: str, contents: str) -> Language:
    try:
        return read_language(tomllib.loads(contents))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
