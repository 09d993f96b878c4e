"""The languages of spoken commands: a file each, ``_data/spoken/CODE.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from podiumd.core.spoken_language import Language, primary, read_language


def spoken_language(tag: str) -> Language | None:
    """The language of a tag (``de-AT``); ``None`` for one that has no spoken commands."""
    return spoken_languages().get(primary(tag))


@cache
def spoken_languages() -> dict[str, Language]:
    """All that ship with Podium, by ISO 639-1 code."""
    files = resources.files("podiumd") / "_data" / "spoken"
    return {
        file.name.removesuffix(".toml"): read_language(tomllib.loads(file.read_text("utf-8")))
        for file in files.iterdir()
        if file.name.endswith(".toml")
    }
