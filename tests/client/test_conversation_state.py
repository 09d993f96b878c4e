"""What a client makes of a conversation's events: whose turn it is, its history, its page."""

from __future__ import annotations

from typing import Any

import pytest

from podium.chat import question
from podium.dialog import ask
from podium.render import conversation_words
from podium.render import question as question_of
from podium.render.conversation_words import context
from podium.render.history import as_json
from podium.render.question import answer_words, choice_lines, how
from podium.render.table_entry import TableEntry
from podium.rpc import conversation_state
from podium.rpc.conversation_state import waits_for_words
from tests.client import phases, stories
from tests.client.fake_daemon import QUESTION_ID, RUN_ID, FakeDaemon, podium
from tests.client.histories import told
from tests.client.phases import ASK, DESIGN, GOAL, SAID, SEVERAL, TABLE, Design
from tests.client.stories import Json, entered, event, turn_ended

# What these tests name of what is sent is all that they are about.
chat_question: Any = question
ends_turn: Any = conversation_state.ends_turn
Carried: Any = conversation_state.Carried
body: Any = question_of.body
chosen: Any = ask.chosen
is_told: Any = conversation_words.is_told

STORY = [
    stories.started(recipe="guided-design"),
    entered(2, GOAL),
    phases.intended(3, "opening"),
    phases.refused(4, "transition", "no way", to="complete"),
    phases.used(5, "save", key="goal_summary", value="A rota"),
    turn_ended(6, "What is it?"),
    phases.opened(7, ASK),
    phases.closed(8),
    phases.message(9, "You asked: Who is it for?", uuid=QUESTION_ID),
    phases.message(10, "And quick."),
    event(11, "steer.intended", uuid=SAID, text="And quick."),
    phases.message(12, "Now.", uuid="other"),
    event(13, "hook.ended", run=["./guard"], exit_status=2, refused=True, reason="not yet"),
    event(14, "edge.taken", step=GOAL, outcome="agreed", to=DESIGN, source="tool"),
]


def test_a_run_waits_for_words_where_no_question_stands() -> None:
    assert waits_for_words(phases.run())
    assert not waits_for_words(phases.run("running"))
    assert not waits_for_words(phases.run("waiting", ASK))


def test_a_question_within_a_turn_is_none_of_a_phase() -> None:
    assert ends_turn(ASK)
    assert not ends_turn({**ASK, "tool": "AskUserQuestion"})
    assert not ends_turn(stories.QUESTION)


def test_a_message_is_answered_by_the_turn_that_carries_it_and_no_earlier_one() -> None:
    carried = Carried({"turn_id": stories.TURN_ID, "uuid": SAID})
    for one in (event(1, "turn.ended", turn_id="other"), phases.message(2, "x", uuid="other")):
        carried.event(one)
        assert not carried.begun
    carried.event(phases.message(3, "A rota."))
    assert (carried.begun, carried.answered) == (True, False)
    carried.event(event(4, "turn.ended", turn_id="foreseen otherwise"))
    assert carried.answered


def test_choices_show_what_is_said_of_them_once() -> None:
    assert choice_lines(ASK) == ["  1) Nurses: on the ward", "  2) Relatives: at home"]
    assert body({**ASK, "detail": f"{ASK['detail']}\nAsk again later."}) == ["Ask again later."]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ASK, "a number, or your own words"),
        ({**SEVERAL, "free_text": False}, "numbers, such as 1,3"),
        (TABLE, "row by row: an empty line ends the table, '-' leaves a cell empty; or paste JSON"),
        ({**ASK, "choices": []}, "in your own words"),
        (stories.QUESTION, ""),
    ],
)
def test_a_question_says_how_it_is_answered(question: Json, said: str) -> None:
    assert how(question) == said


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("1", "nurses"),
        ("2,1,2", "kin,nurses"),
        (" relatives , NURSES ", "kin,nurses"),
        ("nur, ki", "nurses,kin"),
        ("1, 3", "1, 3"),
        ("nurses, porters", "nurses, porters"),
        (",", ","),
    ],
)
def test_several_choices_are_meant_by_number_id_label_or_beginning(words: str, meant: str) -> None:
    assert chosen(SEVERAL, words) == meant


def test_in_a_chat_several_choices_are_an_answer_and_other_words_only_where_they_may_be() -> None:
    closed = {**SEVERAL, "free_text": False}

    assert chat_question.meaning(closed, "1,2") == chat_question.Answer("nurses,kin")
    assert chat_question.meaning(closed, "porters") is None
    assert chat_question.meaning(SEVERAL, "porters") == chat_question.Answer("porters")


