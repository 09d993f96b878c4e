"""The claim behind ``recipe check``, tried on random recipes: one that checks clean always ends,
within its stated worst case, whatever agents, checks, commands and people say.

``python -m tests.core.walks`` draws recipes until 10,000 of them have checked clean. Each of these
is walked through three times by the decider of a real run, with replies that have no outcome,
turns that take all the time they may, checks that fail and people who say anything; and once by
``simulate`` with a list of random outcomes. A failure names the seed that draws the same again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from podiumd.core.analysis.check import check_recipe
from podiumd.core.analysis.simulate import Trace, simulate
from podiumd.core.analysis.worst_case import WorstCase
from podiumd.core.decide import limits as bounds
from podiumd.core.decide.plain_steps import COMMAND_MINUTES
from podiumd.core.findings import Notes
from podiumd.core.recipe.graph import RecipeGraph
from podiumd.core.recipe.model import RESTART, Recipe, Step
from podiumd.core.recipe.paths import ways_out
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.toml_lines import TomlLines
from tests.core.builders import Play
from tests.core.random_recipes import draw

TURN_MINUTES = 600.0
"""How long a turn takes at most that has no limit of its own."""


class Mood(NamedTuple):
    """How things go in one walk: how often what happens leads on and not out, how often a reply
    has no outcome, and whether turns and commands take as long as they may."""

    onward: float
    unheard: float
    slow: bool


MOODS = (
    Mood(onward=0.5, unheard=0.2, slow=False),
    Mood(onward=1.0, unheard=0.1, slow=False),
    Mood(onward=1.0, unheard=1.0, slow=True),  # the worst that there is
)


class Broken(AssertionError):
    """The claim does not hold for a recipe; the message says how."""


class Tally:
    """What a campaign has seen."""

    def __init__(self) -> None:
        self.drawn = 0
        self.clean = 0
        self.errors: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.entries = 0
        self.turns = 0
        self.at_the_bound = 0
        self.with_calls = 0
        self.with_cycles = 0

    def report(self, seconds: float) -> str:
        """What was done, in lines for a person."""
        rare = ", ".join(f"{code} {count}" for code, count in self.errors.most_common())
        ends = ", ".join(f"{name} {count}" for name, count in self.ends.most_common())
        walks = (len(MOODS) + 1) * self.clean
        return (
            f"{self.drawn} recipes drawn, {self.clean} checked clean: {self.with_cycles} with "
            f"cycles, {self.with_calls} with calls\n"
            f"errors of the others: {rare or 'none'}\n"
            f"{walks} walks, all ended within the worst case: {self.entries} steps and "
            f"{self.turns} turns; {self.at_the_bound} recipes were seen at their very worst\n"
            f"how the walks by the decider ended: {ends}\n"
            f"{seconds:.0f} s"
        )


def most_entries(recipe: Recipe) -> int:
    """How many steps the limits of a recipe without calls allow, worked out by another way than
    ``worst_case``: every step as often as it may, no more of them than allowed, in each life."""
    limits, graph = recipe.limits, RecipeGraph(recipe)
    twice = 2 if limits.on_limit == "ask" else 1
    visits = 1 if not graph.cycles() else (limits.max_step_visits or 10**9) * twice
    a_life = min(visits * len(graph.reachable), (limits.max_total_steps or 10**9) * twice)
    restarts = any(way.to == RESTART for name in graph.reachable for way in graph.ways[name])
    return a_life * (1 + limits.max_restarts * twice * restarts)


def walk(recipe: Recipe, chance: Random, mood: Mood) -> Play:
    """Let everything happen that can, at random, until the run has ended.

    Raises:
        Broken: it does not end.
    """
    play = Play(recipe)
    most = most_entries(recipe)
    while play.go().state.exit is None:
        if len(play.all(f.StepEntered)) > most:
            raise Broken(f"more than {most} steps were entered, and it goes on")
        _happen(play, chance, mood)
    return play


def _happen(play: Play, chance: Random, mood: Mood) -> None:
    """One thing comes to its end."""
    state = play.state
    step = state.current
    if state.open_questions:
        _answer(play, chance, mood)
        return
    assert step is not None
    left = bounds.seconds_left(state)
    longest = 10**9 if left is None else left
    if state.turn is not None:
        play.do(c.ReportTurnStart, turn_id=play.turn.turn_id, pid=1, proc_start=1, group=1)
        allowed = min(longest, (step.timeout_minutes or TURN_MINUTES) * 60.0)
        # The end itself is told a second after the last thing that was told.
        play.wait(max(0.0, _seconds(chance, mood, allowed) - 1.0))
        cost = chance.choice([0.0, 0.5])
        last = play.turn.attempt > state.limits.max_retries
        if chance.random() < (mood.unheard if not last else 0.1):
            play.reply("Hm.", cost_usd=cost)
        else:
            play.say(_word(play.turn.outcomes, step, chance, mood), cost_usd=cost)
    elif state.next is not None and state.next.kind == "check":
        most = min(longest, step.checks[state.next.index].timeout_seconds)
        play.check(chance.random() < 0.6, seconds=_seconds(chance, mood, most))
    else:
        most = min(longest, (step.timeout_minutes or COMMAND_MINUTES) * 60.0)
        passed = _word(("passed", "failed"), step, chance, mood) == "passed"
        play.ran(passed, seconds=_seconds(chance, mood, most))


def _seconds(chance: Random, mood: Mood, most: float) -> float:
    return most if mood.slow else chance.choice([0.0, min(1.0, most), most])


def _answer(play: Play, chance: Random, mood: Mood) -> None:
    """A person answers; in a good mood so that it goes on."""
    words = [choice for choice, _ in play.question.choices]
    step = play.state.current
    if step is not None and step.kind == "gate" and play.question.kind == "gate":
        play.answer(_word(words, step, chance, mood))
    else:  # "yes" and "more" come first
        play.answer(words[0] if chance.random() < mood.onward else chance.choice(words))


def _word(words: Sequence[str], step: Step, chance: Random, mood: Mood) -> str:
    """One of the outcomes, such as leads on if there is one and the mood is so."""
    onward = [word for word in words if (edge := step.edge(word)) is not None and edge.to]
    return chance.choice(onward if onward and chance.random() < mood.onward else list(words))


def listed(recipe: Recipe, chance: Random) -> list[str]:
    """Outcomes to an exit, or one more than the limits can allow; limits are not looked at."""
    ways = {name: ways_out(step) for name, step in recipe.steps.items()}
    outcomes: list[str] = []
    name: str | None = recipe.initial
    while name is not None and len(outcomes) <= most_entries(recipe):
        onward = [way for way in ways[name] if way.to is not None]
        way = chance.choice(onward if onward and chance.random() < 0.9 else ways[name])
        outcomes.append(way.outcome)
        name = recipe.initial if way.to == RESTART else way.to
    return outcomes


def hold_to(play: Play, worst: WorstCase) -> None:
    """Compare a walk with the worst case that was stated for it.

    Raises:
        Broken: it was worse.
    """
    turns = len(play.all(f.TurnIntended))
    if worst.turns is None or turns > worst.turns:
        raise Broken(f"{turns} turns, and {worst.turns} were stated as the most")
    # Each turn may end within the second in which its time is up.
    minutes = (play.state.seconds - turns) / 60.0
    if worst.minutes is not None and minutes > worst.minutes + 1e-6:
        raise Broken(f"{minutes:g} minutes, and {worst.minutes:g} were stated as the most")


def hold_simulation(recipe: Recipe, trace: Trace) -> None:
    """A simulation with more outcomes than the limits allow steps has an exit.

    Raises:
        Broken: it has none, or took more steps than can be.
    """
    if trace.exit is None:
        raise Broken(f"the simulation did not end after {len(trace.trace)} steps")
    if len(trace.trace) > most_entries(recipe):
        raise Broken(f"the simulation took {len(trace.trace)} steps of {most_entries(recipe)}")


def try_one(seed: str, tally: Tally) -> None:
    """Draw a recipe, and walk through it if it checks clean.

    Raises:
        Broken: the claim does not hold for it.
    """
    drawn = draw(seed)
    notes = Notes("drawn.toml", TomlLines(""))
    result = check_recipe(drawn.recipe, notes, load_called=drawn.load_called)
    tally.drawn += 1
    if not result.ok:
        tally.errors.update({one.code for one in result.findings if one.level == "error"})
        return
    whole, worst = result.whole, result.worst_case
    assert whole is not None and worst is not None
    tally.clean += 1
    tally.with_calls += bool(drawn.others)
    tally.with_cycles += bool(RecipeGraph(whole).cycles())
    chance = Random(f"{seed} walk")
    worst_turns = 0
    for mood in MOODS:
        play = walk(whole, chance, mood)
        hold_to(play, worst)
        assert play.state.exit is not None
        turns = len(play.all(f.TurnIntended))
        worst_turns = max(worst_turns, turns)
        tally.ends[play.state.exit.class_] += 1
        tally.turns += turns
        tally.entries += len(play.all(f.StepEntered))
    tally.at_the_bound += worst_turns == worst.turns
    trace = simulate(whole, listed(whole, chance))
    hold_simulation(whole, trace)
    tally.entries += len(trace.trace)


def campaign(seed: int, count: int) -> Tally:
    """Draw recipes until ``count`` of them have checked clean.

    Raises:
        Broken: with the seed of the recipe for which the claim does not hold.
    """
    tally = Tally()
    while tally.clean < count:
        name = f"{seed}/{tally.drawn}"
        try:
            try_one(name, tally)
        except Exception as error:
            raise Broken(f"recipe {name}: {error}") from error
    return tally


def main() -> int:
    """Run a campaign; 1 where the claim does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="another number, other recipes")
    parser.add_argument("--count", type=int, default=10_000, help="recipes that check clean")
    chosen = parser.parse_args()
    began = time.monotonic()
    try:
        tally = campaign(chosen.seed, chosen.count)
    except Broken as broken:
        print(f"FAILED: {broken}", file=sys.stderr)
        return 1
    print(tally.report(time.monotonic() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
