"""One run: show, log, control, steer, answer."""

import json
from typing import Any

import pytest

from podium.errors import ALREADY_ENDED
from podium.render import run_words
from tests.client import journeys, stories
from tests.client.fake_daemon import (
    QUESTION_ID,
    RUN_ID,
    SESSION_ID,
    FakeDaemon,
    Refused,
    finish,
    podium,
    start,
)
from tests.client.journeys import Journey
from tests.client.stories import QUESTION, ended, ended_run, entered, said, started

# What these tests name of what is sent is all that they are about.
again_command: Any = run_words.again_command


@pytest.fixture
def busy(daemon: FakeDaemon) -> FakeDaemon:
    """A daemon with one run and one question."""
    daemon.answers |= {
        "runs.get": ended_run(),
        "questions.list": [QUESTION],
    }
    return daemon


def edge(seq: int, **more: object) -> stories.Json:
    fields = {"step": "fix", "visit": 1, "outcome": "complete", "source": "text", "attempts": 1}
    return stories.event(seq, "edge.taken", **{**fields, "exit": "changes-committed", **more})


def test_a_run_is_shown_with_its_steps_and_its_end(busy: FakeDaemon) -> None:
    turn = [stories.turn_intended(3), stories.turn_ended(4, "Done.")]
    busy.events = [started(), entered(2), *turn, edge(5), ended(6)]
    done = podium(busy, "runs", "show", RUN_ID[:6])

    lines = done.stdout.splitlines()
    assert busy.params_of("runs.get") == [{"run_id": RUN_ID[:6]}]
    assert f"session    {SESSION_ID}" in lines
    assert "step       fix (visit 2), step 2 of 7" in lines
    assert "params     issue=it's 7" in lines
    assert "cost       $1.25" in lines
    headings = ["VISIT", "STEP", "OUTCOME", "SOURCE", "REPLIES", "WORK", "COST"]
    table = [line.split() for line in lines].index(headings)
    assert lines[table + 1].split()[:5] == ["1", "fix", "complete", "text", "1"]
    assert lines[-1].startswith("✓ Task implementation committed successfully")


def test_the_detail_of_an_end_stands_below_it(busy: FakeDaemon) -> None:
    ending = ended_run("error")["exit"] | {"detail": "make: *** [all]\nError 2\x1b[2J\n"}
    busy.answers["runs.get"] = ended_run(exit=ending)

    lines = podium(busy, "runs", "show", RUN_ID).stdout.splitlines()

    at = next(at for at, line in enumerate(lines) if line.startswith("✗ "))
    assert lines[at + 1 : at + 3] == ["    make: *** [all]", "    Error 2\\x1b[2J"]


def test_what_was_left_empty_is_left_away_when_it_is_run_again() -> None:
    run = ended_run(params={"goal": "", "issue": 7, "deep": False})

    assert again_command({}, run).endswith("-p issue=7 -p deep=false")


def test_a_run_that_waits_shows_how_to_answer(busy: FakeDaemon) -> None:
    busy.answers["runs.get"] = ended_run(exit=None, status="waiting", questions=[QUESTION])

    assert podium(busy, "runs", "show", RUN_ID).stdout.endswith(
        f"\n? gate: Commit?\n    two files changed\n  podium answer {QUESTION_ID[:8]} yes|no\n"
    )


def test_a_run_that_is_paused_while_it_waits_says_so_and_how_it_goes_on(busy: FakeDaemon) -> None:
    busy.answers["runs.get"] = ended_run(
        exit=None, status="waiting", paused=True, questions=[QUESTION]
    )

    shown = podium(busy, "runs", "show", RUN_ID).stdout
    assert "\nstatus     waiting, paused\n" in shown
    assert shown.endswith(
        f"  podium answer {QUESTION_ID[:8]} yes|no\n"
        f"  It is paused too: after the answer, podium resume {RUN_ID[:8]}\n"
    )


def test_the_lists_show_that_a_run_with_an_open_question_is_paused(busy: FakeDaemon) -> None:
    waiting = [ended_run(status="waiting", exit=None, paused=paused) for paused in (True, False)]
    busy.answers |= {"runs.list": waiting, "daemon.status": {}}
    busy.answers["questions.list"] = [{**QUESTION, "paused": True}, {**QUESTION, "paused": False}]

    held, going = podium(busy, "runs").stdout.splitlines()[1:3]
    assert "  waiting, paused  " in held
    assert "paused" not in going
    asked = podium(busy, "questions").stdout.splitlines()
    rows = [line for line in asked if line.startswith(QUESTION_ID[:8])]
    assert [" (paused) " in row for row in rows] == [True, False]


