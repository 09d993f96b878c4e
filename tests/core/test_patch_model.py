"""Patches against a plain model: a list of lines, changed from its end to its beginning."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.byte_lines import ByteLines
from podiumd.core.reply.patch import apply_patch
from tests.long import sampled

Line = tuple[bytes, bytes]
"""What stands in a line, and its line break."""

TEXTS = (b"", b"a", b"bb", b"\xff\x00", b"\t }", "\u2028\u00e9".encode(), b"a\rb")


def a_file(chance: random.Random) -> list[Line]:
    """A file with line breaks of one kind, of the other, or of both; the last may have none."""
    breaks = chance.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
    lines = [(chance.choice(TEXTS), chance.choice(breaks)) for _ in range(chance.randrange(13))]
    if lines and lines[-1][0] and chance.random() < 0.5:
        lines[-1] = (lines[-1][0], b"")
    return lines


def a_patch(chance: random.Random, lines: list[Line]) -> list[dict[str, Any]]:
    """Operations that do not overlap, in any order."""

    def content() -> list[str]:
        return [
            chance.choice(["", "x", "yy", "\u00e9 \U0001f9ea"]) for _ in range(chance.randrange(4))
        ]

    operations: list[dict[str, Any]] = []
    at = 1
    while at <= len(lines) + 1:
        if chance.random() < 0.2:
            operations.append({"type": "insert", "line": at, "content": content()})
        kind = chance.choice(["none", "none", "delete", "replace"])
        if kind != "none" and at <= len(lines):
            end = chance.randint(at, min(at + 2, len(lines)))
            new = {"content": content()} if kind == "replace" else {}
            operations.append({"type": kind, "line": at, "end_line": end, **new})
            at = end
        at += 1
    chance.shuffle(operations)
    return operations


def of_the_model(lines: list[Line], operations: list[dict[str, Any]]) -> bytes:
    """What a patch should make of a file, done the plain way."""
    open_ended = bool(lines) and lines[-1][1] == b""
    result = list(lines)
    # From the end; at one line first what replaces it, then what comes before it.
    for op in sorted(operations, key=lambda o: (o["line"], o["type"] != "insert"), reverse=True):
        start = op["line"] - 1
        end = start if op["type"] == "insert" else op["end_line"]
        near = [*lines[start : start + 1], *reversed(lines[:start])]
        ending = next((ending for _, ending in near if ending), b"\n")
        new = [(text.encode(), ending) for text in op.get("content", [])]
        if start == len(lines) and new and result and result[start - 1 : start] == [lines[-1]]:
            text, old = lines[-1]
            result[start - 1] = (text, old or ending)
        result[start:end] = new
    data = b"".join(text + ending for text, ending in result)
    if open_ended and result and result[-1][1]:
        data = data[: -len(result[-1][1])]
    return data


@pytest.mark.parametrize("seed", sampled(range(10)))
def test_ten_thousand_patches_do_what_the_plain_model_does(seed: int) -> None:
    chance = random.Random(seed)
    done = 0
    while done < 1000:
        lines = a_file(chance)
        operations = a_patch(chance, lines)
        if not operations:
            continue
        before = b"".join(text + ending for text, ending in lines)

        assert apply_patch(before, operations) == of_the_model(lines, operations)
        done += 1


@given(st.lists(st.integers(0, 9000), max_size=4), st.booleans())
def test_lines_are_found_where_they_are_in_files_of_any_size(
    lengths: list[int], closed: bool
) -> None:
    data = b"\n".join(b"x" * length for length in lengths) + (b"\n" if closed else b"")
    lines = ByteLines(data)
    expected = data.split(b"\n")
    if expected[-1] == b"":
        expected.pop()

    assert lines.count == len(expected)
    for number, text in enumerate(expected):
        assert data.startswith(text, lines.offset(number))
        assert lines.text(number, number + 1) == text
    assert lines.offset(lines.count) == len(data)
    assert lines.ending(lines.count) == lines.ending(-1) == b""
