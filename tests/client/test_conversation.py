"""A conversation in phases, followed: ``podium run`` and ``attach`` at a terminal and without."""

from __future__ import annotations

import json

import pytest

from podium.render import conversation_words
from tests.client import stories
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    HangUp,
    finish,
    start,
)
from tests.client.fake_daemon import Refused as RefusedCall
from tests.client.phases import (
    ASK,
    DESIGN,
    GOAL,
    SEVERAL,
    TABLE,
    Design,
    closed,
    ended,
    intended,
    message,
    opened,
    refused,
    run,
    snapshot,
    used,
)
from tests.client.stories import entered, event, said, turn_ended
from tests.client.terminal import Terminal

FOLLOWING = (("run", "guided-design"), ("attach", RUN_ID))


@pytest.mark.parametrize("command", FOLLOWING)
def test_a_line_is_asked_for_when_the_phase_waits_and_what_is_typed_goes_to_it(
    daemon: FakeDaemon, command: tuple[str, ...]
) -> None:
    design = Design(daemon, intended(3, "opening"), turn_ended(4, "What is it?"))
    design.then(run("running"), message(5, "A rota."), intended(6))
    with Terminal(daemon, *command, NO_COLOR="1") as terminal:
        terminal.expect(f"▸ {GOAL}")
        terminal.expect("What is it?")
        terminal.expect("you> ")
        terminal.type("A rota.\n")
        daemon.wait_for("sessions.prompt")
        design.stands(run())
        daemon.publish(said("I see."), turn_ended(7, "I see."))
        terminal.expect("I see.")
        terminal.expect("you> ")
        design.then(run("ended"), message(8, "Bye."), ended(9))
        terminal.type("Bye.\n")
        terminal.expect("✓ Conversation complete (conversation-complete)")

        assert terminal.end() == 0
    assert design.said == ["A rota.", "Bye."]
    sent = daemon.params_of("sessions.prompt")
    assert {one["session_id"] for one in sent} == {SESSION_ID}
    assert len({one["client_token"] for one in sent}) == 2
    assert "you: A rota." not in terminal.screen, "who has typed it has seen it"


def test_a_notice_beside_an_open_prompt_has_a_line_of_its_own(daemon: FakeDaemon) -> None:
    design = Design(daemon, intended(3, "opening"), turn_ended(4, "What is it?"))
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("you> ")
        daemon.stop()
        terminal.expect("for it ...")
        daemon.listen()
        terminal.expect("is back.")
        terminal.expect("you> ")
        design.then(run("ended"), message(5, "Bye."), ended(6))
        terminal.type("Bye.\n")

        assert terminal.end() == 0
    lines = terminal.stays.split("\n")
    assert [line for line in lines if line.startswith("you> ")] == ["you> ", "you> Bye."]
    assert len([line for line in lines if line.startswith("podium: the daemon ")]) == 2


def test_a_recipe_without_conversations_is_never_asked_whose_turn_it_is(
    daemon: FakeDaemon,
) -> None:
    stories.recipe_daemon(daemon, stories.started(), entered(2))
    with Terminal(daemon, "run", "fix-it") as terminal:
        terminal.expect("▸ fix")
        daemon.publish(turn_ended(3, "Done."), stories.ended(4))

        assert terminal.end() == 0
    assert daemon.params_of("runs.get") == []
    assert "you> " not in terminal.screen


def test_a_line_that_ends_in_a_backslash_and_a_paste_are_one_message(daemon: FakeDaemon) -> None:
    design = Design(daemon)
    design.then(run("running"), intended(3))
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("you> ")
        terminal.type("one\\\n")
        terminal.expect("...> ")
        terminal.type("two\nthree\n")
        daemon.wait_for("sessions.prompt")
        daemon.publish(ended(4))

        assert terminal.end() == 0
    assert design.said == ["one\ntwo\nthree"]


def test_what_somebody_else_says_takes_the_line_back(daemon: FakeDaemon) -> None:
    design = Design(daemon)
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("you> ")
        design.stands(run("running"))
        daemon.publish(message(3, "A rota.", by="phone"), intended(4))
        terminal.expect("you (by phone): A rota.")
        daemon.publish(said("I see."))
        terminal.expect("I see.")
        terminal.type("too late to be taken for a message\n")
        daemon.publish(turn_ended(5, "I see."), ended(6))

        assert terminal.end() == 0
    assert design.said == []


@pytest.mark.parametrize("leaving", ["\x03", "\x04", "exit\n"])
def test_leaving_ends_the_following_only_and_says_how_to_come_back(
    daemon: FakeDaemon, leaving: str
) -> None:
    design = Design(daemon)
    with Terminal(daemon, "run", "guided-design") as terminal:
        terminal.expect("you> ")
        terminal.type(leaving)
        terminal.expect(f"the run goes on: 'podium attach {RUN_ID[:8]}' follows it again")

        assert terminal.end() == 130
    assert design.said == []
    assert daemon.params_of("runs.cancel") == []