def test_a_run_shows_what_each_visit_took_and_who_answered(busy: FakeDaemon) -> None:
    journey = journeys.varied()
    busy.answers["runs.get"] = journey.run("checks-failed")
    busy.events = journey.events

    shown = podium(busy, "runs", "show", RUN_ID).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]

    assert "end its checks failed" in lines
    assert "VISIT STEP OUTCOME SOURCE REPLIES WORK WAITED COST CHECKS" in lines
    assert "1 implement checks-failed check 2 4:00 1:15 $0.44 1 of 1 failed" in lines
    assert "2 review no-issues structured 1 1:28 - $0.16 -" in lines
    asked = lines.index("? approval: May the agent use Bash?")
    assert lines[asked + 1] == "answered allow by phone, after 35 s"
    assert lines[-1].startswith("Run it again: podium run fix-it --cwd ")


def test_a_run_of_several_agents_shows_who_took_each_step_and_not_who_took_none(
    busy: FakeDaemon,
) -> None:
    journey = Journey().enter("work").prompt(agent="author").wait(2).reply().leave("complete")
    journey.enter("review").prompt(agent="critic").wait(2).reply().leave("complete")
    busy.answers["runs.get"] = journey.run(turns=2)
    busy.events = journey.events

    shown = podium(busy, "runs", "show", RUN_ID).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]

    assert "agent author, critic" in lines
    assert [line for line in lines if line.startswith("VISIT STEP AGENT OUTCOME")]
    assert [line for line in lines if line.startswith("1 review critic complete")]


def test_a_run_shows_its_tokens_and_whose_turns_tell_none(busy: FakeDaemon) -> None:
    journey = Journey().enter("work").prompt().wait(2)
    journey.reply(cost=0.0, tokens={"read": 1200, "cached": 0, "written": 30})
    journey.prompt().wait(2).reply(cost=0.0).leave("complete")
    told = {"read": 1200, "cached": 0, "written": 30, "untold": 1}
    busy.answers["runs.get"] = journey.run(tokens=told, turns=2)
    busy.events = journey.events

    shown = podium(busy, "runs", "show", RUN_ID).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]

    assert "tokens 1.2k in, 30 out, 1 turn untold" in lines
    (heads,) = [line for line in lines if line.startswith("VISIT")]
    assert "WORK TOKENS" in heads and "COST" not in heads
    busy.answers |= {"runs.list": [busy.answers["runs.get"]], "daemon.status": {}}
    listed = podium(busy, "runs").stdout
    assert "1.2k tokens" in listed and "$" not in listed


def test_a_run_whose_agent_tells_no_tokens_says_so(busy: FakeDaemon) -> None:
    journey = journeys.short()
    busy.answers["runs.get"] = journey.run(turns=1)
    busy.events = journey.events

    shown = podium(busy, "runs", "show", RUN_ID).stdout

    assert "tokens not told by its agent" in " ".join(shown.split())
    assert "TOKENS" not in shown


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("completed", "completed"),
        ("needs-user", "it needs a person"),
        ("blocked", "it could not go on"),
        ("guardrail", "a limit stopped it"),
        ("error", "it failed"),
        ("cancelled", "cancelled"),
    ],
)
def test_a_run_that_ended_says_how_in_plain_words(busy: FakeDaemon, kind: str, said: str) -> None:
    journey = journeys.short()
    busy.answers["runs.get"] = journey.run(kind)
    busy.events = journey.events

    shown = podium(busy, "runs", "show", RUN_ID).stdout
    assert f"\nend {said}\n" in "\n".join(" ".join(one.split()) for one in shown.splitlines())


def test_a_visit_that_made_no_progress_is_pointed_out(busy: FakeDaemon) -> None:
    journey = journeys.stalled()
    busy.answers["runs.get"] = journey.run("guardrail")
    busy.events = journey.events

    shown = " ".join(podium(busy, "runs", "show", RUN_ID).stdout.split())
    logged = podium(busy, "runs", "log", RUN_ID).stdout

    assert (
        "⚠ no progress: visit 2 of 'review': it ended as visit 1 did: the same findings, and the "
        "working tree is the same"
    ) in shown
    assert len([line for line in logged.splitlines() if "progress.stalled" in line]) == 1


