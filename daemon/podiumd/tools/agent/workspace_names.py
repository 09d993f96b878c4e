"""The rules for paths that come from a model, before anything is opened. Pure."""

from __future__ import annotations

import unicodedata

LONGEST_PATH_BYTES, LONGEST_NAME_BYTES = 4095, 255
_SHOWN = 200
# Characters that turn the reading of a name around: what a person allows must be what is done.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def checked_path(path: str) -> str | None:
    """Return what is wrong with a path, as the end of a sentence; nothing is opened yet."""
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "is not valid Unicode"
    if not path.strip():
        return "is empty"
    if len(encoded) > LONGEST_PATH_BYTES:
        return f"has more than {LONGEST_PATH_BYTES} bytes"
    if path == "~" or path.startswith("~/"):
        return "begins with '~', which is not expanded; name it from the working directory"
    if any(_strange(character) for character in path):
        return "holds a control or direction character"
    if any(len(name.encode()) > LONGEST_NAME_BYTES for name in path.split("/")):
        return f"holds a name of more than {LONGEST_NAME_BYTES} bytes"
    return None


def is_git(name: str) -> bool:
    """Return whether some file system takes the name for ``.git``.

    Some ignore case; HFS+ ignores invisible characters; NTFS ignores dots and blanks at the end,
    has streams behind a colon, and knows it as ``git~1``.
    """
    plain = "".join(one for one in name if unicodedata.category(one) != "Cf").casefold()
    return plain.split(":")[0].rstrip(". ") in (".git", "git~1")


def shown(path: str) -> str:
    """Quote a path for a message: on one line, printable, cut where it is long."""
    text = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}..."
    escaped = "".join(
        one.encode("unicode_escape").decode("ascii") if not one.isprintable() else one
        for one in text
    )
    return f"'{escaped}'"


def _strange(character: str) -> bool:
    return character in _DIRECTIONS or unicodedata.category(character) in ("Cc", "Zl", "Zp")
