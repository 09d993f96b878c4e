"""The languages of spoken commands, as they ship."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import podiumd
from podiumd.core.voice.language import read_language

FILES = sorted((Path(podiumd.__file__).parent / "_data" / "spoken").glob("*.toml"))


def contents(code: str) -> dict[str, Any]:
    """What a language's file says."""
    [file] = [file for file in FILES if file.stem == code]
    return tomllib.loads(file.read_text())


LANGUAGES = {file.stem: read_language(contents(file.stem)) for file in FILES}
