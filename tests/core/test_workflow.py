"""What a run does next: starting, entering steps, gates, sessions, working trees."""

from __future__ import annotations

import pytest

from podiumd.core.ids import derive
from podiumd.core.recipe.model import Param, Recipe
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import (
    DIRECTORY,
    RUN,
    SESSION,
    WORKTREE,
    Play,
    a_check,
    a_recipe,
    a_step,
    leave,
    review_loop,
    to,
)

COMMITTING = {"work": a_step(on={"complete": to("commit")}), "commit": a_step(commits=True)}


# Starting.


def test_a_run_begins_with_all_that_it_was_started_with() -> None:
    recipe = review_loop()
    play = Play(
        recipe,
        source="builtin",
        agent_override="scripted",
        fork_from="session-0",
        params={"issue": 7},
        on_question="ask",
        aside_of="run-0",
    )
    started = play.last(f.RunStarted)

    assert (started.run_id, started.kind, started.recipe) == (RUN, "recipe", recipe)
    assert (started.session_id, started.working_directory) == (SESSION, DIRECTORY)
    assert (started.source, started.agent, started.agent_override) == (
        *("builtin", "claude"),
        "scripted",
    )
    assert (started.fork_from, started.params, started.on_question, started.aside_of) == (
        *("session-0", {"issue": 7}),
        *("ask", "run-0"),
    )
    assert (play.state.status, play.state.started_at) == ("queued", "2026-01-02T03:01:41.000Z")


def test_a_run_goes_from_its_start_to_its_exit() -> None:
    play = Play(review_loop())
    for outcome in ("complete", "issues-found", "complete", "no-issues", "committed"):
        play.say(outcome)

    assert play.reason == "changes-committed"
    assert [(visit.step, visit.visit) for visit in play.history] == [
        ("work", 1),
        ("review", 1),
        ("fix", 1),
        ("review", 2),
        ("commit", 1),
    ]
    assert play.state.visits == {"work": 1, "review": 2, "fix": 1, "commit": 1}
    assert (play.state.step_count, play.state.turns) == (5, 5)
    assert play.state.ended_at is not None


def test_turns_and_prompts_are_named_by_what_they_are_part_of() -> None:
    play = Play(review_loop())
    play.reply("Hm.")
    play.say("complete")
    play.begin()
    parts = [(0, "work", 1, 1), (0, "work", 1, 2), (0, "review", 1, 1)]

    assert [(turn.turn_id, turn.prompt_uuid) for turn in play.all(f.TurnIntended)] == [
        tuple(derive(RUN, restart, step, visit, kind, number) for kind in ("turn", "prompt"))
        for restart, step, visit, number in parts
    ]


def test_one_turn_runs_at_a_time() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.Proceed) == []


def test_a_process_that_is_not_the_turns_is_not_noted() -> None:
    play = Play(review_loop())
    seen = {"pid": 1, "proc_start": 1, "group": 1}

    assert play.do(c.ReportTurnStart, turn_id="turn-0", **seen) == []
    play.begin()
    assert play.do(c.ReportTurnStart, turn_id="turn-0", **seen) == []
    assert play.last(f.TurnStarted).mono == play.mono - 1


# Sessions.


def test_an_agents_own_id_of_a_session_is_noted_once_and_anew_where_it_changes() -> None:
    play = Play(a_recipe({"work": a_step()}))
    assert play.do(c.ReportSessionName, turn_id="turn-0", agent_session_id="ses_1") == []
    play.begin()
    assert play.do(c.ReportSessionName, turn_id="turn-0", agent_session_id="ses_1") == []
    turn_id = play.turn.turn_id
    for name in ("ses_1", "ses_1", "ses_2"):
        play.do(c.ReportSessionName, turn_id=turn_id, agent_session_id=name)

    assert [fact.agent_session_id for fact in play.all(f.SessionNamed)] == ["ses_1", "ses_2"]
    assert dict(play.state.agent_sessions) == {SESSION: "ses_2"}
    assert play.last(f.SessionNamed) == f.SessionNamed(
        turn_id=turn_id, session_id=SESSION, agent_session_id="ses_2"
    )


