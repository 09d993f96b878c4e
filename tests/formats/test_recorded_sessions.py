"""What was said in recorded sessions of Qwen Code, Gemini CLI, Kimi Code and Copilot is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from podiumd.formats.session_formats import FORMATS
from tests.formats import fixtures
from tests.formats.reading import folded, messages, said

AGENTS = pytest.mark.parametrize("agent", ["qwen", "gemini", "kimi", "copilot"])
SHELLS = {
    "qwen": "run_shell_command",
    "gemini": "run_shell_command",
    "kimi": "Bash",
    "copilot": "bash",
}


def told(agent: str, story: str) -> list[str]:
    """The main session of a story, with all shells called as one, results left short."""
    (found, *_) = fixtures.of(agent, story)
    lines = said(FORMATS[agent], found)
    shell = f": {SHELLS[agent]} "
    short = (re.sub(r": (done|failed): .*", r": \1", line, flags=re.DOTALL) for line in lines)
    return [line.replace(shell, ": shell ") for line in short]


@AGENTS
def test_words_thoughts_calls_and_results_come_in_their_order_and_a_resumed_session_is_one(
    agent: str,
) -> None:
    lines = told(agent, "tools")
    # Gemini writes down neither a call that was denied nor that a command failed.
    denied = [] if agent == "gemini" else ["assistant: shell rm made"]
    both = {"qwen": ["Remove it. With rm."], "copilot": ["Remove it.\nWith rm."]}
    ended = "user: done" if agent == "gemini" else "user: failed"
    ends_turn = agent in {"qwen", "copilot"}
    answer = [] if ends_turn else ["assistant: So not."]
    after = lines[lines.index("assistant: Now that.") + 1 :]
    assert lines == [
        "user: Make a file.",
        "assistant: (A file is wanted.)",
        "assistant: I make it.",
        "assistant: shell echo made > made",
        "user: done",
        "assistant: shell echo out; exit 3",
        "assistant: shell echo two",
        ended,
        "user: done",
        "assistant: All done.",
        *(f"user: {words}" for words in both.get(agent, ["Remove it.", "With rm."])),
        "assistant: Now that.",
        *after,
    ]
    assert after == [*denied, "user: failed", *answer, "user: Go on.", "assistant: Going on."]


@AGENTS
def test_a_session_whose_agent_was_killed_goes_on(agent: str) -> None:
    lines = told(agent, "killed")
    assert lines[:2] == ["user: Wait.", "assistant: I wait."]
    assert lines[-2:] == ["user: And now?", "assistant: I am back."]


@AGENTS
def test_a_cancelled_answer_leaves_what_its_agent_kept_of_it(agent: str) -> None:
    kept = {"qwen", "kimi"}
    began = ["assistant: A long answer, of which "] if agent in kept else []
    assert told(agent, "cancelled") == [
        "user: Tell me all.",
        *began,
        "user: In short?",
        "assistant: In short, no.",
    ]


@AGENTS
def test_a_sub_agents_words_are_none_of_the_sessions(agent: str) -> None:
    lines = told(agent, "subagent")
    assert lines[:2] == ["user: Have it counted.", "assistant: I send one."]
    assert lines[-1] == "assistant: It counted."
    assert not any("One, two, three" in line for line in lines)


@pytest.mark.parametrize("agent", ["gemini", "kimi", "copilot"])
def test_a_picture_is_told_by_its_kind_and_size(agent: str) -> None:
    assert re.fullmatch(
        r"user: Image\(media_type='image/png', size=7[02]\)", told(agent, "image")[1]
    )


@pytest.mark.parametrize("agent", ["qwen", "kimi", "copilot"])
def test_a_compaction_leaves_the_conversation_as_it_was(agent: str) -> None:
    asked = [line[:16] for line in told(agent, "compacted") if line.startswith("user: Q")]
    assert asked == [f"user: Question {number}" for number in (0, 1, 2, 3, 5)]
    assert told(agent, "compacted")[-1] == "assistant: The fifth."


def test_a_copy_of_a_session_has_what_it_was_copied_from() -> None:
    copy, source = fixtures.of("kimi", "forked")
    assert said(FORMATS["kimi"], source) == ["user: First.", "assistant: One."]
    assert said(FORMATS["kimi"], copy)[:2] == said(FORMATS["kimi"], source)
    assert said(FORMATS["kimi"], copy)[2:] == ["user: Second.", "assistant: Two."]
    read = [messages(FORMATS["kimi"], path.read_bytes()) for path in (copy, source)]
    assert [one.uuid for one in read[0][:2]] == [one.uuid for one in read[1]]


@AGENTS
def test_a_recorded_session_is_summed_up(agent: str) -> None:
    (path, *_) = fixtures.of(agent, "tools")
    summary, form = folded(FORMATS[agent], path.read_bytes()), FORMATS[agent]
    if form.beside:
        form.describe(summary, Path(path.parent, form.beside).read_bytes())
    assert (summary.cwd, summary.name) == ("/home/dev/project", "Make a file.")
    assert (summary.prompt, summary.preview) == ("Make a file.", "Going on.")
    assert summary.first_at[:10] == "2026-11-28" and summary.first_at < summary.last_at
    assert summary.bad_lines == 0
