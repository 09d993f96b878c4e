"""Which trials there are: every failpoint with every kind of kill, moments, and absences."""

from __future__ import annotations

import random
from collections.abc import Iterable

from podiumd.tools import failpoints
from tests.faults import agent_plan
from tests.faults.agent_scenario import AgentScenario
from tests.faults.native_scenario import NativeScenario
from tests.faults.phases_scenario import NativePhases, PhasesScenario
from tests.faults.scenario import PROMPTED, Scenario
from tests.faults.trials import KINDS, Kind, Trial

UNDISTURBED: dict[str, Scenario] = {
    "claude": Scenario(),
    "real-codex": AgentScenario(real=True),
    **{language: AgentScenario(agent=language) for language in agent_plan.LANGUAGES},
}
"""The runs that nobody disturbs, by the agent that moments are measured by."""

MOMENTS, MOMENTS_SHORT = 200, 10
NATIVE_MOMENTS, NATIVE_MOMENTS_SHORT = 40, 3
NATIVE_PARTS = (0.05, 0.35)
"""When a run of the native agent's goes on, as parts of the time that the other run takes."""
TALK_MOMENTS, TALK_MOMENTS_SHORT = 20, 2
TALK_PARTS = (0.05, 0.45)
"""The same for a conversation."""
ABSENCES = 20

# Points that stand where an agent lives, with the hits that are tried. Each turn of the six steps
# passes the points of a turn once: the first is survey, the second build, the last commit.
_LAST_TURN = 7
# A commit while the first agent lives: the run, the step, the turn and its start come before it;
# it is about the steer, as are the two next ones.
_IN_FIRST_TURN = 5
_WITH_AGENT: dict[str, tuple[int, ...]] = {
    "answer.after-write": (1,),
    "answer.before-write": (1,),
    "cancel.after-intended": (1,),
    "gate.after-opened": (2,),
    "question.after-closed": (2,),
    "recovery.before-settle": (1,),
    "steer.after-write": (1,),
    "steer.before-write": (1,),
    "store.after-commit": (_IN_FIRST_TURN,),
    "store.before-commit": (_IN_FIRST_TURN,),
    "turn.after-spawn": (1, 2, _LAST_TURN),
    "turn.after-started": (1, 2, _LAST_TURN),
    "turn.approval-raised": (1,),
    "turn.first-output": (1, 2, _LAST_TURN),
    "turn.idle-seen": (1, 2, _LAST_TURN),
    "turn.tool-begun": (1, 2, 5),  # the review uses no tool
}
# Points where none lives: only the daemon can be killed there.
_WITHOUT_AGENT: dict[str, tuple[int, ...]] = {
    "check.after-run": (1,),
    "check.before-run": (1,),
    "claim.after-look": (1,),
    "claim.after-made": (1,),
    "command.after-run": (1,),
    "command.before-run": (1,),
    "edge.after-taken": (1, 4, 6),
    "gate.after-opened": (1,),
    "git.pinned": (1,),
    "notify.after-run": (1,),
    "notify.before-run": (1,),
    "outcome.after-parsed": (1, 4, 6),
    "question.after-closed": (1,),
    "recovery.after-settle": (1,),
    "run.after-ended": (1,),
    "run.after-started": (1,),
    "run.before-ended": (1,),
    "store.after-commit": (1, 2, 4, 9, 16, 25, 30),
    "store.before-commit": (1, 2, 4, 9, 16, 25, 30),
    "turn.after-ended": (1, 3, _LAST_TURN),
    "turn.after-intended": (1, 2, _LAST_TURN),
    "turn.before-ended": (1, 3, _LAST_TURN),
    "turn.end-sent": (1, 2, _LAST_TURN),
    "turn.ended-process": (1, 2, _LAST_TURN),
    "turn.fifo-written": (1, 2, _LAST_TURN),
    "turn.lease-taken": (1, 2, _LAST_TURN),
    "turn.swept": (1, 2, _LAST_TURN),
    "worktree.after-make": (1,),
    "worktree.before-make": (1,),
    "worktree.half-made": (1,),
}

# Points of the native agent, whose turns have no process: only the daemon can be killed there.
# The hits are those of the four steps: a written file, a command, a patch, a file and its commit.
_NATIVE: dict[str, tuple[int, ...]] = {
    "action.after-do": (1, 2, 3, 4),
    "action.after-ended": (1, 2, 3, 4),
    "action.after-intended": (1, 2, 3, 4),
    "commit.after-make": (1,),
    "commit.after-move": (1,),
    "commit.before-make": (1,),
    "commit.before-move": (1,),
    "reply.after-received": (1, 2, 4, 8),
    "reply.before-received": (1, 2, 4, 8),
    "row.after-write": (1, 2, 3, 6, 12),
    "row.before-write": (1, 2, 3, 6, 12),
}


