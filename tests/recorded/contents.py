"""The fixed contents of the recorded world: recipes, scripts of agents, a transcript, settings."""

from __future__ import annotations

import json
from typing import Any, Final

Json = dict[str, Any]

RECIPES: Final = {
    "note": """\
format = 1
id = "note"
label = "Note"
description = "Write a note, check it, commit it when a person says so"
initial = "write"

[params.task]
type = "string"
default = "the first note"

[limits]
max_step_visits = 2
max_total_steps = 4

[steps.write]
prompt = "Write {{task}}."
allow = ["Write"]
checks = [{ run = ["test", "-s", "note.txt"], timeout_seconds = 60 }]

[steps.write.on]
complete = { to = "commit" }
checks-failed = { to = "write" }

[steps.commit]
gate = "Commit the note?"
commits = true
prompt = "Commit the note."
allow = ["Bash"]

[steps.commit.on]
committed = { exit = "changes-committed" }
""",
    "outside": """\
format = 1
id = "outside"
description = "Have an agent with a process of its own report an outcome"
initial = "work"

[limits]
max_total_steps = 1

[steps.work]
prompt = "Work."

[steps.work.on]
complete = { exit = "no-tasks-available" }
""",
    "probe": """\
format = 1
id = "probe"
description = "Run a command that fails until the limit is reached"
initial = "look"

[limits]
max_step_visits = 2

[steps.look]
run = ["test", "-e", "absent.txt"]
timeout_minutes = 1

[steps.look.on]
passed = { exit = "no-changes-to-commit" }
failed = { to = "look" }
""",
    "name-it": """\
format = 1
id = "name-it"
label = "Name it"
description = "Find a name, in a conversation"
initial = "understand"

[context]
about = "string"
names = { type = "list", default = [], description = "Names that the person likes" }

[limits]
max_step_visits = 4

[steps.understand]
talk = true
opening = "What do you have to know?"
system = "Find out what is to be named."
hooks = [{ event = "turn-end", run = ["true"] }]

[steps.understand.on]
understood = { to = "propose", requires = ["about"] }

[steps.propose]
talk = true
opening = "Propose names."
system = "Propose names for this: {{ctx.about}}"

[steps.propose.on]
chosen = { to = "end", requires = ["names"] }

[steps.end]
talk = true
opening = "Say which names there are."
""",
}

PROJECT_RECIPE: Final = """\
format = 1
id = "ship"
description = "Send the project away"
initial = "send"

[steps.send]
run = ["true"]
timeout_minutes = 1

[steps.send.on]
passed = { exit = "no-tasks-available" }
failed = { exit = "clarification-needed" }
"""
"""A recipe that comes with a project."""

BROKEN_RECIPE: Final = PROJECT_RECIPE.replace("no-tasks-available", "shipped").replace(
    "clarification-needed", "error"
)
"""One with faults that ``check`` finds."""


def _turn(when: str, text: str, **more: Any) -> Json:
    return {"when": when, "text": text, **more}


def _calls(*calls: tuple[str, Json]) -> list[Json]:
    return [{"tool": tool, "args": args} for tool, args in calls]


