"""Words for a terminal: harmless, aligned, coloured only where colours are wanted.

Imports nothing but what the interpreter has loaded already: it is on the way of every command.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import IO

# Agents, recipes and file names may hold anything. Control characters could move the cursor,
# retitle the window or fake a line; the bidirectional ones make a text read otherwise than it is.
_HOSTILE = {
    code: f"\\x{code:02x}"
    for code in (*range(0x20), *range(0x7F, 0xA0))
    if code not in (0x09, 0x0A)
}
_HOSTILE |= {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_HOSTILE |= {code: f"\\u{code:04x}" for code in (0x200E, 0x200F, 0x061C, 0x2028, 0x2029)}

COLOURS = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


def clean(value: object) -> str:
    """Text that cannot drive a terminal: all control characters but newline and tab shown."""
    return str(value).replace("\r\n", "\n").translate(_HOSTILE)


def fold(value: object, width: int = 0) -> str:
    """Clean text on one line, white space folded; over ``width`` characters (0: any) cut."""
    line = clean(" ".join(str(value).split()))
    return line if not width or len(line) <= width else line[: width - 1] + "…"


class Style:
    """Colours for one stream, or none: only on a terminal, never with NO_COLOR or TERM=dumb."""

    def __init__(self, stream: IO[str]) -> None:
        self.terminal = is_terminal(stream)
        self.smart = self.terminal and os.environ.get("TERM", "") not in ("", "dumb")
        self.colours = self.smart and not os.environ.get("NO_COLOR")

    def __call__(self, colour: str, words: str) -> str:
        """``words`` in a colour of ``COLOURS``, or as they are."""
        return f"\x1b[{COLOURS[colour]}m{words}\x1b[0m" if self.colours else words


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at this stream (a closed one is no terminal)."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def columns() -> int:
    """The terminal's width in characters; 0 where standard output is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 0


def short(identifier: object) -> str:
    """The beginning of an id, enough to name it to a person and to the client."""
    return fold(identifier)[:8]


def epoch(stamp: object) -> float | None:
    """Seconds since 1970 of an RFC 3339 UTC time; ``None`` for anything else."""
    try:
        words = str(stamp)
        year, month, day = int(words[0:4]), int(words[5:7]), int(words[8:10])
        hours, minutes = int(words[11:13]), int(words[14:16])
        seconds = float(words[17:].rstrip("Z"))
    except ValueError:
        return None
    # Days from the civil calendar, years counted from March so that a leap day comes last.
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1
    return (days - 719468) * 86400 + hours * 3600 + minutes * 60 + seconds


def ago(stamp: object, now: float | None = None) -> str:
    """A time as people say it: ``3 min ago``; ``-`` where there is none."""
    then = epoch(stamp)
    if then is None:
        return "-"
    seconds = (time.time() if now is None else now) - then
    if seconds < 1:
        return "now"
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds // 86400)} days ago"


def duration(seconds: object) -> str:
    """A length of time: ``4.2 s``, ``3:07``, ``1:02:03``."""
    if not isinstance(seconds, (int, float)):
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{int(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(dollars: object) -> str:
    """US dollars, with more digits where the sum is small; ``-`` where it is unknown."""
    if not isinstance(dollars, (int, float)):
        return "-"
    return f"${dollars:.2f}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.4f}"


def counted(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], width: int = 0) -> str:
    """Aligned columns under headings. With a ``width`` the last column is cut to fit it."""
    lines = [list(headings), *([fold(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    before = sum(widths[:-1]) + 2 * (len(widths) - 1)
    room = max(10, width - before) if width else 0
    shown = []
    for line in lines:
        cells = [cell.ljust(size) for cell, size in zip(line[:-1], widths[:-1], strict=True)]
        shown.append("  ".join([*cells, fold(line[-1], room)]).rstrip())
    return "\n".join(shown) + "\n"


def emit(words: str) -> None:
    """Write to standard output at once."""
    sys.stdout.write(words)
    sys.stdout.flush()


def emit_json(value: object) -> None:
    """One JSON document, on a line of its own."""
    from podium import wire

    emit(wire.encode(value) + "\n")


def tell(words: str) -> None:
    """A word to the person on standard error."""
    sys.stderr.write(words + "\n")
    sys.stderr.flush()
