"""A ``RunAgentInput``: what is said in it, what is passed over, and what is refused by its name."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.agui.incoming import MOST_RESUMED, Message, Props, RunInput, run_input
from podiumd.gateway.http.exchange import Problem
from podiumd.runtime.errors import InvalidParameter
from tests.plain import plain

Json = dict[str, Any]


def user(content: Any = "Hello", id: str = "m-1") -> Json:
    return {"id": id, "role": "user", "content": content}


def body(*messages: Json, **fields: Any) -> Json:
    return {"threadId": "t", "runId": "r", "messages": list(messages)} | fields


def read(value: object) -> RunInput:
    return run_input(json.dumps(value).encode())


def refusal(value: object) -> InvalidParameter:
    with pytest.raises(InvalidParameter) as found:
        read(value)
    return found.value


def text(words: str) -> Json:
    return {"type": "text", "text": words}


PICTURE = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}}


def test_what_the_published_models_send_is_understood() -> None:
    sent = RunAgentInput.model_validate(
        body(
            {"id": "m-0", "role": "system", "content": "Be kind."},
            user([text("Hello"), text("there")]),
            state={"a": 1},
            tools=[],
            context=[],
            protocolVersion="1.0",
            parentRunId="p",
            forwardedProps={"recipe": "guided-design", "working_directory": "/w", "x": {"y": 1}},
            resume=[{"interruptId": "q-1", "status": "resolved", "payload": {"answer": "a"}}],
        )
    )
    asked = run_input(sent.model_dump_json(by_alias=True).encode())
    assert (asked.thread_id, asked.run_id) == ("t", "r")
    assert asked.message == Message("m-1", "Hello\nthere")
    assert asked.props == Props(recipe="guided-design", working_directory="/w")
    assert [(e.interrupt_id, e.status, e.payload) for e in asked.resume] == [
        ("q-1", "resolved", {"answer": "a"})
    ]
    assert asked.unused == ()


def test_the_least_that_can_be_sent() -> None:
    assert read(body()) == RunInput("t", "r", Props())


@pytest.mark.parametrize("props", [None, "a text", 7, [1], {}])
def test_props_that_are_not_for_us_are_passed_over(props: object) -> None:
    assert read(body(user(), forwardedProps=props)).props == Props()


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([user("One", "m-1"), user("Two", "m-2")], Message("m-2", "Two")),
        ([user(), {"id": "a", "role": "assistant", "content": "Hi."}], None),
        ([user(), {"id": "a", "role": "tool", "content": "x", "toolCallId": "c"}], None),
        ([user(), {"id": "a", "role": "developer", "content": "x"}], Message("m-1", "Hello")),
        ([{"id": "a", "role": "of another day"}], None),
        ([], None),
    ],
)
def test_what_is_said_is_the_last_message_unless_an_agent_has_spoken_since(
    messages: list[Json], said: Message | None
) -> None:
    assert read(body(*messages)).message == said


def test_what_an_agent_cannot_use_is_passed_over_and_named() -> None:
    """The protocol forbids to fail a run for it."""
    tool = {"name": "confirm", "description": "Ask the user"}
    context = {"description": "The page", "value": "home"}
    asked = read(body(user([text("See:"), PICTURE, {}]), tools=[tool], context=[context]))
    assert asked.message == Message("m-1", "See:")
    assert asked.unused == ("tools", "context", "image part", "unknown part")


@pytest.mark.parametrize(
    ("value", "parameter", "words"),
    [
        ({"runId": "r", "messages": []}, "threadId", "'threadId' is missing: expected a text of"),
        ({"threadId": "t", "messages": []}, "runId", "'runId' is missing"),
        ({"threadId": "t", "runId": "r"}, "messages", "'messages' is missing"),
        (body(threadId=""), "threadId", "'threadId': expected a text of 1 to 256 characters"),
        (body(threadId="a\nb"), "threadId", "'threadId': expected"),
        (body(threadId="x" * 257), "threadId", "'threadId': expected"),
        (body(runId=7), "runId", "'runId': expected a text of 1 to 256 characters"),
        (body(messages="Hi"), "messages", "'messages': expected a list"),
        (body(7), "messages", "'messages': expected a list"),  # type: ignore[arg-type]
        (body({"id": "m"}), "messages[0].role", "'messages[0].role': expected a string, got null."),
        (body(user(7)), "messages[0].content", "'messages[0].content': expected a string or"),
        (body({"role": "user", "content": "x"}), "messages[0].id", "'messages[0].id' is missing"),
        (body(user(" ")), "messages[0].content", "'messages[0].content': expected a text, got no"),
        (
            body(user(), user([PICTURE])),
            "messages[1].content",
            "'messages[1].content': expected a text, got nothing but image part.",
        ),
        (
            body(user([{"type": "text", "text": 7}])),
            "messages[0].content[0].text",
            "'messages[0].content[0].text': expected a string, got the number 7.",
        ),
        (body(user("a\0b")), "messages[0].content", "'messages[0].content': expected a text"),
        (body(user("x" * 2**20)), "messages[0].content", "The text has 1048576 bytes"),
        (
            body(forwardedProps={"recipe": "../x"}),
            "forwardedProps.recipe",
            "'forwardedProps.recipe': expected an id of letters, digits",
        ),
        (
            body(forwardedProps={"working_directory": 7}),
            "forwardedProps.working_directory",
            "'forwardedProps.working_directory': expected a path",
        ),
        (body(forwardedProps={"params": [1]}), "forwardedProps.params", "'forwardedProps.params'"),
        (body(resume="q"), "resume", "'resume': expected a list"),
        (
            body(resume=[{"status": "resolved"}]),
            "resume[0].interruptId",
            "'resume[0].interruptId' is missing",
        ),
        (
            body(resume=[{"interruptId": "q", "status": "maybe"}]),
            "resume[0].status",
            "'resume[0].status': expected one of",
        ),
        (
            body(resume=[{"interruptId": "q", "status": "resolved", "payload": "a"}] * 2),
            "resume",
            "'resume': an interrupt has more than one answer",
        ),
        (body(resume=[{}] * (MOST_RESUMED + 1)), "resume", "'resume': expected a list of at most"),
        (body(tools="x"), "tools", "'tools': expected a list"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(value: object, parameter: str, words: str) -> None:
    found = refusal(value)
    assert plain(found.data)["parameter"] == parameter
    assert found.message.startswith(words), found.message


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(Problem) as found:
        run_input(raw)
    assert found.value.status == 400


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
names = ["threadId", "runId", "messages", "forwardedProps", "resume", "tools", "context", "state"]


@given(
    st.dictionaries(st.sampled_from(names), values),
    st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": values, "id": values})),
)
def test_nothing_that_is_sent_is_a_fault_of_ours(fields: Json, messages: list[Json]) -> None:
    with suppress(InvalidParameter):
        assert isinstance(read(body(*messages) | fields), RunInput)
