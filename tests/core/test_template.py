"""Variables in prompts: found with their line, filled in once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.recipe.template import MissingVariable, render, variables


def test_variables_are_listed_in_order_with_the_lines_before_them() -> None:
    text = "Fix {{issue}}.\n\n{{ last.code-review.detail }} and {{ctx.key}}\n{{issue}}"
    assert variables(text) == [
        ("issue", 0),
        ("last.code-review.detail", 2),
        ("ctx.key", 2),
        ("issue", 3),
    ]


@pytest.mark.parametrize("text", ["{{.Names}}", "{{ a b }}", "{issue}", "{{}}", "{{{", "{{a\n}}"])
def test_what_does_not_look_like_a_name_is_text(text: str) -> None:
    assert variables(text) == []
    assert render(text, {"a": "x", "issue": "x"}) == text


def test_values_are_filled_in_once_and_never_read_for_braces() -> None:
    values = {"a": "{{b}} \\1 \\g<0>", "b": "x"}
    assert render("{{a}}{{b}}", values) == "{{b}} \\1 \\g<0>x"
    assert render("{{{a}}}", {"a": "{"}) == "{{}"


def test_a_variable_without_a_value_is_named_with_those_that_exist() -> None:
    with pytest.raises(MissingVariable, match=r"'\{\{c\}\}'.*a, b") as caught:
        render("{{c}}", {"b": "1", "a": "2"})
    assert caught.value.name == "c"
    with pytest.raises(MissingVariable, match="none"):
        render("{{c}}", {})


@given(st.dictionaries(st.sampled_from(["a", "b-c", "ctx.d"]), st.text(), min_size=1))
def test_a_text_of_one_variable_becomes_exactly_its_value(values: dict[str, str]) -> None:
    for name, value in values.items():
        assert render("{{" + name + "}}", values) == value
