"""Streamed words become whole blocks, whatever the pieces they come in, and none is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.render.outcome_line import is_report
from podium.render.prose import LONGEST, Block, Blocks

REPORT = '{"outcome": "complete"}'

BITS = st.sampled_from(
    [
        *("**", "`x`", "\n```\n", "\n", "\n\n", "- ", "  ", "1. ", "> ", "a word", "\n~~~\n"),
        *("\n```json\n", REPORT, '{"a": 1}', "    ", "x\n"),
    ]
)
WORDS = st.lists(BITS, max_size=30).map("".join)


def told(*pieces: str) -> list[Block]:
    blocks = Blocks()
    found = [block for piece in pieces for block in blocks.add(piece)]
    return [*found, *blocks.end(), *blocks.not_reported()]


def letters(words: str) -> str:
    """Without what only marks code."""
    marks = {"```", "~~~", "```json"}
    return "".join("".join(line.split()) for line in words.split("\n") if line.strip() not in marks)


@given(st.lists(WORDS, max_size=6))
def test_no_word_is_lost_or_moved_in_whatever_pieces_it_comes(pieces: list[str]) -> None:
    whole = "".join(pieces)

    assert letters("\n".join(block.words for block in told(*pieces))) == letters(whole)
    assert letters("\n".join(block.words for block in told(whole))) == letters(whole)


def test_a_block_is_told_as_soon_as_the_next_one_begins() -> None:
    blocks = Blocks()

    assert blocks.add("One\nline.\n\n") == []
    assert blocks.tail == "One\nline.\n\n"
    assert blocks.add("T") == [Block("One\nline.")]
    assert (blocks.tail, blocks.end(), blocks.tail) == ("T", [Block("T")], "")


def test_what_is_indented_belongs_to_the_list_before_it() -> None:
    listed = "1. one\n\n   more of it\n\n   ```sh\n   ls\n   ```\n2. two"

    assert told(listed, "\n\nAfter.") == [Block(listed), Block("After.")]


def test_code_is_told_line_by_line() -> None:
    blocks = Blocks()

    assert blocks.add("So:\n```python\nx = 1\n") == [Block("So:"), Block("x = 1", code=True)]
    assert blocks.add("\ny = 2\n```\n") == [Block("", code=True), Block("y = 2", code=True)]
    assert told("```\nleft open") == [Block("left open", code=True)]


@pytest.mark.parametrize("filler", ["word ", "x"])
def test_a_block_without_an_end_is_cut(filler: str) -> None:
    words = filler * (LONGEST + 200)

    blocks = Blocks()
    cut = [block for at in range(0, len(words), 100) for block in blocks.add(words[at : at + 100])]

    assert len(cut) >= 1 and len(blocks.tail) <= LONGEST + 100
    assert letters("".join(block.words for block in cut) + blocks.tail) == letters(words)


@pytest.mark.parametrize(
    "report",
    [
        REPORT,
        f"\n```json\n{REPORT}\n```",
        f"\n```\n{REPORT}\n```\n",
        f"`{REPORT}`",
        f"**{REPORT}**.",
        '{\n  "outcome": "other",\n  "otherDescription": "x"\n}',
    ],
)
def test_the_outcome_that_ends_a_reply_is_kept_back(report: str) -> None:
    blocks = Blocks()

    assert [*blocks.add(f"Done.\n{report}"), *blocks.end()] == [Block("Done.")]
    blocks.reported()
    assert blocks.not_reported() == []


def test_the_outcome_at_the_end_of_the_last_line_is_kept_back() -> None:
    blocks = Blocks()

    found = [*blocks.add(f"So it is.\n\nIt is **done**: `{REPORT}`"), *blocks.end()]

    assert [block.words for block in found] == ["So it is.", "It is **done**:"]
    assert [block.words for block in blocks.not_reported()] == [f"`{REPORT}`"]


def test_what_looks_like_the_outcome_and_is_not_the_last_word_is_told() -> None:
    blocks = Blocks()

    found = [*blocks.add(f"```json\n{REPORT}\n```\nThat is how."), *blocks.end()]

    assert [block.words for block in found] == [REPORT, "That is how."]


def test_what_turns_out_to_be_no_outcome_is_told() -> None:
    blocks = Blocks()

    assert [*blocks.add(f"Done.\n\n{REPORT}"), *blocks.end()] == [Block("Done.")]
    assert blocks.not_reported() == [Block(REPORT)]


@pytest.mark.parametrize(
    ("words", "is_one"),
    [(REPORT, True), ('{"outcome": 1}', False), ("[1]", False), ("[" * 100_000, False)],
)
def test_a_report_is_an_object_with_an_outcome(words: str, is_one: bool) -> None:
    assert is_report(words) is is_one
