"""Action blocks: what of a reply is an action, what is prose, and what is wrong with the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.reply.actions import NAMES, Action, Reply, parse_reply
from podiumd.core.reply.fences import pieces

READ = '{"action": "read_file", "path": "a.py"}'
READ_A = Action("read_file", {"path": "a.py"})


def fenced(inside: str, info: str = "json", fence: str = "```") -> str:
    return f"{fence}{info}\n{inside}\n{fence}"


def actions(text: str) -> tuple[Action, ...]:
    reply = parse_reply(text)
    assert reply.fault is None, reply.fault
    return reply.actions


def fault(text: str, **more: Any) -> str:
    reply = parse_reply(text, **more)
    assert reply.fault is not None, reply
    assert reply.actions == (), "nothing of a faulty reply is done"
    return reply.fault


# What is an action.


@pytest.mark.parametrize(
    "text",
    [
        fenced(READ),
        fenced(READ, "JSON"),
        fenced(READ, "Json title=x"),
        fenced(READ, " json"),
        fenced(READ, "action"),
        fenced(READ, "ACTION"),
        fenced(READ, fence="~~~"),
        fenced(READ, fence="`````"),
        f"```json\n{READ}\n`````   ",
        f"  ```json\n{READ}\n   ```",
        f"   ```json\n   {READ}\n```\t",
        f"```json\r\n{READ}\r\n```\r\n",
        f"I look at it:\n```json\n{READ}\n```",
        f"```json\n{READ}\n```\nThen I go on.",
        fenced(f"[{READ}]"),
        fenced(READ.replace(", ", ",\n\n  ")),
        fenced('{"action": "tool_call", "tool": "read_file", "args": {"path": "a.py"}}'),
        fenced('{"action": " read_file ", "path": "a.py"}'),
    ],
)
def test_an_action_is_found_however_its_block_is_written(text: str) -> None:
    assert actions(text) == (READ_A,)


def test_several_blocks_and_lists_are_done_in_their_order() -> None:
    listed = fenced('[{"action": "done"}, {"action": "search", "query": "x"}]', "action")
    text = f"First:\n{fenced(READ)}\nan example:\n{fenced('x = 1', 'python')}\n{listed}"

    assert actions(text) == (
        READ_A,
        Action("done", {}, block=3),
        Action("search", {"query": "x"}, block=3),
    )


def test_prose_is_what_stands_outside_the_blocks_that_hold_actions() -> None:
    example = fenced('{"port": 8080}')
    reply = parse_reply(f"I look.\n{fenced(READ)}\nIt says:\n{example}\nSo.")

    assert reply.prose == f"I look.\nIt says:\n{example}\nSo."


def test_a_reply_without_blocks_is_prose() -> None:
    assert parse_reply("  All is well.\n") == Reply("All is well.")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_reply_is_a_fault_and_no_end(text: str) -> None:
    assert fault(text) == "the reply holds no text: it was empty, or all of it were thoughts"


def test_an_unknown_name_is_no_fault_of_the_reply() -> None:
    assert actions(fenced('{"action": "fly"}')) == (Action("fly"),)


def test_a_call_of_a_tool_may_leave_out_its_arguments() -> None:
    assert actions(fenced('{"action": "tool_call", "tool": "done"}')) == (Action("done"),)


@pytest.mark.parametrize(
    "text",
    [
        fenced('{"port": 8080}'),
        fenced('{"port": 8080}', ""),
        fenced("[1, 2]"),
        fenced('"done"'),
        fenced("[]"),
        fenced(READ, "python"),
        fenced("{not json", ""),
        "{this is no JSON, but begins so}",
        '{"port": 8080}',
        f"````markdown\n{fenced(READ)}\n````",
        f"~~~text\n{fenced(READ)}\n~~~",
        f"    ```json\n    {READ}\n    ```",
        f"Write it as ```json {READ}``` in one line.",
    ],
)
def test_what_only_looks_like_an_action_is_prose(text: str) -> None:
    assert parse_reply(text) == Reply(text.strip())


def test_an_example_beside_an_action_is_prose_even_if_it_names_one() -> None:
    text = fenced('{"tool": "patch"}') + "\n" + fenced(READ)

    assert actions(text) == (Action("read_file", {"path": "a.py"}, block=2),)


# What is wrong.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"```json\n{READ}", "block 1: the fence is never closed"),
        (f"```json\n{READ}\n``", "block 1: the fence is never closed"),
        (f"````json\n{READ}\n```", "block 1: the fence is never closed"),
        (f"```json\n{READ}\n~~~", "block 1: the fence is never closed"),
        (f"```json\n{READ}\n    ```", "block 1: the fence is never closed"),
        (f"{fenced(READ)}\n```python\nx = 1", "block 2: the fence is never closed"),
        (fenced("{'action': 'done'}"), "block 1: not valid JSON: JSON is malformed"),
        (fenced(READ) + "\n" + fenced('{"action"'), "block 2: not valid JSON: Input data was trun"),
        (fenced(f"{READ}\n{READ}"), "block 1: not valid JSON"),
        (fenced("[" * 100_000), "block 1: not valid JSON"),
        (fenced('{"path": "a.py"}', "action"), "block 1: 'action' is missing"),
        (fenced("[]", "action"), "block 1: an action block holds an action, or a list of them"),
        (fenced("7", "action"), "block 1: expected an object with an 'action', got a number"),
        (fenced(f"[{READ}, true]"), "block 1, item 2: expected an object with an 'action', got tr"),
        (fenced(f'[{READ}, {{"path": "b"}}]'), "block 1, item 2: 'action' is missing"),
        (
            fenced('{"action": 7}'),
            "block 1: 'action' has to be the name of an action, not a number",
        ),
        (
            fenced('{"action": " "}'),
            "block 1: 'action' has to be the name of an action, not a text",
        ),
        (
            fenced('{"action": "tool_call"}'),
            "block 1: 'tool' has to be the name of an action, not null",
        ),
        (
            fenced('{"action": "tool_call", "tool": "done", "args": []}'),
            "block 1: 'args' has to be an object, not a list",
        ),
        (
            fenced('{"action": "tool_call", "tool": "read_file", "path": "a.py"}'),
            "block 1: tool_call has 'tool' and 'args', not 'path'",
        ),
        (
            fenced('{"tool": "read_file"}'),
            "block 1 names 'read_file' but is no action: write a ```",
        ),
        (fenced('[{"patch": {}}]'), "block 1 names 'patch' but is no action"),
        (fenced(READ, ""), "block 1 names 'read_file' but is no action"),
        (fenced(READ, "jsonc"), "block 1 names 'read_file' but is no action"),
        (f"  {READ}\n", "the reply names 'read_file' but is no action"),
        (f"``json\n{READ}\n``", "the reply names 'read_file' but is no action"),
    ],
)
def test_a_fault_names_its_block_and_what_is_wrong(text: str, says: str) -> None:
    assert fault(text).startswith(says)


def test_a_cut_reply_is_a_fault_whatever_it_holds() -> None:
    assert "cut off" in fault(fenced(READ), cut=True)
    assert "cut off" in fault("All is well.", cut=True)


def test_half_a_character_in_a_block_is_a_fault_and_no_crash() -> None:
    assert fault(fenced('{"action": "read_file", "path": "\ud800"}')).startswith("block 1: not val")


@pytest.mark.parametrize("info", ["json", ""])
def test_an_outcome_may_be_called_as_an_action_is(info: str) -> None:
    """A recipe's step may end "done": that is its outcome, and no action written wrong."""
    outcome = '{"outcome": "done"}'
    text = f"All is well.\n{fenced(outcome, info)}"

    assert parse_reply(text).fault is None and parse_reply(text).actions == ()
    assert parse_reply('All is well.\n{"outcome": "done"}').fault is None