def test_after_a_restart_of_the_daemon_the_line_is_asked_for_again(daemon: FakeDaemon) -> None:
    design = Design(daemon)
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("you> ")
        daemon.stop()
        terminal.expect("the daemon went away")
        daemon.listen()
        terminal.expect("the daemon is back.")
        terminal.expect("you> ")
        design.then(run("ended"), message(3, "A rota."), ended(4))
        terminal.type("A rota.\n")
        terminal.expect("✓ Conversation complete")

        assert terminal.end() == 0
    assert design.said == ["A rota."]


def test_a_message_whose_answer_is_lost_is_sent_again_under_the_same_token(
    daemon: FakeDaemon,
) -> None:
    design = Design(daemon)
    design.then(run("running"), message(3, "A rota."), intended(4))
    prompted = daemon.answers["sessions.prompt"]

    def lose_the_first(params: stories.Json) -> stories.Json:
        daemon.answers["sessions.prompt"] = prompted
        raise HangUp

    daemon.answers["sessions.prompt"] = lose_the_first
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("you> ")
        terminal.type("A rota.\n")
        daemon.wait_for("sessions.prompt", 2)
        daemon.publish(ended(5))
        terminal.expect("✓ Conversation complete")

        assert terminal.end() == 0
    first, second = daemon.params_of("sessions.prompt")
    assert first == second


def test_a_message_that_is_refused_is_asked_for_again(daemon: FakeDaemon) -> None:
    def refuse(params: stories.Json) -> None:
        raise RefusedCall(-32602, "The text is too long: save it as a file.")

    Design(daemon)
    daemon.answers["sessions.prompt"] = refuse
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("you> ")
        terminal.type("\n")
        terminal.expect("you> ")
        terminal.type("words\n")
        terminal.expect("The text is too long: save it as a file.")
        terminal.expect("you> ")
        daemon.publish(ended(3))

        assert terminal.end() == 0


@pytest.mark.parametrize(
    ("question", "shown", "typed", "answer"),
    [
        (ASK, ["1) Nurses: on the ward", "a number, or your own words"], "2\n", "kin"),
        (ASK, ["2) Relatives: at home"], "the porters\n", "the porters"),
        (SEVERAL, ["numbers, such as 1,3"], "2, 1\n", "kin,nurses"),
        (SEVERAL, [], "1 2\n", "nurses,kin"),
        (SEVERAL, [], "nurses, porters\n", "nurses, porters"),
        (
            TABLE,
            ["columns: room (needed), beds (number), ward (north|south)", "row 1, room (needed)"],
            "\nblue\nmany\n2\n2\nred\n-\n\n\n",
            '[{"room": "blue", "beds": 2, "ward": "south"}, {"room": "red"}]',
        ),
        (TABLE, [], '[\n{"room": "blue"}]\n', '[{"room": "blue"}]'),
    ],
)
def test_a_question_of_the_agent_is_answered_in_its_own_way(
    daemon: FakeDaemon, question: stories.Json, shown: list[str], typed: str, answer: str
) -> None:
    design = Design(daemon, turn_ended(3, "So:"))
    design.stands(run("running"))
    design.then(run("running"), closed(5, answer, "local"), ended(6))
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        design.stands(run("waiting", question))
        daemon.publish(opened(4, question))
        terminal.expect("? ask: Who is it for?")
        for words in shown:
            terminal.expect(words)
        terminal.expect("> ")
        terminal.type(typed)

        assert terminal.end() == 0
    assert design.answers == [answer]
    assert design.said == []
    assert "you> " not in terminal.screen


def test_a_table_says_what_is_wrong_with_a_cell_and_asks_for_it_again(daemon: FakeDaemon) -> None:
    design = Design(daemon, opened(3, TABLE))
    design.stands(run("waiting", TABLE))
    design.then(run("running"), closed(4), ended(5))
    with Terminal(daemon, "run", "guided-design", NO_COLOR="1") as terminal:
        terminal.expect("row 1, room (needed)> ")
        for typed, told in (
            ("\n", "one row at least"),
            ("-\n", "room is needed in every row"),
            ("blue\n", "row 1, beds (number)> "),
            ("many\n", "beds is a number"),
            ("3\n", "row 1, ward (north|south)> "),
            ("west\n", "ward is one of: north, south"),
            ("NORTH\n", "row 2, room (needed)> "),
        ):
            terminal.type(typed)
            terminal.expect(told)
        terminal.type("\n")

        assert terminal.end() == 0
    assert json.loads(design.answers[0]) == [{"room": "blue", "beds": 3, "ward": "north"}]


