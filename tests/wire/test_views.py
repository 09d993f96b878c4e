"""The public shapes: run, question, turn and the data of an event."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from podiumd.core.recipe.model import Limits
from podiumd.core.reply.report import Tokens
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import history
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.fact import RunScript
from podiumd.wire import views
from podiumd.wire.event import data_of
from tests.core.builders import DIRECTORY, RUN, SESSION, WORKTREE, Play, a_recipe, a_step, to
from tests.core.looped import Looped, read
from tests.plain import plain, shown, some


def test_a_prompt_that_has_not_ended_is_told_by_its_words() -> None:
    state = Play(None, text="Mend the gate").state
    assert shown(views.prompt_view, state) == {
        "run_id": RUN,
        "name": "Mend the gate",
        "session_id": SESSION,
        "status": "queued",
        "paused": False,
        "started_at": views.run_view(state).started_at,
    }


def test_a_run_that_has_just_begun() -> None:
    recipe = a_recipe(limits=Limits(max_total_steps=7))

    assert shown(views.run_view, Play(recipe, params={"issue": 7}, worktree=WORKTREE).state) == {
        "run_id": RUN,
        "kind": "recipe",
        "recipe": "sample",
        "name": "Sample",
        "session_id": SESSION,
        "main_session_id": SESSION,
        "working_directory": DIRECTORY,
        "agent": "claude",
        "model": None,
        "params": {"issue": 7},
        "limits": {
            "max_step_visits": None,
            "max_total_steps": 7,
            "max_minutes": None,
            "max_cost_usd": None,
            "max_retries": 3,
            "max_restarts": 20,
            "on_limit": "exit",
        },
        "status": "queued",
        "paused": False,
        "stop": None,
        "step": None,
        "step_count": 0,
        "visits": {},
        "questions": [],
        "ctx": {},
        "turns": 0,
        "cost_usd": 0.0,
        "tokens": {"read": 0, "cached": 0, "written": 0, "untold": 0},
        "seconds": 0.0,
        "restarts": 0,
        "parked_until": None,
        "base": None,
        "left": None,
        "worktree": {
            "repository": WORKTREE.repository,
            "directory": WORKTREE.directory,
            "branch": WORKTREE.branch,
        },
        "started_at": "2026-01-02T03:01:41.000Z",
        "ended_at": None,
        "exit": None,
    }


def test_what_was_asked_of_a_run_and_has_not_come_yet() -> None:
    play = Play(a_recipe()).begin()

    for ask, stop in ((c.Pause, "pause"), (c.Interrupt, "interrupt"), (c.Cancel, "cancel")):
        play.do(ask)
        view = shown(views.run_view, play.state)
        assert (view["status"], view["stop"]) == ("running", stop)


def test_nothing_more_comes_of_a_run_that_has_ended() -> None:
    play = Play(a_recipe()).begin()
    play.do(c.Cancel)
    play.over("interrupted")

    view = shown(views.run_view, play.state)
    assert (view["status"], view["stop"]) == ("ended", None)


def test_a_run_that_has_ended() -> None:
    play = Play(a_recipe(), agent_override="scripted")
    play.say("other", cost_usd=0.1234567)
    view = shown(views.run_view, play.state)

    assert (view["status"], view["agent"], view["turns"]) == ("ended", "scripted", 1)
    assert (view["step"], view["step_count"], view["visits"]) == ("work", 1, {"work": 1})
    assert shown(views.visit_view, play.history[0], view["ended_at"]) == {
        "step": "work",
        "visit": 1,
        "outcome": "other",
        "description": "Something else",
        "source": "text",
        "attempts": 1,
        "at": view["ended_at"],
    }
    assert (view["cost_usd"], view["seconds"]) == (0.123457, 1.0)
    assert view["exit"] == {
        "reason": "user-provided-other",
        "category": "completed",
        "class": "needs-user",
        "message": "Recipe exited by user choice",
        "detail": "Something else",
    }


def test_a_plain_prompt_is_a_run_without_recipe_and_limits() -> None:
    view = shown(views.run_view, Play().state)

    assert (view["kind"], view["recipe"], view["limits"], view["worktree"]) == (
        *("prompt", None),
        *(None, None),
    )


def test_the_start_of_a_run_names_the_file_of_its_script() -> None:
    play = Play(a_recipe(), script=RunScript("/lines.toml", ({"text": "Hello."},)))

    assert data_of(play.last(f.RunStarted))["script"] == "/lines.toml"


def test_a_conversation_is_called_like_its_run() -> None:
    play = Play(a_recipe())

    view = shown(views.waiting_conversation_view, play.state)
    assert view == {"run_id": RUN, "name": "Sample", "session_id": SESSION}


def test_an_open_question_stands_in_its_run() -> None:
    play = Play(a_recipe()).begin()
    play.approve(description="List files")
    play.wait(60)

    assert shown(views.run_view, play.state)["questions"] == [
        {
            "question_id": play.question.question_id,
            "run_id": RUN,
            "run_name": "Sample",
            "session_id": SESSION,
            "kind": "approval",
            "text": "May the agent use Bash? ls",
            "choices": [
                {"id": "allow", "label": "Allow once"},
                {"id": "deny", "label": "Deny"},
                {
                    "id": "always-like",
                    "label": "Always in this run: commands that begin with 'ls'",
                },
                {"id": "always", "label": "Always in this run: every Bash"},
            ],
            "free_text": False,
            "multi": False,
            "columns": [],
            "detail": 'List files\n{\n  "command": "ls"\n}',
            "tool": "Bash",
            "input": {"command": "ls"},
            "opened_at": "2026-01-02T03:01:45.000Z",
            "answer": None,
            "note": None,
            "by": None,
            "closed": None,
            "paused": False,
        }
    ]


def test_a_run_that_is_paused_at_an_open_question_waits_and_is_paused() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()
    play.do(c.Pause)
    view = shown(views.run_view, play.state)

    assert (view["status"], view["paused"]) == ("waiting", True)
    assert [one["paused"] for one in view["questions"]] == [True]


def test_a_closed_question_says_who_answered_what() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()
    question = play.question.question_id
    play.answer("yes", note="Go", by="phone")
    view = shown(views.question_view, play.state, play.state.questions[question])

    assert (view["answer"], view["note"], view["by"], view["closed"]) == (
        *("yes", "Go"),
        *("phone", "answered"),
    )
    assert shown(views.run_view, play.state)["questions"] == []


def test_a_turn_from_the_queue_to_its_end() -> None:
    play = Play()
    queued = shown(views.turn_view, play.state)
    play.begin()
    running = shown(views.turn_view, play.state)
    turn_id = play.turn.turn_id
    took = Tokens(120, 100, 8)
    made = (("a.py", "created"),)
    play.reply("Hello.", cost_usd=0.25, tokens=took, files=made, commit="c0ffee")
    ended = shown(views.turn_view, play.state)

    assert (queued["status"], queued["turn_id"], queued["text"]) == ("queued", None, "")
    assert (running["status"], running["turn_id"]) == ("running", turn_id)
    assert ended == {
        "turn_id": turn_id,
        "run_id": RUN,
        "session_id": SESSION,
        "status": "ended",
        "text": "Hello.",
        "outcome": None,
        "exit": msgspec.to_builtins(play.state.exit),
        "files": [{"path": "a.py", "change": "created"}],
        "commit": "c0ffee",
        "cost_usd": 0.25,
        "tokens": {"read": 120, "cached": 100, "written": 8, "untold": 0},
        "started_at": play.state.started_at,
        "ended_at": play.state.ended_at,
    }


def test_the_turn_of_a_recipe_has_the_outcome_of_its_last_step() -> None:
    play = Play(a_recipe({"work": a_step(on={"again": to("work")})}))
    play.say("again")

    assert shown(views.turn_view, play.state)["outcome"] == "again"


def test_a_native_turn_that_runs_shows_what_it_has_changed_so_far() -> None:
    looped = Looped(commit=True)
    assert shown(views.turn_view, looped.play.state)["files"] == []
    looped.wrote("a.py", None)
    turn = shown(views.turn_view, looped.play.state)
    assert (turn["files"], turn["commit"]) == ([{"path": "a.py", "change": "created"}], None)
    looped.reply("Done.")
    looped.tell(lc.ReportCommitEnd(state="committed", sha="c0ffee"))

    assert shown(views.turn_view, looped.play.state)["commit"] == "c0ffee"


# Events.


def test_an_event_has_every_field_and_nothing_that_is_for_recovery_alone() -> None:
    play = Play(a_recipe())
    play.say("complete", prose="Well done.")

    assert data_of(play.last(f.OutcomeParsed)) == {
        "step": "work",
        "outcome": "complete",
        "source": "text",
        "description": None,
        "repaired": False,
        "detail": "Well done.",
        "attempt": 1,
    }


def test_the_event_of_a_question_names_its_choices() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()
    data = shown(data_of, play.last(f.QuestionOpened))

    assert data["choices"] == [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    assert not {"about", "mono", "next", "type"} & data.keys()


@pytest.mark.parametrize(
    ("play", "recipe", "label", "prompt"),
    [
        (Play(a_recipe()), "sample", "Sample", "Do the work."),
        (Play(), None, None, "Say hello."),
    ],
)
def test_the_event_of_a_start_names_its_recipe_and_first_prompt(
    play: Play, recipe: str | None, label: str | None, prompt: str
) -> None:
    data = shown(data_of, play.last(f.RunStarted))

    assert (data["recipe"], data["label"], data["first_prompt"]) == (recipe, label, prompt)


def test_the_event_of_a_reply_names_its_actions_whose_parameters_are_in_its_text() -> None:
    looped = Looped()
    looped.says(read(), {"action": "fly"})
    data = shown(data_of, looped.last(lf.ReplyReceived))

    assert data["actions"] == ["read_file", "fly"]
    assert "read_file" not in data["said"]
    assert '"path": "a.py"' in data["text"]


def test_every_event_is_json() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()
    play.answer("yes")
    play.begin()
    play.do(c.Steer, uuid="s1", text="Use tabs.")
    play.say("complete")

    for fact in play.facts:
        assert msgspec.json.decode(msgspec.json.encode(data_of(fact))) is not None


def test_a_visit_of_a_history_is_told_with_its_questions_and_rounded_seconds() -> None:
    told = history.History()
    opened = some(f.QuestionOpened, question_id="q", text="Go on?", kind="gate")
    closed = f.QuestionClosed(question_id="q", answer="yes", by="person", closed="answered")
    entered = f.StepEntered(step="fix", visit=1, step_count=1, session_id="s")
    unanswered = replace(opened, question_id="r")
    facts: tuple[f.AnyFact, ...] = (entered, opened, closed, unanswered)
    for number, fact in enumerate(facts):
        told.add(number + 1, f"2026-01-02T03:00:0{number}.0004Z", fact)

    visit = plain(views.history_visit_view(told.visits[0], "2026-01-02T03:00:09Z"))

    asked = [(one["opened"]["question_id"], one["closed"]) for one in visit["questions"]]
    assert (visit["step"], [question for question, _ in asked]) == ("fix", ["q", "r"])
    assert asked[0][1]["answer"] == "yes" and asked[1][1] is None
    assert visit["waited_seconds"] == round(visit["waited_seconds"], 3) > 0
