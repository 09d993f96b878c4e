"""The agent's Markdown in the page: its shapes are drawn, and nothing in it reaches anything."""

from __future__ import annotations

import re

import pytest

from podium.export.markdown import MOST_BRACKETS, MOST_CHARACTERS, drawn
from podium.render.outcome_line import without_outcome

SHAPES = """# Done

Some **bold**, *slanted*, ~~gone~~ and `code`.

- one
- two
  1. nested

| file | why |
| :-- | --: |
| a.py | new |

> quoted

```python
x = 1 < 2
```
"""


def test_its_shapes_are_drawn() -> None:
    said = drawn(SHAPES)
    for markup in (
        *("<h4>Done</h4>", "<strong>bold</strong>", "<em>slanted</em>", "<s>gone</s>"),
        *("<code>code</code>", "<li>one</li>", "<ol>", "<blockquote>", "<th>file</th>"),
        *("<td>a.py</td>", "<pre><code>x = 1 &lt; 2</code></pre>"),
    ):
        assert markup in said
    assert "**" not in said and "| " not in said


HOSTILE = [
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "[x](javascript:alert(1)) [y](https://evil.test) <https://evil.test>",
    '![a"b](https://evil.test/x.png "t")',
    "[ref]\n\n[ref]: https://evil.test 'title'",
    '```"onload=x\n</code></pre><script>\n```',
    "# <b>head</b> {onclick=x}",
    "| <i> | [z](data:text/html,x) |\n| - | - |\n| </td></table><script> | x |",
    "<!-- comment --> <a href='https://evil.test'>",
    "&lt;script&gt; &#106;avascript",
    "> " * 200 + "deep",
    "\x1b[2J\u202egnp\x00 \ud83d",
    "&#x202e;gnp &#8238; &#x1b;[2J &#155; &ZeroWidthSpace;&rlm;&zwj; &#xE0041; &#65039;&#xFE00;",
    "`a` [&#x202e;](x&#x202e;) ![&#x202e;](y&rlm;) | <https://a.test/&#x202e;>",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_of_it_reaches_or_runs_anything(words: str) -> None:
    said = drawn(words)
    inside = said.partition(">")[2].removesuffix("</div>")
    tags = set(re.findall(r"</?([a-zA-Z][a-zA-Z0-9]*)", inside))
    assert tags <= {
        *("p", "br", "h4", "h5", "h6", "pre", "code", "small", "table", "thead", "tbody"),
        *("tr", "th", "td", "blockquote", "em", "strong", "s", "ul", "ol", "li", "hr"),
    }
    assert not re.search(r"<[a-z0-9]+ [^>]*(href|src|style|on[a-z]+|class)=", inside)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202e\ud800-\udfff]", said)
    assert not re.search(r"[\ufe00-\ufe0f\U000e0000-\U000e0fff]", said)


def test_an_address_stands_as_text() -> None:
    said = drawn("See [the *docs*](https://example.org/x) and <https://example.org>.")
    assert "the <em>docs</em><small> (https://example.org/x)</small>" in said
    assert said.count("https://example.org") == 2


def test_words_that_take_too_long_to_shape_stand_as_they_are() -> None:
    assert "**bold**" in drawn("**bold**" + "x" * MOST_CHARACTERS)
    assert "**bold**" in drawn("**bold**" + "![" * (MOST_BRACKETS + 1))
    assert "<strong>bold</strong>" in drawn("**bold** " + "[x] " * MOST_BRACKETS)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ('Done.\n\n{"outcome": "complete"}', "Done."),
        ('Done.\n\n```json\n{"outcome": "complete"}\n```\n', "Done."),
        ('Done.\n**{"outcome": "Complete"}**\nThat was it.', "Done.\n\nThat was it."),
        ('Done.\n{\n  "outcome": "complete",\n  "detail": "{}"\n}\n', "Done."),
        ('{"outcome": "complete"}', ""),
        ('A\n{"outcome": "complete"}\nB\n{"outcome": "complete"}', 'A\n{"outcome": "complete"}\nB'),
        ('I say {"outcome": "complete"} here.', 'I say {"outcome": "complete"} here.'),
        ('It is **done**: **{"outcome": "complete"}**.\n', "It is **done**:"),
        ('Done. {"a": {"b": 1}, "outcome": "complete"}\nSo.', "Done.\nSo."),
        ('{"outcome": "other"}', '{"outcome": "other"}'),
        ('{"outcome": 1}\n"outcome"', '{"outcome": 1}\n"outcome"'),
        ("[" * 3 + '{"outcome": ' + "[" * 100_000, "[" * 3 + '{"outcome": ' + "[" * 100_000),
        ("Nothing.", "Nothing."),
    ],
)
def test_the_line_that_was_read_as_the_outcome_is_left_out(words: str, left: str) -> None:
    assert without_outcome(words, "complete") == left


def test_words_that_no_outcome_was_read_from_stay_whole() -> None:
    assert without_outcome('{"outcome": "complete"}', None) == '{"outcome": "complete"}'