# Points of a conversation, where its agent lives: it uses a shell, asks, saves and goes on.
_TALKING: dict[str, tuple[int, ...]] = {
    "handshake.after-write": (1, 2),
    "handshake.before-write": (1, 2),
    "hook.after-run": (2,),  # around the tool that saves; the first is at the end of a turn
    "hook.after-settle": (1,),
    "hook.before-run": (2,),
    "hook.before-settle": (1,),
    "say.after-stored": (1,),
    "tool.after-recorded": (1, 2, 3),
    "tool.after-reply": (1, 2, 3),
    "tool.before-reply": (1, 2, 3),
}
# And where none lives: only the daemon can be killed there.
_TALKED: dict[str, tuple[int, ...]] = {
    "hook.after-run": (1, 3),
    "hook.before-run": (1, 3),
    "say.after-stored": (2,),
    "write.after-rename": (1, 2),
    "write.before-rename": (1, 2),
}
# Of the native agent's, whose calls are actions, and of one that reaches the tools by itself.
_NATIVE_TALK: dict[str, tuple[int, ...]] = {
    "tool.after-answer": (1, 2, 3),
    "tool.before-call": (1, 2, 3),
}
_BY_ITSELF = {"tools.after-issue": (1, 2)}

ELSEWHERE = {
    "agui.after-kept": "tests/e2e/test_agui.py",
    "agui.before-noted": "tests/e2e/test_agui.py",
    "forget.after-batch": "tests/runtime/test_housekeeping.py",
    "forget.after-files": "tests/runtime/test_housekeeping.py",
    "lift.after-copy": "tests/store/test_lifting.py",
    "lift.after-swap": "tests/store/test_lifting.py",
    "lift.before-swap": "tests/store/test_lifting.py",
    "lift.half-swapped": "tests/store/test_lifting.py",
    "merge.after-make": "tests/e2e/test_worktrees.py",
    "merge.before-make": "tests/e2e/test_worktrees.py",
    "merge.conflicted": "tests/e2e/test_worktrees.py",
    "prompt.images-kept": "tests/runtime/test_images.py",
    "prune.after-lock": "tests/runtime/test_storage_kills.py",
    "prune.after-marks": "tests/runtime/test_storage_kills.py",
    "prune.after-pages": "tests/runtime/test_storage_kills.py",
    "prune.after-path": "tests/runtime/test_storage_kills.py",
    "prune.after-session": "tests/runtime/test_storage_kills.py",
    "record.after-write": "tests/agents/acp/test_acp_record.py",
    "record.before-write": "tests/agents/acp/test_acp_record.py",
    "remove.after-make": "tests/e2e/test_worktrees.py",
    "remove.before-make": "tests/e2e/test_worktrees.py",
    "sandbox.after-prepare": "tests/e2e/test_native_crash_sandbox.py",
    "sandbox.before-tidy": "tests/e2e/test_native_crash_sandbox.py",
    "sandbox.left-stored": "tests/e2e/test_native_crash_sandbox.py",
    "spools.after-note": "tests/runtime/test_spools.py",
}
"""Points that no run of the campaign passes, only who speaks AG-UI, sees to a worktree, has a
sandbox, images, much output, runs of last year, or the database of an earlier release: the tests
that kill there."""


def _at(point: str, kind: Kind, hit: int) -> Trial:
    first: Kind | None = None
    if point.startswith("recovery."):
        # A living agent is taken up; only of a dead one something can be found out.
        first = "both" if point == "recovery.after-settle" else "daemon"
    scenario = Scenario(worktree=point.startswith("worktree."), cancels=point.startswith("cancel."))
    return Trial(f"{point}/{kind}/{hit}", point, kind, hit, first, scenario)


def at_failpoints() -> list[Trial]:
    """Every failpoint, with every kind of kill that is possible there.

    A point that stands in no table has no trial, and ``not_tried`` names it: where it is passed is
    to be written down, not guessed.
    """
    trials: list[Trial] = []
    for point, native in _NATIVE.items():
        trials += [
            Trial(f"{point}/daemon/{hit}", point, "daemon", hit, scenario=NativeScenario())
            for hit in native
        ]
    trials += _in_conversations()
    for point in sorted({*_WITHOUT_AGENT, *_WITH_AGENT}):
        trials += [_at(point, "daemon", hit) for hit in _WITHOUT_AGENT.get(point, ())]
        trials += [_at(point, kind, hit) for kind in KINDS for hit in _WITH_AGENT.get(point, ())]
    return trials


