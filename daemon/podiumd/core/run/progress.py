"""No progress: a step that ends as an earlier visit of it ended, in the same working tree. Pure.

Two agents can hand the same finding to and fro until a limit ends it, and a check can fail for the
same reason however often it is tried. Nothing is decided by it: the run reports it and goes on,
since the next round may still be the one, and limits bound how many there are.

*The same* means: the same outcome, the same findings, the same tree. Findings are what the step
ended with (``EdgeTaken.detail``): what the agent reported, or what a failed check or command
printed. White space does not count in them, nor how long something took: two runs of one test never
take equally long. The tree is its commit with all that differs from it (``TreeMark``); outside git
it is not known, so nothing is reported there. A person's choice is no finding.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from podiumd.core.recipe.model import RESTART, Recipe
from podiumd.core.run import facts as f
from podiumd.core.run.state import Claim, RunState, Standing

_DURATION: Final = re.compile(
    r"\b\d++(?:\.\d++)?+\s?+(?:[mµn]?s|sec|secs|seconds?|mins?|minutes?)\b"
)

FOLDED_CHARACTERS: Final = 16 * 1024
"""How much of the findings is compared by its words; what comes after is compared as it is."""


def comes_round(recipe: Recipe, step: str) -> bool:
    """Say whether a run can come back to ``step``: only then is its end worth comparing.

    A restart begins anew, so the way by ``@restart`` does not count.
    """
    met: set[str] = set()
    todo = [step]
    while todo:
        for edge in recipe.steps[todo.pop()].on.values():
            if edge.to == step:
                return True
            if edge.to is not None and edge.to != RESTART and edge.to not in met:
                met.add(edge.to)
                todo.append(edge.to)
    return False


def standing(
    step: str, outcome: str, source: str, detail: str, tree: f.TreeMark | None
) -> Standing | None:
    """Return how a visit of a step ended, for comparison; ``None``: it cannot be compared."""
    if tree is None or source == "person":
        return None
    words = " ".join(_DURATION.sub("", detail[:FOLDED_CHARACTERS]).split())
    whole = f"{outcome}\n{words}\n{detail[FOLDED_CHARACTERS:]}"
    findings = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return Standing(step, findings, tree)


def stalled(state: RunState, claim: Claim) -> f.ProgressStalled | None:
    """Return the notice that is due when the present step ends with ``claim``, if any.

    Never at the end of the run: the same outcome has the same edge, and that led back before.
    """
    name = state.step or ""
    now = standing(name, claim.outcome, claim.source, claim.detail, state.tree)
    since = None if now is None else state.standings.get(now)
    if now is None or since is None:
        return None
    return f.ProgressStalled(
        step=name, visit=state.visits[name], since=since, outcome=claim.outcome, tree=now.tree
    )
