"""``podium show``: a conversation as a person reads it."""

import io
import json
from typing import Any

import pytest

from podium import text
from podium.render import messages
from tests.client.conversations import (
    HELD_BY_RUN,
    RECIPE,
    gone,
    image,
    message,
    result,
    row,
    thinking,
    tool,
)
from tests.client.fake_daemon import RUN_ID, SESSION_ID, FakeDaemon, Refused, podium
from tests.client.terminal import Terminal

# What these tests name of what is sent is all that they are about.
conversation: Any = messages


@pytest.fixture
def session(daemon: FakeDaemon) -> FakeDaemon:
    """A daemon with one session; its messages are the test's."""
    daemon.answers["sessions.get"] = row()
    return daemon


def body(daemon: FakeDaemon, *arguments: str) -> str:
    """What is shown below the header."""
    done = podium(daemon, "show", SESSION_ID, *arguments, TZ="UTC")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("agent", "why"), [("scripted", "the scripted agent keeps none"), ("claude", "not yet")]
)
def test_a_session_without_a_transcript_is_looked_for_among_the_runs(
    daemon: FakeDaemon, agent: str, why: str
) -> None:
    """Its id was told when the run began, so 'there is no such session' would be odd."""

    def refuse(params: dict[str, Any]) -> None:
        raise Refused(-32002, "There is no session '5e55'.", {"kind": "session", "id": "5e55"})

    run = {"run_id": RUN_ID, "session_id": SESSION_ID, "agent": agent}
    daemon.answers |= {"sessions.get": refuse, "runs.list": [{"session_id": None}, run]}

    done = podium(daemon, "show", "5e55")

    short = RUN_ID[:8]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"podium: Session '5e55' has no transcript ({why}): 'podium runs show {short}' and "
        f"'podium runs log {short}' have what there is.\n"
    )


def test_a_session_that_no_run_has_either_is_unknown(daemon: FakeDaemon) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise Refused(-32002, "There is no session '5e55'.", {"kind": "session", "id": "5e55"})

    daemon.answers |= {"sessions.get": refuse, "runs.list": []}

    assert podium(daemon, "show", "5e55").stderr == (
        "podium: There is no session '5e55'. 'podium sessions' lists what there is.\n"
    )


