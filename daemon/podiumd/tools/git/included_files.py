"""The files that settings of git include, found without opening any that git would wait at.

Git reads them for every request. At one that is a pipe it waits for ever, and so would a git that
is to list what the settings include.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from podiumd.tools.files.plain_file import read_plain
from podiumd.tools.git.pinned_settings import Repository
from podiumd.tools.git.waits import would_wait

MOST_FILES: Final = 100
"""Files of one repository that are looked at."""
_MOST_BYTES: Final = 1024 * 1024
_TOKEN: Final = re.compile(
    rb"""[ \t\r\n]+ | [#;][^\n]*
    | \[ [ \t]* (?P<section>[A-Za-z0-9.-]+) (?: [ \t]+ "(?:\\.|[^"\\])*" )? [ \t]* \]
    | (?P<key>[A-Za-z][A-Za-z0-9-]*) [ \t]*
      (?: = (?P<value> (?: \\(?:.|\n|\r\n) | "(?:\\(?:.|\n)|[^"\\\n])*" | [^"\\\n#;] )* ) )?""",
    re.VERBOSE,
)
_PIECE: Final = re.compile(rb"\\(\r?\n|.)|\"|[^\\\"]+", re.DOTALL)
_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"b": b"\b"}


def included_in(settings: bytes) -> list[bytes]:
    """List the files that a settings file includes under any condition, as it spells them. Pure."""
    if b"include" not in settings.lower():  # most have none
        return []
    found, section, place = list[bytes](), b"", 3 * settings.startswith(b"\xef\xbb\xbf")
    while token := _TOKEN.match(settings, place):
        place = token.end()
        section = (token["section"] or section).lower()
        if (token["key"] or b"").lower() == b"path" and section in (b"include", b"includeif"):
            found.append(_unquoted((token["value"] or b"").strip(b" \t\r")))
    return found


def _unquoted(value: bytes) -> bytes:
    pieces = list[bytes]()
    for piece in _PIECE.finditer(value):
        escaped = piece[1]
        if escaped is None:
            pieces.append(piece[0].replace(b'"', b""))
        elif not escaped.endswith(b"\n"):
            pieces.append(_ESCAPES.get(escaped, escaped))
    return b"".join(pieces)


def waiting_settings(repository: Repository) -> str | None:
    """Find a file at which git would wait in a repository's settings and their includes.

    They are looked at as they are now. Blocks for these files.
    """
    left = [f"{repository.common}/config", f"{repository.directory}/config.worktree"]
    seen = set[str]()
    while left and len(seen) < MOST_FILES:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        if would_wait(path):
            return path
        try:
            included = included_in(read_plain(path, _MOST_BYTES, links=True))
        except OSError:  # nothing is there, or git itself says what is wrong with it
            continue
        left += [_led_to(path, name) for name in included if name and b"\0" not in name]
    return None


def _led_to(path: str, name: bytes) -> str:
    # From git 2.52 on a path may say of itself that it need not be there.
    named = os.fsdecode(name).removeprefix(":(optional)")
    return f"{Path(path).parent / Path(named).expanduser()}"