def test_which_names_are_known_is_for_whoever_asks_to_say() -> None:
    text = fenced('{"tool": "save"}')

    assert parse_reply(text).fault is None
    assert "names 'save'" in fault(text, names=(*NAMES, "save"))


# Whatever a model writes.

prose_lines = st.text(
    st.characters(exclude_characters="`~{[\r", exclude_categories=["Cs"]), max_size=40
).map(lambda text: text.replace("\n", " "))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=2)
    ),
    max_leaves=4,
)
written = st.builds(
    lambda name, args: {**args, "action": name},
    st.sampled_from(NAMES),
    st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda key: key != "action"), json_values, max_size=3
    ),
)


@st.composite
def replies(draw: st.DrawFn) -> tuple[str, list[Action]]:
    """A reply with blocks written in all the allowed ways, and what it asks for."""
    parts: list[str] = []
    asked: list[Action] = []
    for number in range(1, draw(st.integers(0, 4)) + 1):
        items = draw(st.lists(written, min_size=1, max_size=3))
        alone = len(items) == 1 and draw(st.booleans())
        value = items[0] if alone else items
        fence = draw(st.sampled_from(["```", "~~~", "````", "~~~~~"]))
        indent = " " * draw(st.integers(0, 3))
        info = draw(st.sampled_from(["json", "JSON", "action", "Action"]))
        body = json.dumps(
            value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1]))
        )
        parts += draw(st.lists(prose_lines, max_size=2))
        parts += [f"{indent}{fence}{info}", body, f"{indent}{fence}"]
        for item in items:
            args = {key: of for key, of in item.items() if key != "action"}
            asked.append(Action(str(item["action"]), args, number))
    parts += draw(st.lists(prose_lines, max_size=2))
    return "\n".join(parts), asked