def test_the_log_says_what_a_step_and_a_question_took(busy: FakeDaemon) -> None:
    busy.events = journeys.varied().events

    lines = podium(busy, "runs", "log", RUN_ID).stdout.splitlines()

    edge = next(line for line in lines if "edge.taken" in line)
    assert " outcome=checks-failed to=implement work=4:00 waited=1:15 cost_usd=0.4400 " in edge
    assert [" after=8:20:00 " in line for line in lines if "question.closed" in line] == [
        *(False, False),
        True,
    ]
    assert " work=12:32 cost_usd=1.3300" in lines[-1]


def test_a_run_as_json_is_the_daemons_own_and_its_visits(busy: FakeDaemon) -> None:
    turn = [stories.turn_intended(3), stories.turn_ended(4, "Done.")]
    busy.events = [started(), entered(2), *turn, edge(5), ended(6)]
    shown = json.loads(podium(busy, "runs", "show", RUN_ID, "--json").stdout)
    [step] = shown.pop("steps")
    assert shown == ended_run()
    assert (step["step"], step["visit"], step["outcome"], step["source"]) == (
        *("fix", 1),
        *("complete", "text"),
    )


def test_the_log_names_the_agent_that_was_asked_for_and_no_other(busy: FakeDaemon) -> None:
    busy.events = [stories.started(agent="claude", agent_override="scripted", agent_given="kimi")]

    told = podium(busy, "runs", "log", RUN_ID).stdout

    assert " agent=scripted " in told
    assert "claude" not in told and "override" not in told and "kimi" not in told


def test_the_log_is_one_line_an_event_over_all_pages(busy: FakeDaemon) -> None:
    events = [started(), entered(2, step="fix\x1b"), ended(3)]

    def paged(params: stories.Json) -> stories.Json:
        page = events[params["after_seq"] :][:2]
        return {"events": page, "next_seq": page[-1]["seq"] if page else params["after_seq"]}

    busy.answers["runs.events"] = paged

    lines = podium(busy, "runs", "log", RUN_ID).stdout.splitlines()

    assert [line.split()[:3] for line in lines] == [
        ["1", "10:00:01.000", "run.started"],
        ["2", "10:00:02.000", "step.entered"],
        ["3", "10:00:03.000", "run.ended"],
    ]
    assert lines[1].endswith("step=fix\\x1b visit=1 step_count=1 session_id=s")


def test_the_log_says_how_turns_and_the_run_ended_in_numbers_that_can_be_read(
    busy: FakeDaemon,
) -> None:
    busy.events = [
        stories.turn_ended(1, "Done."),
        stories.turn_ended(2, kind="api_error", detail="it is\noverloaded"),
        stories.event(3, "check.ended", run=["make", "all tests"], passed=False, seconds=0.2481),
        ended(4, "blocked"),
    ]

    done, broken, check, over = podium(busy, "runs", "log", RUN_ID).stdout.splitlines()

    assert done.endswith(f" text=Done. seconds=62.0 cost_usd=0.5000 turn_id={stories.TURN_ID}")
    assert " end=api_error detail=it is overloaded " in broken
    assert check.endswith(" run=make 'all tests' passed=false seconds=0.2 index=0")
    assert " reason=implementation-blocked class=blocked work=" in over


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_log_can_be_followed_to_the_end(busy: FakeDaemon, form: str) -> None:
    extra = ["--json"] if form == "json" else []
    client = start(busy, "runs", "log", RUN_ID, "--follow", *extra)
    busy.wait_for("runs.events")
    busy.publish(started(), said("words"), ended(2, "error"))

    out, _ = finish(client)

    assert client.returncode == 0
    if form == "json":
        assert [json.loads(line) for line in out.splitlines()] == busy.events
    else:
        assert [line.split()[2] for line in out.splitlines()] == ["run.started", "run.ended"]


