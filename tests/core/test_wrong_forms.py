"""What is plainly an action in a wrong form is answered with the form; examples are left alone."""

from __future__ import annotations

import json

import pytest

from podiumd.core.reply.actions import parse_reply
from tests.long import sampled, spread
from tests.work import at_most_lines

WRITE = '{"action": "write_file", "path": "a", "content": "1"}'
CALL = '{"name": "write_file", "arguments": {"path": "a", "content": "1"}}'
DONE = '{"action": "done"}'
INVOKED = '<invoke name="write_file">\n<parameter name="path">a</parameter>\n</invoke>'
TOLD = "but is no action: write a ```json block, "


def fenced(inside: str, info: str) -> str:
    return f"```{info}\n{inside}\n```"


def said(text: str, served: tuple[str, ...] = ()) -> str | None:
    """What the model is told of a reply, of which nothing is done."""
    reply = parse_reply(text, served=served)
    assert reply.actions == ()
    return reply.fault


WRONG = {
    "no fence, after prose": f"I do it now.\n\n{WRITE}",
    "no fence, right below prose": f"I do it now:\n{WRITE}\nThen I go on.",
    "no fence, a list": f"Now:\n\n[{WRITE},\n {WRITE}]",
    "no fence, over several lines": f"Now:\n\n{json.dumps(json.loads(WRITE), indent=2)}\n",
    "no fence, a line break in a string": f"Now:\n\n{WRITE.replace('1', 'one' + chr(10) + 'two')}",
    "no fence, a comma too many": f"Now:\n\n{WRITE[:-1]},}}",
    "no fence, never closed": f"Now:\n\n{WRITE[:-1]}",
    "in a list, by four columns": f"1. First:\n\n    ```json\n    {WRITE}\n    ```",
    "in a list, by two levels": f"- a\n  - b\n\n    ```json\n    {WRITE}\n    ```\n",
    "in a list, beside its mark": f"1.  ```json\n    {WRITE}\n    ```",
    "in a list, without a fence": f"- this:\n\n    {WRITE}",
    "a fence of one line": f"I do it.\n```json {WRITE}```",
    "a fence of one line without a tag": f"```{WRITE}```",
    "a fence of two marks": f"``json\n{WRITE}\n``",
    "tagged json5": fenced(WRITE, "json5"),
    "tagged jsonc, with a comment": fenced(WRITE.replace(",", ", // here\n", 1), "jsonc"),
    "tagged as a call": fenced(CALL, "tool_call"),
    "tagged as a tool": fenced(WRITE, "tool"),
    "tagged by the action": fenced("a\n1", "write_file"),
    "no tag, and not strict": fenced(f"{WRITE[:-1]},}}", ""),
    "code for tools": fenced('print(write_file(path="a", content="1"))', "tool_code"),
    "YAML": fenced("action: write_file\npath: a\ncontent: '1'", "yaml"),
    "YAML without a fence": "Now:\n\naction: write_file\npath: a\n",
    "reasons and actions": 'Thought: I write.\nAction: write_file\nAction Input: {"path": "a"}',
    "a literal of Python": "Now:\n\n{'action': 'write_file', 'path': 'a', 'content': '1'}",
    "an object that no parser takes": "Now:\n{\n  'action': 'write_file',\n  'path': 'a'\n}",
    "markup around a call": f"<tool_call>{CALL}</tool_call>",
    "markup around a call, on lines": f"Now:\n<tool_call>\n{CALL}\n</tool_call>\n",
    "markup that is never closed": f"<tool_call>\n{CALL}",
    "markup of functions": f"<function_call> {CALL} </function_call>",
    "markup with the name": INVOKED,
    "markup within markup": f"<function_calls>\n{INVOKED}\n</function_calls>",
    "markup by another's name": '<invoke name="mcp__files__write_file">\n</invoke>',
    "markup of a function": "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>",
    "markup of the action": "<write_file>\n<path>a</path>\n<content>1</content>\n</write_file>",
    "marks of special tokens": f"<|python_tag|>{CALL}",
    "marks of wider tokens": "<\uff5ctool\u2581call\u2581begin\uff5c>write_file\n{}",
    "marks in brackets": f"[TOOL_CALLS] [{CALL}]",
    "a call by its parameters": f"I write it.\n\n{CALL}",
    "a call whose parameters are a text": "Now:\n\n" + CALL.replace("{\"path", '"{}", "x": {"path'),
    "a call by its only key": '{"write_file": {"path": "a", "content": "1"}}',
    "a call within others": f'Now:\n\n{{"tool_calls": [{{"function": {CALL}}}]}}',
    "an action within an action": f'Now:\n\n{{"action": {CALL}}}',
    "and an end beside it": f"<tool_call>{CALL}</tool_call>\n{fenced(DONE, 'json')}",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_plainly_an_action_is_answered_with_the_form(text: str) -> None:
    told = said(text)

    assert told is not None
    assert f"names 'write_file' {TOLD}" in told
    assert '{"action": "write_file", ...}' in told


EXAMPLES = {
    "in a sentence": f"Others write {WRITE} for that.",
    "at the end of a sentence": f"Others write\n{WRITE} for that.",
    "in back-ticks": f"Others write\n`{WRITE}`\nfor that.",
    "a fence of one line in a sentence": f"Write ```json {WRITE}``` in one line.",
    "a fence of one line that is closed otherwise": f"```json {WRITE}````",
    "quoted": f"They said:\n\n> {WRITE}\n> ```json\n> {WRITE}\n> ```\n",
    "quoted markup": f"They said:\n> <tool_call>{CALL}</tool_call>",
    "indented as code": f"So it looks:\n\n    {WRITE}\n",
    "a block of another language": fenced(f"ask({WRITE})", "python"),
    "a block of markdown": f"````markdown\n{fenced(WRITE, 'json')}\n````",
    "YAML of something else": fenced("steps:\n  - uses: write_file", "yaml"),
    "YAML with a step of that name": fenced("action: search\nname: x", "yaml"),
    "a sentence with an action": "The action: write_file makes a file.",
    "a line with the end": "Action: done\nfile: all of them",
    "a literal of something else": "Now:\n{'action': 'deploy', 'path': 'a'}",
    "markup in a sentence": "Others write\n<tool_call>write_file</tool_call> for that.",
    "markup of a page": "<toolbar>\n<b>\n</toolbar>",
    "markup of another name": "<some_element>\nwrite_file\n</some_element>",
    "a tool of somebody else": f"Now:\n\n{CALL.replace('write_file', 'deploy')}",
    "an outcome": '{"outcome": "complete", "action": "write_file"}',
    "a setting": 'Now:\n\n{"mode": "write_file", "name": "x"}',
    "objects in objects": 'Now:\n\n{"action":' * 6 + f"{WRITE}" + "}" * 6,
    "half a character": 'Now:\n\n{"action": "\ud800"}',
    "a tag for tools without a call": "<tools>\nThere are none.\n</tools>",
}


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_in_an_explanation_is_an_example(text: str) -> None:
    assert said(text) is None


@pytest.mark.parametrize(
    "text",
    [
        fenced('{"name": "Bash", "arguments": {"command": "ls"}}', "tool_call"),
        fenced("print(weather('Rome'))", "tool_code"),
        '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>',
    ],
)
def test_a_call_of_what_there_is_not_is_answered_with_the_form_too(text: str) -> None:
    told = said(text)

    assert told is not None
    assert f"names 'NAME' {TOLD}" + '{"action": "NAME", ...}' in told


@pytest.mark.parametrize(
    "text",
    [
        'I keep it.\n\n{"name": "mcp__podium__save", "input": {"key": "goal"}}',
        '<tool_call>{"name": "save", "arguments": {"key": "goal"}}</tool_call>',
        fenced('{"save": {"key": "goal"}}', "json5"),
    ],
)
def test_a_call_of_a_served_tool_is_found_by_all_that_it_is_called(text: str) -> None:
    told = said(text, served=("save",))

    assert told is not None
    assert f"names 'save' {TOLD}" in told


def test_an_action_in_the_right_form_makes_the_others_examples() -> None:
    text = f"<tool_call>{CALL}</tool_call>\n" + fenced(
        '{"action": "read_file", "path": "a"}', "json"
    )

    assert [action.name for action in parse_reply(text).actions] == ["read_file"]


@pytest.mark.parametrize("length", sampled([40_000, 200_000]))
@pytest.mark.parametrize(
    "piece",
    spread(
        [
            "<tool_call>\n",
            "action: patch\n",
            '{"action": "x",\n',
            "``` ",
            "[{",
            "<|tool",
            "1. ",
            "{'action': '",
        ],
        3,
    ),
)
def test_a_reply_of_many_beginnings_is_read_in_steps_that_its_length_bounds(
    piece: str, length: int
) -> None:
    """Each beginning followed to the end of the text would be thousands of lines a character, and
    hang at the greater length where one regular expression did it.
    """
    with at_most_lines(50 * length):
        said(piece * (length // len(piece)))
