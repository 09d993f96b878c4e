"""An agent's Markdown, drawn for a terminal: ``rich`` reads it and lays it out.

Imported where words are drawn and nowhere else: it takes longer than most commands.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from podium import flow, text
from podium.render.prose import LANGUAGE, LONGEST

MOST_CELLS = 100_000
"""More than any terminal is wide."""

_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.h5": "bold",
        "markdown.h6": "bold",
        "markdown.code": "cyan",
        "markdown.hr": "dim",
        "markdown.block_quote": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
    }
)


def drawn(source: str, width: int, *, colours: bool) -> list[str]:
    """Draw one or more blocks as lines of at most ``width`` cells, without a letter lost.

    Blocks that cannot be drawn so are shown as they are written.
    """
    source = text.clean(source).expandtabs(4).strip("\n")
    if len(source) <= 2 * LONGEST:  # the time that some of it takes grows with its square
        markdown = _Drawn(source)
        lines = _laid_out(markdown, width, colours)
        shown = _letters("".join(map(flow.plain, lines)))
        if not _letters(source) - _letters(markdown.languages) - shown:
            # Terminals do not agree on the width of a picture of several characters.
            return [part for line in lines for part in text.flowed(line, width)]
    return [part for line in source.split("\n") for part in text.wrapped(line, width)]


def code(line: str, width: int) -> list[str]:
    """Break a line of a program anywhere, as every blank of it counts."""
    return text.folded(text.clean(line).expandtabs(4), width)


def _letters(words: str) -> Counter[str]:
    return Counter(filter(str.isalpha, words))


def _laid_out(markdown: _Drawn, width: int, colours: bool) -> list[str]:
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        theme=_THEME,
        force_terminal=True,
        color_system="standard" if colours else None,
        no_color=not colours,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(markdown)
    shown = file.getvalue()
    lines = [line.rstrip() for line in (shown if colours else flow.plain(shown)).split("\n")]
    while lines and not flow.plain(lines[-1]).strip():
        lines.pop()
    while lines and not flow.plain(lines[0]).strip():
        lines.pop(0)
    return lines


class _Heading(Heading):
    """Heading on the left, whatever its level."""

    LEVEL_ALIGN: ClassVar = {}


class _Code(CodeBlock):
    """As it is written, without a guess at its language (which would load a library of them)."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in str(self.text).rstrip("\n").split("\n"):
            for part in code(line, max(1, options.max_width - 2)):
                yield Segment(f"  {part}\n")


class _Table(TableElement):
    """Columns where they fit without a word broken, else a block for each row."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        (table,) = super().__rich_console__(console, options)
        assert isinstance(table, Table)
        unbound = options.update(width=MOST_CELLS)
        if Measurement.get(console, unbound, table).minimum <= options.max_width:
            yield table
            return
        head = self.header.row if self.header else None
        names = [cell.content for cell in head.cells] if head else []
        for number, row in enumerate(self.body.rows if self.body else []):
            if number:
                yield Text()
            for name, cell in zip(names, row.cells, strict=False):
                title = name.copy()
                title.stylize("markdown.table.header")
                yield Text.assemble(title, ": ", cell.content)


class _Drawn(Markdown):
    """Markdown as agents write it: their line ends stay, nothing of it is HTML, and an address is
    text beside what it is of, which no terminal opens. ``languages`` are those of its code."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, source: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = _PARSER.parse(source)
        said = [one.info.strip() for one in self.parsed if one.type == "fence"]
        self.languages = "".join(filter(LANGUAGE.fullmatch, said))
        for token in self.parsed:
            if token.type == "inline":
                token.children = _plain_links(token.children or [])


class _Parser(MarkdownIt):
    """Leaves every address as it is written: none is more than words here."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False})
        self.enable(["table", "strikethrough"])
        self.disable(["entity", "reference"])  # the one makes characters, the other hides words

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


_PARSER = _Parser()


def _plain_links(tokens: list[Token]) -> list[Token]:
    """Return the tokens of a line, with links and pictures as words."""
    made: list[Token] = []
    addresses: list[tuple[str, int]] = []
    for token in tokens:
        if token.type == "link_open":
            addresses.append((_address(token, "href"), len(made)))
        elif token.type == "link_close":
            address, first = addresses.pop()
            if "".join(one.content for one in made[first:]) != address:
                made.append(_words(f" ({address})"))
        elif token.type == "image":
            made.append(_words(f"{text.clean(token.content)} ({_address(token, 'src')})"))
        elif token.type == "softbreak":
            made.append(Token("hardbreak", "br", 0))
        else:
            made.append(token)
    return made


def _address(token: Token, name: str) -> str:
    title = f' "{token.attrs["title"]}"' if token.attrs.get("title") else ""
    return text.clean(f"{token.attrs.get(name, '')}{title}")


def _words(content: str) -> Token:
    return Token("text", "", 0, content=content)
