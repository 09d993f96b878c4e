"""The languages of spoken commands: a file each, ``_data/spoken/CODE.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

import trio

from podiumd.core.voice.language import Language, primary, read_language


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
