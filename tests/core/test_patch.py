"""Patches, to the letter: all operations speak of the file as it was, all are done or none."""

from __future__ import annotations

import hashlib
from itertools import permutations
from typing import Any

import pytest

from podiumd.core.reply.patch import PatchError, apply_patch

Op = dict[str, Any]

ABC = b"a\nb\nc\n"


def insert(line: int, *content: str, **more: Any) -> Op:
    return {"type": "insert", "line": line, "content": list(content), **more}


def replace(line: int, *content: str, **more: Any) -> Op:
    return {"type": "replace", "line": line, "content": list(content), **more}


def delete(line: int, end_line: int | None = None, **more: Any) -> Op:
    ends = {} if end_line is None else {"end_line": end_line}
    return {"type": "delete", "line": line, **ends, **more}


def refusal(data: bytes, *operations: Any, **more: Any) -> str:
    with pytest.raises(PatchError) as raised:
        apply_patch(data, list(operations), **more)
    assert str(raised.value) == raised.value.reason
    return raised.value.reason


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ([insert(1, "x")], b"x\na\nb\nc\n"),
        ([insert(2, "x", "y")], b"a\nx\ny\nb\nc\n"),
        ([insert(4, "x")], b"a\nb\nc\nx\n"),
        ([insert(2)], ABC),
        ([delete(1)], b"b\nc\n"),
        ([delete(3)], b"a\nb\n"),
        ([delete(1, 3)], b""),
        ([delete(2, 2)], b"a\nc\n"),
        ([{**delete(2), "content": []}], b"a\nc\n"),
        ([{**delete(2), "content": None, "end_line": None, "expect": None}], b"a\nc\n"),
        ([replace(2, "x")], b"a\nx\nc\n"),
        ([replace(2, "x", "", "y")], b"a\nx\n\ny\nc\n"),
        ([replace(1, "x", end_line=3)], b"x\n"),
        ([replace(2)], b"a\nc\n"),
        ([insert(2, "x", "y"), delete(2)], b"a\nx\ny\nc\n"),
        ([delete(1), delete(3)], b"b\n"),
        ([replace(1, "x"), insert(2, "y"), replace(2, "z")], b"x\ny\nz\nc\n"),
        ([replace(3, "z"), insert(4, "end")], b"a\nb\nz\nend\n"),
        ([insert(2, "é \U0001f9ea\t")], "a\né \U0001f9ea\t\nb\nc\n".encode()),
    ],
)
def test_what_a_patch_does(operations: list[Op], after: bytes) -> None:
    assert apply_patch(ABC, operations) == after


def test_the_order_of_operations_does_not_matter() -> None:
    operations = [replace(1, "A"), insert(2, "x"), delete(2), insert(4, "end")]

    outcomes = {apply_patch(ABC, list(order)) for order in permutations(operations)}

    assert outcomes == {b"A\nx\nc\nend\n"}


def test_several_inserts_at_one_place_come_as_they_were_given() -> None:
    assert apply_patch(ABC, [insert(2, "x"), insert(2, "y")]) == b"a\nx\ny\nb\nc\n"


