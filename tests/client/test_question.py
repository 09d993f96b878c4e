"""What a person sees of a question, before saying yes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.render import question as question_of
from tests.client.stories import APPROVAL, CALL, QUESTION, Json

# What these tests name of what is sent is all that they are about.
question: Any = question_of


def approval(tool: str, given: Json) -> Json:
    return {**APPROVAL, "tool": tool, "input": given}


def test_a_command_is_shown_whole_and_harmless() -> None:
    assert question.heading(APPROVAL) == "approval: May the agent use Bash?"
    assert question.body(APPROVAL) == list(CALL)


def test_a_new_file_is_shown_with_its_path_and_content() -> None:
    wanted = approval("Write", {"content": "one\n\n  two\n", "file_path": "/a\n/b.py"})

    assert question.body(wanted) == [
        "file: /a /b.py",
        "content (3 lines):",
        "| one",
        "| ",
        "|   two",
    ]


def test_an_edit_is_shown_as_what_goes_and_what_comes() -> None:
    edit = {"file_path": "/a.py", "old_string": "a\nb", "new_string": "c", "replace_all": True}

    assert question.body(approval("Edit", edit)) == [
        "file: /a.py",
        "- a",
        "- b",
        "+ c",
        "replace_all: true",
    ]


def test_a_change_of_the_native_agent_is_shown_as_the_diff_that_the_daemon_made_of_it() -> None:
    given = {"path": "a.py", "before": None, "after": "2" * 64}
    detail = "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+{\n+\x1b\n\n" + json.dumps(
        given, indent=2
    )
    change = {**approval("write_file", given), "detail": detail}

    assert question.body(change) == [
        "file: a.py",
        "--- /dev/null",
        "+++ b/a.py",
        "@@ -0,0 +1,2 @@",
        "+{",
        "+\\x1b",
    ]


@pytest.mark.parametrize(
    "given", [{"path": "a.py"}, {"path": "a.py", "before": None, "after": None, "mode": "0777"}]
)
def test_no_other_call_is_shown_as_its_agents_description_of_it(given: Json) -> None:
    change = {**approval("write_file", given), "detail": "--- harmless\n{\n"}

    assert question.body(change)[0] == "file: a.py"
    assert "--- harmless" not in question.body(change)


def test_any_other_call_is_shown_as_pretty_json() -> None:
    wanted = approval("Fetch", {"url": "https://é\x1b", "n": [1]})

    assert question.body(wanted) == [
        "{",
        '  "url": "https://é\\u001b",',
        '  "n": [',
        "    1",
        "  ]",
        "}",
    ]


def test_what_has_no_form_of_its_own_is_shown_beside_what_has_one() -> None:
    wanted = approval("Bash", {"command": "ls", "env": {"A": "1"}, "why": "to\nsee"})

    assert question.body(wanted) == [
        "$ ls",
        "env: {",
        '    "A": "1"',
        "  }",
        "why: to",
        "  see",
    ]


@pytest.mark.parametrize(
    "asked",
    [QUESTION, {**QUESTION, "tool": "Ask", "input": {"command": "x"}}, {**APPROVAL, "input": None}],
)
def test_a_question_that_is_no_call_shows_its_text_and_detail(asked: Json) -> None:
    assert question.heading(asked) == f"{asked['kind']}: {asked['text']}"
    assert question.body(asked) == [asked["detail"]]


@pytest.mark.parametrize(
    ("command", "most", "last"),
    [
        ("\n".join("x" * 30), 12, "… 18 more lines not shown here: 'podium answer Q' shows all."),
        ("x\n" * 300, 200, "… 100 more lines not shown here: 'podium answer Q --json' shows all."),
        ("x" * 20_000, 200, "… more not shown here: 'podium answer Q --json' shows all."),
    ],
)
def test_what_does_not_fit_is_said_to_be_missing(command: str, most: int, last: str) -> None:
    long = {**approval("Bash", {"command": command}), "question_id": "Q"}

    lines = question.body(long, most)

    assert len(lines) <= most + 1
    assert sum(map(len, lines[:-1])) <= question.SHOWN_CHARACTERS
    assert lines[-1] == last


@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.text() | st.lists(st.text())))
def test_no_call_shows_a_control_character_or_breaks_a_line(given: Json) -> None:
    for line in question.call_lines(given):
        assert not [c for c in line if ord(c) < 32 and c != "\t"]


@given(
    st.dictionaries(
        st.sampled_from(["command", "file_path", "path", "old_string", "content", "note", "x"]),
        st.text("abc", min_size=1),
    )
)
def test_every_parameter_of_a_call_is_shown(given: dict[str, str]) -> None:
    shown = "\n".join(question.call_lines(given))

    assert all(value in shown for value in given.values())


def test_the_command_for_a_free_answer_names_a_text() -> None:
    assert question.answer_command({"question_id": "9u"}) == "podium answer 9u TEXT"