DAY: Final = "2026-01-02T03:04:05+00:00"
DATES: Final = (f"GIT_AUTHOR_DATE={DAY}", f"GIT_COMMITTER_DATE={DAY}")
WORDS: Final = {"outcome": "complete"}
TURNS: Final[list[Json]] = [
    _turn("Write the first note", "I have to think.", cost_usd=0.01),
    _turn(
        "Please respond again",
        "I write the note.",
        ask={"tool": "Bash", "input": {"command": "make note"}},
        write=[{"path": "note.txt", "content": "A note.\n"}],
        outcome=WORDS,
        cost_usd=0.02,
    ),
    _turn("Write an error", "", error="the model is overloaded"),
    _turn("Write at the limit", "", usage_limit="2099-01-01T00:00:00Z"),
    _turn("Write while held", "I wait.", run=[["cat", "held"]], outcome=WORDS),
    _turn(
        "Write [a-z ]+ note",
        "I write the note.",
        write=[{"path": "note.txt", "content": "A note.\n"}],
        outcome=WORDS,
    ),
    _turn(
        "Commit the note",
        "Committed.",
        run=[
            ["git", "add", "note.txt"],
            ["env", *DATES, "git", "commit", "-q", "-m", "Add a note"],
        ],
        outcome={"outcome": "committed"},
        cost_usd=0.005,
    ),
    _turn("Hello", "Hello yourself.", cost_usd=0.001),
    _turn("By the way", "Noted."),
    _turn("Thank you", "Gladly."),
    _turn(
        "What do you have to know",
        "One thing.",
        tools=_calls(
            (
                "ask",
                {
                    "question": "What is to be named?",
                    "options": [{"id": "shop", "label": "A shop"}, {"id": "cat", "label": "A cat"}],
                    "free_text": True,
                },
            )
        ),
    ),
    _turn(
        "A cat",
        "A cat it is.",
        tools=_calls(
            ("save", {"key": "about", "value": "A cat"}),
            ("transition", {"to": "understood", "summary": "It is a cat."}),
        ),
    ),
    _turn("Propose names", "Mia, or Tom."),
    _turn(
        "I like Mia",
        "Mia it is.",
        tools=_calls(
            ("save", {"key": "names", "value": ["Mia"]}),
            ("transition", {"to": "chosen", "summary": "Mia."}),
        ),
    ),
    _turn("Say which names", "Mia."),
]
"""What the scripted agent says in all runs."""


def _act(words: str, *actions: Json) -> str:
    return f"{words}\n```json\n{json.dumps(list(actions))}\n```\n"


REPLIES: Final[list[Json]] = [
    {"when": "^Mend", "text": _act("I look.", {"action": "read_file", "path": "calc.py"})},
    {
        "when": '"action": ?"read_file"',
        "text": _act(
            "I mend it.",
            {
                "action": "patch",
                "file": "calc.py",
                "operations": [{"line": 2, "type": "replace", "content": ["    return a + b"]}],
            },
            {"action": "run_command", "command": "cat held"},
        ),
    },
    {
        "when": '"action": ?"run_command"',
        "text": _act("", {"action": "done", "summary": "Mended."}),
    },
    {"when": "", "text": "I know nothing else."},
]
"""What the model of the native agent says."""

CALC: Final = "def add(a, b):\n    return a - b\n"

SESSION: Final = "5e550000-0000-4000-8000-000000000001"
"""A conversation with Claude Code that was there before."""


def _row(number: int, kind: str, content: object, parent: int | None) -> str:
    row = {
        "type": kind,
        "uuid": f"5e550000-0000-4000-8000-0000000001{number:02d}",
        "parentUuid": parent and f"5e550000-0000-4000-8000-0000000001{parent:02d}",
        "sessionId": SESSION,
        "timestamp": f"2026-01-02T03:04:{number:02d}.000Z",
        "cwd": "HOME/shop",
        "isSidechain": False,
        "version": "2.0.0",
        "message": {"role": kind, "content": content},
    }
    if kind == "assistant":
        row["message"] |= {"id": f"msg_{number}", "model": "claude-sonnet-4-5"}  # type: ignore[operator]
    return json.dumps(row)


TRANSCRIPT: Final = "".join(
    f"{row}\n"
    for row in (
        _row(1, "user", "What is in the shop?", None),
        _row(
            2,
            "assistant",
            [
                {"type": "thinking", "thinking": "I look.", "signature": "x"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ],
            1,
        ),
        _row(
            3,
            "user",
            [{"type": "tool_result", "tool_use_id": "t1", "content": "README.md"}],
            2,
        ),
        _row(4, "assistant", [{"type": "text", "text": "A **README**."}], 3),
    )
)

HEARD: Final = "Rename the note.\n"

SETTINGS: Final = """
[agents.claude]
tools = "stdio"

[agents.scripted]
script = "HOME/turns.json"

[agents.native]
provider = "scripted"
model = "HOME/replies.json"
mode = "allow-all"
sandbox = "off"

[voice]
engine = "scripted"
script = "HOME/heard.txt"
speak_command = ["true"]

[limits]
max_agents = 8
"""
