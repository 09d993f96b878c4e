"""Words for a terminal: harmless, aligned, coloured only where colours are wanted.

Imports nothing but what the interpreter has loaded already: it is on the way of every command.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import IO

    from podium import protocol

# Agents, recipes and file names may hold anything. Control characters could move the cursor,
# retitle the window or fake a line; the bidirectional ones make a text read otherwise than it is;
# the invisible ones (of no width, fillers, tags, selectors) make two texts look like one, or carry
# words for machines alone.
_HOSTILE = {
    code: f"\\x{code:02x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD)
    if code not in (0x09, 0x0A)
}
_UNSEEN = (
    *(0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810)),
    *(0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070)),
    *(0x3164, *range(0xFE00, 0xFE0E), 0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC)),
)
_HOSTILE |= {code: f"\\u{code:04x}" for code in _UNSEEN}
_HOSTILE |= {
    code: f"\\U{code:08x}"
    for code in (*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE0080))
}

NON_JOINER, JOINER = "\u200c", "\u200d"
"""Part of how some scripts are written, and of pictures; invisible anywhere else."""

WIDENING, FLATTENING = "\ufe0f", "\ufe0e"
"""Has the character before it drawn as a picture, which is two cells wide, or as a letter."""

_CHINESE = (("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"))
_VARIANTS = frozenset(map(chr, range(0xE0100, 0xE01F0)))
"""Ways to write a Chinese character, as in names."""

_BOUND = frozenset((NON_JOINER, JOINER, WIDENING, FLATTENING)) | _VARIANTS
"""Invisible characters that stay where they change the one before them. A row of them behind one
letter could hold any text: of selectors one stays."""

COLOURS = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


def clean(value: object) -> str:
    """Text that cannot drive a terminal, nor hide something in it: what is no character to be
    seen is shown as an escape, all but newline and tab."""
    words = str(value).replace("\r\n", "\n").translate(_HOSTILE)
    return words if words.isascii() or _BOUND.isdisjoint(words) else _bound(words)


def _bound(words: str) -> str:
    """Show those of ``_BOUND`` in the text that change nothing that can be seen."""
    return "".join(
        char if char not in _BOUND or _changes(words, at) else _escape(char)
        for at, char in enumerate(words)
    )


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if char < "\U00010000" else f"\\U{ord(char):08x}"


def _changes(words: str, at: int) -> bool:
    before, after = words[at - 1 : at], words[at + 1 : at + 2]
    if words[at] in (NON_JOINER, JOINER):
        if before > "\x7f" and not before.isalnum() and before not in (NON_JOINER, JOINER):
            return True  # a picture, or the mark that has two letters written as one
        arabic = "\u0600" <= before <= "\u08ff" and "\u0600" <= after <= "\u08ff"
        return words[at] == NON_JOINER and arabic
    if words[at] in _VARIANTS:
        return any(first <= before <= last for first, last in _CHINESE)
    if before in _BOUND:
        return False
    return (before > "\x7f" and not before.isalnum()) or before == "\u2139" or after == "\u20e3"


def fold(value: object, width: int = 0) -> str:
    """Clean text on one line, white space folded; over ``width`` cells (0: any) cut."""
    line = clean(" ".join(str(value).split()))
    return cut(line, width) if width else line


def cut(line: str, width: int) -> str:
    """Cut a clean line to at most ``width`` cells, and at most as many characters."""
    if len(line) <= width and cells(line) <= width:
        return line
    kept = line[: width - 1]
    while cells(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"


def cells(line: str) -> int:
    """Count the cells of a terminal that a clean line takes: rather one too many than too few."""
    return len(line) if line.isascii() else sum(map(_cells_of, line))


def _cells_of(char: str) -> int:
    if char.isascii():
        return 1
    if char in (NON_JOINER, JOINER):
        return 0
    from unicodedata import category, east_asian_width

    if east_asian_width(char) in ("W", "F"):
        return 2
    return 1 if char == WIDENING or category(char) not in ("Mn", "Me") else 0


def folded(line: str, width: int) -> list[str]:
    """Split a clean line into pieces of at most ``width`` cells, without loss; 0: whole."""
    if not width or cells(line) <= width:
        return [line]
    pieces, taken, began = [], 0, 0
    for at, char in enumerate(line):
        size = _cells_of(char)
        if taken + size > width and at > began:
            pieces.append(line[began:at])
            began, taken = at, 0
        taken += size
    return [*pieces, line[began:]]


NARROWEST = 10
"""Columns of a terminal below which nothing is broken any further."""


def wrapped(line: str, width: int, hang: int = 0) -> list[str]:
    """Break a clean line between words, so that no line takes more than ``width`` cells (0: any).

    A word that is longer than a line is broken too. ``hang`` is how far all lines but the first are
    indented; the first keeps the blanks that it begins with. A command of ours that ends the line
    (``answer with: podium ...``) is never broken, for it is to be copied, and one in quotes or
    brackets only where it fits on no line.
    """
    line = line.expandtabs(4)
    if not width or cells(line) <= width:
        return [line]
    width = max(width, NARROWEST)
    hang = min(hang, width // 2)
    words = line.split()
    if "podium " in line:
        from podium import flow

        label, command = flow.parted(line)
        if command:
            *above, last = wrapped(label, width, hang)
            if cells(last) + 1 + cells(command) <= width:
                return [*above, f"{last} {command}"]
            return [*above, last, " " * (hang if cells(command) + hang <= width else 0) + command]
        words = [
            part
            for one in flow.words(line)
            for part in ([one] if cells(one) <= width - hang else one.split())
        ]
    margin = " " * min(len(line) - len(line.lstrip(" ")), width // 2)
    lines, present = [], margin
    for word in words:
        apart, rest = "" if present.isspace() or not present else " ", word
        while cells(present) + len(apart) + cells(rest) > width:
            if cells(rest) > width - hang:  # it fits on no line
                room = width - cells(present) - len(apart)
                first = folded(rest, room)[0] if room > 1 else ""
                if cells(first) <= room:
                    present, rest = present + apart + first, rest[len(first) :]
            lines.append(present.rstrip())
            present, apart = " " * hang, ""
        present += apart + rest
    return [*lines, present] if present.strip() else lines


def flowed(line: str, width: int, hang: int | None = None) -> list[str]:
    """Break a coloured line between words, in lines of at most ``width`` cells (0: any).

    ``hang``: how far all but the first are indented; by default two cells further than the first.
    """
    from podium import flow  # knows colours; loaded only where there may be something to break

    bare = flow.plain(line).expandtabs(4)
    if not width or cells(bare) <= width:
        return [line]
    if hang is None:
        hang = len(bare) - len(bare.lstrip(" ")) + 2
    lines = wrapped(bare, width, hang)
    return lines if bare == line else flow.coloured(lines, line)


def padded(line: str, width: int) -> str:
    """Fill a clean line with blanks up to ``width`` cells."""
    return line + " " * (width - cells(line))


class Style:
    """Colours for one stream, or none: only on a terminal, never with NO_COLOR or TERM=dumb."""

    def __init__(self, stream: IO[str]) -> None:
        self.terminal = is_terminal(stream)
        self.smart = self.terminal and os.environ.get("TERM", "") not in ("", "dumb")
        self.colours = self.smart and not os.environ.get("NO_COLOR")

    def __call__(self, colour: str, words: str) -> str:
        """``words`` in a colour of ``COLOURS``, or as they are."""
        return f"\x1b[{COLOURS[colour]}m{words}\x1b[0m" if self.colours and words else words


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a person looks at this stream (a closed one is no terminal)."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def columns(stream: IO[str] | None = None) -> int:
    """Return the width of the terminal that a stream (standard output) is; 0 where it is none, or
    does not report it."""
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns
    except (OSError, ValueError, AttributeError):
        return 0


def short(identifier: object) -> str:
    """Return the beginning of an id, enough to name it to a person and to the client."""
    return fold(identifier)[:8]


def epoch(stamp: object) -> float | None:
    """Return the seconds since 1970 of an RFC 3339 time; ``None`` for anything else."""
    try:
        words = str(stamp)
        year, month, day = int(words[0:4]), int(words[5:7]), int(words[8:10])
        hours, minutes = int(words[11:13]), int(words[14:16])
        clock, east = _zone(words[17:])
        seconds = float(clock)
    except ValueError:
        return None
    if not (0 <= seconds < 61 and 1 <= month <= 12):
        return None
    # Days from the civil calendar, years counted from March so that a leap day comes last.
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1
    return (days - 719468) * 86400 + hours * 3600 + (minutes - east) * 60 + seconds


def _zone(rest: str) -> tuple[str, int]:
    """Return the seconds of a time, as text, and how many minutes its zone is east of Greenwich."""
    for sign, way in (("+", 1), ("-", -1)):
        clock, found, zone = rest.partition(sign)
        if found:
            hours, _, minutes = zone.partition(":")
            return clock, way * (int(hours) * 60 + int(minutes))
    return rest.rstrip("Zz"), 0


def local(stamp: object) -> str:
    """Format a time on this machine's clock, with its date; what is no time stays as it is."""
    then = epoch(stamp)
    if then is None:
        return fold(stamp, 40)
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(then))
    except (OverflowError, OSError, ValueError):
        return fold(stamp, 40)  # no clock goes that far