@given(replies())
def test_what_a_model_asks_for_is_what_is_found(reply: tuple[str, list[Action]]) -> None:
    text, asked = reply

    assert list(actions(f"So.\n{text}")) == asked


@given(replies(), st.data())
def test_no_cut_piece_of_a_reply_asks_for_something_else(
    reply: tuple[str, list[Action]], data: st.DataObject
) -> None:
    text, asked = reply
    piece = text[: data.draw(st.integers(0, len(text)))]
    found = parse_reply(piece)

    assert list(found.actions) == asked[: len(found.actions)]


@given(st.text() | st.text(alphabet='`~ {}[]":,\njsonacti'))
def test_any_text_is_taken_apart_without_loss(text: str) -> None:
    parse_reply(text)

    assert "\n".join(piece.source for piece in pieces(text)) == text


SERVED = ("ask", "save", "notify")


@pytest.mark.parametrize(
    "value",
    [
        {"tool": "save", "args": {"key": "goal"}},
        {"name": "mcp__podium__save", "input": {"key": "goal"}},
        {"save": {"key": "goal"}},
        [{"tool": "save", "args": {}}],
    ],
)
def test_a_call_of_a_served_tool_without_its_action_is_a_fault(value: Any) -> None:
    """Told as prose it would end the turn with nothing saved, and nobody would know."""
    reply = parse_reply(fenced(json.dumps(value)), served=SERVED)

    assert reply.fault == (
        """block 1 names 'save' but is no action: write a ```json block, {"action": "save", ...}"""
    )


@pytest.mark.parametrize(
    "value",
    [
        {"name": "notify", "kind": "agent"},
        {"save": "yes"},
        {"name": "save", "relations": {"to": "goal"}},
        {"args": {"save": 1}},
        {"agents": {"ask": {"role": "asks"}}},
        {"tool": 3, "args": {}},
        ["save"],
    ],
)
def test_an_example_that_only_holds_the_word_is_an_example(value: Any) -> None:
    assert parse_reply(fenced(json.dumps(value)), served=SERVED).fault is None