def test_a_turn_that_goes_on_with_a_session_says_how_its_agent_calls_it() -> None:
    play = Play().begin(agent_session_id="ses_1")

    assert play.turn.agent_session_id == "ses_1"


def test_steps_share_the_runs_session_unless_they_want_their_own() -> None:
    steps = {
        "work": a_step(on={"complete": to("review")}),
        "review": a_step(on={"again": to("review"), "no-issues": to("retro")}, session="fresh"),
        "retro": a_step(on={"complete": to("commit")}, session="fork"),
        "commit": a_step(),
    }
    play = Play(a_recipe(steps))
    seen = []
    for outcome in ("complete", "again", "no-issues", "complete", "complete"):
        play.begin()
        seen.append((play.turn.session_id, play.turn.fork_from))
        play.say(outcome)
    sessions, forks = zip(*seen, strict=True)

    assert sessions[0] == sessions[4] == SESSION
    assert len(set(sessions)) == 4
    assert forks == (None, None, None, SESSION, None)


def test_a_retry_stays_in_the_steps_own_session() -> None:
    play = Play(a_recipe({"work": a_step(session="fresh")}))
    own = play.begin().turn.session_id
    play.reply("Hm.")

    assert play.begin().turn.session_id == own != SESSION


def test_a_run_in_a_fork_tells_each_prompt_what_it_is_a_fork_of() -> None:
    assert Play(fork_from="session-0").begin().turn.fork_from == "session-0"
    assert Play(a_recipe(), fork_from="session-0").begin().turn.fork_from == "session-0"


# The working tree.


def test_a_recipe_that_commits_asks_before_it_starts_on_a_dirty_tree() -> None:
    dirty = tuple(f"file{number}.py" for number in range(30))
    play = Play(a_recipe(COMMITTING)).go(dirty=dirty)

    assert (play.question.kind, play.question.about) == ("gate", "dirty-tree")
    assert play.question.detail.splitlines() == list(dirty[:20])
    assert play.state.step_count == 0
    play.answer("yes")
    assert play.begin(dirty=dirty).turn.step == "work"
    play.say("complete")
    assert play.begin(dirty=dirty).turn.step == "commit"


def test_a_recipe_that_is_not_to_start_on_a_dirty_tree_ends_declined() -> None:
    play = Play(a_recipe(COMMITTING)).go(dirty=("a.py",))

    assert play.answer("no") == ["question.closed", "run.ended"]
    assert play.reason == "gate-declined"
    assert play.last(f.RunEnded).exit.message == "Recipe stopped: declined at work"


@pytest.mark.parametrize("dirty", [None, ()])
def test_a_clean_tree_or_none_is_not_asked_about(dirty: tuple[str, ...] | None) -> None:
    assert Play(a_recipe(COMMITTING)).begin(dirty=dirty).turn.step == "work"


def test_a_recipe_that_does_not_commit_starts_on_a_dirty_tree() -> None:
    assert Play(review_loop()).begin(dirty=("a.py",)).turn.step == "work"


def test_a_git_that_fails_at_the_start_ends_the_run_with_its_words() -> None:
    play = Play(a_recipe(COMMITTING)).go(trouble="git status failed")

    assert (play.reason, play.last(f.RunEnded).exit.detail) == ("error", "git status failed")


def test_a_git_that_fails_later_is_asked_about_and_nothing_is_lost() -> None:
    play = Play(a_recipe(COMMITTING)).begin()
    play.say("complete")
    play.do(c.Proceed, trouble="git status failed")

    assert (play.question.kind, play.question.detail) == ("recover", "git status failed")
    play.answer("retry")
    assert play.begin().turn.step == "commit"


@pytest.mark.parametrize("recipe", [None, review_loop()])
def test_a_working_tree_of_its_own_is_made_first(recipe: Recipe | None) -> None:
    play = Play(recipe, worktree=WORKTREE)

    assert play.do(c.Proceed) == []
    assert play.do(c.ReportEffectEnd, effect="worktree", state="made") == ["effect.ended"]
    assert play.do(c.ReportEffectEnd, effect="worktree", state="made") == []
    assert play.state.status == "running"
    play.begin()
    assert play.do(c.ReportEffectEnd, effect="worktree", state="made") == []


