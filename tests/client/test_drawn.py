"""A run at a real terminal: the agent's words are drawn, every line fits, the live line stays."""

from __future__ import annotations

import signal

import pytest

from podium import flow, text
from tests.client import stories
from tests.client.fake_daemon import FakeDaemon, podium
from tests.client.stories import ended, entered, event, recipe_daemon, said, started, turn_ended
from tests.client.terminal import Terminal

REPORT = '{"outcome": "complete"}'

REPLY = (
    "## What I did\n\nThe **slugs** of 漢字 titles, which nobody had thought of before, are whole "
    "now:\n\n- `slug.py` keeps every letter that it is given, whatever script it is of\n\n"
    "| File | Why |\n|---|---|\n| slug.py | it lost letters |\n\n```python\nreturn title\n```\n\n"
    f"```json\n{REPORT}\n```"
)


def story(outcome: str = "outcome.parsed") -> list[stories.Json]:
    """A visit: a tool with a long name and several lines of result, a reply, its outcome."""
    long = "Bash: make test ARGS='" + "--verbose " * 20 + "'"
    pieces = [said(REPLY[at : at + 7], uuid="m2") for at in range(0, len(REPLY), 7)]
    outcome_told = event(4, outcome, step="fix", outcome="complete", message="no JSON", attempt=1)
    return [
        said(long, kind="tool"),
        said("hello\nworld two\n" + "x" * 300, kind="tool_result"),
        *pieces,
        turn_ended(3, REPLY),
        outcome_told,
        ended(5),
    ]


def shown(daemon: FakeDaemon, columns: int, outcome: str = "outcome.parsed") -> list[str]:
    """What stays on the screen of that run."""
    recipe_daemon(daemon, started(), entered(2))
    with Terminal(daemon, "run", "fix-it", columns=columns) as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(*story(outcome))
        assert terminal.end() == 0
    return flow.plain(terminal.stays).split("\n")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_words_are_drawn_and_no_line_is_broken_by_the_terminal(
    daemon: FakeDaemon, columns: int
) -> None:
    lines = shown(daemon, columns)

    assert max(map(text.cells, lines)) <= columns
    whole = "\n".join(lines)
    assert not [mark for mark in ("**", "##", "```", "|---|", "`slug") if mark in whole]
    for line in ("  What I did", "  hello", "  world two", "    return title"):
        assert lines.count(line) == 1
    assert [line for line in lines if line.startswith("  ⚙ Bash: make test") and line[-1] == "…"]


def test_the_outcome_is_told_once_and_not_as_it_was_written(daemon: FakeDaemon) -> None:
    whole = "\n".join(shown(daemon, 80))

    assert "outcome complete" in whole and REPORT not in whole


def test_what_was_not_taken_for_the_outcome_is_told(daemon: FakeDaemon) -> None:
    lines = shown(daemon, 80, "outcome.invalid")

    assert lines.index(f"    {REPORT}") < lines.index(
        "  ! no usable outcome (reply 1 of 4): no JSON"
    )


def test_a_program_gets_the_words_as_they_are(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2), *story())

    out = podium(daemon, "run", "fix-it").stdout

    assert "  ## What I did\n" in out and f"  {REPORT}\n" in out and "\x1b" not in out


def test_the_live_line_says_what_streams_and_which_tool_runs(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2))
    with Terminal(daemon, "run", "fix-it", columns=80, NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(said("A sentence that is no"))
        terminal.expect("fix (visit 1) · A sentence that is no")
        daemon.publish(said("t over.\n\nNext"))
        terminal.expect("\r\x1b[K  A sentence that is not over.\r\n")
        terminal.expect("fix (visit 1) · Next")
        daemon.publish(said("writing src/x.py · 12 kB", kind="progress"))
        terminal.expect("fix (visit 1) · writing src/x.py · 12 kB")
        daemon.publish(said("Bash: make test", kind="tool"))
        terminal.expect("  Next\r\n  ⚙ Bash: make test\r\n")
        terminal.expect("fix (visit 1) · Bash: make test")
        daemon.publish(ended(3))
        assert terminal.end() == 0
    assert "visit 1) ·" not in terminal.stays


def test_the_live_line_is_gone_before_anything_else_is_said(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2))
    with Terminal(daemon, "run", "fix-it", columns=80, NO_COLOR="1") as terminal:
        terminal.expect("fix (visit 1)")
        terminal.expect("\x1b[K  ")
        daemon.stop()
        terminal.expect("the daemon went away")
        terminal.type("\x03")
        assert terminal.end() == 130
    told = [line for line in terminal.stays.split("\n") if "podium:" in line]
    assert told[0].startswith("podium: the daemon went away")
    assert "podium: following ended" in told[-1] and "(visit 1)" not in "\n".join(told)


def test_lines_are_as_wide_as_the_terminal_is_at_that_moment(daemon: FakeDaemon) -> None:
    recipe_daemon(daemon, started(), entered(2))
    with Terminal(daemon, "run", "fix-it", columns=120, NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(said("word " * 30 + "\n\n"), said("then"))
        terminal.expect("word word\r\n")
        terminal.resize(40)
        terminal.signal(signal.SIGWINCH)
        daemon.publish(said(" " + "word " * 30), turn_ended(3, "word " * 30 + "\n\nthen"), ended(4))
        assert terminal.end() == 0
    lines = [line for line in terminal.stays.split("\n") if "word" in line]
    assert 100 < len(lines[0]) <= 120
    assert max(map(len, lines[lines.index(next(x for x in lines if "then" in x)) :])) <= 40


@pytest.mark.parametrize(
    "beside",
    [
        event(3, "stop.intended", how="pause"),
        event(3, "run.resumed", why="requested"),
        event(3, "steer.intended", uuid="s1", text="Use tabs."),
        event(3, "aside.noted", run_id="other", session_id="s"),
    ],
    ids=lambda told: str(told["type"]),
)
def test_what_people_do_meanwhile_cuts_no_word_of_the_agent(
    daemon: FakeDaemon, beside: stories.Json
) -> None:
    recipe_daemon(daemon, started(), entered(2))
    with Terminal(daemon, "run", "fix-it", columns=80) as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(said("All sl"), beside, said("ugs are whole."))
        daemon.publish(turn_ended(4, "All slugs are whole."), ended(5))
        assert terminal.end() == 0
    lines = flow.plain(terminal.stays).split("\n")
    assert lines.count("  All slugs are whole.") == 1
    assert not [line for line in lines if line.endswith("All sl")]