@pytest.mark.parametrize(
    ("before", "operations", "after"),
    [
        # No line break at the end, and none after the patch.
        (b"a\nb", [insert(3, "c")], b"a\nb\nc"),
        (b"a\nb", [insert(3), insert(3, "c"), insert(3, "d")], b"a\nb\nc\nd"),
        (b"a\nb", [insert(3)], b"a\nb"),
        (b"a\nb", [delete(2)], b"a"),
        (b"a\nb", [delete(1)], b"b"),
        (b"a\nb", [replace(2, "x", "y")], b"a\nx\ny"),
        (b"a\nb", [replace(2, "x"), insert(3, "c")], b"a\nx\nc"),
        (b"a\nb", [delete(1, 2)], b""),
        (b"a\nb", [delete(1, 2), insert(3, "c")], b"c"),
        (b"a", [replace(1, "x")], b"x"),
        # Nothing there.
        (b"", [insert(1, "a", "b")], b"a\nb\n"),
        (b"\n", [insert(1, "a")], b"a\n\n"),
        (b"\n", [delete(1)], b""),
        (b"\n\n\n", [replace(2, "x")], b"\nx\n\n"),
        # Line breaks of two characters.
        (b"a\r\nb\r\n", [insert(2, "x")], b"a\r\nx\r\nb\r\n"),
        (b"a\r\nb\r\n", [insert(3, "x")], b"a\r\nb\r\nx\r\n"),
        (b"a\r\nb\r\n", [replace(1, "x", "y", end_line=2)], b"x\r\ny\r\n"),
        (b"a\r\nb", [insert(3, "x")], b"a\r\nb\r\nx"),
        (b"a\r\nb", [delete(2)], b"a"),
        (b"a\r\nb", [replace(2, "x", "y")], b"a\r\nx\r\ny"),
        # Both kinds: a new line is like the one in whose place it stands.
        (b"a\r\nb\nc\r\n", [insert(1, "x")], b"x\r\na\r\nb\nc\r\n"),
        (b"a\r\nb\nc\r\n", [replace(2, "x", "y")], b"a\r\nx\ny\nc\r\n"),
        # Bytes that are no text, and characters that other readers take for line breaks.
        (b"\xff\x00\r\x0b\nb\n", [replace(2, "x")], b"\xff\x00\r\x0b\nx\n"),
        ("a\u2028b\nc\n".encode(), [delete(2)], "a\u2028b\n".encode()),
        (b"a\nb\r", [delete(1)], b"b\r"),
    ],
)
def test_everything_else_stays_as_it_is_byte_for_byte(
    before: bytes, operations: list[Op], after: bytes
) -> None:
    assert apply_patch(before, operations) == after


@pytest.mark.parametrize(
    ("operation", "shown"),
    [
        (replace(2, "x", expect="b"), b"a\nx\nc\n"),
        (replace(2, "x", expect="b\n"), b"a\nx\nc\n"),
        (replace(2, "x", expect=["b"]), b"a\nx\nc\n"),
        (delete(1, 2, expect="a\nb"), b"c\n"),
        (delete(1, 2, expect="a\r\nb\r\n"), b"c\n"),
        (delete(1, 2, expect=["a", "b"]), b"c\n"),
        (insert(2, "x", expect="b"), b"a\nx\nb\nc\n"),
    ],
)
def test_a_text_that_is_there_as_expected_lets_the_patch_through(
    operation: Op, shown: bytes
) -> None:
    assert apply_patch(ABC, [operation]) == shown
    assert apply_patch(ABC.replace(b"\n", b"\r\n"), [operation]) == shown.replace(b"\n", b"\r\n")


def test_the_digest_of_what_was_read_lets_the_patch_through_in_any_case() -> None:
    base = hashlib.sha256(ABC).hexdigest()

    for written in (base, base.upper(), f" {base}\n"):
        assert apply_patch(ABC, [delete(1)], base=written) == b"b\nc\n"


