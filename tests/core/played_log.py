"""Five played runs that hold every kind of fact, as lines for a log that the tests keep.

A release whose facts have another shape adds a file of its own:
``python -m tests.core.played_log > tests/core/facts_vN.jsonl``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from podiumd.core.recipe.model import Limits, Param, Recipe
from podiumd.core.run import commands as c
from tests.core.builders import (
    TREE,
    WORKTREE,
    Play,
    a_check,
    a_command,
    a_question,
    a_recipe,
    a_step,
    leave,
    to,
)


def _recipe() -> Recipe:
    steps = {
        "work": a_step(
            "Fix {{issue}}. {{last.work.detail}}",
            on={"complete": to("review"), "checks-failed": to("work")},
            checks=(a_check("make", "lint"), a_check("make", "test")),
            allow=("Edit", "Write"),
            timeout_minutes=30.0,
        ),
        "review": a_step(
            "Review it.",
            on={"no-issues": to("commit"), "issues-found": to("commit")},
            session="fresh",
            tools="read-only",
            agent="claude",
            model="small",
        ),
        "commit": a_step(
            "Commit.",
            on={"committed": leave("changes-committed")},
            gate="Commit?",
            session="fork",
            commits=True,
            irreversible=True,
        ),
    }
    bounds = Limits(max_step_visits=3, max_total_steps=7, max_minutes=120.0, max_cost_usd=15.0)
    issue = Param(type="string", description="What to fix")
    return a_recipe(steps, bounds, params={"issue": issue}, context={"goal": ""})


def _work(play: Play) -> None:
    """A dirty tree, an approval, a steer, a failed check, a retry after a pause."""
    play.do(c.ReportEffectEnd, effect="worktree", state="made", detail=WORKTREE.directory)
    play.go(dirty=("notes.txt",)).answer("yes", by="cli")
    play.begin(dirty=("notes.txt",)).approve(description="List files")
    question = play.question
    play.answer("always", by="phone", note="fine")
    play.delivered(question)
    play.do(c.Steer, uuid="steer-1", text="Use tabs.")
    play.do(c.ReportEffectEnd, effect="steer:steer-1", state="queued")
    play.say("complete", delivered=("steer-1",), cost_usd=0.25)
    play.check(log="lint.log", seconds=1.5)
    play.check(passed=False, tail="1 failed", seconds=2.0)
    play.reply("I think so.", cost_usd=0.25, mark={"size": 10, "last_uuid": "u1"})
    play.do(c.Pause)
    play.do(c.Resume)
    play.say("complete", cost_usd=0.25)
    play.check()
    play.check()


def _review(play: Play) -> None:
    """An interrupt with an aside, a usage limit, a structured answer."""
    play.begin().do(c.Interrupt)
    play.over("interrupted")
    play.do(c.NoteAside, run_id="run-2", session_id=play.state.session_id)
    play.do(c.Resume)
    play.begin().over("usage_limit", resets_at="2026-01-02T05:00:00.000Z", detail="5 hour limit")
    play.do(c.ReportLimitReset)
    answer = {"outcome": "issues-found", "detail": "Two typos."}
    play.begin().over(structured=answer, texts=("Two typos.",), cost_usd=0.5)


def _commit(play: Play) -> None:
    """A gate, a broken irreversible step sent again, a steer that nobody took up."""
    play.go().answer("yes", by="cli")
    play.begin(tree=TREE).over("broken", detail="killed", bad_lines=1)
    play.answer("retry", by="cli")
    play.begin(tree=TREE).do(c.Steer, uuid="steer-2", text="And hurry.")
    play.say("committed", cost_usd=0.5)


def played() -> dict[str, Play]:
    """The runs by name, each played to its end."""
    recipe = Play(
        _recipe(),
        params={"issue": "the Möbius test"},
        source="builtin",
        worktree=WORKTREE,
        on_question="ask",
    )
    for part in (_work, _review, _commit):
        part(recipe)

    on = {"again": to("@restart"), "more": to("work")}
    bounds = Limits(max_total_steps=1, on_limit="ask")
    limited = Play(a_recipe({"work": a_step(on=on)}, bounds))
    limited.say("again")
    limited.say("more")
    limited.go().answer("more")
    limited.say("more")
    limited.go()

    plain = {
        "ask": a_question("Which part?", docs=to("build"), code=to("build")),
        "build": a_command("make", "{{last.ask.detail}}", on={"failed": to("ask")}),
    }
    without_agent = Play(a_recipe(plain, Limits(max_step_visits=2)), run_id="run-3")
    without_agent.go().answer("docs", by="cli", note="the manual")
    without_agent.ran(False, tail="no rule", log="build.log", seconds=1.0)
    without_agent.go().answer("code", by="cli")
    without_agent.ran(seconds=2.0)

    prompt = Play(run_id="run-2", aside_of="run-1", fork_from="session-0")
    prompt.begin().do(c.Pause)
    prompt.reply("Hello.")

    loop = {"try": a_command(on={"failed": to("try")})}
    stalled = Play(a_recipe(loop, Limits(max_total_steps=2)), run_id="run-4")
    for seconds in (1.0, 2.0):
        stalled.ran(False, tail=f"1 failed in {seconds} s", tree=TREE, seconds=seconds)
    stalled.go()
    return {
        "recipe": recipe,
        "limited": limited,
        "plain": without_agent,
        "prompt": prompt,
        "stalled": stalled,
    }


def lines(plays: dict[str, Play]) -> Iterator[str]:
    """The log: one JSON object a line with the run, the time and the fact as it is stored."""
    for name, play in plays.items():
        for data, at in play.stored:
            row = {"run": name, "at": at, "fact": json.loads(data)}
            yield json.dumps(row, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    print("\n".join(lines(played())))
