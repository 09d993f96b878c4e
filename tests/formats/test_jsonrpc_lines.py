"""JSON-RPC by the line: what one side writes the other reads, and no line makes it raise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.formats.acp.wire import text_of
from podiumd.formats.jsonrpc_lines import (
    DEPTH_LIMIT,
    METHOD_NOT_FOUND,
    Answer,
    Bad,
    Failure,
    Message,
    Notice,
    Request,
    not_found,
    read,
    write,
)
from tests.formats import hostile

RECORDED = Path(__file__).parents[1] / "fixtures/exchanges"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids = texts | st.integers(-(2**53), 2**53)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
params = st.dictionaries(texts, values, max_size=3)
failures = st.builds(Failure, st.integers(-(2**31), 2**31), texts.filter(bool), values)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Request, ids, texts, params),
    st.builds(Notice, texts, params),
    st.builds(Answer, ids, values),
    st.builds(Answer, st.none() | ids, error=failures),
)


@given(messages, st.booleans())
def test_what_is_written_is_read_as_it_was_and_is_one_line(message: Message, version: bool) -> None:
    line = write(message, version=version)

    assert read(line) == read(line[:-1]) == message
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert json.loads(line).get("jsonrpc") == ("2.0" if version else None)


@given(st.binary(max_size=200) | st.sampled_from([*hostile.BROKEN, *hostile.ODD]))
def test_no_line_makes_it_raise(line: bytes) -> None:
    found = read(line)

    assert isinstance(found, Bad), "none of these is a message"
    assert found.reason and found.size == len(line)


@given(params)
def test_an_object_of_any_members_is_read_without_an_error(raw: dict[str, Any]) -> None:
    read(json.dumps(raw).encode())


@given(
    st.integers(1, 2000),
    st.sampled_from([("[", "]"), ('{"a":', "}"), ('[{"type":"content","content":', "}]")]),
)
def test_a_message_is_nested_so_deep_that_anything_can_be_done_with_it_or_it_is_lost(
    depth: int, around: tuple[str, str]
) -> None:
    before, after = around
    line = f'{{"method": "tell", "params": {{"x": {before * depth}1{after * depth}}}}}'.encode()
    levels = 2 + depth * (2 if before.startswith("[{") else 1)
    found = read(line)
    if levels <= DEPTH_LIMIT:
        assert isinstance(found, Notice) and write(found, version=False)
        assert isinstance(text_of(found.params["x"]), str)
    else:
        assert isinstance(found, Bad) and found.lost and found.size == len(line)


def test_a_message_may_be_as_wide_as_it_likes() -> None:
    line = json.dumps({"method": "tell", "params": {"x": [[1]] * 3000}}).encode()
    assert isinstance(read(line), Notice)


def said(raw: str) -> Message | Bad:
    return read(raw.encode())


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ('{"id": 0, "method": "ask", "params": {"a": 1}}', Request(0, "ask", {"a": 1})),
        ('{"id": "0", "method": "ask"}', Request("0", "ask")),
        ('{"jsonrpc": "2.0", "method": "tell", "emittedAtMs": 7}', Notice("tell")),
        ('{"method": "tell", "params": [1, 2]}', Notice("tell")),
        ('{"id": 1, "result": null}', Answer(1)),
        ('{"id": 1, "result": {"a": 1}, "error": null}', Answer(1, {"a": 1})),
        ('{"id": 1, "error": {"code": -5, "message": "no"}}', Answer(1, error=Failure(-5, "no"))),
        (
            '{"id": null, "error": {"code": -32700, "message": "what?", "data": [1]}}',
            Answer(None, error=Failure(-32700, "what?", [1])),
        ),
    ],
)
def test_each_kind_of_message_is_told_apart(raw: str, meant: Message) -> None:
    assert said(raw) == meant


def test_an_answer_with_both_a_result_and_an_error_is_an_error() -> None:
    found = said('{"id": 1, "result": {"ok": true}, "error": {"code": 3, "message": "no"}}')

    assert found == Answer(1, error=Failure(3, "no"))


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        ('"it is full"', Failure(0, "it is full")),
        ('""', Failure(0, "an error without words")),
        ("{}", Failure(0, "an error without words")),
        ('{"code": "x", "message": 5}', Failure(0, "an error without words")),
        ("true", Failure(0, "an error without words")),
    ],
)
def test_an_error_of_any_form_is_one(error: str, meant: Failure) -> None:
    assert said(f'{{"id": 1, "error": {error}}}') == Answer(1, error=meant)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"id": 1}', "neither a method nor a result or an error"),
        ('{"id": 1, "error": null}', "neither a method nor a result or an error"),
        ('{"id": 1, "method": 5}', "its method is no string"),
        ('{"id": true, "method": "ask"}', "its id is no string or integer"),
        ('{"id": 1.5, "method": "ask"}', "its id is no string or integer"),
        ('{"id": null, "method": "ask"}', "its id is no string or integer"),
        ('{"result": 1}', "a result without the id of its request"),
        ('[{"id": 1, "method": "ask"}]', "a JSON list, no object"),
    ],
)
def test_what_is_no_message_is_bad_with_its_reason(raw: str, reason: str) -> None:
    assert said(raw) == Bad(reason, len(raw))


@pytest.mark.parametrize(
    ("raw", "lost"), [('{"id": 1, "resu', True), (' {"x', True), ("Welcome!", False), ("", False)]
)
def test_a_line_that_begins_as_a_message_and_cannot_be_read_is_a_lost_one(
    raw: str, lost: bool
) -> None:
    found = said(raw)
    assert isinstance(found, Bad) and found.lost is lost


def test_half_a_surrogate_pair_is_written_as_a_question_mark() -> None:
    line = write(Notice("tell", {"text": "half \ud83d a pair"}), version=False)

    assert read(line) == Notice("tell", {"text": "half ? a pair"})


@pytest.mark.parametrize("id", [0, "0", 7])
def test_a_request_that_is_not_ours_is_answered_under_its_own_id(id: str | int) -> None:
    said = not_found(Request(id, "craft/drainMidTurnQueue", {"a": 1}))

    assert said.id == id and said.error is not None
    assert said.error.code == METHOD_NOT_FOUND and "craft/drainMidTurnQueue" in said.error.message


@pytest.mark.parametrize("file", sorted(RECORDED.glob("*/*.jsonl")), ids=lambda p: p.stem)
def test_each_recorded_line_is_a_message_and_goes_back_to_what_it_was(file: Path) -> None:
    for row in file.read_text().splitlines():
        recorded = json.loads(row)["line"]
        message = read(json.dumps(recorded).encode())
        assert not isinstance(message, Bad), row
        again = json.loads(write(message, version="jsonrpc" in recorded))
        none: dict[str, Any] = (
            {"params": {}} if "method" in recorded else {}
        )  # written where there are none too
        recorded.pop("emittedAtMs", None)
        assert again == none | recorded