def test_a_conversation_is_told_with_its_header(session: FakeDaemon) -> None:
    session.say(
        message(1, "Fix the pots.\r\n\r\n  Both.\n", role="user"),
        message(
            2,
            thinking("They want\nboth pots fixed. " + "So I look. " * 20),
            "I look.",
            tool("Bash", description="Run the tests", command="make\n  test"),
        ),
        message(3, result("\n1\tred\n2\tblue\n"), role="user"),
        message(4, "Done."),
    )

    done = podium(session, "show", "5e55", TZ="Asia/Kolkata")

    age = text.ago(row()["last_modified"])
    assert (
        done.stdout
        == f"""\
Fix the pots
session    {SESSION_ID}
agent      claude
directory  ~/pots
messages   7, {age}

1  user  2026-05-01 15:30:01
  Fix the pots.

    Both.

2  assistant  2026-05-01 15:30:02
  … thinking: They want both pots fixed. So I look. So I look. So I look. So I look. So I look. So …
  I look.
  ⚙ Bash: make test

3  tool  2026-05-01 15:30:03
  │ 1       red
  │ 2       blue

4  assistant  2026-05-01 15:30:04
  Done.
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert session.calls == [
        ("sessions.get", {"session_id": "5e55"}),
        ("sessions.messages", {"session_id": SESSION_ID, "limit": 20}),
    ]


def test_the_header_says_who_holds_it_what_runs_and_that_it_is_gone(session: FakeDaemon) -> None:
    session.answers["sessions.get"] = row(holder=HELD_BY_RUN, active_recipe=RECIPE, gone=True)

    header = podium(session, "show", SESSION_ID).stdout

    assert f"held by    run {RUN_ID[:8]}, {text.ago(HELD_BY_RUN['since'])}\n" in header
    assert f"recipe     fix-it: review 4/12 ('podium attach {RUN_ID[:8]}')\n" in header
    assert (
        "gone       its transcript was deleted; "
        f"'podium sessions --forget {SESSION_ID}' takes it off the list\n"
    ) in header
    assert header.endswith("\n\nNo messages yet.\n")


@pytest.mark.parametrize(("wanted", "first"), [("3", 8), ("1", 10), ("10", 1), ("11", 1)])
@pytest.mark.parametrize("most", [1000, 2, 1])
def test_the_last_messages_are_shown_however_few_the_daemon_gives_at_once(
    session: FakeDaemon, wanted: str, first: int, most: int
) -> None:
    session.most = most
    session.say(*(message(seq, f"word {seq}") for seq in range(1, 11)))

    shown = body(session, "-n", wanted)

    if first > 1:
        earlier = text.counted(first - 1, "earlier message")
        hint, _, shown = shown.partition("\n\n")
        assert hint == f"… {earlier}: 'podium show {SESSION_ID} -n 10' shows all"
    numbers = [int(block.split()[0]) for block in shown.split("\n\n")]
    assert numbers == list(range(first, 11))


def test_with_no_messages_wanted_the_header_says_how_many_there_are(session: FakeDaemon) -> None:
    session.say(message(1, "a"), message(2, "b"))

    assert body(session, "-n", "0") == (
        f"… 2 earlier messages: 'podium show {SESSION_ID} -n 2' shows all\n"
    )


def test_as_json_it_is_one_document(session: FakeDaemon) -> None:
    session.most = 2
    messages = [message(seq, "\x1b[2J", result("x\n" * 99)) for seq in range(1, 6)]
    session.say(*messages)

    done = podium(session, "show", SESSION_ID, "-n", "3", "--json")

    told = json.loads(done.stdout)
    assert told["session"] == session.answers["sessions.get"]
    assert told["messages"] == session.messages[2:]
    kept = ("first_seq", "last_seq", "next_seq", "complete", "generation")
    assert [told[name] for name in kept] == [1, 5, 5, True, 1]
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (tool("Read", limit=3, file_path="/home/ada/a b.py"), "⚙ Read: /home/ada/a b.py"),
        (tool("shell", command=["bash", "-lc", "ls a"]), "⚙ shell: bash -lc 'ls a'"),
        (tool("Own", depth=2, why="to see"), "⚙ Own: to see"),
        (tool("Own", depth=2), '⚙ Own: {"depth":2}'),
        (tool("Own"), "⚙ Own:"),
        (tool("Bash", command="x" * 300), f"⚙ Bash: {'x' * 89}…"),
        (result(""), "│"),
        (result("a\nb\nc\nd"), "│ a\n│ b\n│ c\n│ d"),
        (
            result("a\nb\nc\nd\nefg\nhi"),
            "│ a\n│ b\n│ c\n│ d\n│ … 2 more lines, 7 characters not shown",
        ),
        (result("y" * 200), f"│ {'y' * 95}…\n│ … 105 characters not shown"),
        (
            result("a\n[5 more characters left out]", left_out=5),
            "│ a\n│ … 5 characters not shown",
        ),
        (image(45_100), "▣ image, image/png, 45 kB"),
        (image(999), "▣ image, image/png, 999 bytes"),
        (thinking(""), "… thinking:"),
        ({"kind": "novelty"}, "· novelty"),
    ],
)
def test_what_are_no_words_is_told_in_short(
    session: FakeDaemon, block: dict[str, Any], shown: str
) -> None:
    session.say(message(1, "Look:", block))

    below = body(session).partition("  Look:\n")[2]

    assert below == "".join(f"  {line}\n" for line in shown.split("\n"))


def test_forks_and_gone_messages_are_marked(session: FakeDaemon) -> None:
    session.say(
        gone(1),
        gone(2),
        message(3, "Red."),
        message(4, "No: blue.", role="user", forks_from=2),
        gone(5),
        message(6, "Anew.", role="user", forks_from=0, timestamp="yesterday"),
    )

    assert (
        body(session)
        == """\
1 to 2  gone: no longer in the transcript

3  assistant  2026-05-01 10:00:03
  Red.

4  user  2026-05-01 10:00:04
  ↪ continues from message 2, not from the one above
  No: blue.

5  gone: no longer in the transcript

6  user  yesterday
  ↪ does not continue from the message above, nor from any other that is here
  Anew.
"""
    )


def test_a_message_without_blocks_is_its_text(session: FakeDaemon) -> None:
    session.say(message(1, text="As it was.", timestamp=""))

    assert body(session) == "1  assistant\n  As it was.\n"


def test_a_terminal_is_not_driven_by_what_a_transcript_holds(session: FakeDaemon) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b\u202e\r"
    session.answers["sessions.get"] = row(name=evil, agent=evil, working_directory=evil)
    session.say(
        message(1, evil, role=evil, timestamp=evil),
        message(
            2, thinking(evil), tool(evil, command=evil), result(evil), {"kind": evil},
            {"kind": "image", "media_type": evil},
        ),
    )  # fmt: skip

    with Terminal(session, "show", SESSION_ID, NO_COLOR="1", columns=100) as terminal:
        assert terminal.end() == 0

    shown = terminal.screen.replace("\r\n", "")
    assert not [char for char in shown if not char.isprintable()]
    assert shown.count("owned") == 12


def test_a_terminal_shows_colours_and_lines_cut_to_its_width(session: FakeDaemon) -> None:
    session.say(
        message(
            1,
            "words " * 20,
            thinking("漢字" * 50),
            tool("Bash", command="x" * 100),
            result("no\nway " + "y" * 100, is_error=True),
        ),
        message(2, "b", role="user", forks_from=0),
    )

    with Terminal(session, "show", SESSION_ID, columns=60) as terminal:
        assert terminal.end() == 0

    screen = terminal.screen
    assert "\x1b[1mFix the pots\x1b[0m" in screen
    assert "1  \x1b[1massistant\x1b[0m  \x1b[2m2026" in screen
    assert "  \x1b[2m… thinking: " + "漢字" * 11 + "…\x1b[0m\r\n" in screen
    assert f"  \x1b[36m⚙ Bash: {'x' * 49}…\x1b[0m\r\n" in screen
    assert "  \x1b[31m│ no\x1b[0m\r\n" in screen
    assert "\x1b[33m↪ does not" in screen
    assert "  words words" in screen and "words " * 20 not in screen


def test_an_ambiguous_beginning_is_the_daemons_own_sentence(session: FakeDaemon) -> None:
    def refuse(params: dict[str, Any]) -> None:
        raise Refused(
            -32602,
            f"'{params['session_id']}' begins more than one session: 5e5510aa, 5e5510ab.",
            {"parameter": "session_id"},
        )

    for method in ("sessions.get", "sessions.prompt", "runs.start"):
        session.answers[method] = refuse

    for command in (["show", "5e55"], ["prompt", "hi", "--session", "5e55"],
                    ["run", "fix-it", "--session", "5e55"]):  # fmt: skip
        done = podium(session, *command)

        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == ("podium: '5e55' begins more than one session: 5e5510aa, 5e5510ab.\n")


def test_what_the_agent_tells_itself_is_not_shown() -> None:
    def of(role: str, kind: str, said: str) -> dict[str, Any]:
        return {"seq": 1, "role": role, "blocks": [{"kind": kind, "text": said}]}

    style = text.Style(io.StringIO())
    plumbing = [
        of("assistant", "text", "No response requested."),
        of("user", "tool_result", "Structured output provided successfully"),
    ]
    kept = [of("user", "text", "No response requested."), of("assistant", "text", "Done.")]

    assert conversation.told(plumbing, style, 80) == ""
    assert conversation.told([*plumbing, *kept], style, 80) == conversation.told(kept, style, 80)
