"""The rules for names of uploaded files. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

from podiumd.projects.errors import BadName

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

LONGEST_BYTES = 255  # what the usual file systems take


def checked_name(name: str) -> str:
    """Return the name in NFC, the one form in which it is stored and looked for.

    Raises ``BadName`` for a name that is empty, that could lead elsewhere, that hides, that a
    program could take for an option, or that shows something else than it is.
    """
    # Composing makes a name at most three times as short: one beyond that is not looked at.
    fault = _too_long() if len(name) > 3 * LONGEST_BYTES else None
    name = unicodedata.normalize("NFC", name[: 3 * LONGEST_BYTES])
    fault = fault or _fault(name)
    if fault:
        raise BadName(f"The file name {escaped(name)} {fault}.")
    return name


def _fault(name: str) -> str | None:
    if not name.strip():
        return "is empty"
    if "/" in name or "\\" in name:
        return "holds a path separator; send the name alone"
    if name.startswith("."):
        return "begins with a dot; such files are hidden"
    if name.startswith("-"):
        return "begins with '-', which programs take for an option"
    if name != name.strip():
        return "begins or ends with a blank"
    if unseen(name):
        return "holds a control or invisible character"
    if len(name.encode()) > LONGEST_BYTES:
        return _too_long()
    return None


def _too_long() -> str:
    return f"has more than {LONGEST_BYTES} bytes in UTF-8"


def numbered(name: str, stamp: str, number: int) -> str:
    """Build the name for a file whose own is taken: ``a.txt`` becomes ``a-20260301120000.txt``.

    From the second try on it has a number too. It stays within 255 bytes.
    """
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    added = f"-{stamp}" if number == 1 else f"-{stamp}-{number}"
    tail = f"{added}{dot}{ending}"
    if len(tail.encode()) >= LONGEST_BYTES:  # an ending that long is none
        stem, tail = name, added
    room = LONGEST_BYTES - len(tail.encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip() + tail


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
