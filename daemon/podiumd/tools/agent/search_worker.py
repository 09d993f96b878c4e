"""Searches without ripgrep, in a process that can be ended: an expression can take for ever.

Reads names, each ended by NUL, from its input, or walks the directory it runs in where there are
none, and writes ``path NUL line:`` for each line that matches. Little
more than the standard library is loaded.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator

from podiumd.tools.files.walk import walk

_BOM = b"\xef\xbb\xbf"
MOST_OF_A_FILE = 201
"""One more than is shown of all: more cannot be needed."""
LARGEST_BYTES = 16 * 1024 * 1024


def glob_expression(pattern: str) -> re.Pattern[str]:
    """Compile a glob to an expression for a path from the root.

    ``*`` and ``?`` stop at a ``/``, ``**`` does not, ``[...]`` and ``{a,b}`` are choices. A glob
    without a ``/`` (but for one at its front) matches the last name alone.
    """
    anywhere = "/" not in pattern
    text = pattern.removeprefix("/")
    out = [r"(?:.*/)?"] if anywhere else []
    depth = at = 0
    while at < len(text):
        rest, char = text[at:], text[at]
        bracket = re.match(r"\[([!^]?)(\]?[^\]]*)\]", rest)
        if rest.startswith("**/"):
            out.append(r"(?:.*/)?")
            at += 2
        elif rest.startswith("**"):
            out.append(".*")
            at += 1
        elif char in "*?":
            out.append("[^/]*" if char == "*" else "[^/]")
        elif bracket:
            inside = re.sub(r"([\\\[&~|])", r"\\\1", bracket[2])
            out.append(f"[{'^' if bracket[1] else ''}{inside}]")
            at += bracket.end() - 1
        elif char == "{":
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(char))
        at += 1
    return re.compile("".join(out) + ")" * depth, re.DOTALL)


def wanted(pattern: str) -> Callable[[str], bool]:
    """Build a test for the paths to search; a pattern that begins with ``!`` excludes paths."""
    if not pattern:
        return lambda path: True
    left_out = pattern.startswith("!")
    expression = glob_expression(pattern.removeprefix("!"))
    return lambda path: (expression.fullmatch(path) is None) == left_out


def walked() -> Iterator[str]:
    """Yield all files below the current directory; links are not followed."""
    for directory, names, files in walk("."):
        names[:] = sorted(name for name in names if name.casefold() != ".git")
        for name in sorted(files):
            yield os.path.join(directory, name)[2:]  # noqa: PTH118 - a Path is slow in the thousands


def matches(path: str, expression: re.Pattern[str]) -> Iterator[int]:
    """Yield the numbers of the lines that match, from 1; none for what is not a plain text file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES:
                return
            data = file.read(LARGEST_BYTES)
    except OSError:
        return
    if b"\0" in data[:8192]:
        return
    found = 0
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if expression.search(line.removesuffix(b"\r").decode("utf-8", "replace")):
            yield number
            found += 1
            if found == MOST_OF_A_FILE:
                return


def main() -> None:
    """Search as the arguments say: kind, query, pattern."""
    kind, query, pattern = sys.argv[1:4]
    expression = re.compile(query if kind == "regex" else re.escape(query))
    listing = sys.stdin.buffer.read()
    names = (os.fsdecode(one) for one in listing.split(b"\0") if one) if listing else walked()
    chosen = wanted(pattern)
    for path in names:
        if chosen(path):
            for number in matches(path, expression):
                sys.stdout.buffer.write(os.fsencode(path) + b"\0%d:\n" % number)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