def _in_conversations() -> list[Trial]:
    """The points that only a conversation passes."""
    real, native, apart = PhasesScenario(), NativePhases(), PhasesScenario(tools="stdio")
    with_agent = [(p, k, h, real) for p, hits in _TALKING.items() for h in hits for k in KINDS]
    alone: list[tuple[str, Kind, int, Scenario]] = [
        (point, "daemon", hit, scenario)
        for points, scenario in ((_TALKED, real), (_NATIVE_TALK, native), (_BY_ITSELF, apart))
        for point, hits in points.items()
        for hit in hits
    ]
    return [
        Trial(f"{point}/{kind}/{hit}", point, kind, hit, scenario=scenario)
        for point, kind, hit, scenario in [*with_agent, *alone]
    ]


def at_failpoints_once(seed: int) -> list[Trial]:
    """Every failpoint once; the seed chooses which kill."""
    chance = random.Random(f"{seed}/points")
    trials = at_failpoints()
    return [
        chance.choice([trial for trial in trials if trial.point == point])
        for point in dict.fromkeys(trial.point for trial in trials)
    ]


def at_moments(seed: int, count: int) -> list[Trial]:
    """Kills at random moments, spread over the whole of a run; a fifth of them in a worktree.

    ``part`` is the moment as a part of the duration of an undisturbed run.
    """
    trials = []
    for number in range(count):
        chance = random.Random(f"{seed}/moment/{number}")
        kind = KINDS[number % len(KINDS)]
        scenario = Scenario(worktree=number % 5 == 4)
        # One moment in each of ``count`` equal parts: random, and nothing is left out.
        part = (number + chance.random()) / count
        trials.append(Trial(f"moment/{number}", "moment", kind, scenario=scenario, part=part))
    return trials


def at_native_moments(seed: int, count: int) -> list[Trial]:
    """Kills of the daemon at random moments of a run of the native agent's."""
    trials = []
    for number in range(count):
        chance = random.Random(f"{seed}/native-moment/{number}")
        first, last = NATIVE_PARTS
        part = first + (last - first) * (number + chance.random()) / count
        name = f"native-moment/{number}"
        trials.append(Trial(name, "moment", "daemon", scenario=NativeScenario(), part=part))
    return trials


def at_talk_moments(seed: int, count: int) -> list[Trial]:
    """Kills at random moments of a conversation."""
    trials = []
    for number in range(count):
        chance = random.Random(f"{seed}/talk-moment/{number}")
        kind = KINDS[number % len(KINDS)]
        first, last = TALK_PARTS
        part = first + (last - first) * (number + chance.random()) / count
        name = f"talk-moment/{number}"
        trials.append(Trial(name, "moment", kind, scenario=PhasesScenario(), part=part))
    return trials


def absences(count: int) -> list[Trial]:
    """The daemon is killed in the middle of an answer and comes back when the agent is done."""
    return [
        Trial(
            f"away/{number}",
            "away",
            "daemon",
            scenario=Scenario(steered=False, away=PROMPTED[number % len(PROMPTED)]),
        )
        for number in range(count)
    ]


def every(seed: int) -> list[Trial]:
    """The whole campaign, mixed: one that is cut short has seen something of everything."""
    others = [*at_native_moments(seed, NATIVE_MOMENTS), *at_talk_moments(seed, TALK_MOMENTS)]
    others += [*agent_plan.every(seed), *absences(ABSENCES)]
    trials = [*at_failpoints(), *at_moments(seed, MOMENTS), *others]
    random.Random(f"{seed}/order").shuffle(trials)
    return trials


def short(seed: int) -> list[Trial]:
    """The campaign cut down: each failpoint once, some moments, one absence."""
    moments = [
        *at_moments(seed, MOMENTS_SHORT),
        *at_native_moments(seed, NATIVE_MOMENTS_SHORT),
        *at_talk_moments(seed, TALK_MOMENTS_SHORT),
    ]
    return [*at_failpoints_once(seed), *moments, *agent_plan.short(seed), *absences(1)]


def not_tried(trials: Iterable[Trial]) -> set[str]:
    """The failpoints that none of the trials is about, and no test ``ELSEWHERE``."""
    return set(failpoints.names()) - {trial.point for trial in trials} - {*ELSEWHERE}