def test_a_file_that_is_another_than_was_read_is_not_touched() -> None:
    assert refusal(ABC, delete(1), base="c0ffee").startswith("base is c0ffee, but the file's sha")


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        ([], "operations is empty"),
        (["x"], "operation 1: expected an object with 'line' and 'type'"),
        ([delete(1), 7], "operation 2: expected an object"),
        ([{"line": 1}], "operation 1: 'type' is None, expected one of insert, delete, replace"),
        ([{"line": 1, "type": "append"}], "operation 1: 'type' is 'append'"),
        ([{"line": 1, "type": ["insert"]}], "operation 1: 'type' is ['insert']"),
        ([{**delete(1), "lines": 2}], "operation 1: unknown key 'lines', there are line, type"),
        ([{"type": "delete"}], "operation 1: 'line' is None, expected a line number from 1"),
        ([delete(0)], "operation 1: 'line' is 0"),
        ([delete(-1)], "operation 1: 'line' is -1"),
        ([{"type": "delete", "line": True}], "operation 1: 'line' is True"),
        ([{"type": "delete", "line": 1.0}], "operation 1: 'line' is 1.0"),
        ([{"type": "delete", "line": "1"}], "operation 1: 'line' is '1'"),
        ([delete(4)], "operation 1: line 4 is out of range, the file has 3 lines"),
        ([delete(2, 4)], "operation 1: line 4 is out of range"),
        ([delete(2, 1)], "operation 1: end_line 1 comes before line 2"),
        ([delete(2, 0)], "operation 1: 'end_line' is 0"),
        ([insert(5, "x")], "operation 1: line 5 is out of range, the file has 3 lines"),
        ([insert(1, "x", end_line=2)], "operation 1: an insert has no 'end_line'"),
        ([{"type": "insert", "line": 1}], "operation 1: 'content' has to be a list of lines"),
        ([{**replace(1), "content": "x"}], "operation 1: 'content' has to be a list of lines"),
        ([replace(1, "x"), {**replace(2), "content": ["a", 7]}], "operation 2: 'content' has to"),
        ([replace(1, "x", "y\n")], "operation 1: line 2 of 'content' holds a line break"),
        ([replace(1, "x\ry")], "operation 1: line 1 of 'content' holds a line break"),
        ([{**delete(1), "content": ["x"]}], "operation 1: a delete has no 'content'"),
        ([delete(1, expect="b")], "operation 1: the text there is not as expected, it is: a"),
        ([delete(1, expect="a\n\n")], "operation 1: the text there is not as expected"),
        ([delete(1, expect="")], "operation 1: the text there is not as expected"),
        ([delete(1, expect=7)], "operation 1: 'expect' has to be a text or a list of lines"),
        ([delete(1, expect=[7])], "operation 1: 'expect' has to be a text or a list of lines"),
        ([insert(4, "x", expect="c")], "operation 1: no line is there, but 'expect' names one"),
        ([replace(2, "x"), delete(2)], "operations 1 and 2 overlap"),
        ([delete(2, 3), replace(1, "x", end_line=2)], "operations 1 and 2 overlap"),
        ([insert(2, "x"), delete(1, 2)], "operations 1 and 2 overlap"),
        ([delete(1), insert(1, "x"), delete(1, 3)], "operations 1 and 3 overlap"),
    ],
)
def test_a_patch_that_is_wrong_anywhere_is_refused_wholly_with_the_reason(
    operations: list[Any], reason: str
) -> None:
    assert refusal(ABC, *operations).startswith(reason)


def test_a_file_of_one_line_is_spoken_of_as_such() -> None:
    assert refusal(b"a\n", delete(2)).endswith("the file has 1 line")
    assert refusal(b"", replace(1, "x")).endswith("the file has 0 lines")


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("data", "operations", "after"),
    [
        (b"a\nb\n", [insert(1, "x")], b"x\na\nb\n"),
        (b"a\nb\n", [replace(1, "x", expect="a")], b"x\nb\n"),
        (b"a\nb\n", [replace(1, "\ufeffx", expect="\ufeffa")], b"x\nb\n"),
        (b"a\r\nb", [delete(1), insert(3, "x")], b"b\r\nx"),
        (b"a\nb\n", [delete(1, 2)], b""),
        (b"", [insert(1, "x")], b"x\n"),
        (b"a\nb\n", [replace(2, "\ufeffx")], b"a\n" + BOM + b"x\n"),
    ],
)
def test_a_byte_order_mark_stays_first_and_is_part_of_no_line(
    data: bytes, operations: list[Op], after: bytes
) -> None:
    assert apply_patch(BOM + data, operations) == BOM + after


def test_the_digest_of_a_file_is_that_of_all_its_bytes() -> None:
    base = hashlib.sha256(BOM + ABC).hexdigest()

    assert apply_patch(BOM + ABC, [delete(1)], base=base) == BOM + b"b\nc\n"
    assert "read it again" in refusal(ABC, delete(1), base=base)
