"""A run's facts as visits: what took how long, what it cost, who said what."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from podiumd.core.recipe.model import RESTART
from podiumd.core.reply.report import Tokens, TokensUsed, TurnReport
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.history import (
    BEFORE,
    LOST,
    MOST_CALLS,
    PROMPT,
    History,
    HistoryPlace,
    Visit,
    VisitCall,
)
from tests.core.builders import Play, a_check, a_recipe, a_step, leave, to
from tests.plain import plain, some


def stamp(seconds: float) -> str:
    minutes, left = divmod(seconds, 60)
    return f"2026-01-02T03:{int(minutes):02}:{left:06.3f}Z"


class Day:
    """A run on a clock of its own."""

    def __init__(self, *facts: f.AnyFact, history: History | None = None) -> None:
        self.history = History() if history is None else history
        self.now = 0.0
        self.seq = self.history.place.seq
        self.tell(*facts)

    def tell(self, *facts: f.AnyFact) -> Day:
        for fact in facts:
            self.seq += 1
            self.history.add(self.seq, stamp(self.now), fact)
        return self

    def wait(self, seconds: float) -> Day:
        self.now += seconds
        return self

    @property
    def visits(self) -> list[Visit]:
        return self.history.visits

    @property
    def visit(self) -> Visit:
        (only,) = self.visits
        return only


def entered(step: str = "fix", count: int = 1, visit: int = 1) -> f.StepEntered:
    return f.StepEntered(step=step, visit=visit, step_count=count, session_id="s")


def prompt(turn_id: str = "t", **fields: Any) -> f.TurnIntended:
    return some(f.TurnIntended, turn_id=turn_id, purpose="step", agent="claude", **fields)


def reply(
    turn_id: str = "t", seconds: float = 2.0, cost: float = 0.25, tokens: Tokens | None = None
) -> f.TurnEnded:
    report = TurnReport(kind="done", tokens=tokens)
    return f.TurnEnded(turn_id=turn_id, report=report, text="Hi", seconds=seconds, cost_usd=cost)


def parsed(source: str = "text", **fields: Any) -> f.OutcomeParsed:
    return f.OutcomeParsed(step="fix", outcome="complete", source=source, **fields)


def edge(to: str | None = None, source: str = "text", **fields: Any) -> f.EdgeTaken:
    told: dict[str, Any] = {
        "step": "fix",
        "visit": 1,
        "outcome": "complete",
        "source": source,
        "attempts": 1,
    }
    return f.EdgeTaken(**(told | {"to": to} | fields))


def ask(name: str = "q") -> f.QuestionOpened:
    return f.QuestionOpened(question_id=name, kind="gate", text="Go on?")


def answered(name: str = "q", answer: str | None = "yes") -> f.QuestionClosed:
    return f.QuestionClosed(question_id=name, closed="answered", answer=answer)


def over(**fields: Any) -> f.RunEnded:
    return some(f.RunEnded, **fields)


def test_a_played_run_is_told_visit_by_visit() -> None:
    checked = a_step("Do it.", {"complete": to("end"), "checks-failed": to("work")})
    recipe = a_recipe(
        {
            "work": replace(checked, checks=(a_check(),)),
            "end": a_step("End it.", {"complete": leave("task-committed")}),
        }
    )
    play = Play(recipe).begin()
    play.say("complete")
    play.check(passed=False)
    play.begin()
    play.say("complete")
    play.check(passed=True)
    play.begin()
    play.say("complete", cost_usd=0.5)
    visits = Day(*play.facts).visits

    assert [(v.number, v.step, v.visit, v.outcome, v.source, v.to or v.exit) for v in visits] == [
        (1, "work", 1, "checks-failed", "check", "work"),
        (2, "work", 2, "complete", "text", "end"),
        (3, "end", 1, "complete", "text", "task-committed"),
    ]
    assert [v.returned for v in visits] == [True, False, False]
    assert visits[2].cost_usd == 0.5
    assert all(len(v.turns) == 1 for v in visits)


def test_a_visit_has_the_sums_of_its_turns_checks_and_commands() -> None:
    day = Day(entered(), prompt(), reply(seconds=2, cost=0.25), prompt("u"), reply("u", 3, 0.5))
    day.tell(f.CheckEnded(step="fix", index=0, run=("make",), passed=True, seconds=4))

    assert (day.visit.work_seconds, day.visit.cost_usd) == (9.0, 0.75)
    assert [turn.end for turn in day.visit.turns] == ["done", "done"]
    assert [turn.text for turn in day.visit.turns] == ["Hi", "Hi"]


def test_a_visit_has_the_tokens_of_its_turns_and_how_many_tell_none() -> None:
    day = Day(entered(), prompt(), reply(tokens=Tokens(7, 5, 3)), prompt("u"))
    assert day.visit.tokens == TokensUsed(7, 5, 3, untold=0), "the second one is not over"
    day.tell(reply("u"), prompt("v"), reply("v", tokens=Tokens(1, 0, 1)))
    assert day.visit.tokens == TokensUsed(8, 5, 4, untold=1)
    assert [turn.tokens for turn in day.visit.turns] == [Tokens(7, 5, 3), None, Tokens(1, 0, 1)]


def test_what_is_asked_before_a_step_belongs_to_it() -> None:
    day = Day(ask("dirty")).wait(5).tell(answered("dirty"), entered(), ask("tool"))

    assert [one.opened.question_id for one in day.visit.questions] == ["dirty", "tool"]
    assert day.visit.questions[0].opened_at < day.visit.began_at
    assert [one.closed for one in day.visit.questions] == [answered("dirty"), None]


def test_questions_that_are_open_at_once_are_waited_for_once() -> None:
    day = Day(entered(), ask("a")).wait(10).tell(ask("b")).wait(10).tell(answered("a"))
    day.wait(5).tell(answered("b")).wait(100).tell(ask("c"))

    assert day.visit.waited_seconds(stamp(125)) == 25
    assert day.visit.waited_seconds(stamp(155)) == 55


def test_an_answer_to_what_was_never_asked_changes_nothing() -> None:
    assert Day(entered(), answered("of nobody")).visit.questions == []
    assert Day(entered(), prompt(), reply("of nobody")).visit.turns[0].ended_at is None


def test_a_run_that_stands_still_says_why_and_how_long() -> None:
    day = Day(entered(), f.RunResumed(), f.RunPaused(why="requested")).wait(4)
    day.tell(f.RunParked(until=stamp(60))).wait(6).tell(f.RunResumed()).wait(9)

    assert [(one.kind, one.why) for one in day.visit.stills] == [
        ("paused", "requested"),
        ("parked", stamp(60)),
    ]
    assert day.visit.still_seconds(stamp(19)) == 10


def test_an_outcome_that_a_check_overruled_is_not_called_repaired() -> None:
    day = Day(entered(), prompt(), reply(), parsed(repaired=True, attempt=2))
    assert (day.visit.repaired, day.visit.source, day.visit.attempts) == (True, "text", 2)
    assert day.visit.turns[0].read == "complete"

    day.tell(edge(source="check", attempts=0))
    assert (day.visit.repaired, day.visit.source, day.visit.attempts) == (False, "check", 2)


def test_an_outcome_that_no_text_was_read_for_is_not_in_the_turn() -> None:
    day = Day(entered(), prompt(), reply(), parsed("structured"), edge(source="structured"))
    assert (day.visit.turns[0].read, day.visit.repaired) == (None, False)


def test_what_was_wrong_with_a_reply_stands_with_its_turn() -> None:
    wrong = f.OutcomeInvalid(step="fix", error="no-json", message="no", attempt=1, excerpt="x")
    day = Day(entered(), prompt(), reply(), wrong)

    assert plain(day.visit.turns[0].fault) == {"error": "no-json", "message": "no", "excerpt": "x"}
    assert Day(entered(), wrong).visit.turns == []


def test_a_check_began_as_long_before_its_end_as_it_took() -> None:
    ended = f.CheckEnded(step="fix", index=0, run=("make",), passed=False, seconds=4.25, tail="no")
    check = Day(entered()).wait(14.25).tell(ended).visit.commands[0]

    assert (check.began_at, check.ended_at) == (stamp(10), stamp(14.25))
    assert (check.kind, check.passed, check.tail) == ("check", False, "no")


def test_a_step_that_is_a_command_runs_until_it_ends() -> None:
    run = ("make", "all")
    day = Day(entered("build"))
    day.tell(f.CommandIntended(step="build", visit=1, run=run, timeout_seconds=60))
    (command,) = day.visit.commands
    assert (command.kind, command.passed, command.ended_at) == ("command", None, None)

    ended = f.CommandEnded(step="build", visit=1, run=run, passed=False, exit_status=2, seconds=7)
    day.wait(7).tell(ended, ended)
    assert (command.passed, command.exit_status, command.ended_at) == (False, 2, stamp(7))
    assert (day.visit.work_seconds, len(day.visit.commands)) == (7.0, 1)


def test_a_turn_whose_end_was_never_told_is_lost_when_the_next_begins() -> None:
    day = Day(entered(), prompt("a")).wait(5).tell(prompt("b")).wait(5)
    assert [(one.end, one.ended_at) for one in day.visit.turns] == [(LOST, stamp(5)), (None, None)]
    assert day.visit.ended_at is None

    day.tell(over())
    assert [turn.end for turn in day.visit.turns] == [LOST, LOST]
    assert day.visit.ended_at == day.history.ended_at == stamp(10)


def test_a_restart_begins_the_visits_anew_and_goes_back_nowhere() -> None:
    day = Day()
    for _ in range(3):
        day.tell(entered("a", 1), edge("b"), entered("b", 2), edge(RESTART))

    assert [visit.restart for visit in day.visits] == [0, 0, 1, 1, 2, 2]
    assert [visit.number for visit in day.visits] == [1, 2, 3, 4, 5, 6]
    assert not any(visit.returned for visit in day.visits)


def test_a_plain_prompt_is_one_visit() -> None:
    day = Day(some(f.RunStarted), prompt()).wait(3).tell(reply(), over(undelivered=("Wait",)))

    assert (day.visit.step, day.visit.number, day.visit.turns[0].text) == (PROMPT, 1, "Hi")
    assert day.history.undelivered == ("Wait",)


def test_a_run_that_ended_before_its_first_step_keeps_what_was_before_it() -> None:
    day = Day(ask()).wait(9).tell(answered(), over())
    assert (day.visit.step, day.visit.number) == (BEFORE, 1)
    assert day.visit.waited_seconds(stamp(9)) == 9
    assert Day(over()).visits == []


def test_who_asked_before_anything_was_over_is_told_of_a_run_that_never_began_a_step() -> None:
    asked = Day(ask()).history.place
    day = Day(ask(), answered(), over(), history=History(asked))
    assert asked == HistoryPlace()
    assert (day.visit.step, day.visit.number) == (BEFORE, 1)


def test_what_was_for_a_step_that_never_came_belongs_to_the_last() -> None:
    limit = f.LimitHit(limit="max-step-visits-exceeded:fix", count=3)
    day = Day(entered(), edge("fix"), limit, ask(), f.RunPaused(), answered(), over())

    assert [note.fact for note in day.visit.notes] == [limit]
    assert [one.closed for one in day.visit.questions] == [answered()]
    assert [one.kind for one in day.visit.stills] == ["paused"]


def test_a_notice_that_comes_after_the_end_of_a_visit_belongs_to_it() -> None:
    stalled = some(f.ProgressStalled, since=1)
    day = Day(entered(), edge("fix"), stalled, entered(count=2))

    assert [[note.fact for note in visit.notes] for visit in day.visits] == [[stalled], []]
    assert day.history.place == HistoryPlace(3, 1, 0, ("fix",))
    assert Day(stalled).visits == []


def test_words_stand_once_and_an_answer_with_its_question() -> None:
    said = f.MessageReceived(uuid="m", text="And quick.")
    steer = f.SteerIntended(uuid="m", text="And quick.", turn_id="t")
    day = Day(entered(), ask(), answered(), f.MessageReceived(uuid="q", text="yes"))
    day.tell(said).wait(1).tell(steer, f.SteerIntended(uuid="n", text="Now."))

    assert [(note.at, note.fact) for note in day.visit.notes] == [
        (stamp(0), steer),
        (stamp(1), f.SteerIntended(uuid="n", text="Now.")),
    ]


@pytest.mark.parametrize(
    ("fact", "noted"),
    [
        (some(f.ToolUsed, tool="save", success=True), True),
        (some(f.ToolUsed, tool="ask", success=True), False),
        (some(f.ToolUsed, tool="ask", success=False), True),
        (some(f.HookEnded, refused=True), True),
        (some(f.HookEnded, exit_status=1), True),
        (some(f.HookEnded, exit_status=0), False),
        (some(f.HookEnded), False),
        (some(f.AsideNoted), True),
        (some(f.TreeSeen), False),
    ],
)
def test_what_says_something_is_noted(fact: f.AnyFact, noted: bool) -> None:
    assert bool(Day(entered(), fact).visit.notes) is noted


def action(name: str) -> lf.ActionEnded:
    result = lf.Result(action=name, success=True, message="done")
    return lf.ActionEnded(turn_id="t", reply=1, index=0, result=result)


def test_of_the_calls_of_a_native_turn_the_first_are_kept() -> None:
    day = Day(entered(), action("read_file"), prompt(), action("save"))
    assert day.visit.turns[0].calls == []

    day.tell(*[action("read_file")] * (MOST_CALLS + 2))
    (turn,) = day.visit.turns
    assert turn.calls == [VisitCall("read_file", "done")] * MOST_CALLS
    assert turn.more_calls == 2


def pages(facts: list[f.AnyFact]) -> list[Visit]:
    """The visits of pages that are as short as can be."""
    found: list[Visit] = []
    place: HistoryPlace | None = None
    while True:
        after = place.seq if place else 0
        history = History(wire(place))
        for seq, fact in enumerate(facts[after:], after + 1):
            if history.may_end_before(fact):
                history.end_before(fact, stamp(seq))
                break
            history.add(seq, stamp(seq), fact)
        else:
            return [*found, *history.visits]
        assert history.place.seq > after
        found, place = [*found, *history.visits], history.place


def wire(place: HistoryPlace | None) -> HistoryPlace | None:
    """The place as a client gives it back."""
    return place and msgspec.json.decode(msgspec.json.encode(place), type=HistoryPlace)


LISTS = ("turns", "commands", "questions", "stills", "notes")


def joined(parts: list[Visit]) -> list[Visit]:
    """The visits of which these are the parts, in their order."""
    found: list[Visit] = []
    for part in parts:
        if found and found[-1].number == part.number:
            before = found.pop()
            lists = {name: [*getattr(before, name), *getattr(part, name)] for name in LISTS}
            found.append(replace(part, **lists))
        else:
            found.append(part)
    return found


def test_pages_tell_what_all_of_it_in_one_tells() -> None:
    one: list[f.AnyFact] = [entered("a", 1), prompt("a"), reply("a"), edge("b"), ask("late")]
    two: list[f.AnyFact] = [entered("b", 2), answered("late"), edge("a"), f.RunPaused()]
    three: list[f.AnyFact] = [entered("a", 3), f.RunResumed(), edge(RESTART)]
    stalled = some(f.ProgressStalled)
    four: list[f.AnyFact] = [entered("a", 1), edge("a"), stalled, ask(), answered()]
    facts = [*one, *two, *three, *four, entered("a", 2), edge("a"), some(f.LimitHit), over()]
    whole = History()
    for seq, fact in enumerate(facts, 1):
        whole.add(seq, stamp(seq), fact)

    assert len(whole.visits) == 5
    assert plain(joined(pages(facts))) == plain(whole.visits)


def a_conversation(turns: int) -> list[f.AnyFact]:
    """A visit of so many turns, of which the end of one is not stored, and its edge."""
    facts: list[f.AnyFact] = [entered("talk")]
    for number in range(turns):
        facts.append(prompt(f"t{number}"))
        facts += [] if number == 1 else [reply(f"t{number}"), *[ask(f"q{number}")] * (number == 2)]
        facts += [answered("q2")] * (number == 2)
    return [*facts, edge("end")]


def test_a_visit_of_many_turns_comes_in_parts_that_are_the_whole_of_it() -> None:
    facts = [*a_conversation(6), entered("end", 2), edge(RESTART), *a_conversation(3), over()]
    whole = History()
    for seq, fact in enumerate(facts, 1):
        whole.add(seq, stamp(seq), fact)
    parts = pages(facts)

    assert len(parts) == 6 + 1 + 3
    assert plain(joined(parts)) == plain(whole.visits)
    assert [part.work_seconds for part in parts if part.step == "talk"].count(0.0) == 2
    assert sum(part.work_seconds for part in parts) == sum(one.work_seconds for one in whole.visits)


def test_a_page_does_not_end_while_something_is_open_but_anyhow() -> None:
    history = Day(entered(), prompt(), ask()).history
    assert not history.may_end_before(prompt("b"))
    assert history.may_end_before(prompt("b"), anyhow=True)
    assert not history.may_end_before(over(), anyhow=True)

    place = history.place
    history.end_before(over(), stamp(9))
    assert history.place == place


@pytest.mark.parametrize(
    ("late", "noted"),
    [
        ([some(f.LimitHit)], "notes"),
        ([ask(), answered()], "questions"),
        ([f.RunPaused()], "stills"),
        ([some(f.ProgressStalled)], "notes"),
    ],
    ids=["a limit", "a question", "a pause", "no progress"],
)
def test_what_comes_to_a_visit_that_was_told_is_told_where_no_other_begins(
    late: list[f.AnyFact], noted: str
) -> None:
    """A page that was asked for while the run went on, and the last one."""
    first = Day(entered(), edge("fix"))
    rest = Day(*late, over(), history=History(wire(first.history.place)))

    (part,) = rest.visits
    assert (part.number, part.outcome, part.to) == (1, first.visit.outcome, "fix")
    assert [name for name in LISTS if getattr(part, name)] == [noted]
    assert rest.history.place.visit is UNSET


def test_a_visit_that_begins_takes_what_came_before_it() -> None:
    first = Day(entered(), edge("fix"))
    rest = Day(some(f.LimitHit), entered("fix", 2), history=History(wire(first.history.place)))
    assert [(one.number, len(one.notes)) for one in rest.visits] == [(2, 1)]
    assert rest.history.place == HistoryPlace(2, 1, 0, ("fix",))


def test_a_page_of_what_comes_after_the_last_visit_tells_of_none() -> None:
    history = History(HistoryPlace(2, 1, 0, ("fix",)))
    assert Day(some(f.LimitHit), over(), history=history).visits == []
