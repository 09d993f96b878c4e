"""Agent's Markdown as a part of the page: its shapes, and nothing that it could reach with.

Words of an agent are hostile: no markup of theirs is taken, no picture is fetched, and an address
stands as text, so that it leads no person away.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from podium import text
from podium.export.markup import esc, tag

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_CHARACTERS = 100_000
MOST_BRACKETS = 5_000
"""Beyond them words stand as they are: shaping them takes longer than a person waits. For each
bracket, which may begin a link, the reader looks through what comes after it."""

HIGHEST = 4
"""The level of the page's headings that the highest one of an agent's becomes."""


def drawn(words: str) -> str:
    """Markup of an agent's words."""
    if len(words) > MOST_CHARACTERS or words.count("[") > MOST_BRACKETS:
        return tag("div", esc(words), class_="words", dir="auto")
    # Before it is read: what is hidden in the words must not shape them either. And after: an
    # entity (&#x202e;) is read as the character that it stands for.
    seen = text.clean(words.encode("utf-8", "replace").decode())
    return tag("div", text.clean(_reader().render(seen)), class_="words drawn", dir="auto")


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
    reader.enable("strikethrough")
    for name, rule in (
        ("heading_open", _heading), ("heading_close", _heading),
        ("link_open", _link_open), ("link_close", _link_close),
        ("image", _image), ("fence", _fence), ("code_block", _fence),
        ("th_open", _cell), ("td_open", _cell),
    ):  # fmt: skip
        reader.add_render_rule(name, rule)
    return reader


def _heading(_self: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    level = min(6, int(tokens[at].tag[1:]) + HIGHEST - 1)
    return f"<h{level}>" if tokens[at].nesting > 0 else f"</h{level}>\n"


def _link_open(*_all: Any) -> str:
    return ""


def _link_close(_self: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    """Return the address after the words, unless the words are the address."""
    opened = at - 1
    depth = 1
    while depth:
        depth += {"link_close": 1, "link_open": -1}.get(tokens[opened].type, 0)
        opened -= 1
    address = str(tokens[opened + 1].attrGet("href") or "")
    said = "".join(token.content for token in tokens[opened + 2 : at])
    return "" if address in (said, f"mailto:{said}") else tag("small", f" ({esc(address)})")


def _image(_self: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    """Return a picture's description in words, and its address."""
    address = esc(tokens[at].attrGet("src") or "")
    return esc(tokens[at].content) + tag("small", f" (picture: {address})")


def _fence(_self: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    return tag("pre", tag("code", esc(tokens[at].content.rstrip("\n")))) + "\n"


def _cell(_self: Any, tokens: Sequence[Token], at: int, *_rest: Any) -> str:
    return f"<{tokens[at].tag}>"
