"""Characters of a name that are invisible, or that make it read otherwise than it is. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

_CATEGORIES: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
# Fillers and selectors, which count as letters and marks.
_FILLERS: Final = frozenset(
    chr(code)
    for code in (
        *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0),
        *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
    )
)
# Joiners, and what has the character before it drawn as a picture: in names of pictures and in
# scripts that are written with them.
_BOUND: Final = frozenset("\u200c\u200d\ufe0f")


def unseen(name: str) -> bool:
    """Return whether a name holds a character that is invisible, or turns the reading around."""
    before = ""
    for character in name:
        strange = character in _FILLERS or unicodedata.category(character) in _CATEGORIES
        if strange and not (character in _BOUND and before > "\x7f"):
            return True
        before = "" if character in _BOUND - {"\ufe0f"} else character
    return False


def escaped(name: str) -> str:
    """Escape a name to ASCII, cut after 60 characters."""
    shown = name[:60].encode("unicode_escape").decode("ascii")
    return f"'{shown}{'...' if len(name) > 60 else ''}'"