def ago(stamp: object, now: float | None = None) -> str:
    """Format a time as people say it: ``3 min ago``; ``-`` where there is none."""
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
    """Format a length of time: ``4.2 s``, ``3:07``, ``1:02:03``."""
    if not isinstance(seconds, (int, float)):
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{int(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(dollars: object) -> str:
    """US dollars, with more digits where the sum is small; ``-`` where no agent tells any."""
    if not isinstance(dollars, (int, float)) or not dollars:
        return "-"
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def count(number: int) -> str:
    """Format a large number in short: ``812``, ``12.3k``, ``4.5M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def tokens(used: protocol.Tokens | protocol.TokensUsed | None) -> str:
    """Format tokens: ``12.3k in (9.8k cached), 812 out``; ``-`` where no agent tells them."""
    if used is None or not (used["read"] or used["written"]):
        return "-"
    cached = f" ({count(used['cached'])} cached)" if used["cached"] else ""
    untold = used.get("untold")
    without = f", {counted(untold, 'turn')} untold" if isinstance(untold, int) and untold else ""
    return f"{count(used['read'])} in{cached}, {count(used['written'])} out{without}"


def price(dollars: object, used: protocol.Tokens | protocol.TokensUsed | None) -> str:
    """Format what was spent: money, tokens, or both, as far as agents tell them."""
    told = tokens(used)
    if told == "-":
        return money(dollars)
    return f"{money(dollars)} · {told}" if dollars else told


def dotted(*parts: str) -> str:
    """Join the parts of a line that tell something, with dots between them."""
    return " · ".join(part for part in parts if part not in ("", "-"))


def counted(number: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


NARROW = 70
"""Columns of a terminal below which no table fits."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], width: int = 0) -> str:
    """Aligned columns under headings; a block a row where the terminal is too narrow for them.

    With a ``width`` the last column is cut to fit it.
    """
    heading, lines = listing(headings, rows, width)
    return "\n".join([heading, *lines] if heading else ["\n\n".join(lines)]) + "\n"


def listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], width: int = 0
) -> tuple[str, list[str]]:
    """Return the parts of ``table``: the heading line, empty where each row is a block, and each
    row."""
    cut_rows = [[fold(cell) for cell in row] for row in rows]
    lines = [list(headings), *cut_rows]
    widths = [max(cells(line[column]) for line in lines) for column in range(len(headings))]
    before = sum(widths[:-1]) + 2 * (len(widths) - 1)
    if width and (width < NARROW or before + 10 > width):
        return "", [block(list(zip(headings, row, strict=True)), width) for row in cut_rows]
    room = width - before if width else 0
    shown = []
    for line in lines:
        filled = [padded(cell, size) for cell, size in zip(line[:-1], widths[:-1], strict=True)]
        shown.append("  ".join([*filled, fold(line[-1], room)]).rstrip())
    return shown[0], shown[1:]