def test_phases_tools_hooks_and_a_conversation_that_was_gone_are_told(daemon: FakeDaemon) -> None:
    hook = {"step": GOAL, "visit": 1, "index": 0, "run": ["podium:saved", "goal"]}
    Design(
        daemon,
        intended(3, "opening"),
        refused(4, "transition", "'complete' is no way out: agreed", to="complete"),
        used(5, "save", key="goal_summary", value="A rota\nfor nurses"),
        used(6, "save", key="agents", value=[{"name": "planner"}]),
        used(7, "notify", message="Look at the rota."),
        used(8, "report_outcome", outcome="complete"),
        used(9, "ask", question="Who is it for?"),
        used(10, "transition", to="agreed", summary="The goal is clear"),
        event(11, "hook.ended", **hook, exit_status=2, refused=True, reason="goal is not set"),
        event(12, "hook.ended", **hook, exit_status=1, refused=False, reason="boom"),
        event(13, "hook.ended", **hook, exit_status=0, refused=False),
        event(14, "edge.taken", step=GOAL, outcome="agreed", to=DESIGN, source="tool"),
        entered(15, DESIGN),
        intended(16, "opening", anew=True),
        opened(17, ASK),
        closed(18, '["nurses", "kin"]'),
        message(19, "You asked: Who is it for?", uuid=QUESTION_ID),
        message(20, "And the porters?"),
        ended(21),
    )

    out, _ = finish(start(daemon, "run", "guided-design"))

    told = [line.strip() for line in out.splitlines()]
    for line in (
        f"▸ {GOAL}  visit 1 · step 1 of 7",
        "✗ transition complete refused: 'complete' is no way out: agreed",
        "✓ saved goal_summary: A rota for nurses",
        '✓ saved agents: [{"name": "planner"}]',
        "! Look at the rota.",
        "reports complete",
        "→ moves on to agreed: The goal is clear",
        "✗ podium:saved goal does not let the turn be over: goal is not set",
        "! podium:saved goal failed (exit 1): boom",
        f"agreed → {DESIGN} · 12 s",
        f"▸ {DESIGN}  visit 1 · step 1 of 7",
        conversation_words.GONE,
        "? ask: Who is it for?",
        "nurses  Nurses: on the ward",
        "kin     Relatives: at home",
        "? answered by phone: nurses, kin",
        "you: And the porters?",
    ):
        assert line in told, out
        told = told[told.index(line) + 1 :]
    assert "You asked" not in out, "the answer was told as one"
    assert out.count("podium:saved") == 2, "a hook that has nothing against it is not told"


def test_without_a_terminal_it_is_said_how_to_go_on_and_the_run_waits(daemon: FakeDaemon) -> None:
    design = Design(daemon, intended(3, "opening"), turn_ended(4, "What is it?"))
    client = start(daemon, "run", "guided-design")
    assert client.stdout is not None
    told = ""
    while "or talk with it" not in told:
        told += client.stdout.readline()
    design.stands(run("waiting", SEVERAL))
    daemon.publish(message(5, "A rota.", by="phone"), opened(6, SEVERAL))
    while "answer with" not in told:
        told += client.stdout.readline()
    daemon.publish(closed(7), ended(8))
    out, _ = finish(client)

    assert f"it waits for your words: podium prompt --session {SESSION_ID} TEXT\n" in told
    assert f"or talk with it at a terminal: podium attach {RUN_ID[:8]}\n" in told
    assert f"answer with: podium answer {QUESTION_ID[:8]} nurses[,kin]|TEXT\n" in told
    assert (told + out).count("it waits for your words") == 1
    assert client.returncode == 0
    assert daemon.params_of("runs.start")[0]["on_question"] == "wait"


def test_with_json_snapshots_are_lines_like_all_events(daemon: FakeDaemon) -> None:
    Design(daemon)
    client = start(daemon, "run", "guided-design", "--json")
    daemon.wait_for("runs.events")
    daemon.publish(snapshot(step=DESIGN), ended(3))
    out, _ = finish(client)

    lines = [json.loads(line) for line in out.splitlines()]
    phases = [line["data"]["phase"] for line in lines if line["type"] == "snapshot"]
    assert phases == [GOAL, DESIGN]
    assert lines[-1]["type"] == "run.ended"


def test_a_use_of_podiums_tools_is_told_once_whatever_the_agent_shows_of_it(
    daemon: FakeDaemon,
) -> None:
    saving = used(4, "save", key="goal_summary", value="A rota")
    Design(daemon, intended(3))
    client = start(daemon, "run", "guided-design")
    daemon.wait_for("runs.events")
    daemon.publish(
        said("save: goal_summary", kind="tool"),
        saving,
        said("Done.", kind="tool_result"),
        said("save goal_summary", uuid="m2", kind="tool"),
        used(5, "save", key="goal_summary", value="A rota"),
        event(6, "action.ended", result={"action": "save", "success": True, "message": "Done."}),
        said("saver: run", uuid="m3", kind="tool"),
        ended(7),
    )
    out, _ = finish(client)

    told = [line.strip() for line in out.splitlines()]
    assert told.count("✓ saved goal_summary: A rota") == 2
    assert [line for line in told if "Done." in line or line.startswith("⚙")] == ["⚙ saver: run"]