@pytest.mark.parametrize(
    ("kind", "words", "cell"),
    [
        ("number", "2.5", 2.5),
        ("number", "-3", -3),
        ("number", "nan", None),
        ("number", "inf", None),
        ("date", "2026-05-01", "2026-05-01"),
        ("date", "20260501", None),
        ("date", "soon", None),
        ("url", "https://example.org/a", "https://example.org/a"),
        ("url", "HTTP://example.org", "HTTP://example.org"),
        ("url", "https:///a", None),
        ("url", "example.org", None),
    ],
)
def test_a_cell_is_of_its_columns_type(kind: str, words: str, cell: object) -> None:
    table = TableEntry([{"name": "x", "type": kind}])
    wrong = table.take(words)
    assert bool(wrong) == (cell is None)
    if cell is not None:
        assert table.take("") == ""
        assert table.answer in (f'[{{"x": {cell}}}]', f'[{{"x": "{cell}"}}]')


def test_a_pasted_table_goes_on_until_it_is_whole_or_given_up() -> None:
    table = TableEntry(TABLE["columns"])
    assert [table.take(line) for line in ("[", '{"room":', '"red"}')] == ["", "", ""]
    assert table.prompt == "... "
    assert table.take("").startswith("that is no JSON: ")
    assert table.take("[1]").startswith("the rows are a JSON list of objects")
    assert (table.take('[{"room": "red"}]'), table.answer) == ("", '[{"room": "red"}]')


def test_an_answer_is_told_as_people_say_it() -> None:
    assert answer_words('["nurses", "kin"]') == "nurses, kin"
    assert answer_words('["nurses"') == '["nurses"'
    assert answer_words("nurses") == "nurses"


def test_a_context_is_shown_in_short() -> None:
    long = [{"name": f"agent {number}", "role": "plans"} for number in range(9)]
    rows = context({"goal": "A\nrota", "none": [], "agents": long, "all": True})

    assert rows[0] == ("goal", "A rota")
    assert rows[1] == ("none", "-")
    assert rows[2][1].startswith('9 items: [{"name": "agent 0"')
    assert rows[3] == ("all", "true")


def test_only_calls_of_podiums_own_tools_are_told_elsewhere() -> None:
    told_of = ("save goal", "ask: Who?", "mcp__podium__save: goal", "report_outcome complete")
    for delta in told_of:
        assert is_told({"kind": "tool", "delta": delta})
    assert not is_told({"kind": "tool", "delta": "Bash save goal"})
    assert not is_told({"kind": "tool_result", "delta": "save goal"})


def test_a_history_has_the_messages_the_tools_and_the_hooks_of_a_conversation() -> None:
    (step,) = as_json(told(STORY))

    assert [(note["kind"], note["text"]) for note in step["notes"]] == [
        ("tool", "✗ transition complete refused: no way"),
        ("tool", "✓ saved goal_summary: A rota"),
        ("steer", "And quick."),
        ("message", "Now."),
        ("hook", "✗ ./guard does not let the turn be over: not yet"),
    ]
    assert [question["answer"] for question in step["questions"]] == ["nurses"]
    assert (step["outcome"], step["source"], step["to"]) == ("agreed", "tool", DESIGN)


def test_a_run_shows_what_it_has_saved_and_whose_turn_it_is(daemon: FakeDaemon) -> None:
    Design(daemon)
    now = {**phases.run(), "ctx": {"goal_summary": "A rota", "agents": []}}
    daemon.answers["runs.get"] = now

    lines = [
        " ".join(line.split())
        for line in podium(daemon, "runs", "show", RUN_ID).stdout.splitlines()
    ]

    at = lines.index("SAVED VALUE")
    assert lines[at + 1 : at + 3] == ["goal_summary A rota", "agents -"]
    assert lines[-1].startswith("It is your turn: podium prompt --session 5e55")


def test_open_questions_are_listed_with_what_they_take(daemon: FakeDaemon) -> None:
    daemon.answers["questions.list"] = [SEVERAL, {**TABLE, "question_id": "7ab1e"}]
    daemon.answers["daemon.status"] = {}

    said = podium(daemon, "questions").stdout.splitlines()
    shown = podium(daemon, "answer", "7ab1e").stdout

    assert said[1].endswith("nurses[,kin]|TEXT")
    assert said[2:5] == [
        "    Who is it for?",
        "      nurses  Nurses: on the ward",
        "      kin     Relatives: at home",
    ]
    rows = "rows, as a JSON list of objects: room (needed), beds (number), ward (north|south)"
    assert said[-1] == f"      {rows}"
    assert shown == f"ask: Who is it for?\n    {rows}\n\nAnswer with: podium answer 7ab1e JSON\n"


def test_the_log_names_what_a_tool_was_about(daemon: FakeDaemon) -> None:
    Design(daemon)
    daemon.events = STORY

    out = podium(daemon, "runs", "log", RUN_ID).stdout

    assert "key=goal_summary" in out and "to=complete" in out
    assert "message.received" in out and "text=Now." in out


def test_a_page_of_the_run_tells_the_conversation(daemon: FakeDaemon) -> None:
    Design(daemon)
    daemon.events = STORY

    page = podium(daemon, "runs", "export", RUN_ID).stdout

    for words in ("You</b>: Now.", "✓ saved goal_summary: A rota", "Hook</b>: ✗ ./guard"):
        assert words in page