def block(pairs: Sequence[tuple[str, str]], width: int, style: Style | None = None) -> str:
    """List names and their values, one below the other; what is empty is left out."""
    told = [(name, said) for name, said in pairs if said not in ("", "-")] or list(pairs[:1])
    column = max((cells(name) for name, _ in told), default=0) + 2
    lines = []
    for name, said in told:
        head = style("bold", name) if style else name
        if width and column > width // 2:
            lines += [head, *wrapped(f"  {said}", width, 2)]
        else:
            first, *more = wrapped(" " * column + said, width, column)
            lines += [(head + first[cells(name) :]).rstrip(), *more]
    return "\n".join(lines)


def emit(words: str) -> None:
    """Write to standard output at once."""
    sys.stdout.write(words)
    sys.stdout.flush()


def say(words: str) -> None:
    """Write sentences to standard output, at a terminal broken between words; the last without
    its end of line."""
    emit(_broken(words, columns()) + "\n")


def _broken(words: str, width: int) -> str:
    """Clean lines, each in lines of ``width`` cells (0: any) that stand as far in as it does."""
    lines = words.split("\n")
    if not width or all(cells(line.expandtabs(4)) <= width for line in lines):
        return words
    margins = [len(line) - len(line.lstrip(" ")) for line in lines]
    broken = [flowed(line, width, hang) for line, hang in zip(lines, margins, strict=True)]
    return "\n".join(part for parts in broken for part in parts)


def emit_json(value: object) -> int:
    """Print one JSON document, on a line of its own; return the exit code of a command that has
    done so."""
    from podium import wire

    emit(wire.encode(value) + "\n")
    return 0


def report(value: object, words: str, *, json: bool) -> int:
    """Print what a command has done, for programs or for people; return its exit code."""
    if json:
        return emit_json(value)
    say(words)
    return 0


put_away: Callable[[], None] | None = None
"""Takes a live line away that stands on the terminal."""

end_line: Callable[[], None] | None = None
"""Ends the line that stands on the terminal, a prompt for instance."""


def tell(words: str) -> None:
    """Print words to the person on standard error; do nothing where that takes none.

    At a terminal they stand on lines of their own, broken between words.
    """
    if put_away is not None:
        put_away()
    if end_line is not None and is_terminal(sys.stderr):
        end_line()
    try:
        sys.stderr.write(_broken(words, columns(sys.stderr)) + "\n")
        sys.stderr.flush()
    except OSError:
        let_go(2)


def let_go(descriptor: int) -> None:
    """Have all that is still written to an output that takes no more go nowhere: what is left of
    it would fail once more at exit, with words and a status of Python's own."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
