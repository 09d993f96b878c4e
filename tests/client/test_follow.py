"""Following, in the small: a daemon that stays away, and words that are told once."""

from pathlib import Path

import pytest

from podium import feed
from podium.ask import chosen
from podium.errors import Failure
from tests.client import stories
from tests.client.fake_daemon import QUESTION_ID, RUN_ID, FakeDaemon, finish, start
from tests.client.terminal import Terminal


def test_a_daemon_that_stays_away_is_given_up_with_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "GONE_SECONDS", 0.0)

    with pytest.raises(Failure, match="'podium up' starts it and all is well") as gone:
        feed.wait_for_daemon(str(tmp_path / "podium.sock"), "and all is well")

    assert gone.value.exit_code == 6


def test_a_queued_start_says_so(daemon: FakeDaemon) -> None:
    stories.recipe_daemon(daemon, stories.started(), stories.ended(2))
    daemon.answers["runs.start"] = {"run_id": RUN_ID, "status": "queued"}

    _, err = finish(start(daemon, "run", "fix-it"))

    assert err == "podium: queued until another agent is done.\n"


def test_an_approval_of_a_plain_prompt_is_asked_at_the_terminal(daemon: FakeDaemon) -> None:
    def answered(params: stories.Json) -> stories.Json:
        daemon.publish(stories.turn_ended(3, "Made."), stories.ended(4))
        return stories.APPROVAL

    daemon.answers |= {
        "sessions.prompt": {"run_id": RUN_ID, "turn_id": stories.TURN_ID, "session_id": "5e55"},
        "questions.list": [stories.APPROVAL],
        "questions.answer": answered,
    }
    with Terminal(daemon, "prompt", "make it", NO_COLOR="1") as terminal:
        daemon.wait_for("runs.events")
        daemon.publish(
            stories.started(text="make it"),
            stories.event(2, "question.opened", question_id=QUESTION_ID),
        )
        terminal.expect("? approval: May the agent use Bash?")
        for line in stories.CALL:
            terminal.expect(line)
        terminal.expect("1) allow  Allow once")
        terminal.expect("2) deny\r\n")
        terminal.expect("> ")
        terminal.type("d\n")
        terminal.expect("Made.")

        assert terminal.end() == 0
    assert daemon.params_of("questions.answer")[0]["answer"] == "deny"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("2", "blue"), ("4", "4"), ("RED", "red"), ("b", "blue"), ("r", "r"), ("none", "none")],
)
def test_what_is_typed_is_a_choice_only_where_it_is_clear(typed: str, meant: str) -> None:
    question = {"choices": [{"id": one, "label": one.title()} for one in ("red", "blue", "rose")]}

    assert chosen(question, typed) == meant
