"""A conversation in phases inside a chat: each line goes to its phase, and the chat outlives it."""

from __future__ import annotations

from pathlib import Path

from tests.client import stories
from tests.client.chats import Chatty, at_terminal, turn
from tests.client.conversations import HELD_BY_RUN, RECIPE, row
from tests.client.fake_daemon import RUN_ID, SESSION_ID, FakeDaemon, podium
from tests.client.phases import (
    ASK,
    DESIGN,
    GOAL,
    SAID,
    SEVERAL,
    TABLE,
    Design,
    closed,
    ended,
    intended,
    message,
    opened,
    run,
    snapshot,
)
from tests.client.stories import entered, said, turn_ended


def designing(daemon: FakeDaemon, *events: stories.Json) -> Design:
    """A chat can be held, and its recipe is a conversation that has begun."""
    Chatty(daemon)
    return Design(daemon, *events)


def test_each_line_goes_to_the_phase_and_after_the_last_one_to_the_agent(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    design = designing(daemon, intended(3, "opening"), turn_ended(4, "What is it?"))
    with at_terminal(daemon, tmp_path, "--recipe", "guided-design") as terminal:
        terminal.expect(f"▸ {GOAL}")
        terminal.expect("What is it?")
        terminal.expect(f"{GOAL}> ")
        design.then(
            run(step=DESIGN),
            message(5, "A rota."),
            intended(6),
            turn_ended(7, "I see."),
            entered(8, DESIGN),
            snapshot(step=DESIGN),
        )
        terminal.type("A rota.\n")
        terminal.expect("I see.")
        terminal.expect(f"{DESIGN}> ")
        terminal.type("/status\n")
        terminal.expect(f"recipe guided-design: waiting, step {DESIGN} (1a2b3c4d)")
        design.then(run("ended"), message(9, "Write it."), ended(10))
        terminal.type("//write it\n")
        terminal.expect("✓ Conversation complete")
        terminal.expect("h> ")
        chatty = Chatty(daemon, turn("Gladly."))
        terminal.type("thanks\n")
        terminal.expect("Gladly.")
        terminal.expect("> ")
        terminal.type("exit\n")

        assert terminal.end() == 0
    sent = daemon.params_of("sessions.prompt")
    assert [one["text"] for one in sent] == ["A rota.", "/write it", "thanks"]
    for one in sent[:2]:
        assert one.keys() == {"text", "session_id", "client_token"}, "the recipe names the rest"
    assert chatty.prompts[-1] == "thanks"
    assert "you: " not in terminal.screen, "who has typed it has seen it"


def test_what_is_typed_while_the_agent_works_goes_to_its_phase(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    design = designing(daemon)
    design.stands(run("running"))
    with at_terminal(daemon, tmp_path, "--recipe", "guided-design") as terminal:
        terminal.expect(f"▸ {GOAL}")
        daemon.publish(intended(3, "opening"), said("Thinking."))
        terminal.expect("Thinking.")
        terminal.type("for nurses\n")
        daemon.wait_for("sessions.prompt")
        daemon.publish(turn_ended(4, "Thinking."), ended(5))
        terminal.expect("✓ Conversation complete")
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert design.said == ["for nurses"]
    assert daemon.params_of("runs.steer") == []


def test_an_answer_may_be_several_choices_or_words(daemon: FakeDaemon, tmp_path: Path) -> None:
    design = designing(daemon, opened(3, SEVERAL))
    design.stands(run("waiting", SEVERAL))
    with at_terminal(daemon, tmp_path, "--recipe", "guided-design") as terminal:
        terminal.expect("? ask: Who is it for?")
        terminal.expect("1) Nurses: on the ward")
        terminal.expect("numbers, such as 1,3, or your own words > ")
        design.then(run("waiting", ASK), closed(4, '["nurses", "kin"]', "local"), opened(5, ASK))
        terminal.type("1,2\n")
        terminal.expect("nurses,kin")
        terminal.expect("? answered on this machine: nurses, kin")
        terminal.expect("a number, or your own words > ")
        design.then(run("ended"), closed(6, "porters", "local"), ended(7))
        terminal.type("porters\n")
        terminal.expect("✓ Conversation complete")
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert design.answers == ["nurses,kin", "porters"]


def test_a_table_is_filled_in_cell_by_cell(daemon: FakeDaemon, tmp_path: Path) -> None:
    design = designing(daemon, opened(3, TABLE))
    design.stands(run("waiting", TABLE))
    design.then(run("ended"), closed(4, "[]", "local"), ended(5))
    with at_terminal(daemon, tmp_path, "--recipe", "guided-design") as terminal:
        terminal.expect("columns: room (needed), beds (number), ward (north|south)")
        terminal.expect("row 1, room (needed)> ")
        for typed, told in (
            ("blue", "row 1, beds (number)> "),
            ("many", "beds is a number"),
            ("2", "row 1, ward (north|south)> "),
            ("-", "row 2, room (needed)> "),
            ("", "✓ Conversation complete"),
        ):
            terminal.type(f"{typed}\n")
            terminal.expect(told)
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert design.answers == ['[{"room": "blue", "beds": 2}]']


def test_what_does_not_answer_goes_to_the_phase_and_not_beside_it(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    question = {**ASK, "free_text": False}
    design = designing(daemon, opened(3, question))
    design.stands(run("waiting", question))
    design.then(
        run("running"),
        stories.event(
            4, "question.closed", question_id=question["question_id"], closed="superseded"
        ),
        message(5, "why do you ask?"),
        ended(6),
    )
    with at_terminal(daemon, tmp_path, "--recipe", "guided-design") as terminal:
        terminal.expect("a number > ")
        terminal.type("why do you ask?\n")
        terminal.expect("✓ Conversation complete")
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert design.said == ["why do you ask?"]
    assert design.answers == []


def test_a_chat_that_comes_back_goes_on_in_the_phase(daemon: FakeDaemon, tmp_path: Path) -> None:
    design = designing(daemon)
    daemon.messages = []
    daemon.answers["sessions.get"] = row(
        SESSION_ID, holder=HELD_BY_RUN, active_recipe={**RECIPE, "run_id": RUN_ID}
    )
    with at_terminal(daemon, tmp_path, "--session", SESSION_ID) as terminal:
        terminal.expect(f"{GOAL}> ")
        design.then(run("ended"), message(3, "A rota.", uuid=SAID), ended(4))
        terminal.type("A rota.\n")
        terminal.expect("✓ Conversation complete")
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert design.said == ["A rota."]


def test_what_is_said_after_somebody_else_has_ended_it_is_a_prompt(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    design = designing(daemon)
    with at_terminal(daemon, tmp_path, "--recipe", "guided-design") as terminal:
        terminal.expect(f"▸ {GOAL}")
        terminal.expect(f"{GOAL}> ")
        daemon.publish(ended(3))
        daemon.greeting = None
        chatty = Chatty(daemon)
        plain = "9a7b0000-0000-4000-8000-000000000009"

        def prompted(params: stories.Json) -> stories.Json:
            return {"run_id": plain, "session_id": SESSION_ID, "delivery": "sent"}

        def events(params: stories.Json) -> stories.Json:
            told = turn("Gladly.") if params["run_id"] == plain else [ended(3)]
            return {"events": told[params.get("after_seq", 0) :] if plain else [], "next_seq": 3}

        daemon.answers |= {"sessions.prompt": prompted, "runs.events": events}
        terminal.type("thanks\n")
        terminal.expect("✓ Conversation complete")
        terminal.expect("Gladly.")
        terminal.type("exit\n")

        assert terminal.end() == 0
    assert chatty.prompts == ["thanks"]
    assert design.said == ["thanks"]


def test_a_scripts_lines_are_its_turns_and_where_they_end_a_person_is_needed(
    daemon: FakeDaemon,
) -> None:
    design = designing(daemon)
    design.then(run(), message(3, "A rota."), intended(4), turn_ended(5, "I see."))

    done = podium(daemon, "chat", "--recipe", "guided-design", stdin=b"A rota.\n")

    assert design.said == ["A rota."]
    assert "I see." in done.stdout
    assert done.returncode == 4
    assert f"podium chat --session {SESSION_ID[:8]}" in done.stderr
