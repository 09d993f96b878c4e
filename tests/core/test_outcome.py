"""The outcome of a turn: asked for, found in any shape of reply, never guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.reply.outcome import (
    Outcome,
    OutcomeError,
    extract,
    from_structured,
    from_text,
    outcome_block,
    prose,
    recipe_schema,
    retry_prompt,
)
from podiumd.core.reply.report import TurnReport
from tests.long import spread
from tests.work import at_most_lines

ALLOWED = ("no-issues", "issues-found")
BLOCK = """End your response with a JSON block on the last line:
{"outcome": "<outcome>"}

or if needed:

{"outcome": "other", "otherDescription": "<brief description>"}

Your possible outcomes for this step: no-issues, issues-found, other"""
YES = '{"outcome": "no-issues"}'
NO = '{"outcome": "issues-found"}'
OTHER = '{"outcome": "other", "otherDescription": "waits for a key"}'
ECHO = '{"outcome": "other", "otherDescription": "<brief description>"}'

# Each reply with its outcome, and whether it had to be repaired.
FOUND: list[tuple[str, str, bool]] = [
    (YES, "no-issues", False),
    ("All fine.\n" + YES, "no-issues", False),
    ("All fine.\n\n" + YES + "\n", "no-issues", False),
    ("All fine: " + YES, "no-issues", False),
    ("All fine.\r\n" + YES + "\r\n", "no-issues", False),
    ("```json\n" + YES + "\n```", "no-issues", False),
    ("```\n" + YES + "\n```", "no-issues", False),
    ("```json\r\n" + YES + "\r\n```\r\n", "no-issues", False),
    ("~~~json\n" + YES + "\n~~~", "no-issues", False),
    ("````json\n" + YES + "\n````\nDone.", "no-issues", False),
    ('```json\n{\n  "outcome": "no-issues"\n}\n```', "no-issues", False),
    ('{\n  "outcome": "no-issues"\n}', "no-issues", False),
    ('{\r\n\t"outcome"\r\n:\r\n"no-issues"\r\n}', "no-issues", False),
    ("`" + YES + "`", "no-issues", False),
    ("**" + YES + "**", "no-issues", False),
    ("**`" + YES + "`**.", "no-issues", False),
    ("- " + YES, "no-issues", False),
    ("(" + YES + ")", "no-issues", False),
    ('"' + YES + '"', "no-issues", False),
    (YES + ".", "no-issues", False),
    (YES + ";", "no-issues", False),
    (YES + " and that is all.", "no-issues", False),
    (YES + "\nSix\nmore\nlines\nof\nprose\nhere.", "no-issues", False),
    (YES + "x" * 5000, "no-issues", False),
    ('{"outcome":"no-issues"}', "no-issues", False),
    ('{ "outcome" : "no-issues" }', "no-issues", False),
    ('{"outcome": "no-issues",}', "no-issues", True),
    ('{"outcome": "no-issues", // sure\n}', "no-issues", True),
    ('{/* sure */ "outcome": "no-issues"}', "no-issues", True),
    ('{"outcome": /* } */ "no-issues"}', "no-issues", True),
    ('{\n  // the outcome\n  "outcome": "no-issues"\n}', "no-issues", True),
    ('{"outcome": "no_issues"}', "no-issues", False),
    ('{"outcome": "No-Issues"}', "no-issues", False),
    ('{"outcome": "NO_ISSUES"}', "no-issues", False),
    ('{"outcome": "no issues"}', "no-issues", False),
    ('{"outcome": "noIssues"}', "no-issues", False),
    ('{"outcome": " no-issues "}', "no-issues", False),
    ('{"Outcome": "no-issues"}', "no-issues", False),
    ('{"outcome": "no-issues"', "no-issues", True),
    ('{"outcome": "no-issues', "no-issues", True),
    ('{"outcome": "no-issues}', "no-issues", True),
    ('{"outcome": "no-issues",', "no-issues", True),
    ('{"outcome": "no-issues" // sure', "no-issues", True),
    ('```json\n{"outcome": "no-issues"\n```', "no-issues", True),
    ('```json\n{"outcome": "no-issues\n```', "no-issues", True),
    ('```json\n{\n  "outcome": "no-issues\n}\n```', "no-issues", True),
    ('**{"outcome": "no-issues"**', "no-issues", True),
    ('{"outcome": "no-issues", "detail": {"files": ["a"', "no-issues", True),
    ('{"outcome": "no-issues", "n": [1, -2.5e3, true, null, {"a": []}]}', "no-issues", False),
    ('{"outcome": "no-issues", "detail": "two\nlines"}', "no-issues", True),
    ('{"outcome": "no-issues", "detail": "\\d+ \\q"}', "no-issues", True),
    ('{"detail": "says {\\"outcome\\": \\"x\\"}", "outcome": "no-issues"}', "no-issues", False),
    ('{"outcome": "no\\u002dissues"}', "no-issues", False),
    ('{"outcome": "no-issues", "outcome": "no-issues"}', "no-issues", False),
    (NO + "\n" + YES, "no-issues", False),
    (NO + "\nOn second thoughts:\n" + YES, "no-issues", False),
    (YES + "\n" + YES, "no-issues", False),
    (YES + " " + YES, "no-issues", False),
    (YES + '\n{"status": "ok"}', "no-issues", False),
    ('{"status": "ok"}\n' + YES, "no-issues", False),
    (YES + '\n{"outcome": "broken', "no-issues", False),
    ('{"a": [{"outcome": "issues-found"}]}\n' + YES, "no-issues", False),
    ("int main() { return 0; }\n" + YES, "no-issues", False),
    ("if (x) {\n" + YES, "no-issues", False),
    ("[1] see above, [x] done\n" + YES, "no-issues", False),
    (BLOCK + "\n\n" + YES, "no-issues", False),
    (YES + "\n\n" + BLOCK, "no-issues", False),
    (ECHO + "\n" + YES, "no-issues", False),
    (f"{YES}\n{NO}\n{ECHO}\n\nI choose:\n{NO}", "issues-found", False),
    (f"{YES}, {NO} or {ECHO}\nMine:\n{YES}", "no-issues", False),
    (f"{YES}\n{NO}\n{ECHO}\n{YES}", "no-issues", False),
    (OTHER, "other", False),
    ("```json\n" + OTHER + "\n```", "other", False),
    ('{"outcome": "OTHER", "other_description": "waits for a key"}', "other", False),
    ('{"outcome": "other", "otherDescription": "waits for a key', "other", True),
    ('{"outcome":\n"other",\n"otherDescription": "waits for a key"}', "other", False),
]

# Each reply with its error.
MISSED: list[tuple[str, str]] = [
    ("", "no-json"),
    ("All fine, no issues.", "no-json"),
    ("no-issues", "no-json"),
    ("outcome: no-issues", "no-json"),
    ("Use f(x) { return y } there.", "no-json"),
    ('{"outcome": "<outcome>"}', "no-json"),
    (ECHO, "no-json"),
    (BLOCK, "no-json"),
    ('{"outcome": "no-issues|issues-found|other"}', "no-json"),
    ('{"outcome": "no-issues/issues-found"}', "no-json"),
    ('{"outcome": "..."}', "no-json"),
    (f"{YES}\n{NO}\n{ECHO}", "no-json"),
    (f"- {YES}\n- {NO}\n- or {ECHO}", "no-json"),
    ('[{"outcome": "no-issues"}]', "bad-json"),
    ('"outcome": "no-issues"}', "no-json"),
    ('{"outcome": "no-issues" | "issues-found" | "other"}', "bad-json"),
    ("{outcome: no-issues}", "bad-json"),
    ("{'outcome': 'no-issues'}", "bad-json"),
    ('{"outcome": no-issues}', "bad-json"),
    ('{"outcome" "no-issues"}', "bad-json"),
    ('{"outcome: "no-issues"}', "bad-json"),
    ('{"outcome": "no-issues" "detail": "x"}', "bad-json"),
    ('{"outcome": "no-issues"\n\nThat is all.', "bad-json"),
    ('{"outcome": "no-issues\nThat is all', "bad-json"),
    ('{"outcome": "', "bad-json"),
    ('{"outcome":', "bad-json"),
    ('{"outcome": 012}', "bad-json"),
    ('"{\\"outcome\\": \\"no-issues\\"}"', "bad-json"),
    ('{"outcome": "no-issues", "outcome": "issues-found"}', "bad-json"),
    ('{"verdict": ', "bad-json"),
    ("Result:\n{verdict}", "bad-json"),
    ('{"outcome": "no-issues", "detail": ' + "[" * 100 + "]" * 100 + "}", "bad-json"),
    ("{}", "missing-outcome"),
    ('{"verdict": "no-issues"}', "missing-outcome"),
    ('{"outcome": null}', "missing-outcome"),
    ('{"outcome": ""}', "missing-outcome"),
    ('{"outcome": ["no-issues"]}', "missing-outcome"),
    ('{"result": {"outcome": "no-issues"}}', "missing-outcome"),
    ('{"outcome": "complete"}', "unknown-outcome"),
    ('{"outcome": "no-issues-found"}', "unknown-outcome"),
    ('{"outcome": "complete"}\n{"status": "ok"}', "unknown-outcome"),
    ('{"outcome": "other"}', "missing-description"),
    ('{"outcome": "other", "otherDescription": "  "}', "missing-description"),
    ('{"outcome": "other", "otherDescription": null}', "missing-description"),
    (YES + '\n{"outcome": "other"}', "missing-description"),
    (f"{YES} {NO}", "ambiguous"),
    (f"Either {YES} or {NO}.", "ambiguous"),
    (f"{NO}\n{YES} or {OTHER}", "ambiguous"),
    (f"{YES} {NO} {NO}", "ambiguous"),
]


@pytest.mark.parametrize(("reply", "outcome", "repaired"), FOUND)
def test_an_answer_is_found_in_every_shape(reply: str, outcome: str, repaired: bool) -> None:
    found = from_text(reply, ALLOWED)
    assert isinstance(found, Outcome), found
    assert (found.outcome, found.repaired, found.source) == (outcome, repaired, "text")
    if outcome == "other":
        assert found.description == "waits for a key"


@pytest.mark.parametrize(("reply", "error"), MISSED)
def test_what_is_no_certain_answer_is_reported_as_what_it_lacks(reply: str, error: str) -> None:
    missed = from_text(reply, ALLOWED)
    assert isinstance(missed, OutcomeError), missed
    assert missed.error == error
    assert len(missed.excerpt) <= 200


def test_an_unknown_outcome_is_named_with_the_allowed_ones() -> None:
    missed = from_text('{"outcome": "finished"}', ALLOWED)
    assert isinstance(missed, OutcomeError)
    assert missed.returned == "finished"
    assert missed.excerpt == '{"outcome": "finished"}'
    assert "'finished'" in missed.message
    assert "no-issues, issues-found, other" in missed.message


def test_a_spelling_that_fits_two_outcomes_is_unknown() -> None:
    assert isinstance(from_text('{"outcome": "RE_DO"}', ("re-do", "redo")), OutcomeError)
    exact = from_text('{"outcome": "redo"}', ("re-do", "redo"))
    assert isinstance(exact, Outcome)
    assert exact.outcome == "redo"


def test_the_detail_of_an_answer_is_kept_and_can_always_be_stored() -> None:
    detail = "a\\n\\u0041\\ud83d\\ude00\\ud800"
    found = from_text('{"outcome": "no-issues", "detail": "' + detail + '"}', ALLOWED)
    assert isinstance(found, Outcome)
    assert found.detail == "a\nA\U0001f600\ufffd"


def test_the_block_is_the_contracts_text_with_other_last() -> None:
    assert outcome_block(("no-issues", "issues-found")) == BLOCK
    assert outcome_block(("no-issues", "other", "issues-found")) == BLOCK


def test_the_retry_prompt_names_the_error_and_repeats_the_block() -> None:
    error = from_text('{"outcome": "finished"}', ALLOWED)
    assert isinstance(error, OutcomeError)
    prompt = retry_prompt(error, ALLOWED)
    assert prompt.startswith("Please respond again with JSON per the instructions.")
    assert error.message in prompt
    assert prompt.endswith("\n\n" + BLOCK)


def test_the_schema_is_strict_and_needs_the_outcome_only() -> None:
    schema = recipe_schema(("complete", "other", "no-issues"))
    assert schema["properties"]["outcome"]["enum"] == ["complete", "no-issues", "other"]
    assert sorted(schema["properties"]) == ["detail", "otherDescription", "outcome"]
    assert schema["required"] == ["outcome"]
    assert schema["additionalProperties"] is False


def test_structured_output_is_judged_like_text() -> None:
    assert from_structured({"outcome": "no-issues", "detail": "d"}, ALLOWED) == Outcome(
        "no-issues", source="structured", detail="d"
    )
    assert from_structured(
        {"outcome": "other", "otherDescription": "why"}, ALLOWED, source="tool"
    ) == Outcome("other", "why", "tool")


@pytest.mark.parametrize(
    ("obj", "error"),
    [
        ({}, "missing-outcome"),
        ({"outcome": 3}, "missing-outcome"),
        ({"outcome": "complete"}, "unknown-outcome"),
        ({"outcome": "<outcome>"}, "unknown-outcome"),
        ({"outcome": "other"}, "missing-description"),
    ],
)
def test_structured_output_that_is_no_answer_is_an_error(obj: dict[str, Any], error: str) -> None:
    missed = from_structured(obj, ALLOWED)
    assert isinstance(missed, OutcomeError)
    assert missed.error == error
    assert missed.excerpt == json.dumps(obj)


def _report(**fields: Any) -> TurnReport:
    return TurnReport(kind="done", **fields)


def test_structured_output_goes_before_a_tool_call_and_a_tool_call_before_text() -> None:
    structured, tool = {"outcome": "no-issues"}, {"outcome": "issues-found"}
    report = _report(structured=structured, tool_outcome=tool, texts=(NO,))
    assert extract(report, ALLOWED) == Outcome("no-issues", source="structured")
    report = _report(tool_outcome=tool, texts=(YES,))
    assert extract(report, ALLOWED) == Outcome("issues-found", source="tool")
    assert extract(_report(texts=(NO,)), ALLOWED) == Outcome("issues-found")


def test_structured_output_of_another_step_is_an_error_and_not_passed_over() -> None:
    missed = extract(_report(structured={"outcome": "complete"}, texts=(YES,)), ALLOWED)
    assert isinstance(missed, OutcomeError)
    assert missed.error == "unknown-outcome"


def test_structured_output_without_an_outcome_leaves_the_text_to_say_it() -> None:
    assert extract(_report(structured={}, texts=(YES,)), ALLOWED) == Outcome("no-issues")


def test_the_answer_may_stand_in_an_earlier_message_of_the_turn() -> None:
    report = _report(texts=("Done.\n" + YES, "I have nothing to add."), result_text="ignored")
    assert extract(report, ALLOWED) == Outcome("no-issues")


def test_a_turn_without_messages_is_judged_by_its_last_words() -> None:
    assert extract(_report(result_text=YES), ALLOWED) == Outcome("no-issues")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("It works.\n" + YES,), "It works."),
        (("It works.\n\n```json\n" + YES + "\n```\n",), "It works."),
        (("It works. **" + YES + "**.",), "It works."),
        ((YES + ' {"status": "ok"}',), '{"status": "ok"}'),
        (("First.", "It works.\n" + YES), "It works."),
        (("It works.", YES), "It works."),
        (("It works.\n" + NO + "\nAfter all:\n" + YES,), "It works.\n" + NO + "\nAfter all:"),
        (("It works.\n> " + YES + "\n\n" + YES,), "It works.\n> " + YES),
        (("It works.",), "It works."),
        ((YES,), ""),
        ((), ""),
    ],
)
def test_prose_is_the_last_words_without_the_answer(texts: tuple[str, ...], expected: str) -> None:
    assert prose(texts, Outcome("no-issues")) == expected


def test_prose_keeps_the_last_eight_kilobytes_in_whole_characters() -> None:
    text = prose(("é" * 10_000 + "!",), Outcome("no-issues"))
    assert len(text.encode()) <= 8192
    assert set(text) == {"é", "!"}


# Long enough: what is quadratic takes thousands of lines for a character of it.
_N = 8_000
HOSTILE = {
    "braces": "{" * _N,
    "keys": '{"' * (_N // 2),
    "objects": '{"a":' * (_N // 5),
    "objects, cut off": '{"a":' * (_N // 5) + "1",
    "comments": "{/*" * (_N // 3),
    "comments before members": "{/*" * (_N // 6) + "*/" + '"a":1,' * (_N // 12),
    "comments before a string": "{/*" * (_N // 6) + '*/"' + "a" * (_N // 2),
    "arrays": "[" * _N,
    "escaped quotes": '{"\\"' * (_N // 4),
    "empty objects": "{}" * (_N // 2),
    "backslashes": '{"a":"' + "\\" * _N,
    "wide": ("{" + " " * 1000) * (_N // 1000),
    "unknown": '{"outcome":"x"}' * (_N // 15),
    "outcomes": '{"outcome" ' * (_N // 11),
}


@pytest.mark.parametrize("name", spread(HOSTILE, 5))
def test_a_hostile_text_costs_some_lines_for_each_of_its_characters(name: str) -> None:
    with at_most_lines(100 * _N):
        counted = from_text(HOSTILE[name], ALLOWED)
    assert isinstance(counted, OutcomeError)
    assert from_text(HOSTILE[name], ALLOWED) == counted


@pytest.mark.parametrize("name", ["keys", "comments"])
def test_an_answer_after_hostile_text_is_still_found(name: str) -> None:
    assert from_text(HOSTILE[name] + "\n" + YES, ALLOWED) == Outcome("no-issues")


@given(st.text(alphabet='{}[]":,\\/*`outcome no-issues\n', max_size=120))
def test_any_text_is_judged_without_fault(text: str) -> None:
    found = from_text(text, ALLOWED)
    if isinstance(found, Outcome):
        assert found.outcome in (*ALLOWED, "other")
    else:
        assert len(found.excerpt) <= 200


@given(
    st.text(alphabet=st.characters(exclude_characters="{}[]<`~", exclude_categories=["Cs"])),
    st.sampled_from(ALLOWED),
    st.text(max_size=50, alphabet=st.characters(exclude_categories=["Cs"])),
    st.sampled_from([None, 2]),
)
def test_an_answer_after_any_prose_is_found(
    before: str, outcome: str, detail: str, indent: int | None
) -> None:
    answer = json.dumps({"outcome": outcome, "detail": detail}, indent=indent)
    found = from_text(before + "\n\n" + answer, ALLOWED)
    assert found == Outcome(outcome, detail=detail or None)