@pytest.mark.parametrize(
    ("verb", "word"),
    [
        ("pause", "Paused"),
        ("resume", "Resumed"),
        ("cancel", "Cancelled"),
        ("interrupt", "Interrupted"),
    ],
)
def test_a_run_is_controlled(busy: FakeDaemon, verb: str, word: str) -> None:
    before = "paused" if verb == "resume" else "running"
    busy.answers["runs.get"] = ended_run(status=before)
    busy.answers[f"runs.{verb}"] = ended_run(status="paused")

    done = podium(busy, verb, RUN_ID)

    assert busy.params_of(f"runs.{verb}") == [{"run_id": RUN_ID}]
    assert done.stdout == f"{word} fix-it {RUN_ID[:8]}, step fix: now paused.\n"
    busy.answers[f"runs.{verb}"] = ended_run(status="paused", name="Second\ttry")
    assert podium(busy, verb, RUN_ID).stdout.startswith(f"{word} 'Second try' {RUN_ID[:8]}, step")
    assert json.loads(podium(busy, verb, RUN_ID, "--json").stdout)["status"] == "paused"


@pytest.mark.parametrize(
    ("verb", "status", "words"),
    [
        ("pause", "paused", "is paused already"),
        ("resume", "running", "is not paused: running"),
        ("resume", "queued", "is not paused: queued"),
        ("cancel", "ended", "has ended already: task-complete"),
        ("interrupt", "ended", "has ended already: task-complete"),
    ],
)
def test_what_is_so_already_is_said_and_is_no_fault(
    busy: FakeDaemon, verb: str, status: str, words: str
) -> None:
    def refused(_: stories.Json) -> stories.Json:
        raise Refused(ALREADY_ENDED, "The run has ended: task-complete.")

    end = {"reason": "task-complete"} if status == "ended" else None
    busy.answers["runs.get"] = ended_run(status=status, exit=end)
    busy.answers[f"runs.{verb}"] = refused

    done = podium(busy, verb, RUN_ID)

    assert done.stdout == f"Nothing to do: fix-it {RUN_ID[:8]}, step fix {words}.\n"
    assert (done.stderr, done.returncode) == ("", 0)
    assert json.loads(podium(busy, verb, RUN_ID, "--json").stdout)["status"] == status


def test_a_run_that_waits_for_an_answer_may_be_paused_as_well(busy: FakeDaemon) -> None:
    busy.answers["runs.get"] = ended_run(status="waiting", exit=None)
    busy.answers["runs.resume"] = ended_run(status="waiting", exit=None)

    done = podium(busy, "resume", RUN_ID)

    assert busy.params_of("runs.resume") == [{"run_id": RUN_ID}]
    assert done.stdout == f"Resumed fix-it {RUN_ID[:8]}, step fix: now waiting.\n"


def test_one_that_waits_and_is_paused_already_is_not_paused_again(busy: FakeDaemon) -> None:
    busy.answers["runs.get"] = ended_run(status="waiting", paused=True, exit=None)

    assert podium(busy, "pause", RUN_ID).stdout == (
        f"Nothing to do: fix-it {RUN_ID[:8]}, step fix is paused already.\n"
    )


def test_a_run_that_was_cancelled_and_has_ended_is_cancelled(busy: FakeDaemon) -> None:
    busy.answers["runs.cancel"] = ended_run(status="ended")

    assert podium(busy, "cancel", RUN_ID).stdout.startswith(
        f"Cancelled fix-it {RUN_ID[:8]}, step fix.\n"
    )


def test_a_pause_that_waits_for_the_end_of_the_turn_says_so(busy: FakeDaemon) -> None:
    busy.answers["runs.get"] = ended_run(status="running")
    busy.answers["runs.pause"] = ended_run(status="running", stop="pause")

    assert podium(busy, "pause", RUN_ID).stdout == (
        f"fix-it {RUN_ID[:8]}, step fix will pause at the end of its turn, command or check.\n"
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("queued", "The agent has the message.\n"),
        ("too_late", "The turn was over: the message goes into the next prompt.\n"),
    ],
)
def test_a_steer_says_where_the_message_went(busy: FakeDaemon, state: str, words: str) -> None:
    busy.answers["runs.steer"] = {"state": state}

    done = podium(busy, "steer", RUN_ID, "-", stdin=b"be kind")

    assert done.stdout == words
    assert busy.params_of("runs.steer") == [{"run_id": RUN_ID, "text": "be kind"}]


