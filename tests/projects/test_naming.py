"""A session's title from its first message: short, on one line, never empty."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from podiumd.agents.claude.one_shot import ONE_SHOT, answer_in, arguments
from podiumd.projects.naming import LONGEST, NO_NAME, cleaned_name, heuristic_name
from podiumd.projects.naming_agent import infer_name
from podiumd.tools.process.processes import carriers, with_entry
from tests.fakes.model_server import ModelServer
from tests.patience import HANG_SECONDS
from tests.work import at_most_lines, ending


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("fix the login bug", "Fix the login bug"),
        ("Hi Claude, could you please fix the login bug? It is old.", "Fix the login bug"),
        ("Hello!\n\nI'd like you to help me to write docs.", "Write docs"),
        ("Good morning team - let's refactor the parser", "Refactor the parser"),
        ("Why does this fail?", "Why does this fail?"),
        ("Why? I do not know", "Why? I do not know"),
        ("```python\nimport os\n```\nWhy does this print 1?", "Why does this print 1?"),
        ("~~~\ncode\n~~~\nrun it\n```\nunclosed", "Run it"),
        ("```\nimport os\n```", "Import os"),
        ("Look at /home/ada/src/app/test_login.py please", "Look at test_login.py please"),
        ("see src/app/models/user.py line 3", "See user.py line 3"),
        ("open ~/a/b/c and ../x/y/z.txt", "Open c and z.txt"),
        ("read C:\\Users\\ada\\notes.txt now", "Read notes.txt now"),
        ("https://example.org/a/b?c=d is down", "example.org is down"),
        ("and/or either/or are words", "and/or either/or are words"),
        ("# Task\n\nAdd a dark mode", "Add a dark mode"),
        ("Context:\n- the server\n- the client", "The server"),
        ("1. Do this\n2. Do that", "Do this"),
        ("> quoted\n\nreply", "Quoted"),
        ("**Important:** run `make test`", "Important: run make test"),
        ("[the docs](https://x.org/y) are wrong", "The docs are wrong"),
        ('"Add a dark mode"\n', "Add a dark mode"),
        ("\u201cAdd a \u2018dark\u2019 mode\u201d", "Add a \u2018dark\u2019 mode"),
        ('say "hi" and "ho"', 'Say "hi" and "ho"'),
        ("user.py has a bug", "user.py has a bug"),
        ("iPhone app crashes", "iPhone app crashes"),
        ("Fix v1.2.3 release. Then go on.", "Fix v1.2.3 release"),
        ("<command-name>/compact</command-name>", "/compact"),
        ("<!-- note\n\nto self -->do it now", "Do it now"),
        ("line one\r\nline two", "Line one"),
        ("a\u2028b c\x1b[31m d", "B c [31m d"),
        ("hello", "Hello"),
        ("please", "Please"),
        ("Überprüfe die Tests", "Überprüfe die Tests"),
        ("", NO_NAME),
        (" \n\t\n", NO_NAME),
        ("?!...", NO_NAME),
        ("👍", NO_NAME),
        ("```\n```", NO_NAME),
    ],
)
def test_a_message_has_its_title(message: str, title: str) -> None:
    assert heuristic_name(message) == title


def test_a_long_sentence_is_cut_between_words() -> None:
    title = heuristic_name(
        "implement logging in with Google and GitHub, refresh tokens and sessions"
    )
    assert title == "Implement logging in with Google and GitHub, refresh tokens…"
    assert len(title) == LONGEST
    assert heuristic_name("x" * 1000) == "x".upper() + "x" * 58 + "…"


@given(st.text(max_size=400))
def test_any_message_has_a_title_of_one_short_visible_line(message: str) -> None:
    title = heuristic_name(message)
    assert 1 <= len(title) <= LONGEST
    assert title == title.strip()
    assert not any(unicodedata.category(one) in ("Cc", "Cs", "Cf", "Zl", "Zp") for one in title)


MARKS = [
    "`", "```", "<", "<a", "[", "](", "/", "a/", "*", "_", " ", "\n", "please ", "hi ", "!", ".",
    ": ", '"', "x", "<!--",
]  # fmt: skip


@given(st.lists(st.sampled_from(MARKS), max_size=200))
def test_any_mixture_of_marks_has_a_title(pieces: list[str]) -> None:
    assert 1 <= len(heuristic_name("".join(pieces))) <= LONGEST


@pytest.mark.parametrize(
    "piece",
    ["`", "<", "[", "/a", "a/", "**", "__", "please ", "hi, ", "- ", "<!--", "](", "> ", "a."],
)
def test_a_huge_message_costs_little(piece: str) -> None:
    with ending(), at_most_lines(100_000):
        heuristic_name(piece * 100_000)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fix the login bug", "Fix the login bug"),
        ('"Fix the login bug"\n', "Fix the login bug"),
        ("\n\n**Fix the login bug.**\n\nBecause it is about that.", "Fix the login bug"),
        ("Title: 'Fix it'", "Fix it"),
        ("# Session name: Fix it", "Fix it"),
        ("`fix_it()` fails", "fix_it() fails"),
        ("", ""),
        ('""\n', ""),
        ("...", ""),
        ("word " * 30, "word " * 11 + "word…"),
    ],
)
def test_a_model_s_answer_is_cleaned(answer: str, title: str) -> None:
    assert cleaned_name(answer) == title


@given(st.text(max_size=300))
def test_any_answer_gives_a_short_line_or_nothing(answer: str) -> None:
    title = cleaned_name(answer)
    assert len(title) <= LONGEST
    assert "\n" not in title


# -- asking the agent for a title: an answer or the heuristic one, in time, and without traces


MESSAGE = "Please fix the login bug.\nIt is old."

HEURISTIC = "Fix the login bug"


def result(text: object, **more: object) -> str:
    return json.dumps({"type": "result", "is_error": False, "result": text, **more})


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary directories are made in this test."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(path))
    return path


Agent = Callable[[str], list[str]]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """Makes an agent of a shell script; ``$SEEN`` is a directory for what it saw."""

    def made(script: str) -> list[str]:
        program = tmp_path / "agent"
        program.write_text(f"#!/bin/sh\nSEEN='{tmp_path}'\n{script}\n")
        program.chmod(0o755)
        return [str(program)]

    return made


def environment(marker: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "GIVEN": "1", "PODIUM_TURN": marker}


async def named(command: list[str], message: str = MESSAGE, seconds: float = HANG_SECONDS) -> str:
    return await infer_name(
        message, command=command, environment=environment, one_shot=ONE_SHOT, limit_seconds=seconds
    )


async def test_the_agent_s_answer_is_the_title(agent: Agent, tmp_path: Path) -> None:
    answer = result('"Login repair."\n')
    command = agent(
        f"cat > $SEEN/stdin; pwd > $SEEN/cwd; env > $SEEN/env; printf '%s\\n' \"$@\" > $SEEN/argv\n"
        f"echo a warning >&2; cat <<'X'\n{answer}\nX"
    )
    assert await named(command) == "Login repair"
    assert (tmp_path / "stdin").read_text() == MESSAGE
    argv = (tmp_path / "argv").read_text()
    assert MESSAGE not in argv
    assert "--no-session-persistence\n" in argv and "--model\nhaiku\n" in argv
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    assert seen.keys() - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH", "GIVEN", "PODIUM_TURN", "TMPDIR", "DISABLE_AUTOUPDATER",
    }  # fmt: skip
    assert (tmp_path / "cwd").read_text().strip().startswith(seen["TMPDIR"])


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        'echo \'{"type":"result","is_error":true,"result":"API Error: 529"}\'',
        'echo \'{"type":"result","is_error":false,"result":"Good"}\'; exit 1',
        'echo \'{"type":"result","is_error":false,"result":"..."}\'',
        'echo \'{"type":"result","is_error":false,"result":null}\'',
        "echo 'not json'",
        "true",
        "kill -9 $$",
    ],
)
async def test_without_a_good_answer_the_title_is_made_of_the_message(
    agent: Agent, temporary: Path, script: str
) -> None:
    assert await named(agent(script)) == HEURISTIC
    assert list(temporary.iterdir()) == []


async def test_without_an_agent_or_a_disk_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await named(["no-such-agent"]) == HEURISTIC
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert await named(["true"]) == HEURISTIC


async def test_an_agent_that_takes_too_long_is_ended(agent: Agent, tmp_path: Path) -> None:
    command = agent("echo $PODIUM_TURN > $SEEN/marker; (setsid sleep 1000 &); sleep 1000")
    assert await named(command, seconds=0.3) == HEURISTIC
    assert carriers((tmp_path / "marker").read_text().strip()) == []


async def test_whoever_gives_up_asking_leaves_nothing(
    agent: Agent, tmp_path: Path, temporary: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    command = agent("echo $PODIUM_TURN > $SEEN/gate; sleep 1000")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(named, command)
        async with await trio.open_file(tmp_path / "gate") as gate:
            marker = (await gate.readline()).strip()
        nursery.cancel_scope.cancel()
    assert carriers(marker) == []
    assert list(temporary.iterdir()) == []


async def test_a_message_of_any_kind_can_be_asked_about(agent: Agent, tmp_path: Path) -> None:
    command = agent("cat > $SEEN/stdin; exit 1")
    assert await named(command, "--help \ud800\0" + "x" * 100_000)
    assert (tmp_path / "stdin").stat().st_size == 4000


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (result("One"), "One"),
        (f"[{json.dumps({'type': 'system'})}, {result('Two')}]", "Two"),
        (f"a warning\n{result('Three')}\nbye\n", "Three"),
        (f"{result('Four')}\n[]\n7\n", "Four"),
        (result("No", is_error=True), ""),
        (result(["No"]), ""),
        ("[" * 100_000, ""),
        ("", ""),
    ],
)
def test_the_answer_is_found_in_what_was_printed(output: str, answer: str) -> None:
    assert answer_in(output) == answer


def test_the_message_is_no_argument_and_no_tool_is_allowed() -> None:
    argv = arguments("say a title")
    assert argv[argv.index("--model") + 1] == "haiku"
    assert argv[argv.index("--tools") + 1] == ""
    assert json.loads(argv[argv.index("--settings") + 1]) == {"disableAllHooks": True}


@pytest.mark.claude
async def test_the_real_agent_answers_runs_no_hook_and_leaves_no_session(
    claude_binary: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    hook = {"hooks": [{"type": "command", "command": f"touch {home}/hooked"}]}
    settings = {"hooks": {name: [hook] for name in ("SessionStart", "Stop", "UserPromptSubmit")}}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    with ModelServer({"default": {"text": '"Login repair"'}}) as model:

        def whole(marker: str) -> dict[str, str]:
            return {
                "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8",
                "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "dummy",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "0",
                "PODIUM_TURN": marker,
            }  # fmt: skip

        title = await infer_name(
            "-p --version\nIgnore that.",
            command=[str(claude_binary)],
            environment=whole,
            one_shot=ONE_SHOT,
        )
        asked = [json.dumps(request.body) for request in model.requests]
    assert title == "Login repair"
    assert any("-p --version" in body and "haiku" in body for body in asked)
    assert not any('"name": "Bash"' in body for body in asked)
    assert list(home.rglob("*.jsonl")) == []
    assert not (home / "hooked").exists()
    assert with_entry(f"HOME={home}")[0] == []
