"""The trials of agents over JSON-RPC: each point that one of their turns passes, and moments.

Each of the three turns asks twice, and is denied once: so the points of an answer are passed six
times, those of a turn three times. The first turn begins a session, the others go on with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, get_args

from tests.faults.agent_scenario import AgentScenario, Language
from tests.faults.trials import KINDS, Kind, Trial

MOMENTS: Final = 100
REAL_MOMENTS: Final = 20
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

# Points that stand where an agent lives, with the hits that are tried.
_WITH_AGENT: Final[dict[str, tuple[int, ...]]] = {
    "answer.after-write": (1, 2, 3),
    "answer.before-write": (1, 2, 3),
    "gate.after-opened": (1, 3),
    "question.after-closed": (1, 3),
    "recovery.before-settle": (1,),
    "store.after-commit": (4, 5),
    "store.before-commit": (4, 5),
    "turn.after-spawn": (1, 2),
    "turn.after-started": (1, 2),
    "turn.approval-raised": (1, 3),
    "turn.first-output": (1, 2),
    "turn.idle-seen": (1, 2),
    "turn.session-named": (1, 2),
    "turn.session-stored": (1,),
    "turn.tool-begun": (1, 2),
}
# Each step that is written in the first turn, and in one that goes on: Codex' prompt and what is
# asked beside it; of the other protocol the opening of the session, its mode and the prompt.
_STEPS: Final[dict[Language, tuple[int, ...]]] = {"codex": (1, 2, 3, 4), "acp": (1, 2, 3, 4, 5, 6)}
_HANDSHAKE: Final = ("handshake.after-write", "handshake.before-write")
_STEER: Final = ("steer.after-write", "steer.before-write")
# Points where none lives: only the daemon can be killed there.
_WITHOUT_AGENT: Final[dict[str, tuple[int, ...]]] = {
    "edge.after-taken": (1, 3),
    "git.pinned": (1,),
    "outcome.after-parsed": (1, 3),
    "recovery.after-settle": (1,),
    "run.after-ended": (1,),
    "run.after-started": (1,),
    "run.before-ended": (1,),
    "store.after-commit": (1, 2, 13, 20, 25),
    "store.before-commit": (1, 2, 13, 20, 25),
    "tools.after-issue": (1, 2),
    "turn.after-ended": (1, 3),
    "turn.after-intended": (1, 2),
    "turn.before-ended": (1, 3),
    "turn.ended-process": (1, 3),
    "turn.fifo-written": (1, 2),
    "turn.lease-taken": (1, 2),
    "turn.swept": (1, 3),
}
_LATE: Final = ("survey", "build")


def _named(name: str, point: str, kind: Kind, hit: int, scenario: AgentScenario) -> Trial:
    first: Kind | None = None
    if point.startswith("recovery."):
        # A living agent is taken up; only of a dead one something can be found out.
        first = "both" if point == "recovery.after-settle" else "daemon"
    return Trial(f"{scenario.name}/{name}", point, kind, hit, first, scenario)


def _where(language: Language) -> Iterator[tuple[str, Kind, int]]:
    with_agent = dict(_WITH_AGENT)
    with_agent |= dict.fromkeys(_HANDSHAKE, _STEPS[language])
    if language == "codex":  # the other protocol takes no words while a turn runs
        with_agent |= dict.fromkeys(_STEER, (1,))
    for point, hits in with_agent.items():
        yield from ((point, kind, hit) for hit in hits for kind in KINDS)
    for point, hits in _WITHOUT_AGENT.items():
        yield from ((point, "daemon", hit) for hit in hits)
    if language == "acp":  # Codex is asked nothing at its end
        yield from (("turn.end-sent", "daemon", hit) for hit in (1, 3))


def at_failpoints(language: Language) -> list[Trial]:
    """Every point that the turns pass, with every kind of kill that is possible there."""
    scenario = AgentScenario(agent=language)
    found = dict.fromkeys(_where(language))
    return [
        _named(f"{point}/{kind}/{hit}", point, kind, hit, scenario) for point, kind, hit in found
    ]


def unread(language: Language, *, marks: bool = True) -> list[Trial]:
    """The daemon dies behind its prompt, which the agent reads when the next has written to it.

    That one cannot see whether the prompt is in the pipe. ``marks``: it asks the agent; else it
    writes it once more, and the trial has to show it.
    """
    word = "unread" if marks else "control"
    return [
        Trial(
            f"{language}/{word}/{late}",
            "unread",
            "daemon",
            scenario=AgentScenario(agent=language, late=late),
            marks=marks,
        )
        for late in _LATE
    ]


def controls() -> list[Trial]:
    """Trials of a daemon that uses no marks: each of them doubles a prompt."""
    return [trial for language in LANGUAGES for trial in unread(language, marks=False)]


def at_moments(seed: int, scenario: AgentScenario, count: int) -> list[Trial]:
    """Kills at random moments, one in each of ``count`` equal parts of a run."""
    trials = []
    for number in range(count):
        name = f"{scenario.name}/moment/{number}"
        part = (number + random.Random(f"{seed}/{name}").random()) / count
        kind = KINDS[number % len(KINDS)]
        trials.append(Trial(name, "moment", kind, scenario=scenario, part=part))
    return trials


def with_the_real_one(seed: int) -> list[Trial]:
    """The real Codex: each point that stands in a turn once, in turn each kind, and moments."""
    scenario = AgentScenario(agent="codex", real=True)
    within = [*_WITH_AGENT, *_HANDSHAKE, *_STEER]
    alone = ("turn.ended-process", "turn.fifo-written", "turn.lease-taken", "turn.swept")
    kinds: list[tuple[str, Kind]] = [(point, KINDS[at % 3]) for at, point in enumerate(within)]
    kinds += [(point, "daemon") for point in alone]
    hits = {point: _WITH_AGENT.get(point, (1,))[0] for point, _ in kinds}
    points = [
        _named(f"{point}/{kind}/{hits[point]}", point, kind, hits[point], scenario)
        for point, kind in kinds
    ]
    return [*points, *at_moments(seed, scenario, REAL_MOMENTS)]


def every(seed: int) -> list[Trial]:
    """All trials of these agents but the controls."""
    trials = with_the_real_one(seed)
    for language in LANGUAGES:
        trials += [*at_failpoints(language), *unread(language)]
        trials += at_moments(seed, AgentScenario(agent=language), MOMENTS)
    return trials


def short(seed: int) -> list[Trial]:
    """Each point once, of either protocol in turn, what is its own of both; no moment."""
    chance = random.Random(f"{seed}/agents")
    trials = [trial for language in LANGUAGES for trial in at_failpoints(language)]
    chosen = [
        chance.choice([trial for trial in trials if trial.point == point])
        for point in dict.fromkeys(trial.point for trial in trials)
    ]
    return [*chosen, *(trial for language in LANGUAGES for trial in unread(language))]
