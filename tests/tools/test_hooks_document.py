"""What a conversation has found out, as people and programs read it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podiumd.tools.hooks.document import as_json, as_markdown, heading, is_json_of, is_markdown

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
CONTEXTS = st.dictionaries(st.sampled_from(["a", "b_c", "goal"]), VALUES)


def shown(value: Any) -> str:
    """What stands below a key's heading."""
    text = as_markdown("plan", "p", {"key": value}).decode()
    head, _, body = text.partition("## Key\n\n")
    assert head.startswith("<!-- Written by Podium") and "\n\n# Plan\n\n" in head
    return body.removesuffix("\n")


def test_a_text_stands_as_it_is_and_what_is_empty_says_so() -> None:
    assert shown("  One.\n\n- two  ") == "One.\n\n- two"
    nothing: list[Any] = ["", None, [], {}]
    assert [shown(empty) for empty in nothing] == ["*Nothing yet.*"] * 4
    assert [shown(value) for value in (3, 1.5, True, False, 0)] == [
        "3",
        "1.5",
        "true",
        "false",
        "0",
    ]


def test_lists_and_objects_are_nested_lists() -> None:
    value = {
        "name": "Shop",
        "key_points": ["a", "b\nstill b"],
        "owner": {"first_name": "Ann", "age": None},
        "none": [],
    }
    assert shown(value).splitlines() == [
        "- **Name:** Shop",
        "- **Key points:**",
        "  - a",
        "  - b",
        "    still b",
        "- **Owner:**",
        "  - **First name:** Ann",
        "  - **Age:** *Nothing yet.*",
        "- **None:** *Nothing yet.*",
    ]


def test_a_list_of_objects_begins_each_item_with_the_first_name() -> None:
    value = [{"name": "door", "parts": ["lock"]}, [1, 2]]
    assert shown(value).splitlines() == [
        "- - **Name:** door",
        "  - **Parts:**",
        "    - lock",
        "- - 1",
        "  - 2",
    ]


def test_rows_of_short_values_are_a_table() -> None:
    rows = [{"name": "a|b", "size": 1}, {"name": "c", "size": None}]
    assert shown(rows).splitlines() == [
        "| Name | Size |",
        "| --- | --- |",
        "| a\\|b | 1 |",
        "| c |  |",
    ]
    for other in ({"name": "c"}, {"name": "c", "size": [1]}, {"name": "c\nd", "size": 1}, 3):
        assert "|" not in shown([{"name": "a", "size": 1}, other])


def test_a_bottomless_value_ends_as_json() -> None:
    value: Any = "deep"
    for _ in range(60):
        value = {"down": value}
    text = shown(value)
    assert text.count("\n") == 7 and "`{" in text and "deep" in text


def test_a_name_is_written_as_people_read_it() -> None:
    assert heading("goal_summary") == "Goal summary"
    assert heading("open-points") == "Open points"
    assert heading("") == ""


def test_lone_surrogates_do_not_keep_a_document_from_being_written() -> None:
    assert json.loads(as_json("p", {"a": "\ud800"})) == {"phase": "p", "a": "?"}
    assert b"?" in as_markdown("t", "p", {"a": "\ud800"})


@given(CONTEXTS)
def test_whatever_was_saved_is_in_the_documents_that_know_themselves_again(
    context: dict[str, Any],
) -> None:
    data = as_json("p", context)
    assert json.loads(data) == {"phase": "p", **context}
    assert is_json_of(data, context) and not is_json_of(data, {**context, "more": 1})
    text = as_markdown("t", "p", context)
    assert is_markdown(text) and all(f"## {heading(key)}".encode() in text for key in context)


def test_what_others_wrote_is_not_taken_for_ours() -> None:
    for data in (b"", b"{", b"[]", b'{"a": 1}', b"\xff", b"[" * 100_000):
        assert not is_json_of(data, {"a": 1})
    assert not is_markdown(b"# Plan\n")
