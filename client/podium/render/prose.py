"""An agent's words as they stream in, cut into blocks that can be drawn: each once it is whole.

The word that a turn ends with (``{"outcome": "complete"}``) is kept back: it is for Podium.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from podium.render.outcome_line import is_report, parted

LONGEST = 8192
"""Characters after which a block is cut, whole or not."""

LANGUAGE = re.compile(r"[\w+#.-]{0,40}")
"""Language that may follow the beginning of code and need not be shown."""

_FENCE = re.compile(rf"( *)(`{{3,}}|~{{3,}}) *({LANGUAGE.pattern}) *$")

_REPORTED_IN = ("", "json")
"""Languages of code in which an agent reports its outcome."""


class Block(NamedTuple):
    """Markdown, or a line of ``code``; ``report``: it is of what looks like the outcome."""

    words: str
    code: bool = False
    report: bool = False


class Blocks:
    """Takes words and gives blocks. ``tail`` is what is not whole yet."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = ""
        self._blank = False
        self._fence = ""
        self._own = False
        self._code: list[str] | None = None
        self._report: list[Block] = []

    @property
    def tail(self) -> str:
        return "\n".join([*self._lines, *(self._code or []), self._line])

    def add(self, words: str) -> list[Block]:
        """Take words; the blocks that are whole with them."""
        *lines, self._line = (self._line + words).split("\n")
        made = [block for line in lines for block in self._take(line)]
        if self._blank and self._line[:1].strip() and not self._fence:
            made += self._close()
        if sum(map(len, self._lines)) + len(self._line) > LONGEST:
            made += self._cut()
        return self._before(made)

    def end(self) -> list[Block]:
        """Return what is left, whole or not: other output follows now, or nothing more."""
        made = self._take(self._line) if self._line else []
        self._line = ""
        made += self._close() + self._code_over()
        self._fence = ""
        return self._before(made)

    def reported(self) -> None:
        """Drop what was kept back: it was the outcome."""
        self._report = []

    def not_reported(self) -> list[Block]:
        """Return what was kept back, to be shown like everything else."""
        kept, self._report = self._report, []
        return kept

    def _before(self, made: list[Block]) -> list[Block]:
        """Return the blocks that can be shown: one after a report shows that it was none."""
        told: list[Block] = []
        for block in made:
            if block.report:
                self._report.append(block)
                continue
            told += self.not_reported()
            words, report = (block.words, "") if block.code else parted(block.words)
            told += [Block(words, block.code)] if block.code or words.strip() else []
            self._report = [Block(report)] if report else []
        return told

    def _take(self, line: str) -> list[Block]:
        if self._fence:
            return self._within(line)
        opens = _FENCE.match(line)
        if opens:
            self._fence = opens[2]
            if not opens[1]:
                self._own = True
                made = self._close()
                self._code = [] if opens[3] in _REPORTED_IN else None
                return made
        made = []
        if self._blank and line[:1].strip():
            made = self._close()
        self._blank = bool(self._lines) and not line.strip()
        if line.strip() or self._lines:
            self._lines.append(line)
        return made

    def _within(self, line: str) -> list[Block]:
        """Take a line of code.

        It is returned at once, unless the code is part of a list or may be the report.
        """
        mark = line.strip()
        over = mark.startswith(self._fence) and not mark.strip(self._fence[0])
        self._fence = "" if over else self._fence
        if not self._own:
            self._lines.append(line)
            return []
        if over:
            return self._code_over()
        if self._code is None:
            return [Block(line, code=True)]
        self._code.append(line)
        sofar = "\n".join(self._code).lstrip()
        return [] if sofar[:1] in ("", "{") and len(sofar) < LONGEST else self._code_lines()

    def _code_lines(self) -> list[Block]:
        lines, self._code = self._code or [], None
        return [Block(line, code=True) for line in lines]

    def _code_over(self) -> list[Block]:
        self._own = False
        report = bool(self._code) and is_report("\n".join(self._code or []))
        return [block._replace(report=report) for block in self._code_lines()]

    def _close(self) -> list[Block]:
        words = "\n".join(self._lines).rstrip()
        self._lines, self._blank = [], False
        return [Block(words)] if words.strip() else []

    def _cut(self) -> list[Block]:
        """Cut a block that is too long, at its last blank."""
        if len(self._line) > LONGEST:
            at = self._line.rfind(" ") + 1 or len(self._line)
            self._lines.append(self._line[:at])
            self._line = self._line[at:]
        return self._close()