def test_a_working_tree_that_cannot_be_made_ends_the_run() -> None:
    play = Play(review_loop(), worktree=WORKTREE)
    failed = {"effect": "worktree", "state": "failed", "detail": "branch exists"}

    assert play.do(c.ReportEffectEnd, **failed) == ["effect.ended", "run.ended"]
    assert (play.reason, play.last(f.RunEnded).exit.detail) == ("error", "branch exists")


def test_the_end_of_an_unknown_effect_changes_nothing() -> None:
    play = Play(a_recipe()).begin()

    assert play.do(c.ReportEffectEnd, effect="answer:q-0", state="delivered") == []
    assert play.do(c.ReportEffectEnd, effect="steer:s-0", state="delivered") == []


# Gates.


def test_a_gate_is_asked_on_entering_and_yes_goes_on() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")}))

    assert play.do(c.Proceed) == ["step.entered", "question.opened"]
    assert (play.question.kind, play.question.text) == ("gate", "Shall I?")
    assert (play.question.step, play.question.visit) == ("work", 1)
    assert play.do(c.Proceed) == []
    assert play.answer("yes") == ["question.closed"]
    assert play.begin().turn.step == "work"


def test_no_at_a_gate_ends_the_run() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()

    assert play.answer("no") == ["question.closed", "edge.taken", "run.ended"]
    assert play.last(f.RunEnded).exit.message == "Recipe stopped: declined at work"
    assert (play.history[0].outcome, play.history[0].source) == ("declined", "person")


def test_no_at_a_gate_follows_its_edge_and_the_note_is_the_detail() -> None:
    steps = {
        "commit": a_step(gate="Commit?", on={"declined": to("fix"), "complete": to("fix")}),
        "fix": a_step("Wanted: {{last.commit.detail}}"),
    }
    play = Play(a_recipe(steps)).go()
    play.answer("no", note="Squash first")

    assert play.begin().turn.prompt.startswith("Wanted: Squash first\n")


def test_a_gate_is_asked_again_at_each_visit() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?", on={"again": to("work")})})).go()
    first = play.question.question_id
    play.answer("yes")
    play.say("again")

    assert play.go().question.question_id != first


# Asides.


def test_an_aside_is_noted_and_changes_nothing() -> None:
    play = Play(a_recipe({"work": a_step(gate="Shall I?")})).go()
    before = play.state

    assert play.do(c.NoteAside, run_id="run-2", session_id=SESSION) == ["aside.noted"]
    assert play.state == before


def test_an_aside_does_not_take_a_run_out_of_the_queue() -> None:
    play = Play()
    play.do(c.NoteAside, run_id="run-2", session_id=SESSION)

    assert play.state.status == "queued"


def test_a_fault_of_the_daemon_ends_the_run() -> None:
    play = Play(review_loop()).begin()

    assert play.do(c.ReportFault, detail="log entry 7") == ["run.ended"]
    assert (play.reason, play.last(f.RunEnded).exit.detail) == ("internal-error", "log entry 7")


def test_a_run_that_is_declined_elsewhere_keeps_the_edges_class() -> None:
    steps = {"work": a_step(gate="Shall I?", on={"declined": leave("later", "completed", "Later")})}
    play = Play(a_recipe(steps)).go()
    play.answer("no")

    assert play.last(f.RunEnded).exit.class_ == "completed"


def test_gates_and_checks_have_the_runs_values_filled_in_each_argument_staying_one() -> None:
    param = Param(type="string", default="two words")
    step = a_step(gate="Say {{what}}?", checks=(a_check("test", "{{what}}", "=", "{{what}}"),))
    recipe = a_recipe({"work": step}, params={"what": param})
    play = Play(recipe, params={"what": "two words"}).go()

    assert play.question.text == "Say two words?"
    play.answer("yes")
    play.say("complete")
    play.check(passed=True)
    assert play.last(f.CheckEnded).run == ("test", "two words", "=", "two words")