def test_who_answers_is_told_that_the_run_stays_paused(busy: FakeDaemon) -> None:
    busy.answers["questions.answer"] = {**QUESTION, "answer": "no", "paused": True}

    assert podium(busy, "answer", QUESTION_ID[:5], "no").stdout == (
        f"Answered: no. The run is paused: 'podium resume {RUN_ID[:8]}' lets it go on.\n"
    )


def test_a_question_is_answered_with_a_note(busy: FakeDaemon) -> None:
    busy.answers["questions.answer"] = {**QUESTION, "answer": "no"}

    done = podium(busy, "answer", QUESTION_ID[:5], "no", "--note", "later")

    assert done.stdout == "Answered: no.\n"
    assert busy.params_of("questions.answer") == [
        {"question_id": QUESTION_ID[:5], "answer": "no", "note": "later"}
    ]


@pytest.mark.parametrize(
    ("said", "sent"),
    [("yes", "allow"), ("Y", "allow"), ("no", "deny"), ("allow", "allow"), ("maybe", "maybe")],
)
def test_yes_and_no_answer_who_asks_for_leave(busy: FakeDaemon, said: str, sent: str) -> None:
    busy.answers |= {"questions.list": [stories.APPROVAL], "questions.answer": {}}

    assert podium(busy, "answer", QUESTION_ID[:5], said).returncode == 0

    (params,) = busy.params_of("questions.answer")
    assert params["answer"] == sent


def test_what_question_is_meant_by_yes_is_left_to_the_daemon_where_many_are(
    busy: FakeDaemon,
) -> None:
    busy.answers |= {
        "questions.list": [stories.APPROVAL, {**stories.APPROVAL, "question_id": "9ue5"}],
        "questions.answer": {},
    }
    podium(busy, "answer", "9ue5", "yes")

    assert busy.params_of("questions.answer") == [{"question_id": "9ue5", "answer": "yes"}]


def test_without_a_value_the_choices_are_shown(busy: FakeDaemon) -> None:
    done = podium(busy, "answer", QUESTION_ID)

    assert done.stdout == (
        "gate: Commit?\n    two files changed\n\n"
        "ANSWER  MEANING\nyes     Yes, commit\nno      No\n\n"
        f"Answer with: podium answer {QUESTION_ID[:8]} yes|no\n"
    )
    asked = json.loads(podium(busy, "answer", QUESTION_ID, "--json").stdout)
    assert [asked] == busy.answers["questions.list"]


def test_an_approval_is_shown_with_the_whole_call(busy: FakeDaemon) -> None:
    busy.answers["questions.list"] = [stories.APPROVAL]

    lines = podium(busy, "answer", QUESTION_ID).stdout.splitlines()

    assert lines[0] == "approval: May the agent use Bash?"
    assert lines[1:4] == [f"    {line}" for line in stories.CALL]


def test_a_question_that_is_not_open_is_told_from_one_that_is(busy: FakeDaemon) -> None:
    done = podium(busy, "answer", "0000")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "podium: There is no open question '0000': 'podium questions' lists them.\n"
    )


def test_an_ambiguous_beginning_of_a_question_is_refused(busy: FakeDaemon) -> None:
    busy.answers["questions.list"] = [QUESTION, {**QUESTION, "question_id": "9ue5"}]

    done = podium(busy, "answer", "9u")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "podium: More than one open question begins with '9u': 'podium questions' lists them.\n"
    )


def test_a_late_answer_is_an_error(busy: FakeDaemon) -> None:
    def late(params: stories.Json) -> None:
        raise Refused(-32004, "Already answered by phone.", {"by": "phone"})

    busy.answers["questions.answer"] = late

    done = podium(busy, "answer", QUESTION_ID, "yes")

    assert (done.returncode, done.stderr) == (1, "podium: Already answered by phone.\n")


def test_a_run_is_renamed_and_called_by_its_recipe_again(busy: FakeDaemon) -> None:
    busy.answers["runs.rename"] = ended_run(name="Second\ttry")
    assert podium(busy, "runs", "rename", "1a2b", "Second try").stdout == (
        f"{RUN_ID[:8]} is now called: Second try\n"
    )
    busy.answers["runs.rename"] = ended_run(name="implement-and-review: slugs")
    done = podium(busy, "runs", "rename", "1a2b", "", "--json")
    assert json.loads(done.stdout)["name"] == "implement-and-review: slugs"
    titles = [sent["title"] for sent in busy.params_of("runs.rename")]
    assert titles == ["Second try", ""]
